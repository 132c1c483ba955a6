/// \file
/// Large messages between processes of one kernel: the receiver copies them straight out of the sender's memory (process_vm_readv of
/// Linux, cross-memory attach). One copy instead of two, and the sender need not run meanwhile.
///
/// It stands around a transport. A large message to a peer that can read this process's memory becomes a short message of the inner
/// transport that says where the bytes are; the receiver offers it to its sink, reads the bytes when it is told to fetch them, and says so
/// with another short message. Everything else is the inner transport's. A peer is asked with the first message to it whether it can read
/// (the system may forbid it: Yama, seccomp, another user). Until it has said yes, large messages take the inner transport's way.
///
/// A buffer can be given back at any time (Transport::release()). The sender then clears a stamp that belongs to the message. A receiver
/// looks at the stamp after it has read the bytes: where it is no longer there, the bytes may be anything, and the fetch ends as withdrawn.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transports/transport.hpp"

namespace rollcall::transport {

/// What a rank tells the others: where they find its memory.
struct SingleCopyHandle {
    std::uint64_t domain = 0;  ///< Ranks with the same one can look each other up (node_identity()). 0: nobody reads this rank's memory.
    std::int32_t process = 0;
    std::uint64_t witness = 0;  ///< Address of a word that has the value `cookie`.
    std::uint64_t cookie = 0;
};

/// The first byte of a header of its own. The headers of whoever uses the transport must not begin with it.
inline constexpr std::byte kSingleCopyMark{0xff};

class SingleCopy : public Transport {
  public:
    /// Of this process. It is valid as long as the transport lives.
    virtual SingleCopyHandle handle() const = 0;
    /// The handles of all ranks. Before it is called, all messages go the inner transport's way.
    virtual void meet(std::span<const SingleCopyHandle> handles) = 0;
};

/// `ranks`: of the job. `longest_at_once`: bytes that are read without progressing in between.
std::unique_ptr<SingleCopy> with_single_copy(std::unique_ptr<Transport> inner, int rank, int ranks,
                                             std::uint64_t longest_at_once = std::uint64_t{256} << 10);

}  // namespace rollcall::transport
