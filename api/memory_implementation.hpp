/// \file
/// The implementation behind Memory.
#pragma once

#include <cstdint>
#include <memory>

#include <rollcall/memory.hpp>

#include "runtime/process.hpp"

namespace rollcall {

struct ROLLCALL_HIDDEN Memory::Implementation {
    /// Throws as Job::allocate().
    Implementation(std::shared_ptr<runtime::Process> its_process, std::uint64_t its_bytes);
    ~Implementation();
    Implementation(const Implementation&) = delete;
    Implementation& operator=(const Implementation&) = delete;

    std::shared_ptr<runtime::Process> process;
    std::uint64_t bytes;
    void* data;
};

}  // namespace rollcall
