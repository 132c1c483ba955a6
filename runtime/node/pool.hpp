/// \file
/// The blocks of this rank's region: which of them are free, and which publisher may take one.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/landing/landing.hpp"
#include "runtime/node/layout.hpp"

namespace rollcall::runtime::node {

inline constexpr std::uint32_t kNoBlock = ~std::uint32_t{0};

/// A publisher. While it has more to publish, two large blocks are reserved for it: one that its readers hold until they see the next
/// block, and that next block. So publications that go on at the same time never wait for each other.
struct Publisher {
    const Entry* entry = nullptr;
    std::uint64_t communicator = 0;
    std::uint64_t sequence = 0;  ///< Sequence number of the operation in its communicator.
    std::uint32_t held = 0;      ///< Large blocks that it has taken and that are not free again.
    bool has_place = false;      ///< enter() has let it in.
};

/// Blocks in use count in the landing budget. A block becomes free when its last reader has let go of it. Owner-only.
class Pool final : public Landing::Spare {
  public:
    /// `region` and `landing` must outlive the pool. `region` is this rank's own. `page_bytes` is the size of the kernel's pages.
    Pool(Region& region, Landing& landing, std::uint64_t page_bytes = page_bytes_of_kernel());
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    /// Lets in a publisher that will publish several large blocks. Returns false when there is no room now.
    bool enter(Publisher& publisher);
    /// The publisher publishes no more, or gives up. Frees what it has reserved.
    void leave(Publisher& publisher) noexcept;
    /// Takes a large block, for a publisher that was let in or for a publication of one block. Returns kNoBlock when there is none now.
    std::uint32_t take_large(Publisher& publisher);
    /// Takes a small block, or a large one where no small one is free, for a publication of one block.
    std::uint32_t take_small(Publisher& publisher);
    /// Returns a block that was taken and has not been published.
    void give_back(std::uint32_t block) noexcept;
    /// Publishes the block for `readers` readers. Returns its link.
    Link publish(std::uint32_t block, std::uint64_t size, std::uint32_t readers) noexcept;

    /// Whether an earlier operation of the same communicator holds blocks.
    bool holds_blocks_of_earlier(const Publisher& publisher) const noexcept;

    /// Takes back what was published in this entry. Its readers notice that when they let go.
    void withdraw(const Entry& entry) noexcept;

    // Landing::Spare: the pages of free blocks. A block that is smaller than a page keeps its memory, and does not count here.
    std::uint64_t spare() const noexcept override { return spare_bytes_; }
    void drop_spare(std::uint64_t bytes) noexcept override;
    void reclaim() noexcept override { collect_all(); }

  private:
    static std::uint64_t page_bytes_of_kernel();
    struct Class {
        std::vector<std::uint32_t> free;  ///< The block freed last is taken first, because it is in the cache.
        std::uint64_t bytes = 0;          ///< Size of one block.
        bool whole_pages = true;          ///< A block consists of whole pages, so that its memory can be given back.
    };
    struct Block {
        Publisher* publisher = nullptr;  ///< Set while the publisher publishes.
        const Entry* entry = nullptr;
        std::uint64_t communicator = 0;
        std::uint64_t sequence = 0;
        bool published = false;
        bool has_pages = false;
    };
    bool is_large(std::uint32_t block) const noexcept { return block >= region_.geometry().small_blocks; }
    Class& class_of(std::uint32_t block) noexcept { return is_large(block) ? large_ : small_; }
    std::uint32_t take(Class& blocks, Publisher& publisher, bool is_promised);
    std::uint32_t take_large_now(Publisher& publisher);
    bool has_been_read(std::uint32_t block) const noexcept;
    void collect() noexcept;
    bool collect_all() noexcept;  ///< Returns whether it has freed any.
    void free(std::uint32_t block) noexcept;
    bool may_take_large() const noexcept { return large_.free.size() > promised_; }

    Region& region_;
    Landing& landing_;
    Class small_, large_;
    std::vector<Block> blocks_;
    std::deque<std::uint32_t> busy_;  ///< The oldest first.
    std::uint32_t promised_ = 0;      ///< Large blocks reserved for publishers and not taken yet. They are free, and count in the budget.
    std::uint64_t spare_bytes_ = 0;
};

}  // namespace rollcall::runtime::node
