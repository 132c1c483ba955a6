// Hello: every rank prints its number. Then all ranks receive a message from rank 0.
//
//     rollcall run -n 8 build/release/examples/00_hello
#include <cstdio>
#include <string>

#include <rollcall/rollcall.hpp>

int main() {
    try {
        rollcall::Job job;
        const rollcall::Communicator& world = job.world();

        double answer = world.rank() == 0 ? 42.0 : 0.0;
        world.broadcast(answer, 0);
        std::printf("hello from rank %d of %d: rank 0 says %g\n", world.rank(), world.size(), answer);
        job.finalize();  // Throws if not all ranks have come this far. Without this call, the destructor only logs that.
        return 0;
    } catch (const rollcall::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
