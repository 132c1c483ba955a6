/// \file
/// Scenarios of ranks that have as many files open as they may.
#include "tests/unit/no_more_files.hpp"
#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

void exchange_with_all(const Scene& scene, std::size_t bytes) {
    std::vector<std::byte> sent(bytes), received(sent.size());
    for (int distance = 1; distance < scene.size; ++distance) {
        Request send = scene.world.start_send(sent, (scene.rank + distance) % scene.size, 1);
        scene.world.receive(received, (scene.rank + scene.size - distance) % scene.size, 1);
        send.wait();
    }
}

}  // namespace

// The ranks know each other only from the start of the job. (UCX opens a neighbour's receive buffers at the first long message.)
ROLLCALL_SCENARIO(first_messages_without_files) {
    const NoMoreFiles none;
    exchange_with_all(scene, 8);
    scene.world.barrier();
}

// They have exchanged messages, and use no board before the barrier.
ROLLCALL_SCENARIO(first_barrier_without_files) {
    exchange_with_all(scene, 100'000);
    const NoMoreFiles none;
    scene.world.barrier();
}

}  // namespace rollcall::test
