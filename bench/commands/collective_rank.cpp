#include "bench/commands/collective_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iostream>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/cases/payload.hpp"
#include "bench/cases/phases.hpp"
#include "bench/options/landing.hpp"
#include "bench/ranks/clock.hpp"
#include "bench/ranks/job_time.hpp"
#include "bench/ranks/message_time.hpp"
#include "bench/ranks/operands.hpp"
#include "foundation/hash.hpp"
#include "foundation/kernel.hpp"
#include "foundation/settings.hpp"
#include "foundation/units.hpp"
#include "runtime/topology/binding.hpp"

namespace rollcall::bench {
namespace {

constexpr Tag kGatherTag = 2;

/// Whether some machine has fewer CPUs for its ranks than ranks. Each rank may be bound to some of the CPUs. Hosts that are emulated on one
/// machine share its CPUs, so what counts is the kernel. Returns the same on all ranks. Collective.
bool lacks_cpus(const Communicator& world) {
    constexpr int kBits = 64;
    const std::string kernel = boot_identity();
    const std::uint64_t color = hash_of(std::as_bytes(std::span(kernel))) & std::numeric_limits<int>::max();
    const Communicator host = world.split(static_cast<int>(color), world.rank());
    const runtime::Cpus own = runtime::cpus_of();
    int end = own.empty() ? 1 : own.back() + 1;
    host.allreduce(end, maximum);
    std::vector<std::uint64_t> words(static_cast<std::size_t>(end / kBits + 1));
    for (const int cpu : own) words[static_cast<std::size_t>(cpu / kBits)] |= std::uint64_t{1} << (cpu % kBits);
    host.allreduce(words, bitwise_or);
    int cpus = 0;
    for (const std::uint64_t word : words) cpus += std::popcount(word);
    bool lacks = host.size() > std::max(cpus, 1);
    world.allreduce(lacks, logical_or);
    return lacks;
}

/// The groups of the sweep. Null: it has no groups. Collective.
Intercommunicator groups_of(const Sweep& sweep, const Communicator& world) {
    return sweep.in_first > 0 ? divided(world, sweep.in_first) : Intercommunicator();
}

/// What a rank brings to the calls of one size.
Operands operands_of(const Sweep& sweep, const Communicator& world, const Intercommunicator& groups, std::uint64_t bytes,
                     std::optional<SizeDistribution> distribution) {
    const Intercommunicator* const between = groups ? &groups : nullptr;
    if (!distribution) return {world, sweep.operation, call_bytes(sweep.operation, bytes, world.size()), sweep.root, between};
    return {world, sweep.operation, call_sizes(sweep.operation, *distribution, bytes, world.size()), sweep.root, between};
}

/// The work of one rank.
class Runner {
  public:
    Runner(Job& job, const Agenda& agenda, const Inherited& inherited)
        : job_(job),
          world_(job.world()),
          agenda_(agenda),
          sweep_(agenda.sweep),
          groups_(groups_of(sweep_, world_)),
          partner_(message_partner(world_, sweep_.root, sweep_.in_first)),
          wait_(agenda.wait.value_or(sweep_.phases || lacks_cpus(world_) ? Compute::sleep : Compute::spin)),
          time_(job),
          progress_(rows() * cells() * agenda.iterations,
                    job.rank() == 0 ? progress_surroundings(inherited) : ProgressLine::Surroundings{false, 0, {}, monotonic_now}) {
        make_sleep_exact();
    }

    /// At rank 0, calls `use` with all cells of a size and of a distribution, once they have been measured.
    void run(const std::function<void(std::vector<Measured>)>& use) {
        if (const Nanoseconds error = time_.worst_error(); error > 0 && job_.rank() == 0 && agenda_.first == 0)
            std::cerr << fmt::format("clocks of several hosts: synchronised, at most {} off\n",
                                     format_duration(static_cast<double>(error) * 1e-9));
        for (const std::uint64_t bytes : sweep_.sizes) {
            if (sweep_.distributions.empty()) run_size(bytes, {}, use);
            for (const SizeDistribution distribution : sweep_.distributions) run_size(bytes, distribution, use);
        }
    }

  private:
    /// The times of one rank in one call, in job time.
    struct Record {
        Nanoseconds start, arrival, first_data, exit, predicted;
    };

    /// The number of rows that are measured one after the other.
    std::size_t rows() const { return sweep_.sizes.size() * std::max<std::size_t>(sweep_.distributions.size(), 1); }
    std::size_t cells() const { return sweep_.patterns.size() * sweep_.algorithms.size(); }
    /// The index of the record of call number `i` of this job.
    std::size_t place(std::uint64_t i, std::size_t cell) const { return i * cells() + cell; }
    const Pattern& pattern(std::size_t cell) const { return sweep_.patterns[cell / sweep_.algorithms.size()]; }
    const std::string& algorithm(std::size_t cell) const { return sweep_.algorithms[cell % sweep_.algorithms.size()]; }
    /// The name that calls give. Programs that want `auto` give none, and a call without a name may reuse what the last one has prepared.
    std::string_view asked(std::string_view algorithm) const { return algorithm == "auto" && auto_is_set_ ? "" : algorithm; }
    std::uint64_t size_of_call(std::uint64_t bytes) const { return call_bytes(sweep_.operation, bytes, job_.size()); }

    void run_size(std::uint64_t bytes, std::optional<SizeDistribution> distribution,
                  const std::function<void(std::vector<Measured>)>& use) {
        std::vector<Measured> measured = measure_size(bytes, distribution);
        progress_.erase();
        for (Measured& cell : measured) add_notes(cell, sweep_, distribution);
        if (job_.rank() == 0) use(std::move(measured));
    }

    std::vector<Measured> measure_size(std::uint64_t bytes, std::optional<SizeDistribution> distribution) {
        Operands operands = operands_of(sweep_, world_, groups_, bytes, distribution);
        const Nanoseconds message = message_time(world_, sweep_.root, partner_, size_of_call(bytes));
        // Each cell corresponds to one call site of a program. It has a plan of its own, which learns only from the phases of that cell.
        std::vector<Plan> plans;
        if (sweep_.phases)
            for (std::size_t cell = 0; cell < cells(); ++cell)
                plans.push_back(operands.plan({.algorithm = asked(algorithm(cell)),
                                               .segment_bytes = sweep_.segment_bytes,
                                               .timeout = {},
                                               .predictor = sweep_.phases->predictor}));
        if (sweep_.explain && job_.rank() == 0 && agenda_.first == 0) explain(operands, plans);
        const auto call_cell = [&](std::size_t cell, Nanoseconds delay, std::uint64_t iteration) {
            return call(operands, algorithm(cell), plans.empty() ? nullptr : &plans[cell], delay, iteration,
                        key_of({sweep_.seed, bytes, iteration, cell}));
        };
        for (std::uint64_t iteration = 0; iteration < agenda_.warmup; ++iteration)
            for (std::size_t cell = 0; cell < (plans.empty() ? sweep_.algorithms.size() : cells()); ++cell) call_cell(cell, 0, iteration);

        std::vector<Record> mine(agenda_.iterations * cells());
        for (std::uint64_t i = 0; i < agenda_.iterations; ++i) {
            const std::uint64_t iteration = agenda_.first + i;
            for (const std::size_t cell : shuffled(cells(), key_of({sweep_.seed, bytes}), iteration)) {
                progress_.update(done_++, fmt::format("{} {} {}", format_bytes(bytes), algorithm(cell), pattern(cell).describe()));
                const auto delays = pattern(cell).delays(job_.size(), sweep_.root, iteration, message);
                mine[place(i, cell)] = call_cell(cell, delays[static_cast<std::size_t>(job_.rank())], agenda_.warmup + iteration);
            }
        }
        time_.check();
        for (Record& record : mine)
            for (Nanoseconds* time : {&record.arrival, &record.first_data, &record.exit, &record.predicted})
                if (*time != kNoTime) *time = time_.corrected(*time);
        return gather(bytes, message, mine);
    }

    /// Says what `auto` chooses. Planned calls have a choice of their own, because they begin early.
    void explain(Operands& operands, const std::vector<Plan>& plans) const {
        std::ostream& out = explanations(sweep_.format);
        for (std::size_t cell = 0; cell < plans.size(); ++cell)
            if (algorithm(cell) == "auto") {  // the plans of all patterns have the same one
                out << plans[cell].explanation() << std::endl;
                return;
            }
        out << operands.explain({.algorithm = "auto", .segment_bytes = {}, .timeout = {}}, !plans.empty()) << std::endl;
    }

    /// Executes one call on all ranks: prepares the data, starts together, and checks the result.
    Record call(Operands& operands, const std::string& algorithm, Plan* plan, Nanoseconds delay, std::uint64_t iteration,
                std::uint64_t key) {
        operands.prepare(key);
        Nanoseconds start = common_start(job_);
        const Nanoseconds own_start = job_.local_time_at(start);
        const Times times =
            plan ? call_after_phase(*plan, own_start, phase_of(*sweep_.phases, delay, noise_key(sweep_.seed, iteration, job_.rank())))
                 : call_after(operands, algorithm, own_start + delay);
        if (plan) start += 2 * sweep_.phases->compute;
        // A rank checks its data only after all ranks have left the call, because checking would take their cores.
        world_.barrier();
        if (corrupt_) operands.spoil();
        if (const auto wrong = operands.find_wrong(key))
            job_.abort(1, fmt::format("{} gave a wrong result: {}", operands.describe(algorithm), *wrong));
        const auto or_never = [](Nanoseconds time) { return time > 0 ? time : kNoTime; };
        return {start, job_.time_at(times.arrival), or_never(times.record.first_data), job_.time_at(times.exit),
                or_never(times.record.predicted)};
    }

    /// The times of a call. Arrival and exit are taken around the whole call, as the programs of peers take them, on this host's clock. The
    /// record's own stamps leave out what the call does before and after them.
    struct Times {
        Nanoseconds arrival = 0, exit = 0;
        CallRecord record;
    };

    Times call_after(Operands& operands, const std::string& algorithm, Nanoseconds moment) {
        Times times;
        const CollectiveOptions options{.algorithm = asked(algorithm),
                                        .segment_bytes = sweep_.segment_bytes,
                                        .timeout = {},
                                        .record = is_recorded_ ? &times.record : nullptr};
        wait_until(moment, wait_);
        times.arrival = monotonic_now();
        operands.call(options);
        times.exit = monotonic_now();
        return times;
    }

    Times call_after_phase(Plan& plan, Nanoseconds start, const Phase& phase) {
        wait_until(start, wait_);
        plan.begin();
        if (sweep_.phases->edge) {
            wait_until(start + phase.edge, wait_);
            plan.edge(kEdge);
        }
        wait_until(start + phase.end, wait_);
        Times times;
        times.arrival = monotonic_now();
        plan.run();
        times.exit = monotonic_now();
        times.record = plan.record();
        return times;
    }

    /// Collects the records of all ranks at rank 0. Returns nothing on other ranks.
    std::vector<Measured> gather(std::uint64_t bytes, Nanoseconds message, const std::vector<Record>& mine) {
        const std::span<const Record> own(mine);
        if (job_.rank() != 0) {
            world_.send(own, 0, kGatherTag);
            return {};
        }
        std::vector<std::vector<Record>> all(static_cast<std::size_t>(job_.size()), mine);
        for (int rank = 1; rank < job_.size(); ++rank)
            world_.receive(std::span<Record>(all[static_cast<std::size_t>(rank)]), rank, kGatherTag);

        std::vector<Measured> cells_of_size;
        for (std::size_t cell = 0; cell < cells(); ++cell) {
            Measured measured{.identity = {.operation = std::string(runtime::name(sweep_.operation)),
                                           .algorithm = algorithm(cell),
                                           .transport = transport_name(job_),
                                           .ranks = job_.size(),
                                           .bytes = bytes,
                                           .pattern = pattern(cell).describe(),
                                           .iterations = agenda_.iterations},
                              .setup = {sweep_.root, message, model_},
                              .calls = {}};
            for (std::uint64_t i = 0; i < agenda_.iterations; ++i) {
                CallSample call;
                call.iteration = agenda_.first + i;
                call.start = mine[place(i, cell)].start;
                call.asked = pattern(cell).delays(job_.size(), sweep_.root, call.iteration, message);
                for (const auto& records : all) {
                    const Record& record = records[place(i, cell)];
                    call.arrivals.push_back(record.arrival);
                    call.exits.push_back(record.exit);
                    call.first_data.push_back(record.first_data);
                    call.predicted.push_back(record.predicted);
                }
                measured.calls.push_back(std::move(call));
            }
            cells_of_size.push_back(std::move(measured));
        }
        return cells_of_size;
    }

    Job& job_;
    const Communicator& world_;
    const Agenda& agenda_;
    const Sweep& sweep_;
    Intercommunicator groups_;
    const int partner_;  ///< With which the root measures T.
    Compute wait_;
    JobTime time_;
    ProgressLine progress_;
    const Model model_ = model_now();
    const bool corrupt_ = is_spoiler(job_.rank());
    const bool auto_is_set_ = Settings::from_environment().algorithms[static_cast<std::size_t>(sweep_.operation)] == "auto";
    /// Only raw samples and pictures tell when the first data came. A record takes about a tenth of a microsecond, and MPI has none.
    const bool is_recorded_ = !sweep_.raw.empty() || !sweep_.plot.empty();
    std::size_t done_ = 0;  ///< Number of measured calls.
};

}  // namespace

void add_notes(Measured& measured, const Sweep& sweep, std::optional<SizeDistribution> distribution) {
    if (distribution) measured.setup.sizes = name(*distribution);
    if (sweep.in_first > 0) measured.setup.groups = fmt::format("{}+{}", sweep.in_first, measured.identity.ranks - sweep.in_first);
    for (const auto& [name, note] : {std::pair("sizes", measured.setup.sizes), std::pair("groups", measured.setup.groups)})
        if (!note.empty()) measured.notes.emplace_back(name, note);
}

void leave_out_impossible(Sweep& sweep, const Communicator& world) {
    const Intercommunicator groups = groups_of(sweep, world);
    const auto distribution = sweep.distributions.empty() ? std::nullopt : std::optional(sweep.distributions.front());
    std::erase_if(sweep.algorithms, [&](const std::string& algorithm) {
        if (std::find(sweep.named.begin(), sweep.named.end(), algorithm) != sweep.named.end()) return false;
        const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = {}};
        try {
            // All ranks refuse the same calls, before they send anything.
            if (groups)
                operands_of(sweep, world, groups, sweep.sizes.front(), distribution).call(options);
            else
                world.explain(runtime::name(sweep.operation), distribution ? kOwnSizes : sweep.sizes.front(), options);
            return false;
        } catch (const Error& error) {
            if (error.code() != ErrorCode::invalid_argument) throw;
            return true;
        }
    });
}

void measure_as_rank(Job& job, const Agenda& agenda, const Inherited& inherited, const std::function<void(std::vector<Measured>)>& use) {
    Runner(job, agenda, inherited).run(use);
}

}  // namespace rollcall::bench
