/// \file
/// The settings in the environment, also if some of them are wrong: `rollcall info` is where a user looks then.
#pragma once

#include <string>
#include <vector>

#include "foundation/settings.hpp"

namespace rollcall::command {

struct SettingsHere {
    Settings settings;                     ///< Wrong ones have their defaults.
    std::vector<SettingTrouble> troubles;  ///< One for each variable, at most.

    /// Adds a setting whose value is found to be wrong later.
    void add_wrong(const std::string& variable, const std::string& sentence);
};

/// Reads the settings, and checks the values that Settings::from_environment() does not know. Takes wrong ones out of the environment, so
/// that what reads it later does not fail.
SettingsHere settings_here();

}  // namespace rollcall::command
