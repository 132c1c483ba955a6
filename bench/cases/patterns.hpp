/// \file
/// Process arrival patterns: how late each rank comes to each measured call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rollcall/time.hpp>

namespace rollcall::bench {

/// One row of the table of patterns. `rollcall bench --help` and the error for an unknown pattern are made from it.
struct PatternForm {
    std::string_view name;     ///< "uniform"
    std::string_view form;     ///< "uniform:A..B"
    std::string_view meaning;  ///< One line.
};

/// All patterns, in the order in which they are shown.
std::vector<PatternForm> pattern_forms();
/// All forms in one line, separated by commas.
std::string pattern_forms_line();
/// A paragraph for `--help`: one line for each form, and how durations are written.
std::string pattern_help();

/// A process arrival pattern (Patarasuk and Yuan, section 2.1): the delay of each rank after the common start of a call.
///
/// The delays are a pure function of the seed, the iteration, the rank, the root and the message time. Therefore each rank can compute all
/// of them alone, and rank r draws the same number whether 8 or 800 ranks take part. Copies are cheap. Const functions are thread-safe.
class Pattern {
  public:
    /// The pattern in which all ranks arrive at once.
    Pattern();

    /// Parses `text`, which must have one of the forms of pattern_forms(). A duration D is a number with a unit ("50ms") or a number of
    /// message times ("16T": 16 times the time of sending the message from one process to another). With file:PATH the file is read here,
    /// once. It is text or CSV. Each line has the delays of one iteration, one for each rank, separated by commas, semicolons or blanks. A
    /// delay is in seconds unless it has a unit. `#` begins a comment. If the first line consists of words, it is a heading. Throws
    /// Error{invalid_argument} with one line that names the text and lists the allowed forms, or that names the line of the file.
    static Pattern parse(std::string_view text, std::uint64_t seed = 0);
    /// Does the same, and the error also names this option.
    static Pattern parse_option(std::string_view option, std::string_view text, std::uint64_t seed = 0);

    /// Returns the delay of every rank in call number `iteration` (from 0). All delays are >= 0. `message_time` is T for the message that
    /// is sent. Throws Error{invalid_argument} if the pattern does not fit `ranks` (last:9:D with 8 ranks, or a file with another number of
    /// columns), if root is out of range, or if message_time is negative.
    std::vector<Nanoseconds> delays(int ranks, int root, std::uint64_t iteration, Nanoseconds message_time) const;

    /// Returns the canonical text. parse(describe(), seed) gives the same pattern.
    std::string describe() const;
    /// Whether the delays depend on the message time, which must then be measured first.
    bool needs_message_time() const;
    std::uint64_t seed() const noexcept { return seed_; }

    struct Parsed;

  private:
    std::shared_ptr<const Parsed> parsed_;
    std::uint64_t seed_ = 0;
};

}  // namespace rollcall::bench
