#include "foundation/cpu_quota.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "foundation/file.hpp"

namespace rollcall::inline foundation {
namespace {

constexpr std::string_view kController = "cpu";

std::vector<std::string> parts_of(const std::string& text, char between) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, between);) parts.push_back(part);
    return parts;
}

bool names_controller(const std::string& list) {
    const auto names = parts_of(list, ',');
    return std::find(names.begin(), names.end(), kController) != names.end();
}

/// A hierarchy of control groups that may have quotas, as this process sees it.
struct Hierarchy {
    bool second_version = false;
    std::string root;   ///< The control group that is seen at the mount point.
    std::string point;  ///< The mount point.
};

/// The kernel writes blanks and backslashes in names as \040.
std::string unescape(const std::string& text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        int code = 0;
        const char* const digits = text.data() + i + 1;
        if (text[i] == '\\' && i + 3 < text.size() && std::from_chars(digits, digits + 3, code, 8).ptr == digits + 3) {
            plain += static_cast<char>(code);
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

std::vector<Hierarchy> hierarchies(const std::string& mounts) {
    std::vector<Hierarchy> found;
    std::ifstream file(mounts);
    for (std::string line; std::getline(file, line);) {
        // "31 23 0:28 ROOT POINT OPTIONS [MORE...] - TYPE SOURCE OPTIONS"
        const auto words = parts_of(line, ' ');
        const auto dash = std::find(words.begin(), words.end(), "-");
        if (words.size() < 6 || words.end() - dash < 4) continue;
        const bool second = dash[1] == "cgroup2";
        if (second || (dash[1] == "cgroup" && names_controller(dash[3]))) found.push_back({second, unescape(words[3]), unescape(words[4])});
    }
    return found;
}

/// Returns the control group of this process in a hierarchy with quotas; empty: there is none.
std::string own_group(const std::string& groups, bool second_version) {
    std::ifstream file(groups);
    for (std::string line; std::getline(file, line);) {
        // "1:cpu,cpuacct:/path", or "0::/path" of version 2
        const auto first = line.find(':');
        const auto second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        if (second_version ? controllers.empty() : names_controller(controllers)) return line.substr(second + 1);
    }
    return {};
}

/// Returns the way from the mount point of a hierarchy to a control group. It is empty if the group is the one at the mount point, or is
/// not below it: then this process sees its groups through another namespace than the one that the mount was made in.
std::string way_to(const std::string& group, const std::string& root) {
    const std::string above = root == "/" ? "" : root;
    if (!group.starts_with(above + "/") || group.find("/..") != std::string::npos) return {};
    const std::string way = group.substr(above.size());
    return way == "/" ? "" : way;
}

std::optional<double> quota_of(const std::string& directory, bool second_version) {
    const auto number = [](std::string_view text) {
        long long value = 0;
        std::from_chars(text.data(), text.data() + text.size(), value);
        return static_cast<double>(value);
    };
    std::string quota, period;
    if (second_version) {
        const auto both = read_line(directory + "/cpu.max");
        const auto blank = both.find(' ');
        quota = both.substr(0, blank);
        period = blank == std::string::npos ? "" : both.substr(blank + 1);
    } else {
        quota = read_line(directory + "/cpu.cfs_quota_us");
        period = read_line(directory + "/cpu.cfs_period_us");
    }
    // "max", "-1" and a missing file mean that there is no quota.
    if (number(quota) <= 0 || number(period) <= 0) return std::nullopt;
    return number(quota) / number(period);
}

}  // namespace

std::optional<double> cpu_quota(const std::string& root) {
    std::optional<double> lowest;
    for (const Hierarchy& hierarchy : hierarchies(root + "/proc/self/mountinfo")) {
        std::string way = way_to(own_group(root + "/proc/self/cgroup", hierarchy.second_version), hierarchy.root);
        for (;; way.erase(way.rfind('/'))) {
            const auto quota = quota_of(root + hierarchy.point + way, hierarchy.second_version);
            if (quota && (!lowest || *quota < *lowest)) lowest = quota;
            if (way.empty()) break;
        }
    }
    return lowest;
}

}  // namespace rollcall::inline foundation
