/// \file
/// Memory that begins with a page.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace rollcall {

inline constexpr std::size_t kPageBytes = 4096;

struct FreePages {
    void operator()(unsigned char* memory) const { std::free(memory); }
};
using Pages = std::unique_ptr<unsigned char[], FreePages>;

inline Pages make_pages(std::size_t number) {
    return Pages(static_cast<unsigned char*>(std::aligned_alloc(kPageBytes, number * kPageBytes)));
}

}  // namespace rollcall
