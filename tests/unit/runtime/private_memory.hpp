/// \file
/// Node memory of this process alone, for tests in which all ranks are in one process.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>

#include <sys/mman.h>

#include "runtime/node/node_memory.hpp"

namespace rollcall::runtime::node {

class PrivateMemory {
  public:
    PrivateMemory(const Geometry& geometry, int ranks) : shared_{nullptr, geometry, ranks} {
        void* const memory = ::mmap(nullptr, shared_.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        EXPECT_NE(memory, MAP_FAILED);
        shared_.memory = static_cast<std::byte*>(memory);
    }
    ~PrivateMemory() { ::munmap(shared_.memory, shared_.bytes()); }
    PrivateMemory(const PrivateMemory&) = delete;
    PrivateMemory& operator=(const PrivateMemory&) = delete;
    const Shared& shared() const { return shared_; }

  private:
    Shared shared_;
};

}  // namespace rollcall::runtime::node
