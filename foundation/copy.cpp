#include "foundation/copy.hpp"

#include <algorithm>

namespace rollcall::inline foundation {

void copy_without_instruction(void* to, const void* from, std::size_t size) noexcept {
    constexpr std::size_t kPiece = 1024;
    auto* into = static_cast<std::byte*>(to);
    const auto* out = static_cast<const std::byte*>(from);
    while (size > 0) {
        // The compiler must not know the size, because it would replace the call by the copy instruction.
        std::size_t piece = std::min(size, kPiece);
        asm volatile("" : "+r"(piece));
        std::memcpy(into, out, piece);
        into += piece;
        out += piece;
        size -= piece;
    }
}

}  // namespace rollcall::inline foundation
