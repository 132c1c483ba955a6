/// \file
/// libfabric's functions. The library is loaded when they are first used, not with the program: Debian's build of it brings libraries of
/// some providers along (psm, psm2) that put handlers of their own in the place of the program's signals when they are loaded.
#pragma once

#include <rdma/fabric.h>

namespace rollcall::transport::ofi {

/// Those that are not inline in libfabric's headers.
struct Library {
    decltype(&::fi_version) version;
    decltype(&::fi_strerror) strerror;
    decltype(&::fi_getinfo) getinfo;
    decltype(&::fi_freeinfo) freeinfo;
    decltype(&::fi_dupinfo) dupinfo;
    decltype(&::fi_fabric) fabric;
};

/// Loads it if it is not loaded yet. The program's handlers of signals stay as they are. Throws Error{transport} where it is not there, or
/// too old. Any thread.
const Library& library();

}  // namespace rollcall::transport::ofi
