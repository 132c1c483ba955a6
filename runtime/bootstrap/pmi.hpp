/// \file
/// A rank that a launcher started which speaks PMI-1: mpiexec.hydra (MPICH, Intel MPI) and others.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/bootstrap/bootstrap.hpp"
#include "runtime/bootstrap/descriptor.hpp"

namespace rollcall::bootstrap {

/// The wire protocol of PMI-1 over an inherited socket: lines of `cmd=... key=value`, one answer for each question, and a
/// key-value store that is common to the job after a barrier.
///
/// A blob travels as hexadecimal digits in values of at most 512 characters, with its length and a checksum: some process
/// managers cut longer values, or lose them, without a word.
///
/// What PMI-1 cannot tell: who died. The process manager ends the whole job when a process ends badly; survivors hear of a
/// death only from their transport before that.
///
/// Threads: as Bootstrap says; abort() may be called by any thread at any time.
class Pmi final : public Bootstrap {
  public:
    /// Takes over the descriptor (close-on-exec from here on) and joins the job; the first exchange, of host names, is a part
    /// of that. Throws Error{bootstrap, timeout}.
    Pmi(int descriptor, int rank, int size, Timeout timeout);

    std::string_view name() const override { return "a launcher that speaks PMI-1"; }
    const Place& place() const override { return place_; }
    std::vector<Blob> exchange(std::span<const std::byte> mine, const Meanwhile& meanwhile, Timeout timeout) override;
    void barrier(const Meanwhile& meanwhile, Timeout timeout) override;
    int notice_descriptor() const override { return -1; }
    std::optional<Notice> take_notice() override { return std::nullopt; }
    void leave() noexcept override;
    void abort(int code, std::string_view why) noexcept override;

  private:
    class Answer;
    Answer ask(std::string_view question, std::string_view answer, const Meanwhile& meanwhile, Timeout timeout);
    void send(std::string_view line);
    std::string key(int rank, std::size_t segment) const;

    Place place_;
    Descriptor socket_;
    std::string received_;  ///< Of the next answer.
    std::string space_;     ///< Name of the key-value store.
    std::uint64_t exchanges_ = 0;
    std::mutex sending_;  ///< abort() may come from any thread.
};

/// Joins by what the environment says (PMI_FD, PMI_RANK, PMI_SIZE), and takes that out of it: what this program starts is no
/// rank of the job. Throws as Pmi().
std::unique_ptr<Bootstrap> join_pmi();

}  // namespace rollcall::bootstrap
