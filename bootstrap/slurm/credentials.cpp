#include "bootstrap/slurm/credentials.hpp"

#include <sodium.h>

#include <vector>

#include <rollcall/error.hpp>

namespace rollcall::bootstrap {
namespace {

const unsigned char* bytes_of(const void* data) { return static_cast<const unsigned char*>(data); }
static_assert(kKeyBytes == crypto_secretbox_KEYBYTES);

constexpr int kBase64 = sodium_base64_VARIANT_ORIGINAL_NO_PADDING;

}  // namespace

KeyCredentials::KeyCredentials(const Key& key) : key_(key) {
    if (sodium_init() < 0) throw Error(ErrorCode::bootstrap, "libsodium finds no source of random numbers");
}

std::string KeyCredentials::encode(std::string_view text) {
    std::vector<unsigned char> box(crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + text.size());
    randombytes_buf(box.data(), crypto_secretbox_NONCEBYTES);
    crypto_secretbox_easy(box.data() + crypto_secretbox_NONCEBYTES, bytes_of(text.data()), text.size(), box.data(),
                          bytes_of(key_.bytes().data()));
    std::string credential(sodium_base64_encoded_len(box.size(), kBase64), '\0');
    sodium_bin2base64(credential.data(), credential.size(), box.data(), box.size(), kBase64);
    credential.pop_back();  // removes the terminating zero
    return credential;
}

std::optional<std::string> KeyCredentials::decode(const std::string& credential, std::string& why) {
    why = "it is not sealed by the key in this user's key file";
    if (credential.empty()) return std::nullopt;
    std::vector<unsigned char> box(credential.size());
    std::size_t length = 0;
    if (sodium_base642bin(box.data(), box.size(), credential.data(), credential.size(), nullptr, &length, nullptr, kBase64) != 0)
        return std::nullopt;
    constexpr std::size_t kOverhead = crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES;
    if (length < kOverhead) return std::nullopt;
    std::string text(length - kOverhead, '\0');
    auto* const plain = reinterpret_cast<unsigned char*>(text.data());
    if (crypto_secretbox_open_easy(plain, box.data() + crypto_secretbox_NONCEBYTES, length - crypto_secretbox_NONCEBYTES, box.data(),
                                   bytes_of(key_.bytes().data())) != 0)
        return std::nullopt;
    return text;
}

}  // namespace rollcall::bootstrap
