/// \file
/// Texts that only processes of this user can read, and that show that one of them wrote them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bootstrap/rendezvous/authentication.hpp"

namespace rollcall::bootstrap {

/// Threads: one at a time.
class Credentials {
  public:
    virtual ~Credentials() = default;
    /// What protects them, for messages.
    virtual std::string_view name() const = 0;
    /// A printable text. Throws Error{bootstrap} when the system refuses it.
    virtual std::string encode(std::string_view text) = 0;
    /// The text; nothing, and why as a clause, when this user has not written it, or not now.
    virtual std::optional<std::string> decode(const std::string& credential, std::string& why) = 0;
};

/// For connections that show by themselves whose they are: the text as it is.
class OpenCredentials final : public Credentials {
  public:
    std::string_view name() const override { return "the socket's own"; }
    std::string encode(std::string_view text) override { return std::string(text); }
    std::optional<std::string> decode(const std::string& credential, std::string&) override { return credential; }
};

/// By a key that this user's processes share: encrypted and authenticated (XSalsa20 and Poly1305).
class KeyCredentials final : public Credentials {
  public:
    explicit KeyCredentials(const Key& key);
    std::string_view name() const override { return "the key file"; }
    std::string encode(std::string_view text) override;
    std::optional<std::string> decode(const std::string& credential, std::string& why) override;

  private:
    Key key_;
};

/// By munged, which runs on every node of most clusters under Slurm: encrypted under the cluster's key, for this user only.
/// `socket`: that of munged; empty: the library's default. Throws Error{bootstrap} when libmunge or munged is not there.
std::unique_ptr<Credentials> munge_credentials(const std::string& socket);

}  // namespace rollcall::bootstrap
