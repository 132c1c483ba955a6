#include "bootstrap/gathered.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include <fmt/format.h>

#include <rollcall/error.hpp>

#include "bootstrap/frames.hpp"
#include "bootstrap/passing.hpp"
#include "foundation/error_text.hpp"

namespace rollcall::bootstrap {
namespace {

/// Returns memory that holds the body of a frame and that no process can change any more. Returns an empty descriptor if there is no
/// memory.
Descriptor sealed_memory(std::span<const std::byte> body) {
    Descriptor memory(::memfd_create("rollcall-gathered", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!memory) return memory;
    for (std::size_t written = 0; written < body.size();) {
        const ssize_t count = ::write(memory.get(), body.data() + written, body.size() - written);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return Descriptor();
        written += static_cast<std::size_t>(count);
    }
    if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) return Descriptor();
    return memory;
}

}  // namespace

Gathered::Gathered(std::vector<std::byte> body, int size) {
    const auto kept = std::make_shared<const std::vector<std::byte>>(std::move(body));
    bytes_ = *kept;
    storage_ = kept;
    read(size);
}

Gathered::Gathered(Descriptor file, std::size_t bytes, int size) {
    struct stat status {};
    if (::fstat(file.get(), &status) != 0 || static_cast<std::size_t>(status.st_size) < bytes) {
        throw Error(ErrorCode::bootstrap, fmt::format("the answer to an exchange has {} bytes of {}", status.st_size, bytes));
    }
    // The mapping is private. The memory is sealed against writing, and a shared mapping of it would be refused.
    void* const at = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (at == MAP_FAILED) {
        throw Error(ErrorCode::bootstrap,
                    fmt::format("the answer to an exchange cannot be mapped ({} bytes): {}", bytes, error_text(errno)));
    }
    storage_ = std::shared_ptr<const void>(at, [bytes](const void* mapped) { ::munmap(const_cast<void*>(mapped), bytes); });
    bytes_ = std::span(static_cast<const std::byte*>(at), bytes);
    read(size);
}

Gathered::Gathered(std::span<const std::byte> only)
    : Gathered(
          [&] {
              Blob frame = FrameWriter(FrameType::gathered).u64(0).u32(1).blob(only).finish();
              frame.erase(frame.begin(), frame.begin() + kHeaderBytes);
              return frame;
          }(),
          1) {}

void Gathered::read(int size) {
    FrameReader reader(bytes_);
    reader.u64();
    if (reader.u32() != static_cast<std::uint32_t>(size))
        throw Error(ErrorCode::bootstrap, "an exchange was answered for another number of ranks");
    begins_.reserve(static_cast<std::size_t>(size));
    std::size_t begin = sizeof(std::uint64_t) + sizeof(std::uint32_t);
    for (int rank = 0; rank < size; ++rank) {
        begins_.push_back(static_cast<std::uint32_t>(begin));
        begin += sizeof(std::uint32_t) + reader.blob().size();
    }
    reader.end();
}

std::span<const std::byte> Gathered::operator[](std::size_t rank) const { return FrameReader(bytes_.subspan(begins_.at(rank))).blob(); }

bool hand_out(int socket, const std::shared_ptr<const Blob>& frame) {
    if (frame->size() < kSharedAnswer) return false;
    if (type_of(*frame) != FrameType::gathered) return false;
    // All ranks of a node get the same frame, one after the other. So the memory is kept for the next rank.
    thread_local struct {
        std::weak_ptr<const Blob> frame;
        Descriptor memory;
    } last;
    const auto body = std::span(*frame).subspan(kHeaderBytes);
    if (last.frame.lock() != frame) {
        last.memory = sealed_memory(body);
        last.frame = frame;
    }
    if (!last.memory) return false;

    const Blob told = FrameWriter(FrameType::gathered_memory).u64(FrameReader(body).u64()).u64(body.size()).finish();
    return send_with_descriptor(socket, told, last.memory.get());
}

}  // namespace rollcall::bootstrap
