#include "bootstrap/starters/embedded.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sodium.h>
#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/hosted.hpp"
#include "bootstrap/rendezvous/invitation.hpp"
#include "bootstrap/rendezvous/rendezvous.hpp"

namespace rollcall::bootstrap {
namespace {

constexpr const char* kEmbeddedName = "the program that Rollcall is embedded in";

static_assert(UniqueId::kBytes <= kLongestInvitation);

/// Returns the text up to the first zero.
std::string text_in(std::span<const std::byte> bytes) {
    const auto end = std::find(bytes.begin(), bytes.end(), std::byte{0});
    std::string text(static_cast<std::size_t>(end - bytes.begin()), '\0');
    std::memcpy(text.data(), bytes.data(), text.size());
    return text;
}

std::string share_by(const Embedding& embedding, const std::string& mine) {
    std::vector<std::byte> own(kLongestInvitation);
    std::memcpy(own.data(), mine.data(), mine.size());
    std::vector<std::byte> all(own.size() * static_cast<std::size_t>(embedding.size));
    embedding.allgather(own, all);
    std::string text = text_in(std::span(all).first(own.size()));
    ::sodium_memzero(own.data(), own.size());
    ::sodium_memzero(all.data(), all.size());
    if (text.empty()) throw Error(ErrorCode::bootstrap, "the embedding program's allgather gave no data of rank 0");
    return text;
}

}  // namespace

std::unique_ptr<Bootstrap> join_embedding(const Embedding& embedding) {
    const auto refuse = [&](const char* why) {
        throw Error(ErrorCode::invalid_argument, fmt::format("an embedding of rank {} of {}: {}", embedding.rank, embedding.size, why));
    };
    if (embedding.size < 1 || embedding.rank < 0 || embedding.rank >= embedding.size) refuse("there is no such rank");
    if (embedding.unique_id.has_value() == static_cast<bool>(embedding.allgather))
        refuse(embedding.unique_id ? "it needs a unique id or an allgather, and has both"
                                   : "it needs a unique id or an allgather, and has neither");
    RendezvousOptions options = rendezvous_options();
    if (embedding.unique_id) {
        options.invitation = text_in(embedding.unique_id->bytes);
        options.root = "the process that made the unique id";  // which need not be a rank
        options.absence = "has ended or cannot be reached";
        if (options.invitation.empty()) refuse("its unique id is empty: it comes from make_unique_id()");
    }
    const Share share = [&](std::string mine) { return share_by(embedding, mine); };
    return std::make_unique<Rendezvous>(kEmbeddedName, embedding.rank, embedding.size, share, options);
}

}  // namespace rollcall::bootstrap

namespace rollcall {

UniqueId make_unique_id() {
    const std::string text = bootstrap::host_root();
    UniqueId id;
    std::memcpy(id.bytes.data(), text.data(), std::min(text.size(), id.bytes.size()));
    return id;
}

void forget_unique_id(const UniqueId& id) {
    const std::string text = bootstrap::text_in(id.bytes);
    if (text.empty()) throw Error(ErrorCode::invalid_argument, "forget_unique_id(): the id is empty: it comes from make_unique_id()");
    bootstrap::forget_hosted_root(bootstrap::Invitation::parse(text).key);
}

}  // namespace rollcall
