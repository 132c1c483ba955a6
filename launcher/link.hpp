/// \file
/// One connection between the launcher and an agent, or between two agents. It carries frames over a pair of
/// descriptors, with heartbeats.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <rollcall/time.hpp>

#include "foundation/descriptor.hpp"
#include "launcher/processes/frames.hpp"
#include "launcher/streams/poller.hpp"

namespace rollcall::launcher {

/// Receives frames while it exists and gives them to `on_frame`. Calls `on_closed` once, with the cause and its words, when the
/// other side is gone, sends something that is not a frame, or has not been heard of for the time of silence. Both
/// functions may destroy the link.
class Link {
  public:
    using OnFrame = std::function<void(const Frame&)>;
    enum class Cause { silent, closed, invalid };
    using OnClosed = std::function<void(Cause cause, const std::string& how)>;

    /// `in` and `out` may be the same descriptor (a socket). They become non-blocking, and stay open as long as the
    /// link.
    Link(Poller& poller, Descriptor in, Descriptor out, OnFrame on_frame, OnClosed on_closed);
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    /// Bytes that come before the first frame of this type do not count as frames. They are given to `on_text`. Call this
    /// before the first poll.
    void begin_with(FrameType type, std::function<void(const std::string& text)> on_text);
    /// From now on heartbeats are sent, and a silence that is longer than this counts as a loss. Each side sends six
    /// heartbeats within this time. A time in which this process did not run does not count.
    void watch(Nanoseconds silence) { watch(silence, silence); }
    /// The same, but only a silence that is longer than `patience` counts as a loss.
    void watch(Nanoseconds silence, Nanoseconds patience);
    void send(std::shared_ptr<const Blob> frame);
    void send(Blob frame) { send(std::make_shared<const Blob>(std::move(frame))); }
    /// Stops receiving and sending.
    void stop();
    bool sent_all() const { return outbox_.empty(); }

    /// Takes what has come, without waiting for the poller.
    void take();

    Nanoseconds tick_at() const;
    void tick();
    /// Sends a heartbeat if one is due. For a thread that is busy with something else for a while.
    void beat();

  private:
    void flush();
    void close(Cause cause, const std::string& how);
    Nanoseconds lost_at() const;
    int out() const { return out_ ? out_.get() : in_.get(); }

    Poller& poller_;
    Descriptor in_;
    Descriptor out_;  // empty: in_ serves both
    OnFrame on_frame_;
    OnClosed on_closed_;
    FrameType first_{};
    std::function<void(const std::string&)> on_text_;  // until the first frame has come
    bootstrap::Inbox inbox_;
    bootstrap::Outbox outbox_;
    bool stopped_ = false;
    bool armed_ = false;  // the poller waits for room
    Nanoseconds silence_;
    Nanoseconds patience_;
    Nanoseconds heard_;
    Nanoseconds said_;
    Nanoseconds turn_;  // of the last tick
    std::shared_ptr<bool> alive_;
};

}  // namespace rollcall::launcher
