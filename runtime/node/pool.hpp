/// \file
/// The blocks of this rank's region: which are free, and who may take one.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/landing/landing.hpp"
#include "runtime/node/layout.hpp"

namespace rollcall::runtime::node {

inline constexpr std::uint32_t kNoBlock = ~std::uint32_t{0};

/// Who publishes. While it has more to come, two large blocks are its own at any time: one that its readers hold until they see the
/// next, and that next one. So publications that go on at the same time never wait for each other.
struct Publisher {
    const Entry* entry = nullptr;
    std::uint64_t communicator = 0;
    std::uint64_t sequence = 0;  ///< Of the operation, in its communicator.
    std::uint32_t held = 0;      ///< Large blocks that it has taken and that are not free again.
    bool has_place = false;      ///< It was let in.
};

/// The blocks in use count in the landing budget. A block is used again when its last reader has let go of it. Owner-only.
class Pool final : public Landing::Spare {
  public:
    /// Both must outlive this. The region is this rank's own.
    Pool(Region& region, Landing& landing);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    /// Lets a publisher in that will publish several large blocks. False: there is no room now.
    bool enter(Publisher& publisher);
    /// It publishes no more, or has not got far.
    void leave(Publisher& publisher) noexcept;
    /// A large block for a publisher that was let in, or a block for a publication of one block. kNoBlock: there is none now.
    std::uint32_t take_large(Publisher& publisher);
    /// A small block, or a large one where there is none, for a publication of one block.
    std::uint32_t take_small(Publisher& publisher);
    /// A block that was taken and has not been published.
    void give_back(std::uint32_t block) noexcept;
    /// From now on `readers` readers have the block. Gives its link.
    Link publish(std::uint32_t block, std::uint64_t size, std::uint32_t readers) noexcept;

    /// Whether an operation of this communicator before this one holds blocks.
    bool holds_blocks_of_earlier(const Publisher& publisher) const noexcept;

    /// Takes back what was published in this entry: its readers find out when they let go.
    void withdraw(const Entry& entry) noexcept;

    // Landing::Spare: pages of blocks that are free.
    std::uint64_t spare() const noexcept override { return spare_bytes_; }
    void drop_spare(std::uint64_t bytes) noexcept override;

    std::uint32_t free_large() const noexcept { return static_cast<std::uint32_t>(large_.free.size()); }
    std::uint64_t blocks_in_use() const noexcept { return busy_.size(); }

  private:
    struct Class {
        std::vector<std::uint32_t> free;  ///< The last one freed is taken first: it is in the cache.
        std::uint64_t bytes = 0;          ///< Of one block.
    };
    struct Block {
        Publisher* publisher = nullptr;  ///< While it publishes.
        const Entry* entry = nullptr;
        std::uint64_t communicator = 0;
        std::uint64_t sequence = 0;
        bool published = false;
        bool has_pages = false;
    };
    bool is_large(std::uint32_t block) const noexcept { return block >= region_.geometry().small_blocks; }
    Class& class_of(std::uint32_t block) noexcept { return is_large(block) ? large_ : small_; }
    std::uint32_t take(Class& blocks, Publisher& publisher, bool is_promised);
    void collect() noexcept;
    void free(std::uint32_t block) noexcept;
    bool may_take_large() const noexcept { return large_.free.size() > promised_; }

    Region& region_;
    Landing& landing_;
    Class small_, large_;
    std::vector<Block> blocks_;
    std::deque<std::uint32_t> busy_;  ///< The oldest first.
    std::uint32_t promised_ = 0;  ///< Large blocks that publishers who were let in have not taken. They are free, and count in the budget.
    std::uint64_t spare_bytes_ = 0;
};

}  // namespace rollcall::runtime::node
