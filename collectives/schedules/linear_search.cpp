// The inner loops of Clairvoyant's pseudocode: over all segments, and for each of them over all processes.
#include "collectives/schedules/search.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::collectives {
namespace {

class LinearSearch final : public PeerSearch {
  public:
    LinearSearch(int processes, int segments)
        : N_(segments), M_(static_cast<std::size_t>(processes) * static_cast<std::size_t>(segments), true) {}

    void begin_round(std::span<const int> order) override {
        order_ = order;
        S_.assign(order.size(), false);
        came_.assign(order.size(), -1);
    }

    Match match(int place) override {
        const auto i = static_cast<std::size_t>(place);
        for (int s = 0; s < N_; ++s) {
            if (i > 0 && !unsent(i, s)) continue;
            for (std::size_t z = 0; z < order_.size(); ++z) {
                if (z == i || S_[z] || !unsent(z, s)) continue;
                const bool was_given = !unsent(i, s);
                S_[z] = true;
                unsent(z, s) = false;
                unsent(i, s) = false;
                came_[i] = s;
                return {s, static_cast<int>(z), was_given};
            }
        }
        return {};
    }

    void end_round() override {
        for (std::size_t i = 0; i < order_.size(); ++i)
            if (came_[i] >= 0) unsent(i, came_[i]) = true;
    }

    std::size_t bytes() const override { return M_.size(); }

  private:
    std::uint8_t& unsent(std::size_t place, int s) {
        return M_[static_cast<std::size_t>(order_[place]) * static_cast<std::size_t>(N_) + static_cast<std::size_t>(s)];
    }

    int N_;
    std::vector<std::uint8_t> M_;  ///< By process and segment: not sent, and not received in this round.
    std::vector<std::uint8_t> S_;  ///< By place: has sent in this round.
    std::vector<int> came_;        ///< By place: the segment in state P'.
    std::span<const int> order_;
};

}  // namespace

std::unique_ptr<PeerSearch> make_linear_search(int processes, int segments) { return std::make_unique<LinearSearch>(processes, segments); }

}  // namespace rollcall::collectives
