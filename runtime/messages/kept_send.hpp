/// \file
/// A point-to-point send whose caller has its buffer back. The message waits in landing memory until its receiver takes it.
#pragma once

#include <list>

#include "runtime/messages/transfer.hpp"

namespace rollcall::runtime {

/// Owner-only. The engine owns it; it removes itself when the message has left or cannot be delivered.
class KeptSend final : private Watcher {
  public:
    using List = std::list<KeptSend>;

    /// Goes on in place of `send`. The memory is of the engine's landing budget, and is given back at the end.
    KeptSend(Engine& engine, const Transfer& send, transport::Bytes memory);
    ~KeptSend();
    KeptSend(const KeptSend&) = delete;
    KeptSend& operator=(const KeptSend&) = delete;

    WatchedTransfer transfer;
    List::iterator place;  ///< In the engine's list.

  private:
    void ended() noexcept override;
    void tell_of_loss(const Error& error);
};

}  // namespace rollcall::runtime
