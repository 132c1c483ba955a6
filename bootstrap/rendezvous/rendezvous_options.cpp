// The options of a rendezvous that the settings give.
#include "bootstrap/rendezvous/rendezvous.hpp"
#include "foundation/settings.hpp"

namespace rollcall::bootstrap {

RendezvousOptions rendezvous_options() { return rendezvous_options(Settings::from_environment()); }

RendezvousOptions rendezvous_options(const Settings& settings) {
    RendezvousOptions options;
    options.join_timeout = settings.launch_timeout ? Timeout(settings.launch_timeout) : kForever;
    options.net = settings.net;
    options.port = static_cast<std::uint16_t>(settings.port);
    options.port_advice = "set ROLLCALL_PORT to a free port, or to 0 for any";
    options.heartbeat = Timeout(settings.heartbeat);
    options.silence = Timeout(settings.silence);
    return options;
}

}  // namespace rollcall::bootstrap
