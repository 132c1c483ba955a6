/// \file
/// Passes standard input to one rank.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "foundation/descriptor.hpp"
#include "launcher/streams/poller.hpp"

namespace rollcall::launcher {

/// The writing end of the pipe that a rank reads. Never blocks. Must not be moved while it is open.
class RankInput {
  public:
    /// Called with how much of the input the rank has read. `closed`: it takes no more.
    using Taken = std::function<void(std::size_t bytes, bool closed)>;

    RankInput(Poller& poller, Taken taken) : poller_(poller), taken_(std::move(taken)) {}

    /// `pipe` must be non-blocking.
    void open(Descriptor pipe);
    /// Takes input for the rank. No bytes mean the end of the input.
    void take(std::string_view bytes);
    /// Drops input that has not been written.
    void close();

  private:
    void write();

    Poller& poller_;
    Taken taken_;
    Descriptor pipe_;
    std::string typed_;  // not written yet
    bool ends_ = false;  // behind what is typed
};

}  // namespace rollcall::launcher
