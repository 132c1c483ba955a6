#include "bench/options/seed.hpp"

#include <limits>

#include "bench/cases/lists.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace {

constexpr const char* kSeedOption = "--seed";

}  // namespace

void add_seed_option(usage::Command& command, std::string& word, const char* help) {
    command.add_option(kSeedOption, word, help)->type_name("S")->capture_default_str();
}

std::uint64_t parse_seed(const std::string& word) { return parse_count(word, kSeedOption, 0, std::numeric_limits<std::uint64_t>::max()); }

}  // namespace rollcall::bench
