/// \file
/// What the ranks of an agent write, on its way to the launcher.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "foundation/descriptor.hpp"
#include "launcher/frames.hpp"
#include "launcher/poller.hpp"

namespace rollcall::launcher {

/// Reads the ranks' pipes and sends what comes as it comes, kStreamWindow bytes ahead of the launcher at most: ranks
/// whose output is not taken block, as they would without a launcher.
class Forwarder {
  public:
    using Send = std::function<void(Blob frame)>;

    Forwarder(Poller& poller, Send send) : poller_(poller), send_(std::move(send)) {}
    ~Forwarder();

    void add(int rank, bool error, Descriptor pipe);
    /// The launcher has passed on so many bytes. So many as never came: nobody reads this stream any more.
    void taken(int rank, bool error, std::size_t bytes);
    /// All writers are gone: what the pipes hold now is all there is.
    void finish();
    /// True when everything was sent.
    bool idle() const { return streams_.empty(); }

  private:
    struct Stream {
        Descriptor pipe;
        std::size_t ahead = 0;
        bool watched = false;
    };
    using Name = std::pair<int, bool>;

    void readable(const Name& name);
    void end(const Name& name);

    Poller& poller_;
    Send send_;
    bool finishing_ = false;
    std::map<Name, Stream> streams_;
};

}  // namespace rollcall::launcher
