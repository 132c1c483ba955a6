#include "bench/cases/payload.hpp"

#include <algorithm>
#include <cstring>

#include "bench/cases/hash.hpp"

namespace rollcall::bench {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

void write(std::span<std::byte> data, std::uint64_t key, std::uint64_t flip) {
    const std::size_t words = data.size() / kWord;
    for (std::size_t i = 0; i < words; ++i) {
        const std::uint64_t word = mix(key + i) ^ flip;
        std::memcpy(data.data() + i * kWord, &word, kWord);
    }
    const std::uint64_t last = mix(key + words) ^ flip;
    std::memcpy(data.data() + words * kWord, &last, data.size() - words * kWord);
}

}  // namespace

void fill(std::span<std::byte> data, std::uint64_t key) {
    if (!data.empty()) write(data, key, 0);
}

void poison(std::span<std::byte> data, std::uint64_t key) {
    if (!data.empty()) write(data, key, ~std::uint64_t{0});
}

std::optional<std::uint64_t> find_wrong(std::span<const std::byte> data, std::uint64_t key) {
    for (std::size_t at = 0; at < data.size(); at += kWord) {
        const std::uint64_t expected = mix(key + at / kWord);
        const std::size_t size = std::min(kWord, data.size() - at);
        if (std::memcmp(data.data() + at, &expected, size) == 0) continue;
        std::byte bytes[kWord];
        std::memcpy(bytes, &expected, kWord);
        std::size_t offset = 0;
        while (data[at + offset] == bytes[offset]) ++offset;
        return at + offset;
    }
    return std::nullopt;
}

std::uint64_t key_of(std::initializer_list<std::uint64_t> parts) {
    std::uint64_t key = 0;
    for (const std::uint64_t part : parts) key = mix(key ^ part);
    return key;
}

}  // namespace rollcall::bench
