#include "runtime/node/buffers.hpp"

#include <cerrno>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "foundation/kernel.hpp"
#include "runtime/node/process_file.hpp"

namespace rollcall::runtime::node {
namespace {

std::uint64_t whole_pages(std::uint64_t bytes) noexcept {
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

}  // namespace

bool Buffers::extend_file(std::uint64_t bytes) noexcept {
    if (end_ + bytes > longest_file()) {
        errno = EFBIG;
        return false;
    }
    if (!file_) file_.reset(::memfd_create("rollcall-buffers", MFD_CLOEXEC));
    return file_ && ::ftruncate(file_.get(), static_cast<off_t>(end_ + bytes)) == 0;
}

void* Buffers::allocate(std::uint64_t bytes) noexcept {
    const std::uint64_t length = whole_pages(bytes);
    if (length < bytes || end_ + length < end_ || end_ + length > static_cast<std::uint64_t>(INT64_MAX)) {
        errno = ENOMEM;
        return nullptr;
    }
    if (!extend_file(length)) return nullptr;
    void* const memory = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), static_cast<off_t>(end_));
    if (memory == MAP_FAILED) return nullptr;
    try {
        buffers_.emplace(static_cast<const std::byte*>(memory), Buffer{end_, length});
    } catch (const std::bad_alloc&) {
        ::munmap(memory, length);
        errno = ENOMEM;
        return nullptr;
    }
    end_ += length;
    return memory;
}

void Buffers::release(void* memory, std::uint64_t) noexcept {
    const auto found = buffers_.find(static_cast<const std::byte*>(memory));
    if (found == buffers_.end()) return;
    const Buffer& buffer = found->second;
    ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(buffer.begin),
                static_cast<off_t>(buffer.length));
    ::munmap(memory, buffer.length);
    buffers_.erase(found);
}

std::optional<Reference> Buffers::find(transport::ConstBytes data) const {
    const auto* const address = static_cast<const std::byte*>(data.data);
    auto after = buffers_.upper_bound(address);
    if (!address || after == buffers_.begin()) return std::nullopt;
    const auto& [memory, buffer] = *--after;
    const auto at = static_cast<std::uint64_t>(address - memory);
    if (at > buffer.length || data.size > buffer.length - at) return std::nullopt;
    return Reference{buffer.begin, buffer.length, at, ::getpid(), file_.get()};
}

bool Mappings::Mapping::map(int file, const Reference& reference) {
    void* const memory = ::mmap(nullptr, reference.length, PROT_READ, MAP_SHARED, file, static_cast<off_t>(reference.begin));
    if (memory == MAP_FAILED) return false;
    memory_ = static_cast<std::byte*>(memory);
    length_ = reference.length;
    return true;
}

Mappings::Mapping::~Mapping() {
    if (memory_) ::munmap(memory_, length_);
}

std::shared_ptr<const Mappings::Mapping> Mappings::map(const Reference& reference) {
    const Place key(reference.process, reference.file, reference.begin);
    if (const auto found = mappings_.find(key); found != mappings_.end()) return found->second;
    Descriptor file(open_file_of(reference.process, reference.file, O_RDONLY));
    if (!file) return nullptr;
    auto mapping = std::make_shared<Mapping>();
    const bool is_mapped = mapping->map(file.get(), reference);
    const int reason = errno;
    file.reset();  // may change errno
    errno = reason;
    if (!is_mapped) return nullptr;
    if (mappings_.size() >= kMostKept) forget();
    return mappings_[key] = std::move(mapping);
}

}  // namespace rollcall::runtime::node
