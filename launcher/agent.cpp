// The agent: what `rollcall run` starts on another host. It decides only one thing by itself: when the launcher is gone, or when nothing is
// heard of it any more, the agent ends everything that it has started.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <new>
#include <optional>

#include <rollcall/error.hpp>

#include "foundation/clock.hpp"
#include "foundation/error_text.hpp"
#include "foundation/host_name.hpp"
#include "launcher/forwarder.hpp"
#include "launcher/launch.hpp"
#include "launcher/link.hpp"
#include "launcher/pair.hpp"
#include "launcher/station.hpp"

namespace rollcall::launcher {
namespace {

/// If an agent has no order by then, no launcher has started it.
constexpr Timeout kOrderLimit = std::chrono::seconds(30);
/// How long an agent that hears nothing of its launcher tries to send its last words to it.
constexpr Timeout kLastWords = std::chrono::seconds(2);

class Agent final : private Station {
  public:
    Agent(Poller& poller, Guarded& guarded, Order order, Link& link)
        : Station(poller, guarded, std::move(order), false),
          link_(link),
          forwarder_(poller, stream_window(order_.size), [this](Blob frame) { send(std::move(frame)); }) {}

    /// Returns the exit code of the agent: 0 if it was told to finish.
    int run(const std::optional<std::string>& closed, std::deque<Frame>& frames) {
        prepare();
        while (!finishing_) {
            if (const auto code = over(closed)) return *code;
            while (!frames.empty() && !finishing_) {
                const Frame frame = std::move(frames.front());
                frames.pop_front();
                if (frame.type == FrameType::agent_finish) finishing_ = FrameReader(frame.body).u32() != 0 ? 2 : 1;
                if (!finishing_) command(frame);
            }
            if (!finishing_) wait();
        }
        finish(finishing_ == 2);
        forwarder_.finish();
        while (!below_over() || !forwarder_.idle()) {
            if (const auto code = over(closed)) return *code;
            while (!frames.empty()) {
                const Frame frame = std::move(frames.front());
                frames.pop_front();
                command(frame);
            }
            if (!below_over() || !forwarder_.idle()) wait();
        }
        send(FrameWriter(FrameType::agent_finished).i32(order_.hosts.front().index).finish());
        const Nanoseconds until = deadline_after(kLastWords);
        while (!link_.sent_all() && !closed && monotonic_now() < until) wait();
        return 0;
    }

  private:
    void wait() {
        step(link_.tick_at());
        link_.tick();
    }
    void send(Blob frame) { link_.send(std::move(frame)); }
    void report(const Frame& frame) override { send(bootstrap::encode(frame)); }
    void to_above(const FrameToSend& frame) override { link_.send(frame); }
    void writes_to(int rank, bool error, Descriptor pipe) override { forwarder_.add(rank, error, std::move(pipe)); }
    void output_taken(int rank, bool error, std::size_t bytes) override { forwarder_.taken(rank, error, bytes); }
    void busy() override {
        Station::busy();
        link_.beat();
    }
    void say(const std::string& sentence) override { std::fprintf(stderr, "%s\n", sentence.c_str()); }
    void signalled(int signal) override {
        if (asks_for_the_end(signal)) ended_by_ = signal;
    }
    /// Ends everything if a signal has asked for it, or if the launcher is gone. Returns the exit code then.
    std::optional<int> over(const std::optional<std::string>& closed) {
        if (ended_by_ != 0) {
            // Without this the launcher would see only that the remote shell has ended, and ssh does not say which signal killed its
            // command. If the front was killed, sshd closes our input at once, but takes what we write until we end.
            send(encode_lost(128 + ended_by_, "was lost: its agent got " + describe_signal(ended_by_), order_.hosts));
            return end_all(128 + ended_by_);
        }
        if (!closed) return std::nullopt;
        std::fprintf(stderr, "rollcall agent on host %s: %s; the ranks of this host are ended\n", host_.c_str(), closed->c_str());
        return end_all(kExitHostLost);
    }
    /// The agents below lose their links to this one, and do the same.
    int end_all(int code) {
        link_.stop();
        kill_shells();
        finish(true);
        return code;
    }

    Link& link_;
    Forwarder forwarder_;
    int finishing_ = 0;  // 0: no, 1: the job ended well, 2: the job failed
    int ended_by_ = 0;   // the signal that ends this agent
};

/// The link uses standard input and output. Nothing else that is written to them may disturb it.
std::pair<Descriptor, Descriptor> take_link() {
    Descriptor in(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    Descriptor out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!in || !out || !null) throw Error(ErrorCode::bootstrap, fmt::format("an agent cannot open what it needs: {}", error_text(errno)));
    ::dup2(null.get(), STDIN_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    return {std::move(in), std::move(out)};
}

int refuse() {
    std::fprintf(stderr, "rollcall agent: no order came; agents are started by `rollcall run`\n");
    return kExitUsage;
}

int serve(Guarded& guarded, std::atomic<Nanoseconds>& silence) {
    struct stat input {};
    if (::fstat(STDIN_FILENO, &input) != 0 || (!S_ISFIFO(input.st_mode) && !S_ISSOCK(input.st_mode))) return refuse();
    auto [in, out] = take_link();
    Poller poller;
    std::optional<std::string> closed;
    std::deque<Frame> frames;
    Link link(
        poller, std::move(in), std::move(out),
        [&](const Frame& frame) {
            if (frame.type != FrameType::heartbeat) frames.push_back(frame);
        },
        [&](Link::Cause, const std::string& how) {
            if (!closed) closed = "its launcher is gone (" + how + ")";
        });
    link.send(FrameWriter(FrameType::agent_hello).u32(kAgentProtocol).text(host_name()).finish());
    const Nanoseconds until = deadline_after(kOrderLimit);
    while (frames.empty() && !closed && monotonic_now() < until) poller.wait(until);
    if (frames.empty() || frames.front().type != FrameType::agent_order) return refuse();
    Order order = decode_order(frames.front().body);
    frames.pop_front();
    silence = order.silence;
    link.watch(order.silence);
    Agent agent(poller, guarded, std::move(order), link);
    return agent.run(closed, frames);
}

}  // namespace

int run_agent() {
    PairOptions options;
    options.name = "rollcall agent";
    options.lifeline = STDIN_FILENO;
    // The guard reads the order, and the front watches the guard.
    void* const page = ::mmap(nullptr, sizeof(std::atomic<Nanoseconds>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw Error(ErrorCode::bootstrap, fmt::format("an agent has no memory: {}", error_text(errno)));
    auto* const silence = new (page) std::atomic<Nanoseconds>(kDefaultSilence.count());
    options.shared_stopped = silence;
    return run_guarded([silence](Guarded& guarded) { return serve(guarded, *silence); }, options);
}

}  // namespace rollcall::launcher
