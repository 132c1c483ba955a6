/// \file
/// Runs child processes that read from one pipe and write to others.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <rollcall/time.hpp>

#include "foundation/descriptor.hpp"

namespace rollcall::bench {

struct ChildResult {
    bool found = false;      ///< False: there is no such program, and the other members are not set.
    std::string output;      ///< All that it wrote to standard output.
    std::string errors;      ///< All that it wrote to standard error.
    int exit_code = 0;       ///< The exit code, or 128 + the number of the signal that ended it.
    bool timed_out = false;  ///< It did not end within its time.
    int interrupted = 0;     ///< The number of the signal that asked this process to end while the child ran, or 0.
};

/// How long a child may take to end after its time is over. A launcher needs this time to end its own processes.
inline constexpr Timeout kChildGrace = std::chrono::seconds(2);

/// While it lives, SIGINT, SIGTERM and SIGHUP do not end this process, but are read here. Those that it ignores remain ignored. Only for a
/// process of one thread.
class SignalsToEnd {
  public:
    SignalsToEnd();
    ~SignalsToEnd();
    SignalsToEnd(const SignalsToEnd&) = delete;
    SignalsToEnd& operator=(const SignalsToEnd&) = delete;

    /// Becomes readable when a signal comes.
    int descriptor() const { return descriptor_.get(); }
    /// The mask of a child.
    const ::sigset_t& before() const { return before_; }
    /// Returns the next signal, or 0. `from_keyboard`: the child has got it, too.
    int next(bool& from_keyboard) const;
    /// Sleeps until a signal comes, and returns it. Returns 0 after this time.
    int wait_for(std::chrono::milliseconds time) const;

  private:
    ::sigset_t before_;
    Descriptor descriptor_;
};

struct ChildOptions {
    std::vector<std::string> environment = {};  ///< K=V, added to the environment of this process.
    Timeout timeout = kForever;                 ///< After this time the child gets SIGTERM, and kChildGrace later it is killed.
    const SignalsToEnd* signals = nullptr;      ///< One of these ends the child in the same way.
};

/// A program that runs beside this one. If this process is killed, the child gets SIGTERM.
class Child {
  public:
    /// Starts `arguments[0]`, which is looked up in PATH, without a shell. The signals of the options must live as long as the child.
    /// Throws Error{state} if the system refuses to start the child.
    explicit Child(const std::vector<std::string>& arguments, const ChildOptions& options = {});
    /// Ends the child, as after its timeout, unless finish() was called.
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// Writes `input` to the child's standard input and waits for its end, once. The caller need not handle SIGPIPE: a child that does not
    /// read its input causes no error.
    ChildResult finish(std::string_view input = {});

  private:
    /// Asks the child to end. It is killed after kChildGrace.
    void end();
    void end_soon();
    void serve(std::string_view input, ChildResult& result);

    std::string program_;
    const SignalsToEnd* signals_;
    Descriptor input_, output_, errors_;
    pid_t process_ = -1;  ///< -1: there is none, or none any more.
    bool is_ending_ = false;
    Nanoseconds deadline_;
};

/// Runs a child from its start to its end. Any thread may call it, without signals.
ChildResult run_child(const std::vector<std::string>& arguments, std::string_view input, const ChildOptions& options = {});

}  // namespace rollcall::bench
