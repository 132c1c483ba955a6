/// \file
/// A library of the system that is used if it is there, and that is not needed to build or to start.
#pragma once

#include <dlfcn.h>

#include <string>

namespace rollcall::bootstrap {

/// The library stays loaded until the process ends, because such libraries may have threads.
class SharedLibrary {
  public:
    explicit SharedLibrary(const char* file) : handle_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
        if (!handle_) note_failure();
    }
    bool loaded() const { return handle_ != nullptr && failure_.empty(); }
    /// The report of the loader about the first file or function that was not found.
    const std::string& failure() const { return failure_; }

    /// Sets the pointer to a function of the library. If the library has no function of that name, the pointer is
    /// null, and loaded() returns false from then on.
    template <class Function>
    void find(const char* name, Function*& function) {
        function = handle_ ? reinterpret_cast<Function*>(::dlsym(handle_, name)) : nullptr;
        if (handle_ && !function && failure_.empty()) note_failure();
    }

  private:
    void note_failure() {
        const char* const text = ::dlerror();
        failure_ = text ? text : "it cannot be loaded";
    }
    void* handle_;
    std::string failure_;
};

}  // namespace rollcall::bootstrap
