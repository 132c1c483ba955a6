#include "transports/machine.hpp"

#include "foundation/clock.hpp"
#include "foundation/copy.hpp"

namespace rollcall::transport {

Nanoseconds RealMachine::now() const { return monotonic_now(); }

Started RealMachine::copy(Bytes into, ConstBytes from, Completion&) {
    copy_bytes(into.data, from.data, from.size);
    return Started::done;
}

}  // namespace rollcall::transport
