/// \file
/// Writes bytes to one of the launcher's own streams, or to a file.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "foundation/descriptor.hpp"
#include "launcher/streams/poller.hpp"

namespace rollcall::launcher {

/// Holds what the stream does not take yet. Blocks only in writes to files. Must not be moved while it is open.
class Outlet {
  public:
    /// Called when the reader of a pipe or socket is gone (`gone`), or when there is room again.
    using Changed = std::function<void(bool gone)>;

    explicit Outlet(Poller& poller) : poller_(poller) {}

    /// Writes to this descriptor, which other processes may have too. Returns false when it is not open.
    bool open(int descriptor, Changed changed);
    /// Makes this file and writes to it. Returns false when it cannot be made; errno says why.
    bool create(const std::string& path);
    void add(std::string_view bytes) { waiting_.append(bytes); }
    /// The number of bytes that are not written yet.
    std::size_t size() const { return waiting_.size() - written_; }
    /// Writes as much as the stream takes. Returns the errno of a failure, or 0.
    int flush();
    /// Returns the errno that closing a file would give, or 0. Some file systems (NFS) write only then, and only then say that they are
    /// full.
    int check_file() const;
    /// Closes a file, in which all bytes are written. Returns the errno of a failure, or 0.
    int close_file();
    /// Drops the bytes that are not written.
    void close();

  private:
    long write_some();

    Poller& poller_;
    int descriptor_ = -1;
    Descriptor own_;  // a description of our own, non-blocking, where one can be had
    enum { file, socket, stream, shared_stream } kind_ = file;
    bool polled_ = false;  // in the poller
    bool armed_ = false;   // waiting for room
    std::string waiting_;
    std::size_t written_ = 0;  // of waiting_
};

}  // namespace rollcall::launcher
