/// \file
/// Which interface of this host a domain of a provider is on. Providers name their domains in different ways: after the network interface
/// (tcp), after the RDMA device (verbs), after the device with a suffix (efa), or after a device that no interface is named after (cxi).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rdma/fabric.h>

#include "foundation/interfaces.hpp"

namespace rollcall::transport::ofi {

/// An interface of this host, with what providers know of it.
struct Place {
    std::string name;    ///< As Interface::name.
    std::string device;  ///< The path of its device in /sys, with PCI addresses in it. Empty: it has none, or it is unknown.
    bool rdma = false;
    std::uint64_t speed_megabits = 0;  ///< 0: unknown.
};

/// Finds out where the devices of these interfaces are.
std::vector<Place> places_of(std::span<const Interface> interfaces);

/// The interfaces that a job may use, in the order in which they are wanted, and those of this host that it must not use.
struct Places {
    std::vector<Place> wanted, others;
    bool are_named = false;  ///< The user has named those that are wanted.
};

/// Returns the place, in the order of the wanted interfaces, of the one that the domain is on. A domain that is on no interface of this
/// host comes after all of them, unless the user has named interfaces. Returns nothing if the domain must not be used. Pure function.
std::optional<std::size_t> place_of(const fi_info& info, const Places& places);

/// Returns the speed of the domain's device in megabits per second, or 0 if it is unknown, or if the domain is a network interface: among
/// these the order of the interfaces decides. Pure function.
std::uint64_t speed_of(const fi_info& info, const Places& places);

/// A domain that can be used.
struct Candidate {
    const fi_info* info;
    std::size_t order;  ///< A smaller one is better.
    std::uint64_t speed;
};
/// Returns the best of these domains: the fastest, and among them the first in order. The `turn` counts through those domains of its fabric
/// that are equally fast; 0 is the best itself. Pure function.
const fi_info* best_of(std::vector<Candidate> candidates, int turn);

/// Whether the domain is named after an RDMA device. Pure function.
bool is_on_rdma(const fi_info& info, const Places& places);

}  // namespace rollcall::transport::ofi
