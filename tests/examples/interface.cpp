// Calls the examples of docs/interface.md. CMake has collected them from the page into one file. Its main() gets another name.
#define main example_main
#include "interface_page.hpp"
#undef main

int main() {
    rollcall::Job job;
    if (example_main() != 0) return 1;  // Its Job shares the job of this process.
    const rollcall::Communicator& world = job.world();
    std::vector<double> data(10, world.rank());
    send_around(world);
    swap_rows(world);
    collect(world);
    serve(world);
    share_work(world);
    gather_rows(world);
    combine(world);
    make_groups(world);
    iterate(world);
    feed(world);
    if (!exchange_safely(world, data) || data.front() != 0) return 1;
    call_with_options(world);
    job.finalize();
    return 0;
}
