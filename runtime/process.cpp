#include "runtime/process.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "foundation/error_text.hpp"
#include "foundation/interfaces.hpp"
#include "foundation/job_in_log.hpp"
#include "foundation/log.hpp"
#include "runtime/clock/host_clock.hpp"
#include "runtime/limits.hpp"
#include "transports/catalogue.hpp"
#include "transports/process_memory.hpp"

namespace rollcall::runtime {
namespace {

// The automatic number of arrival slots: enough for this many communicators of the size of the job, but at least kLeastSlots. Each slot is
// memory of each rank, and over RDMA it cannot be swapped. So from kManyRanks on, there are slots for fewer more.
constexpr std::uint64_t kCommunicatorsWithSlots = 16, kMoreForManyRanks = 4;
constexpr std::uint64_t kLeastSlots = 4096;
constexpr std::uint64_t kManyRanks = 4096;

// The options of the transports: which interfaces this job uses, and how they are reached.
transport::TransportOptions transport_options(const Settings& settings, const bootstrap::Place& place) {
    transport::TransportOptions options;
    options.rank = place.rank;
    options.size = place.size;
    options.local_size = place.local_size;
    options.local_rank = place.local_rank;
    options.board_bytes = board_bytes(slots_of(settings, place.size));
    options.driven_in_background = settings.progress == ProgressMode::thread;
    options.ofi_reads = settings.ofi_reads;
    options.ofi_provider = settings.ofi_provider;
    options.interfaces_named = !settings.net.empty();
    if (place.size == 1) return options;
    const auto interfaces = list_interfaces();
    const Choice choice = choose_interfaces(interfaces, settings.net, place.hosts);
    for (std::size_t i = 0; i < interfaces.size(); ++i)
        if (choice.verdicts[i].chosen) options.interfaces.push_back(interfaces[i]);
    return options;
}

// The interfaces over which the hosts ask each other whether they still answer. Of the RDMA ports, the data goes over the fastest, and an
// answer that comes over another one says nothing about it.
std::vector<Interface> watched_interfaces(const transport::TransportOptions& options, bool over_tcp) {
    std::vector<Interface> watched = options.interfaces;
    if (over_tcp) std::erase_if(watched, [](const Interface& each) { return each.rdma; });
    std::uint64_t fastest = 0;
    for (const Interface& each : watched)
        if (each.rdma) fastest = std::max(fastest, each.speed_megabits);
    std::erase_if(watched, [&](const Interface& each) { return each.rdma && each.speed_megabits < fastest; });
    return watched;
}

// `woken_by_kernel`: other hosts of the job are containers of this machine, which are reached over TCP. So the kernel brings their
// messages, and wakes a caller that sleeps as soon as one is there. A caller that polls would take the cores that it shares from the ranks
// it waits for.
IdlePolicy policy_of(const Settings& settings, bool crowded, bool woken_by_kernel) {
    IdlePolicy policy;
    policy.background = settings.progress == ProgressMode::thread;
    policy.follow_application = settings.progress_bind == ProgressBind::application;
    policy.yield = settings.yield == "always" || (settings.yield == "auto" && crowded);
    policy.spin = settings.yield == "auto" && crowded && woken_by_kernel ? 0 : settings.spin;
    policy.tick = settings.progress_tick;
    policy.quiet = settings.progress_quiet;
    return policy;
}

}  // namespace

std::uint64_t slots_of(const Settings& settings, int size) {
    if (settings.board_slots) return std::max<std::uint64_t>(settings.board_slots, static_cast<std::uint64_t>(size));
    const auto ranks = static_cast<std::uint64_t>(size), others = ranks - std::min(ranks, kManyRanks);
    return std::max(kLeastSlots, kCommunicatorsWithSlots * (ranks - others) + kMoreForManyRanks * others);
}

Process::Process(std::unique_ptr<bootstrap::Bootstrap> bootstrap, Settings settings, AlgorithmName algorithm_name,
                 FindPartAlone find_part_alone, std::optional<TwoJobs> two_jobs)
    : own_(two_jobs ? two_jobs->own : nullptr),
      settings_(std::move(settings)),
      bootstrap_(std::move(bootstrap)),
      slots_(slots_of(settings_, bootstrap_->place().size)) {
    if (!own_) jobs_of_this_process.fetch_add(1, std::memory_order_relaxed);
    watch_forks();
    if (place().rank == 0) {
        for (const std::string& warning : settings_.warnings) log_message(LogLevel::warn, "{}", warning);
        costs_ = costs_of_setting(settings_.costs);
    }
    const transport::TransportOptions options = transport_options(settings_, place());
    make_transport(options);
    if (place().hosts > 1 && settings_.silence > 0) {
        lifelines_ = std::make_unique<Lifelines>(settings_.silence, watched_interfaces(options, transport().uses_tcp()));
        if (lifelines_->address().empty() && place().rank == 0)
            log_message(LogLevel::info,
                        "links to other hosts are not watched, because no network that carries data has an IP address for it");
    }
    engine_ = std::make_unique<Engine>(transport(), machine_, arena_, engine_options(algorithm_name, find_part_alone));
    const TestClock wrong_clock = test_clock(place().rank, place().size);
    engine_->set_host_clock(wrong_clock.model);
    clock_ = std::make_shared<CommonClock>(wrong_clock.model);
    make_segment();

    const std::string cpus = format_cpus(cpus_of());
    std::vector<std::vector<std::byte>> own_addresses;
    for (const auto& transport : transports_) own_addresses.push_back(transport->address());
    const Card mine = own_card(cpus, own_addresses, clock_identity(place().host) + wrong_clock.number);
    // ROLLCALL_TIMEOUT is for calls, and not for the start. The bootstrap limits how long ranks may take to come, or the launcher does, if
    // --launch-timeout is given. Both name the missing ranks. The loss of a rank ends the exchange.
    const auto cards = bootstrap_->exchange(write_card(mine), {}, kForever);
    Met met = meet(mine, cards);
    const std::vector<node::TooLong> too_long = node::leave_out_too_long(met.handles);
    share_memory(met);
    find_sharing(met.handles);
    if (two_jobs) two_jobs->name_ranks(met.hosts);
    engine_->set_hosts(std::move(met.hosts));
    warn_of_limits(too_long);
    engine_->set_signs_of_life(lifelines_.get());
    connect(met, cards.storage());
    wait_for_neighbours();
    // If each rank has a core of its own, it is faster to copy twice, because the two ranks copy at the same time.
    const bool crowded = oversubscribed(met.neighbours), prefers_single_copy = settings_.single_copy == "always" || crowded;
    if (node_) node_->set_prefers_single_copy(prefers_single_copy);
    if (single_copy_ && prefers_single_copy) single_copy_->meet(met.memories);
    make_world(two_jobs);
    IdlePolicy policy = policy_of(settings_, crowded, met.woken_by_kernel);
    policy.waits_for_parts = !all_share_memory_;
    make_lane(policy);
}

Engine::Options Process::engine_options(AlgorithmName algorithm_name, FindPartAlone find_part_alone) const {
    Engine::Options options;
    options.rank = place().rank;
    options.size = place().size;
    options.job = job_name();
    options.landing_bytes = settings_.landing_bytes;
    options.landing_longest = longest_landing(settings_);
    const EagerLimits eager = eager_limits(settings_);
    options.eager_bytes = eager.usual;
    options.eager_bytes_over_tcp = eager.over_tcp;
    options.mismatch_probe = settings_.mismatch_probe;
    options.algorithm_name = algorithm_name;
    if (connects_jobs()) options.end = "disconnect() or finalize()";
    if (settings_.decouples()) options.find_part_alone = find_part_alone;
    options.hosts.assign(static_cast<std::size_t>(place().size), place().host);
    options.driven_in_background = settings_.progress == ProgressMode::thread;
    return options;
}

void Process::make_segment() {
    if (settings_.node_memory == "no") {
        node_memory_in_words_ = "none, because ROLLCALL_NODE_MEMORY is no";
    } else if (place().size > 1) {
        const std::uint64_t part = settings_.node_ranks == 0 ? 0 : static_cast<std::uint64_t>(place().local_rank) / settings_.node_ranks;
        segment_ = std::make_unique<node::Segment>(slots_of(settings_, place().size), engine_->landing().budget(), part);
        if (!segment_->why_not().empty()) node_memory_in_words_ = "none: " + segment_->why_not();
    }
}

Card Process::own_card(std::string_view cpus, std::span<const std::vector<std::byte>> addresses, std::uint64_t clock) const {
    Card card{.host = place().host,
              .cpus = cpus,
              .clock = clock,
              .allowance = engine_->granted_allowance(),
              .accepts_eager_data = engine_->accepts_eager_data(),
              .node = segment_ ? segment_->handle() : node::Handle(),
              .memory = single_copy_ ? single_copy_->handle() : transport::SingleCopyHandle(),
              .lifeline = lifelines_ ? lifelines_->address() : std::span<const std::byte>(),
              .costs = {},
              .addresses = {}};
    if (place().rank == 0) card.costs = std::as_bytes(std::span(&costs_, 1));
    for (std::size_t i = 0; i < transports_.size(); ++i)
        card.addresses.push_back({.transport = transports_[i]->name(), .version = transports_[i]->version(), .bytes = addresses[i]});
    return card;
}

void Process::make_world(const std::optional<TwoJobs>& two_jobs) {
    auto world = std::make_shared<Group>();
    world->id = kWorldId;
    world->name = two_jobs ? fmt::format("{}+{}", two_jobs->names[0], two_jobs->names[1]) : "world";
    world->size = place().size;
    if (two_jobs) world->first_group = two_jobs->in_first;
    complete(*world);
    slots_of_world_ = slots_.take(static_cast<std::uint64_t>(place().size), [](std::uint64_t, std::uint64_t) { return false; });
    world_ = world;
}

Slots Process::take_slots(std::uint64_t count) {
    Slots slots;
    // Communicators leave their slots while their thread has the baton. So the baton is taken first.
    lane_->as_owner([&](Engine&) {
        slots = slots_.take(count, [&](std::uint64_t first, std::uint64_t its) { return node_ && node_->has_unread(first, its); });
    });
    return slots;
}

void Process::make_lane(const IdlePolicy& policy) {
    lane_ = std::make_unique<Lane>(*engine_, *bootstrap_, policy);
    if (own_) lane_->belong_to(own_->job().lane());
    log_message(LogLevel::debug, "rank {} of {} on {}, started by {}, over {}, {} while it waits; node memory: {}; single copy: {}",
                place().rank, place().size, place().host, bootstrap_->name(), transport().description(),
                !policy.yield     ? "keeps its core"
                : policy.spin > 0 ? "yields"
                                  : "sleeps",
                node_memory_in_words_, single_copy_in_words_);
}

void Process::make_transport(const transport::TransportOptions& options) {
    auto made = transport::make_transport(settings_.transport, options);
    if (settings_.single_copy == "no") {
        single_copy_in_words_ = "no, because ROLLCALL_SINGLE_COPY is no";
    } else if (options.local_size > 1) {
        const std::string why_not = transport::why_memory_cannot_be_read();
        single_copy_in_words_ = why_not.empty() ? "yes" : "no: " + why_not;
        if (why_not.empty()) {
            auto around = transport::with_single_copy(std::move(made), options.rank, options.size);
            single_copy_ = around.get();
            made = std::move(around);
        }
    }
    transports_.push_back(std::move(made));
}

void* Process::allocate(std::uint64_t bytes) {
    void* memory = nullptr;
    int reason = 0;
    lane_->as_owner([&](Engine&) {
        if (node_) memory = node_->buffers().allocate(bytes);
        // Above the limit of file sizes the other ranks get copies.
        if (!node_ || (!memory && errno == EFBIG)) memory = transport().memory().allocate(bytes);
        reason = errno;
    });
    if (!memory)
        throw Error(ErrorCode::state,
                    fmt::format("{} asked for {} bytes of memory, and there is none: {}. Ask for less, or raise the limits "
                                "of memory and open files (ulimit -v, ulimit -n)",
                                name_of(place().rank), bytes, error_text(reason)));
    return memory;
}

void Process::release(void* memory, std::uint64_t bytes) {
    lane_->as_owner([&](Engine&) {
        const bool is_shared = node_ && node_->buffers().find({static_cast<const std::byte*>(memory), bytes});
        transport::Memory& source = is_shared ? node_->buffers() : transport().memory();
        source.release(memory, bytes);
    });
}

void Process::refuse_child() const {
    throw Error(ErrorCode::state, fmt::format("this process is a child that {} has forked, and is not a rank of the job: only the process "
                                              "that joined the job can communicate. A child that should be a rank must join a job itself",
                                              name_of(place().rank)));
}

void Process::refuse_finalized() const {
    throw Error(ErrorCode::state, fmt::format("the {} was {}: communicate before {}", connects_jobs() ? "connection of two jobs" : "job",
                                              connects_jobs() ? "ended" : "finalized", way_out()));
}

bool Process::share_boards(const Group& group) const {
    if (!group.has_slots) return false;
    // All ranks of the group say the same, because each of them shares memory with the same ranks.
    for (int rank = 0; rank < group.size; ++rank)
        if (!by_memory_[static_cast<std::size_t>(group.world_rank(rank))]) return false;
    return true;
}

Process::~Process() {
    if (own_) own_->remove_connection(*this);
    if (lane_) lane_->stop_background();
    // If the job did not end in good order, parts that run without their callers may still hold places in node memory.
    if (engine_) engine_->close();
}

}  // namespace rollcall::runtime
