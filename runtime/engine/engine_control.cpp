// The engine's control messages: what other ranks tell this one.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/engine/engine.hpp"

namespace rollcall::runtime {
namespace {

using transport::ConstBytes;

}  // namespace

std::uint64_t Engine::steps() const noexcept {
    return std::uint64_t{posted_.steps()} + early_.by_key().steps() + active_.steps() + early_.by_call().steps() + peeks_.steps() +
           other_steps_;
}

void Engine::tell_failed(int peer, std::uint64_t communicator, std::uint64_t from, const Error& error, std::uint8_t flags) {
    CollectiveHeader header;
    header.base.flags = flags;
    header.base.communicator = communicator;
    header.base.code = static_cast<std::uint8_t>(error.code());
    header.sequence = from;
    header.call.root = error.failed_rank();
    send_control(peer, MessageKind::failed, header, error.what());
}

void Engine::on_deferred(const CollectiveHeader& header) {
    Operation* operation = find_active(header.base.communicator, header.sequence);
    if (!operation) return;
    for (Transfer* transfer = operation->transfers_; transfer; transfer = transfer->next)
        if ((transfer->flags & kTellDeferred) && transfer->peer() == header.base.source && transfer->key.tag == header.base.tag)
            transfer->deferred = true;
    touch(*operation);
}

void Engine::on_control(const CollectiveHeader& header, ConstBytes payload) {
    CommunicatorState* communicator = communicators_.find(header.base.communicator);
    switch (header.base.kind) {
        case MessageKind::retract: {
            const MatchKey key{header.base.communicator, header.sequence, header.base.tag, header.base.source};
            const auto is_it = [&](const EarlyMessage& early) {
                return early.key == key && early.ordinal == header.base.ordinal && early.stage == EarlyMessage::Stage::offered;
            };
            if (EarlyMessage* early = early_.by_key().find_if(key, is_it)) {
                early_.forget(*early);
                early_.let_go(*early);
                return;
            }
            // The message came before its turn: only its place in the stream is kept.
            for (EarlyMessage* early = peers_[key.source].overtaking; early; early = early->next)
                if (is_it(*early)) {
                    transport_.decline(early->offer);
                    early->dropped = true;
                    return;
                }
            return;
        }
        case MessageKind::deferred: return on_deferred(header);
        case MessageKind::probe: return questions_.answer(header);
        case MessageKind::entered: return questions_.hear(header);
        case MessageKind::backlog: return on_backlog(header);
        case MessageKind::agreement: return agreements_.hear(header, payload);
        case MessageKind::wanted:
        case MessageKind::unwanted: return on_wanted(header);
        case MessageKind::failed:
            if (!communicator && node())  // destroyed here; what was published for it is no longer read
                node()->withdraw([&](const Group& group, std::uint64_t sequence) {
                    return group.id == header.base.communicator && sequence >= header.sequence;
                });
            if (payload.data) {
                const Error error(static_cast<ErrorCode>(header.base.code),
                                  std::string(static_cast<const char*>(payload.data), payload.size), header.call.root);
                if (communicator) {
                    break_communicator(*communicator, header.sequence, error, false);
                    if (header.base.flags & kTellsAll)
                        announcements_.hear(*communicator, header.sequence, communicator->group->rank_of(header.base.source));
                } else if (communicators_.is_past(header.base.communicator)) {
                    communicators_.fail_past(header.base.communicator, header.sequence, error);
                } else {
                    communicators_.foretell(header.base.communicator, header.sequence, error);
                }
            }
            return;
        case MessageKind::nudge:   // the board is looked at anyway
        case MessageKind::credit:  // reading the header has done it
        case MessageKind::point_to_point:
        case MessageKind::point_to_point_compact:
        case MessageKind::collective: return;
    }
}

}  // namespace rollcall::runtime
