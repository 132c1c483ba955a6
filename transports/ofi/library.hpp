/// \file
/// The functions of libfabric. The library is loaded when they are first used, not with the program. The reason is that Debian's build of
/// libfabric also loads the libraries of some providers (psm, psm2), which replace the program's signal handlers when they are loaded.
#pragma once

#include <rdma/fabric.h>

namespace rollcall::transport::ofi {

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
