#include "transports/catalogue.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rollcall/error.hpp>

#include "foundation/log.hpp"
#include "foundation/settings.hpp"
#include "transports/transport.hpp"
#ifdef ROLLCALL_HAS_OFI
#include "transports/ofi/info.hpp"
#include "transports/ofi/ofi_transport.hpp"
#endif
#include "transports/ucx/info.hpp"
#include "transports/ucx/ucx_transport.hpp"

namespace rollcall::transport {
namespace {

struct Row {
    std::unique_ptr<Transport> (*make)(const TransportOptions&);
    TransportInfo (*info)(const Jobs&);
};

#ifndef ROLLCALL_HAS_OFI
constexpr const char* kWithoutOfi = "Rollcall was built without libfabric: install it (Debian and Ubuntu: libfabric-dev) and build again";

std::unique_ptr<Transport> make_ofi_transport(const TransportOptions&) { throw Error(ErrorCode::transport, kWithoutOfi); }

TransportInfo ofi_info(const Jobs&) {
    TransportInfo info;
    info.name = "ofi";
    info.note = kWithoutOfi;
    return info;
}
#endif

// In the order of kTransportNames.
constexpr std::array kRows = {
    Row{&make_ucx_transport, [](const Jobs&) { return ucx_info(); }},
    Row{&make_ofi_transport, &ofi_info},
};
static_assert(kRows.size() == kTransportNames.size(), "each transport has a name and a row");

// Makes the first transport that works on this host. Rank 0 says why it is not the very first. (If other ranks take another transport than
// rank 0, the job does not start, and is told so.)
std::unique_ptr<Transport> make_first(const TransportOptions& options) {
    std::string reasons;
    for (const Row& row : kRows) {
        try {
            auto made = row.make(options);
            if (!reasons.empty() && options.rank == 0)
                log_message(LogLevel::warn, "ROLLCALL_TRANSPORT=auto takes {}, because: {}", made->name(), reasons);
            return made;
        } catch (const Error& error) {
            reasons += (reasons.empty() ? "" : "; ") + std::string(error.what());
        }
    }
    throw Error(ErrorCode::transport, "no transport works here: " + reasons);
}

}  // namespace

std::unique_ptr<Transport> make_transport(std::string_view name, const TransportOptions& options) {
    if (name == "auto") return make_first(options);
    const auto found = std::find(kTransportNames.begin(), kTransportNames.end(), name);
    if (found == kTransportNames.end())
        throw Error(ErrorCode::invalid_setting, fmt::format("there is no transport '{}' in this build; ROLLCALL_TRANSPORT can be: {}, auto",
                                                            name, fmt::join(kTransportNames, ", ")));
    return kRows[static_cast<std::size_t>(found - kTransportNames.begin())].make(options);
}

std::vector<TransportInfo> transport_catalogue(const Jobs& jobs) {
    std::vector<TransportInfo> all;
    for (const Row& row : kRows) all.push_back(row.info(jobs));
    return all;
}

}  // namespace rollcall::transport
