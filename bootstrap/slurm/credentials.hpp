/// \file
/// Texts that only processes of this user can read. Each also shows that a process of this user wrote it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bootstrap/rendezvous/authentication.hpp"

namespace rollcall::bootstrap {

/// One thread at a time may use it.
class Credentials {
  public:
    virtual ~Credentials() = default;
    /// The name of the protection of the texts, for messages.
    virtual std::string_view name() const = 0;
    /// Returns a printable text. Throws Error{bootstrap} if the system refuses it.
    virtual std::string encode(std::string_view text) = 0;
    /// Returns the text. If another user wrote it, or if it is too old, returns nothing, with the reason as a clause in `why`.
    virtual std::optional<std::string> decode(const std::string& credential, std::string& why) = 0;
};

/// For connections that show by themselves which user is at the other end. The text stays as it is.
class OpenCredentials final : public Credentials {
  public:
    std::string_view name() const override { return "the socket's own"; }
    std::string encode(std::string_view text) override { return std::string(text); }
    std::optional<std::string> decode(const std::string& credential, std::string&) override { return credential; }
};

/// Encrypts and authenticates with a key that this user's processes share (XSalsa20 and Poly1305).
class KeyCredentials final : public Credentials {
  public:
    explicit KeyCredentials(const Key& key);
    std::string_view name() const override { return "the key file"; }
    std::string encode(std::string_view text) override;
    std::optional<std::string> decode(const std::string& credential, std::string& why) override;

  private:
    Key key_;
};

/// Encrypts by munged, which runs on every node of most clusters under Slurm. It uses the cluster's key, and only this user can decode.
/// `socket` is that of munged; empty: the library's default. Throws Error{bootstrap} if libmunge or munged is not there.
std::unique_ptr<Credentials> munge_credentials(const std::string& socket);

}  // namespace rollcall::bootstrap
