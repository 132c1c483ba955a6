#include "bench/cases/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <rollcall/error.hpp>
#include <string_view>
#include <utility>

#include "foundation/error_text.hpp"
#include "foundation/quote.hpp"
#include "foundation/units.hpp"

namespace rollcall::bench {
namespace {

constexpr std::uint64_t kLongestFile = 1ull << 30;

[[noreturn]] void reject_file(const std::string& path, std::string_view reason) {
    throw Error(ErrorCode::invalid_argument, fmt::format("arrival pattern {}: {}", quote("file:" + path), reason));
}

std::vector<std::string_view> file_fields(std::string_view line) {
    line = line.substr(0, line.find('#'));
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    const auto is_mark = [](char c) { return c == ',' || c == ';'; };
    std::vector<std::string_view> fields;
    std::size_t i = 0;
    bool field_due = false;  // a comma was seen: "1,,2" and "1," have an empty field, which must be reported
    for (;;) {
        while (i < line.size() && is_blank(line[i])) ++i;
        if (i == line.size()) break;
        if (is_mark(line[i])) {
            if (field_due || fields.empty()) fields.emplace_back();
            field_due = true;
            ++i;
            continue;
        }
        const std::size_t begin = i;
        while (i < line.size() && !is_blank(line[i]) && !is_mark(line[i])) ++i;
        fields.push_back(line.substr(begin, i - begin));
        field_due = false;
    }
    if (field_due) fields.emplace_back();
    return fields;
}

}  // namespace

Replay read_replay(std::string path) {
    Replay replay;
    replay.path = std::move(path);
    // Checked before the file is opened, because opening a pipe would block, and a device may have no end.
    std::error_code failed;
    const auto kind = std::filesystem::status(replay.path, failed);
    if (std::filesystem::exists(kind) && !std::filesystem::is_regular_file(kind)) reject_file(replay.path, "it is not a regular file");
    if (const auto size = std::filesystem::file_size(replay.path, failed); !failed && size > kLongestFile)
        reject_file(replay.path, fmt::format("it is longer than {}; is it a file of delays?", format_bytes(kLongestFile)));
    std::ifstream file(replay.path);
    if (!file) reject_file(replay.path, fmt::format("the file cannot be read: {}", error_text(errno)));
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
        const auto fields = file_fields(line);
        if (fields.empty()) continue;
        const auto is_word = [](std::string_view field) {
            return !field.empty() && (std::isalpha(static_cast<unsigned char>(field[0])) || field[0] == '"');
        };
        if (number == 1 && std::all_of(fields.begin(), fields.end(), is_word)) continue;
        std::vector<Delay> delays;
        for (const auto field : fields) {
            const auto seconds = parse_number(field);
            const auto delay = seconds && *seconds >= 0 ? Delay{false, 0, bounded(*seconds * 1e9)} : parse_delay(field);
            if (!delay)
                reject_file(replay.path,
                            fmt::format("line {}: {} is not a delay (seconds, or a number with a unit)", number, quote(field)));
            delays.push_back(*delay);
        }
        if (!replay.lines.empty() && delays.size() != replay.lines.front().size())
            reject_file(replay.path, fmt::format("line {} has {} delays, but line {} has {}", number, delays.size(),
                                                 replay.line_numbers.front(), replay.lines.front().size()));
        replay.lines.push_back(std::move(delays));
        replay.line_numbers.push_back(number);
    }
    if (file.bad()) reject_file(replay.path, "the file cannot be read");
    if (replay.lines.empty()) reject_file(replay.path, "the file has no line with delays");
    return replay;
}

}  // namespace rollcall::bench
