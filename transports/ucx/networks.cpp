#include "transports/ucx/networks.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <optional>

#include "foundation/number.hpp"

namespace rollcall::transport::ucx {
namespace {

// The beginnings of the names of transports that move memory without the other process, and of all other networks that are not TCP. ud
// sends datagrams. A network that is not here is used like TCP, which is always right and sometimes slower.
constexpr std::array<std::string_view, 4> kRdma = {"dc_", "gga_", "srd", "ugni_rdma"};
constexpr std::string_view kRc = "rc_", kUd = "ud_";
constexpr std::array<std::string_view, 2> kOthers = {"ugni_smsg", "ugni_udt"};
// Those over which UCX needs no answer of the other side for a connection between processes that share memory.
constexpr std::array<std::string_view, 5> kPlain = {"posix/", "sysv/", "cma/", "self/", "tcp/"};

// Up to so many connections UCX takes rc (MAX_NUM_EPS of rc in UCX 1.13 to 1.18).
constexpr int kMostConnectionsOfRc = 256;

// A number of connections that the user has given UCX.
std::optional<int> given(const char* variable) {
    const char* const text = std::getenv(variable);
    if (!text) return std::nullopt;
    if (std::string_view(text) == "inf") return std::numeric_limits<int>::max();
    return number_of_text<int>(text);
}

}  // namespace

Networks networks_in(std::string_view resources, bool takes_rc) {
    // The lines look like this: "#      resource 1  :  md 1  dev 1  flags -- rc_mlx5/mlx5_0:1". They are the same from UCX 1.13 to 1.23,
    // and no other function of all these versions tells which networks a context has without opening the devices again.
    bool rdma = false, rc = false, ud = false, tcp = false, others = false, plain = !resources.empty();
    for (std::size_t begin = 0; begin < resources.size();) {
        const std::size_t end = std::min(resources.find('\n', begin), resources.size());
        std::string_view line = resources.substr(begin, end - begin);
        begin = end + 1;
        if (line.find(" resource ") == std::string_view::npos) continue;
        while (line.ends_with(' ')) line.remove_suffix(1);
        const std::string_view transport = line.substr(line.rfind(' ') + 1);
        const auto is_one_of = [&](const auto& names) {
            return std::ranges::any_of(names, [&](std::string_view name) { return transport.starts_with(name); });
        };
        rdma |= is_one_of(kRdma);
        rc |= transport.starts_with(kRc);
        // An auxiliary ("a"), which UCX_TLS=rc brings, only helps to connect. No data goes over it.
        ud |= transport.starts_with(kUd) && line.find(" flags a") == std::string_view::npos;
        tcp |= transport.starts_with("tcp/");
        others |= is_one_of(kOthers);
        plain &= is_one_of(kPlain);
    }
    // UCX first looks among the transports that are made for so many connections. dc and ud always are. If it finds one, it takes that.
    return {.move_memory = rdma || (rc && (takes_rc || !ud)), .are_tcp = tcp && !rdma && !rc && !ud && !others, .are_plain = plain};
}

bool takes_rc_for(int size) {
    const int connections = given("UCX_NUM_EPS").value_or(size);
    for (const char* variable : {"UCX_RC_VERBS_MAX_NUM_EPS", "UCX_RC_MLX5_MAX_NUM_EPS", "UCX_RC_MAX_NUM_EPS"})
        if (const auto most = given(variable)) return connections <= *most;
    return connections <= kMostConnectionsOfRc;
}

Networks networks_of(ucp_context_h context, int size) {
    char* text = nullptr;
    std::size_t length = 0;
    std::FILE* const stream = ::open_memstream(&text, &length);
    if (!stream) return {};
    ucp_context_print_info(context, stream);
    const bool whole = std::fclose(stream) == 0;
    const Networks found = whole ? networks_in({text, length}, takes_rc_for(size)) : Networks{};
    std::free(text);
    return found;
}

}  // namespace rollcall::transport::ucx
