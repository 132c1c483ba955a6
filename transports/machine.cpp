#include "transports/machine.hpp"

#include <cstring>

#include "foundation/clock.hpp"

namespace rollcall::transport {

Nanoseconds RealMachine::now() const { return monotonic_now(); }

Started RealMachine::copy(Bytes into, ConstBytes from, Completion&) {
    if (from.size) std::memcpy(into.data, from.data, from.size);
    return Started::done;
}

}  // namespace rollcall::transport
