#include "transports/ucx/networks.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace rollcall::transport::ucx {
namespace {

// The beginnings of the names of transports that move memory without the other process. A network that is not here is used like TCP, which
// is always right and sometimes slower. So are ud_verbs and ud_mlx5, which send datagrams.
constexpr std::array<std::string_view, 5> kRdma = {"rc_", "dc_", "gga_", "srd", "ugni_rdma"};

}  // namespace

bool names_rdma(std::string_view resources) {
    // The lines look like this: "#      resource 1  :  md 1  dev 1  flags -- rc_mlx5/mlx5_0:1". They are the same from UCX 1.13 to 1.23,
    // and no other function of all these versions tells which networks a context has without opening the devices again.
    for (std::size_t begin = 0; begin < resources.size();) {
        const std::size_t end = std::min(resources.find('\n', begin), resources.size());
        std::string_view line = resources.substr(begin, end - begin);
        begin = end + 1;
        if (line.find(" resource ") == std::string_view::npos) continue;
        while (line.ends_with(' ')) line.remove_suffix(1);
        const std::string_view transport = line.substr(line.rfind(' ') + 1);
        if (std::ranges::any_of(kRdma, [&](std::string_view name) { return transport.starts_with(name); })) return true;
    }
    return false;
}

bool has_rdma(ucp_context_h context) {
    char* text = nullptr;
    std::size_t size = 0;
    std::FILE* const stream = ::open_memstream(&text, &size);
    if (!stream) return false;
    ucp_context_print_info(context, stream);
    const bool whole = std::fclose(stream) == 0;
    const bool found = whole && names_rdma({text, size});
    std::free(text);
    return found;
}

}  // namespace rollcall::transport::ucx
