#include "transports/ucx/board.hpp"

#include <atomic>
#include <cstring>

#include "transports/address_parts.hpp"
#include "transports/board_words.hpp"
#include "transports/ucx/connecting.hpp"
#include "transports/ucx/status.hpp"

namespace rollcall::transport::ucx {
namespace {

// Before the board there is a word that says whether its process has left the job. A whole cache line, because the board begins with one.
constexpr std::uint64_t kBefore = 64;
constexpr std::uint64_t kLeft = 1;

std::uint64_t& word_before(std::byte* board) { return *reinterpret_cast<std::uint64_t*>(board - kBefore); }

}  // namespace

void Board::open(ucp_context_h context, std::uint64_t size) {
    context_ = context;
    ucp_mem_map_params_t map{};
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
    map.length = kBefore + size;
    map.flags = UCP_MEM_MAP_ALLOCATE;
    check("allocating the arrivals board", ucp_mem_map(context, &map, &memory_));
    ucp_mem_attr_t attributes{};
    attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH;
    check("querying the arrivals board", ucp_mem_query(memory_, &attributes));
    std::memset(attributes.address, 0, kBefore + size);
    bytes_ = {static_cast<std::byte*>(attributes.address) + kBefore, size};
}

void Board::close() noexcept {
    leave();
    if (memory_) ucp_mem_unmap(context_, memory_);
    memory_ = nullptr;
    bytes_ = {};
}

void Board::leave() noexcept {
    if (!bytes_.empty()) std::atomic_ref(word_before(bytes_.data())).store(kLeft, std::memory_order_release);
}

void Board::append_to(std::vector<std::byte>& address) const {
    void* key = nullptr;
    std::size_t length = 0;
    check("packing the key of the board", ucp_rkey_pack(context_, memory_, &key, &length));
    append(address, key, length);
    ucp_rkey_buffer_release(key);
    const std::uint64_t base = reinterpret_cast<std::uint64_t>(bytes_.data());
    append(address, &base, sizeof base);
}

void Board::write(const void* message, std::size_t length) noexcept {
    std::uint64_t offset;
    if (length < sizeof offset) return;
    std::memcpy(&offset, message, sizeof offset);
    write_words(bytes_, offset, {static_cast<const std::byte*>(message) + sizeof offset, length - sizeof offset});
}

PeerBoard::Unpacked PeerBoard::unpack(ucp_ep_h endpoint, std::span<const std::byte> peer_address, const Whereabouts& here,
                                      std::uint64_t length) {
    const auto packed_key = part(peer_address, kBoardKeyPart);
    const auto base = part(peer_address, kBoardAddressPart);
    unusable = true;
    if (is_gone(here, whereabouts_in(peer_address))) return Unpacked::peer_is_gone;
    if (!why_nothing_opens(length).empty()) return Unpacked::unusable;
    if (base.size() != sizeof address || ucp_ep_rkey_unpack(endpoint, packed_key.data(), &key) != UCS_OK) {
        key = nullptr;
        return Unpacked::unusable;
    }
    unusable = false;
    std::memcpy(&address, base.data(), sizeof address);
    void* pointer = nullptr;
    if (ucp_rkey_ptr(key, address, &pointer) == UCS_OK) direct = static_cast<std::byte*>(pointer);
    return Unpacked::usable;
}

bool PeerBoard::is_left() const noexcept { return direct && std::atomic_ref(word_before(direct)).load(std::memory_order_acquire) == kLeft; }

}  // namespace rollcall::transport::ucx
