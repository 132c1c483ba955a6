#include "foundation/spelling.hpp"

#include <algorithm>
#include <vector>

namespace rollcall::inline foundation {
namespace {

/// A name shorter than this counts as misspelt if it differs by one edit, because two edits may give another word (ROLLCALL_ROOT and
/// ROLLCALL_PORT). A longer name counts as misspelt if it differs by up to two edits.
constexpr std::size_t kLongName = 8;

}  // namespace

std::size_t edits_between(std::string_view from, std::string_view to) {
    std::vector<std::vector<std::size_t>> edits(from.size() + 1, std::vector<std::size_t>(to.size() + 1));
    for (std::size_t i = 0; i <= from.size(); ++i) {
        for (std::size_t j = 0; j <= to.size(); ++j) {
            auto& least = edits[i][j];
            least = i + j;
            if (i > 0) least = std::min(least, edits[i - 1][j] + 1);
            if (j > 0) least = std::min(least, edits[i][j - 1] + 1);
            if (i == 0 || j == 0) continue;
            least = std::min(least, edits[i - 1][j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1));
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) least = std::min(least, edits[i - 2][j - 2] + 1);
        }
    }
    return edits[from.size()][to.size()];
}

Nearest nearest_to(std::string_view written, std::span<const std::string_view> names) {
    Nearest nearest;
    for (const std::string_view name : names) {
        const std::size_t edits = edits_between(written, name);
        if (nearest.name.empty() || edits < nearest.edits) nearest = {name, edits};
    }
    return nearest;
}

bool is_misspelt(std::size_t edits, std::size_t letters) { return edits <= (letters < kLongName ? 1 : 2); }

}  // namespace rollcall::inline foundation
