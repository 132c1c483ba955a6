// The main program of the conformance tests. One test starts this program once more, as a peer.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace rollcall::test {
int be_a_peer(const std::string& way);
}

// The leak sanitizer, if there is one, calls this function. As in tests/lsan.supp, it names what UCX 1.13 leaks for connections that were
// not ended in order.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libucs.so\nleak:libuct.so\nleak:libucp.so\n"; }

int main(int count, char** arguments) {
    if (count == 3 && std::strcmp(arguments[1], "--peer") == 0) return rollcall::test::be_a_peer(arguments[2]);
    testing::InitGoogleTest(&count, arguments);
    return RUN_ALL_TESTS();
}
