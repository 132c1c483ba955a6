// The bootstrap of a communication library. UCC, NCCL and NVSHMEM do not start processes, and know no addresses of other ranks at first.
// The program must give them an out-of-band allgather, which usually is one of MPI. Here it is one of Rollcall, so no MPI is needed.
//
//     rollcall run -n 4 build/release/examples/11_out_of_band
//
// The structure of functions below is the one that UCC wants (ucc_oob_coll_t in ucc/api/ucc.h: a function that starts an allgather, one
// that tests whether it is done, and one that frees its request). It is defined here once more, because Debian 12 has no package of UCC.
// With UCC, set `oob` of ucc_context_params_t and of ucc_team_params_t to such functions. `Library` stands for UCC.
//
// A library that wants only an identifier from rank 0 (ncclGetUniqueId, nvshmemx_get_uniqueid) needs no more than world.broadcast(id, 0).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <unistd.h>

#include <rollcall/rollcall.hpp>

// --- what the library declares ---------------------------------------------------------------------------------------

enum Status { kOk = 0, kInProgress = 1, kError = -1 };  // As in UCC, where errors are below 0.

struct OutOfBandCollectives {
    Status (*allgather)(void* src_buf, void* recv_buf, std::size_t size, void* coll_info, void** request);
    Status (*req_test)(void* request);
    Status (*req_free)(void* request);
    void* coll_info;
    std::uint32_t n_oob_eps;  ///< The number of ranks.
    std::uint32_t oob_ep;     ///< The rank of this process.
};

// --- what the program gives it: three functions ----------------------------------------------------------------------

namespace {

// No exception may pass through a library written in C: neither an Error of Rollcall nor a std::bad_alloc.
template <class F>
Status guarded(F&& function) noexcept {
    try {
        return function();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "out of band: %s\n", error.what());
        return kError;
    }
}

// The library may test a request again after it has ended. Rollcall's request is empty then, so the status is kept beside it.
struct Started {
    rollcall::Request request;
    Status status = kInProgress;
};

Status start_allgather(void* src_buf, void* recv_buf, std::size_t size, void* coll_info, void** request) {
    return guarded([&] {
        const auto& communicator = *static_cast<const rollcall::Communicator*>(coll_info);
        *request = new Started{communicator.start_allgather(src_buf, recv_buf, size)};
        return kOk;
    });
}

Status test_allgather(void* request) {
    auto& started = *static_cast<Started*>(request);
    if (started.status == kInProgress) started.status = guarded([&] { return started.request.test() ? kOk : kInProgress; });
    return started.status;
}

Status free_allgather(void* request) {
    delete static_cast<Started*>(request);
    return kOk;
}

OutOfBandCollectives out_of_band(const rollcall::Communicator& communicator) {
    return {.allgather = &start_allgather,
            .req_test = &test_allgather,
            .req_free = &free_allgather,
            .coll_info = const_cast<rollcall::Communicator*>(&communicator),
            .n_oob_eps = static_cast<std::uint32_t>(communicator.size()),
            .oob_ep = static_cast<std::uint32_t>(communicator.rank())};
}

// --- the library -----------------------------------------------------------------------------------------------------

// Such libraries first gather the lengths of the addresses, then the addresses, padded to the longest one. They poll, and do other work
// between two looks.
class Library {
  public:
    explicit Library(const OutOfBandCollectives& oob) : oob_(oob) {
        const std::string own = address_of(oob.oob_ep);
        std::uint64_t length = own.size();
        std::vector<std::uint64_t> lengths(oob.n_oob_eps);
        gather(&length, lengths.data(), sizeof length);
        std::uint64_t longest = 0;
        for (const std::uint64_t one : lengths) longest = one > longest ? one : longest;
        std::string padded = own;
        padded.resize(longest);
        std::vector<char> all(longest * oob.n_oob_eps);
        gather(padded.data(), all.data(), longest);
        for (std::size_t rank = 0; rank < oob.n_oob_eps; ++rank) addresses_.emplace_back(all.data() + rank * longest, lengths[rank]);
    }
    const std::string& address(std::size_t rank) const { return addresses_[rank]; }
    unsigned looks() const { return looks_; }

    // Of different lengths, as real addresses are.
    static std::string address_of(std::uint32_t rank) { return "address-of-" + std::string(rank % 3, '+') + std::to_string(rank); }

  private:
    void gather(void* own, void* all, std::size_t bytes) {
        void* request = nullptr;
        if (oob_.allgather(own, all, bytes, oob_.coll_info, &request) != kOk) throw std::string("the allgather did not start");
        Status status = kInProgress;
        while (status == kInProgress) {
            status = oob_.req_test(request);
            ++looks_;
        }
        oob_.req_free(request);
        if (status != kOk) throw std::string("the allgather failed");
    }

    OutOfBandCollectives oob_;
    std::vector<std::string> addresses_;
    unsigned looks_ = 0;
};

}  // namespace

int main() {
    try {
        rollcall::Job job;
        // A communicator of its own, so that the library's allgathers do not mix with the calls of the program.
        const rollcall::Communicator communicator = job.world().duplicate();
        const Library library(out_of_band(communicator));
        bool is_right = library.looks() > 0;
        for (int rank = 0; rank < job.size(); ++rank)
            is_right = is_right && library.address(static_cast<std::size_t>(rank)) == Library::address_of(static_cast<std::uint32_t>(rank));
        std::printf("rank %d has %s addresses of %d ranks\n", job.rank(), is_right ? "the right" : "WRONG", job.size());
        job.finalize();
        return is_right ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
    } catch (const std::string& what) {
        std::fprintf(stderr, "the library: %s\n", what.c_str());
    }
    return 1;
}
