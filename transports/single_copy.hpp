/// \file
/// Large messages between processes of one kernel: the receiver copies them straight out of the sender's memory (process_vm_readv of Linux,
/// cross-memory attach). This takes one copy instead of two, and the sender need not run meanwhile.
///
/// This transport wraps another one, the inner transport. A large message to a peer that can read this process's memory becomes a short
/// message of the inner transport, which says where the bytes are. The receiver offers it to its sink, reads the bytes when it is told to
/// fetch them, and confirms that with another short message. The inner transport does everything else. The first message to a peer also
/// asks the peer whether it can read (the system may forbid it: Yama, seccomp, another user). Until the peer has confirmed that it can,
/// large messages go through the inner transport.
///
/// A buffer can be given back at any time (Transport::release()). The sender then clears a stamp that belongs to the message. A receiver
/// looks at the stamp after it has read the bytes. If the stamp is no longer there, the bytes may be anything, and the fetch ends as
/// withdrawn.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "transports/transport.hpp"

namespace rollcall::transport {

/// What a rank tells the others, so that they find its memory.
struct SingleCopyHandle {
    std::uint64_t domain = 0;  ///< Ranks with the same value can look each other up (node_identity()). 0: no rank reads this rank's memory.
    std::int32_t process = 0;
    std::uint64_t witness = 0;  ///< Address of a word that holds the value `cookie`.
    std::uint64_t cookie = 0;
};

/// Whether this process can read the memory of the process that the handle is from.
bool can_read(const SingleCopyHandle& handle);

/// The first byte of this transport's own headers. The headers of its user must not begin with it.
inline constexpr std::byte kSingleCopyMark{0xff};

class SingleCopy : public Transport {
  public:
    /// The handle of this process. It is valid as long as the transport lives.
    virtual SingleCopyHandle handle() const = 0;
    /// Gives the handles of all ranks. Until it is called, all messages go through the inner transport.
    virtual void meet(std::span<const SingleCopyHandle> handles) = 0;
};

/// `ranks`: the number of ranks of the job. `longest_at_once`: how many bytes are read before progress is made in between. To be used where
/// why_memory_cannot_be_read() gives no reason. Elsewhere it works, too, but asks in vain whether each peer can read.
std::unique_ptr<SingleCopy> with_single_copy(std::unique_ptr<Transport> inner, int rank, int ranks,
                                             std::uint64_t longest_at_once = std::uint64_t{256} << 10);

}  // namespace rollcall::transport
