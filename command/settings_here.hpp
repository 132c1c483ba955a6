/// \file
/// The settings in the environment, also if some of them are wrong: `rollcall info` is where a user looks then.
#pragma once

#include <map>
#include <string>

#include "foundation/settings.hpp"

namespace rollcall::command {

/// A variable that has no effect, or stops every job.
struct Trouble {
    std::string value;
    std::string sentence;  ///< What is the matter with it.
    bool wrong = true;     ///< false: it is only ignored.
};

struct SettingsHere {
    Settings settings;                        ///< Wrong ones have their defaults.
    std::map<std::string, Trouble> troubles;  ///< By variable.

    /// Adds a setting whose value is found to be wrong later.
    void add_wrong(const std::string& variable, const std::string& sentence);
    /// Throws Error{invalid_setting} if a setting is wrong.
    void refuse_wrong() const;
};

/// Reads the settings. Takes wrong ones out of the environment, so that what reads it later does not fail.
SettingsHere settings_here();

}  // namespace rollcall::command
