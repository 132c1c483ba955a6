/// \file
/// main() of the drivers: sets the environment that the processes of the tests need (see CMakeLists.txt), then runs the tests.
#include <cstdlib>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

int main(int argc, char** argv) {
    std::istringstream entries(ROLLCALL_TEST_ENVIRONMENT);
    for (std::string entry; std::getline(entries, entry, '|');) {
        const auto equals = entry.find('=');
        ::setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 0);
    }
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
