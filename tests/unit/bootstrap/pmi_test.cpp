/// \file
/// PMI-1, with a process manager of our own at the other end: a thread that answers all ranks.
#include "bootstrap/pmi.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rollcall/error.hpp>

#include "bootstrap/bootstrap.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::bootstrap {
namespace {

/// What a process manager may do wrong.
struct Faults {
    std::size_t cut_values_at = std::string::npos;
    bool silent = false;       ///< Answers nothing after init.
    int gone_at_barrier = -1;  ///< Closes this rank's socket instead of letting it out of the barrier.
    bool refuses_version = false;
};

class Manager {
  public:
    explicit Manager(int size, const Faults& faults = {}) : faults_(faults), input_(static_cast<std::size_t>(size)) {
        for (int rank = 0; rank < size; ++rank) {
            int pair[2];
            if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) std::abort();
            ours_.push_back(pair[0]);
            theirs_.push_back(pair[1]);
        }
        thread_ = std::thread([this] { serve(); });
    }
    ~Manager() {
        ended_ = true;
        thread_.join();
        for (const int socket : ours_)
            if (socket >= 0) ::close(socket);
    }
    int descriptor(int rank) const { return theirs_[static_cast<std::size_t>(rank)]; }
    std::string said(int rank) const { return said_[static_cast<std::size_t>(rank)]; }
    const std::map<std::string, std::string>& store() const { return store_; }

  private:
    void serve() {
        said_.resize(ours_.size());
        while (!ended_) {
            std::vector<pollfd> entries;
            for (const int socket : ours_) entries.push_back({socket, POLLIN, 0});
            ::poll(entries.data(), entries.size(), 5);
            for (std::size_t rank = 0; rank < ours_.size(); ++rank) {
                char buffer[8192];
                const ssize_t count = ours_[rank] < 0 ? 0 : ::recv(ours_[rank], buffer, sizeof buffer, MSG_DONTWAIT);
                if (count <= 0) continue;
                input_[rank].append(buffer, static_cast<std::size_t>(count));
                said_[rank].append(buffer, static_cast<std::size_t>(count));
                for (std::size_t end; (end = input_[rank].find('\n')) != std::string::npos; input_[rank].erase(0, end + 1))
                    answer(rank, input_[rank].substr(0, end));
            }
        }
    }
    static std::string word(const std::string& line, const std::string& key) {
        const std::size_t at = line.find(key + "=");
        return at == std::string::npos ? "" : line.substr(at + key.size() + 1, line.find(' ', at) - at - key.size() - 1);
    }
    void tell(std::size_t rank, const std::string& line) {
        // In two parts: a line may come in pieces.
        const std::string text = line + "\n";
        (void)!::write(ours_[rank], text.data(), text.size() / 2);
        (void)!::write(ours_[rank], text.data() + text.size() / 2, text.size() - text.size() / 2);
    }
    void answer(std::size_t rank, const std::string& line) {
        const std::string command = word(line, "cmd");
        if (command == "init")
            return tell(
                rank, faults_.refuses_version ? "cmd=response_to_init rc=-1" : "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
        if (faults_.silent) return;
        if (command == "get_my_kvsname") return tell(rank, "cmd=my_kvsname kvsname=kvs_1_0");
        if (command == "put") {
            store_[word(line, "key")] = word(line, "value").substr(0, faults_.cut_values_at);
            return tell(rank, "cmd=put_result rc=0 msg=success");
        }
        if (command == "get") {
            const auto found = store_.find(word(line, "key"));
            return tell(rank, found == store_.end() ? "cmd=get_result rc=-1 msg=key_not_found"
                                                    : "cmd=get_result rc=0 msg=success value=" + found->second);
        }
        if (command == "barrier_in" && ++inside_ == ours_.size()) {
            inside_ = 0;
            for (std::size_t each = 0; each < ours_.size(); ++each) {
                if (static_cast<int>(each) == faults_.gone_at_barrier) {
                    ::close(std::exchange(ours_[each], -1));
                    continue;
                }
                tell(each, "cmd=barrier_out");
            }
        }
        if (command == "finalize") tell(rank, "cmd=finalize_ack");
    }

    Faults faults_;
    std::vector<int> ours_, theirs_;
    std::vector<std::string> input_, said_;
    std::map<std::string, std::string> store_;
    std::size_t inside_ = 0;
    std::atomic<bool> ended_{false};
    std::thread thread_;
};

constexpr Timeout kSoon = std::chrono::seconds(20);

/// Runs work(rank) for all ranks at once.
void all_ranks(int size, const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) threads.emplace_back([&, rank] { work(rank); });
    for (std::thread& thread : threads) thread.join();
}

int lines(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

TEST(Pmi, EveryRankGetsTheTextOfRankZeroByFiveOrSixQuestions) {
    for (const int size : {1, 2, 5, 40}) {
        for (const std::size_t length : {std::size_t{1}, std::size_t{120}, kLongestInvitation}) {
            const std::string text(length, 'i');
            Manager manager(size);
            all_ranks(size, [&](int rank) {
                Pmi pmi(manager.descriptor(rank), rank, size, kSoon);
                EXPECT_EQ(pmi.share(rank == 0 ? text : ""), text);
                pmi.finalize();
            });
            for (const auto& [key, value] : manager.store()) EXPECT_LE(value.size(), 512u) << key;
            for (int rank = 0; rank < size; ++rank) {
                EXPECT_EQ(lines(manager.said(rank)), 5) << manager.said(rank);
                EXPECT_NE(manager.said(rank).find("cmd=finalize\n"), std::string::npos);
            }
        }
    }
}

TEST(Pmi, AValueThatIsCutIsFound) {
    Manager manager(2, {.cut_values_at = 300});
    const std::string secret(kLongestInvitation, 's');
    all_ranks(2, [&](int rank) {
        Pmi pmi(manager.descriptor(rank), rank, 2, kSoon);
        if (rank == 0) return static_cast<void>(pmi.share(secret));
        const std::string text = refusal(ErrorCode::bootstrap, [&] { pmi.share(""); });
        EXPECT_NE(text.find("did not arrive complete"), std::string::npos) << text;
        EXPECT_NE(text.find("rollcall run"), std::string::npos) << text;
        EXPECT_EQ(text.find("ssss"), std::string::npos) << "a secret is in a message";
    });
}

TEST(Pmi, AManagerThatIsGoneIsNamed) {
    Manager manager(2, {.gone_at_barrier = 1});
    all_ranks(2, [&](int rank) {
        Pmi pmi(manager.descriptor(rank), rank, 2, kSoon);
        if (rank == 0) return static_cast<void>(pmi.share("text"));
        const std::string text = refusal(ErrorCode::bootstrap, [&] { pmi.share(""); });
        EXPECT_NE(text.find("the process manager is gone"), std::string::npos) << text;
    });
}

TEST(Pmi, SilenceEndsAtTheDeadline) {
    Manager manager(1, {.silent = true});
    const std::string text = refusal(ErrorCode::timeout, [&] { Pmi(manager.descriptor(0), 0, 1, std::chrono::milliseconds(30)); });
    EXPECT_NE(text.find("get_my_kvsname"), std::string::npos) << text;
}

TEST(Pmi, ARankThatDoesNotComeEndsAtTheDeadline) {
    Manager manager(2);
    Pmi pmi(manager.descriptor(0), 0, 2, std::chrono::milliseconds(100));
    const std::string text = refusal(ErrorCode::timeout, [&] { pmi.share("secret"); });
    EXPECT_NE(text.find("not every rank has come"), std::string::npos) << text;
    EXPECT_EQ(text.find("secret"), std::string::npos) << text;
}

TEST(Pmi, ARefusalIsShown) {
    Manager manager(1, {.refuses_version = true});
    const std::string text = refusal(ErrorCode::bootstrap, [&] { Pmi(manager.descriptor(0), 0, 1, kSoon); });
    EXPECT_NE(text.find("rc=-1"), std::string::npos) << text;
}

TEST(Pmi, AbortDoesNotWaitForAManagerThatTakesNothing) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const std::string answers = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\ncmd=my_kvsname kvsname=kvs\n";
    ASSERT_EQ(::write(pair[1], answers.data(), answers.size()), static_cast<ssize_t>(answers.size()));
    Pmi pmi(pair[0], 0, 1, kSoon);
    const std::string filling(4096, 'x');
    while (::send(pair[0], filling.data(), filling.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    auto aborting = std::async(std::launch::async, [&] { pmi.abort(43, "enough"); });
    EXPECT_EQ(aborting.wait_for(kSoon), std::future_status::ready);
    ::close(pair[1]);  // ends one that waits forever
}

TEST(Pmi, AbortAsksForTheEndOfTheJobWithItsCode) {
    Manager manager(1);
    Pmi pmi(manager.descriptor(0), 0, 1, kSoon);
    pmi.abort(43, "enough");
    pmi.finalize();  // answered after the abort was read
    EXPECT_NE(manager.said(0).find("cmd=abort exitcode=43\n"), std::string::npos) << manager.said(0);
}

}  // namespace
}  // namespace rollcall::bootstrap
