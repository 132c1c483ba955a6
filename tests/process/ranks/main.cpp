/// \file
/// The rank program of the process tests. It joins its job and runs the scenarios that its arguments name, "name:a:b". A rank that finds an
/// error prints it in a sentence and exits with 3. An unexpected Error gives exit code 5.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectives/catalogue.hpp"
#include "tests/process/ranks/embedding.hpp"
#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

std::map<std::string, Scenario>& scenarios() {
    static std::map<std::string, Scenario> all;
    return all;
}

// One write per line, so that the lines of the ranks do not mix.
void say(int rank, const std::string& text) {
    const std::string line = fmt::format("rank {} {}\n", rank, text);
    if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) std::_Exit(9);
}

// Writes the table of algorithms for the drivers (tests/process/algorithms.hpp): kind, whether it moves data, what it needs, and its name.
int write_algorithms(const char* path) {
    std::ofstream file(path, std::ios::trunc);
    for (const collectives::OperationRow& row : collectives::operations())
        for (const collectives::AlgorithmEntry& entry : row.algorithms) {
            int needs = 0;
            for (int bit = 1; bit < 1 << 16; bit *= 2)
                if (entry.needs.contains(static_cast<collectives::Condition>(bit))) needs |= bit;
            file << fmt::format("{} {:d} {} {}\n", index_of(row.kind), row.moves_data, needs, entry.name);
        }
    return file.flush() ? 0 : 1;
}

int play(int argc, char** argv) {
    // Buffers are made and freed in each call. The kernel would clear their pages each time, which took a fifth of the time of these tests.
    ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
    ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
    const char* given = std::getenv("ROLLCALL_BOOTSTRAP_RANK");
    int rank = given ? std::atoi(given) : 0;
    std::string now = "the start", end_may_say;
    try {
        Job job = start_job();
        rank = job.rank();
        for (int i = 1; i < argc; ++i) {
            now = argv[i];
            std::vector<std::string> words;
            std::istringstream stream(now);
            for (std::string word; std::getline(stream, word, ':');) words.push_back(word);
            const auto found = scenarios().find(words.at(0));
            check(found != scenarios().end(), "there is no such scenario");
            words.erase(words.begin());
            Scene scene{job, job.world(), job.rank(), job.size(), words, static_cast<std::size_t>(i - 1) * kWordsEach, end_may_say};
            found->second(scene);
        }
        now = "finalize";
        try {
            job.finalize();
        } catch (const Error& error) {
            if (end_may_say.empty() || std::string_view(error.what()).find(end_may_say) == std::string_view::npos) throw;
        }
    } catch (const Wrong& wrong) {
        say(rank, fmt::format("in {}: wrong: {}", now, wrong.what()));
        return 3;
    } catch (const Error& error) {
        say(rank, fmt::format("in {}: error {} {}: {}", now, name(error.code()), error.failed_rank(), error.what()));
        return 5;
    } catch (const std::exception& error) {
        say(rank, fmt::format("in {}: {}", now, error.what()));
        return 4;
    }
    say(rank, "done");
    return 0;
}

}  // namespace

Register::Register(const char* name, Scenario scenario) {
    if (!scenarios().emplace(name, scenario).second) throw std::logic_error(fmt::format("there are two scenarios {}", name));
}

std::atomic<std::uint64_t>& shared(std::size_t index) {
    static std::atomic<std::uint64_t>* const words = [] {
        const char* path = std::getenv("ROLLCALL_TEST_SHARED");
        const int file = path ? ::open(path, O_RDWR | O_CLOEXEC) : -1;
        void* memory = file < 0 ? MAP_FAILED : ::mmap(nullptr, 64 * 1024, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (memory == MAP_FAILED) throw Wrong("ROLLCALL_TEST_SHARED cannot be mapped");
        ::close(file);
        return static_cast<std::atomic<std::uint64_t>*>(memory);
    }();
    return words[index];
}

std::vector<std::byte> pattern(std::uint64_t bytes, std::uint64_t which) {
    std::vector<std::byte> data(bytes);
    const std::uint64_t base = which * 0x9e3779b97f4a7c15ull;
    std::uint64_t i = 0;
    for (; i + 8 <= bytes; i += 8) {
        const std::uint64_t word = base + i * 0xbf58476d1ce4e5b9ull;
        std::memcpy(data.data() + i, &word, 8);
    }
    for (; i < bytes; ++i) data[i] = static_cast<std::byte>(base + i);
    return data;
}

void check_pattern(const void* data, std::uint64_t bytes, std::uint64_t which, const std::string& what) {
    const auto right = pattern(bytes, which);
    if (bytes == 0 || std::memcmp(data, right.data(), bytes) == 0) return;
    const auto* got = static_cast<const std::byte*>(data);
    std::uint64_t at = 0;
    while (got[at] == right[at]) ++at;
    throw Wrong(
        fmt::format("{}: byte {} of {} is {:#x}, not {:#x}", what, at, bytes, static_cast<int>(got[at]), static_cast<int>(right[at])));
}

Error expect_error(ErrorCode code, const std::string& what, const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        check(error.code() == code, "{} failed with {} instead of {}: {}", what, name(error.code()), name(code), error.what());
        return error;
    }
    throw Wrong(fmt::format("{} did not fail with {}", what, name(code)));
}

void end_without_the_dead(Scene& scene) {
    expect_error(ErrorCode::peer_failed, "the end without the dead", [&] { scene.job.finalize(); });
}

std::vector<std::string> usable_algorithms(const Communicator& communicator, const collectives::OperationRow& row) {
    std::vector<std::string> usable;
    for (const std::string_view name : collectives::algorithm_names(row, collectives::kReal)) {
        try {
            communicator.explain(runtime::name(row.kind), 8, {.algorithm = name, .segment_bytes = {}, .timeout = {}});
            usable.emplace_back(name);
        } catch (const Error&) {
        }
    }
    return usable;
}

std::vector<std::string> algorithms_of_blocks(const Communicator& world, runtime::OperationKind kind) {
    std::vector<std::string> usable;
    for (const std::string_view name : collectives::algorithm_names(kind, collectives::kReal)) try {
            world.explain(runtime::name(kind), kOwnSizes, {.algorithm = name, .segment_bytes = {}, .timeout = {}});
            usable.emplace_back(name);
        } catch (const Error& error) {
            check(std::string(error.what()).find("needs ") != std::string::npos, "it says '{}'", error.what());
        }
    return usable;
}

std::vector<std::string> broadcast_algorithms(const Communicator& communicator) {
    return usable_algorithms(communicator, collectives::operation(runtime::OperationKind::broadcast));
}

}  // namespace rollcall::test

int main(int argc, char** argv) {
    if (argc == 3 && argv[1] == std::string_view("--algorithms")) return rollcall::test::write_algorithms(argv[2]);
    return rollcall::test::play(argc, argv);
}
