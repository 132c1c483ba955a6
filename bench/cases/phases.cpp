#include "bench/cases/phases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <rollcall/error.hpp>

#include "bench/cases/hash.hpp"
#include "bench/cases/payload.hpp"
#include "foundation/number.hpp"
#include "foundation/quote.hpp"
#include "foundation/settings.hpp"
#include "foundation/units.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace {

constexpr double kMostNoise = 100;  // percent

constexpr std::pair<Predictor, std::string_view> kPredictors[] = {{Predictor::edge_linear, "edge_linear"},
                                                                  {Predictor::last, "last"},
                                                                  {Predictor::moving_average, "moving_average"},
                                                                  {Predictor::exponential, "exponential"}};

Predictor parse_predictor(std::string_view text) {
    std::string allowed;
    for (const auto& [predictor, name] : kPredictors) {
        if (text == name) return predictor;
        allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", name);
    }
    throw Error(ErrorCode::invalid_argument, fmt::format("unknown predictor {}; allowed: {}", quote(text), allowed));
}

Nanoseconds parse_compute(const std::string& text) {
    try {
        return parse_duration(text);
    } catch (const Error&) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--compute {}; allowed: a duration of 0 or more, such as 100ms, or off", quote(text)));
    }
}

double parse_noise(std::string_view text) {
    const auto percent = text.ends_with('%') ? number_of_text<double>(text.substr(0, text.size() - 1)) : std::nullopt;
    if (!percent || !(*percent >= 0 && *percent <= kMostNoise))
        throw Error(ErrorCode::invalid_argument, fmt::format("--prediction-noise {}; allowed: 0% to {}%", quote(text), kMostNoise));
    return *percent;
}

/// Returns a number in (0, 1].
double unit(std::uint64_t key) { return (static_cast<double>(key >> 11) + 1) * 0x1.0p-53; }

double normal(std::uint64_t key) { return normal_of(unit(key_of({key, 1})), unit(key_of({key, 2}))); }

}  // namespace

void add_phase_options(usage::Command& command, PhaseWords& words) {
    command
        .add_option(
            "--compute", words.compute,
            "Measure planned calls. Each follows a compute phase of 2 C + x, where x is the rank's delay; the rank announces the middle "
            "of the phase. off: calls without plans")
        ->type_name("C|off")
        ->default_str(kNoCompute);
    command.add_option("--predictor", words.predictor, "How plans predict arrivals")
        ->type_name("edge_linear|last|moving_average|exponential")
        ->default_str("edge_linear");
    command.add_flag("--no-edge", words.no_edge, "Do not announce the middle of a phase: edge_linear then predicts nothing");
    command
        .add_option(
            "--prediction-noise", words.noise,
            "Announce the middle of a phase too early or too late, so that predictions are wrong by a normal deviation of P% of the phase; "
            "for edge_linear only")
        ->type_name("P%")
        ->default_str("0%");
}

std::vector<std::pair<std::string, std::string>> Phases::notes() const {
    const auto named =
        std::find_if(std::begin(kPredictors), std::end(kPredictors), [&](const auto& one) { return one.first == predictor; });
    return {{"compute", compute_text},
            {"predictor", fmt::format("{}{}", named->second, edge ? "" : " (no edge)")},
            {"prediction_noise", fmt::format("{}%", noise_percent)}};
}

std::optional<Phases> checked(const PhaseWords& words, const std::string& compute) {
    const std::string& time = words.compute ? *words.compute : compute;
    if (time == kNoCompute) {
        if (words.predictor || words.noise || words.no_edge)
            throw Error(ErrorCode::invalid_argument,
                        "--predictor, --no-edge and --prediction-noise; allowed with --compute C, such as --compute 100ms");
        return std::nullopt;
    }
    Phases phases;
    phases.compute = parse_compute(time);
    phases.compute_text = time;
    if (words.predictor) phases.predictor = parse_predictor(*words.predictor);
    if (words.noise) phases.noise_percent = parse_noise(*words.noise);
    phases.edge = !words.no_edge;
    if (phases.noise_percent > 0 && (!phases.edge || phases.predictor != Predictor::edge_linear))
        throw Error(
            ErrorCode::invalid_argument,
            "--prediction-noise with --no-edge or another --predictor; allowed: with edge_linear, which predicts from the edge that "
            "the noise moves");
    return phases;
}

std::uint64_t noise_key(std::uint64_t seed, std::uint64_t iteration, int rank) {
    return key_of({seed, iteration, static_cast<std::uint64_t>(rank)});
}

Phase phase_of(const Phases& phases, Nanoseconds delay, std::uint64_t key) {
    const Nanoseconds end = 2 * phases.compute + delay;
    const double error = phases.noise_percent > 0 ? std::clamp(phases.noise_percent / 100 * normal(key), -1.0, 1.0) : 0;
    return {std::min<Nanoseconds>(end, std::llround(static_cast<double>(end) * kEdge * (1 + error))), end};
}

}  // namespace rollcall::bench
