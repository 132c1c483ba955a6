// Groups: the ranks split into odd and even ones. Each group has its own ranks, roots and messages. Both groups run at the same time.
//
//     rollcall run -n 5 build/release/examples/03_groups
#include <cstdio>

#include <rollcall/rollcall.hpp>

int main() {
    try {
        rollcall::Job job;
        const rollcall::Communicator& world = job.world();

        // The key reverses the order: the highest rank of the world becomes rank 0 of its group.
        const rollcall::Communicator group = world.split(world.rank() % 2, -world.rank());
        int leader = group.rank() == 0 ? world.rank() : -1;
        group.broadcast(leader, 0);

        // A duplicate has the same ranks, but its messages never mix with those of the original. Give a duplicate to a library.
        const rollcall::Communicator library = group.duplicate();
        const int next = (library.rank() + 1) % library.size();
        const int previous = (library.rank() + library.size() - 1) % library.size();
        library.send(world.rank(), next);
        const int neighbour = library.receive<int>(previous);

        std::printf("rank %d is rank %d of %d among the %s; its leader is rank %d, its neighbour rank %d\n", world.rank(), group.rank(),
                    group.size(), world.rank() % 2 ? "odd" : "even", leader, neighbour);
        job.finalize();
        return 0;
    } catch (const rollcall::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
