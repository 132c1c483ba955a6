/// \file
/// The text of --help.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace rollcall::usage {

/// The headings above the options and the subcommands that have no heading of their own.
inline constexpr const char* kOptions = "Options";
inline constexpr const char* kSubcommands = "Subcommands";

/// Writes the text of --help. CLI11's own formatter is not used, because its text differs from version to version: headings, defaults,
/// columns, and whether it joins the lines of a footer. The manual pages and the completion are made of this text
/// (packaging/manual.sh, packaging/rollcall.bash).
std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace rollcall::usage
