#include "launcher/claims.hpp"

#include <fcntl.h>

#include <algorithm>
#include <iterator>

namespace rollcall::launcher {
namespace {

struct flock byte_of(int processor, short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = processor;
    lock.l_len = 1;
    return lock;
}

}  // namespace

// The locks of an open file description (F_OFD_...) end when its last descriptor is closed. A child shares them until it executes a
// program.
Claims::Claims(const char* path) : file_(::open(path, O_RDONLY | O_CLOEXEC)) {}

bool Claims::claim(std::span<const int> processors) {
    return std::all_of(processors.begin(), processors.end(), [&](int processor) {
        auto lock = byte_of(processor, F_RDLCK);
        return ::fcntl(file_.get(), F_OFD_SETLK, &lock) == 0;
    });
}

std::vector<int> Claims::claimed_by_others(std::span<const int> processors) const {
    std::vector<int> claimed;
    std::copy_if(processors.begin(), processors.end(), std::back_inserter(claimed), [&](int processor) {
        auto lock = byte_of(processor, F_WRLCK);  // Only asks. If this lock were set, it would conflict with the locks of other jobs.
        return ::fcntl(file_.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
    });
    return claimed;
}

}  // namespace rollcall::launcher
