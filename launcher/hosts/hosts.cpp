#include "launcher/hosts/hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <unordered_map>

#include <rollcall/error.hpp>

#include "foundation/error_text.hpp"
#include "foundation/quote.hpp"
#include "foundation/text.hpp"
#include "launcher/hosts/host_names.hpp"

namespace rollcall::launcher {
namespace {

constexpr std::size_t kLongestFile = std::size_t{64} << 20;
/// A list may name each host this often, on average over the largest number of hosts. This bounds the work for lists that repeat long
/// ranges.
constexpr std::size_t kMostMentions = std::size_t{kMostHosts} * 16;

/// Adds up what the list says about each host.
class HostCollector {
  public:
    void add(const HostWord& word, std::optional<int> max_slots, const Complain& complain) {
        mentions_ += word.names.size();
        if (mentions_ > kMostMentions)
            complain(fmt::format("hosts are named more than {} times; name each once, with its slots", kMostMentions));
        const int slots = word.slots.value_or(max_slots.value_or(1));
        for (const std::string& bare : word.names) {
            std::string name = word.user.empty() ? bare : fmt::format("{}@{}", word.user, bare);
            const auto [found, fresh] = index_.try_emplace(name, hosts_.size());
            if (fresh) {
                if (hosts_.size() == kMostHosts) complain(fmt::format("a job has at most {} hosts", kMostHosts));
                hosts_.push_back({std::move(name), slots, word.slots || max_slots, max_slots});
                continue;
            }
            Host& host = hosts_[found->second];
            if (host.max_slots || max_slots) host.max_slots = host.max_slots.value_or(host.slots) + max_slots.value_or(slots);
            host.slots += slots;
            host.slots_given = true;
            if (host.slots > kMostSlots || host.max_slots.value_or(0) > kMostSlots) {
                complain(fmt::format("host {} has more than {} slots in all", quote(host.name), kMostSlots));
            }
        }
    }

    std::vector<Host> take() && { return std::move(hosts_); }

  private:
    std::vector<Host> hosts_;
    std::unordered_map<std::string, std::size_t> index_;
    std::size_t mentions_ = 0;
};

/// The settings that follow the host in a line: `slots = 4 max_slots=8 user=anna`.
struct HostSettings {
    std::optional<int> slots;
    std::optional<int> max_slots;
    std::string user;
};

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    for (const auto candidate : words) {
        if (word == candidate) return true;
    }
    return false;
}

HostSettings parse_settings(std::string_view text, const Complain& complain) {
    HostSettings settings;
    for (auto rest = trimmed(text); !rest.empty();) {
        const auto equals = rest.find('=');
        const auto key = trimmed(rest.substr(0, equals));
        const bool number = one_of(key, {"slots", "slot", "count", "cpu", "cpus"});
        const bool limit = one_of(key, {"max_slots", "max-slots", "slots_max", "slots-max"});
        if (equals == std::string_view::npos || !(number || limit || one_of(key, {"user", "username"}))) {
            complain(fmt::format("{} is not understood; allowed after a host: slots=N (or slot, count, cpu, cpus), max_slots=N, user=NAME",
                                 quote(rest)));
        }
        rest = trimmed(rest.substr(equals + 1));
        const auto value = rest.substr(0, rest.find_first_of(kBlanks));
        rest = trimmed(rest.substr(value.size()));
        if (number ? settings.slots.has_value() : limit ? settings.max_slots.has_value() : !settings.user.empty()) {
            complain(fmt::format("{}= is given twice for one host", key));
        }
        if (number) {
            settings.slots = parse_slots(value, complain);
        } else if (limit) {
            settings.max_slots = parse_slots(value, complain);
        } else {
            check_user(value, complain);
            settings.user = value;
        }
    }
    return settings;
}

void add_line(std::string_view line, HostCollector& hosts, const Complain& complain) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) return;
    const auto end = line.find_first_of(kBlanks);
    HostWord word = parse_host_word(line.substr(0, end), complain);
    if (end != std::string_view::npos) {
        const HostSettings settings = parse_settings(line.substr(end), complain);
        if (settings.slots && word.slots) complain("the slots of a host are given twice, by ':' and by '='");
        if (!settings.user.empty() && !word.user.empty()) complain("the user of a host is given twice, by '@' and by '='");
        if (settings.slots) word.slots = settings.slots;
        if (!settings.user.empty()) word.user = settings.user;
        if (settings.max_slots && *settings.max_slots < word.slots.value_or(1)) {
            complain(fmt::format("max_slots={} is less than the host's {} slots", *settings.max_slots, word.slots.value_or(1)));
        }
        hosts.add(word, settings.max_slots, complain);
    } else {
        hosts.add(word, std::nullopt, complain);
    }
}

}  // namespace

std::vector<Host> parse_hosts(std::string_view list, std::string_view name_for_errors) {
    const Complain complain = [&](const std::string& sentence) {
        throw Error(ErrorCode::invalid_argument, fmt::format("{}{}{}", name_for_errors, name_for_errors.empty() ? "" : ": ", sentence));
    };
    if (trimmed(list).empty()) complain("no host is named; allowed: a list such as a:4,b:4 or node[0-3]:2");
    HostCollector hosts;
    for (std::size_t begin = 0; begin <= list.size();) {
        // A comma in brackets belongs to a range.
        std::size_t end = begin;
        for (bool inside = false; end < list.size() && (inside || list[end] != ','); ++end) {
            if (list[end] == '[') inside = true;
            if (list[end] == ']') inside = false;
        }
        const auto word = trimmed(list.substr(begin, end - begin));
        if (word.empty()) complain("a name is missing beside a comma; allowed: a list such as a:4,b:4 or node[0-3]:2");
        hosts.add(parse_host_word(word, complain), std::nullopt, complain);
        begin = end + 1;
    }
    return std::move(hosts).take();
}

std::vector<Host> parse_hostfile(const std::string& text, const std::string& name_for_errors) {
    std::size_t number = 0;
    const Complain complain = [&](const std::string& sentence) {
        throw Error(ErrorCode::invalid_argument, fmt::format("hostfile {}, line {}: {}", quote(name_for_errors), number, sentence));
    };
    HostCollector hosts;
    for (std::string_view rest = text; !rest.empty();) {
        ++number;
        const auto line = rest.substr(0, rest.find('\n'));
        add_line(line, hosts, complain);
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
    auto result = std::move(hosts).take();
    if (result.empty()) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("hostfile {} names no host; allowed: a host a line, such as 'node1 slots=4'", quote(name_for_errors)));
    }
    return result;
}

std::vector<Host> read_hostfile(const std::string& path) {
    const auto fail = [&](const std::string& what) {
        throw Error(ErrorCode::invalid_argument, fmt::format("hostfile {} cannot be read: {}", quote(path), what));
    };
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
    if (!file) fail(error_text(errno));
    std::string text;
    std::array<char, 65536> chunk;
    while (const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
        text.append(chunk.data(), got);
        if (text.size() > kLongestFile) fail("it is longer than 64 MiB; is it a hostfile?");
    }
    if (std::ferror(file.get()) != 0) fail(error_text(errno));
    return parse_hostfile(text, path);
}

}  // namespace rollcall::launcher
