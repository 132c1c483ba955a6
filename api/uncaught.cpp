#include "api/uncaught.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <mutex>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "foundation/quote.hpp"

namespace rollcall {
namespace {

constexpr int kCode = 128 + SIGABRT;  // as a shell reports it

std::atomic<runtime::Process*> told = nullptr;
std::terminate_handler before = nullptr;

void tell_others() noexcept {
    runtime::Process* const process = told.exchange(nullptr);
    if (!process || process->forked() || !std::current_exception()) return;
    try {
        std::rethrow_exception(std::current_exception());
    } catch (const Error& error) {
        if (error.failed_rank() < 0) process->bootstrap().abort(kCode, printable(fmt::format("uncaught exception: {}", error.what())));
    } catch (const std::exception& error) {
        process->bootstrap().abort(kCode, printable(fmt::format("uncaught exception: {}", error.what())));
    } catch (...) {
        process->bootstrap().abort(kCode, "uncaught exception");
    }
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
    told = &process;
}

void forget_job_of_uncaught(runtime::Process& process) {
    runtime::Process* expected = &process;
    told.compare_exchange_strong(expected, nullptr);
}

}  // namespace rollcall
