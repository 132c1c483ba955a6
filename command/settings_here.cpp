#include "command/settings_here.hpp"

#include <cstdlib>

#include <rollcall/error.hpp>

#include "collectives/catalogue.hpp"
#include "foundation/costs.hpp"

namespace rollcall::command {

void SettingsHere::add_wrong(const std::string& variable, const std::string& sentence) {
    const char* const value = std::getenv(variable.c_str());
    troubles.push_back({.variable = variable, .value = value != nullptr ? value : "", .sentence = sentence, .is_set = value != nullptr});
    ::unsetenv(variable.c_str());
}

SettingsHere settings_here() {
    SettingsHere here;
    here.settings = Settings::from_environment(here.troubles);
    collectives::judge_algorithms(here.settings, here.troubles);
    for (const SettingTrouble& trouble : here.troubles) ::unsetenv(trouble.variable.c_str());
    try {
        costs_of_setting(here.settings.costs);
    } catch (const Error& error) {
        here.add_wrong("ROLLCALL_COSTS", error.what());
    }
    return here;
}

}  // namespace rollcall::command
