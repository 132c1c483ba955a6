/// \file
/// The coroutine type of algorithms.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "runtime/engine/frame_arena.hpp"

namespace rollcall::runtime {

class Operation;
FrameArena& arena_of(Operation& operation) noexcept;

/// A coroutine that starts lazily and returns nothing. An algorithm is a function `Task f(Operation& op, ...)`: its first parameter gives
/// the arena from which its frame comes. `co_await task` runs the task as a part of the caller, without going through the scheduler.
/// Destroying a suspended task destroys its frame and the frames of the tasks for which it waits.
class [[nodiscard]] Task {
  public:
    struct promise_type {
        std::coroutine_handle<> continuation = std::noop_coroutine();
        std::exception_ptr exception;

        Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        struct Final {
            bool await_ready() noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> self) noexcept { return self.promise().continuation; }
            void await_resume() noexcept {}
        };
        Final final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { exception = std::current_exception(); }

        // The frame stores its arena and size in a prefix, because operator delete is told neither.
        template <class... Arguments>
        static void* operator new(std::size_t size, Operation& operation, Arguments&&...) {
            return allocate(size, arena_of(operation));
        }
        static void operator delete(void* frame) noexcept {
            auto* prefix = static_cast<Prefix*>(frame) - 1;
            const Prefix copy = *prefix;
            copy.arena->release(prefix, copy.size);
        }

      private:
        struct alignas(__STDCPP_DEFAULT_NEW_ALIGNMENT__) Prefix {
            FrameArena* arena;
            std::size_t size;
        };
        static void* allocate(std::size_t size, FrameArena& arena) {
            const std::size_t whole = size + sizeof(Prefix);
            auto* prefix = static_cast<Prefix*>(arena.allocate(whole));
            *prefix = Prefix{&arena, whole};
            return prefix + 1;
        }
    };

    Task() = default;
    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Task& operator=(Task&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Task() { reset(); }

    void reset() {
        if (handle_) std::exchange(handle_, nullptr).destroy();
    }
    explicit operator bool() const { return static_cast<bool>(handle_); }
    bool done() const { return handle_.done(); }
    std::coroutine_handle<> handle() const { return handle_; }
    std::exception_ptr exception() const { return handle_.promise().exception; }

    struct Awaiter {
        std::coroutine_handle<promise_type> child;
        bool await_ready() const noexcept { return !child || child.done(); }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<> parent) noexcept {
            child.promise().continuation = parent;
            return child;
        }
        void await_resume() const {
            if (child && child.promise().exception) std::rethrow_exception(child.promise().exception);
        }
    };
    Awaiter operator co_await() const& noexcept { return {handle_}; }

  private:
    explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
    std::coroutine_handle<promise_type> handle_;
};

}  // namespace rollcall::runtime
