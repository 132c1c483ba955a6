/// \file
/// How two processes of a job show each other that both know the job's key, and how what they say afterwards is protected.
///
/// The handshake has three messages of fixed size. They come before anything else is read or allocated:
///
///     initiator → responder   hello       magic, version, what the initiator is, its nonce
///     responder → initiator   challenge   magic, version, what the responder is, its nonce, its proof
///     initiator → responder   proof
///
/// A proof is a keyed BLAKE2b over the identity of the side that proves, the hello, and the challenge without its proof. So it holds only
/// for these two nonces, these two processes, and this direction. Two session keys come from the same data, one for each direction. Over a
/// network every frame is followed by a seal, which is a keyed BLAKE2b over the number of the frame, its type and length, and a digest of
/// its body. The digest needs no key. So it is made once for a frame that goes to all hosts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <rollcall/error.hpp>

#include "bootstrap/frames.hpp"

namespace rollcall::bootstrap {

inline constexpr std::size_t kKeyBytes = 32;
inline constexpr std::size_t kKeyDigits = 2 * kKeyBytes;
inline constexpr std::size_t kNonceBytes = 32;
inline constexpr std::size_t kProofBytes = 32;
inline constexpr std::size_t kSealBytes = 16;
inline constexpr std::size_t kDigestBytes = 32;

/// A 256-bit secret. The destructor wipes its memory.
class Key {
  public:
    /// Returns a key from the kernel's random source.
    static Key random();
    explicit Key(std::span<const std::byte, kKeyBytes> bytes);
    Key(const Key& other) = default;
    Key& operator=(const Key& other) = default;
    ~Key();

    /// Returns a key, or an identifier, for one purpose: a keyed BLAKE2b over the parts, each with its length.
    Key derive(std::initializer_list<std::string_view> parts) const;
    std::span<const std::byte, kKeyBytes> bytes() const { return bytes_; }

    /// The key as hexadecimal digits. The caller wipes those of a secret.
    using Digits = std::array<char, kKeyDigits>;
    Digits digits() const;
    /// Returns the key with these digits, or nothing if they are not those of a key.
    static std::optional<Key> of_digits(std::string_view digits);

  private:
    std::array<std::byte, kKeyBytes> bytes_{};
};

/// Why a handshake failed.
class HandshakeError : public Error {
  public:
    using Error::Error;
};

/// One side of a handshake.
struct Identity {
    enum class Kind : std::uint32_t {
        rank = 1,  ///< A rank, towards the leader of its host.
        leader,    ///< The leader of a host, towards the root or towards its ranks.
        root,      ///< The root of the job.
        job,       ///< A job towards another job: its first rank, and its size.
    };
    Kind kind = Kind::rank;
    std::int32_t rank = -1;  ///< The rank of the process; -1: a root that is not a rank.
    std::int32_t size = 0;   ///< The size of the job that this process was told; 0: a root that does not know it yet.
    bool operator==(const Identity&) const = default;
};

inline constexpr std::size_t kHelloBytes = 4 + 4 + 12 + kNonceBytes;
inline constexpr std::size_t kChallengeBytes = kHelloBytes + kProofBytes;
using Hello = std::array<std::byte, kHelloBytes>;
using Challenge = std::array<std::byte, kChallengeBytes>;
using Proof = std::array<std::byte, kProofBytes>;

/// What both sides have after a handshake. Only the keys are secret.
struct Session {
    Identity peer;
    Key send;
    Key receive;
};

/// The side that connected. Throws Error{bootstrap} if the other side belongs to another job, or has another version.
class Initiator {
  public:
    Initiator(const Key& key, const Identity& self);
    const Hello& hello() const { return hello_; }
    /// Checks the answer and returns the last message to send.
    Proof answer(const Challenge& challenge);
    /// Call it after answer().
    Session session() const;

  private:
    Key key_;
    Hello hello_;
    std::optional<Challenge> challenge_;
};

/// The side that was connected to. Throws Error{bootstrap} if the other side belongs to another job, or has another version.
class Responder {
  public:
    Responder(const Key& key, const Identity& self);
    /// Checks the form of the hello. A side of another version gets a challenge, too, and learns from it that the versions differ.
    Challenge answer(const Hello& hello);
    /// Checks the proof.
    Session session(const Proof& proof) const;

  private:
    Key key_;
    Identity self_;
    Hello hello_{};
    Challenge challenge_{};
    bool same_version_ = false;
};

/// A BLAKE2b without a key.
using Digest = std::array<std::byte, kDigestBytes>;
Digest digest_of(std::span<const std::byte> bytes);

/// The digest of the body of the frame that was asked for last. The table of all cards goes to each host. If it were hashed for each,
/// the root of a large job would be silent meanwhile, for so long that others would take it for lost.
class LastDigest {
  public:
    const Digest& of(const std::shared_ptr<const Blob>& frame);

  private:
    std::shared_ptr<const Blob> frame_;  ///< It is kept, so that no other frame gets its address.
    Digest digest_{};
};

/// Seals what goes in one direction over a network. Both sides count the frames, so a seal does not fit if a frame was left out,
/// repeated or moved.
class Sealing {
  public:
    explicit Sealing(const Key& key) : key_(key) {}
    /// Returns the frame `seal` that must follow this whole frame.
    Blob seal(std::span<const std::byte> frame) { return seal(frame, digest_of(frame.subspan(kHeaderBytes))); }
    /// The same for a frame whose body has this digest.
    Blob seal(std::span<const std::byte> frame, const Digest& body);
    /// Checks a frame with the seal that came after it. Throws Error{bootstrap}.
    void check(const Frame& frame, const Frame& seal);

  private:
    std::array<std::byte, kSealBytes> of(FrameType type, std::size_t bytes, const Digest& body) const;
    Key key_;
    std::uint64_t number_ = 0;
};

}  // namespace rollcall::bootstrap
