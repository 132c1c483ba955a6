/// \file
/// An intrusive hash table from keys to nodes. Nodes with equal keys are found in the order in which they were inserted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/messages/message.hpp"

namespace rollcall::runtime {

/// Finds nodes by the whole key. Node has the members `MatchKey key` and `Node* match_next`.
template <class Node>
struct ByMatchKey {
    using Key = MatchKey;
    static const Key& key(const Node& node) noexcept { return node.key; }
    static Node*& next(Node& node) noexcept { return node.match_next; }
};

/// `Access` gives the key of a node and the place of its link. If it also gives the place of a link to the node before (`previous`),
/// remove() looks at one node only, however many nodes have the same key. Owner-only. The table does not own its nodes.
template <class Node, class Access = ByMatchKey<Node>>
class MatchTable {
  public:
    using Key = typename Access::Key;

    std::size_t size() const noexcept { return count_; }
    /// How many nodes the table has looked at since it was made (modulo 2^32). Tests use it to check the cost of searches.
    std::uint32_t steps() const noexcept { return steps_; }

    /// The next insert() takes no memory then.
    void make_room() {
        if (count_ >= (many_.empty() ? kFew : 2 * many_.size())) grow();
    }
    void insert(Node& node) {
        make_room();
        Bucket& bucket = bucket_of(Access::key(node));
        append(bucket, node);
        ++count_;
    }

    /// Inserts the node as an older one than the first with its key for which `is_younger` holds.
    template <class Predicate>
    void insert_before(Node& node, Predicate is_younger) {
        static_assert(!kLinksBack, "no table with links back needs this");
        make_room();
        Bucket& bucket = bucket_of(Access::key(node));
        Node* previous = nullptr;
        Node* following = bucket.head;
        const auto is_it = [&] { return Access::key(*following) == Access::key(node) && is_younger(*following); };
        for (; following && (++steps_, !is_it()); following = next(*following)) previous = following;
        next(node) = following;
        (previous ? next(*previous) : bucket.head) = &node;
        if (!following) bucket.tail = &node;
        ++count_;
    }

    /// The oldest node with this key, or null. The node stays in the table.
    Node* find(const Key& key) const noexcept {
        if (count_ == 0) return nullptr;
        for (Node* node = bucket_of(key).head; node; node = next(*node))
            if (++steps_; Access::key(*node) == key) return node;
        return nullptr;
    }

    /// Calls `visit` with each node that has this key, oldest first. `visit` may remove that node.
    template <class F>
    void for_each_of(const Key& key, F&& visit) {
        if (count_ == 0) return;
        for (Node* node = bucket_of(key).head; node;) {
            Node* following = next(*node);
            if (++steps_; Access::key(*node) == key) visit(*node);
            node = following;
        }
    }

    /// The oldest node with this key for which `predicate` holds, or null. The node stays in the table.
    template <class Predicate>
    Node* find_if(const Key& key, Predicate predicate) const {
        if (count_ == 0) return nullptr;
        for (Node* node = bucket_of(key).head; node; node = next(*node))
            if (++steps_; Access::key(*node) == key && predicate(*node)) return node;
        return nullptr;
    }

    /// Removes the oldest node with this key and returns it, or returns null.
    Node* take(const Key& key) noexcept {
        if (count_ == 0) return nullptr;
        Bucket& bucket = bucket_of(key);
        Node* previous = nullptr;
        for (Node* node = bucket.head; node; previous = node, node = next(*node))
            if (++steps_; Access::key(*node) == key) return unlink(bucket, previous, node);
        return nullptr;
    }

    /// Removes this very node. Returns whether it was in the table.
    bool remove(Node& wanted) noexcept {
        if (count_ == 0) return false;
        Bucket& bucket = bucket_of(Access::key(wanted));
        if constexpr (kLinksBack) {
            ++steps_;
            if (bucket.head != &wanted && !Access::previous(wanted)) return false;
            return unlink(bucket, Access::previous(wanted), &wanted) != nullptr;
        }
        Node* previous = nullptr;
        for (Node* node = bucket.head; node; previous = node, node = next(*node))
            if (++steps_; node == &wanted) return unlink(bucket, previous, node) != nullptr;
        return false;
    }

    template <class F>
    void for_each(F&& visit) const {
        for (const Bucket& bucket : buckets())
            for (Node* node = bucket.head; node;) {
                ++steps_;
                Node* following = next(*node);
                visit(*node);
                node = following;
            }
    }

  private:
    static constexpr bool kLinksBack = requires(Node & node) { Access::previous(node); };
    static Node*& next(Node& node) noexcept { return Access::next(node); }

    struct Bucket {
        Node* head = nullptr;
        Node* tail = nullptr;
    };

    /// A small table is one list, so that no hash is computed and no other memory is read.
    Bucket& bucket_of(const Key& key) noexcept { return many_.empty() ? few_ : many_[key.hash() & (many_.size() - 1)]; }
    const Bucket& bucket_of(const Key& key) const noexcept { return const_cast<MatchTable*>(this)->bucket_of(key); }
    std::span<const Bucket> buckets() const noexcept { return many_.empty() ? std::span(&few_, 1) : std::span(many_); }

    static void append(Bucket& bucket, Node& node) noexcept {
        next(node) = nullptr;
        if constexpr (kLinksBack) Access::previous(node) = bucket.tail;
        (bucket.tail ? next(*bucket.tail) : bucket.head) = &node;
        bucket.tail = &node;
    }

    Node* unlink(Bucket& bucket, Node* previous, Node* node) noexcept {
        (previous ? next(*previous) : bucket.head) = next(*node);
        if (bucket.tail == node) bucket.tail = previous;
        if constexpr (kLinksBack) {
            if (next(*node)) Access::previous(*next(*node)) = previous;
            Access::previous(*node) = nullptr;
        }
        next(*node) = nullptr;
        --count_;
        return node;
    }

    void grow() {
        const std::vector<Bucket> old(buckets().begin(), buckets().end());
        many_.assign(4 * std::max(kFew / 2, old.size()), Bucket());
        for (const Bucket& bucket : old)
            for (Node* node = bucket.head; node;) {
                Node* following = next(*node);
                append(bucket_of(Access::key(*node)), *node);
                node = following;
            }
    }

    static constexpr std::size_t kFew = 8;
    std::uint32_t count_ = 0;
    mutable std::uint32_t steps_ = 0;
    Bucket few_;
    std::vector<Bucket> many_;
};

}  // namespace rollcall::runtime
