/// \file
/// Scenarios of jobs that become connected in which the jobs are parts of one job.
#include <string>
#include <vector>

#include "bootstrap/rendezvous/invitation.hpp"
#include "bootstrap/rendezvous/job_listener.hpp"
#include "foundation/settings.hpp"
#include "tests/process/ranks/messages.hpp"

namespace rollcall::test {

// Rank 2 is a job that goes away when the two jobs have met, before their ranks come together. All ranks of the other job are told the
// same. First word: whether that job `listens` or `connects`; second: whether it says first where they come together (`invites`), or not.
ROLLCALL_SCENARIO(left_after_the_meeting) {
    const bool listens = scene.word(0) == "listens", invites = scene.word(1) == "invites";
    const Communicator part = scene.world.split(scene.rank < 2 ? 0 : 1, scene.rank);
    const Listener listener = !listens && scene.rank < 2 ? Listener(part) : Listener();
    std::string invitation(400, ' ');
    if (!listens && scene.rank == 0) scene.world.send(std::span<const char>(listener.invitation()), 2);
    if (!listens && scene.rank == 2) invitation.resize(scene.world.receive(std::span(invitation), 0).bytes);
    if (scene.rank == 2) {
        // As api/connections.cpp says them.
        const Settings own = Settings::from_environment();
        std::string settings = own.landing_bytes > 0 ? "ROLLCALL_LANDING_BYTES>0" : "ROLLCALL_LANDING_BYTES=0";
        for (const SettingRow& row : describe(own)) {
            bool is_common = row.variable == "ROLLCALL_DECOUPLE" || row.variable == "ROLLCALL_SEGMENT_BYTES";
            for (const auto& kind : kOperationNames) is_common |= row.variable == kind.setting;
            if (is_common) settings += fmt::format(" {}={}", row.variable, row.value);
        }
        const bootstrap::JobIntroduction server{"server", settings, 1};
        if (listens) {
            bootstrap::JobListener door(own.net, 0);
            scene.world.send(std::span<const char>(door.invitation()), 0);
            bootstrap::JobMeeting meeting = door.accept(
                server, [] {}, kPatience);
            if (invites) meeting.send_invitation(bootstrap::Invitation{"127.0.0.1", 1, meeting.key()}.text());  // nobody is there
        } else {
            bootstrap::JobMeeting meeting = bootstrap::meet_job(
                invitation, server, [] {}, kPatience);
            if (invites) meeting.receive_invitation([] {}, kPatience);
        }
    } else {
        if (listens && scene.rank == 0) invitation.resize(scene.world.receive(std::span(invitation), 2).bytes);
        const Error error = expect_error(ErrorCode::peer_failed, "a job that goes away", [&] {
            if (listens)
                Intercommunicator::connect(part, invitation, {.job_name = {}, .timeout = kPatience});
            else
                listener.accept(kPatience);
        });
        check(says(error, "could not be connected") && says(error, "closed the connection"), "it says '{}'", error.what());
    }
    scene.world.barrier();
}

// Two jobs connect with a third one at the same time. Here, they are parts of one job.
ROLLCALL_SCENARIO(two_connects_at_once) {
    const Communicator& world = scene.world;
    const int third = scene.rank % 3;
    const Communicator part = world.split(third, scene.rank);
    std::string invitation(400, ' ');
    std::vector<Intercommunicator> connections;
    if (third == 0) {
        const Listener listener(part, {.job_name = "server", .port = 0});
        if (scene.rank == 0) invitation = listener.invitation();
        invitation.resize(400);
        world.broadcast(std::span(invitation), 0);
        for (int i = 0; i < 2; ++i) connections.push_back(listener.accept(kPatience));
    } else {
        world.broadcast(std::span(invitation), 0);
        connections.push_back(Intercommunicator::connect(part, invitation.c_str(), {.job_name = {}, .timeout = kPatience}));
    }
    int sum = 0;
    for (const Intercommunicator& connection : connections) {
        int told = third;
        connection.broadcast(told, third == 0 ? IntergroupRoot(Theirs{0}) : IntergroupRoot(Mine{0}));
        sum += told;
    }
    check(sum == (third == 0 ? 3 : third), "the other jobs said {}", sum);
    // Each connection ends in the order in which its two jobs come to it.
    for (const Intercommunicator& connection : connections) connection.disconnect();
}

// Two connected jobs, as one communicator, connect with a third one. Here, they are parts of one job of three ranks. What is under way over
// the second connection is noticed at the end of all that it was made over.
ROLLCALL_SCENARIO(connection_over_a_connection) {
    const Communicator& world = scene.world;
    const Communicator part = world.split(scene.rank, 0);
    std::string invitation;
    const auto hand_round = [&] {
        invitation.resize(400);
        world.broadcast(std::span(invitation), 0);
    };
    const auto accepted = [&](const Communicator& ranks) {
        const Listener listener(ranks);
        invitation = listener.invitation();
        hand_round();
        return listener.accept(kPatience);
    };
    const auto connected_alone = [&] {
        hand_round();
        return Intercommunicator::connect(part, invitation.c_str(), {.job_name = {}, .timeout = kPatience});
    };
    Intercommunicator first, second;
    if (scene.rank == 2)
        hand_round();
    else
        first = scene.rank == 0 ? accepted(part) : connected_alone();
    second = scene.rank == 2 ? connected_alone() : accepted(first.merge());
    int value = scene.rank;
    if (scene.rank == 0) {
        Request receive = second.start_receive(value, 0);
        expect_error(ErrorCode::state, "the end of the job during a receive", [&] { scene.job.finalize(); });
        expect_error(ErrorCode::state, "the end of the first connection during a receive", [&] { first.disconnect(); });
        world.barrier();
        receive.wait();
        check(value == 2, "it brought {}", value);
    } else {
        world.barrier();
        if (scene.rank == 2) second.send(value, 0);
    }
    second.disconnect();
    if (first) first.disconnect();
    still_works(world);
}

}  // namespace rollcall::test
