#include "command/info.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <rollcall/error.hpp>

#include "bench/cases/lists.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/starters/directory.hpp"
#include "collectives/catalogue.hpp"
#include "command/algorithms.hpp"
#include "command/explain.hpp"
#include "command/limits.hpp"
#include "command/settings_here.hpp"
#include "foundation/interfaces.hpp"
#include "foundation/quote.hpp"
#include "foundation/settings.hpp"
#include "runtime/topology/topology.hpp"
#include "support/output.hpp"
#include "support/usage.hpp"
#include "transports/catalogue.hpp"

namespace rollcall::command {
namespace {

using output::Format;
using output::Row;

/// The columns of all that `info` prints. CSV has all of them; text has those that a section uses.
const std::vector<std::string> kColumns = {"section", "name", "value", "source", "one_host", "several_hosts", "allowed", "note"};

/// A heading and the rows below it.
struct Section {
    std::string name;
    std::vector<Row> rows;
};

/// A choice of interfaces, or the reason why there is none.
struct Chosen {
    std::optional<Choice> choice;
    std::string failure;

    bool uses(const std::string& device) const {
        if (!choice) return false;
        const auto names = choice->chosen();
        return std::find(names.begin(), names.end(), device) != names.end();
    }
    std::string devices() const {
        const auto names = choice ? choice->devices() : std::string();
        return names.empty() ? "none" : names;
    }
    std::string verdict(std::size_t interface) const {
        if (!choice) return "no";
        const auto& verdict = choice->verdicts[interface];
        return fmt::format("{}: {}", verdict.chosen ? "yes" : "no", verdict.reason);
    }
};

Section host_section(const runtime::Topology& topology) {
    Section section{"host", {}};
    const auto add = [&](std::string name, output::Value value, std::string note = {}) {
        section.rows.push_back({{"name", std::move(name)}, {"value", std::move(value)}});
        if (!note.empty()) section.rows.back().push_back({"note", std::move(note)});
    };
    add("rollcall", ROLLCALL_COMMAND_VERSION);
    add("name", topology.host);
    if (utsname system{}; uname(&system) == 0) add("system", fmt::format("{} {} {}", system.sysname, system.release, system.machine));
    const auto start = bootstrap::evident_starter();
    const auto evidence = [&]() -> std::string {
        if (start.variable.empty()) return "no launcher is evident: a program would be a job of one process";
        if (start.alone)
            return fmt::format("{} is set by a launcher of one process: a program would be a job of one process", start.variable);
        if (start.variable == bootstrap::kDirectoryRankVariable || start.variable == bootstrap::kDirectorySizeVariable)
            return fmt::format("{0} is set, but {1} is not: a program started like this fails; set {1}, or unset {0}", start.variable,
                               bootstrap::kDirectoryVariable);
        return fmt::format("{} is set{}", start.variable, start.supported ? "" : ", which is not supported");
    };
    add("started by", start.starter, evidence());
    add("packages", topology.packages);
    add("cores", topology.cores, "that this process may use");
    add("CPUs", topology.cpus.size(),
        fmt::format("that this process may use: {}; {} are online", runtime::format_cpus(topology.cpus), topology.cpus_online));
    add("memory", output::Bytes{topology.memory_bytes});
    for (const auto& node : topology.numa_nodes) {
        add(fmt::format("NUMA node {}", node.number), output::Bytes{node.memory_bytes},
            fmt::format("CPUs {}", runtime::format_cpus(node.cpus)));
    }
    for (const auto& cache : topology.caches)
        add(cache.name + " cache", output::Bytes{cache.bytes}, fmt::format("{} of them", cache.count));
    return section;
}

Section limit_section(const Settings& settings) {
    Section section{"limits", {}};
    for (const auto& limit : limits(settings)) {
        section.rows.push_back({{"name", limit.name}, {"value", limit.value}});
        if (!limit.note.empty()) section.rows.back().push_back({"note", limit.note});
    }
    return section;
}

Section interface_section(const std::vector<Interface>& interfaces, const Chosen& one_host, const Chosen& several_hosts) {
    Section section{"interfaces", {}};
    section.rows.push_back({{"name", "chosen"}, {"one_host", one_host.devices()}, {"several_hosts", several_hosts.devices()}});
    for (std::size_t i = 0; i < interfaces.size(); ++i) {
        const auto& interface = interfaces[i];
        std::vector<std::string> addresses;
        for (const auto& address : interface.addresses) addresses.push_back(address.text());
        const auto speed = interface.speed_megabits > 0 ? fmt::format("{} Mbit/s", interface.speed_megabits) : std::string();
        section.rows.push_back({{"name", interface.name},
                                {"value", fmt::format("{}", fmt::join(addresses, " "))},
                                {"one_host", one_host.verdict(i)},
                                {"several_hosts", several_hosts.verdict(i)}});
        if (interface.rdma || !speed.empty()) {
            section.rows.back().push_back({"note", interface.rdma ? fmt::format("RDMA {}", speed) : speed});
        }
    }
    if (one_host.choice) {
        for (const auto& pattern : one_host.choice->unmatched) {
            section.rows.push_back({{"name", pattern}, {"note", "in ROLLCALL_NET, but matches no interface"}});
        }
    }
    if (!several_hosts.choice) section.rows.push_back({{"name", "several hosts"}, {"note", several_hosts.failure}});
    return section;
}

// The options of a job, as far as the choice of networks goes.
void choose_network(transport::TransportOptions& options, const Settings& settings, const std::vector<Interface>& interfaces,
                    const Chosen& chosen) {
    options.ofi_provider = settings.ofi_provider;
    options.ofi_reads = settings.ofi_reads;
    for (std::size_t i = 0; chosen.choice && i < interfaces.size(); ++i)
        if (chosen.choice->verdicts[i].chosen) options.interfaces.push_back(interfaces[i]);
}

Section transport_section(const Settings& settings, const std::vector<Interface>& interfaces, const Chosen& one_host,
                          const Chosen& several_hosts) {
    Section section{"transports", {}};
    transport::Jobs jobs;
    choose_network(jobs.one_host, settings, interfaces, one_host);
    choose_network(jobs.several_hosts, settings, interfaces, several_hosts);
    jobs.no_network = several_hosts.failure;
    const auto catalogue = transport::transport_catalogue(jobs);
    // As make_transport(): `auto` takes the first one that works.
    const auto first = std::ranges::find_if(catalogue, &transport::TransportInfo::available);
    const std::string taken = settings.transport != "auto" ? settings.transport : first == catalogue.end() ? "none" : first->name;
    section.rows.push_back({{"name", "chosen"},
                            {"value", taken},
                            {"note", settings.transport == "auto" ? "ROLLCALL_TRANSPORT=auto takes the first that works"
                                                                  : "ROLLCALL_TRANSPORT=" + settings.transport}});
    for (const auto& transport : catalogue) {
        const bool is_taken = transport.name == taken;
        const bool on_one = is_taken && transport.one_host, on_several = is_taken && transport.several_hosts && jobs.no_network.empty();
        section.rows.push_back(
            {{"name", transport.name}, {"value", transport.version}, {"one_host", on_one}, {"several_hosts", on_several}});
        std::string note = transport.note;
        if (!is_taken && transport.available())
            note = fmt::format("ROLLCALL_TRANSPORT={} chooses it{}{}", transport.name, note.empty() ? "" : ": ", note);
        if (!note.empty()) section.rows.back().push_back({"note", note});
        for (const auto& device : transport.devices) {
            const bool may = device.unused.empty();
            const auto uses = [&](bool job, const std::optional<bool>& its, const Chosen& chosen) {
                return job && its.value_or(may && (!device.network || chosen.uses(device.device)));
            };
            section.rows.push_back({{"name", transport.name + " " + device.transport},
                                    {"value", device.device},
                                    {"one_host", uses(on_one, device.one_host, one_host)},
                                    {"several_hosts", uses(on_several, device.several_hosts, several_hosts)}});
            std::string why = device.unused;
            if (!device.lacks.empty()) why += (why.empty() ? "lacks " : "; lacks ") + device.lacks;
            if (!why.empty()) section.rows.back().push_back({"note", why});
        }
    }
    return section;
}

Section setting_section(const SettingsHere& here, Format format) {
    Section section{"settings", {}};
    const auto add_trouble = [&](const SettingTrouble& trouble) {
        section.rows.push_back({{"name", printable(trouble.variable)},
                                {"value", printable(trouble.value)},
                                {"source", trouble.is_set ? "environment" : "default"},
                                {"note", (trouble.wrong ? "WRONG: " : "") + trouble.sentence}});
    };
    auto others = here.troubles;  // of variables that are no settings
    for (const auto& row : describe(here.settings)) {
        if (const auto found = std::ranges::find(others, row.variable, &SettingTrouble::variable); found != others.end()) {
            add_trouble(*found);
            others.erase(found);
        } else {
            section.rows.push_back({{"name", row.variable}, {"value", row.value}, {"source", row.source}, {"note", row.meaning}});
        }
        // Text omits this column: it is too wide for a screen, and every error about a setting contains it.
        if (format != Format::text) section.rows.back().push_back({"allowed", row.allowed});
    }
    for (const SettingTrouble& trouble : others) add_trouble(trouble);
    return section;
}

void print(const std::vector<Section>& sections, Format format) {
    output::Table all(std::cout, format, kColumns);
    all.break_after(output::columns_before_break());
    for (const auto& section : sections) {
        if (format == Format::text) std::cout << (&section == &sections.front() ? "" : "\n") << section.name << ":\n";
        for (const auto& row : section.rows) {
            Row full;
            if (format != Format::text) full.push_back({"section", section.name});
            full.insert(full.end(), row.begin(), row.end());
            all.add(full);
        }
        all.finish();
    }
}

void info(Format format) {
    SettingsHere here = settings_here();
    const Settings& settings = here.settings;
    const auto interfaces = list_interfaces();
    // A wrong ROLLCALL_NET is an error. A ROLLCALL_NET that cannot reach other hosts is a fact about this host.
    Chosen one_host, several_hosts;
    try {
        one_host.choice = choose_interfaces(interfaces, settings.net, 1);
    } catch (const Error& error) {
        here.add_wrong("ROLLCALL_NET", error.what());
    }
    try {
        several_hosts.choice = choose_interfaces(interfaces, settings.net, 2);
    } catch (const Error& error) {
        several_hosts.failure = error.what();
    }
    print({host_section(runtime::topology()), limit_section(settings), interface_section(interfaces, one_host, several_hosts),
           transport_section(settings, interfaces, one_host, several_hosts), setting_section(here, format)},
          format);
    refuse_wrong(here.troubles);
}

}  // namespace

void add_info_command(usage::Command& root) {
    auto* command =
        root.add_subcommand("info", "Show this host: its cores, limits, interfaces, transports (and which of them are used), and settings");
    struct Words {
        Format format = Format::text;
        bool algorithms = false;
        Explained explained;
        std::optional<std::string> sizes, ranks;
    };
    const auto words = std::make_shared<Words>();
    output::add_format_option(*command, words->format);
    command->add_flag("--algorithms", words->algorithms, "Instead, list the algorithms of the collective operations");
    command
        ->add_option("--explain", words->explained.operation,
                     "Instead, say which algorithm a call of this operation uses, and why: with all ranks on one node, on two nodes "
                     "(`several nodes`), and with `a node each`. Between two groups, each has half of the ranks, and nodes of its own")
        ->type_name("OPERATION");
    command->add_option("--bytes", words->sizes, fmt::format("With --explain: sizes of the message or block, {}", bench::kSizeList))
        ->type_name("BYTES")
        ->default_str(words->explained.sizes);
    command->add_option("--ranks", words->ranks, fmt::format("With --explain: numbers of ranks, {}", bench::kCountList))
        ->type_name("N")
        ->default_str(words->explained.ranks);
    command->callback([words] {
        const auto take = [&](const char* option, const std::optional<std::string>& given, std::string& value) {
            if (given && words->explained.operation.empty())
                throw Error(ErrorCode::invalid_argument, fmt::format("{} needs --explain OPERATION", option));
            value = given.value_or(value);
        };
        take("--bytes", words->sizes, words->explained.sizes);
        take("--ranks", words->ranks, words->explained.ranks);
        if (words->algorithms && !words->explained.operation.empty())
            throw Error(ErrorCode::invalid_argument, "--algorithms and --explain together; allowed: one of them");
        if (!words->explained.operation.empty())
            explain(words->explained, words->format);
        else
            words->algorithms ? print_algorithms(words->format) : info(words->format);
    });
}

}  // namespace rollcall::command
