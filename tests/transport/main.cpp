// The runner of the conformance tests. One of them starts this program once more, as a peer.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace rollcall::test {
int be_a_peer(const std::string& way);
}

// The leak sanitizer, if there is one, asks for this. As tests/lsan.supp: what UCX 1.13 leaves of connections that were not ended in order.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libucs.so\nleak:libuct.so\nleak:libucp.so\n"; }

int main(int count, char** arguments) {
    if (count == 3 && std::strcmp(arguments[1], "--peer") == 0) return rollcall::test::be_a_peer(arguments[2]);
    testing::InitGoogleTest(&count, arguments);
    return RUN_ALL_TESTS();
}
