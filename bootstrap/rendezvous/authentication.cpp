#include "bootstrap/rendezvous/authentication.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <sodium.h>
#include <rollcall/error.hpp>

#include "bootstrap/little_endian.hpp"

namespace rollcall::bootstrap {
namespace {

constexpr std::uint32_t kRendezvousVersion = 3;
constexpr std::array<char, 4> kRendezvousMagic = {'R', 'C', 'r', 'v'};
constexpr std::size_t kNonceOffset = kHelloBytes - kNonceBytes;
constexpr const char* kInitiatorProves = "rollcall initiator proves";
constexpr const char* kResponderProves = "rollcall responder proves";
constexpr const char* kInitiatorSends = "rollcall initiator sends";
constexpr const char* kResponderSends = "rollcall responder sends";

void begin_sodium() {
    if (::sodium_init() < 0) throw Error(ErrorCode::bootstrap, "libsodium cannot be initialised: the system gives no random numbers");
}

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }

/// A keyed BLAKE2b hash over several parts.
class KeyedHash {
  public:
    KeyedHash(const Key& key, std::size_t bytes) : bytes_(bytes) {
        ::crypto_generichash_init(&state_, raw(key.bytes().data()), kKeyBytes, bytes_);
    }
    ~KeyedHash() { ::sodium_memzero(&state_, sizeof state_); }
    KeyedHash(const KeyedHash&) = delete;
    KeyedHash& operator=(const KeyedHash&) = delete;

    KeyedHash& add(std::span<const std::byte> part) {
        ::crypto_generichash_update(&state_, raw(part.data()), part.size());
        return *this;
    }
    KeyedHash& add(std::string_view part) { return add(std::as_bytes(std::span(part))); }
    void finish(std::span<std::byte> result) { ::crypto_generichash_final(&state_, raw(result.data()), bytes_); }

  private:
    ::crypto_generichash_state state_;
    std::size_t bytes_;
};

void put_number(std::span<std::byte> to, std::uint32_t value) { std::ranges::copy(little_endian(value), to.begin()); }

std::uint32_t get_number(std::span<const std::byte> from) { return from_little_endian<std::uint32_t>(from); }

/// Writes the magic number, the version, the identity and a new nonce. This is a whole hello, and the beginning of a challenge.
void introduce(std::span<std::byte, kHelloBytes> to, const Identity& self) {
    std::memcpy(to.data(), kRendezvousMagic.data(), kRendezvousMagic.size());
    put_number(to.subspan(4), kRendezvousVersion);
    put_number(to.subspan(8), static_cast<std::uint32_t>(self.kind));
    put_number(to.subspan(12), static_cast<std::uint32_t>(self.rank));
    put_number(to.subspan(16), static_cast<std::uint32_t>(self.size));
    begin_sodium();
    ::randombytes_buf(to.data() + kNonceOffset, kNonceBytes);
}

Identity identity_in(std::span<const std::byte, kHelloBytes> from) {
    Identity identity;
    identity.kind = static_cast<Identity::Kind>(get_number(from.subspan(8)));
    identity.rank = static_cast<std::int32_t>(get_number(from.subspan(12)));
    identity.size = static_cast<std::int32_t>(get_number(from.subspan(16)));
    return identity;
}

bool has_magic(std::span<const std::byte, kHelloBytes> from) {
    return std::memcmp(from.data(), kRendezvousMagic.data(), kRendezvousMagic.size()) == 0;
}

std::uint32_t version_in(std::span<const std::byte, kHelloBytes> from) { return get_number(from.subspan(4)); }

std::span<const std::byte, kHelloBytes> introduction(const Challenge& challenge) { return std::span(challenge).first<kHelloBytes>(); }

void prove(const Key& key, const char* who, const Hello& hello, const Challenge& challenge, std::span<std::byte, kProofBytes> proof) {
    KeyedHash(key, kProofBytes).add(std::string_view(who)).add(hello).add(introduction(challenge)).finish(proof);
}

Key session_key(const Key& key, const char* direction, const Hello& hello, const Challenge& challenge) {
    std::array<std::byte, kKeyBytes> bytes;
    prove(key, direction, hello, challenge, bytes);
    Key result{bytes};
    ::sodium_memzero(bytes.data(), bytes.size());
    return result;
}

[[noreturn]] void refuse_handshake(const std::string& why) { throw HandshakeError(ErrorCode::bootstrap, why); }

[[noreturn]] void refuse_version(std::uint32_t theirs) {
    refuse_handshake(
        fmt::format("the other process speaks version {} of Rollcall's rendezvous, but this one speaks version {}: build all programs of a "
                    "job against the same library",
                    theirs, kRendezvousVersion));
}

}  // namespace

Key Key::random() {
    begin_sodium();
    std::array<std::byte, kKeyBytes> bytes;
    ::randombytes_buf(bytes.data(), bytes.size());
    Key key{bytes};
    ::sodium_memzero(bytes.data(), bytes.size());
    return key;
}

Key::Key(std::span<const std::byte, kKeyBytes> bytes) { std::copy(bytes.begin(), bytes.end(), bytes_.begin()); }

Key::Digits Key::digits() const {
    std::array<char, kKeyDigits + 1> text;  // with the zero that libsodium writes
    ::sodium_bin2hex(text.data(), text.size(), raw(bytes_.data()), kKeyBytes);
    Digits digits;
    std::copy_n(text.begin(), kKeyDigits, digits.begin());
    ::sodium_memzero(text.data(), text.size());
    return digits;
}

std::optional<Key> Key::of_digits(std::string_view digits) {
    std::array<std::byte, kKeyBytes> bytes{};
    std::size_t decoded = 0;
    const bool good = digits.size() == kKeyDigits &&
                      ::sodium_hex2bin(raw(bytes.data()), bytes.size(), digits.data(), digits.size(), nullptr, &decoded, nullptr) == 0 &&
                      decoded == kKeyBytes;
    std::optional<Key> key;
    if (good) key.emplace(bytes);
    ::sodium_memzero(bytes.data(), bytes.size());
    return key;
}

Key::~Key() { ::sodium_memzero(bytes_.data(), bytes_.size()); }

Key Key::derive(std::initializer_list<std::string_view> parts) const {
    begin_sodium();
    KeyedHash hash(*this, kKeyBytes);
    for (const std::string_view part : parts) hash.add(little_endian(std::uint64_t{part.size()})).add(part);
    std::array<std::byte, kKeyBytes> bytes;
    hash.finish(bytes);
    Key key{bytes};
    ::sodium_memzero(bytes.data(), bytes.size());
    return key;
}

Initiator::Initiator(const Key& key, const Identity& self) : key_(key) { introduce(hello_, self); }

Proof Initiator::answer(const Challenge& challenge) {
    if (!has_magic(introduction(challenge))) refuse_handshake("something answers there that is not Rollcall");
    if (const auto version = version_in(introduction(challenge)); version != kRendezvousVersion) refuse_version(version);
    Proof expected;
    prove(key_, kResponderProves, hello_, challenge, expected);
    if (::sodium_memcmp(expected.data(), challenge.data() + kHelloBytes, kProofBytes) != 0) {
        refuse_handshake("the process that answers there does not know this job's key: it belongs to another job");
    }
    challenge_ = challenge;
    Proof proof;
    prove(key_, kInitiatorProves, hello_, challenge, proof);
    return proof;
}

Session Initiator::session() const {
    if (!challenge_) throw Error(ErrorCode::state, "a handshake that is not finished has no session");
    return {identity_in(introduction(*challenge_)), session_key(key_, kInitiatorSends, hello_, *challenge_),
            session_key(key_, kResponderSends, hello_, *challenge_)};
}

Responder::Responder(const Key& key, const Identity& self) : key_(key), self_(self) {}

Challenge Responder::answer(const Hello& hello) {
    if (!has_magic(hello)) refuse_handshake("the other side is not Rollcall");
    hello_ = hello;
    same_version_ = version_in(hello) == kRendezvousVersion;
    introduce(std::span(challenge_).first<kHelloBytes>(), self_);
    prove(key_, kResponderProves, hello_, challenge_, std::span(challenge_).last<kProofBytes>());
    return challenge_;
}

Session Responder::session(const Proof& proof) const {
    if (!same_version_) refuse_version(version_in(hello_));
    Proof expected;
    prove(key_, kInitiatorProves, hello_, challenge_, expected);
    if (::sodium_memcmp(expected.data(), proof.data(), kProofBytes) != 0) {
        refuse_handshake("the other side does not know this job's key");
    }
    return {identity_in(hello_), session_key(key_, kResponderSends, hello_, challenge_),
            session_key(key_, kInitiatorSends, hello_, challenge_)};
}

Digest digest_of(std::span<const std::byte> bytes) {
    Digest digest;
    ::crypto_generichash(raw(digest.data()), digest.size(), raw(bytes.data()), bytes.size(), nullptr, 0);
    return digest;
}

const Digest& LastDigest::of(const std::shared_ptr<const Blob>& frame) {
    if (frame_ != frame) {
        digest_ = digest_of(std::span(*frame).subspan(kHeaderBytes));
        frame_ = frame;
    }
    return digest_;
}

std::array<std::byte, kSealBytes> Sealing::of(FrameType type, std::size_t bytes, const Digest& body) const {
    std::array<std::byte, kSealBytes> seal;
    KeyedHash(key_, kSealBytes)
        .add(little_endian(number_))
        .add(little_endian(static_cast<std::uint16_t>(type)))
        .add(little_endian(std::uint64_t{bytes}))
        .add(body)
        .finish(seal);
    return seal;
}

Blob Sealing::seal(std::span<const std::byte> frame, const Digest& body) {
    const auto seal = of(type_of(frame), frame.size() - kHeaderBytes, body);
    ++number_;
    return FrameWriter(FrameType::seal).raw(seal).finish();
}

void Sealing::check(const Frame& frame, const Frame& seal) {
    const auto expected = of(frame.type, frame.body.size(), digest_of(frame.body));
    ++number_;
    if (seal.type != FrameType::seal || seal.body.size() != kSealBytes ||
        ::sodium_memcmp(expected.data(), seal.body.data(), kSealBytes) != 0) {
        throw Error(ErrorCode::bootstrap,
                    "a frame has no seal, or a wrong one: it does not come from the process to which this connection was made");
    }
}

}  // namespace rollcall::bootstrap
