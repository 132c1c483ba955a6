/// \file
/// For random programs: one call of any operation that is drawn from random numbers, and what must be in its buffers afterwards.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tests/process/ranks/collectives.hpp"

namespace rollcall::test {

using Bytes = std::vector<std::byte>;

/// What is in a buffer before something is written there.
inline constexpr std::byte kUnwritten{0xa5};

/// Elements that are combined in the order of ranks.
struct DrawnAffine {
    std::uint64_t a, b;
};
inline constexpr auto kComposeDrawn = [](const DrawnAffine& left, const DrawnAffine& right) noexcept {
    return DrawnAffine{left.a * right.a, left.a * right.b + left.b};
};

enum class Form : std::uint8_t { call, start, plan };

/// A buffer with guards around it, and what it holds before and after a call. A buffer that a rank does not have is empty.
class DrawnBuffer {
  public:
    /// `memory` has room for it and for the guards, or has no bytes. Then the buffer is in memory of its own.
    void place(std::uint64_t bytes, Memory memory);
    void fill(const Bytes& before, Bytes after);
    void check_after(const std::string& what) const;
    void check_guards(const std::string& what) const;
    void clear() {
        if (begin_) fill(Bytes(bytes_, kUnwritten), Bytes(bytes_, kUnwritten));
    }
    std::byte* data() const { return begin_; }

  private:
    std::uint64_t bytes_ = 0;
    std::byte* begin_ = nullptr;
    Memory memory_;
    Bytes own_;
    Bytes after_;
};

/// One call of this rank, which may be made several times if it is a plan.
struct DrawnCall {
    std::string what;                               ///< For error messages.
    std::array<DrawnBuffer, 3> buffers;             ///< Contribution, data and result; or one for a message.
    std::function<void(std::uint64_t round)> fill;  ///< Fills the buffers for this round.
    std::function<void()> call;                     ///< One of the three is there, by the form.
    std::function<Request()> start;
    std::function<Plan()> plan;
    std::uint64_t received = 0;  ///< What Received::bytes must be.
    std::uint64_t ranks = 0;     ///< The world ranks on which it depends, a bit for each.

    /// The call has failed. From now on its buffers belong to the program, and must stay as they are.
    void give_back() {
        what += " after it had failed";
        for (DrawnBuffer& buffer : buffers) buffer.check_guards(what), buffer.clear();
    }
    void check_buffers() const {
        for (const DrawnBuffer& buffer : buffers) buffer.check_after(what);
    }
};

struct PlannedCall {
    std::unique_ptr<DrawnCall> call;
    Plan plan;
    std::uint64_t round = 0;
    bool is_under_way = false;
};

/// Something that this rank has started and not waited for.
struct UnderWay {
    std::unique_ptr<DrawnCall> call;  ///< Null: an iteration of a plan.
    Request request;
    PlannedCall* planned = nullptr;
};

/// A communicator, and the algorithms that calls on it can ask for, as far as they have been looked up.
struct Place {
    Communicator communicator;
    std::string name;
    std::map<std::tuple<runtime::OperationKind, bool, bool, int, bool>, std::vector<std::string>> algorithms = {};
};

/// A size in bytes: mostly short, rarely 3 MB.
std::uint64_t draw_size(Random& same);

/// A call of the operation on this communicator. All its ranks draw the same numbers from `same`. What only concerns this rank, such as the
/// kind of its memory, is drawn from `own`.
std::unique_ptr<DrawnCall> draw_call(Job& job, Place& place, const collectives::OperationRow& row, Form form, Random& same, Random& own);

/// A call between two groups. Both draw the same numbers from `same`. `is_first` says which of the groups this rank is in.
std::unique_ptr<DrawnCall> draw_call_between(const Intercommunicator& between, bool is_first, Form form, Random& same);

}  // namespace rollcall::test
