#include "transports/board_words.hpp"

#include <atomic>
#include <cstring>

namespace rollcall::transport {

void write_words(std::span<std::byte> board, std::uint64_t offset, std::span<const std::byte> words) noexcept {
    if (words.size() > board.size() || offset > board.size() - words.size()) return;
    if (offset % sizeof(std::uint64_t) || words.size() % sizeof(std::uint64_t)) return;
    for (std::size_t at = 0; at < words.size(); at += sizeof(std::uint64_t)) {
        std::uint64_t word;
        std::memcpy(&word, words.data() + at, sizeof word);
        std::atomic_ref(*reinterpret_cast<std::uint64_t*>(board.data() + offset + at)).store(word, std::memory_order_relaxed);
    }
}

}  // namespace rollcall::transport
