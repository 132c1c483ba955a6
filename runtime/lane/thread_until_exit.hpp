/// \file
/// A thread that ends before the libraries of the process do.
#pragma once

#include <functional>
#include <thread>

namespace rollcall::runtime {

/// A thread that ends at the latest when its process calls exit() or returns from main(). It ends before the destructors of libraries run:
/// after them UCX aborts a process in which a thread still uses it.
///
/// Any thread may call end(). exit() must not be called while another thread waits for the one that calls it. In a forked child there is no
/// such thread, and exit() does nothing here.
class ThreadUntilExit {
  public:
    ThreadUntilExit() = default;
    ThreadUntilExit(const ThreadUntilExit&) = delete;
    ThreadUntilExit& operator=(const ThreadUntilExit&) = delete;
    ~ThreadUntilExit() { end(); }

    /// `stop` makes `body` return soon. Throws std::system_error if there can be no further thread. Call it once.
    void start(std::function<void()> body, std::function<void()> stop);
    /// Returns when the thread has ended. Does nothing if it has not been started, or has ended already.
    void end();

  private:
    struct AtExit;

    void stop_and_join();

    std::function<void()> stop_;
    std::thread thread_;
    ThreadUntilExit* next_ = nullptr;
};

}  // namespace rollcall::runtime
