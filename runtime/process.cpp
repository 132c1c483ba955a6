#include "runtime/process.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "runtime/clock/host_clock.hpp"
#include "runtime/topology/binding.hpp"
#include "runtime/topology/interfaces.hpp"
#include "transports/ucx/ucx_transport.hpp"

namespace rollcall::runtime {
namespace {

// How long leaving may take when nobody has died: then connections are closed by force.
constexpr Timeout kLeaveTimeout = std::chrono::seconds(10);
// Automatic number of arrival slots: a job's ranks in this many communicators of full size, or at least this many slots.
constexpr std::uint64_t kCommunicatorsWithSlots = 16;
constexpr std::uint64_t kLeastSlots = 4096;
constexpr std::uint32_t kCardVersion = 2;

// What each rank tells all others when the job starts. The host's name, its CPUs and the transport's address follow.
struct CardHead {
    std::uint32_t version = kCardVersion;
    std::uint32_t allowance = 0;
    std::uint32_t accepts_eager_data = 0;
    std::uint32_t shares_memory = 0;
    std::uint32_t host_length = 0;
    std::uint32_t cpus_length = 0;
    std::uint32_t address_length = 0;
    std::uint64_t clock = 0;  ///< Of the host: clock_identity().
};

// By the logger that start_log() makes.
template <class... Values>
void log(spdlog::level::level_enum level, fmt::format_string<Values...> format, Values&&... values) {
    if (const auto logger = spdlog::get("rollcall")) logger->log(level, "{}", fmt::format(format, std::forward<Values>(values)...));
}

bootstrap::Blob make_card(const CardHead& head, std::string_view host, std::string_view cpus, std::span<const std::byte> address) {
    bootstrap::Blob card(sizeof head + host.size() + cpus.size() + address.size());
    std::byte* at = card.data();
    const auto add = [&](const void* data, std::size_t size) {
        if (size) std::memcpy(at, data, size);
        at += size;
    };
    add(&head, sizeof head);
    add(host.data(), host.size());
    add(cpus.data(), cpus.size());
    add(address.data(), address.size());
    return card;
}

IdlePolicy policy_of(const Settings& settings, bool crowded) {
    IdlePolicy policy;
    policy.background = settings.progress == ProgressMode::thread;
    policy.follow_application = settings.progress_bind == ProgressBind::application;
    policy.yield = settings.yield == "always" || (settings.yield == "auto" && crowded);
    policy.spin = settings.spin;
    policy.tick = settings.progress_tick;
    policy.quiet = settings.progress_quiet;
    return policy;
}

}  // namespace

std::uint64_t slots_of(const Settings& settings, int size) {
    if (settings.board_slots) return std::max<std::uint64_t>(settings.board_slots, static_cast<std::uint64_t>(size));
    return std::max(kLeastSlots, kCommunicatorsWithSlots * static_cast<std::uint64_t>(size));
}

std::uint64_t SlotAllocator::take(std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    std::uint64_t first = 0;
    auto before = taken_.begin();
    for (; before != taken_.end() && before->first < first + count; ++before) first = before->first + before->count;
    if (first + count > slots_) return kNoSlots;
    taken_.insert(before, Range{first, count});
    return first;
}

void SlotAllocator::give_back(std::uint64_t first) {
    const std::lock_guard lock(mutex_);
    std::erase_if(taken_, [&](const Range& range) { return range.first == first; });
}

Process::Process(std::unique_ptr<bootstrap::Bootstrap> bootstrap, Settings settings, AlgorithmName algorithm_name)
    : settings_(std::move(settings)), bootstrap_(std::move(bootstrap)), slots_(slots_of(settings_, bootstrap_->place().size)) {
    const bootstrap::Place& place = bootstrap_->place();
    const Timeout timeout = settings_.timeout ? Timeout(settings_.timeout) : kForever;

    transport::UcxOptions options;
    options.rank = place.rank;
    options.size = place.size;
    options.board_bytes = board_bytes(slots_of(settings_, place.size));
    if (place.size > 1) {
        const auto interfaces = list_interfaces();
        const Choice choice = choose_interfaces(interfaces, settings_.net, place.hosts);
        // UCX's own choice of devices stands where the user made it there and not here.
        if (!settings_.net.empty() || !std::getenv("UCX_NET_DEVICES")) options.net_devices = choice.devices();
    }
    transport_ = transport::make_ucx_transport(options);

    Engine::Options engine_options;
    engine_options.rank = place.rank;
    engine_options.size = place.size;
    engine_options.landing_bytes = settings_.landing_bytes;
    engine_options.landing_longest = settings_.landing_longest;
    engine_options.eager_bytes = settings_.eager_bytes;
    if (settings_.landing_longest) engine_options.eager_bytes = std::min(settings_.eager_bytes, settings_.landing_longest);
    engine_options.mismatch_probe = settings_.mismatch_probe;
    engine_options.algorithm_name = algorithm_name;
    engine_options.hosts.assign(static_cast<std::size_t>(place.size), place.host);
    engine_options.trace = true;
    engine_ = std::make_unique<Engine>(*transport_, arena_, engine_options);

    const TestClock wrong_clock = test_clock(place.rank, place.size);
    engine_->set_host_clock(wrong_clock.model);
    clock_ = std::make_shared<CommonClock>(wrong_clock.model);

    const std::string cpus = format_cpus(cpus_of());
    CardHead head;
    head.allowance = engine_->granted_allowance();
    head.accepts_eager_data = engine_->accepts_eager_data();
    head.shares_memory = transport_->shares_memory();
    head.clock = clock_identity(place.host) + wrong_clock.number;
    const auto address = transport_->address();
    head.host_length = static_cast<std::uint32_t>(place.host.size());
    head.cpus_length = static_cast<std::uint32_t>(cpus.size());
    head.address_length = static_cast<std::uint32_t>(address.size());
    const auto cards = bootstrap_->exchange(make_card(head, place.host, cpus, address), {}, timeout);

    std::vector<std::span<const std::byte>> addresses(cards.size());
    std::vector<std::string> hosts(cards.size());
    std::vector<Cpus> neighbours;
    std::unordered_map<std::string, int> first_on;
    std::unordered_map<std::uint64_t, int> clocks;
    for (std::size_t rank = 0; rank < cards.size(); ++rank) {
        const std::span<const std::byte> card = cards[rank];
        CardHead its;
        if (card.size() >= sizeof its) std::memcpy(&its, card.data(), sizeof its);
        if (card.size() < sizeof its || its.version != kCardVersion ||
            card.size() != sizeof its + std::size_t{its.host_length} + its.cpus_length + its.address_length)
            throw Error(ErrorCode::bootstrap,
                        fmt::format("rank {} of the job speaks another version of Rollcall: build all programs of a "
                                    "job against the same one",
                                    rank),
                        static_cast<int>(rank));
        const char* text = reinterpret_cast<const char*>(card.data() + sizeof its);
        hosts[rank].assign(text, its.host_length);
        // Hosts with one clock are containers of one kernel: their ranks share its CPUs, whatever they are called.
        if (hosts[rank] == place.host || its.clock == head.clock)
            neighbours.push_back(parse_cpus(std::string_view(text + its.host_length, its.cpus_length)));
        memory_.push_back(its.shares_memory ? first_on.try_emplace(hosts[rank], static_cast<int>(rank)).first->second : -1);
        clock_hosts_.push_back(clocks.try_emplace(its.clock, static_cast<int>(clocks.size())).first->second);
        addresses[rank] = card.last(its.address_length);
        engine_->set_allowance(static_cast<int>(rank), its.allowance, its.accepts_eager_data != 0);
    }
    engine_->set_hosts(std::move(hosts));
    transport_->connect(addresses, cards.storage());

    auto world = std::make_shared<Group>();
    world->id = kWorldId;
    world->name = "world";
    world->size = place.size;
    slots_.take(static_cast<std::uint64_t>(place.size));
    world_ = world;

    const IdlePolicy policy = policy_of(settings_, oversubscribed(neighbours));
    lane_ = std::make_unique<Lane>(*engine_, *bootstrap_, policy);
    log(spdlog::level::debug, "rank {} of {} on {}, started by {}, over {}, {} while it waits", place.rank, place.size, place.host,
        bootstrap_->name(), transport_->description(), policy.yield ? "yields" : "keeps its core");
}

void Process::finalize() {
    if (std::exchange(finalized_, true)) return;
    const auto meanwhile = [&] { lane_->progress(); };
    std::optional<Error> failure;
    lane_->as_owner([&](Engine& engine) { failure = engine.loss(); });
    if (!failure && place().size > 1) {
        try {
            // Nobody closes a connection before all have ended their operations, and nobody stops progressing before all
            // have closed: over tcp a close needs the other side.
            bootstrap_->barrier(meanwhile, settings_.timeout ? Timeout(settings_.timeout) : kForever);
            lane_->as_owner([&](Engine& engine) { engine.expect_departures(); });
            lane_->stop_background();
            const Nanoseconds until = monotonic_now() + kLeaveTimeout.count();
            while (!transport_->close() && monotonic_now() < until) transport_->progress();
            bootstrap_->barrier([&] { transport_->progress(); }, kLeaveTimeout);
        } catch (const Error& error) {
            failure = error;
        }
    }
    lane_->stop_background();
    if (!failure) return bootstrap_->leave();
    // Not left in good order: whoever still waits for this rank is to be told that it went.
    throw Error(failure->code(), fmt::format("Job::finalize() did not bring all ranks together: {}", failure->what()),
                failure->failed_rank());
}

bool Process::share_boards(const Group& group) const {
    if (!group.has_slots) return false;
    const int first = memory_[static_cast<std::size_t>(group.world_rank(0))];
    for (int rank = 1; rank < group.size; ++rank)
        if (memory_[static_cast<std::size_t>(group.world_rank(rank))] != first) return false;
    return first >= 0;
}

Process::~Process() {
    if (lane_) lane_->stop_background();
}

}  // namespace rollcall::runtime
