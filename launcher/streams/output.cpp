#include "launcher/streams/output.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "foundation/clock.hpp"
#include "foundation/ends.hpp"
#include "foundation/error_text.hpp"
#include "launcher/streams/lines.hpp"
#include "launcher/streams/outlet.hpp"
#include "launcher/streams/output_directory.hpp"

namespace rollcall::launcher {
namespace {

/// After this silence an unfinished line is passed on. The time is long for a program that writes a line in pieces, and short for a user
/// that waits for a prompt.
constexpr Nanoseconds kMoment = 300 * kMillisecond;
/// An unfinished line that goes on and on without such a silence is passed on when its first byte has waited for this long.
constexpr Nanoseconds kLongestHeld = 1000 * kMillisecond;
/// A longer line is passed on in pieces. No more than this is held for each stream of each rank.
constexpr std::size_t kLongestHeldLine = std::size_t{64} << 10;
/// While this much waits to be written, the ranks' pipes are not read.
constexpr std::size_t kMostWaiting = std::size_t{1} << 20;

/// While this much waits to be written, no more sentences are added: remote shells may say much while nobody reads.
constexpr std::size_t kMostSaid = 4 * kMostWaiting;

/// Told as what has been taken of a stream, it says that nobody reads the stream any more.
constexpr std::size_t kNoReader = std::numeric_limits<std::int64_t>::max();

}  // namespace

struct Output::Sink {
    explicit Sink(Poller& poller) : outlet(poller) {}

    Outlet outlet;
    bool broken = false;
    bool drops = false;             // it is broken, but its sources are still read: no rank is to be blamed before the job ends
    bool stopped = false;           // it is full, so no source is read
    const Source* open = nullptr;   // the source whose unfinished line was written last
    const Source* owner = nullptr;  // the source whose unfinished line no other source may follow yet
    bool mid_line = false;
    bool omits = false;  // sentences, and this has been said

    bool full() const { return outlet.size() >= kMostWaiting; }
};

struct Output::Source {
    int rank;
    bool error;
    Sink* sink;
    Descriptor pipe;
    bool fed = false;    // more data may be fed
    std::string unread;  // data that was fed while the sink was full
    std::string held;
    std::size_t rest = 0;  // of the pipe, when all writers are gone
    Nanoseconds heard = 0;
    Nanoseconds since = 0;  // the first byte of `held` has waited since then
    bool watched = false;

    bool open() const { return pipe || fed; }
    void hold(std::string_view bytes) {
        heard = monotonic_now();
        if (held.empty()) since = heard;
        held.append(bytes);
    }
    /// When it has waited long enough.
    Nanoseconds due() const { return held.empty() ? heard + kMoment : std::min(heard + kMoment, since + kLongestHeld); }
};

Output::Output(Poller& poller, int out, int error, Beginning beginning, std::string directory, Taken taken)
    : poller_(poller), beginning_(beginning), directory_(std::move(directory)), taken_(std::move(taken)) {
    if (!directory_.empty()) directory_ = make_output_directory(directory_);
    struct stat first {};
    struct stat second {};
    const bool same = ::fstat(out, &first) == 0 && ::fstat(error, &second) == 0 && first.st_dev == second.st_dev &&
                      first.st_ino == second.st_ino && first.st_rdev == second.st_rdev;
    sinks_.push_back(std::make_unique<Sink>(poller_));
    out_ = sinks_.back().get();
    open(*out_, out);
    if (same) {
        error_ = out_;
    } else {
        sinks_.push_back(std::make_unique<Sink>(poller_));
        error_ = sinks_.back().get();
        open(*error_, error);
    }
}

Output::~Output() = default;

void Output::open(Sink& sink, int descriptor) {
    const bool is_open = sink.outlet.open(descriptor, [this, &sink](bool gone) {
        if (gone) {
            broken(sink, EPIPE);
        } else {
            flush(sink);
        }
    });
    if (!is_open) sink.broken = true;  // it was closed when this process was started
}

Output::Source& Output::add_source(int rank, bool error) {
    auto source = std::make_unique<Source>();
    source->rank = rank;
    source->error = error;
    source->sink = error ? error_ : out_;
    if (!directory_.empty()) {
        sinks_.push_back(std::make_unique<Sink>(poller_));
        Sink& sink = *sinks_.back();
        const std::string path = fmt::format("{}/rank.{}.{}", directory_, rank, error ? "err" : "out");
        source->sink = &sink;
        if (!sink.outlet.create(path)) broken(sink, errno);
    }
    sources_.push_back(std::move(source));
    return *sources_.back();
}

void Output::feed(int rank, bool error, std::string_view bytes) {
    Source*& known = fed_[{rank, error}];
    if (known == nullptr) {
        known = &add_source(rank, error);
        known->fed = true;
        watch(*known);
    }
    Source& source = *known;
    if (!source.fed) return;
    if (bytes.empty()) {
        source.fed = false;
        if (source.unread.empty()) pump(source, true);
        return;
    }
    if (source.sink->broken) {
        taken_(rank, error, source.sink->drops ? bytes.size() : kNoReader);
        return;
    }
    source.unread.append(bytes);
    if (source.watched) read_fed(source);
    watch(source);
}

void Output::read_fed(Source& source) {
    const std::size_t bytes = source.unread.size();
    source.hold(std::exchange(source.unread, {}));
    if (source.fed && bytes > 0) taken_(source.rank, source.error, bytes);
    pump(source, !source.fed);
}

void Output::end_fed() {
    for (const auto& [name, source] : fed_) {
        if (!std::exchange(source->fed, false)) continue;
        if (source->unread.empty()) pump(*source, true);
    }
}

bool Output::has_all_of(int rank) const {
    const auto ended = [&](bool error) {
        const auto found = fed_.find({rank, error});
        return found != fed_.end() && !found->second->fed;
    };
    return ended(false) && ended(true);
}

void Output::add(int rank, bool error, Descriptor pipe) {
    Source& added = add_source(rank, error);
    added.pipe = std::move(pipe);
    if (added.sink->broken && !added.sink->drops) {
        added.pipe.reset();
        return;
    }
    watch(added);
}

void Output::close(Source& source) {
    if (!source.pipe) return;
    poller_.remove(source.pipe.get());
    source.pipe.reset();
    source.watched = false;
}

void Output::watch(Source& source) {
    if (!source.open() && source.unread.empty()) return;
    const Sink& sink = *source.sink;
    const bool waits_for_other = sink.owner != nullptr && sink.owner != &source && source.held.size() >= kLongestHeldLine;
    const bool wanted = !sink.full() && !waits_for_other;
    if (wanted == source.watched) return;
    source.watched = wanted;
    if (wanted) source.heard = source.since = monotonic_now();  // it was silent because this process did not read
    if (!source.pipe) {
        if (wanted && (!source.unread.empty())) read_fed(source);
        return;
    }
    // Even without events to watch, epoll reports a hang-up again and again. So the descriptor is taken out of the set.
    if (wanted) {
        poller_.add(source.pipe.get(), EPOLLIN, [this, &source](std::uint32_t) { readable(source); });
    } else {
        poller_.remove(source.pipe.get());
    }
}

void Output::watch_all(Sink& sink) {
    for (const auto& source : sources_) {
        if (source->sink == &sink) watch(*source);
    }
}

void Output::readable(Source& source) {
    if (!source.pipe || !source.watched) return;
    std::array<char, 65536> chunk;
    const std::size_t most = finishing_ ? std::min(chunk.size(), source.rest) : chunk.size();
    const ssize_t count = ::read(source.pipe.get(), chunk.data(), most);
    if (count > 0) {
        source.hold({chunk.data(), static_cast<std::size_t>(count)});
        if (finishing_ && (source.rest -= static_cast<std::size_t>(count)) == 0) close(source);
        pump(source, !source.pipe);
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR) || (finishing_ && errno == EAGAIN)) {
        close(source);
        pump(source, true);
    }
    watch(source);
}

void Output::pump(Source& source, bool all) {
    Sink& sink = *source.sink;
    if (sink.broken) {
        source.held.clear();
        return;
    }
    if (sink.owner != nullptr && sink.owner != &source) return;  // the turn of this source comes when the owner's line has ended
    all = all || (!source.open() && source.unread.empty());
    const std::size_t lines = finished_part(source.held);
    const std::size_t partial = source.held.size() - lines;
    const bool goes_on = partial > kLongestHeldLine || (sink.owner == &source && lines == 0);
    const std::size_t take = all || goes_on ? source.held.size() : lines;
    const bool finished = take == lines;
    // The write may open the sink again. Then this stream and others are read and pumped from within it. So `held` and the owner must be
    // right before the write.
    const std::string passed = source.held.substr(0, take);
    source.held.erase(0, take);
    if (take > 0) source.since = source.heard;  // what is left came last
    const bool releases = sink.owner == &source && (all || (take > 0 && finished));
    if (!finished && !all) sink.owner = &source;
    if (take > 0) emit(source, passed);
    if (releases && sink.owner == &source) {
        sink.owner = nullptr;
        pump_others(sink);
    }
    // A file has one source. Many jobs have more ranks than this process may have open files.
    const bool is_file = &sink != out_ && &sink != error_;
    if (is_file && !sink.broken && !source.open() && source.unread.empty()) {
        if (const int error = sink.outlet.close_file()) broken(sink, error);
    }
}

void Output::pump_others(Sink& sink) {
    for (const auto& source : sources_) {
        if (sink.owner != nullptr) break;
        if (source->sink != &sink || source->held.empty()) continue;
        pump(*source, false);
    }
    watch_all(sink);
}

void Output::emit(Source& source, std::string_view bytes) {
    Sink& sink = *source.sink;
    if (!beginning_.any()) {
        sink.outlet.add(bytes);
    } else {
        const std::string tag = (beginning_.time ? time_of_day() : "") + (beginning_.rank ? fmt::format("[{}] ", source.rank) : "");
        bool tagged = sink.mid_line && sink.open == &source;
        if (sink.mid_line && !tagged) sink.outlet.add("\n");
        for (std::size_t begin = 0; begin < bytes.size();) {
            const auto newline = bytes.find('\n', begin);
            const std::size_t end = newline == std::string_view::npos ? bytes.size() : newline + 1;
            if (!tagged) sink.outlet.add(tag);
            sink.outlet.add(bytes.substr(begin, end - begin));
            tagged = false;
            begin = end;
        }
    }
    sink.open = &source;
    sink.mid_line = bytes.back() != '\n';
    flush(sink);
}

void Output::say(std::string_view sentence) {
    Sink& sink = *error_;
    if (sink.broken) return;
    const bool has_room = sink.outlet.size() < kMostSaid;
    if (std::exchange(sink.omits, !has_room) && !has_room) return;
    if (sink.mid_line) sink.outlet.add("\n");
    sink.outlet.add(has_room ? sentence
                             : "rollcall run: messages of the launcher are left out here, because nothing read its standard error");
    sink.outlet.add("\n");
    sink.mid_line = false;
    flush(sink);
}

void Output::flush(Sink& sink) {
    if (const int error = sink.broken ? 0 : sink.outlet.flush()) return broken(sink, error);
    if (sink.stopped == sink.full()) return;
    sink.stopped = sink.full();
    watch_all(sink);
}

void Output::broken(Sink& sink, int error) {
    if (sink.broken) return;
    sink.broken = true;
    sink.outlet.close();
    sink.owner = nullptr;
    sink.drops = error != EPIPE;
    if (sink.drops && failure_.empty()) {
        failure_ = &sink != out_ && &sink != error_
                       ? fmt::format("a file in '{}' cannot be written: {}{}", directory_, error_text(error),
                                     error == EMFILE ? "; raise the limit of open files (ulimit -n) of the launcher: "
                                                       "--output-directory takes two for each rank that runs"
                                                     : "")
                       : fmt::format("standard {} cannot be written: {}", &sink == out_ ? "output" : "error", error_text(error));
    }
    for (const auto& source : sources_) {
        if (source->sink != &sink) continue;
        const std::size_t unread = source->unread.size();
        source->held.clear();
        source->unread.clear();
        if (!sink.drops) {
            close(*source);
            if (source->fed) taken_(source->rank, source->error, kNoReader);
        } else {
            if (source->fed && unread > 0) taken_(source->rank, source->error, unread);
            watch(*source);
        }
    }
}

Nanoseconds Output::tick_at() const {
    Nanoseconds due = kNever;
    for (const auto& source : sources_) {
        if (!source->watched) continue;
        if (!source->held.empty() || source->sink->owner == source.get()) due = std::min(due, source->due());
    }
    return due;
}

void Output::tick() {
    const Nanoseconds time = monotonic_now();
    for (const auto& source : sources_) {
        if (!source->watched || source->due() > time) continue;
        Sink& sink = *source->sink;
        if (sink.owner != nullptr && sink.owner != source.get()) {
            source->heard = source->since = monotonic_now();  // it waits once more for the owner's turn to end
        } else if (!source->held.empty() || sink.owner == source.get()) {
            pump(*source, true);
        }
    }
}

void Output::finish() {
    finishing_ = true;
    for (const auto& source : sources_) {
        // A process that SIGKILL has not ended may go on writing. So it is asked only once how much is there.
        if (source->pipe) source->rest = bytes_in(source->pipe.get());
    }
    for (const auto& source : sources_) {
        // If its writer still lives, an empty pipe gives no event, now or later.
        if (source->pipe && source->rest == 0) {
            close(*source);
            pump(*source, true);
        }
        // Read until the pipe is empty, or until its sink takes no more and the poller must run first.
        while (source->pipe && source->watched) readable(*source);
    }
}

void Output::check_files() {
    for (const auto& sink : sinks_) {
        if (const int error = sink->broken ? 0 : sink->outlet.check_file()) broken(*sink, error);
    }
}

bool Output::idle() const {
    for (const auto& source : sources_) {
        if (source->open() || !source->held.empty() || !source->unread.empty()) return false;
    }
    return std::all_of(sinks_.begin(), sinks_.end(), [](const auto& sink) { return sink->outlet.size() == 0; });
}

}  // namespace rollcall::launcher
