#include "transports/ofi/library.hpp"

#include <cstddef>
#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "transports/ofi/kept_signals.hpp"

namespace rollcall::transport::ofi {
namespace {

constexpr const char* kFile = "libfabric.so.1";
constexpr std::uint32_t kOldest = FI_VERSION(1, 17);

/// Sets a variable of the environment while this lives, unless the user has set it. Some settings of libfabric can be given in no other
/// way.
class Variable {
  public:
    Variable(const char* name, std::size_t value) : name_(name) {
        if (!std::getenv(name)) was_set_ = ::setenv(name, std::to_string(value).c_str(), 1) == 0;
    }
    ~Variable() {
        if (was_set_) ::unsetenv(name_);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    const char* name_;
    bool was_set_ = false;
};

[[noreturn]] void fail(const std::string& why) {
    throw Error(
        ErrorCode::transport,
        fmt::format("the transport ofi: {}. Install libfabric 1.17 or later (Debian and Ubuntu: libfabric1), or set ROLLCALL_TRANSPORT=ucx",
                    why));
}

Library load() {
    const KeptSignals signals(KeptSignals::Which::all);
    void* const handle = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) fail(fmt::format("libfabric cannot be loaded: {}", ::dlerror()));
    Library found{};
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
        if (!function) fail(fmt::format("{} lacks {}", kFile, name));
    };
    find(found.version, "fi_version");
    find(found.strerror, "fi_strerror");
    find(found.getinfo, "fi_getinfo");
    find(found.freeinfo, "fi_freeinfo");
    find(found.dupinfo, "fi_dupinfo");
    find(found.fabric, "fi_fabric");
    const std::uint32_t version = found.version();
    if (version < kOldest) fail(fmt::format("libfabric {}.{} is too old", FI_MAJOR(version), FI_MINOR(version)));
    // libfabric initialises its providers when the first question is asked. Where ofi_rxm has one set of buffers for all peers (over tcp),
    // it would make 4096 of them for what comes in: 67 MB for each rank. Over verbs it has a set for each peer, by default of 128.
    const Variable buffers("FI_OFI_RXM_MSG_RX_SIZE", 128);
    // Endpoint::part_from() is to end the connection.
    const Variable cleanup("FI_AV_REMOVE_CLEANUP", 1);
    fi_info* any = nullptr;
    if (found.getinfo(kOldest, nullptr, nullptr, 0, nullptr, &any) == 0) found.freeinfo(any);
    return found;
}

}  // namespace

const Library& library() {
    static const Library loaded = load();
    return loaded;
}

}  // namespace rollcall::transport::ofi
