/// \file
/// A process that has as many files open as it may.
#pragma once

#include <sys/resource.h>

namespace rollcall {

/// While it lives this process cannot open anything more.
class NoMoreFiles {
  public:
    NoMoreFiles() {
        ::getrlimit(RLIMIT_NOFILE, &before_);
        const rlimit none{0, before_.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &none);
    }
    ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    NoMoreFiles(const NoMoreFiles&) = delete;
    NoMoreFiles& operator=(const NoMoreFiles&) = delete;

  private:
    rlimit before_{};
};

}  // namespace rollcall
