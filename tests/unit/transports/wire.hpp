/// \file
/// A transport between two ranks of one process, made of two queues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transports/transport.hpp"

namespace rollcall::transport {

struct Message {
    int from;
    std::vector<std::byte> header, payload;
    bool offered;
};
using Queue = std::deque<Message>;

// One end of a wire between two ranks. Large messages are offered with their payload.
class Wire final : public Transport {
  public:
    Wire(int rank, Queue& in, Queue& out) : rank_(rank), in_(in), out_(out) {}
    int large = 0;           ///< Sent here.
    bool has_memory = true;  ///< Otherwise a send throws.

    std::string_view name() const override { return "wire"; }
    std::uint32_t version() const override { return 1; }
    std::string description() const override { return "a wire"; }
    std::vector<std::byte> address() const override { return {}; }
    void connect(const std::vector<std::span<const std::byte>>&, std::shared_ptr<const void>) override {}
    void attach(Sink& sink) override { sink_ = &sink; }
    unsigned progress() override {
        unsigned happened = 0;
        for (; !in_.empty(); ++happened) {
            kept_.push_back(std::move(in_.front()));
            in_.pop_front();
            Message& message = kept_.back();
            if (message.offered)
                sink_->on_offer(message.header, {.handle = &message, .size = message.payload.size()});
            else
                sink_->on_message(message.header, {message.payload.data(), message.payload.size()});
        }
        return happened;
    }
    Started send(int, std::span<const std::byte> header, ConstBytes payload, Path path, Completion&) override {
        if (!has_memory) throw std::bad_alloc();
        const auto* bytes = static_cast<const std::byte*>(payload.data);
        out_.push_back({rank_, {header.begin(), header.end()}, {bytes, bytes + payload.size}, path == Path::large});
        large += path == Path::large;
        return Started::done;
    }
    Started fetch(const Offer& offer, Bytes into, Completion&) override {
        const auto& message = *static_cast<const Message*>(offer.handle);
        std::memcpy(into.data, message.payload.data(), into.size);
        return Started::done;
    }
    void decline(const Offer&) override {}
    bool release(int, Completion&) override { return false; }
    void add_pending(std::vector<int>&) const override {}
    void disconnect(int) override {}
    Memory& memory() override { std::abort(); }
    std::span<std::byte> board() override { return {}; }
    void put(int, std::uint64_t, std::span<const std::byte>) override {}
    PutWake put_wake(int) override { return PutWake::unknown; }
    std::byte* peer_board(int) override { return nullptr; }
    bool shares_memory() const override { return false; }
    bool shares_memory_with(int) const override { return false; }
    bool uses_tcp() const override { return false; }
    bool tells_of_puts() const override { return false; }
    int descriptor() const override { return -1; }
    bool arm() override { return in_.empty(); }
    unsigned pieces_under_way() const override { return 2; }
    bool settled() const override { return true; }
    bool close() override { return true; }

  private:
    int rank_;
    Queue &in_, &out_;
    std::deque<Message> kept_;
    Sink* sink_ = nullptr;
};

}  // namespace rollcall::transport
