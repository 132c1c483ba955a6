#include <utility>

#include "api/memory_implementation.hpp"

namespace rollcall {

Memory::Implementation::Implementation(std::shared_ptr<runtime::Process> its_process, std::uint64_t its_bytes)
    : process(std::move(its_process)), bytes(its_bytes), data(process->allocate(its_bytes)) {}

Memory::Implementation::~Implementation() {
    if (!process->forked()) process->release(data, bytes);
}

Memory::Memory() noexcept = default;
Memory::Memory(std::unique_ptr<Implementation> implementation) noexcept : implementation_(std::move(implementation)) {}
Memory::~Memory() = default;
Memory::Memory(Memory&&) noexcept = default;
Memory& Memory::operator=(Memory&&) noexcept = default;

void* Memory::data() const noexcept { return implementation_ ? implementation_->data : nullptr; }
std::uint64_t Memory::size() const noexcept { return implementation_ ? implementation_->bytes : 0; }

}  // namespace rollcall
