/// \file
/// Sends what the ranks of an agent write to the launcher.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <utility>

#include "foundation/descriptor.hpp"
#include "launcher/processes/frames.hpp"
#include "launcher/streams/poller.hpp"

namespace rollcall::launcher {

/// Reads the pipes of the ranks and sends the bytes as they come, at most `window` bytes of each ahead of the launcher.
/// A rank whose output is not taken blocks, as it would without a launcher.
class Forwarder {
  public:
    using Send = std::function<void(Blob frame)>;

    Forwarder(Poller& poller, std::size_t window, Send send) : poller_(poller), window_(window), send_(std::move(send)) {}
    ~Forwarder();

    void add(int rank, bool error, Descriptor pipe);
    /// The launcher has passed on this many bytes. If this is more than ever came, the stream has no reader any more.
    void taken(int rank, bool error, std::size_t bytes);
    /// All writers are gone: no more than what the pipes hold now will come. A writer that cannot be ended may still be
    /// there; what it writes from now on is lost.
    void finish();
    /// True when everything was sent.
    bool idle() const { return streams_.empty(); }

  private:
    struct Stream {
        Descriptor pipe;
        std::size_t ahead = 0;
        std::size_t rest = 0;  // of the pipe, when all writers are gone
        bool watched = false;
    };
    using Name = std::pair<int, bool>;

    void readable(const Name& name);
    void read_rest();
    void end(const Name& name);

    Poller& poller_;
    std::size_t window_;
    Send send_;
    bool finishing_ = false;
    std::map<Name, Stream> streams_;
};

}  // namespace rollcall::launcher
