/// \file
/// The costs of one collective call, computed from the arrivals and exits of its ranks.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <rollcall/time.hpp>

namespace rollcall::bench {

/// The communication model by which a call is judged (Patarasuk and Yuan, section 3.1).
enum class Model {
    blocking,     ///< A sender waits until its receiver has arrived.
    nonblocking,  ///< Early messages are buffered at the receiver.
    eager,        ///< Early messages up to some length are buffered, and longer ones wait, as in MPI over TCP. Judged as nonblocking.
};

/// Returns "blocking", "nonblocking" or "eager".
std::string_view name(Model model) noexcept;
/// The inverse of name(). Throws Error{invalid_argument} that names the text and lists what is allowed.
Model parse_model(std::string_view text);

/// The properties that all calls of one result cell have in common.
struct CallSetup {
    int root = 0;
    Nanoseconds message_time = 0;  ///< T: the time of a message from one process to another when both are ready; 0 = unknown.
    Model model = Model::nonblocking;
    std::string landing = {};  ///< The word of --landing with which the calls were made, if there are several; otherwise empty.
    std::string sizes = {};    ///< The distribution of the sizes of blocks; empty: all have one size.
    std::string groups = {};   ///< "12+4": the ranks of the two groups; empty: there is one group.

    bool operator==(const CallSetup&) const = default;
};

/// The measures of one call with n ranks, arrivals a_i and exits f_i. They are in seconds, except factors and ratios. Section numbers refer
/// to Patarasuk and Yuan, "Efficient MPI_Bcast across Different Process Arrival Patterns".
struct Metrics {
    double run_time = 0;                  ///< max f_i - min a_i (Proficz's run time r)
    double mean_elapsed = 0;              ///< mean of e_i = f_i - a_i; the paper's primary measure (section 2.2)
    double worst_elapsed = 0;             ///< g = max e_i (section 2.2)
    double last_delay = 0;                ///< max f_i - max a_i: the time that the call takes after all ranks have arrived
    double spread = 0;                    ///< omega = max a_i - min a_i, the worst case imbalance time (section 2.1)
    double mean_deviation = 0;            ///< delta-bar = mean of |a_i - mean a|, the average case imbalance time (section 2.1)
    double imbalance_factor = 0;          ///< omega / T, the worst case imbalance factor (section 2.1); NaN when T is 0
    double average_imbalance_factor = 0;  ///< delta-bar / T (section 2.1); NaN when T is 0
    double lower_bound = 0;               ///< lower bound of mean_elapsed; see measure()
    double performance_ratio = 0;         ///< mean_elapsed / lower_bound; NaN when the bound is 0 (one rank, or T unknown)
};

/// Computes all measures of one call.
///
/// The lower bound is Lemma 2 (section 3.2): (n-1)/n T for the non-blocking model, and (Delta + (n-1) T)/n for the blocking one, with Delta
/// = max a_i - a_root. The paper assumes that the root comes first. It also says what to do otherwise (section 3.1): a rank that came
/// before the root is treated as if it had come together with the root, and the difference is added to the total. Here elapsed times are
/// measured from the true arrivals, so they already contain the difference, and the bound must contain it as well. With a'_i = max(a_i,
/// a_root), every algorithm has
///     sum (f_i - a_i) = sum (f_i - a'_i) + sum (a'_i - a_i).
/// Lemma 2 bounds the first sum, and the second sum is the same for all algorithms. Hence
///     lower_bound = Lemma2(a') + (1/n) sum max(0, a_root - a_i),   Delta = max a'_i - a_root.
/// (The paper prints the added term as a_i - a_0, which is negative. It means a_0 - a_i.)
///
/// The ratio compares with this lower bound of the optimum. Therefore it is an upper estimate of the paper's performance ratio, too large
/// by at most the factor n/(n-1) in the non-blocking model (Lemma 1). A ratio below 1 is possible if data moves while the application is
/// outside the call (a progress thread). The paper's model does not include that.
///
/// Throws Error{invalid_argument} if the spans are empty or have different lengths, or if the root is out of range.
Metrics measure(std::span<const Nanoseconds> arrivals, std::span<const Nanoseconds> exits, const CallSetup& setup);

/// How exactly a pattern was realised: the requested delays against the actual arrivals, relative to the common start.
struct PatternError {
    double maximum = 0;  ///< max |a_i - start - asked_i|, seconds
    double rms = 0;      ///< root mean square of the same, seconds
};

/// Throws Error{invalid_argument} if the spans are empty or have different lengths.
PatternError pattern_error(std::span<const Nanoseconds> asked, std::span<const Nanoseconds> arrivals, Nanoseconds start);

}  // namespace rollcall::bench
