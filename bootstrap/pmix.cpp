#include "bootstrap/pmix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <rollcall/error.hpp>

#include "bootstrap/alone.hpp"
#include "bootstrap/shared_library.hpp"
#include "foundation/signals_blocked.hpp"

namespace rollcall::bootstrap {
namespace {

constexpr const char* kPmixLibrary = "libpmix.so.2";
constexpr const char* kPmixNamespace = "PMIX_NAMESPACE";
constexpr const char* kPmixRank = "PMIX_RANK";
constexpr const char* kOpenMpiSize = "OMPI_COMM_WORLD_SIZE";
constexpr const char* kPmixKey = "rollcall";
/// From this version on, the library's types have the layout of pmix_abi.hpp.
constexpr int kOldestPmix = 3;

/// The status of a call that a thread of the library completes.
class Outcome {
  public:
    void set(pmix::Status status) {
        const std::lock_guard lock(mutex_);
        status_ = status;
        changed_.notify_all();
    }
    /// Empty if the time is over.
    std::optional<pmix::Status> wait(Timeout timeout) {
        std::unique_lock lock(mutex_);
        const auto now = std::chrono::steady_clock::now();
        const auto longest = std::chrono::steady_clock::time_point::max() - now;
        changed_.wait_until(lock, now + std::min<std::chrono::steady_clock::duration>(timeout, longest),
                            [&] { return status_.has_value(); });
        return status_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<pmix::Status> status_;
};

/// The data of a callback. The outcome lives until the callback has come, even if no call waits for it any more.
using Shared = std::shared_ptr<Outcome>;

pmix::Info flag_of(const char* key) {
    pmix::Info info{};
    std::strncpy(info.key, key, sizeof info.key - 1);
    info.value.type = pmix::kTypeBool;
    info.value.data.flag = true;
    return info;
}

pmix::Info number_of(const char* key, int number) {
    pmix::Info info{};
    std::strncpy(info.key, key, sizeof info.key - 1);
    info.value.type = pmix::kTypeInt;
    info.value.data.integer = number;
    return info;
}

int seconds_of(Timeout timeout) {
    return static_cast<int>(std::clamp<std::int64_t>(std::chrono::duration_cast<std::chrono::seconds>(timeout).count(), 1, 86'400));
}

}  // namespace

struct Pmix::Library {
    SharedLibrary file{kPmixLibrary};
    const char* (*version)() = nullptr;
    const char* (*error_text)(pmix::Status) = nullptr;
    pmix::Status (*init)(pmix::Process*, pmix::Info*, std::size_t) = nullptr;
    pmix::Status (*finalize)(const pmix::Info*, std::size_t) = nullptr;
    pmix::Status (*abort)(int, const char*, pmix::Process*, std::size_t) = nullptr;
    pmix::Status (*put)(std::uint8_t, const char*, pmix::Value*) = nullptr;
    pmix::Status (*commit)() = nullptr;
    pmix::Status (*fence)(const pmix::Process*, std::size_t, const pmix::Info*, std::size_t, pmix::Callback, void*) = nullptr;
    pmix::Status (*get)(const pmix::Process*, const char*, const pmix::Info*, std::size_t, pmix::Value**) = nullptr;
    /// abort() may come from any thread while this thread finalizes. This lock keeps the library there during either.
    std::mutex using_it;
    bool connected = false;

    Library() {
        file.find("PMIx_Get_version", version);
        file.find("PMIx_Error_string", error_text);
        file.find("PMIx_Init", init);
        file.find("PMIx_Finalize", finalize);
        file.find("PMIx_Abort", abort);
        file.find("PMIx_Put", put);
        file.find("PMIx_Commit", commit);
        file.find("PMIx_Fence_nb", fence);
        file.find("PMIx_Get", get);
    }
    /// Returns the first number of "OpenPMIx 4.2.2 (...)", or 0 if there is none.
    int major_version() const {
        const std::string_view text = version();
        const std::size_t at = std::min(text.find_first_of("0123456789"), text.size());
        int number = 0;
        std::from_chars(text.data() + at, text.data() + text.size(), number);
        return number;
    }
};

Pmix::Pmix(Timeout timeout) : library_(std::make_shared<Library>()), timeout_(timeout) {
    const auto unusable = [](std::string_view why) {
        return Error(ErrorCode::bootstrap,
                     fmt::format("a launcher that speaks PMIx started this process ({} is set), but {}; install PMIx (libpmix2), start "
                                 "the job in another way (srun --mpi=pmi2, `rollcall run`), or unset that variable to run alone",
                                 std::getenv(kPmixRank) ? kPmixRank : kOpenMpiSize, why));
    };
    if (!std::getenv(kPmixNamespace)) throw unusable(fmt::format("{} is not set", kPmixNamespace));
    if (!library_->file.loaded()) throw unusable(library_->file.failure());
    if (library_->major_version() < kOldestPmix)
        throw unusable(fmt::format("{} is of version '{}', but {} or later is needed", kPmixLibrary, library_->version(), kOldestPmix));
    {
        const SignalsBlocked blocked;
        if (const pmix::Status status = library_->init(&self_, nullptr, 0); status != pmix::kSuccess)
            throw unusable(fmt::format("its server cannot be reached: {}", library_->error_text(status)));
    }
    library_->connected = true;

    pmix::Process all = self_;
    all.rank = pmix::kRankWildcard;
    pmix::Value* value = nullptr;
    if (const pmix::Status status = library_->get(&all, pmix::kJobSize, nullptr, 0, &value); status != pmix::kSuccess)
        failed("the size of the job", status);
    if (value->type == pmix::kTypeUint32) size_ = static_cast<int>(value->data.uint32);
    std::free(value);
    if (size_ < 1 || self_.rank >= static_cast<std::uint32_t>(size_))
        throw Error(ErrorCode::bootstrap, fmt::format("PMIx says that this is rank {} of {}: there is no such rank", self_.rank, size_));
}

Pmix::~Pmix() = default;

void Pmix::failed(const char* call, pmix::Status status) const {
    throw Error(status == pmix::kTimeout ? ErrorCode::timeout : ErrorCode::bootstrap,
                fmt::format("rank {}: PMIx: {} failed: {}", self_.rank, call, library_->error_text(status)));
}

void Pmix::fence() {
    const std::array infos{flag_of(pmix::kCollectData), number_of(pmix::kTimeoutSeconds, seconds_of(timeout_))};
    pmix::Process all = self_;
    all.rank = pmix::kRankWildcard;
    const Shared outcome = std::make_shared<Outcome>();
    auto kept = std::make_unique<Shared>(outcome);
    const pmix::Callback done = [](pmix::Status status, void* data) {
        const std::unique_ptr<Shared> ours(static_cast<Shared*>(data));
        (*ours)->set(status);
    };
    const pmix::Status started = library_->fence(&all, 1, infos.data(), infos.size(), done, kept.get());
    if (started == pmix::kOperationSucceeded) return;
    if (started != pmix::kSuccess) failed("a fence", started);
    kept.release();  // it belongs to the callback now
    const std::optional<pmix::Status> status = outcome->wait(timeout_);
    if (!status || *status == pmix::kTimeout)
        throw Error(ErrorCode::timeout, fmt::format("rank {}: a fence of PMIx did not end within {} s: not every rank has come", self_.rank,
                                                    seconds_of(timeout_)));
    if (*status != pmix::kSuccess) failed("a fence", *status);
}

std::string Pmix::share(std::string mine) {
    if (rank() == 0) {
        pmix::Value value{};
        value.type = pmix::kTypeString;
        value.data.string = mine.data();
        if (const pmix::Status status = library_->put(pmix::kScopeGlobal, kPmixKey, &value); status != pmix::kSuccess)
            failed("a put", status);
        if (const pmix::Status status = library_->commit(); status != pmix::kSuccess) failed("a commit", status);
    }
    fence();
    if (rank() == 0) return mine;
    pmix::Process first = self_;
    first.rank = 0;
    const pmix::Info limit = number_of(pmix::kTimeoutSeconds, seconds_of(timeout_));
    pmix::Value* value = nullptr;
    if (const pmix::Status status = library_->get(&first, kPmixKey, &limit, 1, &value); status != pmix::kSuccess) failed("a get", status);
    if (value->type == pmix::kTypeString && value->data.string) {
        mine = value->data.string;
        std::free(value->data.string);
    }
    std::free(value);
    return mine;
}

void Pmix::finalize() noexcept {
    const std::lock_guard lock(library_->using_it);
    if (std::exchange(library_->connected, false)) library_->finalize(nullptr, 0);
}

void Pmix::abort(int code, std::string_view why) noexcept {
    try {
        const Shared outcome = std::make_shared<Outcome>();
        std::thread([library = library_, code, text = std::string(why), outcome] {
            const std::lock_guard lock(library->using_it);
            if (library->connected) library->abort(code, text.c_str(), nullptr, 0);
            outcome->set(pmix::kSuccess);
        }).detach();
        outcome->wait(kAbortPatience);
    } catch (...) {  // no thread or no memory: the caller's own exit code must do
    }
}

std::unique_ptr<Bootstrap> join_pmix() {
    const RendezvousOptions options = rendezvous_options();
    auto manager = std::make_unique<Pmix>(options.join_timeout);
    const std::string name = std::getenv(kOpenMpiSize) ? "Open MPI's mpirun" : "a launcher that speaks PMIx";
    const int rank = manager->rank();
    const int size = manager->size();
    if (size > 1) return std::make_unique<Managed>(name, rank, size, std::move(manager), options);
    manager->finalize();
    return std::make_unique<Alone>();
}

}  // namespace rollcall::bootstrap
