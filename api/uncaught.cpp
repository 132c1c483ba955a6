#include "api/uncaught.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "foundation/quote.hpp"

namespace rollcall {
namespace {

constexpr int kCode = 128 + SIGABRT;  // as a shell reports it
// To tell the others takes some kilobytes. More than 128 KiB would be a mapping of its own, which the kernel would take back.
constexpr std::size_t kReserve = 64 << 10;

/// The jobs of this process that have not ended.
struct JobsToTell {
    /// Held while the others are told, so that a thread that ends a job waits until they are. The exception then ends the program.
    std::mutex mutex;
    std::vector<std::weak_ptr<runtime::Process>> jobs;  ///< In the order in which they were joined.
    /// Memory that is given back before the others are told, because the exception may say that there is no memory.
    std::unique_ptr<char[]> reserve;

    static JobsToTell& get() {
        static auto& told = *new JobsToTell;  // an exception may end the program while static objects are destroyed
        return told;
    }
};

/// The process that has jobs. A forked child has a copy of its parent's list, and perhaps a lock that no thread of its own holds.
std::atomic<pid_t> process_with_jobs = 0;
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
    static thread_local bool tells = false;  // if an exception leaves this function, it is called again
    if (tells || !std::current_exception() || process_with_jobs != ::getpid()) return;
    tells = true;
    JobsToTell& told = JobsToTell::get();
    const std::lock_guard lock(told.mutex);
    const auto jobs = std::exchange(told.jobs, {});  // each is told once
    if (jobs.empty()) return;
    told.reserve.reset();
    const std::string why = reason_of_the_end();
    if (why.empty()) return;
    // The last job comes first: the first one may be of a launcher, which then ends this process. Nobody waits for ranks of a job that has
    // ended.
    for (auto known = jobs.rbegin(); known != jobs.rend(); ++known)
        if (const auto job = known->lock(); job && !job->forked() && !job->finalized()) job->bootstrap().abort(kCode, why);
}

[[noreturn]] void end() {
    tell_others();
    if (before) before();
    std::abort();
}

}  // namespace

void tell_job_of_uncaught(const std::shared_ptr<runtime::Process>& process) {
    static std::once_flag once;
    std::call_once(once, [] { before = std::set_terminate(&end); });
    JobsToTell& told = JobsToTell::get();
    const std::lock_guard lock(told.mutex);
    if (!told.reserve) told.reserve = std::make_unique<char[]>(kReserve);
    std::erase_if(told.jobs, [](const auto& known) { return known.expired(); });
    told.jobs.push_back(process);
    process_with_jobs = ::getpid();
}

void forget_job_of_uncaught(const runtime::Process& process) {
    if (process.forked()) return;  // the lock may have been held by a thread that a forked child does not have
    JobsToTell& told = JobsToTell::get();
    const std::lock_guard lock(told.mutex);
    std::erase_if(told.jobs, [&](const auto& known) { return known.lock().get() == &process; });
}

}  // namespace rollcall
