#include "runtime/lane/thread_until_exit.hpp"

#include <mutex>
#include <utility>

#include <unistd.h>

namespace rollcall::runtime {

// The threads of this process that have not ended.
struct ThreadUntilExit::AtExit {
    std::mutex mutex;
    ThreadUntilExit* first = nullptr;
    pid_t process = 0;

    // It is never destroyed, because objects that the program destroys later may own threads. What is destroyed is the object that ends
    // them, before all objects that were made earlier, and before the destructors of libraries.
    static AtExit& get() {
        static AtExit& all = *new AtExit;
        static const struct Ending {
            ~Ending() { all.end_all(); }
        } ending;
        return all;
    }

    void end_all() {
        if (process != ::getpid()) return;
        const std::lock_guard lock(mutex);
        for (ThreadUntilExit* one = first; one; one = one->next_)
            if (one->thread_.get_id() != std::this_thread::get_id()) one->stop_and_join();
        first = nullptr;
    }

    void add(ThreadUntilExit& one) {
        const std::lock_guard lock(mutex);
        if (std::exchange(process, ::getpid()) != ::getpid()) first = nullptr;  // a forked child has none of the threads of its parent
        one.next_ = std::exchange(first, &one);
    }

    void remove(ThreadUntilExit& one) {
        for (ThreadUntilExit** place = &first; *place; place = &(*place)->next_)
            if (*place == &one) {
                *place = one.next_;
                return;
            }
    }
};

void ThreadUntilExit::start(std::function<void()> body, std::function<void()> stop) {
    AtExit& all = AtExit::get();
    stop_ = std::move(stop);
    thread_ = std::thread(std::move(body));
    all.add(*this);
}

void ThreadUntilExit::end() {
    if (!stop_) return;
    AtExit& all = AtExit::get();
    const std::lock_guard lock(all.mutex);
    if (!thread_.joinable()) return;
    all.remove(*this);
    stop_and_join();
}

void ThreadUntilExit::stop_and_join() {
    stop_();
    thread_.join();
}

}  // namespace rollcall::runtime
