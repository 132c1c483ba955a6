/// \file
/// The words by which two ranks agree on a message that the receiver reads from the sender's memory (single_copy.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "transports/single_copy.hpp"

namespace rollcall::transport::single_copy {

enum class Word : std::uint8_t {
    offer,  ///< A message. The payload consists of an Announcement and the header of the message.
    taken,  ///< The receiver has read the bytes, or does not want them.
    ask,    ///< The question "can you read my memory?"
    can     ///< The answer "I can".
};

/// The header of every word.
struct Heading {
    std::byte mark = kSingleCopyMark;
    Word word{};
    std::uint16_t reserved = 0;
    std::int32_t source = -1;
    std::uint64_t record = 0;  ///< The number of the sender's record. The stamp that follows tells uses of a record apart.
    std::uint64_t stamp = 0;
};

/// Where the bytes of a message are in the sender's memory, and where its Standing is.
struct Announcement {
    std::uint64_t address, size, standing_address;
};

/// What the receiver reads in the sender's memory after it has read the bytes.
struct Standing {
    std::atomic<std::uint64_t> stamp = 0;    ///< The stamp of the offer, as long as the sender stands by the message; else 0.
    std::atomic<std::uint64_t> address = 0;  ///< Where the bytes are now. If that is elsewhere, the receiver reads them again there.
};

}  // namespace rollcall::transport::single_copy
