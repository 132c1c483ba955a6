/// \file
/// Wrong usage in one line.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace rollcall::usage {

/// What is wrong with the words a command was called with, and what is allowed instead, without a line break:
/// "unknown subcommand 'rum'; allowed: run, info". `root` is the command that was parsed, `error` what parsing threw.
std::string describe(const CLI::App& root, const CLI::ParseError& error);

/// A text on one line: line breaks, with the blanks around them, become "; ", other control characters blanks.
std::string one_line(std::string_view text);

}  // namespace rollcall::usage
