#include "runtime/engine/agreements.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "runtime/engine/engine.hpp"

namespace rollcall::runtime {
namespace {

// A rank that has just made the communicator may have missed a question. A caller may also come much later.
constexpr Nanoseconds kFirstPause = 10 * kMillisecond;
constexpr Nanoseconds kLongestPause = 1000 * kMillisecond;

/// Members that follow one another, and have the same first slot or are all lost.
struct Run {
    std::int32_t first, count;
    std::uint64_t slot;
    std::uint64_t is_lost;
};

std::string encode(const Survivors& survivors) {
    std::vector<Run> runs;
    const auto add = [&](const Run& one) {
        if (!runs.empty() && runs.back().first + runs.back().count == one.first && runs.back().slot == one.slot &&
            runs.back().is_lost == one.is_lost)
            ++runs.back().count;
        else
            runs.push_back(one);
    };
    for (std::size_t i = 0; i < survivors.ranks.size(); ++i) add({survivors.ranks[i], 1, survivors.first_slots[i], 0});
    for (const int member : survivors.lost) add({member, 1, 0, 1});
    std::string text(sizeof survivors.id + runs.size() * sizeof(Run), '\0');
    std::memcpy(text.data(), &survivors.id, sizeof survivors.id);
    std::memcpy(text.data() + sizeof survivors.id, runs.data(), runs.size() * sizeof(Run));
    return text;
}

/// Null: these bytes are none.
std::shared_ptr<const Survivors> decode(transport::ConstBytes bytes, int size) {
    auto survivors = std::make_shared<Survivors>();
    if (!bytes.data || bytes.size < sizeof survivors->id || (bytes.size - sizeof survivors->id) % sizeof(Run) != 0) return nullptr;
    const char* at = static_cast<const char*>(bytes.data);
    const char* const end = at + bytes.size;
    std::memcpy(&survivors->id, at, sizeof survivors->id);
    for (at += sizeof survivors->id; at != end; at += sizeof(Run)) {
        Run run;
        std::memcpy(&run, at, sizeof run);
        if (run.first < 0 || run.count < 1 || run.count > size - run.first) return nullptr;
        for (int member = run.first; member < run.first + run.count; ++member) {
            (run.is_lost ? survivors->lost : survivors->ranks).push_back(member);
            if (!run.is_lost) survivors->first_slots.push_back(run.slot);
        }
    }
    return survivors;
}

}  // namespace

void AgreementCall::begin(Engine& engine) { engine.agreements().enter(*this); }
void AgreementCall::abandon(Engine& engine, const Error& error) { engine.agreements().abandon(*this, error); }

Agreements::Entry& Agreements::entry(const Key& key, const std::shared_ptr<const Group>& group, int rank) {
    if (const auto found = all_.find(key); found != all_.end()) return found->second;
    Entry& fresh =
        all_.try_emplace(key, Entry{.key = key, .group = group, .state = Agreement(group->size, rank), .refusal = nullptr}).first->second;
    Agreement::Messages none;  // its caller has not come
    engine_.peers_.for_each_gone([&](int peer) {
        const int member = group->rank_of(peer);
        if (member < 0) return;
        fresh.state.lose(member, none);
        fresh.has_lost = true;
    });
    return fresh;
}

void Agreements::enter(AgreementCall& call) {
    const Key key{call.group->id, call.number};
    Entry& its = entry(key, call.group, call.rank);
    its.caller = &call;
    its.refusal.reset();
    if (engine_.ended_) return finish(its, engine_.ended_.get());
    engine_.watch_over_peers();
    note_change(its);
    its.pause = kFirstPause;
    its.due = engine_.machine_.now() + its.pause;
    engine_.want_tick(its.due);
    if (its.has_lost) note_loss(key, its);
    Agreement::Messages messages;
    its.state.enter(call.part, messages);
    go_on(key, its, messages);
}

// From now on this rank drops what has come and what comes. Others may wait until it has received that.
void Agreements::note_loss(const Key& key, Entry& its) {
    its.has_lost = true;
    if (its.caller && !is_at_the_end(key.second)) engine_.early_.let_go_of(CallKey{key.first, 0});
}

void Agreements::go_on(const Key& key, Entry& its, const Agreement::Messages& messages) {
    send(key, its, messages);
    end_if_over(its);
}

void Agreements::abandon(AgreementCall& call, const Error& error) {
    const auto found = all_.find({call.group->id, call.number});
    if (found == all_.end() || found->second.caller != &call) {  // there was no memory for it
        call.set_error(error);
        ++engine_.finished_;
        return call.set_done();
    }
    found->second.is_abandoned = true;
    finish(found->second, &error);
}

void Agreements::hear(const CollectiveHeader& header, transport::ConstBytes payload) {
    const Key key{header.base.communicator, header.sequence};
    const auto says = static_cast<Agreement::Says>(header.base.code);
    const bool is_question = says == Agreement::Says::asks || says == Agreement::Says::waits;
    const CommunicatorState* const communicator = engine_.communicators_.find(key.first);
    const bool can_come = communicator && !communicator->retired && (!engine_.finalizing_ || is_at_the_end(key.second));
    const auto found = all_.find(key);
    const bool is_known = found != all_.end();
    const bool has_left = is_known && found->second.is_abandoned && !found->second.state.decision();
    if (has_left && says == Agreement::Says::decided) {
        // The others have counted on this rank, which will not make the communicator. (It may have said meanwhile that it has no part.)
        if (const auto decision = decode(payload, found->second.group->size)) engine_.stop_expecting(0, decision->id);
        return;
    }
    if (has_left || (!can_come && !(is_known && found->second.state.has_entered()))) {
        if (!is_question || (!is_known && !communicator && !engine_.communicators_.is_past(key.first)))
            return;  // it is still being made here
        CollectiveHeader answer;
        answer.base.communicator = key.first;
        answer.base.code = static_cast<std::uint8_t>(Agreement::Says::is_absent);
        answer.sequence = key.second;
        return engine_.send_control(header.base.source, MessageKind::agreement, answer);
    }
    Entry& its = is_known ? found->second : entry(key, communicator->group, communicator->rank);
    const int from = its.group->rank_of(header.base.source);
    if (from < 0) return;
    Agreement::Message message{.says = says, .leader = header.call.root, .part = {header.base.tag, header.call.bytes}};
    if (says == Agreement::Says::decided) {
        message.decision = decode(payload, its.group->size);
        if (!message.decision) return;
    }
    if ((header.base.flags & kHasLost) && !its.has_lost) note_loss(key, its);
    Agreement::Messages messages;
    its.state.hear(from, message, messages);
    go_on(key, its, messages);
    if (is_question && (header.base.flags & kHasLost) && !its.state.has_entered() && !is_at_the_end(key.second)) call_for(key, its, from);
}

// This rank's caller may wait for a message of a rank that has come to the agreement.
void Agreements::call_for(const Key& key, Entry& its, int member) {
    if (its.refusal) return;
    its.refusal = std::make_unique<Error>(ErrorCode::peer_failed,
                                          fmt::format("{} of communicator {} has called shrink() because a rank was lost: call it, too",
                                                      member_name(*its.group, member), its.group->name));
    note_change(its);
    engine_.fail_posted(-1, *its.refusal, key.first);
    ++engine_.look_changes_;
}

void Agreements::lose(int peer) {
    for (auto& [key, its] : all_) {
        const int member = its.group->rank_of(peer);
        if (member < 0) continue;
        if (!its.has_lost) note_loss(key, its);
        if (its.caller) engine_.watch_over_peers();
        Agreement::Messages messages;
        its.state.lose(member, messages);
        go_on(key, its, messages);
    }
}

void Agreements::forget(std::uint64_t communicator) {
    for (auto each = all_.lower_bound({communicator, 0}); each != all_.end() && each->first.first == communicator; ++each) {
        if (!each->second.refusal) continue;
        each->second.refusal.reset();
        note_change(each->second);
    }
}

void Agreements::end(const Error& error) {
    for (auto& [key, its] : all_)
        if (its.caller) finish(its, &error);
}

void Agreements::send(const Key& key, const Entry& its, const Agreement::Messages& messages) {
    std::string decision;  // the same in all of them
    for (const Agreement::Message& message : messages) {
        if (message.decision && decision.empty()) decision = encode(*message.decision);
        CollectiveHeader header;
        header.base.communicator = key.first;
        header.base.code = static_cast<std::uint8_t>(message.says);
        if (its.has_lost) header.base.flags |= kHasLost;
        header.base.tag = message.part.number;
        header.sequence = key.second;
        header.call.root = message.leader;
        header.call.bytes = message.part.first_slot;
        engine_.send_control(its.group->world_rank(message.to), MessageKind::agreement, header,
                             message.decision ? decision : std::string());
    }
}

void Agreements::end_if_over(Entry& its) {
    const auto& decision = its.state.decision();
    if (its.is_abandoned && decision) {
        // The others count on this rank, which will not make the communicator.
        its.is_abandoned = false;
        engine_.stop_expecting(0, decision->id);
    }
    if (!its.caller) return;
    if (its.state.is_left_out()) {
        const Error error(ErrorCode::peer_failed,
                          fmt::format("the other ranks of communicator {} have gone on without {}, because they had lost it",
                                      its.group->name, engine_.name_of(engine_.options_.rank)));
        return finish(its, &error);
    }
    if (!decision) return;
    its.caller->decision = decision;
    if (is_at_the_end(its.caller->number)) {
        for (int member = 0; member < its.group->size; ++member)
            if (!decision->have(member) && !engine_.peers_.is_excused(its.group->world_rank(member)))
                engine_.suspect(its.group->world_rank(member), "was lost while the job ended");  // this rank may not have noticed it yet
    } else {
        for (const int member : decision->lost) engine_.peers_.excuse(its.group->world_rank(member));
    }
    finish(its, nullptr);
}

void Agreements::finish(Entry& its, const Error* error) {
    AgreementCall& call = *std::exchange(its.caller, nullptr);
    note_change(its);
    if (error) call.set_error(*error);
    ++engine_.finished_;
    call.set_done();  // the caller may destroy it from here on
}

Nanoseconds Agreements::tick(Nanoseconds now) {
    Nanoseconds next = kNever;
    for (Entry* const its : open_) {
        if (!its->caller) continue;
        if (now >= its->due) {
            engine_.watch_over_peers();
            its->pause = std::min(2 * its->pause, kLongestPause);
            its->due = now + its->pause;
            Agreement::Messages messages;
            its->state.remind(messages);
            send(its->key, *its, messages);
        }
        next = std::min(next, its->due);
    }
    return next;
}

void Agreements::add_awaited(std::vector<int>& peers) const {
    for (const Entry* const its : open_)
        for (const int member : its->caller ? its->state.awaited() : std::vector<int>()) peers.push_back(its->group->world_rank(member));
}

bool Agreements::drops(std::uint64_t communicator) const {
    return std::ranges::any_of(open_, [&](const Entry* its) {
        return its->key.first == communicator && !is_at_the_end(its->key.second) && its->caller && its->has_lost;
    });
}

const Error* Agreements::refusal(std::uint64_t communicator) const {
    for (const Entry* const its : open_)
        if (its->key.first == communicator && its->refusal) return its->refusal.get();
    return nullptr;
}

void Agreements::note_change(Entry& its) {
    const auto place = std::ranges::find(open_, &its);
    if (!its.caller && !its.refusal) {
        if (place != open_.end()) open_.erase(place);
    } else if (place == open_.end()) {
        open_.push_back(&its);
    }
    engine_.agrees_ = !open_.empty();
}

}  // namespace rollcall::runtime
