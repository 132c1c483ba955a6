/// \file
/// A call of any collective operation, by its row in the table of operations. The functions of the C++ and the C interface consist of such
/// calls, and the benchmark and the tests use them to call each operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <rollcall/communicator.hpp>

#include "api/blocks.hpp"
#include "api/communicator_implementation.hpp"
#include "collectives/operations.hpp"
#include "foundation/combiner.hpp"

namespace rollcall {

/// The root of an operation that has no root.
inline constexpr int kNoRoot = -1;

class Collective {
  public:
    /// `bytes` is the size of the message, or of one block if the operation moves blocks. `root` matters only if the operation has a root.
    /// Wrong arguments are reported when the call is made. The communicator must outlive this object.
    Collective(const Communicator& communicator, runtime::OperationKind kind, const collectives::Buffers& buffers, std::uint64_t bytes,
               int root)
        : communicator_(communicator), row_(collectives::operation(kind)), buffers_(buffers), bytes_(bytes), root_(root) {}
    /// A call that combines `count` elements. A call that is made by the other constructor, of an operation that combines, uses
    /// Reduction(): a sum of bytes.
    Collective(const Communicator& communicator, runtime::OperationKind kind, const collectives::Buffers& buffers, std::uint64_t count,
               const Reduction& reduction, int root);

    void call(const CollectiveOptions& options = {}) const;
    Request start(const CollectiveOptions& options = {}) const;
    Plan plan(const PlanOptions& options = {}) const;
    /// Says in a sentence which algorithm the call would run, and why. Throws Error{invalid_argument} if no call can have this size.
    std::string explain(const CollectiveOptions& options = {}, bool is_planned = false) const;

  private:
    friend class CollectiveOfBlocks;
    using Prepared = Communicator::Implementation::Prepared;
    const Communicator::Implementation& here() const { return communicator_.checked(); }
    /// Checks all arguments but those that check() has checked. `form` is the prefix of the function's name before the operation's name,
    /// for example "start_".
    Prepared prepare(const CollectiveOptions& options, const char* form, int root, bool is_planned = false) const;
    /// The same for calls that run when they are made: what the next ones can use (LastCall) is remembered.
    Prepared prepare_and_remember(const CollectiveOptions& options, const char* form, int root) const;
    /// If the last call of the operation was alike, returns it with the buffers and the root of this one. They are checked. Otherwise
    /// returns null. Valid until the next call of the operation on this communicator.
    const Prepared* recall(const CollectiveOptions& options, const char* form, int root) const;
    /// The checks that every call makes. Returns the root, or -1.
    int check(const CollectiveOptions& options, const char* form) const;
    void check_reduction(const char* form) const;
    collectives::SelectionInput selection_input(const Communicator::Implementation& on, bool is_planned, const Combiner& combiner) const;
    void check_buffers(const runtime::Arguments& given, const char* form) const;
    /// One of these buffers is null. The error names its parameter.
    void refuse_null(const runtime::Arguments& given, const char* form) const;
    bool overwrites_others(const runtime::Arguments& given) const;
    std::string caller(const char* form) const;
    [[noreturn]] void refuse_size(const char* form) const;
    /// The size of the data, of all blocks if there are blocks. Refuses a size that no buffer can have.
    std::uint64_t checked_total(const char* form) const;

    const Communicator& communicator_;
    const collectives::OperationRow& row_;
    collectives::Buffers buffers_;
    std::uint64_t bytes_;
    int root_;
    Reduction reduction_;  ///< For operations that combine elements.
};

/// A call with blocks of different sizes.
class CollectiveOfBlocks {
  public:
    /// A call in which the own block is in its place in the data already. All ranks have that data.
    CollectiveOfBlocks(const Communicator& communicator, runtime::OperationKind kind, void* data, const Blocks& blocks)
        : call_(communicator, kind, {.data = data}, 0, -1), blocks_(blocks), is_in_place_(true) {}
    /// A call in which each rank has a block for each other rank: the blocks that it sends, and those that it receives.
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
        Layout layout;  ///< `arguments` point into it.
    };
    Prepared prepare(const CollectiveOptions& options, const char* form, bool is_planned = false) const;
    collectives::SelectionInput selection_input(const Communicator::Implementation& on, const Collective::Prepared& prepared,
                                                bool is_planned) const;
    /// Fills the arguments and the layout. Returns what the call tells other ranks about the sizes.
    std::uint64_t prepare_one_list(Prepared& prepared, bool is_root, const std::string& caller) const;
    std::uint64_t prepare_two_lists(Prepared& prepared, const std::string& caller) const;

    Collective call_;
    Blocks blocks_, to_send_;
    bool is_in_place_ = false;
};

/// Throws Error{invalid_argument} if a container of `all` elements does not hold exactly a block of `one` elements for each rank. `what`
/// is its name in the error.
void check_blocks(const Communicator& on, const char* what, std::size_t all, std::size_t one, const char* operation);

}  // namespace rollcall
