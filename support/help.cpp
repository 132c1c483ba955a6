#include "support/help.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "support/output.hpp"

namespace rollcall::usage {
namespace {

/// Where the descriptions begin. Two blanks stand before each of them, because help2man needs them.
constexpr std::size_t kDescriptions = 32;

/// One entry of a list: what it is, and behind it, or below it if it is long, the description.
std::string help_entry(const std::string& what, const std::string& description) {
    std::string text = "  " + what;
    if (description.empty()) return text + '\n';
    if (text.size() + 2 > kDescriptions)
        text += "\n";
    else
        text.resize(kDescriptions, ' ');
    const auto columns = output::columns_before_break();
    for (const auto& line : output::broken(description, std::max(output::kNarrowest, columns - std::min(columns, kDescriptions)))) {
        if (text.back() == '\n') text.append(kDescriptions, ' ');
        text += line + '\n';
    }
    return text;
}

bool takes_several(const CLI::Option& option) { return option.get_expected_max() >= CLI::detail::expected_max_vector_size; }

std::string help_entry(const CLI::Option& option) {
    auto what = option.get_name(option.get_positional(), !option.get_positional());
    auto description = option.get_description();
    if (option.get_type_size() != 0) {
        if (!option.get_positional() && !option.get_type_name().empty()) what += " " + option.get_type_name();
        if (takes_several(option)) what += " ...";
        if (!option.get_default_str().empty()) description += fmt::format(" (default: {})", option.get_default_str());
    }
    return help_entry(what, description);
}

bool is_listed(const CLI::Option& option) { return !option.get_group().empty(); }

std::string help_usage(const CLI::App& app, const std::string& name) {
    auto text = fmt::format("Usage: {} [OPTIONS]", name);
    for (const auto* option : app.get_options([](const CLI::Option* each) { return each->get_positional(); })) {
        const auto positional = option->get_name(true, false) + (takes_several(*option) ? "..." : "");
        text += option->get_required() ? " " + positional : fmt::format(" [{}]", positional);
    }
    if (!app.get_subcommands([](const CLI::App*) { return true; }).empty()) text += " SUBCOMMAND";
    return text + '\n';
}

/// The options, each heading in the order in which it was used first.
std::string help_options(const CLI::App& app) {
    std::string text;
    for (const auto& heading : app.get_groups()) {
        std::string entries;
        for (const auto* option : app.get_options([](const CLI::Option* each) { return is_listed(*each) && each->nonpositional(); })) {
            if (option->get_group() == heading) entries += help_entry(*option);
        }
        if (!entries.empty()) text += fmt::format("\n{}:\n{}", heading, entries);
    }
    return text;
}

std::string help_positionals(const CLI::App& app) {
    std::string entries;
    for (const auto* option : app.get_options([](const CLI::Option* each) { return is_listed(*each) && each->get_positional(); })) {
        entries += help_entry(*option);
    }
    return entries.empty() ? "" : "\nPositionals:\n" + entries;
}

std::string help_subcommands(const CLI::App& app) {
    std::vector<std::string> headings;
    const auto all = app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); });
    for (const auto* command : all) {
        if (std::find(headings.begin(), headings.end(), command->get_group()) == headings.end()) headings.push_back(command->get_group());
    }
    std::string text;
    for (const auto& heading : headings) {
        text += fmt::format("\n{}:\n", heading);
        for (const auto* command : all) {
            if (command->get_group() == heading) text += help_entry(command->get_name(), command->get_description());
        }
    }
    return text;
}

class HelpFormatter : public CLI::FormatterBase {
  public:
    std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode /*mode*/) const override {
        const auto footer = app->get_footer();
        return app->get_description() + '\n' + help_usage(*app, name) + help_positionals(*app) + help_options(*app) +
               help_subcommands(*app) + '\n' + (footer.empty() ? "" : footer + '\n');
    }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() { return std::make_shared<HelpFormatter>(); }

}  // namespace rollcall::usage
