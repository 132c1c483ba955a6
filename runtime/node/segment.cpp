#include "runtime/node/segment.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "foundation/error_text.hpp"
#include "foundation/kernel.hpp"
#include "runtime/node/process_file.hpp"

namespace rollcall::runtime::node {
namespace {

// The largest size of the large blocks in a region, in bytes. Landing budgets are larger where much data comes early, but a rank publishes
// less at a time.
constexpr std::uint64_t kMostPublished = std::uint64_t{64} << 20;
constexpr std::uint64_t kFewestBlocks = 4;
constexpr std::uint32_t kSmallBlocks = 1024;

// Large blocks are written and read from end to end, so huge pages save faults there if the system leaves the choice to programs
// (shmem_enabled=advise). Where it does not, the advice changes nothing. The words and small blocks of a region are few and far between:
// huge pages would only take memory for them.
void advise_huge_pages(const Shared& shared) {
    const Geometry& geometry = shared.geometry;
    for (int rank = 0; rank < shared.ranks; ++rank)
        ::madvise(shared.memory + shared.head_bytes() + static_cast<std::size_t>(rank) * geometry.bytes() + geometry.large_at(),
                  geometry.bytes() - geometry.large_at(), MADV_HUGEPAGE);
}

/// Whether both descriptors are of one file.
bool are_one_file(int one, int other) {
    struct stat first {
    }, second{};
    return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

}  // namespace

std::uint32_t large_blocks_for(std::uint64_t landing_bytes) {
    const std::uint64_t blocks = std::min<std::uint64_t>(landing_bytes, kMostPublished) / kLargeBytes;
    return blocks < kFewestBlocks ? 0 : static_cast<std::uint32_t>(blocks);
}

Geometry geometry_of(std::span<const Handle> handles) {
    Geometry geometry{0, kSmallBlocks, std::numeric_limits<std::uint32_t>::max()};
    for (const Handle& handle : handles) {
        geometry.slots = std::max(geometry.slots, handle.slots);
        geometry.large_blocks = std::min(geometry.large_blocks, handle.large_blocks);
    }
    return geometry;
}

std::uint64_t file_bytes(std::span<const Handle> handles) {
    return Shared{nullptr, geometry_of(handles), static_cast<int>(handles.size())}.bytes();
}

std::vector<TooLong> leave_out_too_long(std::span<Handle> handles) {
    std::vector<std::vector<std::size_t>> nodes;  // The ranks of each.
    std::unordered_map<std::uint64_t, std::size_t> number_of;
    for (std::size_t rank = 0; rank < handles.size(); ++rank) {
        if (handles[rank].domain == 0) continue;
        const auto [found, is_new] = number_of.try_emplace(handles[rank].domain, nodes.size());
        if (is_new) nodes.emplace_back();
        nodes[found->second].push_back(rank);
    }
    std::vector<TooLong> left_out;
    for (const std::vector<std::size_t>& ranks : nodes) {
        if (ranks.size() < 2) continue;
        std::vector<Handle> members;
        for (const std::size_t rank : ranks) members.push_back(handles[rank]);
        const auto lowest = std::ranges::min_element(members, {}, &Handle::longest_file);
        const std::uint64_t bytes = file_bytes(members);
        if (bytes <= lowest->longest_file) continue;
        const std::size_t limited = ranks[static_cast<std::size_t>(lowest - members.begin())];
        left_out.push_back({bytes, lowest->longest_file, static_cast<int>(ranks.size()), static_cast<int>(limited)});
        for (const std::size_t rank : ranks) handles[rank].domain = 0;
    }
    return left_out;
}

Segment::Segment(std::uint64_t slots, std::uint64_t landing_bytes, std::uint64_t part) : why_not_(make_file(slots, landing_bytes, part)) {
    if (!why_not_.empty()) close();
}

std::string Segment::make_file(std::uint64_t slots, std::uint64_t landing_bytes, std::uint64_t part) {
    const std::uint32_t large_blocks = large_blocks_for(landing_bytes);
    if (large_blocks == 0) return "the landing budget (ROLLCALL_LANDING_BYTES) has no room for it";
    file_.reset(::memfd_create("rollcall-node", MFD_CLOEXEC));
    if (!file_) return fmt::format("memfd_create: {}", error_text(errno));
    handle_ = {node_identity(), ::getpid(), file_.get(), slots, large_blocks, longest_file()};
    if (handle_.domain == 0) return "/proc does not say which kernel and namespaces this process belongs to";
    if (part > 0) handle_.domain = key_of(handle_.domain, part);
    if (::prctl(PR_GET_DUMPABLE) != 1) return "other processes may not look into this one (it is not dumpable)";
    // Try to open it in the way the other ranks will.
    const Descriptor again(open_file_of(handle_.process, handle_.file, O_RDWR));
    if (!again) return fmt::format("/proc/{}/fd/{} cannot be opened: {}", handle_.process, handle_.file, error_text(errno));
    return are_one_file(file_.get(), again.get()) ? "" : "/proc is of another PID namespace";
}

Segment::~Segment() {
    if (shared_.memory) ::munmap(shared_.memory, shared_.bytes());
}

void Segment::close() noexcept {
    file_.reset();
    handle_ = {};
}

Shared Segment::map(Handle owner, int rank_of_owner, const std::string& name_of_owner, const Geometry& geometry, int ranks) {
    const Handle own = std::exchange(handle_, {});
    const bool is_owner = own.process == owner.process && own.file == owner.file;  // several ranks may be threads of one process
    const auto fail = [&](const char* what) -> Error {
        if (errno == ENOENT)
            return Error(ErrorCode::peer_failed,
                         fmt::format("the memory that the ranks of this node share cannot be {}, because {}, which "
                                     "created it, has ended; its own output may say why",
                                     what, name_of_owner),
                         rank_of_owner);
        return Error(ErrorCode::bootstrap, fmt::format("the memory that the ranks of this node share, created by {}, cannot be {}: {}. Set "
                                                       "ROLLCALL_NODE_MEMORY=no to do without it",
                                                       name_of_owner, what, error_text(errno)));
    };
    if (!is_owner) {
        close();
        file_.reset(open_file_of(owner.process, owner.file, O_RDWR));
        if (!file_) throw fail("opened");
    }
    shared_ = {nullptr, geometry, ranks};
    // Any rank may be the first one to get here, so each of them sets the size. A size above its limit would end it by SIGXFSZ: see
    // leave_out_too_long().
    if (::ftruncate(file_.get(), static_cast<off_t>(shared_.bytes())) != 0) throw fail("brought to its full size");
    void* const memory = ::mmap(nullptr, shared_.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
    if (memory == MAP_FAILED) throw fail("mapped");
    shared_.memory = static_cast<std::byte*>(memory);
    advise_huge_pages(shared_);
    if (!is_owner) close();  // the other ranks open the owner's file, not this one
    return shared_;
}

}  // namespace rollcall::runtime::node
