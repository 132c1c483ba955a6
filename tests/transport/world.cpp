#include "tests/transport/world.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "foundation/settings.hpp"
#include "tests/common.hpp"
#include "transports/catalogue.hpp"
#include "transports/ucx/configuration.hpp"

namespace rollcall::test {

using transport::ConstBytes;
using transport::Offer;

const std::vector<Way>& ways() {
    static const std::vector<Way> all = {
        {"ucx_shm", "ucx", {{"UCX_TLS", "posix,self"}}},
        {"ucx_single_copy", "ucx", {{"UCX_TLS", "posix,self"}}, true},
        {"ucx_tcp", "ucx", {{"UCX_TLS", "tcp,self"}}},
        {"ucx_tcp_direct", "ucx", {{"UCX_TLS", "tcp,self"}}, false, false, true},
#ifdef ROLLCALL_HAS_OFI
        {"ofi_shm", "ofi", {{"ROLLCALL_OFI_PROVIDER", "shm"}}},
        {"ofi_tcp", "ofi", {{"ROLLCALL_OFI_PROVIDER", "tcp"}}},
        {"ofi_tcp_reads", "ofi", {{"ROLLCALL_OFI_PROVIDER", "tcp"}}, false, true},
#endif
        {"simulated", "simulated", {}},
    };
    return all;
}

void prepare(const Way& way) {
    for (const char* name : {"UCX_TLS", "ROLLCALL_OFI_PROVIDER"}) ::unsetenv(name);
    for (const auto& [name, value] : way.environment) ::setenv(name, value, 1);
}

std::size_t entries(const char* directory) {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++count;
    return count;
}

bool may_end_the_process(const Way& way) {
    return way.name.starts_with("ucx_tcp") || (way.name.starts_with("ucx") && transport::ucx::is_at_least(14));
}

std::vector<std::byte> header_of(int rank, std::uint32_t number, std::size_t length) {
    std::vector<std::byte> header(length, std::byte{0x5a});
    std::memcpy(header.data(), &rank, sizeof rank);
    std::memcpy(header.data() + sizeof rank, &number, sizeof number);
    return header;
}

std::uint32_t number_of(const Heard& heard) {
    std::uint32_t number = 0;
    std::memcpy(&number, heard.header.data() + sizeof(int), sizeof number);
    return number;
}

std::vector<std::byte> pattern(std::size_t size, std::uint64_t number) {
    std::vector<std::byte> bytes(size);
    std::uint64_t state = number * 0x9e3779b97f4a7c15u + 1;
    std::size_t at = 0;
    for (; at + sizeof state <= size; at += sizeof state) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        std::memcpy(bytes.data() + at, &state, sizeof state);
    }
    for (; at < size; ++at) bytes[at] = static_cast<std::byte>(at + number);
    return bytes;
}

void End::on_message(std::span<const std::byte> header, ConstBytes payload) noexcept {
    Heard message;
    message.header.assign(header.begin(), header.end());
    const auto* bytes = static_cast<const std::byte*>(payload.data);
    message.payload.assign(bytes, bytes + payload.size);
    instead ? instead(std::move(message)) : heard.push_back(std::move(message));
}

void End::on_offer(std::span<const std::byte> header, const Offer& offer) noexcept {
    Heard message;
    message.header.assign(header.begin(), header.end());
    message.offer = offer;
    std::memcpy(&message.offer.peer, header.data(), sizeof message.offer.peer);
    message.offered = true;
    instead ? instead(std::move(message)) : heard.push_back(std::move(message));
}

World::World(const Way& way, int size, std::uint64_t more_board) {
    constexpr std::uint64_t kBoard = 4096;
    prepare(way);
    if (way.is_simulated()) network_ = std::make_unique<transport::SimulatedNetwork>(size, transport::Model{.alpha = 1000}, kBoard);
    std::vector<transport::SingleCopy*> around;
    for (int rank = 0; rank < size; ++rank) {
        End& end = *ends_.emplace_back(std::make_unique<End>());
        end.rank = rank;
        if (network_) {
            end.transport = &network_->at(rank);
        } else {
            transport::TransportOptions options;
            options.rank = rank;
            options.size = options.local_size = size;
            options.board_bytes = kBoard + static_cast<std::uint64_t>(rank) * more_board;
            options.ucx_direct = way.direct;
            options.ofi_reads = way.reads ? "always" : "no";
            if (const char* const provider = std::getenv("ROLLCALL_OFI_PROVIDER")) options.ofi_provider = provider;
            end.owned = transport::make_transport(way.transport, options);
            if (way.single_copy) {
                auto single_copy = transport::with_single_copy(std::move(end.owned), rank, size);
                around.push_back(single_copy.get());
                end.owned = std::move(single_copy);
            }
            end.transport = end.owned.get();
        }
        addresses_.push_back(end.transport->address());
        end.transport->attach(end);
    }
    const std::vector<std::span<const std::byte>> spans(addresses_.begin(), addresses_.end());
    for (const auto& end : ends_) end->transport->connect(spans, nullptr);
    if (!around.empty()) let_all_read_each_other(around);
}

// Each rank sends its request to each other rank with the first message to it.
void World::let_all_read_each_other(std::span<transport::SingleCopy* const> around) {
    std::vector<transport::SingleCopyHandle> handles;
    for (const transport::SingleCopy* const one : around) handles.push_back(one->handle());
    std::vector<Told> told(around.size() * around.size());
    std::size_t next = 0;
    for (std::size_t rank = 0; rank < around.size(); ++rank) {
        around[rank]->meet(handles);
        for (std::size_t peer = 0; peer < around.size(); ++peer) {
            Told& sent = told[next++];
            sent.note(around[rank]->send(static_cast<int>(peer), header_of(static_cast<int>(rank), 0), {}, transport::Path::eager, sent));
        }
    }
    EXPECT_TRUE(until([&] {
        return std::all_of(ends_.begin(), ends_.end(), [&](const auto& end) { return end->heard.size() == around.size(); }) &&
               std::all_of(told.begin(), told.end(), [](const Told& sent) { return sent.ended(); });
    }));
    for (int i = 0; i < 100; ++i) progress();  // The answers come after the messages.
    for (const auto& end : ends_) end->heard.clear();
}

World::~World() = default;

void World::progress() {
    if (network_) return network_->run();
    for (const auto& end : ends_) end->transport->progress();
}

bool World::until(const std::function<bool()>& condition) {
    for (const auto begin = std::chrono::steady_clock::now(); !condition();) {
        progress();
        if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) return false;
    }
    return true;
}

bool World::until(int rank, const std::function<bool()>& condition) {
    if (network_) return until(condition);
    for (const auto begin = std::chrono::steady_clock::now(); !condition();) {
        (*this)[rank].transport->progress();
        if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) return false;
    }
    return true;
}

bool World::close() {
    const bool settled = until([&] { return std::ranges::all_of(ends_, [](const auto& end) { return end->transport->settled(); }); });
    return settled && until([&] {
               bool closed = true;
               for (const auto& end : ends_) closed = end->transport->close() && closed;
               return closed;
           });
}

bool World::meet(int one, int other) {
    Told there, back;
    const std::size_t before = (*this)[other].heard.size(), before_back = (*this)[one].heard.size();
    there.note((*this)[one].transport->send(other, header_of(one, 0), {}, transport::Path::eager, there));
    if (!until([&] { return there.ended() && (*this)[other].heard.size() > before; })) return false;
    back.note((*this)[other].transport->send(one, header_of(other, 0), {}, transport::Path::eager, back));
    if (!until([&] { return back.ended() && (*this)[one].heard.size() > before_back; })) return false;
    (*this)[other].heard.pop_back();
    (*this)[one].heard.pop_back();
    return true;
}

std::uint64_t resident_bytes() {
    const std::string status = contents("/proc/self/statm");
    return std::strtoull(status.c_str() + status.find(' '), nullptr, 10) * 4096;
}

}  // namespace rollcall::test
