#include "bench/options/asked_sizes.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "bench/cases/lists.hpp"

namespace rollcall::bench {
namespace {

bool has_size_beyond(std::string_view sizes, std::uint64_t memory) {
    try {
        return std::ranges::any_of(parse_sizes(sizes, ""), [&](std::uint64_t size) { return size > memory; });
    } catch (const Error&) {
        return false;  // The command itself refuses such a list.
    }
}

}  // namespace

std::string size_beyond(std::span<const char* const> words, std::uint64_t memory) {
    if (words.empty() || std::string_view(words.front()) != "bench") return "";
    constexpr std::string_view option = "--bytes", joined = "--bytes=";
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word == option && i + 1 < words.size() && has_size_beyond(words[i + 1], memory))
            return fmt::format("{} {}", word, words[i + 1]);
        if (word.starts_with(joined) && has_size_beyond(word.substr(joined.size()), memory)) return std::string(word);
    }
    return "";
}

}  // namespace rollcall::bench
