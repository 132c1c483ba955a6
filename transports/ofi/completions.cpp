#include "transports/ofi/completions.hpp"

#include <cstdint>
#include <tuple>

#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include "transports/ofi/endpoint.hpp"
#include "transports/ofi/library.hpp"

namespace rollcall::transport::ofi {
namespace {

std::string with_more(std::string what, const char* more) {
    if (more && *more && what != more) what += fmt::format(" ({})", more);
    return what;
}

}  // namespace

bool Completions::look() {
    if (first_ < last_) return true;
    first_ = last_ = 0;
    std::array<fi_cq_msg_entry, std::tuple_size_v<decltype(events_)>> entries;
    const ssize_t count = fi_cq_read(queue_, entries.data(), entries.size());
    if (count < 0) {
        if (count == -FI_EAGAIN) {
            if (events_of_no_operation_) take_error_of_no_operation();
            return is_troubled();  // an earlier look may have found trouble that nobody has taken yet
        }
        if (count == -FI_EAVAIL)
            take_error();
        else if (count != -FI_EINTR)
            note_loss(count, "reading the completion queue");
    }
    for (ssize_t i = 0; i < count; ++i) {
        const fi_cq_msg_entry& entry = entries[static_cast<std::size_t>(i)];
        // The provider may also report messages that were injected. They have no packet.
        if (entry.flags & FI_REMOTE_WRITE)
            events_[last_++] = {};
        else if (entry.op_context)
            events_[last_++] = {reinterpret_cast<Packet*>(entry.op_context), entry.len, false};
    }
    return last_ > 0 || is_troubled();
}

void Completions::take_error() {
    fi_cq_err_entry error{};
    const ssize_t count = fi_cq_readerr(queue_, &error, 0);
    if (count == 0 || count == -FI_EAGAIN) return;  // it is gone again
    if (count < 0) return note_loss(count, "reading the completion queue");
    const char* const more = fi_cq_strerror(queue_, error.prov_errno, error.err_data, nullptr, 0);
    why_ = with_more(library().strerror(error.err), more);
    auto* const packet = reinterpret_cast<Packet*>(error.op_context);
    if (packet) events_[last_++] = {packet, 0, true};
    // A packet that was to receive says nothing about the sender. Packets for which no message came are cancelled in the end.
    if (packet && (!packet->incoming || error.err == FI_ECANCELED)) return;
    note_error(why_);
}

void Completions::take_error_of_no_operation() {
    std::uint32_t event = 0;
    fi_eq_cm_entry entry{};
    // An event that is no error says nothing that matters here.
    if (fi_eq_read(events_of_no_operation_, &event, &entry, sizeof entry, 0) != -FI_EAVAIL) return;
    fi_eq_err_entry error{};
    if (fi_eq_readerr(events_of_no_operation_, &error, 0) < 0) return;
    const char* const more = fi_eq_strerror(events_of_no_operation_, error.prov_errno, error.err_data, nullptr, 0);
    note_error(with_more(library().strerror(error.err), more));
}

void Completions::note_error(std::string_view why) {
    if (is_troubled()) return;  // the first sentence stays: it may say that events were lost
    trouble_ = fmt::format(
        "libfabric: the provider {} reports an error, and does not say of which peer: {}. All peers that use it are asked "
        "whether messages were lost; FI_LOG_LEVEL=warn says more",
        provider_, why);
}

void Completions::note_loss(ssize_t result, std::string_view what) {
    has_lost_events_ = true;
    trouble_ =
        result == -FI_EOVERRUN
            ? fmt::format(
                  "libfabric: more events came than the completion queue of the provider {} holds ({}), and some were lost "
                  "(FI_EOVERRUN)",
                  provider_, kPlaces)
            : fmt::format("libfabric: {} of the provider {} failed: {}", what, provider_, library().strerror(static_cast<int>(-result)));
    trouble_ += "; FI_LOG_LEVEL=warn says more, and ROLLCALL_OFI_PROVIDER or ROLLCALL_TRANSPORT=ucx choose another way";
}

}  // namespace rollcall::transport::ofi
