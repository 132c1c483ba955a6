/// \file
/// Variables of the environment that a library reads while it is called.
#pragma once

#include <mutex>
#include <string>

namespace rollcall::transport {

/// Sets a variable of the environment while this lives, unless the user has set it. Some settings of the libraries can be given in no other
/// way. Only one thread has some at a time: others wait.
class Variable {
  public:
    Variable(const char* name, const std::string& value);
    ~Variable();
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    std::lock_guard<std::recursive_mutex> lock_;
    const char* name_;
    bool was_set_ = false;
};

}  // namespace rollcall::transport
