/// \file
/// The protocol between a launcher and each process that it started, over a stream socket that only these two hold.
///
/// Every frame is an 8-byte header (magic, type, length of the body; little-endian) and a body. In order of appearance:
///
///     launcher → rank   welcome    version, place; carries the descriptor of the rank's notice socket (SCM_RIGHTS)
///     rank → launcher   join       process id
///     rank → launcher   exchange   sequence, blob      } all ranks call in the same order; the launcher answers when all
///     rank → launcher   barrier    sequence            } have called, or when one that has not is gone
///     launcher → rank   gathered   sequence, one blob per rank
///     launcher → rank   gathered_memory  sequence, bytes: as gathered, in memory whose descriptor comes along (SCM_RIGHTS)
///     launcher → rank   released   sequence
///     launcher → rank   failed     sequence, error code, rank, sentence
///     rank → launcher   abort      exit code, why
///     rank → launcher   leave                            in good order: the end of the rank is no loss
///     rank → launcher   farewell   why                  the end of the rank, which comes next, is a loss of this kind
///
/// The welcome is in the socket before the rank starts. So joining needs no round trip, and a descriptor without a
/// welcome does not come from a launcher of Rollcall. Notices travel on a socket of their own (one record each: a whole
/// frame):
///
///     launcher → rank   notice     rank, the rank that ended the job, how: a rank is lost, or (rank -1) the job is being ended
///
/// So the thread that waits for an answer and the thread that watches for deaths never read each other's frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "bootstrap/bootstrap.hpp"
#include "foundation/descriptor.hpp"

namespace rollcall::bootstrap {

inline constexpr std::uint16_t kFrameMagic = 0x4352;  ///< "RC": shows at the first frame whether a stream is Rollcall's.
/// Each change of a frame between launcher and rank needs a new version. For `notice`, kAgentProtocol needs one, too.
inline constexpr std::uint32_t kProtocolVersion = 3;
inline constexpr std::size_t kHeaderBytes = 8;
/// The maximal size of the blob of one rank. Addresses take hundreds of bytes. A MiB has room for many devices, but
/// cannot fill memory.
inline constexpr std::size_t kLongestBlob = std::size_t{1} << 20;
/// The maximal size of a frame that a launcher takes from a rank: a blob with its sequence.
inline constexpr std::size_t kLongestRequest = kLongestBlob + 64;
/// The maximal size of a frame that a rank takes from its launcher: the blobs of all ranks. 256 MiB are 256 ranks of
/// the longest blob, or 256 Ki ranks of one KiB.
inline constexpr std::size_t kLongestAnswer = std::size_t{256} << 20;
/// The maximal size of a welcome or a notice: a few short texts. It is small enough that a socket takes one whole.
inline constexpr std::size_t kLongestWelcome = 4096;
/// The maximal length of a text in a frame. The sender cuts longer texts.
inline constexpr std::size_t kLongestText = 1024;

enum class FrameType : std::uint16_t {
    welcome = 1,
    join,
    exchange,
    barrier,
    gathered,
    gathered_memory,
    released,
    failed,
    abort,
    leave,
    notice,
    // Between the hubs of a job's nodes (hub.hpp).
    contribution,  ///< Up: sequence, kind, count, (rank, blob) for each of them.
    refusal,       ///< Up: sequence, error code, sentence. The root answers with `failed`.
    loss,          ///< Up, and down again to all: last call, whether it is news, host, how, ranks.
    // Between `rollcall run` and its agents on other hosts (launcher/protocol.hpp).
    agent_hello,
    agent_order,
    agent_prepared,
    agent_go,
    agent_exited,
    agent_joined,
    agent_output,
    agent_taken,
    agent_input,
    agent_input_taken,
    agent_signal,
    agent_kill,
    agent_finish,
    agent_finished,
    agent_lost,
    agent_stacks,
    agent_stacks_done,
    // Between the leaders of a rendezvous and its root (rendezvous/service.hpp).
    seal,       ///< Follows each other frame that goes over a network, and proves who sent it.
    heartbeat,  ///< Both ways, also between `rollcall run` and its agents: no contents; shows that the sender is alive.
    arrived,    ///< Up: a rank has come; rank, size as it was told, host.
    assembled,  ///< Down: all have come; job, size, hosts.
    // Between two jobs that become connected (rendezvous/job_listener.hpp).
    introduction,  ///< Both ways: what a job says of itself.
    invitation,    ///< From the job that listens: the invitation to the rendezvous of both jobs.
    farewell,      ///< From a rank to its launcher or to the leader of its host. It is here so that no other frame gets another number.
    end,           ///< Not a frame: the parser refuses this and larger values.
};

struct Frame {
    FrameType type = FrameType::welcome;
    Blob body;
};

/// Builds one frame. Integers are little-endian. Texts and blobs are preceded by their 32-bit length.
class FrameWriter {
  public:
    explicit FrameWriter(FrameType type);
    FrameWriter& u32(std::uint32_t value);
    FrameWriter& u64(std::uint64_t value);
    FrameWriter& i32(std::int32_t value) { return u32(static_cast<std::uint32_t>(value)); }
    FrameWriter& text(std::string_view value);  ///< Cut to kLongestText.
    FrameWriter& blob(std::span<const std::byte> value);
    FrameWriter& raw(std::span<const std::byte> value);  ///< Without its length.
    /// Returns the frame with its header. The writer is empty then.
    Blob finish();

  private:
    Blob bytes_;
};

/// Reads the body of one frame. Throws Error{bootstrap} when the body is too short for the value that is read.
class FrameReader {
  public:
    explicit FrameReader(std::span<const std::byte> body) : rest_(body) {}
    std::uint32_t u32();
    std::uint64_t u64();
    std::int32_t i32() { return static_cast<std::int32_t>(u32()); }
    std::string text();
    std::span<const std::byte> blob();
    /// Throws if bytes are left.
    void end() const;

  private:
    std::span<const std::byte> take(std::size_t bytes);
    std::span<const std::byte> rest_;
};

/// The bytes that came from a stream, and the frames in them. It uses memory for what has come, and never for what a
/// header claims.
class Inbox {
  public:
    /// Frames with bodies longer than this are refused.
    explicit Inbox(std::size_t longest_body) : longest_body_(longest_body) {}

    /// From now on, the latest descriptor that comes with a frame (SCM_RIGHTS) is kept.
    void keep_descriptors() { keeps_descriptors_ = true; }
    Descriptor take_descriptor() { return std::move(descriptor_); }

    enum class State { open, closed };
    /// Reads what is there, without blocking, up to one frame of the maximal size. A broken connection counts as
    /// closed. A pipe must be non-blocking.
    State receive(int socket);
    void append(std::span<const std::byte> bytes);
    /// Returns the next whole frame. Throws Error{bootstrap} when what came is not a frame. The stream cannot be used
    /// after that.
    std::optional<Frame> next();
    /// Drops what came before a frame of this type, and appends it to `dropped`. Returns false if that frame has not
    /// begun.
    bool skip_to(FrameType type, std::string& dropped);

  private:
    ssize_t read(int socket, std::span<std::byte> into);

    std::size_t longest_body_;
    bool keeps_descriptors_ = false;
    Descriptor descriptor_;
    Blob bytes_;
    std::size_t begin_ = 0;
};

/// Frames that are to be sent to a stream socket, or to a non-blocking pipe, which may take only a part of them. A
/// frame for many ranks is shared.
class Outbox {
  public:
    void add(std::shared_ptr<const Blob> frame) { frames_.push_back(std::move(frame)); }
    void add(Blob frame) { add(std::make_shared<const Blob>(std::move(frame))); }
    bool empty() const { return frames_.empty(); }
    /// Sends what the socket takes, without blocking. Returns false when the other side is gone; frames that are left
    /// are dropped.
    bool send(int socket);

  private:
    std::deque<std::shared_ptr<const Blob>> frames_;
    std::size_t sent_ = 0;  // of the first frame
};

// The frames that both sides must agree on.

Blob encode_welcome(const Place& place);
/// Throws Error{bootstrap} for another protocol version.
Place decode_welcome(std::span<const std::byte> body);
Blob encode_notice(const Notice& notice);
Notice decode_notice(std::span<const std::byte> body);
/// The type of a whole frame that this process made.
FrameType type_of(std::span<const std::byte> frame);
/// Encodes a frame as it was before it was read.
Blob encode(const Frame& frame);

/// The names of the variables that `rollcall run` sets in the environment of a rank.
inline constexpr const char* kDescriptorVariable = "ROLLCALL_BOOTSTRAP_FD";
inline constexpr const char* kJobVariable = "ROLLCALL_BOOTSTRAP_JOB";
inline constexpr const char* kRankVariable = "ROLLCALL_BOOTSTRAP_RANK";
inline constexpr const char* kSizeVariable = "ROLLCALL_BOOTSTRAP_SIZE";
inline constexpr std::string_view kVariablePrefix = "ROLLCALL_BOOTSTRAP_";
/// find_bootstrap() sets this variable to mark_of_this_process() when the process has joined. Other copies of the library in the process
/// then find it.
inline constexpr const char* kJoinedVariable = "ROLLCALL_BOOTSTRAP_JOINED";
/// A text that only this process has, and that every copy of the library in it can make.
std::string mark_of_this_process();

}  // namespace rollcall::bootstrap
