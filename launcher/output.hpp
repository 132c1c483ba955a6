/// \file
/// What the ranks write, on its way to the launcher's own standard output and error.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rollcall/time.hpp>

#include "foundation/descriptor.hpp"
#include "launcher/poller.hpp"

namespace rollcall::launcher {

/// Passes the ranks' output on: every byte once, in each stream's order, and no line of one rank within a line of another
/// unless that one pauses in it.
///
/// A line is held until its end has come. An unfinished line is passed on when its rank exits, or when nothing more of
/// it has come for a moment (a prompt); one that is very long is passed on in pieces, while the others wait, until it
/// ends or pauses for a moment. What comes after somebody's unfinished line follows it without a break; with tags it begins
/// on a line of its own.
///
/// Memory is bounded: when the output is not taken, the ranks' pipes are not read, and the ranks block as they would
/// without a launcher. When the output is closed, so are the pipes: a rank that writes then gets SIGPIPE, as it would
/// without one.
class Output {
  public:
    /// Told how much of a fed stream has been passed on. More than was fed: nobody reads it any more.
    using Taken = std::function<void(int rank, bool error, std::size_t bytes)>;

    /// What each line begins with.
    struct Beginning {
        bool rank = false;
        bool time = false;  ///< Of day, on this host, when it is passed on.
        bool any() const { return rank || time; }
    };

    /// `out` and `error` are the descriptors written to; when they are the same file, both streams share one order. With
    /// a `directory` (which is made), the ranks write to rank.N.out and rank.N.err there instead.
    Output(Poller& poller, int out, int error, Beginning beginning, std::string directory, Taken taken);
    ~Output();

    /// Takes over the reading end of a rank's pipe.
    void add(int rank, bool error, Descriptor pipe);
    /// What a rank on another host wrote; no bytes: that stream has ended.
    void feed(int rank, bool error, std::string_view bytes);
    /// No more comes of what was not ended: its host is gone.
    void end_fed();
    /// Whether all has come of a rank on another host.
    bool has_all_of(int rank) const;
    /// A line of the launcher's own, on standard error.
    void say(std::string_view sentence);
    /// When tick() is due.
    Nanoseconds tick_at() const;
    /// Passes on what has waited long enough.
    void tick();
    /// All writers are gone: what the pipes hold now is all there is.
    void finish();
    /// True when nothing is on its way any more.
    bool idle() const;
    /// Not empty when the output could not be written, other than because its reader is gone.
    const std::string& failure() const { return failure_; }

  private:
    struct Sink;
    struct Source;

    Source& add_source(int rank, bool error);
    void readable(Source& source);
    void read_fed(Source& source);
    void pump(Source& source, bool all);
    void pump_others(Sink& sink);
    void emit(Source& source, std::string_view bytes);
    void flush(Sink& sink);
    void broken(Sink& sink, int error);
    void watch(Source& source);
    void watch_all(Sink& sink);
    void close(Source& source);
    void open(Sink& sink, int descriptor);

    Poller& poller_;
    Beginning beginning_;
    bool finishing_ = false;
    std::string failure_;
    std::string directory_;
    Taken taken_;
    std::map<std::pair<int, bool>, Source*> fed_;
    std::vector<std::unique_ptr<Sink>> sinks_;  // one or two, and the files
    Sink* out_ = nullptr;
    Sink* error_ = nullptr;
    std::vector<std::unique_ptr<Source>> sources_;
};

}  // namespace rollcall::launcher
