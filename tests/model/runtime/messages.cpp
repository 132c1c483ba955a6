#include <algorithm>
#include <memory>
#include <utility>

#include "tests/model/job.hpp"

namespace rollcall::model_test {

void Messages::begin(void* context, int rank) {
    auto& post = *static_cast<Post*>(context);
    post.transfer.begin(post.simulation.engine(rank));
}

runtime::Transfer& Messages::post(int rank, std::unique_ptr<Post> post, Nanoseconds when) {
    auto& network = simulation_.network();
    network.schedule(network.now() + when, &Messages::begin, post.get(), rank);
    posts_.push_back(std::move(post));
    return posts_.back()->transfer;
}

runtime::Transfer& Messages::send(int from, int to, std::uint64_t tag, std::uint64_t bytes, std::uint64_t number, Nanoseconds when) {
    auto made = std::make_unique<Post>(simulation_, runtime::Transfer::Direction::send, to, communicator_, tag, bytes);
    for (std::uint64_t i = 0; i < bytes; ++i) made->memory[i] = byte_of_message(number, i);
    return post(from, std::move(made), when);
}

runtime::Transfer& Messages::receive(int at, int from, std::uint64_t tag, std::uint64_t bytes, Nanoseconds when) {
    auto made = std::make_unique<Post>(simulation_, runtime::Transfer::Direction::receive, from, communicator_, tag, bytes);
    std::fill(made->memory.begin(), made->memory.end(), kPoison);
    return post(at, std::move(made), when);
}

bool Messages::holds(const runtime::Transfer& received, std::uint64_t bytes, std::uint64_t number) {
    if (!received.done() || received.error() || received.received != bytes) return false;
    const auto* data = static_cast<const std::byte*>(received.buffer.data);
    for (std::uint64_t i = 0; i < bytes; ++i)
        if (data[i] != byte_of_message(number, i)) return false;
    return true;
}

}  // namespace rollcall::model_test
