/// \file
/// Scenarios for starters: who is there, and does data go through.
#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {

// Every rank tells all others who it is. Words: the size of the job, its starter.
ROLLCALL_SCENARIO(place) {
    check(scene.size == scene.number(0, 0), "the job has {} ranks", scene.size);
    check(scene.job.started_by() == scene.word(1), "started by {}", scene.job.started_by());
    check(scene.world.rank() == scene.rank && scene.world.size() == scene.size, "the world is strange");
    scene.world.barrier();
    for (int root = 0; root < scene.size; ++root) {
        std::uint64_t value = scene.rank == root ? 1000 + static_cast<std::uint64_t>(root) : 0;
        scene.world.broadcast(value, root);
        check(value == 1000 + static_cast<std::uint64_t>(root), "rank {} says {}", root, value);
    }
    scene.world.barrier();
}

}  // namespace rollcall::test
