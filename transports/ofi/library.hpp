/// \file
/// The functions of libfabric. The library is loaded when they are first used, not with the program. The reason is that Debian's build of
/// libfabric also loads the libraries of some providers (psm, psm2), which replace the program's signal handlers when they are loaded.
#pragma once

#include <cstddef>
#include <mutex>

#include <rdma/fabric.h>

namespace rollcall::transport::ofi {

/// Sets a variable of the environment while this lives, unless the user has set it. Some settings of libfabric can be given in no other
/// way. Only one thread has some at a time: others wait.
class Variable {
  public:
    Variable(const char* name, std::size_t value);
    ~Variable();
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    std::lock_guard<std::recursive_mutex> lock_;
    const char* name_;
    bool was_set_ = false;
};

/// The functions that are not inline in libfabric's headers.
struct Library {
    decltype(&::fi_version) version;
    decltype(&::fi_strerror) strerror;
    decltype(&::fi_getinfo) getinfo;
    decltype(&::fi_freeinfo) freeinfo;
    decltype(&::fi_dupinfo) dupinfo;
    decltype(&::fi_fabric) fabric;
};

/// Loads libfabric if it is not loaded yet. The program's signal handlers are preserved. Throws Error{transport} if the library is missing
/// or too old. Any thread may call it.
const Library& library();

}  // namespace rollcall::transport::ofi
