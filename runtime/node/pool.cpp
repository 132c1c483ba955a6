#include "runtime/node/pool.hpp"

#include <algorithm>

#include <sys/mman.h>
#include <unistd.h>

namespace rollcall::runtime::node {
namespace {

// The number of large blocks reserved for a publisher that has more to publish.
constexpr std::uint32_t kOwn = 2;

}  // namespace

std::uint64_t Pool::page_bytes_of_kernel() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

Pool::Pool(Region& region, Landing& landing, std::uint64_t page_bytes) : region_(region), landing_(landing) {
    const Geometry& geometry = region.geometry();
    small_.bytes = kSmallBytes;
    large_.bytes = kLargeBytes;
    // Pages have 16 or 64 KiB on some ARM and POWER machines.
    for (Class* blocks : {&small_, &large_}) blocks->whole_pages = blocks->bytes % page_bytes == 0;
    blocks_.resize(geometry.blocks());
    for (std::uint32_t block = geometry.blocks(); block-- > 0;) class_of(block).free.push_back(block);
    landing_.share_budget_with(this);
}

Pool::~Pool() { landing_.share_budget_with(nullptr); }

bool Pool::enter(Publisher& publisher) {
    collect();
    const auto reserves = [&] { return large_.free.size() >= promised_ + kOwn && landing_.reserve(kOwn * kLargeBytes); };
    if (!reserves() && !(collect_all() && reserves())) return false;
    promised_ += kOwn;
    publisher.held = 0;
    publisher.has_place = true;
    return true;
}

void Pool::leave(Publisher& publisher) noexcept {
    if (publisher.has_place && publisher.held < kOwn) {
        promised_ -= kOwn - publisher.held;
        landing_.unreserve((kOwn - publisher.held) * kLargeBytes);
    }
    publisher.has_place = false;
    if (publisher.held == 0) return;
    for (const std::uint32_t block : busy_)
        if (blocks_[block].publisher == &publisher) blocks_[block].publisher = nullptr;
}

std::uint32_t Pool::take(Class& blocks, Publisher& publisher, bool is_promised) {
    const std::uint32_t block = blocks.free.back();
    busy_.push_back(block);  // first, because there may be no memory for it
    if (!is_promised && !landing_.reserve(blocks.bytes)) {
        busy_.pop_back();
        return kNoBlock;
    }
    blocks.free.pop_back();
    Block& record = blocks_[block];
    record = {
        publisher.has_place ? &publisher : nullptr, publisher.entry, publisher.communicator, publisher.sequence, false, record.has_pages};
    if (record.has_pages) spare_bytes_ -= blocks.bytes;
    record.has_pages = blocks.whole_pages;
    return block;
}

std::uint32_t Pool::take_large(Publisher& publisher) {
    collect();
    const std::uint32_t block = take_large_now(publisher);
    return block == kNoBlock && collect_all() ? take_large_now(publisher) : block;
}

std::uint32_t Pool::take_large_now(Publisher& publisher) {
    const bool promised = publisher.has_place && publisher.held < kOwn;
    if (!promised && !may_take_large()) return kNoBlock;
    const std::uint32_t block = take(large_, publisher, promised);
    if (block == kNoBlock) return block;
    if (promised) --promised_;
    if (publisher.has_place) ++publisher.held;
    return block;
}

std::uint32_t Pool::take_small(Publisher& publisher) {
    collect();
    if (small_.free.empty()) return take_large(publisher);
    const std::uint32_t block = take(small_, publisher, false);
    return block == kNoBlock && collect_all() ? take(small_, publisher, false) : block;
}

void Pool::give_back(std::uint32_t block) noexcept {
    busy_.erase(std::find(busy_.rbegin(), busy_.rend(), block).base() - 1);
    free(block);
}

Link Pool::publish(std::uint32_t block, std::uint64_t size, std::uint32_t readers) noexcept {
    BlockHead& head = region_.head(block);
    const std::uint32_t generation = generation_of(head.state.load(std::memory_order_relaxed)) + 1;
    head.next.store(0, std::memory_order_relaxed);
    head.size = size;
    head.state.store(state_of(generation, readers), std::memory_order_relaxed);
    blocks_[block].published = true;
    return link_to(block, generation);
}

bool Pool::holds_blocks_of_earlier(const Publisher& publisher) const noexcept {
    return std::any_of(busy_.begin(), busy_.end(), [&](std::uint32_t block) {
        return blocks_[block].communicator == publisher.communicator && blocks_[block].sequence < publisher.sequence;
    });
}

void Pool::withdraw(const Entry& entry) noexcept {
    for (const std::uint32_t block : busy_) {
        if (blocks_[block].entry != &entry || !blocks_[block].published) continue;
        std::atomic<State>& state = region_.head(block).state;
        // A reader that lets go at the same time does so before this store, or not at all.
        state.store(state_of(generation_of(state.load(std::memory_order_relaxed)) + 1, 0), std::memory_order_seq_cst);
    }
}

void Pool::free(std::uint32_t block) noexcept {
    Class& blocks = class_of(block);
    Block& record = blocks_[block];
    bool keep_promise = false;
    if (record.publisher) {
        keep_promise = record.publisher->held <= kOwn;
        --record.publisher->held;
    }
    if (keep_promise)
        ++promised_;
    else
        landing_.unreserve(blocks.bytes);
    record = {nullptr, nullptr, 0, 0, false, blocks.whole_pages};
    blocks.free.push_back(block);
    if (record.has_pages) spare_bytes_ += blocks.bytes;
    if (landing_.over_budget() > 0) drop_spare(landing_.over_budget());
}

bool Pool::has_been_read(std::uint32_t block) const noexcept {
    return blocks_[block].published && readers_of(region_.head(block).state.load(std::memory_order_acquire)) == 0;
}

// Frees the blocks of which all readers have let go. Usually these were published first. Where one reader is late, the pool looks at the
// blocks of other publications only when no block is free, or no budget is left for one (collect_all()).
void Pool::collect() noexcept {
    for (; !busy_.empty() && has_been_read(busy_.front()); busy_.pop_front()) free(busy_.front());
    if (!may_take_large() || small_.free.empty()) collect_all();
}

bool Pool::collect_all() noexcept {
    const auto frees = [&](std::uint32_t block) {
        if (!has_been_read(block)) return false;
        free(block);
        return true;
    };
    return std::erase_if(busy_, frees) > 0;
}

void Pool::drop_spare(std::uint64_t bytes) noexcept {
    // The blocks that have been unused for longest come first.
    for (Class* blocks : {&large_, &small_})
        for (const std::uint32_t block : blocks->free) {
            if (bytes == 0) return;
            if (!blocks_[block].has_pages) continue;
            if (::madvise(region_.data(block), blocks->bytes, MADV_REMOVE) != 0) return;  // then the next ones stay, too
            blocks_[block].has_pages = false;
            spare_bytes_ -= blocks->bytes;
            bytes -= std::min(bytes, blocks->bytes);
        }
}

}  // namespace rollcall::runtime::node
