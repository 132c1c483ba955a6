#include "runtime/lane/thread_until_exit.hpp"

#include <atomic>
#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rollcall::runtime {
namespace {

std::atomic<bool> waiter_has_begun{false}, waiter_is_asked{false}, waiter_has_ended{false};

// Returns when the thread has begun. A thread that begins allocates memory, and a child that is forked meanwhile hangs in the leak
// sanitizer: it has a copy of the allocator's lock, and not the thread that holds it.
void begin_to_wait(ThreadUntilExit& thread) {
    waiter_has_begun = waiter_is_asked = waiter_has_ended = false;
    thread.start(
        [] {
            waiter_has_begun = true;
            waiter_has_begun.notify_one();
            waiter_is_asked.wait(false);
            waiter_has_ended = true;
        },
        [] {
            waiter_is_asked = true;
            waiter_is_asked.notify_one();
        });
    waiter_has_begun.wait(false);
}

// What was made before the thread is destroyed after its end. The object that owns the thread outlives the process.
[[noreturn]] void exit_beside_a_thread() {
    std::atexit([] { ::_exit(waiter_has_ended ? 3 : 4); });
    begin_to_wait(*new ThreadUntilExit);
    std::exit(0);
}

// The thread's owner is destroyed after the thread was ended by exit().
[[noreturn]] void exit_before_the_owner_is_destroyed() {
    static ThreadUntilExit* owned = nullptr;
    std::atexit([] {
        delete owned;
        ::_exit(waiter_has_ended ? 3 : 4);
    });
    begin_to_wait(*(owned = new ThreadUntilExit));
    std::exit(0);
}

[[noreturn]] void exit_in_a_forked_child() {
    begin_to_wait(*new ThreadUntilExit);
    const pid_t child = ::fork();
    if (child == 0) std::exit(3);
    int status = 0;
    ::waitpid(child, &status, 0);
    ::_exit(WIFEXITED(status) && !waiter_has_ended ? WEXITSTATUS(status) : 4);
}

class ThreadUntilExitTest : public testing::Test {
  protected:
    ThreadUntilExitTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ThreadUntilExitTest, EndsBeforeWhatWasMadeEarlier) { EXPECT_EXIT(exit_beside_a_thread(), testing::ExitedWithCode(3), ""); }

TEST_F(ThreadUntilExitTest, MayBeDestroyedAfterItsEnd) {
    EXPECT_EXIT(exit_before_the_owner_is_destroyed(), testing::ExitedWithCode(3), "");
}

TEST_F(ThreadUntilExitTest, IsNotThereInAForkedChild) { EXPECT_EXIT(exit_in_a_forked_child(), testing::ExitedWithCode(3), ""); }

TEST_F(ThreadUntilExitTest, EndsOnce) {
    ThreadUntilExit thread, never_started;
    begin_to_wait(thread);
    thread.end();
    EXPECT_TRUE(waiter_has_ended);
    thread.end();
    never_started.end();
}

}  // namespace
}  // namespace rollcall::runtime
