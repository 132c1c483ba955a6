#include "bench/results/raw.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <map>
#include <rollcall/error.hpp>
#include <string>
#include <utility>

#include "bench/results/csv.hpp"
#include "foundation/error_text.hpp"
#include "foundation/number.hpp"

namespace rollcall::bench {
namespace {

const std::vector<std::string>& heading() {
    static const std::vector<std::string> names{"operation",       "algorithm",   "transport", "ranks",    "bytes",      "pattern",
                                                "iterations",      "root",        "model",     "landing",  "sizes",      "groups",
                                                "message_time_ns", "iteration",   "rank",      "asked_ns", "arrival_ns", "exit_ns",
                                                "first_data_ns",   "predicted_ns"};
    return names;
}

/// The numbers of the columns of times. Those before the iteration identify the cell.
constexpr std::size_t kIterationColumn = 13, kRankColumn = 14, kAskedColumn = 15, kArrivalColumn = 16, kExitColumn = 17,
                      kFirstDataColumn = 18, kPredictedColumn = 19;

/// Prints a time that may be missing. All times may be missing, too.
std::string optional_time(const std::vector<Nanoseconds>& times, std::size_t rank, Nanoseconds start) {
    return times.empty() || times[rank] == kNoTime ? "" : std::to_string(times[rank] - start);
}

std::string last_error() { return error_text(errno); }

/// The position of the reader, for its errors.
struct Line {
    const std::filesystem::path& path;
    std::size_t number;

    [[noreturn]] void reject(std::string_view reason) const {
        throw Error(ErrorCode::invalid_argument, fmt::format("raw samples '{}', line {}: {}", path.string(), number, reason));
    }

    Nanoseconds optional_time(const std::string& text, std::size_t column) const {
        return text.empty() ? kNoTime : integer<Nanoseconds>(text, column);
    }
    template <class Integer>
    Integer integer(const std::string& text, std::size_t column) const {
        const auto value = number_of_text<Integer>(text);
        if (!value) reject(fmt::format("{} is '{}', which is not a whole number in range", heading()[column], text));
        return *value;
    }
};

/// A cell without samples, from the columns that identify it.
RawCell cell_of(const std::vector<std::string>& fields, const Line& line) {
    RawCell cell;
    cell.identity = {fields[0],
                     fields[1],
                     fields[2],
                     line.integer<int>(fields[3], 3),
                     line.integer<std::uint64_t>(fields[4], 4),
                     fields[5],
                     line.integer<std::uint64_t>(fields[6], 6)};
    cell.setup.root = line.integer<int>(fields[7], 7);
    try {
        cell.setup.model = parse_model(fields[8]);
    } catch (const Error& error) {
        line.reject(error.what());
    }
    cell.setup.landing = fields[9];
    cell.setup.sizes = fields[10];
    cell.setup.groups = fields[11];
    cell.setup.message_time = line.integer<Nanoseconds>(fields[12], 12);
    if (cell.identity.ranks < 1) line.reject(fmt::format("{} ranks", cell.identity.ranks));
    return cell;
}

/// Adds what one rank did in one call. Ranks follow one another.
void add_rank(RawCell& cell, const std::vector<std::string>& fields, const Line& line) {
    const auto iteration = line.integer<std::uint64_t>(fields[kIterationColumn], kIterationColumn);
    const auto rank = line.integer<std::size_t>(fields[kRankColumn], kRankColumn);
    if (rank == 0) cell.samples.emplace_back().iteration = iteration;
    if (cell.samples.empty() || cell.samples.back().iteration != iteration || cell.samples.back().asked.size() != rank ||
        rank >= static_cast<std::size_t>(cell.identity.ranks))
        line.reject(fmt::format("rank {} of iteration {} is not the one that must follow", rank, iteration));
    CallSample& sample = cell.samples.back();
    sample.asked.push_back(line.integer<Nanoseconds>(fields[kAskedColumn], kAskedColumn));
    sample.arrivals.push_back(line.integer<Nanoseconds>(fields[kArrivalColumn], kArrivalColumn));
    sample.exits.push_back(line.integer<Nanoseconds>(fields[kExitColumn], kExitColumn));
    sample.first_data.push_back(line.optional_time(fields[kFirstDataColumn], kFirstDataColumn));
    sample.predicted.push_back(line.optional_time(fields[kPredictedColumn], kPredictedColumn));
}

}  // namespace

RawWriter::RawWriter(std::filesystem::path path) : path_(std::move(path)), file_(path_, std::ios::trunc) {
    if (!file_)
        throw Error(ErrorCode::invalid_argument, fmt::format("raw samples cannot be written to '{}': {}", path_.string(), last_error()));
    file_ << csv_line(heading()) << '\n';
}

void RawWriter::append(const CellIdentity& identity, const CallSetup& setup, const CallSample& sample) {
    const auto ranks = static_cast<std::size_t>(identity.ranks);
    if (identity.ranks < 1 || sample.asked.size() != ranks || sample.arrivals.size() != ranks || sample.exits.size() != ranks)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("a raw sample needs a delay, an arrival and an exit for each of {} ranks", identity.ranks));
    const std::string cell = csv_line({identity.operation, identity.algorithm, identity.transport, std::to_string(identity.ranks),
                                       std::to_string(identity.bytes), identity.pattern, std::to_string(identity.iterations),
                                       std::to_string(setup.root), std::string(name(setup.model)), setup.landing, setup.sizes, setup.groups,
                                       std::to_string(message_time_of(sample, setup))});
    for (std::size_t rank = 0; rank < ranks; ++rank)
        file_ << cell
              << fmt::format(",{},{},{},{},{},{},{}\n", sample.iteration, rank, sample.asked[rank], sample.arrivals[rank] - sample.start,
                             sample.exits[rank] - sample.start, optional_time(sample.first_data, rank, sample.start),
                             optional_time(sample.predicted, rank, sample.start));
}

void RawWriter::close() {
    file_.close();
    if (!file_)
        throw Error(ErrorCode::state, fmt::format("raw samples were not written to '{}' completely: {}", path_.string(), last_error()));
}

std::vector<RawCell> read_raw(const std::filesystem::path& path, RawFile kind) {
    std::ifstream file(path);
    if (!file && kind == RawFile::cut_off) return {};
    if (!file)
        throw Error(ErrorCode::invalid_argument, fmt::format("raw samples cannot be read from '{}': {}", path.string(), last_error()));

    std::vector<RawCell> cells;
    std::map<std::string, std::size_t> index;  // maps the identifying columns to a position in cells
    std::string text;
    Line line{path, 0};
    bool has_heading = false;
    while (std::getline(file, text)) {
        if (kind == RawFile::cut_off && file.eof()) break;  // the last line has no end
        ++line.number;
        if (text.empty()) continue;
        std::vector<std::string> fields;
        try {
            fields = csv_fields(text);
        } catch (const Error& error) {
            line.reject(error.what());
        }
        if (!std::exchange(has_heading, true)) {
            if (fields != heading()) line.reject("this is not the heading of a file of raw samples");
            continue;
        }
        if (fields.size() != heading().size()) line.reject(fmt::format("{} columns instead of {}", fields.size(), heading().size()));

        const std::string key = csv_line({fields.begin(), fields.begin() + kIterationColumn});
        const auto [entry, is_new] = index.try_emplace(key, cells.size());
        if (is_new) cells.push_back(cell_of(fields, line));
        add_rank(cells[entry->second], fields, line);
    }
    if (file.bad()) throw Error(ErrorCode::invalid_argument, fmt::format("raw samples cannot be read from '{}'", path.string()));
    if (kind == RawFile::cut_off) {
        std::erase_if(cells, [](const RawCell& cell) {
            return cell.samples.size() != cell.identity.iterations ||
                   cell.samples.back().asked.size() != static_cast<std::size_t>(cell.identity.ranks);
        });
        return cells;
    }
    if (!has_heading) throw Error(ErrorCode::invalid_argument, fmt::format("raw samples '{}': the file is empty", path.string()));
    for (const RawCell& cell : cells)
        for (const CallSample& sample : cell.samples)
            if (sample.asked.size() != static_cast<std::size_t>(cell.identity.ranks))
                line.reject(fmt::format("iteration {} of {} ends after {} of {} ranks: the file is cut off", sample.iteration,
                                        cell.identity.algorithm, sample.asked.size(), cell.identity.ranks));
    return cells;
}

}  // namespace rollcall::bench
