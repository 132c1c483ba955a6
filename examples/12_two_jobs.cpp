// Two jobs that are started on their own become connected: a simulation waits for viewers, and a viewer asks the running simulation for its
// whole field. The invitation, which holds a key, is handed over in a file that only its user can read.
//
//     rollcall run -n 3 build/release/examples/12_two_jobs simulate ~/invitation &
//     rollcall run -n 2 build/release/examples/12_two_jobs view ~/invitation
//
// The file is in a directory where only this user can make files. In /tmp, another user could put an invitation to another job there.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>
#include <rollcall/rollcall.hpp>

namespace {

constexpr int kCells = 1000;  // of each rank of the simulation

std::string unfinished(const std::string& path) { return path + ".part"; }

// A simulation that was killed has left its files.
void remove_invitation(const std::string& path) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    std::filesystem::remove(unfinished(path), ignored);
}

void hand_over(const std::string& invitation, const std::string& path) {
    // O_EXCL: a file that is there may belong to another user, or let other users read it.
    const int file = ::open(unfinished(path).c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0 || ::write(file, invitation.data(), invitation.size()) != static_cast<ssize_t>(invitation.size()) || ::close(file) != 0)
        throw std::system_error(errno, std::generic_category(), unfinished(path) + " cannot be written");
    std::filesystem::rename(unfinished(path), path);  // so that the other job never reads a part of it
}

std::string wait_for_invitation(const std::string& path) {
    std::string invitation;
    while (!(std::ifstream(path) >> invitation)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return invitation;
}

// The file may be one of a simulation that has ended. Then no job listens there: all ranks get Error{bootstrap}, and try again.
rollcall::Intercommunicator connect(const rollcall::Communicator& world, const std::string& path) {
    constexpr int kTries = 100;
    for (int tries = 1;; ++tries) try {
            const std::string invitation = world.rank() == 0 ? wait_for_invitation(path) : "";
            return rollcall::Intercommunicator::connect(world, invitation, {.job_name = "viewer", .timeout = {}});
        } catch (const rollcall::Error& error) {
            if (error.code() != rollcall::ErrorCode::bootstrap || tries == kTries) throw;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
}

void simulate(const rollcall::Communicator& world, const std::string& path) {
    if (world.rank() == 0) remove_invitation(path);
    const rollcall::Listener listener(world, {.job_name = "simulation", .port = 0});
    if (world.rank() == 0) hand_over(listener.invitation(), path);
    std::vector<double> field(kCells), none;
    for (int step = 1; step <= 3; ++step) {
        for (double& cell : field) cell += world.rank() + step;
        if (step != 2) continue;
        // A viewer is expected after this step.
        const rollcall::Intercommunicator viewer = listener.accept();
        if (world.rank() == 0) remove_invitation(path);
        const std::vector<int> nothing(static_cast<std::size_t>(viewer.remote_size()));
        viewer.allgather(field, none, rollcall::Blocks(nothing));
        viewer.disconnect();
    }
    double sum = 0, total = 0;
    for (const double cell : field) sum += cell;
    world.allreduce(sum, total, rollcall::sum);
    if (world.rank() == 0) std::printf("the simulation went on to a mean of %.1f\n", total / (kCells * world.size()));
}

void view(const rollcall::Communicator& world, const std::string& path) {
    const rollcall::Intercommunicator simulation = connect(world, path);
    const std::vector<int> counts(static_cast<std::size_t>(simulation.remote_size()), kCells);
    std::vector<double> nothing, field(counts.size() * kCells);
    simulation.allgather(nothing, field, rollcall::Blocks(counts));
    simulation.disconnect();
    const double mean = std::accumulate(field.begin(), field.end(), 0.0) / static_cast<double>(field.size());
    std::printf("rank %d of the viewer sees %zu cells of %d ranks with a mean of %.1f\n", world.rank(), field.size(),
                static_cast<int>(counts.size()), mean);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string part = argc == 3 ? argv[1] : "";
    if (part != "simulate" && part != "view") {
        std::fprintf(stderr, "usage: %s simulate|view FILE\n", argv[0]);
        return 2;
    }
    try {
        rollcall::Job job;
        (part == "simulate" ? simulate : view)(job.world(), argv[2]);
        job.finalize();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
