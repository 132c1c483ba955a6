#include "bootstrap/hub.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include <rollcall/error.hpp>

namespace rollcall::bootstrap {
namespace {

/// How many rounds may be open at once. A rank is in one round, or in a few if its earlier calls gave up at their deadlines.
constexpr std::size_t kOpenRounds = 64;

std::shared_ptr<const Blob> shared(Blob frame) { return std::make_shared<const Blob>(std::move(frame)); }

std::shared_ptr<const Blob> failure(std::uint64_t sequence, ErrorCode code, int rank, std::string_view why) {
    return shared(FrameWriter(FrameType::failed).u64(sequence).u32(static_cast<std::uint32_t>(code)).i32(rank).text(why).finish());
}

const char* name(Hub::Kind kind) { return kind == Hub::Kind::exchange ? "exchange" : "barrier"; }

/// Encodes a frame as it came, to pass it on.
std::shared_ptr<const Blob> again(const Frame& frame) { return shared(encode(frame)); }

/// Reads the rest of a contribution: `count` entries, of all ranks of a hub below. (All are read first, because a contribution that is
/// refused must not count for a call.)
std::vector<std::pair<int, Blob>> entries_of(FrameReader& reader, std::uint32_t count, const std::vector<int>& ranks) {
    std::vector<std::pair<int, Blob>> entries;
    for (std::uint32_t i = 0; i < count; ++i) {
        const int rank = reader.i32();
        const auto bytes = reader.blob();
        if (!std::binary_search(ranks.begin(), ranks.end(), rank)) {
            throw Error(ErrorCode::bootstrap, fmt::format("a contribution of rank {} from a node that has no such rank", rank));
        }
        entries.emplace_back(rank, Blob(bytes.begin(), bytes.end()));
    }
    reader.end();
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto twice = std::adjacent_find(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice != entries.end()) {
        throw Error(ErrorCode::bootstrap, fmt::format("a contribution that has rank {} twice", twice->first));
    }
    return entries;
}

}  // namespace

Blob Hub::encode_loss(const Loss& loss, std::uint64_t last) {
    FrameWriter writer(FrameType::loss);
    writer.u64(last).u32(loss.notice ? 1 : 0).text(loss.host).text(loss.how).u32(static_cast<std::uint32_t>(loss.ranks.size()));
    for (const int rank : loss.ranks) writer.i32(rank);
    return writer.finish();
}

std::uint64_t Hub::decode_loss(std::span<const std::byte> body, Loss& loss) {
    FrameReader reader(body);
    const auto last = reader.u64();
    loss.notice = reader.u32() != 0;
    loss.host = reader.text();
    loss.how = reader.text();
    for (auto count = reader.u32(); count > 0; --count) loss.ranks.push_back(reader.i32());
    reader.end();
    return last;
}

Hub::Hub(int size, const std::vector<int>& ranks, std::vector<std::vector<int>> below, bool root, std::size_t longest)
    : size_(size), root_(root), longest_(longest), below_(std::move(below)), last_below_(below_.size(), 0) {
    for (const int rank : ranks) last_.emplace(rank, 0);
    own_left_ = last_.size();
    covers_ = static_cast<int>(last_.size());
    for (auto& hub : below_) {
        covers_ += static_cast<int>(hub.size());
        std::sort(hub.begin(), hub.end());
    }
}

const Hub::Gone* Hub::doom(std::uint64_t sequence) const {
    const auto found = std::find_if(gone_.begin(), gone_.end(), [&](const Gone& gone) { return gone.last < sequence; });
    return found == gone_.end() ? nullptr : &*found;
}

/// Returns what is already certain about a call, or nullptr if nothing is.
std::shared_ptr<const Blob> Hub::answer_of(std::uint64_t sequence) const {
    if (const auto found = failed_.find(sequence); found != failed_.end()) return found->second;
    if (const Gone* const gone = doom(sequence)) return failure(sequence, ErrorCode::peer_failed, gone->rank, gone->sentence);
    if (ended_) return failure(sequence, ErrorCode::bootstrap, -1, *ended_);
    return nullptr;
}

/// Returns the round that `rank` calls, or nullptr if this call disagrees with the earlier ones.
Hub::Round* Hub::open(std::uint64_t sequence, Kind kind, int rank, Deliveries& out) {
    if (!rounds_.contains(sequence) && rounds_.size() >= kOpenRounds) {
        throw Error(ErrorCode::bootstrap,
                    fmt::format("rank {} began bootstrap {} {} while {} others are unfinished", rank, name(kind), sequence, kOpenRounds));
    }
    const auto [entry, fresh] = rounds_.try_emplace(sequence);
    Round& round = entry->second;
    if (fresh) {
        round.kind = kind;
        round.first = rank;
    } else if (round.kind != kind) {
        refuse(sequence, round, ErrorCode::mismatch,
               fmt::format("rank {} called {} and rank {} called {}", round.first, name(round.kind), rank, name(kind)), out);
        return nullptr;
    }
    return &round;
}

Hub::Deliveries Hub::arrive(int rank, Kind kind, std::uint64_t sequence, Blob blob) {
    auto& last = last_.at(rank);
    if (sequence <= last) throw Error(ErrorCode::bootstrap, fmt::format("rank {} called bootstrap sequence {} twice", rank, sequence));
    Deliveries out;
    if (auto answer = answer_of(sequence)) {
        last = sequence;
        out.push_back({Delivery::To::rank, rank, std::move(answer)});
        return out;
    }
    // The rank is listed before its call is compared: if it disagrees, the answer is for it, too.
    if (const auto found = rounds_.find(sequence); found != rounds_.end()) found->second.waiting.push_back(rank);
    Round* const round = open(sequence, kind, rank, out);
    last = sequence;
    if (round == nullptr) return out;
    if (round->waiting.empty() || round->waiting.back() != rank) round->waiting.push_back(rank);
    round->entries.emplace_back(rank, std::move(blob));
    ++round->covered;
    settle(sequence, out);
    return out;
}

Hub::Deliveries Hub::hear_below(int hub, const Frame& frame) {
    const auto index = static_cast<std::size_t>(hub);
    const auto& ranks = below_.at(index);
    Deliveries out;
    FrameReader reader(frame.body);
    switch (frame.type) {
        case FrameType::contribution: {
            const auto sequence = reader.u64();
            const auto kind = static_cast<Kind>(reader.u32());
            const auto count = reader.u32();
            if (sequence <= last_below_[index] || kind > Kind::barrier || count != ranks.size()) {
                throw Error(ErrorCode::bootstrap,
                            fmt::format("an impossible contribution of {} ranks to bootstrap sequence {}", count, sequence));
            }
            auto entries = entries_of(reader, count, ranks);
            if (answer_of(sequence)) return out;  // the hub below has been told, or will be when it has read what is on its way
            last_below_[index] = sequence;
            Round* const round = open(sequence, kind, ranks.empty() ? -1 : ranks.front(), out);
            if (round == nullptr) return out;
            std::move(entries.begin(), entries.end(), std::back_inserter(round->entries));
            round->covered += static_cast<int>(count);
            settle(sequence, out);
            return out;
        }
        case FrameType::refusal: {
            const auto sequence = reader.u64();
            const auto code = static_cast<ErrorCode>(reader.u32());
            const std::string sentence = reader.text();
            reader.end();
            if (answer_of(sequence)) return out;
            refuse(sequence, rounds_[sequence], code, sentence, out);
            return out;
        }
        case FrameType::loss: {
            Loss loss;
            const auto last = decode_loss(frame.body, loss);
            for (const int rank : loss.ranks) {
                if (!std::binary_search(ranks.begin(), ranks.end(), rank))
                    throw Error(ErrorCode::bootstrap, fmt::format("the loss of rank {} from a node that has no such rank", rank));
            }
            if (root_) {
                apply(loss, last, false, -1, out);
            } else {
                out.push_back({Delivery::To::above, 0, again(frame)});
            }
            return out;
        }
        default: throw Error(ErrorCode::bootstrap, fmt::format("a frame of type {} from a node below", static_cast<int>(frame.type)));
    }
}

Hub::Deliveries Hub::hear_above(const Frame& frame) {
    Deliveries out;
    FrameReader reader(frame.body);
    switch (frame.type) {
        case FrameType::gathered:
        case FrameType::released: conclude(reader.u64(), again(frame), out); return out;
        case FrameType::failed: fail(reader.u64(), again(frame), out); return out;
        case FrameType::loss: {
            Loss loss;
            const auto last = decode_loss(frame.body, loss);
            apply(loss, last, false, -1, out);
            return out;
        }
        default: throw Error(ErrorCode::bootstrap, fmt::format("a frame of type {} from the node above", static_cast<int>(frame.type)));
    }
}

Hub::Deliveries Hub::lose(int rank, std::string host, std::string how, bool notice) {
    Deliveries out;
    if (lost_.contains(rank)) return out;
    const Loss loss{{rank}, std::move(host), std::move(how), notice};
    const auto last = last_.at(rank);
    // The loss is applied here at once and told to the root, which tells all hubs. This hub hears of it again, and knows it then.
    if (!root_ && notice) out.push_back({Delivery::To::above, 0, shared(encode_loss(loss, last))});
    apply(loss, last, true, -1, out);
    if (!root_ && own_left_ == 0) {
        const auto collected = tell_collected();
        out.insert(out.end(), collected.begin(), collected.end());
    }
    return out;
}

Hub::Deliveries Hub::lose_below(int hub, std::string host, std::string how) {
    Deliveries out;
    const auto index = static_cast<std::size_t>(hub);
    Loss loss{{}, std::move(host), std::move(how), true};
    for (const int rank : below_.at(index)) {
        if (!lost_.contains(rank)) loss.ranks.push_back(rank);
    }
    if (loss.ranks.empty()) return out;
    // Contributions that the hub below gathered and did not pass on are lost with it.
    if (!root_) out.push_back({Delivery::To::above, 0, shared(encode_loss(loss, last_below_[index]))});
    apply(loss, last_below_[index], false, hub, out);
    return out;
}

Hub::Deliveries Hub::end(std::string sentence) {
    Deliveries out;
    ended_ = std::move(sentence);
    while (!rounds_.empty()) conclude(rounds_.begin()->first, answer_of(rounds_.begin()->first), out);
    return out;
}

Hub::Deliveries Hub::tell_collected() {
    Deliveries out;
    for (auto* const collected : {&losses_, &departures_}) {
        for (const auto& [alike, loss] : *collected) {
            const auto told = shared(encode_loss(loss, alike.first));
            if (!root_) out.push_back({Delivery::To::above, 0, told});
            for (std::size_t hub = 0; hub < below_.size(); ++hub) out.push_back({Delivery::To::below, static_cast<int>(hub), told});
        }
        collected->clear();
    }
    told_.clear();
    return out;
}

void Hub::collect(const Loss& loss, std::uint64_t last) {
    auto& collected = loss.notice ? losses_ : departures_;
    Loss& together = collected.try_emplace({last, loss.how}, Loss{{}, loss.host, loss.how, loss.notice}).first->second;
    if (together.host != loss.host) together.host.clear();
    together.ranks.insert(together.ranks.end(), loss.ranks.begin(), loss.ranks.end());
}

/// `own`: of a rank of this node.
void Hub::apply(const Loss& loss, std::uint64_t last, bool own, int except, Deliveries& out) {
    Loss fresh{{}, loss.host, loss.how, loss.notice};
    for (const int rank : loss.ranks) {
        if (lost_.insert(rank).second) {
            own_left_ -= last_.count(rank);
            fresh.ranks.push_back(rank);
        }
        // Of a rank that has said why it goes, the end of its connection may say later that it did not come to an earlier call either.
        if (gone_.empty() || last < gone_.back().last) {
            gone_.push_back({last, rank,
                             loss.host.empty() ? fmt::format("rank {} {}", rank, loss.how)
                                               : fmt::format("rank {} on host {} {}", rank, loss.host, loss.how)});
        }
    }
    for (auto round = rounds_.upper_bound(last); round != rounds_.end(); round = rounds_.erase(round)) {
        const auto answer = answer_of(round->first);
        for (const int rank : round->second.waiting) {
            if (!lost_.contains(rank)) out.push_back({Delivery::To::rank, rank, answer});
        }
    }
    if (fresh.ranks.empty()) return;
    if (root_ && below_.empty()) {
        // There is no other hub.
    } else if (loss.notice ? root_ && !told_.insert(loss.how).second : root_ || own) {
        collect(fresh, last);
    } else {
        const auto told = shared(encode_loss(fresh, last));
        for (std::size_t hub = 0; hub < below_.size(); ++hub) {
            if (static_cast<int>(hub) != except) out.push_back({Delivery::To::below, static_cast<int>(hub), told});
        }
    }
    if (!loss.notice) return;
    for (const int rank : fresh.ranks) out.push_back({Delivery::To::notice, 0, shared(encode_notice({rank, loss.how}))});
}

/// Lets the root fail a round.
void Hub::refuse(std::uint64_t sequence, Round& round, ErrorCode code, const std::string& sentence, Deliveries& out) {
    if (root_) {
        fail(sequence, failure(sequence, code, -1, sentence), out);
    } else if (!std::exchange(round.refused, true)) {
        FrameWriter refusal(FrameType::refusal);
        refusal.u64(sequence).u32(static_cast<std::uint32_t>(code)).text(sentence);
        out.push_back({Delivery::To::above, 0, shared(refusal.finish())});
    }
}

std::shared_ptr<const Blob> Hub::gathered(std::uint64_t sequence, Round& round) const {
    std::size_t bytes = 16;
    for (const auto& [rank, blob] : round.entries) bytes += blob.size() + 4;
    if (bytes > longest_) {
        return failure(sequence, ErrorCode::invalid_argument, -1,
                       fmt::format("the blobs of all ranks have {} bytes together; at most {} are allowed", bytes, longest_));
    }
    std::sort(round.entries.begin(), round.entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    FrameWriter writer(FrameType::gathered);
    writer.u64(sequence).u32(static_cast<std::uint32_t>(size_));
    for (const auto& [rank, blob] : round.entries) writer.blob(blob);
    return shared(writer.finish());
}

/// Passes a round on if it is complete at this hub.
void Hub::settle(std::uint64_t sequence, Deliveries& out) {
    Round& round = rounds_.at(sequence);
    if (round.covered < covers_ || round.refused) return;
    if (root_) {
        met_ = true;
        conclude(sequence,
                 round.kind == Kind::barrier ? shared(FrameWriter(FrameType::released).u64(sequence).finish()) : gathered(sequence, round),
                 out);
        return;
    }
    // The hub above takes no longer frame. It would break the connection, and the ranks of this hub would count as lost.
    std::size_t bytes = 16;
    for (const auto& [rank, blob] : round.entries) bytes += blob.size() + 8;
    const auto entries = std::exchange(round.entries, {});
    if (bytes > longest_) {
        return refuse(sequence, round, ErrorCode::invalid_argument,
                      fmt::format("the blobs of {} ranks have {} bytes together; at most {} are allowed", entries.size(), bytes, longest_),
                      out);
    }
    FrameWriter writer(FrameType::contribution);
    writer.u64(sequence).u32(static_cast<std::uint32_t>(round.kind)).u32(static_cast<std::uint32_t>(entries.size()));
    for (const auto& [rank, blob] : entries) writer.i32(rank).blob(blob);
    out.push_back({Delivery::To::above, 0, shared(writer.finish())});
}

void Hub::conclude(std::uint64_t sequence, const std::shared_ptr<const Blob>& answer, Deliveries& out) {
    for (std::size_t hub = 0; hub < below_.size(); ++hub) out.push_back({Delivery::To::below, static_cast<int>(hub), answer});
    const auto round = rounds_.find(sequence);
    if (round == rounds_.end()) return;
    for (const int rank : round->second.waiting) {
        if (!lost_.contains(rank)) out.push_back({Delivery::To::rank, rank, answer});
    }
    rounds_.erase(round);
}

void Hub::fail(std::uint64_t sequence, const std::shared_ptr<const Blob>& answer, Deliveries& out) {
    conclude(sequence, answer, out);
    failed_[sequence] = answer;
    if (failed_.size() > kOpenRounds) failed_.erase(failed_.begin());
}

}  // namespace rollcall::bootstrap
