/// \file
/// Passes the launcher's standard input to ranks.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "foundation/clock.hpp"
#include "foundation/descriptor.hpp"
#include "launcher/streams/poller.hpp"

namespace rollcall::launcher {

/// Reads standard input only when every rank that gets it has taken what was read before. What is not taken stays in
/// its source (a terminal, a pipe), as it would without a launcher.
class Input {
  public:
    /// Called with the bytes for one rank. No bytes mean the end of the input.
    using Send = std::function<void(int rank, std::string_view bytes)>;

    /// `group`: the process group that may read the descriptor if it is a terminal.
    Input(Poller& poller, int descriptor, pid_t group, const std::vector<int>& ranks, Send send);

    /// Starts reading.
    void start();
    /// A rank has taken this many bytes. `closed`: it takes no more.
    void taken(int rank, std::size_t bytes, bool closed);

    /// When retry() is due. A launcher in the background may not read the terminal, so it looks again from time to
    /// time.
    Nanoseconds retry_at() const { return retry_at_; }
    void retry();

  private:
    void read();
    long read_some(char* buffer, std::size_t size) const;
    void watch(bool wanted);
    void finish();

    Poller& poller_;
    Descriptor own_;  // a description of our own to read from, non-blocking, where one can be had
    int descriptor_;
    pid_t terminal_group_;             // -1: not a terminal
    std::map<int, std::size_t> owed_;  // bytes that each rank has still to take
    std::size_t owing_ = 0;            // how many ranks have still to take bytes
    Send send_;
    bool polled_ = true;  // false: a regular file
    bool watched_ = false;
    bool ended_ = false;
    Nanoseconds retry_at_ = kNever;
};

}  // namespace rollcall::launcher
