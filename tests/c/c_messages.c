/* Messages whose size the receiver does not know. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* Memory for a message, of which there may be none. */
static void* give_memory(void* context, uint64_t bytes) {
    void** const memory = context;
    if (bytes > 1000) return NULL;
    free(*memory);
    return *memory = malloc(bytes > 0 ? bytes : 1);
}

void messages_of_any_size(const rollcall_communicator* world, int next, int previous) {
    static const char text[2000] = "of any size";
    const uint64_t sizes[] = {12, 0, 1000, 1001};
    void* memory = NULL;
    uint64_t received = 7;
    for (int i = 0; i < 4; ++i) OK(rollcall_send(world, text, sizes[i], next, 14, ROLLCALL_FOREVER));
    for (int i = 0; i < 3; ++i) {
        OK(rollcall_receive_resized(world, give_memory, &memory, previous, 14, ROLLCALL_FOREVER, i == 1 ? NULL : &received));
        CHECK(i == 1 || (received == sizes[i] && memcmp(memory, text, received) == 0));
    }
    CHECK(rollcall_receive_resized(world, give_memory, &memory, previous, 14, ROLLCALL_FOREVER, &received) == ROLLCALL_INTERNAL);
    CHECK(strstr(rollcall_last_error(), "no memory for a message of 1001 bytes"));
    char rest[1001];
    OK(rollcall_receive(world, rest, sizeof rest, previous, 14, ROLLCALL_FOREVER, &received));
    CHECK(received == 1001);
    CHECK(rollcall_receive_resized(world, NULL, NULL, previous, 14, ROLLCALL_FOREVER, NULL) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_receive_resized(world, give_memory, &memory, previous, 15, 1000000, NULL) == ROLLCALL_TIMEOUT);
    free(memory);
}
