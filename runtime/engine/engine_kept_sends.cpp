// The engine's point-to-point sends that go on without their callers (kept_send.hpp).
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "foundation/copy.hpp"
#include "foundation/job_in_log.hpp"
#include "foundation/log.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/messages/kept_send.hpp"

namespace rollcall::runtime {
namespace {

// A caller waits about as long as the copy would take. So whatever the receiver does, it waits at most twice as long as would be best.
// Memory that has been used before is copied with 4 to 12 GB/s.
constexpr std::uint64_t kBytesPerNanosecond = 4;
// A receiver that waits for the message answers within this time, unless the network is slow. Then a copy would be in its way.
constexpr Nanoseconds kReceiverAnswers = 50'000;

}  // namespace

KeptSend::KeptSend(Engine& engine, const Transfer& send, transport::Bytes memory)
    : transfer(Transfer::Direction::send, send.peer(), send.key.communicator, send.key.tag, memory) {
    transfer.engine = &engine;
    transfer.stage = send.stage;
    transfer.large = send.large;
    transfer.ordinal = send.ordinal;
    transfer.watch(*this);
}

KeptSend::~KeptSend() {
    Engine& engine = *transfer.engine;
    // If the network itself still reads the memory, it stays: a living peer may fetch the message.
    if (transfer.done() || engine.transport_.release(transfer.peer(), transfer)) engine.landing_.give_back(transfer.buffer);
}

// No caller waits for the message. So whatever tells of the loss of its receiver tells of the message, too: the next call that fails on its
// communicator, and the end of the job. One message is named there; the log has all.
void KeptSend::tell_of_loss(const Error& error) {
    Engine& engine = *transfer.engine;
    CommunicatorState* const communicator = engine.communicators_.find(transfer.key.communicator);
    // Another rank may read it, which learns from this one that the communicator is broken. So it names its sender.
    const std::string lost =
        fmt::format("a message of {} bytes with tag {} from {} to {}{}, for which send() had ended, was not delivered",
                    transfer.buffer.size, transfer.key.tag, engine.name_of(engine.options_.rank), engine.name_of(transfer.peer()),
                    communicator ? " on " + communicator->group->name : std::string());
    log_message(LogLevel::warn, "{}{}: {}", job_in_log(engine.options_.job), lost, error.what());
    if (engine.undelivered_.empty()) engine.undelivered_ = lost;
    if (!communicator || !communicator->broken) return;
    const Error& broken = *communicator->broken;
    const bool tells_already = std::string_view(broken.what()).find("for which send() had ended") != std::string_view::npos;
    if (!tells_already)
        communicator->broken = std::make_unique<Error>(broken.code(), fmt::format("{}; {}", broken.what(), lost), broken.failed_rank());
}

void KeptSend::ended() noexcept {
    Engine& engine = *transfer.engine;
    if (const Error* error = transfer.error()) tell_of_loss(*error);
    engine.kept_sends_.erase(place);  // this object is gone
    engine.early_.land_waiting();
}

bool Engine::may_keep(std::uint64_t bytes) noexcept {
    const auto has_room = [&] { return landing_.used() + bytes <= Landing::most_kept(landing_.budget()); };
    if (!landing_.could_hold(bytes)) return false;
    if (!has_room()) landing_.reclaim();
    early_.land_waiting();
    return has_room() && !early_.any_waits_for_room();
}

Nanoseconds Engine::patience(const Transfer& send) const noexcept {
    if (!options_.find_part_alone || send.buffer.size <= options_.eager_bytes) return kNever;
    return kReceiverAnswers + static_cast<Nanoseconds>(send.buffer.size / kBytesPerNanosecond);
}

void Engine::keep(Transfer& send) {
    if (patience(send) == kNever || finalizing_ || !may_keep(send.buffer.size)) return;
    // Only now: may_keep() lets messages land, and this one may have moved meanwhile.
    const bool queued = send.stage == Transfer::Stage::queued;
    const bool offered = send.stage == Transfer::Stage::moving && send.large && !send.withdrawn;
    if (!(queued || offered)) return;
    const auto memory = landing_.take(send.buffer.size, false);
    if (!memory) return;
    auto kept = kept_sends_.end();
    try {
        kept = kept_sends_.emplace(kept, *this, send, *memory);
    } catch (const std::bad_alloc&) {
        return landing_.give_back(*memory);
    }
    kept->place = kept;
    if (queued) {
        copy_bytes(memory->data, send.buffer.data, send.buffer.size);
        backlog_.remove(send);
        backlog_.push(kept->transfer);
    } else if (!transport_.move_payload(send.peer(), send, *memory, kept->transfer)) {
        kept_sends_.erase(kept);
        return;
    }
    ++begun_;  // The message ends once more; no caller waits for that.
    ++finished_;
    send.stage = Transfer::Stage::done;
    send.set_done();
}

}  // namespace rollcall::runtime
