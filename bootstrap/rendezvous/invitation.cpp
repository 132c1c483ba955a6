#include "bootstrap/rendezvous/invitation.hpp"

#include <array>
#include <charconv>

#include <fmt/format.h>
#include <sodium.h>
#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/network.hpp"
#include "foundation/number.hpp"

namespace rollcall::bootstrap {
namespace {

constexpr std::string_view kInvitationHead = "rollcall-1";
constexpr std::string_view kFailedHead = "rollcall-failed,";
/// In a failed invitation, kSpace stands for a space. Other letters that a starter may not carry are written as digits after kDigits.
constexpr char kSpace = '-';
constexpr char kDigits = '_';

[[noreturn]] void refuse_invitation(const char* why) {
    throw Error(ErrorCode::bootstrap,
                fmt::format("the invitation that the starter passed on is not one of this version of Rollcall: {}", why));
}

bool carried(char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '.' ||
           letter == ',' || letter == ':';
}

std::string sentence_in(std::string_view text) {
    std::string sentence;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned letter = static_cast<unsigned char>(text[i]);
        if (text[i] == kSpace) letter = ' ';
        if (text[i] == kDigits && i + 2 < text.size()) {
            std::from_chars(text.data() + i + 1, text.data() + i + 3, letter, 16);
            i += 2;
        }
        sentence.push_back(letter >= ' ' && letter < 127 ? static_cast<char>(letter) : '?');
    }
    return sentence;
}

}  // namespace

std::string failed_invitation(std::string_view sentence) {
    std::string text(kFailedHead);
    for (const char letter : sentence) {
        std::string next(1, letter);
        if (letter == ' ') {
            next = kSpace;
        } else if (!carried(letter)) {
            next = fmt::format("{}{:02x}", kDigits, static_cast<unsigned char>(letter));
        }
        if (text.size() + next.size() > kLongestInvitation) break;
        text += next;
    }
    return text;
}

std::string Invitation::text() const {
    Key::Digits digits = key.digits();
    std::string text = fmt::format("{},{},{},{}", kInvitationHead, address, port, std::string_view(digits.data(), digits.size()));
    ::sodium_memzero(digits.data(), digits.size());
    return text;
}

Invitation Invitation::parse(std::string_view text) {
    if (text.empty()) refuse_invitation("it is empty");
    if (text.size() > kLongestInvitation) refuse_invitation("it is too long");
    if (text.starts_with(kFailedHead)) {
        throw Error(ErrorCode::bootstrap, fmt::format("rank 0 cannot be met: {}", sentence_in(text.substr(kFailedHead.size()))));
    }
    std::array<std::string_view, 4> parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto end = i + 1 < parts.size() ? text.find(',') : text.size();
        if (end == std::string_view::npos) refuse_invitation("it has too few parts");
        parts[i] = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (parts[0] != kInvitationHead) refuse_invitation("it begins with something else");
    const std::string address(parts[1]);
    if (!SocketAddress::parse(address, 1)) refuse_invitation("its address is not an address");
    const auto port = number_of_text<std::uint16_t>(parts[2]);
    if (!port || *port == 0) refuse_invitation("its port is not a port");
    const auto key = Key::of_digits(parts[3]);
    if (!key) refuse_invitation("its key is not a key");
    return {address, *port, *key};
}

}  // namespace rollcall::bootstrap
