/// \file
/// A libmunge that does what a test says: the one that this program has loaded is found instead of the system's.
#pragma once

#include <sys/types.h>

struct FakeMunge {
    int refused_option = -1;  ///< munge_ctx_set() fails for this one.
    int decode_code = 0;      ///< That munge_decode() gives: 0 is success.
    uid_t writer = 0;         ///< As munge_decode() tells it.
};

extern "C" FakeMunge* fake_munge();
