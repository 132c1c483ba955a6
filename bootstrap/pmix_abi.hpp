/// \file
/// The few types and values of PMIx that are needed to join a job, with the layout of its libraries (libpmix.so.2:
/// PMIx 3 and later; they have not changed since). They are declared here so that neither building nor starting needs
/// PMIx. A test compares them with the headers of PMIx where those are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rollcall::bootstrap::pmix {

inline constexpr std::size_t kNamespaceBytes = 256;  ///< PMIX_MAX_NSLEN + 1
inline constexpr std::size_t kKeyBytes = 512;        ///< PMIX_MAX_KEYLEN + 1

using Status = int;
inline constexpr Status kSuccess = 0;
inline constexpr Status kTimeout = -24;
inline constexpr Status kOperationSucceeded = -157;  ///< Done at once: the callback will not be called.
inline constexpr std::uint32_t kRankWildcard = 0xfffffffe;
inline constexpr std::uint8_t kScopeGlobal = 3;

inline constexpr std::uint16_t kTypeBool = 1;
inline constexpr std::uint16_t kTypeString = 3;
inline constexpr std::uint16_t kTypeInt = 6;
inline constexpr std::uint16_t kTypeUint32 = 14;

inline constexpr const char* kJobSize = "pmix.job.size";
inline constexpr const char* kCollectData = "pmix.collect";
inline constexpr const char* kTimeoutSeconds = "pmix.timeout";

struct Process {
    char name_space[kNamespaceBytes];
    std::uint32_t rank;
};

/// The largest member of the union in the library has three words.
struct Value {
    std::uint16_t type;
    union {
        bool flag;
        int integer;
        std::uint32_t uint32;
        char* string;
        struct {
            void* words[3];
        } largest;
    } data;
};

struct Info {
    char key[kKeyBytes];
    std::uint32_t flags;
    Value value;
};

using Callback = void (*)(Status, void*);

}  // namespace rollcall::bootstrap::pmix
