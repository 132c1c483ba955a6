#include "runtime/engine/communicators.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace rollcall::runtime {
namespace {

const Error* untold_of(const CommunicatorState& communicator) {
    if (communicator.undelivered) return communicator.undelivered.get();
    const bool untold = communicator.broken && !communicator.broken_told && communicator.broken->code() == ErrorCode::mismatch;
    return untold ? communicator.broken.get() : nullptr;
}

}  // namespace

std::uint64_t Communicators::expect() {
    expected_.push_back(next_turn_++ * size_ + rank_);
    return expected_.back();
}

void Communicators::stop_expecting(std::uint64_t number, std::optional<std::uint64_t> id) {
    std::erase(expected_, number);
    if (id && !find(*id)) {
        next_turn_ = std::max(next_turn_, turn_of(*id) + 1);
        remember(*id, {});
    }
    std::erase_if(removed_, [&](std::uint64_t removed) { return turn_of(removed) < lowest_turn_expected(); });
    std::erase_if(foretold_, [&](const auto& failure) { return is_past(failure.first); });
}

void Communicators::foretell(std::uint64_t id, std::uint64_t from, const Error& error) {
    const auto [found, is_new] = foretold_.try_emplace(id, from, error);
    if (!is_new && from < found->second.from) found->second = Failure{from, error};
}

void Communicators::fail_past(std::uint64_t id, std::uint64_t from, const Error& error) {
    const auto found = past_.find(id);
    // This rank has called what another rank calls differently. Other errors are those of the ranks that are still in a call.
    if (error.code() != ErrorCode::mismatch || found == past_.end() || found->second.broken || from > found->second.begun) return;
    found->second.broken = std::make_unique<Error>(error);
    found->second.broken_from = from;
    note_untold(error);
}

void Communicators::note_untold(const Error& error) {
    if (!untold_of_past_ || untold_of_past_->code() == ErrorCode::peer_failed) untold_of_past_ = std::make_unique<Error>(error);
}

const Error* Communicators::untold(const std::function<bool(const Error&)>& is_excused) const {
    const Error* found = nullptr;
    const auto look_at = [&](const Error* error) {
        if (!found && error && !is_excused(*error)) found = error;
    };
    look_at(untold_of_past_.get());
    for_each([&](const CommunicatorState& communicator) { look_at(untold_of(communicator)); });
    return found;
}

void Communicators::add(CommunicatorState& communicator) {
    const std::uint64_t id = communicator.group->id;
    present_.emplace(id, &communicator);
    next_turn_ = std::max(next_turn_, turn_of(id) + 1);
    if (const auto failure = foretold_.extract(id)) {
        communicator.broken = std::make_unique<Error>(failure.mapped().error);
        communicator.broken_from = failure.mapped().from;
    }
}

void Communicators::remove(CommunicatorState& communicator) {
    const std::uint64_t id = communicator.group->id;
    present_.erase(id);
    try {
        if (const Error* const untold = untold_of(communicator)) note_untold(*untold);
        remember(id, {communicator.begun, communicator.signalled, communicator.broken_from, std::move(communicator.broken)});
    } catch (const std::bad_alloc&) {
        // The destructor of a communicator must not fail. Ranks that ask for it later are told that it is not there.
    }
}

void Communicators::remember(std::uint64_t id, Past past) {
    past_.insert_or_assign(id, std::move(past));
    past_order_.push_back(id);
    if (past_order_.size() > kRemembered) {
        past_.erase(past_order_.front());
        past_order_.pop_front();
    }
    if (turn_of(id) >= lowest_turn_expected()) removed_.insert(id);
}

}  // namespace rollcall::runtime
