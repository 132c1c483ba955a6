#include "command/settings_here.hpp"

#include <cstdlib>
#include <string_view>

#include <unistd.h>
#include <rollcall/error.hpp>

#include "collectives/catalogue.hpp"
#include "foundation/costs.hpp"

namespace rollcall::command {
namespace {

constexpr std::string_view kPrefix = "ROLLCALL_";

std::map<std::string, std::string> variables_here() {
    std::map<std::string, std::string> variables;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const auto equals = text.find('=');
        if (text.starts_with(kPrefix) && equals != std::string_view::npos)
            variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return variables;
}

}  // namespace

void SettingsHere::add_wrong(const std::string& variable, const std::string& sentence) {
    const char* const value = std::getenv(variable.c_str());
    troubles.emplace(variable, Trouble{value != nullptr ? value : "", sentence});
    ::unsetenv(variable.c_str());
}

void SettingsHere::refuse_wrong() const {
    for (const auto& [variable, trouble] : troubles)
        if (trouble.wrong) throw Error(ErrorCode::invalid_setting, trouble.sentence);
}

SettingsHere settings_here() {
    SettingsHere here;
    // from_environment() stops at the first wrong variable. So each is read alone.
    const auto variables = variables_here();
    for (const auto& [variable, value] : variables) ::unsetenv(variable.c_str());
    for (const auto& [variable, value] : variables) {
        ::setenv(variable.c_str(), value.c_str(), 1);
        try {
            for (const std::string& warning : Settings::from_environment().warnings)
                here.troubles.emplace(variable, Trouble{value, warning, false});
        } catch (const Error& error) {
            here.troubles.emplace(variable, Trouble{value, error.what()});
        }
        ::unsetenv(variable.c_str());
    }
    for (const auto& [variable, value] : variables)
        if (!here.troubles.contains(variable)) ::setenv(variable.c_str(), value.c_str(), 1);
    here.settings = Settings::from_environment();
    for (const auto rows : {collectives::operations(), collectives::intergroup_operations()}) {
        for (const collectives::OperationRow& row : rows) {
            std::string& algorithm = here.settings.algorithms[index_of(row.kind)];
            try {
                collectives::algorithm_of_setting(row, algorithm);
            } catch (const Error& error) {
                here.add_wrong(std::string(kOperationNames[index_of(row.kind)].setting), error.what());
                algorithm = Settings().algorithms[index_of(row.kind)];
            }
        }
    }
    try {
        costs_of_setting(here.settings.costs);
    } catch (const Error& error) {
        here.add_wrong("ROLLCALL_COSTS", error.what());
    }
    return here;
}

}  // namespace rollcall::command
