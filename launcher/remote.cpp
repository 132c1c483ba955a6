#include "launcher/remote.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <rollcall/error.hpp>

#include "foundation/clock.hpp"
#include "foundation/ends.hpp"
#include "foundation/error_text.hpp"
#include "foundation/host_name.hpp"
#include "foundation/process_limit.hpp"
#include "foundation/units.hpp"
#include "launcher/launch.hpp"
#include "launcher/node.hpp"
#include "launcher/processes/spawn.hpp"

namespace rollcall::launcher {
namespace {

/// ssh(1) exits with this code if ssh itself fails.
constexpr int kSshFailed = 255;
constexpr int kMostAttempts = 8;
constexpr Nanoseconds kFirstPause = 100 * kMillisecond;
/// A shell that dies closes its link some moments before its death can be reaped. Its death and its last words say more than the closed
/// link.
constexpr Nanoseconds kLinkClosedBeforeDeath = 300 * kMillisecond;
constexpr std::size_t kLongestShellText = 4096;
/// A sentence about a shell has so much of the end of its standard output and error. A frame has room for both, and for the command. The
/// end says more than the beginning, which is often a greeting.
constexpr std::size_t kShownOutput = 200, kShownError = 500;
/// A pipe holds no more pieces of a shell's standard error than this.
constexpr int kMostPieces = 32;

/// Messages of ssh after which another try will not help.
constexpr const char* kHopeless[] = {
    "Permission denied", "Could not resolve", "Host key verification failed", "Bad configuration", "Too many authentication failures",
    "No route to host",  "bad permissions"};

std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> words;
    std::string word;
    bool in_word = false;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char one = text[i];
        if (quote != 0) {
            if (one == quote) {
                quote = 0;
            } else if (one == '\\' && quote == '"' && i + 1 < text.size()) {
                word += text[++i];
            } else {
                word += one;
            }
        } else if (one == '\'' || one == '"') {
            quote = one;
            in_word = true;
        } else if (one == '\\' && i + 1 < text.size()) {
            word += text[++i];
            in_word = true;
        } else if (one == ' ' || one == '\t') {
            if (in_word) words.push_back(std::exchange(word, {}));
            in_word = false;
        } else {
            word += one;
            in_word = true;
        }
    }
    if (quote != 0) throw Error(ErrorCode::invalid_argument, fmt::format("run: --agent has a quote that is not closed: {}", text));
    if (in_word) words.push_back(word);
    return words;
}

/// Returns a text in one line, without its beginning if it is longer than `most`.
std::string end_of(std::string text, std::size_t most) {
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    if (text.size() > most) text = "..." + text.substr(text.size() - most);
    std::replace(text.begin(), text.end(), '\n', ';');
    std::replace_if(
        text.begin(), text.end(), [](unsigned char one) { return one < ' '; }, ' ');
    return text;
}

}  // namespace

std::vector<std::string> remote_command(const std::string& shell, const std::string& host, const std::string& command) {
    if (shell.empty() || shell == kSsh) {
        // A shell on the other host interprets the command that ssh is given. Without ControlMaster=no, this ssh would become the master of
        // the user's later sessions if the user has set ControlMaster, and these sessions would end when the job ends. A master that is
        // there is used.
        return {"ssh",  "-x", "-T", "-oBatchMode=yes", "-oServerAliveInterval=0", "-oControlMaster=no", "--", host, shell_word(command),
                "agent"};
    }
    if (shell == kSrun) {
        // --overlap: beside the step that this process runs in. --unbuffered: srun passes on at once what an agent writes, because that has
        // no lines.
        return {"srun",         "--overlap",  "--nodes=1",       "--ntasks=1", "--mem=0", "--nodelist=" + host,
                "--unbuffered", "--mpi=none", "--cpu-bind=none", "--",         command,   "agent"};
    }
    auto words = split(shell);
    bool named = false;
    for (auto& word : words) {
        for (std::size_t at = 0; (at = word.find("{host}", at)) != std::string::npos; at += host.size()) {
            word.replace(at, std::strlen("{host}"), host);
            named = true;
        }
    }
    if (words.empty())
        throw Error(ErrorCode::invalid_argument, "run: --agent is empty; it takes a command such as 'ssh' or 'ip netns exec {host}'");
    if (!named) words.push_back(host);
    // Of other commands it is not known whether a shell reads their words.
    const bool is_ssh = words.front().substr(words.front().rfind('/') + 1) == kSsh;
    words.insert(words.end(), {is_ssh ? shell_word(command) : command, "agent"});
    return words;
}

Remote::Remote(Poller& poller, Order order, const Inherited& inherited, Events events)
    : poller_(poller),
      order_(std::move(order)),
      inherited_(inherited),
      events_(std::move(events)),
      retry_at_(kNever),
      launch_until_(kNever),
      closed_at_(kNever),
      random_(static_cast<std::minstd_rand::result_type>(monotonic_now() ^ ::getpid() ^ (host().index << 16))) {}

Remote::~Remote() {
    if (shell_error_) poller_.remove(shell_error_.get());
}

bool Remote::waits_to_start() const { return !over_ && !link_ && shell_ < 0 && (attempts_ == 0 || retry_at_ <= monotonic_now()); }

void Remote::start() {
    retry_at_ = kNever;
    if (attempts_++ == 0) launch_until_ = deadline_after(Timeout(order_.launch_timeout));
    shell_text_.clear();
    shell_output_.clear();
    closed_how_.clear();
    closed_at_ = kNever;
    const auto words = remote_command(order_.remote_shell, host().name, order_.command);
    const std::vector<char*> argv = pointers(words);

    Ends ends = make_sockets(SOCK_STREAM);
    Ends errors = ends ? make_pipe() : Ends();
    Ends start_errors = errors ? make_pipe() : Ends();
    if (!start_errors) {
        throw Error(
            ErrorCode::bootstrap,
            fmt::format("the launcher cannot reach host {}: {}{}", host().name, error_text(errno),
                        errno == EMFILE ? "; raise the limit of open files (ulimit -n), or let agents start each other (--fanout)" : ""));
    }
    Descriptor ours = std::move(ends.first), its = std::move(ends.second);
    Descriptor error = std::move(errors.first), its_error = std::move(errors.second);
    Descriptor start_error = std::move(start_errors.first), its_start_error = std::move(start_errors.second);
    const pid_t launcher = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        // The shell gets a process group of its own, because Ctrl-C on the terminal is for this process, which then ends the job over the
        // link.
        ::setpgid(0, 0);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != launcher) ::_exit(128 + SIGKILL);
        if (::dup2(its.get(), STDIN_FILENO) >= 0 && ::dup2(its.get(), STDOUT_FILENO) >= 0 && ::dup2(its_error.get(), STDERR_FILENO) >= 0) {
            inherited_.restore();
            // This process has one thread, so the child may call unsetenv().
            if (order_.remote_shell == kSrun) {
                for (const char* name : kSettingsOfSrun) ::unsetenv(name);
            }
            ::execvp(argv[0], argv.data());
        }
        const int why = errno;
        [[maybe_unused]] const auto ignored = ::write(its_start_error.get(), &why, sizeof why);
        ::_exit(kExitNotFound);
    }
    if (child < 0)
        throw Error(ErrorCode::bootstrap, fmt::format("the launcher cannot fork: {}{}", error_text(errno), process_limit_advice(errno)));
    ::setpgid(child, child);
    shell_ = child;
    link_ = std::make_unique<Link>(
        poller_, std::move(ours), Descriptor(), [this](const Frame& frame) { said(frame); },
        [this](Link::Cause cause, const std::string& how) { closed(cause, how); });
    // The start-up files of the remote shell may write a greeting.
    link_->begin_with(FrameType::agent_hello, [this](const std::string& text) {
        shell_output_ += text;
        if (shell_output_.size() > kLongestShellText) shell_output_.erase(0, shell_output_.size() - kLongestShellText);
    });
    ::fcntl(error.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(start_error.get(), F_SETFL, O_NONBLOCK);
    start_error_ = std::move(start_error);
    shell_error_ = std::move(error);
    poller_.add(shell_error_.get(), EPOLLIN, [this](std::uint32_t) { hear_shell(); });
}

void Remote::said(const Frame& frame) {
    if (over_) return;
    if (frame.type == FrameType::heartbeat) return;
    if (!connected_) {
        FrameReader reader(frame.body);
        if (const auto version = reader.u32(); version != kAgentProtocol) {
            lose(fmt::format("has another version of Rollcall: its agent speaks version {} of the protocol, but this launcher speaks "
                             "version {}; install the same version, or name the right command by --command",
                             version, kAgentProtocol),
                 1);
            return;
        }
        connected_ = true;
        start_error_.reset();
        take_shell_lines(false);
        // Until it has told that it is prepared, it sends no heartbeats: a slow file system may hold it up.
        link_->watch(order_.silence, std::max(order_.silence, order_.launch_timeout));
        link_->send(encode_order(order_));
        return;
    }
    if (frame.type == FrameType::agent_prepared && FrameReader(frame.body).i32() == host().index) {
        prepared_ = true;
        link_->watch(order_.silence);
    }
    if (frame.type == FrameType::agent_finished) {
        FrameReader reader(frame.body);
        over_ = reader.i32() == host().index;
    }
    events_.said(frame);
}

void Remote::closed(Link::Cause cause, const std::string& how) {
    ended_link_ = std::move(link_);
    if (over_) return;
    closed_how_ = how;
    closed_at_ = cause == Link::Cause::silent ? monotonic_now() - kLinkClosedBeforeDeath : monotonic_now();
}

bool Remote::hear_shell() {
    std::array<char, 4096> chunk;
    const ssize_t count = ::read(shell_error_.get(), chunk.data(), chunk.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (count <= 0) {
        poller_.remove(shell_error_.get());
        shell_error_.reset();
        if (connected_) take_shell_lines(true);
        return false;
    }
    shell_text_.append(chunk.data(), static_cast<std::size_t>(count));
    if (connected_) {
        take_shell_lines(shell_text_.size() > kLongestShellText);
    } else if (shell_text_.size() > kLongestShellText) {
        shell_text_.erase(0, shell_text_.size() - kLongestShellText);
    }
    return true;
}

std::string Remote::shell_words() const {
    std::string output = end_of(shell_output_, kShownOutput);
    const std::string error = end_of(shell_text_, kShownError);
    if (!output.empty() && !error.empty()) output += ";";
    return output + error;
}

void Remote::take_shell_lines(bool all) {
    for (std::size_t newline; (newline = shell_text_.find('\n')) != std::string::npos;) {
        std::string line = shell_text_.substr(0, newline);
        shell_text_.erase(0, newline + 1);
        if (!line.empty() && line.back() == '\r') line.pop_back();
        events_.shell_said(line);
    }
    if (all && !shell_text_.empty()) events_.shell_said(std::exchange(shell_text_, {}));
}

bool Remote::may_try_again(int status) const {
    if (connected_ || attempts_ >= kMostAttempts || !WIFEXITED(status) || WEXITSTATUS(status) != kSshFailed) return false;
    return std::none_of(std::begin(kHopeless), std::end(kHopeless),
                        [&](const char* words) { return shell_text_.find(words) != std::string::npos; });
}

void Remote::shell_ended(int status) {
    shell_ = -1;
    for (int i = 0; i < kMostPieces && shell_error_ && hear_shell(); ++i) {
    }
    // The end of the shell may be seen before the last data of the agent. Take that data first.
    if (link_) link_->take();
    if (over_) return;
    if (may_try_again(status)) {
        ended_link_ = std::move(link_);
        if (shell_error_) poller_.remove(shell_error_.get());
        shell_error_.reset();
        closed_at_ = kNever;
        // The pause is random, so that shells that were dropped together do not come back together.
        const double pause =
            static_cast<double>(kFirstPause << std::min(attempts_ - 1, 5)) * std::uniform_real_distribution(0.5, 1.5)(random_);
        retry_at_ = monotonic_now() + static_cast<Nanoseconds>(pause);
        return;
    }
    if (connected_) {
        if (WIFSIGNALED(status)) {
            lose(fmt::format("was lost: its remote shell was killed by {}", describe_signal(WTERMSIG(status))), 128 + WTERMSIG(status));
        } else {
            // A shell passes on the signal that killed the agent as 128 + n. Other codes are of the shell itself, which lost its host: ssh
            // has 255, srun and kubectl have 1.
            const int code = WEXITSTATUS(status);
            lose(fmt::format("was lost: its agent or remote shell ended with code {}", code),
                 code > 128 && code != kSshFailed ? code : kExitHostLost);
        }
        return;
    }
    const auto words = remote_command(order_.remote_shell, host().name, order_.command);
    if (int why = 0; start_error_ && ::read(start_error_.get(), &why, sizeof why) == sizeof why) {
        lose(fmt::format("could not be reached: `{}` cannot be started on host {}: {}", words.front(), host_name(), error_text(why)), 1);
        return;
    }
    const std::string text = shell_words();
    const std::string end =
        WIFSIGNALED(status) ? "was killed by " + describe_signal(WTERMSIG(status)) : fmt::format("ended with code {}", WEXITSTATUS(status));
    const char* advice = "";
    if (WIFEXITED(status) && (WEXITSTATUS(status) == kExitNotFound || WEXITSTATUS(status) == kExitNotExecutable)) {
        advice = "; the `rollcall` command must be there under this path, or be named by --command";
    }
    lose(fmt::format("could not be reached: `{}` {}{}{}{}", fmt::join(words, " "), end, text.empty() ? "" : ": ", text, advice), 1);
}

void Remote::lose(const std::string& how, int code) {
    if (std::exchange(over_, true)) return;
    if (link_) ended_link_ = std::move(link_);
    start_error_.reset();
    kill_shell();
    events_.lost(how, code);
}

void Remote::send(std::shared_ptr<const Blob> frame) {
    if (link_ && connected_ && !over_) link_->send(std::move(frame));
}

void Remote::kill_shell() {
    if (shell_ > 0) ::kill(shell_, SIGKILL);
}

void Remote::give_up_start() {
    if (over_ || prepared_) return;
    if (connected_) {
        // It may hang in its file system, and what it looks for there is not needed any more.
        if (link_) link_->watch(order_.silence);
        return;
    }
    over_ = true;
    if (link_) ended_link_ = std::move(link_);
    start_error_.reset();
    kill_shell();
}

Nanoseconds Remote::tick_at(bool may_start) const {
    if (over_) return kNever;
    Nanoseconds until = std::min(may_start ? retry_at_ : kNever, connected_ ? kNever : launch_until_);
    if (link_) until = std::min(until, link_->tick_at());
    if (closed_at_ != kNever) until = std::min(until, closed_at_ + kLinkClosedBeforeDeath);
    return until;
}

void Remote::beat() {
    if (link_) link_->beat();
}

void Remote::tick() {
    ended_link_.reset();
    if (over_) return;
    const Nanoseconds time = monotonic_now();
    if (link_) link_->tick();
    if (over_) return;
    if (!connected_ && launch_until_ <= time) {
        const std::string text = shell_words();
        lose(fmt::format("has not answered within {}{}{}", exact_duration(order_.launch_timeout),
                         text.empty() ? "" : "; its remote shell has written: ", text),
             kExitTimeout);
    } else if (closed_at_ != kNever && closed_at_ + kLinkClosedBeforeDeath <= time) {
        lose("was lost: " + closed_how_, kExitHostLost);
    }
}

}  // namespace rollcall::launcher
