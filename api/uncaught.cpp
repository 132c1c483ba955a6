#include "api/uncaught.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "foundation/quote.hpp"

namespace rollcall {
namespace {

constexpr int kCode = 128 + SIGABRT;  // as a shell reports it
// To tell the others takes some kilobytes. More than 128 KiB would be a mapping of its own, which the kernel would take back.
constexpr std::size_t kReserve = 64 << 10;

/// The jobs of this process that have not ended.
struct JobsToTell {
    std::mutex mutex;
    std::vector<runtime::Process*> jobs;  ///< In the order in which they were joined.
    /// Memory that is given back before the others are told, because the exception may say that there is no memory.
    std::unique_ptr<char[]> reserve;

    static JobsToTell& get() {
        static auto& told = *new JobsToTell;  // an exception may end the program while static objects are destroyed
        return told;
    }
    /// Takes all jobs, so that each is told once.
    std::vector<runtime::Process*> take() {
        std::unique_lock lock(mutex, std::try_to_lock);
        // A forked child may have a lock that was held by another thread of its parent.
        for (int i = 0; i < 100 && !lock; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            (void)lock.try_lock();
        }
        return lock ? std::exchange(jobs, {}) : std::vector<runtime::Process*>();
    }
};

std::terminate_handler before = nullptr;

/// Returns what the other ranks are told of the exception that ends this program. Empty: nothing.
std::string reason_of_the_end() {
    try {
        std::rethrow_exception(std::current_exception());
    } catch (const Error& error) {
        return error.failed_rank() < 0 ? printable(fmt::format("uncaught exception: {}", error.what())) : std::string();
    } catch (const std::exception& error) {
        return printable(fmt::format("uncaught exception: {}", error.what()));
    } catch (...) {
        return "uncaught exception";
    }
}

void tell_others() noexcept {
    if (!std::current_exception()) return;
    const std::vector<runtime::Process*> jobs = JobsToTell::get().take();
    if (jobs.empty()) return;
    JobsToTell::get().reserve.reset();
    const std::string why = reason_of_the_end();
    if (why.empty()) return;
    // The last job comes first: the first one may be of a launcher, which then ends this process. Nobody waits for ranks of a job that has
    // ended.
    for (auto job = jobs.rbegin(); job != jobs.rend(); ++job)
        if (!(*job)->forked() && !(*job)->finalized()) (*job)->bootstrap().abort(kCode, why);
}

[[noreturn]] void end() {
    tell_others();
    if (before) before();
    std::abort();
}

}  // namespace

void tell_job_of_uncaught(runtime::Process& process) {
    static std::once_flag once;
    std::call_once(once, [] { before = std::set_terminate(&end); });
    JobsToTell& told = JobsToTell::get();
    const std::lock_guard lock(told.mutex);
    if (!told.reserve) told.reserve = std::make_unique<char[]>(kReserve);
    told.jobs.push_back(&process);
}

void forget_job_of_uncaught(runtime::Process& process) {
    if (process.forked()) return;  // the lock may have been held by a thread that a forked child does not have
    JobsToTell& told = JobsToTell::get();
    const std::lock_guard lock(told.mutex);
    std::erase(told.jobs, &process);
}

}  // namespace rollcall
