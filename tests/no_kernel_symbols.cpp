// Keeps /proc/kallsyms from being opened by the program that this file is linked to. libfabric's verbs provider reads all of it, twice, in
// every process that loads libfabric, whatever provider is used (docs/transports.md). That would be most of what the ranks of many tests
// do. Without the file, the provider takes it that the kernel lacks a function that only networks with verbs need.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <dlfcn.h>

// The sanitizer's function, if there is one: a program has one fopen() only.
extern "C" FILE* __interceptor_fopen(const char* path, const char* mode) __attribute__((weak));

extern "C" __attribute__((visibility("default"))) FILE* fopen(const char* path, const char* mode) {
    if (std::strcmp(path, "/proc/kallsyms") == 0) {
        errno = ENOENT;
        return nullptr;
    }
    if (__interceptor_fopen) return __interceptor_fopen(path, mode);
    static const auto next = reinterpret_cast<FILE* (*)(const char*, const char*)>(::dlsym(RTLD_NEXT, "fopen"));
    return next(path, mode);
}
