// A Fourier transform by a master and its workers, repeated. This iterative program tells Rollcall when it will arrive.
//
//     rollcall run -n 8 build/release/examples/06_fft [points [iterations [work [algorithm...]]]]
//
// Source: J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather operations", Cluster Computing 2020,
// section 6. The transform has radix 2 and uses decimation in frequency. log2 P steps at the master leave P independent transforms of N/P
// points each. Rank 0 scatters them, every rank transforms its own part with FFTW and OpenMP, and rank 0 gathers them. The result of every
// gather algorithm is compared with a transform by FFTW alone. The table corresponds to Table 5 of the paper. It contains the total time of
// all iterations, and for one gather the run time (latest exit - earliest arrival) and the mean elapsed time.
//
// With `work`, computing takes a larger share of the time: each rank transforms its part this many times there and back before the gather.
// The reason is that computing took two thirds of the time of the paper's program, while fast cores and FFTW need only a moment.
//
// The lines with `plan` make the program arrival-aware.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numbers>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <fftw3.h>
#include <omp.h>
#include <rollcall/rollcall.hpp>

namespace {

using Complex = std::complex<float>;
using Signal = std::vector<Complex>;

fftwf_complex* raw(Complex* values) { return reinterpret_cast<fftwf_complex*>(values); }

/// A transform in place by FFTW.
class Transform {
  public:
    Transform(Complex* values, std::size_t points) : values_(values, points), there_(plan(FFTW_FORWARD)), back_(plan(FFTW_BACKWARD)) {}
    void operator()(int work = 0) const {
        for (int i = 0; i < work; ++i) {
            fftwf_execute(there_.get());
            fftwf_execute(back_.get());
            for (Complex& value : values_) value /= static_cast<float>(values_.size());
        }
        fftwf_execute(there_.get());
    }

  private:
    struct Destroy {
        void operator()(fftwf_plan plan) const { fftwf_destroy_plan(plan); }
    };
    using Planned = std::unique_ptr<std::remove_pointer_t<fftwf_plan>, Destroy>;
    Planned plan(int direction) const {
        return Planned(
            fftwf_plan_dft_1d(static_cast<int>(values_.size()), raw(values_.data()), raw(values_.data()), direction, FFTW_ESTIMATE));
    }
    std::span<Complex> values_;
    Planned there_, back_;
};

/// The powers of the N-th root of unity, for every division of N points.
class Twiddles {
  public:
    explicit Twiddles(std::size_t points) : powers_(points / 2) {
        for (std::size_t j = 0; j < powers_.size(); ++j)
            powers_[j] =
                static_cast<Complex>(std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(points)));
    }
    /// Executes one step. Afterwards the transform of the first half gives the even-numbered results, and that of the second half the
    /// odd-numbered ones.
    void decimate(std::span<Complex> x) const {
        const std::size_t half = x.size() / 2, stride = powers_.size() / half;
#pragma omp parallel for
        for (std::size_t j = 0; j < half; ++j) {
            const Complex even = x[j] + x[j + half], odd = (x[j] - x[j + half]) * powers_[j * stride];
            x[j] = even;
            x[j + half] = odd;
        }
    }

  private:
    Signal powers_;
};

std::size_t reversed(std::size_t value, int bits) {
    std::size_t result = 0;
    for (int bit = 0; bit < bits; ++bit) result |= (value >> bit & 1) << (bits - 1 - bit);
    return result;
}

/// The times of a rank in one gather, collected at the end.
struct Times {
    rollcall::Nanoseconds arrival, exit;
};

/// One gather algorithm and its times.
struct Contender {
    std::string algorithm;
    rollcall::Plan plan;
    std::vector<Times> own;
    double total = 0;  // seconds
};

double seconds(rollcall::Nanoseconds time) { return static_cast<double>(time) * 1e-9; }

void run(const rollcall::Job& job, std::size_t points, int iterations, int work, const std::vector<std::string>& algorithms) {
    const rollcall::Communicator& world = job.world();
    const auto ranks = static_cast<std::size_t>(world.size());
    constexpr int kMaster = 0;
    if (!std::has_single_bit(ranks) || !std::has_single_bit(points) || points < 4 * ranks)
        throw rollcall::Error(rollcall::ErrorCode::invalid_argument,
                              "06_fft: the number of ranks and that of points must be powers of two, with at least 4 points for each rank");
    const bool master = world.rank() == kMaster;
    const std::size_t share = points / ranks;
    const int levels = std::countr_zero(ranks);

    const Twiddles twiddles(points);
    Signal signal(master ? points : 0), gathered(signal.size()), result(signal.size()), expected(signal.size()), block(share);
    const Transform first_half(block.data(), share / 2), second_half(block.data() + share / 2, share / 2);
    if (master) {
        std::mt19937 random(7);
        for (Complex& value : signal)
            value = {std::uniform_real_distribution<float>(-1, 1)(random), std::uniform_real_distribution<float>(-1, 1)(random)};
        expected = signal;
        Transform(expected.data(), points)();
    }

    std::vector<Contender> contenders;
    for (const std::string& algorithm : algorithms) {
        rollcall::PlanOptions options;
        options.algorithm = algorithm;
        contenders.push_back({algorithm, world.plan_gather(block, gathered, kMaster, options), {}});
    }

    for (int iteration = -1; iteration < iterations; ++iteration)  // the first iteration is a warm-up
        for (Contender& contender : contenders) {
            world.barrier();
            const auto begin = std::chrono::steady_clock::now();
            if (master) {
                result = signal;
                for (std::size_t size = points; size > share; size /= 2)
                    for (std::size_t from = 0; from < points; from += size) twiddles.decimate(std::span(result).subspan(from, size));
            }
            world.scatter(result, block, kMaster);

            contender.plan.begin();
            twiddles.decimate(block);
            first_half(work);
            contender.plan.edge(0.5);
            second_half(work);
            contender.plan.run();

            if (master)  // block b has the results with number reversed(b) modulo P, the even ones first
                for (std::size_t b = 0; b < ranks; ++b)
                    for (std::size_t i = 0; i < share / 2; ++i) {
                        result[ranks * (2 * i) + reversed(b, levels)] = gathered[b * share + i];
                        result[ranks * (2 * i + 1) + reversed(b, levels)] = gathered[b * share + share / 2 + i];
                    }
            const auto end = std::chrono::steady_clock::now();
            // Every iteration is checked: a plan could mix up the data of two calls.
            double error = 0, power = 0;
            for (std::size_t i = 0; i < result.size(); ++i) {
                error += std::norm(result[i] - expected[i]);
                power += std::norm(expected[i]);
            }
            if (error > 1e-9 * power)
                throw rollcall::Error(rollcall::ErrorCode::state, "06_fft: " + contender.algorithm + ": the transform is wrong");
            if (iteration < 0) continue;
            contender.total += std::chrono::duration<double>(end - begin).count();
            contender.own.push_back({contender.plan.record().arrival, contender.plan.record().exit});
        }

    if (master) std::printf("%-40s %10s %10s %10s\n", "algorithm", "total", "run", "elapsed");
    for (const Contender& contender : contenders) {
        std::vector<Times> all(master ? contender.own.size() * ranks : 0);
        world.gather(contender.own, all, kMaster);
        if (!master) continue;
        double run_time = 0, elapsed = 0;
        const auto count = contender.own.size();
        for (std::size_t i = 0; i < count; ++i) {
            Times whole = all[i];
            for (std::size_t rank = 0; rank < ranks; ++rank) {
                const Times& its = all[rank * count + i];
                whole = {std::min(whole.arrival, its.arrival), std::max(whole.exit, its.exit)};
                elapsed += seconds(its.exit - its.arrival) / static_cast<double>(ranks * count);
            }
            run_time += seconds(whole.exit - whole.arrival) / static_cast<double>(count);
        }
        std::printf("%-40s %8.3f s %7.3f ms %7.3f ms\n", contender.algorithm.c_str(), contender.total, run_time * 1e3, elapsed * 1e3);
    }
    if (master) std::printf("%zu points on %zu ranks, %d iterations: every result is right\n", points, ranks, iterations);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const std::size_t points = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1 << 17;
        const int iterations = argc > 2 ? std::atoi(argv[2]) : 20;
        const int work = argc > 3 ? std::atoi(argv[3]) : 8;
        std::vector<std::string> algorithms(argv + std::min(argc, 4), argv + argc);
        if (algorithms.empty())
            algorithms = {"linear_synchronized",
                          "binomial",
                          "sorted_linear_synchronized",
                          "sorted_binomial",
                          "background_sorted_linear_synchronized",
                          "background_sorted_binomial",
                          "online_linear"};
        rollcall::Job job;
        if (!std::getenv("OMP_NUM_THREADS"))
            omp_set_num_threads(std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / job.size()));
        fftwf_init_threads();
        fftwf_plan_with_nthreads(omp_get_max_threads());
        run(job, points, iterations, work, algorithms);
        job.finalize();
        return 0;
    } catch (const rollcall::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
