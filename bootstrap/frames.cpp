#include "bootstrap/frames.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <rollcall/error.hpp>

#include "bootstrap/little_endian.hpp"
#include "bootstrap/passing.hpp"

namespace rollcall::bootstrap {
namespace {

template <typename Integer>
void put(Blob& bytes, Integer value) {
    const auto more = little_endian(value);
    bytes.insert(bytes.end(), more.begin(), more.end());
}

[[noreturn]] void refuse(const std::string& why) {
    throw Error(ErrorCode::bootstrap, "the bootstrap connection carries something that is not Rollcall's protocol: " + why);
}

}  // namespace

FrameWriter::FrameWriter(FrameType type) {
    put<std::uint16_t>(bytes_, kFrameMagic);
    put<std::uint16_t>(bytes_, static_cast<std::uint16_t>(type));
    put<std::uint32_t>(bytes_, 0);  // the length is filled in at the end
}

FrameWriter& FrameWriter::u32(std::uint32_t value) {
    put(bytes_, value);
    return *this;
}

FrameWriter& FrameWriter::u64(std::uint64_t value) {
    put(bytes_, value);
    return *this;
}

FrameWriter& FrameWriter::text(std::string_view value) { return blob(std::as_bytes(std::span(value.substr(0, kLongestText)))); }

FrameWriter& FrameWriter::blob(std::span<const std::byte> value) {
    put(bytes_, static_cast<std::uint32_t>(value.size()));
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
}

FrameWriter& FrameWriter::raw(std::span<const std::byte> value) {
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
}

FrameType type_of(std::span<const std::byte> frame) { return static_cast<FrameType>(from_little_endian<std::uint16_t>(frame.subspan(2))); }

Blob FrameWriter::finish() {
    const auto length = little_endian(static_cast<std::uint32_t>(bytes_.size() - kHeaderBytes));
    std::copy(length.begin(), length.end(), bytes_.begin() + 4);
    return std::move(bytes_);
}

std::span<const std::byte> FrameReader::take(std::size_t bytes) {
    if (bytes > rest_.size()) {
        refuse(fmt::format("a frame ends {} bytes before its content does", bytes - rest_.size()));
    }
    const auto taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
}

std::uint32_t FrameReader::u32() { return from_little_endian<std::uint32_t>(take(4)); }
std::uint64_t FrameReader::u64() { return from_little_endian<std::uint64_t>(take(8)); }
std::span<const std::byte> FrameReader::blob() { return take(u32()); }

std::string FrameReader::text() {
    const auto bytes = blob();
    std::string value;
    value.reserve(bytes.size());
    for (const std::byte byte : bytes) value.push_back(static_cast<char>(byte));
    return value;
}

void FrameReader::end() const {
    if (!rest_.empty()) refuse(fmt::format("a frame has {} bytes more than its content", rest_.size()));
}

ssize_t Inbox::read(int socket, std::span<std::byte> into) {
    if (!keeps_descriptors_) {
        const ssize_t count = ::recv(socket, into.data(), into.size(), MSG_DONTWAIT);
        return count < 0 && errno == ENOTSOCK ? ::read(socket, into.data(), into.size()) : count;
    }
    return receive_with_descriptor(socket, into, descriptor_);
}

Inbox::State Inbox::receive(int socket) {
    std::array<std::byte, 65536> chunk;
    // A peer that sends without end must neither keep us here nor fill the memory. So at most one frame of the longest kind is read, and
    // then the frames are handled.
    for (std::size_t taken = 0; taken <= longest_body_ + kHeaderBytes;) {
        const ssize_t count = read(socket, chunk);
        if (count > 0) {
            append(std::span(chunk).first(static_cast<std::size_t>(count)));
            taken += static_cast<std::size_t>(count);
        } else if (count < 0 && errno == EINTR) {
            continue;
        } else {
            return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? State::open : State::closed;
        }
    }
    return State::open;
}

void Inbox::append(std::span<const std::byte> bytes) {
    if (begin_ == bytes_.size()) {
        bytes_.clear();
        begin_ = 0;
    }
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

bool Inbox::skip_to(FrameType type, std::string& dropped) {
    Blob begin = FrameWriter(type).finish();
    begin.resize(sizeof(std::uint16_t) * 2);  // the magic number and the type
    const auto from = bytes_.begin() + static_cast<std::ptrdiff_t>(begin_);
    auto at = std::search(from, bytes_.end(), begin.begin(), begin.end());
    const bool found = at != bytes_.end();
    if (!found) {
        // The last bytes may be the beginning of the frame.
        at -= std::min<std::ptrdiff_t>(bytes_.end() - from, static_cast<std::ptrdiff_t>(begin.size()) - 1);
        while (!std::equal(at, bytes_.end(), begin.begin())) ++at;
    }
    dropped.append(reinterpret_cast<const char*>(bytes_.data()) + begin_, static_cast<std::size_t>(at - from));
    begin_ = static_cast<std::size_t>(at - bytes_.begin());
    return found;
}

std::optional<Frame> Inbox::next() {
    const auto rest = std::span<const std::byte>(bytes_).subspan(begin_);
    if (rest.size() < kHeaderBytes) return std::nullopt;
    const auto magic = from_little_endian<std::uint16_t>(rest);
    const auto type = from_little_endian<std::uint16_t>(rest.subspan(2));
    const std::size_t length = from_little_endian<std::uint32_t>(rest.subspan(4));
    if (magic != kFrameMagic) refuse(fmt::format("a frame begins with {:#06x} instead of {:#06x}", magic, kFrameMagic));
    if (type < static_cast<std::uint16_t>(FrameType::welcome) || type >= static_cast<std::uint16_t>(FrameType::end)) {
        refuse(fmt::format("there is no frame of type {}", type));
    }
    if (length > longest_body_) refuse(fmt::format("a frame of {} bytes; the longest has {}", length, longest_body_));
    if (rest.size() - kHeaderBytes < length) return std::nullopt;
    Frame frame;
    frame.type = static_cast<FrameType>(type);
    const auto body = rest.subspan(kHeaderBytes, length);
    frame.body.assign(body.begin(), body.end());
    begin_ += kHeaderBytes + length;
    if (begin_ == bytes_.size()) {
        bytes_.clear();
        begin_ = 0;
    } else if (begin_ > bytes_.size() / 2) {
        bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_));
        begin_ = 0;
    }
    return frame;
}

bool Outbox::send(int socket) {
    while (!frames_.empty()) {
        const Blob& frame = *frames_.front();
        ssize_t count = ::send(socket, frame.data() + sent_, frame.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0 && errno == ENOTSOCK) count = ::write(socket, frame.data() + sent_, frame.size() - sent_);
        if (count < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
            frames_.clear();
            sent_ = 0;
            return false;
        }
        sent_ += static_cast<std::size_t>(count);
        if (sent_ == frame.size()) {
            frames_.pop_front();
            sent_ = 0;
        }
    }
    return true;
}

Blob encode_welcome(const Place& place) {
    return FrameWriter(FrameType::welcome)
        .u32(kProtocolVersion)
        .i32(place.rank)
        .i32(place.size)
        .i32(place.local_rank)
        .i32(place.local_size)
        .i32(place.hosts)
        .text(place.job)
        .text(place.host)
        .finish();
}

Place decode_welcome(std::span<const std::byte> body) {
    FrameReader reader(body);
    if (const auto version = reader.u32(); version != kProtocolVersion) {
        throw Error(ErrorCode::bootstrap, fmt::format("`rollcall run` speaks version {} of the bootstrap protocol, but this program speaks "
                                                      "version {}; use the `rollcall` command of the same installation as the library",
                                                      version, kProtocolVersion));
    }
    Place place;
    place.rank = reader.i32();
    place.size = reader.i32();
    place.local_rank = reader.i32();
    place.local_size = reader.i32();
    place.hosts = reader.i32();
    place.job = reader.text();
    place.host = reader.text();
    reader.end();
    if (place.size < 1 || place.rank < 0 || place.rank >= place.size || place.local_size < 1 || place.local_rank < 0 ||
        place.local_rank >= place.local_size || place.local_size > place.size || place.hosts < 1 || place.hosts > place.size) {
        refuse(fmt::format("an impossible place: rank {} of {}, local rank {} of {}, {} hosts", place.rank, place.size, place.local_rank,
                           place.local_size, place.hosts));
    }
    return place;
}

Blob encode_notice(const Notice& notice) {
    return FrameWriter(FrameType::notice).i32(notice.rank).i32(notice.ended_by).text(notice.how).finish();
}

Blob encode(const Frame& frame) {
    Blob bytes = FrameWriter(frame.type).finish();
    const auto length = little_endian(static_cast<std::uint32_t>(frame.body.size()));
    std::copy(length.begin(), length.end(), bytes.begin() + 4);
    bytes.insert(bytes.end(), frame.body.begin(), frame.body.end());
    return bytes;
}

Notice decode_notice(std::span<const std::byte> body) {
    FrameReader reader(body);
    Notice notice;
    notice.rank = reader.i32();
    notice.ended_by = reader.i32();
    notice.how = reader.text();
    reader.end();
    return notice;
}

}  // namespace rollcall::bootstrap
