/// \file
/// For the conformance tests of transports: the ends of a job in one process, over each way that a message can take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "transports/simulated/simulated_network.hpp"
#include "transports/single_copy.hpp"
#include "transports/transport.hpp"

namespace rollcall::test {

/// A transport, with the settings that make it use one kind of network.
struct Way {
    std::string name;       ///< Part of the names of its tests.
    std::string transport;  ///< As in ROLLCALL_TRANSPORT, or "simulated".
    std::vector<std::pair<const char*, const char*>> environment;
    bool single_copy = false;  ///< With SingleCopy around it.
    bool reads = false;        ///< With RMA reads (libfabric).
    bool direct = false;       ///< UCX gets the buffers, as over RDMA.
    bool is_simulated() const { return transport == "simulated"; }
    bool shares_memory() const {
        const std::string_view of = environment.empty() ? "" : environment.front().second;
        return of == "posix,self" || of == "shm";
    }
};
inline void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }
inline std::string name_of_way(const testing::TestParamInfo<Way>& test) { return test.param.name; }
const std::vector<Way>& ways();
/// Sets the environment that the way needs, in this process.
void prepare(const Way& way);

/// A completion that records how it ended.
struct Told final : transport::Completion {
    void complete(transport::Outcome its) noexcept override {
        outcome = its;
        ++times;
    }
    /// Notes the result of a call that may have ended at once.
    void note(transport::Started started) {
        if (started != transport::Started::pending)
            complete(started == transport::Started::done ? transport::Outcome::ok : transport::Outcome::failed);
    }
    bool ended() const { return times > 0; }
    transport::Outcome outcome = transport::Outcome::ok;
    int times = 0;
};

/// A message that has arrived.
struct Heard {
    std::vector<std::byte> header;
    std::vector<std::byte> payload;
    transport::Offer offer;
    bool offered = false;
};

/// One end of the job. A header begins with the rank of its sender.
struct End final : transport::Sink {
    void on_message(std::span<const std::byte> header, transport::ConstBytes payload) noexcept override;
    void on_offer(std::span<const std::byte> header, const transport::Offer& offer) noexcept override;
    void on_peer_unreachable(int peer, std::string_view why) noexcept override { lost.emplace_back(peer, why); }
    void on_deaf(int) noexcept override {}
    void on_board_changed(std::uint64_t, std::uint64_t) noexcept override {}

    int rank = 0;
    transport::Transport* transport = nullptr;
    std::unique_ptr<transport::Transport> owned;
    std::vector<Heard> heard;
    std::vector<std::pair<int, std::string>> lost;
    std::function<void(Heard&&)> instead;  ///< Takes messages in place of `heard`.
};

/// A job of so many ranks, all in this process.
class World {
  public:
    /// The board of each rank has `more_board` bytes more than that of the rank before it (not in simulations).
    World(const Way& way, int size, std::uint64_t more_board = 0);
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    End& operator[](int rank) { return *ends_[static_cast<std::size_t>(rank)]; }
    int size() const { return static_cast<int>(ends_.size()); }
    void progress();
    /// Lets all ends progress until the condition holds. Returns false if it never does.
    bool until(const std::function<bool()>& condition);
    /// The same, but only one end progresses.
    bool until(int rank, const std::function<bool()>& condition);
    /// Ends all connections in good order.
    bool close();
    /// Sends a message from each of the two ranks to the other, and waits for both.
    bool meet(int one, int other);

  private:
    void let_all_read_each_other(std::span<transport::SingleCopy* const> around);

    std::unique_ptr<transport::SimulatedNetwork> network_;
    std::vector<std::vector<std::byte>> addresses_;  // the ends use them
    std::vector<std::unique_ptr<End>> ends_;
};

/// How many entries a directory has.
std::size_t entries(const char* directory);

/// Whether UCX's objects of an end that was not closed stay until the process ends. This is so over TCP, and with versions of UCX that have
/// not been tried.
bool may_end_the_process(const Way& way);

/// Makes a header of this length that carries its sender and a number. It has at least kLeastHeader bytes.
inline constexpr std::size_t kLeastHeader = 8;
std::vector<std::byte> header_of(int rank, std::uint32_t number, std::size_t length = kLeastHeader);
std::uint32_t number_of(const Heard& heard);
/// Returns bytes that differ at each place and for each number.
std::vector<std::byte> pattern(std::size_t size, std::uint64_t number);

/// The memory that this process has now, in bytes.
std::uint64_t resident_bytes();

}  // namespace rollcall::test
