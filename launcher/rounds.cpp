#include "launcher/rounds.hpp"

#include <fmt/format.h>

#include <rollcall/error.hpp>

namespace rollcall::launcher {
namespace {

using bootstrap::Blob;
using bootstrap::FrameType;
using bootstrap::FrameWriter;

/// Rounds that may be open at once: a rank is in one, or in a few when it gave up some at their deadlines.
constexpr std::size_t kOpenRounds = 64;

std::shared_ptr<const Blob> failed(std::uint64_t sequence, ErrorCode code, int rank, std::string_view why) {
    return std::make_shared<const Blob>(
        FrameWriter(FrameType::failed).u64(sequence).u32(static_cast<std::uint32_t>(code)).i32(rank).text(why).finish());
}

const char* name(Rounds::Kind kind) { return kind == Rounds::Kind::exchange ? "exchange" : "barrier"; }

}  // namespace

Rounds::Rounds(int ranks) : ranks_(ranks) {}

int Rounds::missing(const Round& round) const {
    for (const auto& [rank, why] : lost_) {
        if (!round.blobs[static_cast<std::size_t>(rank)]) return rank;
    }
    return -1;
}

bool Rounds::over(const Round& round) const {
    for (int rank = 0; rank < ranks_; ++rank) {
        if (!round.blobs[static_cast<std::size_t>(rank)] && !lost_.contains(rank)) return false;
    }
    return true;
}

std::vector<Rounds::Answer> Rounds::conclude(Round& round, std::shared_ptr<const Blob> answer) const {
    round.answer = std::move(answer);
    std::vector<Answer> answers;
    for (int rank = 0; rank < ranks_; ++rank) {
        if (round.blobs[static_cast<std::size_t>(rank)]) answers.push_back({rank, round.answer});
    }
    return answers;
}

std::vector<Rounds::Answer> Rounds::arrive(int rank, Kind kind, std::uint64_t sequence, Blob blob) {
    if (!rounds_.contains(sequence) && rounds_.size() >= kOpenRounds) {
        throw Error(ErrorCode::bootstrap,
                    fmt::format("rank {} began bootstrap {} {} while {} others are unfinished", rank, name(kind), sequence, kOpenRounds));
    }
    Round& round = rounds_.try_emplace(sequence, Round{kind, rank, 0, {}, nullptr}).first->second;
    if (round.blobs.empty()) round.blobs.resize(static_cast<std::size_t>(ranks_));
    auto& place = round.blobs[static_cast<std::size_t>(rank)];
    if (place) {
        throw Error(ErrorCode::bootstrap, fmt::format("rank {} called bootstrap sequence {} twice", rank, sequence));
    }
    place = std::move(blob);
    ++round.arrived;

    std::vector<Answer> answers;
    if (round.answer) {
        answers.push_back({rank, round.answer});
    } else if (kind != round.kind) {
        answers = conclude(round,
                           failed(sequence, ErrorCode::mismatch, -1,
                                  fmt::format("rank {} called {} and rank {} called {}", round.first, name(round.kind), rank, name(kind))));
    } else if (const int gone = missing(round); gone >= 0) {
        answers = conclude(round, failed(sequence, ErrorCode::peer_failed, gone, lost_[gone]));
    } else if (round.arrived == ranks_) {
        std::size_t bytes = 16;
        for (const auto& one : round.blobs) bytes += one->size() + 4;
        if (kind == Kind::barrier) {
            answers = conclude(round, std::make_shared<const Blob>(FrameWriter(FrameType::released).u64(sequence).finish()));
        } else if (bytes > bootstrap::kLongestAnswer) {
            answers = conclude(
                round, failed(sequence, ErrorCode::invalid_argument, -1,
                              fmt::format("the blobs of all ranks make {} bytes; {} are the most", bytes, bootstrap::kLongestAnswer)));
        } else {
            FrameWriter writer(FrameType::gathered);
            writer.u64(sequence).u32(static_cast<std::uint32_t>(ranks_));
            for (const auto& one : round.blobs) writer.blob(*one);
            answers = conclude(round, std::make_shared<const Blob>(writer.finish()));
        }
    }
    if (over(round)) rounds_.erase(sequence);
    return answers;
}

std::vector<Rounds::Answer> Rounds::lose(int rank, std::string why) {
    std::vector<Answer> answers;
    if (!lost_.emplace(rank, std::move(why)).second) return answers;
    for (auto& [sequence, round] : rounds_) {
        if (round.answer || round.blobs[static_cast<std::size_t>(rank)]) continue;
        const auto more = conclude(round, failed(sequence, ErrorCode::peer_failed, rank, lost_[rank]));
        answers.insert(answers.end(), more.begin(), more.end());
    }
    std::erase_if(rounds_, [&](const auto& entry) { return over(entry.second); });
    return answers;
}

}  // namespace rollcall::launcher
