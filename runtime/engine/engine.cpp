#include "runtime/engine/engine.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace rollcall::runtime {

Engine::Engine(transport::Transport& transport, transport::Machine& machine, FrameArena& arena, Options options)
    : transport_(transport),
      machine_(machine),
      arena_(arena),
      options_(std::move(options)),
      peers_(options_.size, allowance_for(options_.landing_bytes, options_.size), accepts_eager_data()),
      communicators_(options_.rank, options_.size),
      landing_(transport_.memory(), landing_budget_for(options_.landing_bytes, options_.size), options_.landing_longest) {
    transport_.attach(*this);
}

void Engine::close() noexcept {
    closing_ = true;  // What deputies hold is freed, but nothing is told of it, and nothing else lands in its place.
    early_.stop_landing();
    deputies_.free_all();
}

Engine::~Engine() {
    close();
    early_.free_all();
}

void Engine::set_sleeping(bool sleeps) noexcept {
    sleeps_ = sleeps;
    runtime::set_sleeping(transport_.board(), sleeps);
    node_.set_sleeping(sleeps);
}

void Engine::on_board_changed(std::uint64_t offset, std::uint64_t size) noexcept {
    if (node_.is_watched()) node_.look();
    if (size > 0) board_.on_changed(offset);
}

void Engine::set_peer(int peer, std::uint32_t allowance, bool accepts_data, bool over_tcp) {
    PeerState& state = peers_[peer];
    state.allowance = allowance;
    state.accepts_data = accepts_data;
    state.over_tcp = over_tcp;
}

std::string Engine::name_of(int rank) const {
    if (static_cast<std::size_t>(rank) >= options_.hosts.size()) return fmt::format("rank {}", rank);
    return fmt::format("rank {} on host {}", rank, options_.hosts[static_cast<std::size_t>(rank)]);
}

Error Engine::dead(int rank) const {
    const Peers::Trouble* trouble = peers_.find(rank);
    if (ended_ && (!trouble || trouble->what.empty())) return *ended_;
    if (!trouble) return Error(ErrorCode::peer_failed, fmt::format("the connection to {} was lost", name_of(rank)), rank);
    std::string sentence = fmt::format("{} {}", name_of(rank), trouble->what);
    const int first = peers_.first_gone();
    // Ranks that are lost together have one reason, which is named once.
    if (first >= 0 && first != rank && peers_.find(first)->what != trouble->what)
        sentence += fmt::format(", after {} {}", name_of(first), peers_.find(first)->what);
    return Error(ErrorCode::peer_failed, sentence, rank);
}

Error Engine::unreadable(int peer) const {
    return Error(ErrorCode::state, fmt::format("a message of {} could not be copied from its memory: the system does not let this process "
                                               "read the sender's buffer, or write into the receiver's. Set ROLLCALL_SINGLE_COPY=no",
                                               name_of(peer)));
}

std::optional<Error> Engine::loss() const {
    const int peer = peers_.any_trouble();
    if (!ended_ && peer < 0) return std::nullopt;
    const Error error = ended_ ? *ended_ : dead(peer);
    return undelivered_.empty() ? error : Error(error.code(), fmt::format("{}; {}", error.what(), undelivered_), error.failed_rank());
}

void Engine::stop_expecting(std::uint64_t number, std::optional<std::uint64_t> id) {
    communicators_.stop_expecting(number, id);
    early_.let_go_of_past();
}

void Engine::add(CommunicatorState& communicator) {
    communicators_.add(communicator);
    const auto break_it = [&](const Error& error) {
        communicator.broken = std::make_unique<Error>(error);
        communicator.broken_from = 0;
    };
    if (ended_) break_it(*ended_);
    peers_.for_each_gone([&](int peer) {
        if (communicator.group->rank_of(peer) >= 0) break_it(dead(peer));
    });
    if (communicator.broken) early_.let_go_of_broken(communicator);
    // Ranks that had made it earlier have called on it already.
    if (early_.by_call().size() > 0)
        early_.by_key().for_each([&](const EarlyMessage& early) {
            if (early.key.communicator == communicator.group->id && early.key.sequence != 0) deputies_.begins_with(communicator, early);
        });
}

void Engine::remove(CommunicatorState& communicator) {
    if (agrees_) agreements_.forget(communicator.group->id);
    announcements_.end(communicator);
    communicators_.remove(communicator);
    early_.let_go_of_past();
}

void Engine::expect_departures() {
    closing_ = true;
    early_.let_go_of_all();
}

}  // namespace rollcall::runtime
