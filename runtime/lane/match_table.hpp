/// \file
/// An intrusive hash table from MatchKey to nodes, first in first out among equal keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "runtime/lane/message.hpp"

namespace rollcall::runtime {

/// Node must have members `MatchKey key` and `Node* match_next`. Owner-only. Nodes are not owned.
template <class Node>
class MatchTable {
  public:
    std::size_t size() const noexcept { return count_; }

    void insert(Node& node) {
        if (count_ >= (many_.empty() ? kFew : 2 * many_.size())) grow();
        Bucket& bucket = bucket_of(node.key);
        append(bucket, node);
        ++count_;
    }

    /// The oldest node with this key, or null; it stays in the table.
    Node* find(const MatchKey& key) const noexcept {
        if (count_ == 0) return nullptr;
        for (Node* node = bucket_of(key).head; node; node = node->match_next)
            if (node->key == key) return node;
        return nullptr;
    }

    /// The oldest node with this key for which `predicate` holds, or null; it stays in the table.
    template <class Predicate>
    Node* find_if(const MatchKey& key, Predicate predicate) const {
        if (count_ == 0) return nullptr;
        for (Node* node = bucket_of(key).head; node; node = node->match_next)
            if (node->key == key && predicate(*node)) return node;
        return nullptr;
    }

    /// The oldest node with this key, or null; it leaves the table.
    Node* take(const MatchKey& key) noexcept {
        if (count_ == 0) return nullptr;
        Bucket& bucket = bucket_of(key);
        Node* previous = nullptr;
        for (Node* node = bucket.head; node; previous = node, node = node->match_next)
            if (node->key == key) return unlink(bucket, previous, node);
        return nullptr;
    }

    /// Removes this very node if it is there.
    bool remove(Node& wanted) noexcept {
        if (count_ == 0) return false;
        Bucket& bucket = bucket_of(wanted.key);
        Node* previous = nullptr;
        for (Node* node = bucket.head; node; previous = node, node = node->match_next)
            if (node == &wanted) return unlink(bucket, previous, node) != nullptr;
        return false;
    }

    template <class F>
    void for_each(F&& visit) const {
        for (const Bucket& bucket : buckets())
            for (Node* node = bucket.head; node;) {
                Node* next = node->match_next;
                visit(*node);
                node = next;
            }
    }

  private:
    struct Bucket {
        Node* head = nullptr;
        Node* tail = nullptr;
    };

    /// While there are few they stand in one list: no hash is computed, and no other memory looked at.
    Bucket& bucket_of(const MatchKey& key) noexcept { return many_.empty() ? few_ : many_[key.hash() & (many_.size() - 1)]; }
    const Bucket& bucket_of(const MatchKey& key) const noexcept { return const_cast<MatchTable*>(this)->bucket_of(key); }
    std::span<const Bucket> buckets() const noexcept { return many_.empty() ? std::span(&few_, 1) : std::span(many_); }

    static void append(Bucket& bucket, Node& node) noexcept {
        node.match_next = nullptr;
        (bucket.tail ? bucket.tail->match_next : bucket.head) = &node;
        bucket.tail = &node;
    }

    Node* unlink(Bucket& bucket, Node* previous, Node* node) noexcept {
        (previous ? previous->match_next : bucket.head) = node->match_next;
        if (bucket.tail == node) bucket.tail = previous;
        node->match_next = nullptr;
        --count_;
        return node;
    }

    void grow() {
        const std::vector<Bucket> old(buckets().begin(), buckets().end());
        many_.assign(4 * std::max(kFew / 2, old.size()), Bucket());
        for (const Bucket& bucket : old)
            for (Node* node = bucket.head; node;) {
                Node* next = node->match_next;
                append(bucket_of(node->key), *node);
                node = next;
            }
    }

    static constexpr std::size_t kFew = 8;
    std::size_t count_ = 0;
    Bucket few_;
    std::vector<Bucket> many_;
};

}  // namespace rollcall::runtime
