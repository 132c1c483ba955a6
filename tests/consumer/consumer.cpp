#include <iostream>
#include <sstream>

#include <rollcall/rollcall.hpp>

int main() {
    rollcall::Job job;
    int value = job.rank() == 0 ? 42 : 0;
    job.world().broadcast(value, 0);
    std::ostringstream line;
    line << "rank " << job.rank() << " of " << job.size() << " has " << value << " from c++\n";
    std::cout << line.str();
}
