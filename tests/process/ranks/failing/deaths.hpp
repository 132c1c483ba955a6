/// \file
/// For scenarios in which a rank dies.
#pragma once

#include <cstdlib>
#include <span>
#include <string>

#include <signal.h>
#include <unistd.h>

#include "foundation/clock.hpp"
#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {

inline constexpr std::size_t kTimeOfDeath = 100;  ///< Words that all ranks share.
inline constexpr std::size_t kEnded = 101;
inline constexpr std::size_t kInNoCall = 102;  ///< How many ranks have come to nobody_is_in_a_call().

[[noreturn]] inline void die(const Scene& scene, const std::string& how) {
    scene.at(kTimeOfDeath).store(static_cast<std::uint64_t>(monotonic_now()));
    if (how == "abort") std::abort();
    if (how == "kill") ::kill(::getpid(), SIGKILL);
    if (how == "exit0") ::_exit(0);
    if (how == "exit7") ::_exit(7);
    if (how == "return7") std::exit(7);  // Runs destructors of statics, but not of the job.
    for (;;) ::pause();
}

/// Waits until all ranks have come here. A rank that is still in a barrier, or in another call, when another one dies would fail there.
/// Each scenario does this once.
inline void nobody_is_in_a_call(const Scene& scene) {
    scene.at(kInNoCall).fetch_add(1);
    for (; scene.at(kInNoCall).load() < static_cast<std::uint64_t>(scene.size); sleep_us(200)) scene.job.progress();
}

/// UCX 1.13 ends the process with an assertion (ucp_request.c, "got REP message") when a peer dies while the two are connecting over tcp.
/// So all ranks are connected before one dies.
inline void connect_all(Scene& scene) {
    const char* transports = std::getenv("UCX_TLS");
    if (!transports || std::string(transports) != "tcp") return;
    for (int distance = 1; distance < scene.size; ++distance) {
        Request send = scene.world.start_send(std::span(&scene.rank, 1), (scene.rank + distance) % scene.size, 4321);
        scene.world.receive<int>((scene.rank + scene.size - distance) % scene.size, 4321);
        send.wait();
    }
}

}  // namespace rollcall::test
