#include "launcher/protocol.hpp"

#include <fmt/format.h>

#include <rollcall/error.hpp>

namespace rollcall::launcher {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Writes texts of any length. FrameWriter::text() would cut them.
void put(FrameWriter& writer, std::string_view text) { writer.blob(bytes_of(text)); }
void put(FrameWriter& writer, const std::vector<std::string>& texts) {
    writer.u32(static_cast<std::uint32_t>(texts.size()));
    for (const auto& text : texts) put(writer, text);
}
void put(FrameWriter& writer, const std::vector<int>& numbers) {
    writer.u32(static_cast<std::uint32_t>(numbers.size()));
    for (const int number : numbers) writer.i32(number);
}

std::vector<std::string> texts(FrameReader& reader) {
    std::vector<std::string> all;
    for (auto count = reader.u32(); count > 0; --count) all.push_back(reader.text());
    return all;
}
std::vector<int> numbers(FrameReader& reader) {
    std::vector<int> all;
    for (auto count = reader.u32(); count > 0; --count) all.push_back(reader.i32());
    return all;
}

[[noreturn]] void refuse(const char* what) {
    throw Error(ErrorCode::bootstrap, fmt::format("the launcher's order to an agent is not valid: {}", what));
}

}  // namespace

Blob encode_order(const Order& order) {
    FrameWriter writer(FrameType::agent_order);
    writer.i32(order.size).i32(order.hosts_of_job);
    put(writer, order.job);
    writer.u32(static_cast<std::uint32_t>(order.applications.size()));
    for (const auto& application : order.applications) {
        put(writer, application.argv);
        put(writer, application.environment);
    }
    put(writer, order.environment);
    put(writer, order.directory);
    put(writer, order.real_directory);
    writer.u32(static_cast<std::uint32_t>(order.map_by)).u32(static_cast<std::uint32_t>(order.bind_to));
    put(writer, order.input_ranks);
    put(writer, order.remote_shell);
    put(writer, order.command);
    writer.u64(static_cast<std::uint64_t>(order.silence)).u64(static_cast<std::uint64_t>(order.launch_timeout));
    writer.u32(static_cast<std::uint32_t>(order.hosts.size()));
    for (const auto& host : order.hosts) {
        writer.i32(host.index).i32(host.above);
        put(writer, host.name);
        writer.u32(static_cast<std::uint32_t>(host.ranks.size()));
        for (const auto& rank : host.ranks) writer.i32(rank.rank).i32(rank.application).i32(rank.local_rank);
    }
    return writer.finish();
}

Order decode_order(std::span<const std::byte> body) {
    FrameReader reader(body);
    Order order;
    order.size = reader.i32();
    order.hosts_of_job = reader.i32();
    order.job = reader.text();
    for (auto count = reader.u32(); count > 0; --count) {
        Order::Application application;
        application.argv = texts(reader);
        application.environment = texts(reader);
        if (application.argv.empty()) refuse("an application without a program");
        order.applications.push_back(std::move(application));
    }
    order.environment = texts(reader);
    order.directory = reader.text();
    order.real_directory = reader.text();
    order.map_by = static_cast<MapBy>(reader.u32());
    order.bind_to = static_cast<BindTo>(reader.u32());
    order.input_ranks = numbers(reader);
    order.remote_shell = reader.text();
    order.command = reader.text();
    order.silence = static_cast<Nanoseconds>(reader.u64());
    order.launch_timeout = static_cast<Nanoseconds>(reader.u64());
    for (auto count = reader.u32(); count > 0; --count) {
        HostOrder host;
        host.index = reader.i32();
        host.above = reader.i32();
        host.name = reader.text();
        for (auto ranks = reader.u32(); ranks > 0; --ranks) {
            HostOrder::Rank rank;
            rank.rank = reader.i32();
            rank.application = reader.i32();
            rank.local_rank = reader.i32();
            if (rank.rank < 0 || rank.rank >= order.size || rank.application < 0 ||
                static_cast<std::size_t>(rank.application) >= order.applications.size()) {
                refuse("a rank that is not in this job");
            }
            host.ranks.push_back(rank);
        }
        // The first host is the reader's own. Every other host is below one that stands before it.
        if (order.hosts.empty() ? host.above != -1 : host.above < 0 || host.above >= static_cast<int>(order.hosts.size())) {
            refuse("a host that is below no host before it");
        }
        order.hosts.push_back(std::move(host));
    }
    reader.end();
    return order;
}

std::vector<Order> parts_below(const Order& order) {
    std::vector<Order> parts;
    std::vector<std::size_t> part(order.hosts.size());  // the part that a host belongs to
    std::vector<int> place(order.hosts.size());         // its place in that part
    for (std::size_t i = 1; i < order.hosts.size(); ++i) {
        const auto above = static_cast<std::size_t>(order.hosts[i].above);
        const bool first = above == 0;
        if (first) parts.push_back({static_cast<const JobOrder&>(order), {}});
        part[i] = first ? parts.size() - 1 : part[above];
        auto& hosts = parts[part[i]].hosts;
        place[i] = static_cast<int>(hosts.size());
        hosts.push_back(order.hosts[i]);
        hosts.back().above = first ? -1 : place[above];
    }
    return parts;
}

Blob encode_exit(const Exit& exit) {
    return FrameWriter(FrameType::agent_exited)
        .i32(exit.rank)
        .i32(exit.code)
        .u32(exit.signalled ? 1 : 0)
        .u32(exit.joined ? 1 : 0)
        .u32(exit.started ? 1 : 0)
        .text(exit.how)
        .finish();
}

Exit decode_exit(std::span<const std::byte> body) {
    FrameReader reader(body);
    Exit exit;
    exit.rank = reader.i32();
    exit.code = reader.i32();
    exit.signalled = reader.u32() != 0;
    exit.joined = reader.u32() != 0;
    exit.started = reader.u32() != 0;
    exit.how = reader.text();
    reader.end();
    return exit;
}

Blob encode_prepared(const Prepared& prepared) {
    FrameWriter writer(FrameType::agent_prepared);
    writer.i32(prepared.host).text(prepared.refusal).i32(prepared.code).u32(static_cast<std::uint32_t>(prepared.binding.processors.size()));
    for (const auto& processors : prepared.binding.processors) put(writer, processors);
    put(writer, prepared.binding.places);
    writer.text(prepared.binding.not_bound);
    return writer.finish();
}

Prepared decode_prepared(std::span<const std::byte> body) {
    FrameReader reader(body);
    Prepared prepared;
    prepared.host = reader.i32();
    prepared.refusal = reader.text();
    prepared.code = reader.i32();
    for (auto count = reader.u32(); count > 0; --count) prepared.binding.processors.push_back(numbers(reader));
    prepared.binding.places = texts(reader);
    prepared.binding.not_bound = reader.text();
    reader.end();
    return prepared;
}

Blob encode_lost(int code, std::string_view how, const std::vector<HostOrder>& hosts) {
    FrameWriter writer(FrameType::agent_lost);
    writer.i32(code).text(hosts.front().name).text(how).u32(static_cast<std::uint32_t>(hosts.size()));
    for (const auto& host : hosts) writer.i32(host.index);
    return writer.finish();
}

Blob encode_stream(FrameType type, int rank, bool error, std::string_view bytes) {
    return FrameWriter(type).i32(rank).u32(error ? 1 : 0).blob(bytes_of(bytes)).finish();
}

}  // namespace rollcall::launcher
