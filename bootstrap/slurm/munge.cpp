#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include <rollcall/error.hpp>

#include "bootstrap/shared_library.hpp"
#include "bootstrap/slurm/credentials.hpp"

namespace rollcall::bootstrap {
namespace {

// The interface of libmunge. It has been the same since 2007.
constexpr const char* kMungeLibrary = "libmunge.so.2";
constexpr int kMungeSuccess = 0;
constexpr int kMungeCipher = 0;
constexpr int kMungeSocket = 8;
constexpr int kMungeUid = 9;
/// The cipher is named, because a daemon may be told not to encrypt by default. AES-128 is always available.
constexpr int kMungeAes128 = 4;

struct MungeLibrary {
    SharedLibrary file{kMungeLibrary};
    void* (*create)() = nullptr;
    void (*destroy)(void*) = nullptr;
    int (*set)(void*, int, ...) = nullptr;
    int (*encode)(char**, void*, const void*, int) = nullptr;
    int (*decode)(const char*, void*, void**, int*, uid_t*, gid_t*) = nullptr;
    const char* (*error_text)(int) = nullptr;
    const char* (*context_error_text)(void*) = nullptr;

    MungeLibrary() {
        file.find("munge_ctx_create", create);
        file.find("munge_ctx_destroy", destroy);
        file.find("munge_ctx_set", set);
        file.find("munge_encode", encode);
        file.find("munge_decode", decode);
        file.find("munge_strerror", error_text);
        file.find("munge_ctx_strerror", context_error_text);
    }
};

class MungeCredentials final : public Credentials {
  public:
    explicit MungeCredentials(std::string socket) : socket_(std::move(socket)) {
        if (!library_.file.loaded()) throw Error(ErrorCode::bootstrap, fmt::format("munge is not usable: {}", library_.file.failure()));
        encode("");  // finds out whether munged answers
    }
    std::string_view name() const override { return "munge"; }

    std::string encode(std::string_view text) override {
        const Context context = make_context();
        // Only this user can decode the credential. Other users cannot, not even by asking munged.
        set(context, kMungeCipher, kMungeAes128);
        set(context, kMungeUid, ::geteuid());
        char* made = nullptr;
        const int code = library_.encode(&made, context.get(), text.data(), static_cast<int>(text.size()));
        const std::unique_ptr<char, decltype(&std::free)> credential(made, &std::free);
        if (code != kMungeSuccess || !credential) {
            throw Error(ErrorCode::bootstrap, fmt::format("munge is not usable: {}", reason(context, code)));
        }
        return credential.get();
    }

    std::optional<std::string> decode(const std::string& credential, std::string& why) override {
        const Context context = make_context();
        void* data = nullptr;
        int length = 0;
        uid_t user = 0;
        gid_t group = 0;
        // Some failures also return the text: that of a credential that is too old, or that was decoded before.
        const int code = library_.decode(credential.c_str(), context.get(), &data, &length, &user, &group);
        const std::unique_ptr<void, decltype(&std::free)> text(data, &std::free);
        if (code != kMungeSuccess) {
            why = fmt::format("munge says: {}", reason(context, code));
            return std::nullopt;
        }
        if (user != ::geteuid() || length < 0) {
            why = fmt::format("munge says that user {} wrote it", user);
            return std::nullopt;
        }
        return text ? std::string(static_cast<const char*>(data), static_cast<std::size_t>(length)) : std::string();
    }

  private:
    using Context = std::unique_ptr<void, void (*)(void*)>;
    Context make_context() {
        Context context(library_.create(), library_.destroy);
        if (!context) throw Error(ErrorCode::bootstrap, "munge is not usable: it has no memory");
        if (!socket_.empty()) set(context, kMungeSocket, socket_.c_str());
        return context;
    }
    /// These options protect the credential. So if one cannot be set, there is no credential.
    template <class Value>
    void set(const Context& context, int option, Value value) {
        const int code = library_.set(context.get(), option, value);
        if (code == kMungeSuccess) return;
        throw Error(ErrorCode::bootstrap,
                    fmt::format("munge is not usable: its option {} cannot be set: {}", option, reason(context, code)));
    }
    std::string reason(const Context& context, int code) const {
        const char* const more = library_.context_error_text(context.get());
        return more ? more : library_.error_text(code);
    }

    MungeLibrary library_;
    std::string socket_;
};

}  // namespace

std::unique_ptr<Credentials> munge_credentials(const std::string& socket) { return std::make_unique<MungeCredentials>(socket); }

}  // namespace rollcall::bootstrap
