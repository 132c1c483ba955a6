/// \file
/// What a service says to the others, and hears from them.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/passing.hpp"
#include "bootstrap/rendezvous/service_loop.hpp"
#include "foundation/ends.hpp"
#include "foundation/error_text.hpp"
#include "foundation/log.hpp"

namespace rollcall::bootstrap {
namespace {

std::shared_ptr<const Blob> refusal_frame(const Error& error) {
    return std::make_shared<const Blob>(FrameWriter(FrameType::failed)
                                            .u64(0)
                                            .u32(static_cast<std::uint32_t>(error.code()))
                                            .i32(error.failed_rank())
                                            .text(error.what())
                                            .finish());
}

std::shared_ptr<const Blob> notice_frame(int rank, const std::string& how, int ended_by = -1) {
    return std::make_shared<const Blob>(encode_notice({rank, how, ended_by}));
}

[[noreturn]] void refuse_frame(const Frame& frame, const char* from) {
    throw Error(ErrorCode::bootstrap, fmt::format("a frame of type {} from {}", static_cast<int>(frame.type), from));
}

}  // namespace

Service::Loop::Peer* Service::Loop::peer_of_rank(int rank) {
    const auto found = ranks_.find(rank);
    return found == ranks_.end() ? nullptr : peers_.at(found->second).get();
}

void Service::Loop::handle(Peer& peer, const Frame& frame) {
    if (frame.type == FrameType::heartbeat && peer.kind() != Identity::Kind::rank) return;
    if (peer.left && peer.kind() != Identity::Kind::leader) return;
    switch (peer.kind()) {
        case Identity::Kind::rank: return hear_rank(peer, frame);
        case Identity::Kind::leader: return hear_leader(peer, frame);
        case Identity::Kind::root: return hear_root(frame);
        case Identity::Kind::job: refuse_frame(frame, "another job");
    }
}

void Service::Loop::hear_rank(Peer& peer, const Frame& frame) {
    // A rank sends nothing before its welcome.
    if (stage_ != Stage::running || !peer.notices.is_open()) refuse_frame(frame, "a rank that was not welcomed yet");
    const int rank = peer.rank();
    FrameReader reader(frame.body);
    switch (frame.type) {
        case FrameType::join: return;
        case FrameType::farewell: peer.farewell = reader.text(); return reader.end();
        case FrameType::abort: {
            const int code = reader.i32();
            const std::string why = reader.text();
            reader.end();
            return end_job(notice_frame(-1,
                                        fmt::format("the job is being ended: rank {} on host {} aborted it with code {}: {}", rank,
                                                    options_.host, code, why),
                                        rank),
                           nullptr);
        }
        default:
            if (frame.type == FrameType::leave) peer.left = true;
            if (!hub_->hear_rank(rank, frame)) refuse_frame(frame, "a rank");
    }
}

void Service::Loop::hear_leader(Peer& peer, const Frame& frame) {
    FrameReader reader(frame.body);
    if (stage_ == Stage::refused) return;
    if (stage_ == Stage::assembling) {
        if (frame.type == FrameType::arrived) {
            const int rank = reader.i32();
            const int size = reader.i32();
            peer.host = reader.text();
            reader.end();
            peer.brought = true;
            return arrived(peer.number, peer.host, rank, size);
        }
        if (frame.type != FrameType::notice) refuse_frame(frame, "a leader, before all ranks have come");
        const Notice notice = decode_notice(frame.body);
        return refuse(
            Error(ErrorCode::peer_failed,
                  fmt::format("the job cannot start: rank {} on host {} {} before all ranks had come", notice.rank, peer.host, notice.how),
                  notice.rank));
    }
    if (peer.hub < 0 || frame.type == FrameType::arrived) return;  // it came too late, and is told so
    if (frame.type == FrameType::notice) {
        // It is about a rank that came too late, or that was lost before its leader knew that all have come. start_hub() reports the
        // latter.
        if (decode_notice(frame.body).rank >= 0) return;
        return end_job(std::make_shared<const Blob>(encode(frame)), &peer);
    }
    hub_->hear_below(peer.hub, frame);
    note_farewell(peer, frame);
}

/// The rank of a leader or of the root is lost while its service still speaks, if it has said why it goes.
void Service::Loop::note_farewell(Peer& peer, const Frame& frame) {
    if (frame.type != FrameType::loss) return;
    Hub::Loss loss;
    Hub::decode_loss(frame.body, loss);
    if (loss.notice && std::ranges::find(loss.ranks, peer.rank()) != loss.ranks.end()) peer.farewell = loss.how;
}

void Service::Loop::hear_root(const Frame& frame) {
    FrameReader reader(frame.body);
    if (stage_ == Stage::refused) return;
    if (frame.type == FrameType::failed && stage_ == Stage::assembling) {
        reader.u64();
        const auto code = static_cast<ErrorCode>(reader.u32());
        const int rank = reader.i32();
        return refuse(Error(code, reader.text(), rank));
    }
    if (frame.type == FrameType::assembled && stage_ == Stage::assembling) {
        const std::string job = reader.text();
        root_host_ = reader.text();
        const int size = reader.i32();
        const int hosts = reader.i32();
        std::vector<int> ranks;
        for (auto count = reader.u32(); count > 0; --count) ranks.push_back(reader.i32());
        reader.end();
        return start_hub(job, size, hosts, ranks, {});
    }
    if (stage_ == Stage::assembling) refuse_frame(frame, "the root, before all ranks have come");
    if (frame.type == FrameType::notice) return end_job(std::make_shared<const Blob>(encode(frame)), peers_.at(root_).get());
    hub_->hear_above(frame);
    note_farewell(*peers_.at(root_), frame);
}

void Service::Loop::arrived(int node, const std::string& host, int rank, int size) {
    if (!is_root()) {
        return to_above(std::make_shared<const Blob>(FrameWriter(FrameType::arrived).i32(rank).i32(size).text(host).finish()));
    }
    if (const auto wrong = assembly_.arrive(node, host, rank, size)) return refuse(*wrong);
    if (assembled_by_ == kNever) assembled_by_ = deadline_after(options_.join_timeout);
    if (assembly_.complete()) assembled();
}

void Service::Loop::refuse(const Error& error) {
    if (stage_ != Stage::assembling) return;
    stage_ = Stage::refused;
    refusal_ = error;
    for (const auto& [number, peer] : peers_) {
        if (number != root_) refuse(*peer, error);
    }
}

void Service::Loop::refuse(Peer& peer, const Error& error) {
    peer.left = true;
    post(peer, refusal_frame(error));
}

void Service::Loop::assembled() {
    const auto nodes = assembly_.nodes();
    const std::string job = fmt::format("{}-{}-{:x}", options_.host, ::getpid(), monotonic_now());
    std::vector<std::vector<int>> below;
    std::vector<int> own;
    for (const auto& [node, ranks] : nodes) {
        if (node == 0) {
            own = ranks;
            continue;
        }
        Peer& peer = *peers_.at(node);
        peer.hub = static_cast<int>(below.size());
        hubs_[peer.hub] = node;
        below.push_back(ranks);
        FrameWriter writer(FrameType::assembled);
        writer.text(job).text(options_.host).i32(assembly_.size()).i32(static_cast<int>(nodes.size()));
        writer.u32(static_cast<std::uint32_t>(ranks.size()));
        for (const int rank : ranks) writer.i32(rank);
        post(peer, std::make_shared<const Blob>(writer.finish()));
    }
    start_hub(job, assembly_.size(), static_cast<int>(nodes.size()), own, std::move(below));
    for (const auto& [number, peer] : peers_) {
        if (peer->kind() == Identity::Kind::leader && peer->hub < 0) {
            refuse(*peer, Error(ErrorCode::state, "the job has all of its ranks, and none of them is on this host"));
        }
    }
}

void Service::Loop::start_hub(const std::string& job, int size, int hosts, const std::vector<int>& ranks,
                              std::vector<std::vector<int>> below) {
    hub_.emplace(*this, options_.host, Hub(size, ranks, std::move(below), is_root()));
    stage_ = Stage::running;
    Place place;
    place.size = size;
    place.hosts = hosts;
    place.local_size = static_cast<int>(ranks.size());
    place.job = job;
    place.host = options_.host;
    std::set<int> unwelcome;  // the numbers of their peers
    std::vector<int> gone;    // the root counted them before it heard of their deaths
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        place.rank = ranks[i];
        place.local_rank = static_cast<int>(i);
        Peer* const peer = peer_of_rank(place.rank);
        if (peer == nullptr) {
            gone.push_back(place.rank);
            continue;
        }
        const int error = welcome(*peer, place);
        if (error == 0) continue;
        const bool short_of_files = error == EMFILE || error == ENFILE;
        const std::string how = fmt::format("could not be welcomed by the leader of its host: {}{}", error_text(error),
                                            short_of_files ? "; raise the limit of open files there (ulimit -n)" : "");
        post(*peer, refusal_frame(Error(ErrorCode::bootstrap, fmt::format("this rank {}", how))));
        lose_later(*peer, how);  // the others are told
        unwelcome.insert(peer->number);
    }
    for (const auto& [number, peer] : peers_) {
        if (peer->kind() == Identity::Kind::rank && !peer->notices.is_open() && !peer->left && !unwelcome.contains(number)) {
            refuse(*peer,
                   Error(ErrorCode::state, fmt::format("the job has all of its {} ranks; another process is rank {}", size, peer->rank())));
        }
    }
    for (const int rank : gone) hub_->lose(rank, "was lost before the job had started");
}

/// Sends the frame together with the descriptor, before anything else on this connection. Returns the system's error, or 0.
int Service::Loop::welcome(Peer& peer, const Place& place) {
    Ends notices = make_sockets(SOCK_SEQPACKET);
    if (!notices || !send_with_descriptor(peer.connection.socket(), encode_welcome(place), notices.second.get())) return errno;
    notices.first.keep_from_children();
    peer.notices.open(std::move(notices.first));
    return 0;
}

void Service::Loop::to_rank(int rank, const FrameToSend& frame) {
    if (Peer* const peer = peer_of_rank(rank)) post(*peer, frame);
}

void Service::Loop::notify_ranks(const FrameToSend& notice) {
    for (const auto& [rank, number] : ranks_) {
        if (!hub_->is_lost(rank)) peers_.at(number)->notices.send(notice);
    }
}

void Service::Loop::to_below(int hub, const FrameToSend& frame) {
    if (const auto found = hubs_.find(hub); found != hubs_.end()) post(*peers_.at(found->second), frame);
}

void Service::Loop::to_above(const FrameToSend& frame) {
    if (const auto root = peers_.find(root_); root != peers_.end()) post(*root->second, frame);
}

void Service::Loop::end_job(const std::shared_ptr<const Blob>& notice, const Peer* except) {
    for (const auto& [number, peer] : peers_) {
        if (peer.get() == except) continue;
        if (peer->kind() == Identity::Kind::rank) {
            peer->notices.send(notice);
        } else {
            post(*peer, notice);
        }
    }
}

void Service::Loop::lost(Peer& peer, const std::string& how) {
    switch (peer.kind()) {
        case Identity::Kind::rank:
            log_message(LogLevel::debug, "rank {} {}", peer.rank(), how);
            if (stage_ == Stage::running) return hub_->lose(peer.rank(), how);
            if (!is_root()) return to_above(notice_frame(peer.rank(), how));
            return refuse(
                Error(ErrorCode::peer_failed,
                      fmt::format("the job cannot start: rank {} on host {} {} before all ranks had come", peer.rank(), options_.host, how),
                      peer.rank()));
        case Identity::Kind::leader: {
            const std::string leader = fmt::format("the leader of its host, rank {}, {}", peer.rank(), how);
            log_message(LogLevel::debug, "host {}: {}", peer.host, leader);
            if (stage_ == Stage::running && peer.hub >= 0) {
                return hub_->lose_below(peer.hub, peer.host, fmt::format("is lost: {}", leader));
            }
            if (!peer.brought) return;
            return refuse(Error(ErrorCode::peer_failed,
                                fmt::format("the job cannot start: host {} is lost: {} before all ranks had come", peer.host, leader),
                                peer.rank()));
        }
        case Identity::Kind::root: return lost_root(how);
        case Identity::Kind::job: return;
    }
}

void Service::Loop::lost_root(const std::string& how) {
    if (stage_ == Stage::refused) return;  // it said why the job cannot start before it went, and there is no hub
    const int rank = peers_.at(root_)->rank();
    const std::string who =
        rank >= 0 ? fmt::format("rank {}, where all hosts meet,", rank) : std::string("the process where all hosts meet");
    if (stage_ == Stage::assembling) {
        return refuse(Error(ErrorCode::peer_failed, fmt::format("the job cannot start: {} {} before all ranks had come", who, how), rank));
    }
    if (rank >= 0) {
        const Blob loss = Hub::encode_loss({{rank}, root_host_, how, true}, 0);
        hub_->hear_above({FrameType::loss, Blob(loss.begin() + kHeaderBytes, loss.end())});
    }
    // From now on deaths are not reported.
    const std::string sentence = fmt::format("the job cannot go on: {} {}", who, how);
    if (rank < 0) hub_->end(sentence);
    end_job(notice_frame(-1, sentence, rank), peers_.at(root_).get());
}

bool Service::Loop::all_left() const {
    if (is_root()) {
        for (int rank = 0; rank < assembly_.size(); ++rank) {
            if (!hub_->is_lost(rank)) return false;
        }
        return true;
    }
    for (const auto& [rank, number] : ranks_) {
        if (!hub_->is_lost(rank)) return false;
    }
    return true;
}

}  // namespace rollcall::bootstrap
