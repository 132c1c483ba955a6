#include "support/usage.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "runtime/settings/quote.hpp"

namespace rollcall::usage {
namespace {

using runtime::quote;

/// The innermost subcommand that was named.
const CLI::App& innermost(const CLI::App& root) {
    const CLI::App* command = &root;
    for (auto named = root.get_subcommands(); !named.empty(); named = command->get_subcommands()) command = named.back();
    return *command;
}

std::string full_name(const CLI::App& command) {
    const auto* parent = command.get_parent();
    return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

std::string subcommands(const CLI::App& command) {
    std::vector<std::string> names;
    for (const auto* subcommand : command.get_subcommands([](const CLI::App*) { return true; })) {
        if (!subcommand->get_group().empty()) names.push_back(subcommand->get_name());  // not hidden
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

std::string options(const CLI::App& command) {
    std::vector<std::string> names;
    for (const auto* option : command.get_options())
        if (!option->get_group().empty()) names.push_back(option->get_name(!option->nonpositional(), true));  // not hidden
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string describe(const CLI::App& root, const CLI::ParseError& error) {
    const auto& command = innermost(root);
    const bool has_subcommands = !subcommands(command).empty();
    const bool takes_anything = command.get_prefix_command() || command.get_allow_extras();
    // A word nobody knows is told first: whatever else is missing may only be missing because of it.
    if (const auto unknown = command.remaining(); !unknown.empty() && !takes_anything) {
        const auto& word = unknown.front();
        if (word.starts_with('-')) {
            return fmt::format("unknown option {} of `{}`; allowed: {}", quote(word), full_name(command), options(command));
        }
        if (has_subcommands) return fmt::format("unknown subcommand {}; allowed: {}", quote(word), subcommands(command));
        return fmt::format("unexpected argument {} of `{}`; allowed: {}", quote(word), full_name(command), options(command));
    }
    if (has_subcommands && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
        return fmt::format("`{}` needs a subcommand; allowed: {}", full_name(command), subcommands(command));
    }
    const auto what = one_line(error.what());
    // A check of ours has said what is allowed; CLI11's own sentences have not.
    const bool complete = what.find("allowed: ") != std::string::npos;
    return complete ? what : fmt::format("{} (`{} --help` says what is allowed)", what, full_name(command));
}

std::string one_line(std::string_view text) {
    constexpr std::string_view kBreaks = "\r\n";
    std::string line;
    while (!text.empty()) {
        const auto part = text.substr(0, text.find_first_of(kBreaks));
        text.remove_prefix(std::min(part.size() + 1, text.size()));
        const auto first = part.find_first_not_of(" \t");
        if (first == std::string_view::npos) continue;
        if (!line.empty()) line += line.ends_with(':') || line.ends_with(';') ? " " : "; ";
        for (const char c : part.substr(first, part.find_last_not_of(" \t") + 1 - first)) {
            const auto byte = static_cast<unsigned char>(c);
            line += byte < 0x20 || byte == 0x7f ? ' ' : c;
        }
    }
    return line;
}

}  // namespace rollcall::usage
