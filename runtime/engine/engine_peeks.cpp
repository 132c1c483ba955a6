// The engine's looks at messages for which no receive is posted. See Peek.
#include <optional>

#include "runtime/engine/engine.hpp"
#include "runtime/messages/peek.hpp"

namespace rollcall::runtime {

void Peek::begin(Engine& engine) { engine.peek(*this); }

void Transfer::begin_if_next(Engine& its_engine, std::uint32_t its_ordinal) {
    const EarlyMessage* const next_one = its_engine.early_.by_key().find(key);
    if (next_one && next_one->ordinal == its_ordinal) return Transfer::begin(its_engine);
    engine = &its_engine;
    miss();
}

void Transfer::miss() {
    flags |= kMissed;
    engine->finish(*this);
}

void Peek::abandon(Engine& engine, const Error& error) { engine.end_peek(*this, &error); }

void Engine::peek(Peek& peek) {
    watch_over_peers();
    const int peer = peek.key.source;
    const bool is_first = !peeks_.find(peek.key);
    peeks_.insert(peek);
    if (const EarlyMessage* early = early_.by_key().find(peek.key)) return show(*early);
    try {
        if (peers_.any_dead() && peers_.is_gone(peer)) {
            const Error error = dead(peer);
            return end_peek(peek, &error);
        }
        if (const Error* const why = agrees_ ? agreements_.refusal(peek.key.communicator) : nullptr) return end_peek(peek, why);
        // A message that waits in its sender's backlog has not been announced yet. All peeks of its key see the same one.
        if (is_first && peers_[peer].has_backlog) ask_for(peek.key);
    } catch (...) {  // There is no memory, and the caller destroys the peek.
        peeks_.remove(peek);
        throw;
    }
}

void Engine::show(const EarlyMessage& early) {
    peeks_.for_each_of(early.key, [&](Peek& peek) {
        peek.size = early.size;
        peek.ordinal = early.ordinal;
        end_peek(peek, nullptr);
    });
}

void Engine::end_peek(Peek& peek, const Error* error) {
    peeks_.remove(peek);
    if (error) {
        peek.set_error(*error);
        if (peers_[peek.key.source].has_backlog && !peeks_.find(peek.key)) ask_for(peek.key, MessageKind::unwanted);
    }
    ++finished_;
    Watcher* const watcher = peek.watcher_;
    peek.set_done();  // the caller may destroy the peek from here on
    if (watcher) watcher->ended();
}

std::optional<std::uint64_t> Engine::size_of_next(const MatchKey& key) {
    if (const EarlyMessage* early = early_.by_key().find(key)) return early->size;
    if (peers_.any_dead() && peers_.is_gone(key.source)) throw dead(key.source);
    if (const Error* const why = agrees_ ? agreements_.refusal(key.communicator) : nullptr) throw Error(*why);
    PeerState& peer = peers_[key.source];
    if (peer.has_backlog && backlog_.may_look(key)) {
        try {
            ask_for(key);
        } catch (...) {
            backlog_.has_come(key);  // There is no memory: it has not been asked for.
            throw;
        }
    }
    if (has_signs_) {
        if (peer.looked_for < 0) looked_for_.push_back(key.source);
        peer.looked_for = machine_.now();
        watch_over_peers();
    }
    return std::nullopt;
}

}  // namespace rollcall::runtime
