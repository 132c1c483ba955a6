#include <rollcall/completion_queue.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/communicator_implementation.hpp"
#include "foundation/clock.hpp"
#include "foundation/units.hpp"
#include "runtime/lane/ended.hpp"

namespace rollcall {

struct ROLLCALL_HIDDEN CompletionQueue::Implementation {
    /// A request in the queue.
    struct Entry final : runtime::Ended::Entry {
        Entry(runtime::Ended& list, std::uint64_t its_context) : runtime::Ended::Entry(list), context(its_context) {}
        std::unique_ptr<Request::Implementation> request;
        std::uint64_t context;
    };
    using Deadline = std::pair<Nanoseconds, Entry*>;

    explicit Implementation(std::shared_ptr<const Communicator::Implementation> its_communicator)
        : communicator(std::move(its_communicator)) {}
    ~Implementation();

    runtime::Lane& lane() const { return communicator->process->lane(); }
    void add(std::unique_ptr<Request::Implementation>& request, std::uint64_t context);
    std::unique_ptr<Entry> remove(Entry& entry);
    void tell_deadline() {
        const Nanoseconds first = deadlines.empty() ? kNever : deadlines.begin()->first;
        ended.look_at(has_new_unlimited ? 0 : first);
    }
    /// Abandons the requests whose own deadline is over, and all if the job has ended.
    void expire();
    void end_with_job();
    std::optional<Completion> take();
    /// Takes the next request that ends by `until`. `for_unlimited` is one more limit, while there are requests without a deadline of their
    /// own.
    std::optional<Completion> take_until(Nanoseconds until, Nanoseconds for_unlimited = kNever);

    std::shared_ptr<const Communicator::Implementation> communicator;
    runtime::Ended ended;
    std::atomic<std::size_t> size{0};
    std::atomic<std::size_t> unlimited{0};  ///< The number of requests without a deadline of their own.
    std::mutex mutex;                       ///< Guards the members below.
    std::unordered_map<Entry*, std::unique_ptr<Entry>> entries;
    std::set<Deadline> deadlines;    ///< The deadlines of the entries that have one.
    bool has_new_unlimited = false;  ///< The first such request has come. A thread that waits must look at its limit again.
};

CompletionQueue::Implementation::~Implementation() {
    for (const auto& [address, entry] : entries) Request(std::move(entry->request));  // abandons what is under way
    // The thread that drives progress may be about to tell the queue of the last requests. Wait until it has done so.
    lane().as_owner([](runtime::Engine&) {});
}

void CompletionQueue::Implementation::add(std::unique_ptr<Request::Implementation>& request, std::uint64_t context) {
    auto made = std::make_unique<Entry>(ended, context);
    Entry& entry = *made;
    const Nanoseconds deadline = request->own_deadline;
    {
        const std::lock_guard lock(mutex);
        // Without memory nothing may be left: the request stays with the caller.
        const auto place = entries.emplace(&entry, std::move(made)).first;
        if (deadline != kNever) try {
                deadlines.emplace(deadline, &entry);
            } catch (...) {
                entries.erase(place);
                throw;
            }
        if (!request->own_timeout && unlimited++ == 0) has_new_unlimited = true;
        tell_deadline();
        entry.request = std::move(request);
        ++size;
    }
    // This also makes a thread that waits look at the new deadline.
    lane().as_owner([&](runtime::Engine&) {
        if (!entry.request->waitable().done()) return entry.request->watch(entry);
        lane().note_unseen_end();  // an event loop that sleeps was told when the request ended, and found nothing in the queue
        entry.ended();
    });
}

std::unique_ptr<CompletionQueue::Implementation::Entry> CompletionQueue::Implementation::remove(Entry& entry) {
    const std::lock_guard lock(mutex);
    deadlines.erase({entry.request->own_deadline, &entry});
    tell_deadline();
    if (!entry.request->own_timeout) --unlimited;
    --size;
    return std::move(entries.extract(&entry).mapped());
}

void CompletionQueue::Implementation::expire() {
    if (communicator->process->finalized()) return end_with_job();
    if (ended.look_at() == kNever) return;
    std::vector<Entry*> late;
    {
        const std::lock_guard lock(mutex);
        has_new_unlimited = false;
        for (const Nanoseconds now = monotonic_now(); !deadlines.empty() && deadlines.begin()->first <= now;)
            late.push_back(deadlines.extract(deadlines.begin()).value().second);
        tell_deadline();
    }
    for (Entry* entry : late) entry->request->expire();
}

void CompletionQueue::Implementation::end_with_job() {
    std::vector<Entry*> all;
    {
        const std::lock_guard lock(mutex);
        for (const auto& [address, entry] : entries) all.push_back(address);
    }
    for (Entry* entry : all) entry->request->end_with_job();
}

std::optional<Completion> CompletionQueue::Implementation::take() {
    auto* const entry = static_cast<Entry*>(ended.take());
    if (!entry) return std::nullopt;
    const auto taken = remove(*entry);
    std::optional<Completion> completion(std::in_place);
    completion->context = taken->context;
    try {
        completion->received = collect(std::move(taken->request));
    } catch (const Error& error) {
        completion->error.emplace(error);
    }
    return completion;
}

std::optional<Completion> CompletionQueue::Implementation::take_until(Nanoseconds until, Nanoseconds for_unlimited) {
    for (;;) {
        if (auto completion = take()) return completion;
        if (communicator->process->finalized()) {
            end_with_job();
            return take();
        }
        const Nanoseconds limit = unlimited.load() > 0 ? std::min(until, for_unlimited) : until;
        lane().wait({ended, std::min(limit, ended.look_at())});
        expire();
        if (monotonic_now() >= limit) return take();
    }
}

CompletionQueue::CompletionQueue(const Communicator& communicator)
    : implementation_(std::make_unique<Implementation>(communicator.checked().shared_from_this())) {}
CompletionQueue::CompletionQueue(CompletionQueue&&) noexcept = default;
CompletionQueue& CompletionQueue::operator=(CompletionQueue&& other) noexcept {
    CompletionQueue taken(std::move(other));
    std::swap(implementation_, taken.implementation_);
    return *this;
}
CompletionQueue::~CompletionQueue() {
    if (implementation_ && implementation_->communicator->process->forked()) (void)implementation_.release();  // the parent owns it
}

CompletionQueue::Implementation& CompletionQueue::checked(const char* call) const {
    if (!implementation_)
        throw Error(ErrorCode::state, fmt::format("CompletionQueue::{}(): the queue has been moved to another one: make a new one", call));
    return *implementation_;
}

void CompletionQueue::add(Request&& request, std::uint64_t context) {
    Implementation& here = checked("add");
    here.communicator->process->check_not_forked();
    if (!request)
        throw Error(ErrorCode::invalid_argument,
                    "CompletionQueue::add(): the request is empty: add one that a start_ function has returned");
    if (request.implementation_->communicator->process != here.communicator->process)
        throw Error(ErrorCode::invalid_argument, "CompletionQueue::add(): the request belongs to another job than the queue");
    here.add(request.implementation_, context);
}

std::size_t CompletionQueue::size() const noexcept { return implementation_ ? implementation_->size.load() : 0; }

Completion CompletionQueue::next() {
    Implementation& here = checked("next");
    here.communicator->process->check_not_forked();
    const std::size_t requests = size();
    if (requests == 0) throw Error(ErrorCode::state, "CompletionQueue::next(): there is no request in the queue: add one first");
    const Timeout limit = here.communicator->deadline({});
    // If another thread adds a request without a deadline of its own, the setting counts from the beginning of this call.
    if (auto completion = here.take_until(kNever, deadline_after(limit))) return std::move(*completion);
    if (here.communicator->process->finalized()) throw ended_error(*here.communicator->process, "CompletionQueue::next()");
    throw Error(ErrorCode::timeout, fmt::format("CompletionQueue::next(): none of {} requests ended within {}", requests,
                                                format_duration(static_cast<double>(limit.count()) * 1e-9)));
}

std::optional<Completion> CompletionQueue::next_for(Timeout timeout) {
    Implementation& here = checked("next_for");
    checked_timeout(timeout);
    here.communicator->process->check_not_forked();
    return here.take_until(deadline_after(timeout));
}

std::optional<Completion> CompletionQueue::try_next() {
    Implementation& here = checked("try_next");
    here.communicator->process->check_not_forked();
    if (auto completion = here.take()) return completion;
    here.lane().progress();
    here.expire();
    return here.take();
}

}  // namespace rollcall
