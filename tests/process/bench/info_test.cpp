/// \file
/// Tests what `rollcall info` says: of the transports, with the choices of the user, of limits, and of the algorithms that calls take.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/process/bench/bench_command.hpp"

namespace rollcall::test {
namespace {

class Info : public BenchCommand {
  protected:
    /// The rows of a section, with these settings in place of those of the test.
    std::vector<Json> rows(const std::string& settings, const std::string& section = "transports") {
        const Ended ended = run("info --format json", "env -u ROLLCALL_TRANSPORT -u ROLLCALL_OFI_PROVIDER -u UCX_TLS " + settings);
        EXPECT_EQ(ended.code, 0) << ended.error;
        std::vector<Json> all;
        for (const std::string& line : lines_of(ended.out))
            if (const Json row = Json::parse(line); row["section"] == section) all.push_back(row);
        return all;
    }
    static Json find(const std::vector<Json>& all, const std::string& name, const std::string& value = "") {
        for (const Json& row : all)
            if (row["name"] == name && (value.empty() || row["value"] == value)) return row;
        return {};
    }
    static std::string note_of(const Json& row) { return row.contains("note") && row["note"].is_string() ? row["note"] : Json(""); }
    static bool needs_rxm(const std::vector<Json>& all) { return note_of(find(all, "ofi tcp")).find("FI_EP_RDM") != std::string::npos; }
    static bool has_ofi(const std::vector<Json>& all) { return note_of(find(all, "ofi")).find("without libfabric") == std::string::npos; }
};

TEST_F(Info, SaysWhichTransportIsTaken) {
    const auto usual = rows("");
    if (!has_ofi(usual)) GTEST_SKIP() << note_of(find(usual, "ofi"));
    EXPECT_EQ(find(usual, "chosen")["value"], "ucx");
    EXPECT_EQ(find(usual, "ucx")["one_host"], true);
    EXPECT_EQ(find(usual, "ofi")["one_host"], false);
    EXPECT_EQ(find(usual, "ofi shm")["one_host"], false);
    EXPECT_TRUE(note_of(find(usual, "ofi")).starts_with("ROLLCALL_TRANSPORT=ofi chooses it: a job on one host takes shm; "))
        << note_of(find(usual, "ofi"));

    const auto ofi = rows("ROLLCALL_TRANSPORT=ofi");
    EXPECT_EQ(find(ofi, "chosen")["value"], "ofi");
    EXPECT_EQ(find(ofi, "chosen")["note"], "ROLLCALL_TRANSPORT=ofi");
    EXPECT_EQ(find(ofi, "ucx")["one_host"], false);
    EXPECT_EQ(find(ofi, "ofi shm")["one_host"], true);
    EXPECT_EQ(find(ofi, "ofi tcp;ofi_rxm", "lo")["one_host"], false) << "shared memory carries a job on one host";
    EXPECT_NE(note_of(find(ofi, "ofi")).find("(shm where it is, and the first that is here of cxi, efa,"), std::string::npos);

    EXPECT_EQ(find(rows("ROLLCALL_TRANSPORT=auto"), "chosen")["note"], "ROLLCALL_TRANSPORT=auto takes the first that works");
}

TEST_F(Info, ObeysTheProviderOfTheUser) {
    const auto tcp = rows("ROLLCALL_TRANSPORT=ofi ROLLCALL_OFI_PROVIDER=tcp");
    if (!has_ofi(tcp)) GTEST_SKIP() << note_of(find(tcp, "ofi"));
    EXPECT_EQ(find(tcp, "ofi shm")["one_host"], false);
    EXPECT_NE(note_of(find(tcp, "ofi shm")).find("ROLLCALL_OFI_PROVIDER=tcp chooses another one"), std::string::npos);
    // libfabric 1.17 has tcp through ofi_rxm only.
    const std::string name = needs_rxm(tcp) ? "tcp;ofi_rxm" : "tcp";
    EXPECT_EQ(find(tcp, "ofi " + name, "lo")["one_host"], true);
    EXPECT_NE(note_of(find(tcp, "ofi")).find("a job on one host takes " + name + " over lo;"), std::string::npos)
        << note_of(find(tcp, "ofi"));
    EXPECT_NE(note_of(find(tcp, "ofi")).find("(as ROLLCALL_OFI_PROVIDER=tcp says)"), std::string::npos) << note_of(find(tcp, "ofi"));

    const auto shm = rows("ROLLCALL_TRANSPORT=ofi ROLLCALL_OFI_PROVIDER=shm");
    EXPECT_EQ(find(shm, "ofi shm")["one_host"], true);
    EXPECT_EQ(find(shm, "ofi shm")["several_hosts"], false);
    EXPECT_EQ(find(shm, "ofi")["one_host"], true);
    EXPECT_EQ(find(shm, "ofi")["several_hosts"], false);
    EXPECT_NE(note_of(find(shm, "ofi")).find("on several hosts nothing: ROLLCALL_OFI_PROVIDER=shm, but the job is on several hosts"),
              std::string::npos)
        << note_of(find(shm, "ofi"));

    const auto none = rows("ROLLCALL_TRANSPORT=ofi ROLLCALL_OFI_PROVIDER=carrier_pigeon");
    EXPECT_EQ(find(none, "ofi")["one_host"], false);
    EXPECT_NE(note_of(find(none, "ofi")).find("nothing: ROLLCALL_OFI_PROVIDER=carrier_pigeon: libfabric has no such provider here"),
              std::string::npos)
        << note_of(find(none, "ofi"));
}

TEST_F(Info, ObeysTheInterfacesOfTheUser) {
    for (const std::string transport : {"ucx", "ofi"}) {
        const auto lo = rows("ROLLCALL_NET=lo ROLLCALL_TRANSPORT=" + transport);
        if (!has_ofi(lo)) GTEST_SKIP() << note_of(find(lo, "ofi"));
        EXPECT_EQ(find(lo, transport)["one_host"], true);
        // Such a job does not start.
        for (const Json& row : lo) EXPECT_FALSE(row.value("several_hosts", false)) << row;
        const std::string note = note_of(find(lo, "ofi"));
        EXPECT_NE(note.find("a job on one host takes shm; on several hosts nothing: ROLLCALL_NET"), std::string::npos) << note;
    }
}

TEST_F(Info, ListsProvidersThatCannotBeUsedWithTheReason) {
    const auto all = rows("ROLLCALL_TRANSPORT=ofi");
    if (!has_ofi(all)) GTEST_SKIP() << note_of(find(all, "ofi"));
    if (needs_rxm(all)) {
        EXPECT_EQ(note_of(find(all, "ofi tcp")), "it has no reliable datagrams (FI_EP_RDM); tcp;ofi_rxm may add them");
        EXPECT_EQ(find(all, "ofi tcp")["several_hosts"], false);
    }
    EXPECT_NE(note_of(find(all, "ofi shm")).find("lacks an event descriptor to sleep on"), std::string::npos);
    for (const Json& row : all)
        if (row["name"].get<std::string>().starts_with("ofi ") && !row.value("one_host", true) && !row.value("several_hosts", true)) {
            EXPECT_NE(note_of(row), "") << row;
        }
}

TEST_F(Info, SaysHowManyRanksMayShareMemory) {
    const auto told = [&](const std::string& settings) -> std::string {
        return find(rows(settings, "limits"), "memory shared by ranks of a node")["value"];
    };
    // prlimit counts bytes.
    const std::string none = "prlimit --fsize=104857600", some = "prlimit --fsize=1000000000";
    EXPECT_TRUE(told(none).starts_with("not possible: 2 ranks need a file of ")) << told(none);
    EXPECT_TRUE(told(none).ends_with(" MiB, and the limit of file sizes (ulimit -f) is 100.0 MiB")) << told(none);
    EXPECT_TRUE(told(some).starts_with("possible for at most 7 ranks: 8 ranks need a file of ")) << told(some);
    EXPECT_TRUE(told("ROLLCALL_LANDING_BYTES=1Mi ROLLCALL_BOARD_SLOTS=64 " + none).starts_with("possible for at most ")) << told(none);
    EXPECT_EQ(find(rows(none, "limits"), "file sizes (RLIMIT_FSIZE)")["value"], 104857600);
}

TEST_F(Info, SaysWhichSettingKeepsRanksFromSharingMemory) {
    const std::string memory = "memory shared by ranks of a node", copy = "single copy between ranks of a node";
    const auto told = [&](const std::string& settings, const std::string& name) { return find(rows(settings, "limits"), name); };
    EXPECT_EQ(told("ROLLCALL_NODE_MEMORY=no", memory)["value"], "not used: ROLLCALL_NODE_MEMORY is no");
    EXPECT_EQ(told("ROLLCALL_NODE_RANKS=1", memory)["value"], "not used: ROLLCALL_NODE_RANKS is 1");
    EXPECT_EQ(told("ROLLCALL_SINGLE_COPY=no", copy)["value"], "not used: ROLLCALL_SINGLE_COPY is no");
    const std::string limited = "more ranks than cores";
    for (const std::string setting : {"auto", "always"}) {
        const Json row = told("ROLLCALL_SINGLE_COPY=" + setting, copy);
        EXPECT_EQ(std::string(row["value"]).find("not used"), std::string::npos) << row;
        EXPECT_EQ(note_of(row).find(limited) != std::string::npos, setting == "auto") << row;
    }
}

TEST_F(Info, RefusesAnAlgorithmThatThereIsNot) {
    const Ended ended = run("info", "ROLLCALL_BROADCAST=frob");
    EXPECT_EQ(ended.code, 2);
    EXPECT_NE(ended.error.find("ROLLCALL_BROADCAST: unknown broadcast algorithm 'frob'; allowed: "), std::string::npos) << ended.error;
}

TEST_F(Info, ShowsTheHostAndMarksTheSettingsThatAreWrong) {
    for (const char* wrong : {"ROLLCALL_TRANSPORTS=ucx", "ROLLCALL_NET=nosuch9", "ROLLCALL_SPIN=soon", "ROLLCALL_COSTS=/nonexistent/costs",
                              "ROLLCALL_BROADCAST=frob"}) {
        const std::string text = wrong, variable = text.substr(0, text.find('='));
        const Ended ended = run("info --format json", text);
        EXPECT_EQ(ended.code, 2) << wrong;
        EXPECT_NE(ended.error.find(variable), std::string::npos) << ended.error;
        std::vector<Json> interfaces, settings;
        for (const std::string& line : lines_of(ended.out)) {
            const Json row = Json::parse(line);
            if (row["section"] == "interfaces") interfaces.push_back(row);
            if (row["section"] == "settings") settings.push_back(row);
        }
        EXPECT_GT(interfaces.size(), 1u) << wrong;
        EXPECT_TRUE(note_of(find(settings, variable)).starts_with("WRONG: ")) << wrong;
        EXPECT_EQ(find(settings, variable)["value"], text.substr(text.find('=') + 1));
    }
    const std::string several = "ROLLCALL_SPIN=soon ROLLCALL_TRANSPORTS=ucx ROLLCALL_BROADCAST=frob";
    const Ended all = run("info", several), none = run("info --explain broadcast", "ROLLCALL_SPIN=soon ROLLCALL_TRANSPORTS=ucx");
    EXPECT_EQ(all.code, 2);
    EXPECT_NE(all.error.find("3 settings are wrong: (1) "), std::string::npos) << all.error;
    EXPECT_EQ(none.code, 2);
    EXPECT_NE(none.error.find("2 settings are wrong: (1) ROLLCALL_SPIN='soon' is not"), std::string::npos) << none.error;
    for (const char* variable : {"ROLLCALL_SPIN", "ROLLCALL_TRANSPORTS", "ROLLCALL_BROADCAST"})
        EXPECT_NE(all.error.find(variable), std::string::npos) << all.error;
    const Json ignored = find(rows("ROLLCALL_BCAST=1", "settings"), "ROLLCALL_BCAST");
    EXPECT_NE(note_of(ignored).find("is not a setting and is ignored"), std::string::npos) << ignored;
}

TEST_F(Info, TheListOfAlgorithmsFitsTheScreen) {
    for (const std::size_t columns : {100u, 130u}) {
        const Ended ended = run("info --algorithms", fmt::format("COLUMNS={}", columns));
        EXPECT_EQ(ended.code, 0) << ended.error;
        for (const std::string& line : lines_of(ended.out)) EXPECT_LE(line.size(), columns) << line;
        EXPECT_EQ(count(ended.out, "broadcast:\nname "), 2) << "that of a job, and that between groups";
    }
    // Other programs read lines.
    const Ended ended = run("info --algorithms", "env -u COLUMNS");
    EXPECT_NE(ended.out.find("\nintergroup_allgather  "), std::string::npos) << ended.out;
}

TEST_F(Info, DoesNotTakeTheFileOfCostsForAVariable) {
    const auto home = directory_ / "home", costs = home / ".config" / "rollcall" / "costs";
    std::filesystem::create_directories(costs.parent_path());
    std::ofstream(costs) << "garbage\n";
    const auto row = [&](const std::string& more) {
        const Ended ended = run("info --format json", "env -u ROLLCALL_COSTS -u XDG_CONFIG_HOME HOME=" + home.string() + more);
        EXPECT_EQ(ended.code, 2) << ended.error;
        for (const std::string& line : lines_of(ended.out))
            if (const Json one = Json::parse(line); one["name"] == "ROLLCALL_COSTS") return one;
        return Json();
    };
    const Json usual = row("");
    EXPECT_EQ(note_of(usual).find("WRONG: " + costs.string() + ":1: "), 0u) << usual;
    EXPECT_EQ(usual["source"], "default") << usual;
    const Json named = row(" ROLLCALL_COSTS=" + costs.string());
    EXPECT_EQ(named["source"], "environment") << named;
    EXPECT_EQ(named["value"], costs.string()) << named;
}

TEST_F(Info, SaysThatTheDirectoryOfARankIsMissing) {
    for (const std::string variable : {"ROLLCALL_RANK", "ROLLCALL_SIZE"}) {
        const Json row = find(rows(variable + "=3", "host"), "started by");
        EXPECT_EQ(row["value"], "a rendezvous directory");
        EXPECT_EQ(note_of(row),
                  variable +
                      " is set, but ROLLCALL_RENDEZVOUS is not: a program started like this fails; set ROLLCALL_RENDEZVOUS, or unset " +
                      variable);
    }
    EXPECT_EQ(note_of(find(rows("PMI_RANK=0", "host"), "started by")), "PMI_RANK is set, which is not supported");
}

TEST_F(Info, ExplainsWhatCallsTake) {
    const std::string words = "info --explain allreduce --bytes 8,1Mi --ranks 4,64 --format csv";
    const Ended usual = run(words), without = run(words, "ROLLCALL_NODE_MEMORY=no");
    for (const Ended& ended : {usual, without}) {
        EXPECT_EQ(ended.code, 0) << ended.error;
        EXPECT_EQ(count(ended.out, ",one node,"), 4) << ended.out;
        EXPECT_EQ(count(ended.out, ",several nodes,"), 4) << ended.out;
    }
    EXPECT_EQ(count(usual.out, ",shared_memory,"), 4) << usual.out;
    EXPECT_EQ(count(without.out, "shared_memory"), 0) << without.out;
    const std::string gather = "info --explain gather --bytes 4Ki,1Mi --ranks 4 --format csv";
    const std::string copy = "contributes leaves after a copy", longest = "longer than ROLLCALL_LANDING_LONGEST";
    EXPECT_EQ(count(run(gather).out, copy), 2) << run(gather).out;
    const Ended limited = run(gather, "ROLLCALL_LANDING_LONGEST=2Ki");
    EXPECT_EQ(count(limited.out, copy), 0) << limited.out;
    EXPECT_EQ(count(limited.out, longest), 4) << limited.out;
    // With two ranks on each node, four are on several nodes. With one, each is on its own.
    const std::string few = "info --explain allreduce --bytes 8 --ranks 2,4 --format csv";
    const Ended pairs = run(few, "ROLLCALL_NODE_RANKS=2"), alone = run(few, "ROLLCALL_NODE_RANKS=1");
    EXPECT_EQ(count(pairs.out, ",one node,"), 1) << pairs.out;
    EXPECT_EQ(count(pairs.out, ",several nodes,"), 2) << pairs.out;
    EXPECT_EQ(count(alone.out, " node"), 2) << alone.out;
    EXPECT_EQ(count(alone.out, ",a node each,"), 2) << alone.out;
    // Of nine ranks, eight are on one node and one is on the other, or five and four.
    const std::string long_one = "info --explain allreduce --bytes 1Mi --ranks 9 --format csv";
    const Ended uneven = run(long_one, "ROLLCALL_NODE_RANKS=8"), even = run(long_one, "ROLLCALL_NODE_RANKS=5");
    EXPECT_EQ(count(uneven.out, ",several nodes,1048576,ring,"), 1) << uneven.out;
    EXPECT_EQ(count(even.out, ",several nodes,1048576,two_level,"), 1) << even.out;
    const Ended pieces = run("info --explain broadcast --bytes 1Mi --ranks 4 --format csv", "ROLLCALL_BROADCAST=pipelined");
    EXPECT_EQ(count(pieces.out, ",1048576,pipelined,131072,"), 3) << pieces.out;
    expect_refused("info --bytes 8", {"--bytes needs --explain"});
    expect_refused("info --ranks 4", {"--ranks needs --explain"});
    expect_refused("info --explain frob", {"unknown operation 'frob'", "allowed: broadcast", "intergroup_alltoall"});
}

TEST_F(Info, ExplainsCallsBetweenTwoGroups) {
    const Ended reduce = run("info --explain intergroup_reduce --bytes 8,1Mi --ranks 16 --format csv");
    EXPECT_EQ(reduce.code, 0) << reduce.error;
    EXPECT_EQ(count(reduce.out, "16,one node,"), 2) << reduce.out;
    EXPECT_EQ(count(reduce.out, ",shared_memory,"), 2) << reduce.out;
    EXPECT_NE(reduce.out.find("16,several nodes,8,two_level,"), std::string::npos) << reduce.out;
    EXPECT_NE(reduce.out.find("16,a node each,8,binomial,"), std::string::npos) << reduce.out;
    EXPECT_NE(reduce.out.find("16,a node each,1048576,pipelined,"), std::string::npos) << reduce.out;
    expect_refused("info --explain intergroup_reduce --ranks 1", {"--ranks"});
}

// A rooted call is between the root and the other group. The estimates show how many nodes are counted. The ranks of this job are on one
// host, so messages within a host cost the same here as others.
TEST_F(Info, ExplainsRootedCallsBetweenTwoGroupsAsAJobDoes) {
    const std::string costs_file = (directory_ / "costs").string();
    std::ofstream(costs_file) << "node_latency = 13107ns\nnode_gap = 1310ns\nnode_mebibyte = 838861ns\n";
    const auto job = run_ranks(8, {"nodes_of_the_roots_group"}, with({"ROLLCALL_NODE_RANKS=2", "ROLLCALL_COSTS=" + costs_file}));
    ASSERT_EQ(job.code, 0) << job.out << job.error;
    const Words chosen = lines_with(job.out, " costs: ");
    ASSERT_EQ(chosen.size(), 1u) << job.out;
    const std::string costs = chosen.front().substr(chosen.front().find(" costs: "));
    const Ended told =
        run("info --explain intergroup_broadcast --bytes 1Mi --ranks 8 --format csv", "ROLLCALL_NODE_RANKS=2 ROLLCALL_COSTS=" + costs_file);
    EXPECT_NE(told.out.find(costs), std::string::npos) << told.out << job.out;
}

}  // namespace
}  // namespace rollcall::test
