/// \file
/// Reads small files of /sys and /proc.
#pragma once

#include <fstream>
#include <string>

namespace rollcall::inline foundation {

/// Returns the first line of a file without trailing blanks. Returns an empty string if the file has no line or cannot be read.
inline std::string read_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) return {};
    const auto last = line.find_last_not_of(" \t\r");
    line.resize(last == std::string::npos ? 0 : last + 1);
    return line;
}

}  // namespace rollcall::inline foundation
