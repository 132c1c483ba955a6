/// \file
/// Memory that a program takes from the runtime (Job::allocate()), and that the other ranks of its node can read where it stands.
///
/// A process has one memory file (memfd_create) for all of its buffers. Each buffer has its own place in the file, and no place is used
/// twice. So a reader may keep a mapping for as long as it likes: the mapping never shows another buffer. When a buffer is released, its
/// pages go back to the system, even if other processes still map them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "foundation/descriptor.hpp"
#include "transports/memory.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime::node {

/// Tells a reader of the same node where data stands in another process: in one of its buffers, which the reader maps, or elsewhere in its
/// memory, from where the reader copies it by a system call.
struct Reference {
    std::uint64_t begin, length;  ///< The place of the buffer in the file. Whole pages.
    std::uint64_t at;             ///< The place of the data in the buffer. Without a buffer: its address in the process.
    std::int32_t process, file;   ///< The process, and the number of the file there. Without a buffer: kNoFile.
    bool is_offer = false;        ///< The publisher may replace the reference by a copy until the reader takes it (take()).

    static constexpr std::int32_t kNoFile = -1;
    bool is_private() const noexcept { return file == kNoFile; }
};

/// The buffers of this process. Owner-only.
class Buffers final : public transport::Memory {
  public:
    /// Returns null when there is no memory, or no file can be made; errno says why: EFBIG if the file would be longer than this process
    /// may make it. The memory is zero.
    void* allocate(std::uint64_t bytes) noexcept override;
    void release(void* memory, std::uint64_t bytes) noexcept override;

    /// Returns nothing if the data is not in one of the buffers.
    std::optional<Reference> find(transport::ConstBytes data) const;

  private:
    struct Buffer {
        std::uint64_t begin, length;
    };
    bool extend_file(std::uint64_t bytes) noexcept;

    Descriptor file_;
    std::uint64_t end_ = 0;                       ///< The end of the file.
    std::map<const std::byte*, Buffer> buffers_;  ///< By address.
};

/// The buffers of other processes that this process has mapped for reading. Owner-only.
class Mappings {
  public:
    class Mapping {
      public:
        Mapping() = default;
        ~Mapping();
        Mapping(const Mapping&) = delete;
        Mapping& operator=(const Mapping&) = delete;
        /// Returns whether it was possible; otherwise errno says why not.
        bool map(int file, const Reference& reference);
        const std::byte* memory() const noexcept { return memory_; }

      private:
        std::byte* memory_ = nullptr;
        std::uint64_t length_ = 0;
    };

    /// Maps the buffer. The mapping stays as long as it is held, and is kept for the next time. Returns null if that is not possible;
    /// errno says why.
    std::shared_ptr<const Mapping> map(const Reference& reference);
    /// Keeps no mapping any more.
    void forget() noexcept { mappings_.clear(); }

  private:
    /// A mapping costs a few hundred bytes of the kernel's memory. When so many are kept, all are forgotten.
    static constexpr std::size_t kMostKept = 4096;
    using Place = std::tuple<std::int32_t, std::int32_t, std::uint64_t>;  ///< Process, file, and place in the file.
    std::map<Place, std::shared_ptr<const Mapping>> mappings_;
};

}  // namespace rollcall::runtime::node
