// Common time: which ranks synchronise their clocks, and when.
#include "api/communicator_implementation.hpp"
#include "collectives/clock/synchronize.hpp"
#include "collectives/trees/hosts.hpp"

namespace rollcall {

using runtime::CommonClock;

std::vector<int> Communicator::Implementation::hosts() const {
    std::vector<int> all(static_cast<std::size_t>(state.group->size));
    for (std::size_t rank = 0; rank < all.size(); ++rank)
        all[rank] = process->clock_hosts()[static_cast<std::size_t>(state.group->world_rank(static_cast<int>(rank)))];
    return all;
}

void Communicator::Implementation::synchronize(CommonClock& common, Nanoseconds window) const {
    check_alive();
    const std::vector<int> host_of = hosts();
    if (collectives::count_hosts(host_of) == 1) return;
    runtime::ClockSynchronization here{.hosts = host_of, .window = window};
    if (common.synchronized()) here.previous = common.clock();
    runtime::Arguments arguments;
    arguments.clocks = &here;
    runtime::Call call;
    call.kind = runtime::OperationKind::clocks;
    runtime::Operation operation(state, next_sequence(), call, &collectives::synchronize_clocks, arguments);
    run(operation, deadline({}));
    common.set(here.clock);
}

void Communicator::Implementation::use_clock(const std::shared_ptr<CommonClock>& common) const {
    if (common == clock) return;
    process->lane().as_owner([&](runtime::Engine&) { state.clock = common.get(); });
    clock = common;
}

Communicator::Implementation::KnownClocks Communicator::Implementation::known_clocks() const {
    return {.job = process->clock()->synchronized(), .communicator = clock->synchronized()};
}

void Communicator::Implementation::agree_on_clock(KnownClocks known_by_all, Nanoseconds window) const {
    const bool all_of_job = state.group->size == process->place().size && state.group->world_rank(0) == 0;
    if (known_by_all.job) return use_clock(process->clock());
    if (known_by_all.communicator || collectives::count_hosts(hosts()) == 1) return;
    const auto common = all_of_job ? process->clock() : std::make_shared<CommonClock>(process->clock()->host());
    synchronize(*common, window);
    use_clock(common);
}

void Communicator::Implementation::make_common(CallRecord& record) const {
    const runtime::ClockModel model = clock->model();
    for (Nanoseconds* time : {&record.arrival, &record.first_data, &record.exit, &record.predicted})
        if (*time != 0) *time = model.at(*time);
}

}  // namespace rollcall
