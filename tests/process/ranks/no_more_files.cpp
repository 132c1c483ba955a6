/// \file
/// Scenarios of ranks that have as many files open as they may.
#include "tests/unit/no_more_files.hpp"
#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

void exchange_with_all(const Scene& scene) {
    std::vector<std::byte> sent(100'000), received(sent.size());
    for (int distance = 1; distance < scene.size; ++distance) {
        Request send = scene.world.start_send(sent, (scene.rank + distance) % scene.size, 1);
        scene.world.receive(received, (scene.rank + scene.size - distance) % scene.size, 1);
        send.wait();
    }
}

}  // namespace

// The ranks know each other only from the start of the job.
ROLLCALL_SCENARIO(first_messages_without_files) {
    const NoMoreFiles none;
    exchange_with_all(scene);
    scene.world.barrier();
}

// They have exchanged messages, and use no board before the barrier.
ROLLCALL_SCENARIO(first_barrier_without_files) {
    exchange_with_all(scene);
    const NoMoreFiles none;
    scene.world.barrier();
}

}  // namespace rollcall::test
