/// \file
/// Process arrival patterns: how late each rank comes to each call that is measured.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rollcall/time.hpp>

namespace rollcall::bench {

/// One row of the registry of patterns: `rollcall bench --help` and the error for an unknown pattern are made from it.
struct PatternForm {
    std::string_view name;     ///< "uniform"
    std::string_view form;     ///< "uniform:A..B"
    std::string_view meaning;  ///< One line.
};

/// Every pattern there is, in the order in which they are shown.
std::vector<PatternForm> pattern_forms();
/// All forms in one line, separated by commas.
std::string pattern_forms_line();
/// A paragraph for `--help`: a line per form, and how durations are written.
std::string pattern_help();

/// A process arrival pattern (Patarasuk and Yuan, section 2.1): the delay of each rank after the common start of a
/// call.
///
/// The delays are a pure function of seed, iteration, rank, root and message time, so each rank can compute all of them
/// alone, and rank r draws the same number whether 8 or 800 ranks take part. Copies are cheap; const use is
/// thread-safe.
class Pattern {
  public:
    /// Everybody at once.
    Pattern();

    /// Parses `text`, one of pattern_forms(). A duration D is a number with a unit ("50ms") or a number of message
    /// times
    /// ("16T": 16 times what it takes to send the message from one process to another).
    /// file:PATH is read here, once: text or csv, a line per iteration with a delay per rank, in seconds unless a unit
    /// is given, separated by commas, semicolons or blanks; `#` begins a comment; a first line of words is a heading.
    /// Throws Error{invalid_argument}: one line that names the text and lists the forms that are allowed; for a file,
    /// one that names the line.
    static Pattern parse(std::string_view text, std::uint64_t seed = 0);

    /// The delay of every rank in call number `iteration` (from 0), each >= 0; `message_time` is T for the message
    /// that is sent. Throws Error{invalid_argument} when the pattern does not fit `ranks` (last:9:D with 8 ranks, a
    /// file with another number of columns), when root is out of range, or when message_time is negative.
    std::vector<Nanoseconds> delays(int ranks, int root, std::uint64_t iteration, Nanoseconds message_time) const;

    /// The canonical text; parse(describe(), seed) is the same pattern.
    std::string describe() const;
    /// True when the delays depend on the message time, so that it must be measured first.
    bool needs_message_time() const;
    std::uint64_t seed() const noexcept { return seed_; }

    struct Parsed;

  private:
    std::shared_ptr<const Parsed> parsed_;
    std::uint64_t seed_ = 0;
};

}  // namespace rollcall::bench
