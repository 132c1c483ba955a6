#include "tests/unit/bootstrap/fake_munge.hpp"

#include <cstdlib>
#include <cstring>

namespace {

int context = 0;  // its address is all that a context is

}  // namespace

extern "C" {

FakeMunge* fake_munge() {
    static FakeMunge fake;
    return &fake;
}
void* munge_ctx_create() { return &context; }
void munge_ctx_destroy(void*) {}
int munge_ctx_set(void*, int option, ...) { return option == fake_munge()->refused_option ? 1 : 0; }
int munge_encode(char** credential, void*, const void* data, int length) {
    *credential = static_cast<char*>(std::calloc(static_cast<std::size_t>(length) + 1, 1));
    if (length > 0) std::memcpy(*credential, data, static_cast<std::size_t>(length));
    return 0;
}
int munge_decode(const char* credential, void*, void** data, int* length, uid_t* user, gid_t*) {
    // As the true one, which gives the text also of a credential that is too old.
    *length = static_cast<int>(std::strlen(credential));
    *data = ::strdup(credential);
    *user = fake_munge()->writer;
    return fake_munge()->decode_code;
}
const char* munge_strerror(int) { return "Some error"; }
const char* munge_ctx_strerror(void*) { return "Expired credential"; }
}
