// Messages between two ranks in C.
#include "api/c.hpp"

#include <cstddef>
#include <stdexcept>

#include <fmt/format.h>

namespace rollcall::c {
namespace {

/// A container as Communicator::receive_resized() takes it, whose memory is the program's.
class ResizedByProgram {
  public:
    using value_type = std::byte;
    ResizedByProgram(const char* caller, rollcall_resize_function resize, void* context)
        : caller_(caller), resize_(resize), context_(context) {
        if (!resize) throw Error(ErrorCode::invalid_argument, fmt::format("{}: the function that gives memory is NULL", caller));
    }
    void resize(std::size_t bytes) {
        data_ = static_cast<std::byte*>(resize_(context_, bytes));
        if (!data_ && bytes > 0)
            throw std::runtime_error(
                fmt::format("{}: the function of the program gave no memory for a message of {} bytes", caller_, bytes));
        size_ = bytes;
    }
    std::byte* data() const { return data_; }
    std::size_t size() const { return size_; }
    std::byte* begin() const { return data_; }
    std::byte* end() const { return data_ + size_; }

  private:
    const char* caller_;
    rollcall_resize_function resize_;
    void* context_;
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

rollcall_status receive_resized(const auto* communicator, const char* caller, rollcall_resize_function resize, void* context, int from,
                                uint64_t tag, int64_t timeout, uint64_t* received) {
    return guarded([&] {
        ResizedByProgram data(caller, resize, context);
        const Received got = checked(communicator).receive_resized(data, from, tag, deadline(timeout));
        if (received) *received = got.bytes;
    });
}

}  // namespace
}  // namespace rollcall::c

using namespace rollcall;
using namespace rollcall::c;

extern "C" {

rollcall_status rollcall_send(const rollcall_communicator* communicator, const void* data, uint64_t bytes, int to, uint64_t tag,
                              int64_t timeout) {
    return guarded([&] { checked(communicator).send(data, bytes, to, tag, deadline(timeout)); });
}

rollcall_status rollcall_receive(const rollcall_communicator* communicator, void* data, uint64_t bytes, int from, uint64_t tag,
                                 int64_t timeout, uint64_t* received) {
    return guarded([&] {
        const Received got = checked(communicator).receive(data, bytes, from, tag, deadline(timeout));
        if (received) *received = got.bytes;
    });
}

rollcall_status rollcall_receive_resized(const rollcall_communicator* communicator, rollcall_resize_function resize, void* context,
                                         int from, uint64_t tag, int64_t timeout, uint64_t* received) {
    return receive_resized(communicator, "rollcall_receive_resized", resize, context, from, tag, timeout, received);
}

rollcall_status rollcall_next_size(const rollcall_communicator* communicator, int from, uint64_t tag, int64_t timeout, uint64_t* bytes) {
    return guarded([&] {
        std::uint64_t& place = checked(bytes, "the place for the size");
        place = checked(communicator).next_size(from, tag, deadline(timeout));
    });
}

rollcall_status rollcall_try_next_size(const rollcall_communicator* communicator, int from, uint64_t tag, int* found, uint64_t* bytes) {
    return look_for(found, bytes, [&] { return checked(communicator).try_next_size(from, tag); });
}

rollcall_status rollcall_intergroup_send(const rollcall_intercommunicator* between, const void* data, uint64_t bytes, int to, uint64_t tag,
                                         int64_t timeout) {
    return guarded([&] { checked(between).send(data, bytes, to, tag, deadline(timeout)); });
}

rollcall_status rollcall_intergroup_receive(const rollcall_intercommunicator* between, void* data, uint64_t bytes, int from, uint64_t tag,
                                            int64_t timeout, uint64_t* received) {
    return guarded([&] {
        const Received got = checked(between).receive(data, bytes, from, tag, deadline(timeout));
        if (received) *received = got.bytes;
    });
}

rollcall_status rollcall_intergroup_receive_resized(const rollcall_intercommunicator* between, rollcall_resize_function resize,
                                                    void* context, int from, uint64_t tag, int64_t timeout, uint64_t* received) {
    return receive_resized(between, "rollcall_intergroup_receive_resized", resize, context, from, tag, timeout, received);
}

rollcall_status rollcall_intergroup_next_size(const rollcall_intercommunicator* between, int from, uint64_t tag, int64_t timeout,
                                              uint64_t* bytes) {
    return guarded([&] {
        std::uint64_t& place = checked(bytes, "the place for the size");
        place = checked(between).next_size(from, tag, deadline(timeout));
    });
}

rollcall_status rollcall_start_intergroup_next_size(const rollcall_intercommunicator* between, int from, uint64_t tag, int64_t timeout,
                                                    rollcall_request** request) {
    return start(request, [&] { return checked(between).start_next_size(from, tag, deadline(timeout)); });
}

rollcall_status rollcall_intergroup_try_next_size(const rollcall_intercommunicator* between, int from, uint64_t tag, int* found,
                                                  uint64_t* bytes) {
    return look_for(found, bytes, [&] { return checked(between).try_next_size(from, tag); });
}

rollcall_status rollcall_start_intergroup_send(const rollcall_intercommunicator* between, const void* data, uint64_t bytes, int to,
                                               uint64_t tag, int64_t timeout, rollcall_request** request) {
    return start(request, [&] { return checked(between).start_send(data, bytes, to, tag, deadline(timeout)); });
}

rollcall_status rollcall_start_intergroup_receive(const rollcall_intercommunicator* between, void* data, uint64_t bytes, int from,
                                                  uint64_t tag, int64_t timeout, rollcall_request** request) {
    return start(request, [&] { return checked(between).start_receive(data, bytes, from, tag, deadline(timeout)); });
}

}  // extern "C"
