#include "runtime/messages/backlog.hpp"

namespace rollcall::runtime {

void Backlog::push(Transfer& transfer) {
    Waiting& waiting = by_peer_[transfer.peer()];
    by_key_.insert(transfer);  // first, because there may be no memory for it
    transfer.next = nullptr;
    transfer.previous = waiting.tail;
    (waiting.tail ? waiting.tail->next : waiting.head) = &transfer;
    waiting.tail = &transfer;
}

void Backlog::push_first(Transfer& transfer) {
    Waiting& waiting = by_peer_.at(transfer.peer());
    by_key_.insert_before(transfer, [](const Transfer&) { return true; });
    transfer.previous = nullptr;
    transfer.next = waiting.head;
    (waiting.head ? waiting.head->previous : waiting.tail) = &transfer;
    waiting.head = &transfer;
}

void Backlog::remove(Transfer& transfer) {
    Waiting& waiting = by_peer_.at(transfer.peer());
    (transfer.previous ? transfer.previous->next : waiting.head) = transfer.next;
    (transfer.next ? transfer.next->previous : waiting.tail) = transfer.previous;
    transfer.next = transfer.previous = nullptr;
    by_key_.remove(transfer);
}

Transfer* Backlog::ask_for(const MatchKey& key) {
    if (Transfer* transfer = by_key_.find(key)) {
        remove(*transfer);
        return transfer;
    }
    ++by_peer_[key.source].wanted[key];
    return nullptr;
}

bool Backlog::give(const MatchKey& key) {
    const auto peer = by_peer_.find(key.source);
    if (peer == by_peer_.end()) return false;
    const auto wanted = peer->second.wanted.find(key);
    if (wanted == peer->second.wanted.end()) return false;
    if (--wanted->second == 0) peer->second.wanted.erase(wanted);
    return true;
}

}  // namespace rollcall::runtime
