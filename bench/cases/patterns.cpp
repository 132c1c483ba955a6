#include "bench/cases/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <rollcall/error.hpp>
#include <span>
#include <utility>

#include "bench/cases/delay.hpp"
#include "bench/cases/hash.hpp"
#include "bench/cases/replay.hpp"
#include "foundation/number.hpp"
#include "foundation/quote.hpp"

namespace rollcall::bench {
namespace {

/// A Pareto distribution of shape 1 or less has no mean. Delays are limited to this many scales, so that one draw cannot delay a run for
/// hours. At shape 1 this concerns one draw in a thousand.
constexpr double kParetoCap = 1000.0;
/// The largest whole number in a pattern: for ranks, and for the message times of max_if.
constexpr std::uint64_t kLargestCount = 1'000'000'000;

enum class Kind { duration, range, count, percent, number };

struct Argument {
    Kind kind = Kind::duration;
    Delay delay;              // duration; the low end of a range
    Delay high;               // the high end of a range
    std::uint64_t count = 0;  // count
    double number = 0;        // number; a percentage as it was written, 0 to 100

    std::string text() const {
        switch (kind) {
            case Kind::duration: return delay.text();
            case Kind::range: return delay.text() + ".." + high.text();
            case Kind::count: return std::to_string(count);
            case Kind::percent: return fmt::format("{}%", number);
            case Kind::number: return fmt::format("{}", number);
        }
        return {};
    }
};

/// Random numbers without a state. Each one is a hash of (seed, iteration, rank). Therefore they depend neither on the order of the draws
/// nor on the distributions of the standard library, which differ between systems.
class Draw {
  public:
    Draw(std::uint64_t seed, std::uint64_t iteration, std::uint64_t rank) : state_(mix(mix(mix(seed) ^ iteration) ^ rank)) {}
    std::uint64_t bits() { return mix(state_++); }
    /// Returns a number in [0, 1).
    double unit() { return static_cast<double>(bits() >> 11) * 0x1.0p-53; }

  private:
    std::uint64_t state_;
};

/// What the delay of one rank in one call may depend on.
struct Place {
    int rank, ranks, root;
    std::uint64_t iteration, seed;
    Nanoseconds message_time;

    Draw draw() const { return {seed, iteration, static_cast<std::uint64_t>(rank)}; }
};

using Arguments = std::span<const Argument>;
using DelayFunction = Nanoseconds (*)(Arguments, const Place&);

Nanoseconds balanced(Arguments, const Place&) { return 0; }

Nanoseconds uniform(Arguments arguments, const Place& place) {
    const Nanoseconds low = arguments[0].delay.at(place.message_time);
    const Nanoseconds high = std::max(low, arguments[0].high.at(place.message_time));
    return low + bounded(place.draw().unit() * static_cast<double>(high - low));
}

// Section 5, figure 6: in every process r = rand() % MAX_IF, and the delay is r times the time of one message. The paper draws r once,
// measures ITER calls, and averages twenty such samples. Here each iteration is a sample of its own, because the median of many patterns
// says more than that of a few. max_if:K:ITER keeps each draw for ITER calls, as the paper does.
Nanoseconds max_if(Arguments arguments, const Place& place) {
    const std::uint64_t calls = arguments.size() > 1 ? arguments[1].count : 1;
    Draw draw(place.seed, place.iteration / calls, static_cast<std::uint64_t>(place.rank));
    const std::uint64_t r = draw.bits() % arguments[0].count;
    return bounded(static_cast<double>(r) * static_cast<double>(place.message_time));
}

Nanoseconds late(Arguments arguments, const Place& place) {
    const bool is_late = place.rank != place.root && place.draw().unit() * 100.0 < arguments[0].number;
    return is_late ? arguments[1].delay.at(place.message_time) : 0;
}

Nanoseconds spread_over(Nanoseconds delay, int position, int ranks) {
    return ranks > 1 ? bounded(static_cast<double>(delay) * position / (ranks - 1)) : 0;
}
Nanoseconds ascending(Arguments arguments, const Place& place) {
    return spread_over(arguments[0].delay.at(place.message_time), place.rank, place.ranks);
}
Nanoseconds descending(Arguments arguments, const Place& place) {
    return spread_over(arguments[0].delay.at(place.message_time), place.ranks - 1 - place.rank, place.ranks);
}

Nanoseconds last(Arguments arguments, const Place& place) {
    const bool is_late = place.rank >= place.ranks - static_cast<int>(arguments[0].count);
    return is_late ? arguments[1].delay.at(place.message_time) : 0;
}

Nanoseconds root_late(Arguments arguments, const Place& place) {
    return place.rank == place.root ? arguments[0].delay.at(place.message_time) : 0;
}

Nanoseconds normal(Arguments arguments, const Place& place) {
    Draw draw = place.draw();
    const double first = 1.0 - draw.unit();
    const double deviate = normal_of(first, draw.unit());
    const auto mean = static_cast<double>(arguments[0].delay.at(place.message_time));
    const auto sigma = static_cast<double>(arguments[1].delay.at(place.message_time));
    return bounded(mean + sigma * deviate);
}

Nanoseconds pareto(Arguments arguments, const Place& place) {
    const double tail = std::pow(1.0 - place.draw().unit(), -1.0 / arguments[0].number) - 1.0;
    return bounded(std::min(tail, kParetoCap) * static_cast<double>(arguments[1].delay.at(place.message_time)));
}

Nanoseconds rotating(Arguments arguments, const Place& place) {
    const bool is_late = static_cast<std::uint64_t>(place.rank) == place.iteration % static_cast<std::uint64_t>(place.ranks);
    return is_late ? arguments[0].delay.at(place.message_time) : 0;
}

struct Row : PatternForm {
    std::vector<Kind> kinds;
    std::size_t required;  // further arguments may be left out
    DelayFunction delay;   // null: replayed from a file
};

const std::vector<Row>& registry() {
    using enum Kind;
    static const std::vector<Row> rows{
        {{"balanced", "balanced", "all ranks at the same time"}, {}, 0, balanced},
        {{"uniform", "uniform:A..B", "each rank is late by a random time from A to B (uniform:B: from 0 to B)"}, {range}, 1, uniform},
        {{"max_if", "max_if:K[:ITER]", "each rank is late by 0 to K-1 message times, drawn anew every ITER calls (default 1)"},
         {count, count},
         1,
         max_if},
        {{"late", "late:P%:D", "each rank but the root is late by D with probability P"}, {percent, duration}, 2, late},
        {{"ascending", "ascending:D", "rank 0 is on time, the last rank late by D, the others evenly between"}, {duration}, 1, ascending},
        {{"descending", "descending:D", "rank 0 is late by D, the last rank on time, the others evenly between"},
         {duration},
         1,
         descending},
        {{"last", "last:K:D", "the K highest ranks are late by D"}, {count, duration}, 2, last},
        {{"root_late", "root_late:D", "only the root is late, by D"}, {duration}, 1, root_late},
        {{"normal", "normal:MEAN:SIGMA", "delays are normally distributed; negative ones become 0"}, {duration, duration}, 2, normal},
        {{"pareto", "pareto:SHAPE:SCALE", "heavy tail: SCALE * (U^(-1/SHAPE) - 1) for a uniform U, at most 1000 * SCALE"},
         {number, duration},
         2,
         pareto},
        {{"rotating", "rotating:D", "one rank is late by D: rank 0 in the first call, then rank 1, and so on"}, {duration}, 1, rotating},
        {{"file", "file:PATH", "delays from a file, a line per call in turn: a delay per rank, in seconds or with a unit"}, {}, 0, nullptr},
    };
    return rows;
}

[[noreturn]] void reject(std::string_view text, std::string_view reason) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("arrival pattern {}: {}; allowed: {} (D, A, B, MEAN, SIGMA and SCALE are durations of 0 or more such as "
                            "50ms, or message times such as 16T)",
                            quote(text), reason, pattern_forms_line()));
}

std::optional<std::uint64_t> to_count(std::string_view text) {
    const auto value = number_of_text<std::uint64_t>(text);
    return value && *value >= 1 && *value <= kLargestCount ? value : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> fields;
    for (;;) {
        const auto end = text.find(separator);
        fields.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return fields;
        text.remove_prefix(end + separator.size());
    }
}

Argument parse_argument(std::string_view pattern, Kind kind, std::string_view text) {
    Argument argument;
    argument.kind = kind;
    switch (kind) {
        case Kind::duration: {
            const auto delay = parse_delay(text);
            if (!delay) reject(pattern, fmt::format("{} is not a duration", quote(text)));
            argument.delay = *delay;
            break;
        }
        case Kind::range: {
            // A lone duration is the upper end.
            auto ends = split(text, "..");
            if (ends.size() == 1) ends.insert(ends.begin(), "0");
            const auto low = parse_delay(ends.front());
            const auto high = parse_delay(ends.back());
            if (ends.size() != 2 || !low || !high) reject(pattern, fmt::format("{} is not a range A..B of durations", quote(text)));
            // 0 is the same in both units. Otherwise only delays of the same unit can be compared.
            const bool comparable = low->relative == high->relative;
            if (comparable && (low->relative ? low->message_times > high->message_times : low->absolute > high->absolute))
                reject(pattern, fmt::format("the range {} ends before it begins", quote(text)));
            argument.delay = *low;
            argument.high = *high;
            break;
        }
        case Kind::count: {
            const auto count = to_count(text);
            if (!count) reject(pattern, fmt::format("{} is not a whole number from 1 to {}", quote(text), kLargestCount));
            argument.count = *count;
            break;
        }
        case Kind::percent: {
            // The percent sign is required, because a bare 0.2 could mean 20% as well as 0.2%.
            const auto percent = text.ends_with('%') ? parse_number(text.substr(0, text.size() - 1)) : std::nullopt;
            if (!percent || *percent < 0 || *percent > 100)
                reject(pattern, fmt::format("{} is not a probability from 0% to 100%", quote(text)));
            argument.number = *percent;
            break;
        }
        case Kind::number: {
            const auto number = parse_number(text);
            if (!number || *number <= 0) reject(pattern, fmt::format("{} is not a number above 0", quote(text)));
            argument.number = *number;
            break;
        }
    }
    return argument;
}

}  // namespace

struct Pattern::Parsed {
    const Row* row;
    std::vector<Argument> arguments;
    Replay replay;
};

std::vector<PatternForm> pattern_forms() { return {registry().begin(), registry().end()}; }

std::string pattern_forms_line() {
    std::string line;
    for (const Row& row : registry()) line += fmt::format("{}{}", line.empty() ? "" : ", ", row.form);
    return line;
}

std::string pattern_help() {
    std::size_t width = 0;
    for (const Row& row : registry()) width = std::max(width, row.form.size());
    std::string help;
    for (const Row& row : registry()) help += fmt::format("  {:<{}}  {}\n", row.form, width, row.meaning);
    return help +
           "Durations are numbers with a unit (50ms, 1.5s, 20us), or message times: 16T is 16 times the time that the "
           "message\n"
           "takes from one process to another.\n";
}

Pattern::Pattern() : parsed_(std::make_shared<Parsed>(Parsed{&registry().front(), {}, {}})) {}

Pattern Pattern::parse(std::string_view text, std::uint64_t seed) {
    // Control characters could occur only in a path. A line break there would break every line in which the pattern is printed.
    if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }))
        reject(text, "it has a control character");
    const auto colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const auto& rows = registry();
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& candidate) { return candidate.name == name; });
    if (row == rows.end()) reject(text, "unknown");

    auto parsed = std::make_shared<Parsed>(Parsed{&*row, {}, {}});
    if (row->delay == nullptr) {
        if (colon == std::string_view::npos || colon + 1 == text.size()) reject(text, "the path is missing");
        parsed->replay = read_replay(std::string(text.substr(colon + 1)));
    } else {
        const auto fields = colon == std::string_view::npos ? std::vector<std::string_view>{} : split(text.substr(colon + 1), ":");
        if (fields.size() < row->required || fields.size() > row->kinds.size())
            reject(text, fmt::format("{} is written {}", row->name, row->form));
        for (std::size_t i = 0; i < fields.size(); ++i) parsed->arguments.push_back(parse_argument(text, row->kinds[i], fields[i]));
    }
    Pattern pattern;
    pattern.parsed_ = std::move(parsed);
    pattern.seed_ = seed;
    return pattern;
}

Pattern Pattern::parse_option(std::string_view option, std::string_view text, std::uint64_t seed) {
    try {
        return parse(text, seed);
    } catch (const Error& error) {
        throw Error(error.code(), fmt::format("{}: {}", option, error.what()));
    }
}

std::vector<Nanoseconds> Pattern::delays(int ranks, int root, std::uint64_t iteration, Nanoseconds message_time) const {
    const auto reject_call = [&](std::string_view reason) {
        throw Error(ErrorCode::invalid_argument, fmt::format("arrival pattern {}: {}", quote(describe()), reason));
    };
    if (ranks < 1) reject_call(fmt::format("{} ranks; at least one is needed", ranks));
    if (root < 0 || root >= ranks) reject_call(fmt::format("root {} is out of range for {} ranks", root, ranks));
    if (message_time < 0) reject_call(fmt::format("the message time is negative ({} ns)", message_time));

    std::vector<Nanoseconds> delays(static_cast<std::size_t>(ranks));
    const Row& row = *parsed_->row;
    if (row.delay == nullptr) {
        const Replay& replay = parsed_->replay;
        const std::size_t line = iteration % replay.lines.size();
        if (replay.lines[line].size() != delays.size())
            reject_call(
                fmt::format("line {} has {} delays, but there are {} ranks", replay.line_numbers[line], replay.lines[line].size(), ranks));
        for (std::size_t i = 0; i < delays.size(); ++i) delays[i] = replay.lines[line][i].at(message_time);
        return delays;
    }
    if (row.delay == last && parsed_->arguments[0].count > static_cast<std::uint64_t>(ranks))
        reject_call(fmt::format("there are only {} ranks", ranks));
    for (int rank = 0; rank < ranks; ++rank)
        delays[static_cast<std::size_t>(rank)] = row.delay(parsed_->arguments, Place{rank, ranks, root, iteration, seed_, message_time});
    return delays;
}

std::string Pattern::describe() const {
    std::string text(parsed_->row->name);
    if (parsed_->row->delay == nullptr) return text + ":" + parsed_->replay.path;
    for (const Argument& argument : parsed_->arguments) text += ":" + argument.text();
    return text;
}

bool Pattern::needs_message_time() const {
    if (parsed_->row->delay == max_if) return true;
    for (const Argument& argument : parsed_->arguments)
        if (argument.delay.relative || argument.high.relative) return true;
    for (const auto& line : parsed_->replay.lines)
        for (const Delay& delay : line)
            if (delay.relative) return true;
    return false;
}

}  // namespace rollcall::bench
