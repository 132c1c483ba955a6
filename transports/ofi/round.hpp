/// \file
/// A round of questions through all ranks, of which only a few are asked at a time.
#pragma once

namespace rollcall::transport::ofi {

/// A question to a rank that this one has no connection with makes one. In a large job this must not happen to all ranks at once: each
/// connection takes memory on both sides, and many ranks may have the same trouble at the same time.
class Round {
  public:
    static constexpr int kMostAtOnce = 16;

    /// All ranks of a job of this size are to be asked, also those that were asked before. Begins where the last round has stopped.
    void begin(int size) noexcept {
        size_ = size;
        left_ = size;
    }
    bool is_over() const noexcept { return left_ == 0; }
    /// Asks the next ranks. `ask(rank)` returns whether the rank was to be asked. If it throws, the rank is asked the next time.
    template <class Ask>
    void go_on(Ask ask) {
        for (int asked = 0; left_ > 0 && asked < kMostAtOnce; --left_) {
            if (ask(next_)) ++asked;
            next_ = (next_ + 1) % size_;
        }
    }

  private:
    int size_ = 1, next_ = 0, left_ = 0;
};

}  // namespace rollcall::transport::ofi
