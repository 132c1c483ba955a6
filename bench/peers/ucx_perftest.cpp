#include "bench/peers/ucx_perftest.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <rollcall/error.hpp>
#include <sstream>

#include "bench/ranks/child.hpp"
#include "foundation/descriptor.hpp"
#include "launcher/processes/spawn.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kServerStarts = std::chrono::seconds(5);
constexpr auto kNextAttempt = std::chrono::milliseconds(50);

/// Returns a TCP port of the loopback interface that is free now.
int free_port() {
    const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    void* const any = &address;
    const bool bound = socket && ::bind(socket.get(), static_cast<sockaddr*>(any), size) == 0 &&
                       ::getsockname(socket.get(), static_cast<sockaddr*>(any), &size) == 0;
    if (!bound) throw Error(ErrorCode::state, "no free port on the loopback interface");
    return ntohs(address.sin_port);
}

[[noreturn]] void not_there() {
    throw Error(ErrorCode::state, fmt::format("{} is not there: install it (Debian and Ubuntu: ucx-utils)", kUcxPerftest));
}

void end_if(int signal) {
    if (signal != 0)
        throw usage::EarlyEnd(ErrorCode::state, fmt::format("signal {} came while {} ran", signal, kUcxPerftest), usage::kSignal + signal);
}

/// Runs both processes. Returns the result of the client, which prints the times.
ChildResult run_pair(std::uint64_t bytes, const std::vector<std::string>& environment, std::uint64_t trips) {
    const auto text = [](std::uint64_t number) { return std::to_string(number); };
    std::vector<std::string> words = {kUcxPerftest, "-p", text(static_cast<std::uint64_t>(free_port())), "-t", "ucp_am_lat", "-s"};
    for (const std::string& word :
         {text(bytes), std::string("-n"), text(trips), std::string("-w"), text(std::max<std::uint64_t>(trips / 10, 1)), std::string("-f")})
        words.push_back(word);
    const SignalsToEnd signals;
    const ChildOptions options{.environment = environment, .timeout = kUcxPerftestLimit, .signals = &signals};
    Child server(words, options);  // an exception ends it
    words.insert(words.begin() + 1, "127.0.0.1");
    const auto give_up = SteadyClock::now() + kServerStarts;
    ChildResult client;
    do {  // until the server listens
        end_if(signals.wait_for(kNextAttempt));
        client = run_child(words, {}, options);
        end_if(client.interrupted);
    } while (client.found && client.exit_code != 0 && !client.timed_out && SteadyClock::now() < give_up);
    if (client.found && client.exit_code == 0) end_if(server.finish().interrupted);
    return client;
}

}  // namespace

void require_ucx_perftest() {
    if (launcher::find_program(kUcxPerftest, launcher::own_environment()).error != 0) not_there();
}

double ucx_perftest(std::uint64_t bytes, const std::vector<std::string>& environment, std::uint64_t trips) {
    const ChildResult client = run_pair(bytes, environment, trips);
    if (!client.found) not_there();
    if (client.timed_out)
        throw Error(ErrorCode::state,
                    fmt::format("{} did not end within {} s: is the machine busy?", kUcxPerftest, kUcxPerftestLimit.count()));
    // With -f, only the last line of numbers is printed: the iterations, then the latency in us as 50th percentile, as recent average and
    // as overall average.
    const auto end = client.output.find_last_not_of(" \n");
    std::string line = client.output.substr(0, end == std::string::npos ? 0 : end + 1);
    line.erase(0, line.find_last_of(":\n") + 1);
    std::istringstream numbers(line);
    double iterations = 0, percentile_50 = 0, of_late = 0, overall = 0;
    if (!(numbers >> iterations >> percentile_50 >> of_late >> overall) || client.exit_code != 0)
        throw Error(ErrorCode::state,
                    fmt::format("{} failed (exit code {}): {}{}", kUcxPerftest, client.exit_code, client.output, client.errors));
    // On a busy machine the mean contains interruptions, which a median of batches does not. On a quiet machine the percentile is larger,
    // because ucx_perftest reads the clock for each message. The smaller of the two is taken, which favours the peer.
    return std::min(percentile_50, overall) * 1e-6;
}

}  // namespace rollcall::bench
