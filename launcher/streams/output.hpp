/// \file
/// Passes what the ranks write to the launcher's own standard output and error.
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
#include "launcher/streams/poller.hpp"

namespace rollcall::launcher {

/// Passes on the output of the ranks: every byte once, in the order of each stream. A line of one rank does not come
/// within a line of another one, unless that one pauses within its line.
///
/// A line is held until its end has come. A carriage return ends it too, as in a progress bar. An unfinished line is
/// passed on when its rank exits, when nothing more of it has come for a moment (a prompt), or when its beginning has
/// waited for a second. A very long line is passed on in pieces, while the other ranks wait, until
/// it ends or pauses for a moment. What comes after an unfinished line of another rank follows it without a break;
/// with tags it begins on a line of its own.
///
/// Memory is bounded. When the output is not taken, the pipes of the ranks are not read, and the ranks block as they
/// would without a launcher. When the reader of the output is gone, the pipes are closed: a rank that writes then gets
/// SIGPIPE, as it would without a launcher. When the output cannot be written for another reason, failure() says why.
/// Then what the ranks write is read and lost, until the owner ends them.
class Output {
  public:
    /// Called with how much of a fed stream has been passed on. If this is more than was fed, the stream has no reader
    /// any more.
    using Taken = std::function<void(int rank, bool error, std::size_t bytes)>;

    /// The text at the beginning of each line.
    struct Beginning {
        bool rank = false;
        bool time = false;  ///< The time of day on this host when the line is passed on.
        bool any() const { return rank || time; }
    };

    /// `out` and `error` are the descriptors to write to. If they are the same file, both streams share one order.
    /// With a `directory`, which is made, the ranks write to the files rank.N.out and rank.N.err there instead. Throws
    /// Error{invalid_argument} if it cannot be made or takes no files.
    Output(Poller& poller, int out, int error, Beginning beginning, std::string directory, Taken taken);
    ~Output();

    /// Takes over the reading end of a rank's pipe.
    void add(int rank, bool error, Descriptor pipe);
    /// Passes on what a rank on another host wrote. No bytes mean that the stream has ended.
    void feed(int rank, bool error, std::string_view bytes);
    /// Ends the fed streams that have not ended, because their host is gone.
    void end_fed();
    /// Whether all output of a rank on another host has come.
    bool has_all_of(int rank) const;
    /// Writes a line of the launcher's own to standard error. While some MiB wait there, lines are left out, and one says so.
    void say(std::string_view sentence);
    /// When tick() is due.
    Nanoseconds tick_at() const;
    /// Passes on what has waited long enough.
    void tick();
    /// All writers are gone: no more than what the pipes hold now will come. A writer that cannot be ended may still be
    /// there; what it writes from now on is lost.
    void finish();
    /// True when no output is waiting any more.
    bool idle() const;
    /// Asks the files that all output is in whether it is there. Call this when idle() is true.
    void check_files();
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
