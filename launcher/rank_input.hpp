/// \file
/// Standard input on its way to one rank.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "foundation/descriptor.hpp"
#include "launcher/poller.hpp"

namespace rollcall::launcher {

/// The writing end of the pipe that a rank reads. Never blocks. Stays where it is while it is open.
class RankInput {
  public:
    /// How much of what was taken the rank has; `closed`: it takes no more.
    using Taken = std::function<void(std::size_t bytes, bool closed)>;

    RankInput(Poller& poller, Taken taken) : poller_(poller), taken_(std::move(taken)) {}

    /// `pipe` does not block.
    void open(Descriptor pipe);
    /// No bytes: the end of the input.
    void take(std::string_view bytes);
    /// What is on its way is dropped.
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
