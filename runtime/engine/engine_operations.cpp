// The engine's operations: how a coroutine begins, is resumed, and ends.
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "foundation/log.hpp"
#include "runtime/engine/engine.hpp"

namespace rollcall::runtime {
namespace {

std::string no_memory(const Engine& engine) {
    return fmt::format("{} has no memory for it; raise its limit (ulimit -v), or start fewer ranks on its host",
                       engine.name_of(engine.rank()));
}

Error error_of(const Operation& operation, const Engine& engine, const std::exception_ptr& exception) {
    try {
        std::rethrow_exception(exception);
    } catch (const Error& error) {
        return error;
    } catch (const std::bad_alloc&) {
        return Error(ErrorCode::state, fmt::format("{}: {}", operation.describe(), no_memory(engine)), engine.rank());
    } catch (const std::exception& error) {
        return Error(ErrorCode::state, fmt::format("{}: {}", operation.describe(), error.what()));
    }
}

}  // namespace

void Engine::touch(Operation& operation) {
    if (operation.ready_) return;
    operation.ready_ = true;
    operation.next_ready_ = nullptr;
    (ready_tail_ ? ready_tail_->next_ready_ : ready_head_) = &operation;
    ready_tail_ = &operation;
}

unsigned Engine::run_ready() {
    unsigned ran = 0;
    if (has_early_calls_) deputies_.begin_early_calls();
    while (Operation* operation = ready_head_) {
        ready_head_ = operation->next_ready_;
        if (!ready_head_) ready_tail_ = nullptr;
        operation->ready_ = false;
        run(*operation);
        ++ran;
    }
    return ran;
}

// A throw may have come at any point of begin(), so it ends like something that its caller gives up. Its thread, or another rank, would
// wait forever if that failed, too.
void Engine::end_unbegun(Waitable& waitable) noexcept {
    ++begun_;
    try {
        try {
            throw;
        } catch (const Error& error) {
            waitable.abandon(*this, error);
        } catch (const std::bad_alloc&) {
            waitable.abandon(*this, Error(ErrorCode::state, fmt::format("a call could not be started: {}", no_memory(*this)), rank()));
        } catch (const std::exception& error) {
            waitable.abandon(*this, Error(ErrorCode::state, fmt::format("it could not be started: {}", error.what())));
        }
    } catch (...) {
        log_message(LogLevel::critical,
                    "this process has no memory to end what it could not start; raise its limit (ulimit -v), or start fewer ranks on this "
                    "host");
        std::abort();
    }
}

void Engine::begin_or_end(Waitable& waitable) noexcept {
    try {
        begin(waitable);
    } catch (...) {
        end_unbegun(waitable);
    }
}

void Engine::start(Operation& operation) {
    if (options_.find_part_alone) {
        if (deputies_.any_expected() && deputies_.meet(operation)) return;
        const bool is_long = operation.call_.bytes > options_.eager_bytes || operation.arguments_.blocks;
        if (is_long && deputies_.hand_over(operation)) return;
    }
    CommunicatorState& communicator = operation.communicator_;
    communicator.remember(operation.sequence(), operation.call_);  // first, because there may be no memory for it
    active_.insert(operation);
    operation.engine_ = this;
    watch_over_operations();
    communicator.begun = std::max(communicator.begun, operation.sequence());
    try {
        if (communicator.is_broken_at(operation.sequence())) {
            communicator.broken_told = true;
            const Error& broken = *communicator.broken;
            const auto undelivered = std::move(communicator.undelivered);
            if (!undelivered)
                fail(operation, broken);
            else if (std::string_view(undelivered->what()).find(broken.what()) != std::string_view::npos)
                fail(operation, *undelivered);  // it has the sentence of the other already
            else
                fail(operation, Error(broken.code(), fmt::format("{}; {}", broken.what(), undelivered->what()), broken.failed_rank()));
        } else {
            const EarlyMessage* other = early_.by_call().find_if(
                operation.key_, [&](const EarlyMessage& early) { return !early.call.agrees_with(operation.call_); });
            if (other) operation.tell_call_differs(Call(other->call), other->caller);
        }
    } catch (...) {
        give_up(operation, std::current_exception());
    }
    call_algorithm(operation);
    if (ready_head_ || has_early_calls_) [[unlikely]] {
        touch(operation);
        run_ready();
        return;
    }
    run(operation);  // It may be gone now.
    if (ready_head_ || has_early_calls_) run_ready();
}

// Some algorithms do their first steps before their first coroutine, whose frame must be allocated, too.
void Engine::call_algorithm(Operation& operation) {
    if (operation.failed()) return;
    try {
        operation.task_ = operation.algorithm_(operation);
    } catch (...) {
        give_up(operation, std::current_exception());
    }
}

// Tells the other ranks, if there is memory for it. The operation itself must end as failed, because lists and transfers refer to it: if
// there is no memory even for that, this process ends.
void Engine::give_up(Operation& operation, const std::exception_ptr& why) noexcept {
    try {
        break_communicator(operation.communicator_, operation.sequence(), error_of(operation, *this, why), true);
    } catch (...) {
    }
    if (!operation.failed()) fail(operation, Error(ErrorCode::state, "there is no memory for a collective operation"));
}

void Engine::run(Operation& operation) {
    if (!operation.failed()) {
        std::coroutine_handle<> next;
        if (operation.wait_point_) {
            if (!operation.wait_point_->ready()) return;
            if (!operation.failed()) {  // The look itself may have failed it.
                operation.wait_point_ = nullptr;
                next = operation.handle_;
            }
        } else if (operation.task_ && !operation.task_.done()) {
            next = operation.task_.handle();  // it has not started yet
        }
        if (next) next.resume();
        // The operation waits again. (Its outermost frame would say so, too, but that frame is in no cache.)
        if (operation.wait_point_ && !operation.failed()) {
            if (operation.has_used_node_) node_.watch(operation);
            return;
        }
        if (next && operation.task_.done() && operation.task_.exception()) give_up(operation, operation.task_.exception());
    }
    if (operation.failed()) {
        // The frames stay until the last transfer has ended, because buffers of transfers may live in them.
        operation.wait_point_ = nullptr;
        board_.forget(operation);
        operation.arrivals_.reset();
        if (operation.watches_node_) node_.stop_watching(operation);
        // The operation is looked at right here, so the end of a transfer need not queue it behind all others that fail with it.
        const bool was_ready = std::exchange(operation.ready_, true);
        for (Transfer* transfer = operation.transfers_; transfer;) {
            Transfer* next = transfer->next;
            withdraw(*transfer);
            transfer = next;
        }
        operation.ready_ = was_ready;
    } else if (operation.task_ && !operation.task_.done()) {  // There is no task if the algorithm did not have to wait.
        return;
    } else if (operation.arrivals_ && !operation.arrivals_->notices_.empty()) {
        // The receives that replaced the board are no longer wanted.
        operation.arrivals_->notices_.clear();
        for (Transfer* transfer = operation.transfers_; transfer;) {
            Transfer* next = transfer->next;
            if (transfer->stage == Transfer::Stage::posted && transfer->key.tag == Operation::kArrivedStep) withdraw(*transfer);
            transfer = next;
        }
    }
    if (!operation.transfers_) finish(operation);
}

// The usual case is one operation at a time, whose caller has come to it. A planned operation whose caller has not arrived does not count:
// the program may make other calls before it arrives there.
bool Operation::earlier_have_ended(std::uint64_t period) const {
    const Engine& engine = *engine_;
    const std::uint64_t sequence = key_.sequence, begun = communicator_.begun;
    if (engine.active_.size() == 1 && sequence <= begun + period) return true;
    const auto counts = [&](const Operation& other) { return other.alone_ || !other.awaits_caller_; };
    if (sequence > period) {
        const Operation* const previous = engine.find_active(key_.communicator, sequence - period);
        if (previous && counts(*previous)) return false;
    }
    // Calls that no caller here has come to, and that no deputy has begun, will be made later.
    for (std::uint64_t earlier = sequence; earlier > begun + period;) {
        earlier -= period;
        if (!engine.deputies_.expected({key_.communicator, earlier})) return false;
    }
    bool ended = true;
    engine.active_.for_each([&](const Operation& other) {
        const bool shares = other.key_.communicator == key_.communicator && other.sequence() < sequence;
        if (shares && (sequence - other.sequence()) % period == 0 && counts(other)) ended = false;
    });
    return ended;
}

void Engine::finish(Operation& operation) {
    operation.task_.reset();  // Other messages may land in the room of those that it held.
    if (operation.ready_) {   // finish() of its transfers, or such a landing, has put it into the list
        Operation** link_to = &ready_head_;
        Operation* previous = nullptr;
        while (*link_to != &operation) {
            previous = *link_to;
            link_to = &previous->next_ready_;
        }
        *link_to = operation.next_ready_;
        if (ready_tail_ == &operation) ready_tail_ = previous;
        operation.ready_ = false;
    }
    if (operation.arrivals_ || board_.is_watched()) board_.forget(operation);
    operation.arrivals_.reset();
    if (operation.expected_wait_ > 0 && !operation.failed()) deputies_.learn_wait(operation);
    if (operation.turn_) board_.end_turn(operation);
    if (operation.watches_node_) node_.stop_watching(operation);
    active_.remove(operation);
    early_.let_go_of(operation.key_);
    ++finished_;
    const auto on_done = operation.on_done;
    void* const context = operation.on_done_context;
    operation.set_done();  // a waiting caller may destroy the operation from here on
    if (on_done) on_done(operation, context);
    // Later operations may publish now. In a simulation nothing else would look at them.
    if (tells_of_puts_ && node_.is_watched()) node_.look();
}

void Engine::fail(Operation& operation, const Error& error) {
    operation.set_error(error);
    touch(operation);
}

void Engine::abandon(Operation& operation, const Error& error) {
    if (operation.done() || deputies_.leave(operation, error)) return;
    // This rank is out of step on the communicator for good, and the other ranks must not wait for it.
    const bool has_begun = operation.engine_ != nullptr;  // if so, it may be gone afterwards
    break_communicator(operation.communicator_, operation.sequence(), error, true);
    run_ready();
    if (has_begun) return;
    ++finished_;
    operation.set_error(error);
    operation.set_done();
}

bool Engine::has_active(const CommunicatorState& communicator) const {
    bool found = false;
    active_.for_each([&](const Operation& operation) { found = found || &operation.communicator_ == &communicator; });
    return found;
}

void Engine::retire(std::unique_ptr<CommunicatorState> communicator) {
    CommunicatorState& state = *communicator;
    deputies_.give_up_all_of(state);
    try {
        retired_.push_back(std::move(communicator));
    } catch (const std::bad_alloc&) {
        static_cast<void>(communicator.release());  // It is never freed. The destructor of a communicator must not fail.
    }
    state.retired = true;
    state.clock = nullptr;
    remove_if_idle(state);
}

void Engine::remove_if_idle(CommunicatorState& communicator) {
    if (has_active(communicator)) return;
    remove(communicator);
    std::erase_if(retired_, [&](const auto& retired) { return retired.get() == &communicator; });
}

void Engine::expect_no_call() {
    finalizing_ = true;
    deputies_.deny_uncalled();
}

}  // namespace rollcall::runtime
