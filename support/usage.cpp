#include "support/usage.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "foundation/quote.hpp"
#include "foundation/spelling.hpp"
#include "support/help.hpp"

namespace rollcall::usage {
namespace {

/// Returns the innermost subcommand that the user named.
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

std::string hint_for(const CLI::App& command, std::string_view word) {
    word = word.substr(0, word.find('='));
    word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
    // Too many names are near a shorter word.
    constexpr std::size_t kShortest = 3;
    if (word.size() < kShortest) return {};
    std::vector<std::string_view> names, longer;
    for (const auto* option : command.get_options())
        if (!option->get_group().empty())  // not hidden
            for (const std::string& name : option->get_lnames()) (name.starts_with(word) ? longer : names).push_back(name);
    Nearest nearest = nearest_to(word, names);
    if (longer.size() == 1) nearest = {longer.front(), 0};
    return !nearest.name.empty() && is_misspelt(nearest.edits, word.size()) ? fmt::format(" (did you mean --{}?)", nearest.name) : "";
}

std::string unknown_option(const CLI::App& command, const std::string& word) {
    return fmt::format("unknown option {} of `{}`{}; allowed: {}", quote(word), full_name(command), hint_for(command, word),
                       options(command));
}

/// Returns the word that the parser took for a request for the help, because it begins with the same letter ("-hosts"). The parser takes
/// the other letters for flags, and leaves those that it does not know ("-osts"). Returns "" if the user asked for the help.
std::string no_request_for_help(const CLI::App& command, const std::vector<std::string>& words) {
    constexpr std::string_view kHelp = "-h";
    const auto left = command.remaining();
    for (const std::string& word : words) {
        if (word.size() > kHelp.size() && word.starts_with(kHelp) && word != "-help" &&
            std::find(left.begin(), left.end(), "-" + word.substr(kHelp.size())) != left.end())
            return word;
    }
    return {};
}

/// Says what is wrong with the arguments of `root`, and what is allowed instead. `error` is what the parser threw.
std::string describe(const CLI::App& root, const CLI::ParseError& error) {
    const auto& command = innermost(root);
    const bool has_subcommands = !subcommands(command).empty();
    const bool takes_anything = command.get_prefix_command() || command.get_allow_extras();
    // An unknown word is reported first, because other words may only seem to be missing on account of it.
    if (const auto unknown = command.remaining(); !unknown.empty() && !takes_anything) {
        const auto& word = unknown.front();
        if (word.starts_with('-')) return unknown_option(command, word);
        if (has_subcommands) return fmt::format("unknown subcommand {}; allowed: {}", quote(word), subcommands(command));
        return fmt::format("unexpected argument {} of `{}`; allowed: {}", quote(word), full_name(command), options(command));
    }
    if (has_subcommands && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
        return fmt::format("`{}` needs a subcommand; allowed: {}", full_name(command), subcommands(command));
    }
    for (const auto* option : command.get_options()) {
        const bool once = option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
        if (once && option->count() > static_cast<std::size_t>(option->get_items_expected_max())) {
            return fmt::format("{} of `{}` is given {} times; allowed: once", option->get_name(false, true), full_name(command),
                               option->count());
        }
    }
    const auto what = one_line(error.what());
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && what.ends_with("missing")) {
        return fmt::format("{} of `{}` is given without a value (`{} --help` says what it takes)", what.substr(0, what.find(':')),
                           full_name(command), full_name(command));
    }
    if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
        const auto name = what.substr(what.find('-'), what.find(" = ") - what.find('-'));
        const auto* const option = command.get_option_no_throw(name);
        if (option != nullptr && option->get_items_expected_max() == 0)
            return fmt::format("{} of `{}` takes no value; allowed: {} alone", name, full_name(command), name);
    }
    // The checks of this file say what is allowed. CLI11's own messages do not.
    const bool complete = what.find("allowed: ") != std::string::npos;
    return complete ? what : fmt::format("{} (`{} --help` says what is allowed)", what, full_name(command));
}

/// Refuses an empty value. An empty word comes from a variable that is not set. Continuing as if the option were absent would do something
/// else than the user meant.
CLI::Option* not_empty(CLI::Option* option) {
    return option->check(CLI::Validator(
        [](const std::string& word) { return word.empty() ? "its value is empty; allowed: a value, or to leave the option out" : ""; }, "",
        ""));
}

}  // namespace

Option* Option::type_name(std::string name) {
    option_->type_name(std::move(name));
    return this;
}

Option* Option::default_str(std::string text) {
    option_->default_str(std::move(text));
    return this;
}

Option* Option::capture_default_str() {
    option_->capture_default_str();
    return this;
}

Option* Option::group(std::string heading) {
    option_->group(std::move(heading));
    return this;
}

Option* Option::check(std::function<std::string(const std::string&)> check) {
    option_->check(CLI::Validator([check = std::move(check)](const std::string& word) { return check(word); }, "", ""));
    return this;
}

Option* Option::one_word_each_time() {
    option_->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    return this;
}

Option* Option::take_last() {
    option_->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    return this;
}

struct Command::State {
    CLI::App* app;
    std::unique_ptr<CLI::App> own = nullptr;  ///< Set for the outermost command. It owns the objects of its subcommands.
    std::deque<Option> options = {};
    std::deque<std::unique_ptr<Command>> subcommands = {};
    std::function<void(const std::string& word)> refuse_unknown = {};

    Option* add(CLI::Option* option) { return &options.emplace_back(option); }
};

Command::Command(CLI::App* app) : state_(new State{.app = app}) {}

Command::Command(const std::string& summary, const std::string& name) : Command(nullptr) {
    state_->own = std::make_unique<CLI::App>(summary, name);
    state_->app = state_->own.get();
    state_->app->formatter(help_formatter());
    state_->app->option_defaults()->group(kOptions);
    state_->app->get_help_ptr()->group(kOptions);
}

Command::~Command() = default;

Command* Command::add_subcommand(const std::string& name, const std::string& summary) {
    auto* const app = state_->app->add_subcommand(name, summary);
    app->group(kSubcommands);
    if (app->get_help_ptr() != nullptr) app->get_help_ptr()->group(kOptions);
    return state_->subcommands.emplace_back(new Command(app)).get();
}

void Command::require_subcommand(int count) { state_->app->require_subcommand(count); }

Option* Command::add_option(const std::string& names, std::string& value, const std::string& help) {
    return state_->add(not_empty(state_->app->add_option(names, value, help)));
}

Option* Command::add_option(const std::string& names, std::optional<std::string>& value, const std::string& help) {
    return state_->add(not_empty(state_->app->add_option(names, value, help)));
}

Option* Command::add_option(const std::string& names, std::vector<std::string>& values, const std::string& help) {
    return state_->add(not_empty(state_->app->add_option(names, values, help)));
}

Option* Command::add_option(const std::string& names, int& value, const std::string& help) {
    return state_->add(state_->app->add_option(names, value, help));
}

Option* Command::add_option(const std::string& names, const std::function<void(const std::string&)>& read, const std::string& help) {
    const auto read_first = [read](const CLI::results_t& words) {
        read(words.front());
        return true;
    };
    return state_->add(not_empty(state_->app->add_option(names, read_first, help)));
}

Option* Command::add_flag(const std::string& names, bool& value, const std::string& help) {
    return state_->add(state_->app->add_flag(names, value, help));
}

Option* Command::get_option(const std::string& name) { return state_->add(state_->app->get_option(name)); }

void Command::set_version_flag(const std::string& names, const std::string& version) { state_->app->set_version_flag(names, version); }

void Command::remove_help_flag() { state_->app->set_help_flag(); }

void Command::leave_words() {
    state_->app->validate_positionals();
    state_->app->prefix_command();
}

std::vector<std::string> Command::remaining() const { return state_->app->remaining(); }

bool Command::has_option(const std::string& name) const { return state_->app->get_option_no_throw(name) != nullptr; }

std::string Command::hint(const std::string& word) const { return hint_for(*state_->app, word); }

void Command::refuse_unknown(std::function<void(const std::string& word)> refuse) { state_->refuse_unknown = std::move(refuse); }

const Command& Command::named() const {
    for (const auto& subcommand : state_->subcommands)
        if (subcommand->state_->app->parsed()) return subcommand->named();
    return *this;
}

void Command::footer(const std::string& text) { state_->app->footer(text); }

std::string Command::footer() const { return state_->app->get_footer(); }

std::string Command::help() const { return state_->app->help(); }

void Command::group(const std::string& heading) { state_->app->group(heading); }

void Command::when_named(std::function<void()> add) {
    state_->app->preparse_callback([add = std::move(add)](std::size_t) { add(); });
}

void Command::callback(std::function<void()> run) { state_->app->callback(std::move(run)); }

template <typename Parse>
void Command::guarded(const std::vector<std::string>& words, const Parse& parse) {
    try {
        parse();
    } catch (const CLI::Success& help_or_version) {
        const Command& command = named();
        if (const std::string word = no_request_for_help(*command.state_->app, words); !word.empty()) {
            if (command.state_->refuse_unknown) command.state_->refuse_unknown(word);
            const std::string sentence = unknown_option(*command.state_->app, word);
            throw WrongUsage(sentence, sentence);
        }
        state_->app->exit(help_or_version);
    } catch (const CLI::ParseError& error) {
        throw WrongUsage(describe(*state_->app, error), error.what());
    }
}

void Command::parse(int argc, const char* const* argv) {
    guarded({argv, argv + argc}, [&] { state_->app->parse(argc, argv); });
}

void Command::parse(std::vector<std::string> words) {
    const std::vector<std::string> backwards(words.rbegin(), words.rend());  // CLI11 takes the words from the back.
    guarded(words, [&] { state_->app->parse(std::vector<std::string>(backwards)); });
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
