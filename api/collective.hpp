/// \file
/// A call of any collective operation, by its row of the table: what the functions of the C++ and the C face are made of, and how
/// the benchmark and the tests call each of them.
#pragma once

#include <cstdint>
#include <string>

#include <rollcall/communicator.hpp>

#include "api/blocks.hpp"
#include "api/communicator_implementation.hpp"
#include "collectives/operations.hpp"

namespace rollcall {

/// Of an operation that has none.
inline constexpr int kNoRoot = -1;

class Collective {
  public:
    /// `bytes`: of the message; where blocks are moved: of a block. `root` counts where the operation has one. What is wrong with
    /// them is told when it is called. The communicator must stay.
    Collective(const Communicator& communicator, runtime::OperationKind kind, const collectives::Buffers& buffers, std::uint64_t bytes,
               int root)
        : communicator_(communicator), row_(collectives::operation(kind)), buffers_(buffers), bytes_(bytes), root_(root) {}
    /// One that combines `count` elements. The other ones of these are by Reduction(): a sum of bytes.
    Collective(const Communicator& communicator, runtime::OperationKind kind, const collectives::Buffers& buffers, std::uint64_t count,
               const Reduction& reduction, int root);

    void call(const CollectiveOptions& options = {}) const;
    Request start(const CollectiveOptions& options = {}) const;
    Plan plan(const PlanOptions& options = {}) const;
    /// Which algorithm it would run, and why, in a sentence.
    std::string explain(const CollectiveOptions& options = {}, bool is_planned = false) const;

  private:
    friend class CollectiveOfBlocks;
    using Prepared = Communicator::Implementation::Prepared;
    const Communicator::Implementation& here() const { return communicator_.checked(); }
    /// Checks all arguments. `form` is what stands before the operation's name in that of the function: "start_".
    Prepared prepare(const CollectiveOptions& options, const char* form, bool is_planned = false) const;
    /// What any call checks. Returns its root, or -1.
    int check(const CollectiveOptions& options, const char* form) const;
    void check_reduction(const char* form) const;
    collectives::Situation situation(bool is_planned) const;
    void check_buffers(const runtime::Arguments& given, const char* form) const;
    std::string caller(const char* form) const;
    [[noreturn]] void refuse_size(const char* form) const;

    const Communicator& communicator_;
    const collectives::OperationRow& row_;
    collectives::Buffers buffers_;
    std::uint64_t bytes_;
    int root_;
    Reduction reduction_;  ///< Where elements are combined.
};

/// The same for blocks of own sizes. `bytes`: of this rank's block.
class CollectiveOfBlocks {
  public:
    /// The same where the own block stands in its place in the data, which all ranks have.
    CollectiveOfBlocks(const Communicator& communicator, runtime::OperationKind kind, void* data, const Blocks& blocks)
        : call_(communicator, kind, {.data = data}, 0, -1), blocks_(blocks), is_in_place_(true) {}
    /// Where each rank brings a block for each: those that it sends, and those that it receives.
    CollectiveOfBlocks(const Communicator& communicator, runtime::OperationKind kind, const collectives::Buffers& buffers,
                       const Blocks& to_send, const Blocks& to_receive)
        : call_(communicator, kind, buffers, 0, -1), blocks_(to_receive), to_send_(to_send) {}
    CollectiveOfBlocks(const Communicator& communicator, runtime::OperationKind kind, const collectives::Buffers& buffers,
                       const Blocks& blocks, std::uint64_t bytes, int root)
        : call_(communicator, kind, buffers, bytes, root), blocks_(blocks) {}

    void call(const CollectiveOptions& options = {}) const;
    Request start(const CollectiveOptions& options = {}) const;
    Plan plan(const PlanOptions& options = {}) const;

  private:
    struct ROLLCALL_HIDDEN Prepared : Collective::Prepared {
        Layout layout;  ///< `arguments` refer to it.
    };
    Prepared prepare(const CollectiveOptions& options, const char* form) const;
    /// Fills the arguments and the layout. Returns what is told of the sizes.
    std::uint64_t prepare_one_list(Prepared& prepared, bool is_root, const std::string& caller) const;
    std::uint64_t prepare_two_lists(Prepared& prepared, const std::string& caller) const;

    Collective call_;
    Blocks blocks_, to_send_;
    bool is_in_place_ = false;
};

}  // namespace rollcall
