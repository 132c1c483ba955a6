/// \file
/// The control messages by which two ranks agree on a message that the receiver reads from the sender's memory (single_copy.hpp).
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "transports/process_memory.hpp"
#include "transports/single_copy.hpp"

namespace rollcall::transport::single_copy {

inline std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

enum class ControlKind : std::uint8_t {
    offer,  ///< A message. The payload consists of an Announcement and the header of the message.
    taken,  ///< The receiver has read the bytes, or does not want them.
    ask,    ///< The question "can you read my memory?"
    can     ///< The answer "I can".
};

/// The header of every control message.
struct ControlHeader {
    std::byte mark = kSingleCopyMark;
    ControlKind kind{};
    std::uint16_t reserved = 0;
    std::int32_t source = -1;
    std::uint64_t record = 0;  ///< The number of the sender's record. The stamp that follows tells uses of a record apart.
    std::uint64_t stamp = 0;
};

inline std::array<std::byte, sizeof(ControlHeader)> bytes_of(const ControlHeader& control) {
    std::array<std::byte, sizeof(ControlHeader)> bytes;
    std::memcpy(bytes.data(), &control, sizeof control);
    return bytes;
}

/// Where the bytes of a message are in the sender's memory, and where its OfferState is.
struct Announcement {
    std::uint64_t address, size, state_address;
};

struct Peer {
    SingleCopyHandle handle;
    bool reads = false;  ///< The peer has said that it can read this process's memory.
    bool gone = false;
};

/// A message that another process has announced.
struct Offered {
    std::int32_t source;
    std::uint64_t record, stamp;
    Announcement where;
};

/// A message that this process reads.
struct Fetch {
    Offered* from;
    Bytes into;
    std::uint64_t address;  ///< Where the sender has the bytes.
    std::uint64_t read;     ///< How many bytes have been read.
    Completion* completion;
};

/// How a fetch ends if memory could not be read just now, for the reason in errno. Only the end of the sender is the loss of a peer. All
/// other reasons concern one buffer, for example memory of a device, or one that this process may not write.
inline Outcome outcome_of_failed_read() { return errno == ESRCH ? Outcome::failed : Outcome::unreadable; }

/// The same of an OfferState, which is in memory of the runtime. A living process always has that memory.
inline Outcome outcome_of_failed_look() { return errno == EFAULT ? Outcome::failed : outcome_of_failed_read(); }

/// What the receiver reads in the sender's memory after it has read the bytes.
struct OfferState {
    std::atomic<std::uint64_t> stamp = 0;    ///< The stamp of the offer, as long as the sender stands by the message; else 0.
    std::atomic<std::uint64_t> address = 0;  ///< Where the bytes are now. If that is elsewhere, the receiver reads them again there.
};

struct OfferStateNow {
    std::uint64_t stamp, address;
};
static_assert(sizeof(OfferStateNow) == sizeof(OfferState));

/// Reads an OfferState in another process. If that is not possible it returns nothing, and errno says why.
inline std::optional<OfferStateNow> read_offer_state(std::int32_t process, std::uint64_t address) {
    OfferStateNow state;
    if (!read_memory(process, address, &state, sizeof state)) return std::nullopt;
    return state;
}

}  // namespace rollcall::transport::single_copy
