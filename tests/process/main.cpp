/// \file
/// main() of the drivers: sets the environment that the processes of the tests need (see CMakeLists.txt), then runs the tests.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include <sys/statvfs.h>

#include <gtest/gtest.h>

namespace {

// Tests over libfabric's shared memory start up to 24 ranks. It needs 32 MiB of /dev/shm and 8 MiB a rank (docs/transports.md).
constexpr std::uint64_t kRoomForLibfabric = 256 << 20;

bool is(const char* variable, const std::string& value) {
    const char* set = std::getenv(variable);
    return set && set == value;
}

// Sets the variables of "NAME=VALUE|NAME=VALUE" that are not set already.
void set_all(const char* variables) {
    std::istringstream entries(variables);
    for (std::string entry; std::getline(entries, entry, '|');) {
        const auto equals = entry.find('=');
        ::setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 0);
    }
}

std::uint64_t size_of_shared_memory() {
    struct statvfs place {};
    return ::statvfs("/dev/shm", &place) == 0 ? std::uint64_t{place.f_blocks} * place.f_frsize : 0;
}

}  // namespace

int main(int argc, char** argv) {
    set_all(ROLLCALL_TEST_ENVIRONMENT);
    if (const char* const settings = std::getenv("ROLLCALL_TEST_SETTINGS")) set_all(settings);
    testing::InitGoogleTest(&argc, argv);
    if (is("ROLLCALL_TRANSPORT", "ofi") && !is("ROLLCALL_OFI_PROVIDER", "tcp") && size_of_shared_memory() < kRoomForLibfabric &&
        !testing::GTEST_FLAG(list_tests)) {
        std::puts("[  SKIPPED ] /dev/shm has less than the 256 MiB that tests over libfabric's shared memory need");
        return 0;
    }
    return RUN_ALL_TESTS();
}
