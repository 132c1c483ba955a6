// Random programs: communicators that are made meanwhile, calls that are given up, and the ends of calls.
#include <optional>

#include "tests/process/ranks/random/random_program.hpp"

namespace rollcall::test {

using std::chrono::milliseconds;

void RandomProgram::divide_again(Random& same) {
    const std::uint64_t by = same() % 4, shift = same();
    if (!is_wanted("split")) return;
    here_.note("split");
    const auto rank = static_cast<std::uint64_t>(world_.rank());
    const int color = static_cast<int>((rank * 7 + shift) % (by + 1));
    Communicator part;
    const bool made = deaths_.survive(
        ranks_of(world_), [&] { part = world_.split(color == 3 ? Communicator::kNoColor : color, static_cast<int>(own_() % 100)); });
    if (!deaths_.all_have(made)) {
        if (part && own_() % 2) deaths_.look_at_half_made(part);
        part = {};
    }
    here_.get_on();
    places_[4] = {part, "changing"};
}

// On a communicator that is used for nothing else: a receive without a message, a send that is taken back, and a collective call that
// one rank does not make.
void RandomProgram::give_up(Random& same) {
    Place& place = places_[same() % places_.size()];
    const std::uint64_t bytes = draw_size(same), absent = same();
    Communicator part;
    bool made = true;
    if (place.communicator && place.communicator.size() >= 2) {
        here_.note("give up on a duplicate of " + place.name);
        made = deaths_.survive(ranks_of(place.communicator), [&] { part = place.communicator.duplicate(); });
    }
    if (!deaths_.all_have(made) || !part) {
        if (part && own_() % 2) deaths_.look_at_half_made(part);
        return;
    }
    const int to = (part.rank() + 1) % part.size(), from = (part.rank() + part.size() - 1) % part.size();
    Bytes nothing(100, kUnwritten), in(bytes, kUnwritten), out = pattern(bytes, key(part.rank(), count_));
    Request receive = part.start_receive(std::span(nothing), from, 1);
    Request send = part.start_send(std::span(out), to, 2);
    pause();
    const auto end = [&](int peer, const std::function<void()>& call) { return deaths_.survive(only(part.world_rank(peer)), call); };
    const auto fails = [&](const std::string& what, Ranks ranks, const std::function<void()>& call) {
        try {
            call();
        } catch (const Error& error) {
            if (error.code() != ErrorCode::timeout) deaths_.survive(ranks, [&] { throw Error(error); });
            return;
        }
        throw Wrong(what + " did not fail");
    };
    const bool is_cancelled = own_() % 2 && receive.cancel();
    if (!is_cancelled)
        fails("a receive without a message", only(part.world_rank(from)), [&] { receive.wait(std::chrono::microseconds(own_() % 1000)); });
    end(to, [&] {
        if (!send.cancel()) send.wait();
    });
    std::fill(out.begin(), out.end(), kUnwritten);
    // It comes whole, or not at all.
    end(from, [&] {
        try {
            part.receive(in.data(), bytes, from, 2, milliseconds(own_() % 3));
            check_pattern(in.data(), bytes, key(from, count_), "a send that was given up");
        } catch (const Error& error) {
            if (error.code() != ErrorCode::timeout && error.code() != ErrorCode::state) throw;
        }
    });
    const int missing = static_cast<int>(absent % static_cast<std::uint64_t>(part.size()));
    const char* const kBarrier = "a barrier without a rank";
    if (part.rank() != missing) {
        fails(kBarrier, ranks_of(part), [&] { part.start_barrier().wait(milliseconds(own_() % 4)); });
        end(missing, [&] { part.send(part.rank(), missing, 3); });
    } else {
        for (int rank = 0; rank < part.size(); ++rank)
            if (rank != missing) end(rank, [&] { check(part.receive<int>(rank, 3) == rank, "a message after a failure"); });
    }
    fails(kBarrier, ranks_of(part), [&] { part.barrier(); });
    here_.get_on();
}

// Waits for one or more of what is under way.
void RandomProgram::finish_some() {
    const auto some = static_cast<std::size_t>(own_() % under_way_.size());
    const std::uint64_t how = own_() % 8;
    if (under_way_[some].planned || how < 5) return finish(under_way_[some]);
    // Requests are moved out, and those that are not done are moved back.
    std::vector<std::size_t> which;
    std::vector<Request> requests;
    for (std::size_t i = 0; i < under_way_.size(); ++i)
        if (under_way_[i].request && own_() % 2) {
            which.push_back(i);
            requests.push_back(std::move(under_way_[i].request));
        }
    if (which.empty()) return;
    here_.note(fmt::format("to wait for {} requests, the first of which is {}", which.size(), under_way_[which[0]].call->what));
    std::vector<bool> is_done(which.size(), how != 5), is_well(which.size(), true);
    const auto call = [&](std::size_t i) -> const DrawnCall& { return *under_way_[which[i]].call; };
    if (how == 5) {
        const std::size_t done = Request::wait_any(requests);
        is_well[done] =
            deaths_.survive(call(done).ranks, [&] { check(requests[done].wait().bytes == call(done).received, "wait_any: another size"); });
        is_done[done] = true;
    } else if (how == 6) {
        Ranks ranks = 0;
        for (std::size_t i = 0; i < which.size(); ++i) ranks |= call(i).ranks;
        is_well.assign(which.size(), deaths_.survive(ranks, [&] { Request::wait_all(requests); }));
    } else {
        CompletionQueue queue(world_);
        for (std::size_t i = 0; i < which.size(); ++i) queue.add(std::move(requests[i]), i);
        while (queue.size() > 0) {
            const Completion completion = queue.next();
            const DrawnCall& ended = call(completion.context);
            is_well[completion.context] = deaths_.survive(ended.ranks, [&] {
                if (completion.error) throw Error(*completion.error);
                check(completion.received.bytes == ended.received, "a completion queue: another size");
            });
        }
    }
    here_.get_on();
    for (std::size_t i = which.size(); i-- > 0;) {
        UnderWay& each = under_way_[which[i]];
        each.request = std::move(requests[i]);
        if (!is_done[i]) continue;
        if (is_well[i])
            each.call->check_buffers();
        else
            has_failed(std::move(each.call));
        under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(which[i]));
    }
}

void RandomProgram::finish(UnderWay& each) {
    const DrawnCall& call = each.planned ? *each.planned->call : *each.call;
    here_.note("to wait for " + call.what);
    const std::uint64_t how = own_() % 4;
    const bool is_well = deaths_.survive(call.ranks, [&] {
        if (each.planned) {
            if (how == 0)
                while (!each.planned->plan.test()) pause();
            return each.planned->plan.wait();
        }
        std::optional<Received> received;
        if (how == 0)
            while (!(received = each.request.test())) pause();
        else if (how == 1)
            while (!(received = each.request.wait_for(milliseconds(1)))) {
            }
        else
            received = each.request.wait();
        check(received->bytes == call.received, "{}: {} bytes came, not {}", call.what, received->bytes, call.received);
    });
    if (each.planned) each.planned->is_under_way = false;
    here_.get_on();
    if (is_well)
        call.check_buffers();
    else if (each.call)
        has_failed(std::move(each.call));
    under_way_.erase(under_way_.begin() + (&each - under_way_.data()));
}

// Its buffers are the program's again. What is written there later is an error, so they are looked at for a while.
void RandomProgram::has_failed(std::unique_ptr<DrawnCall> call) {
    call->give_back();
    call->call = nullptr;
    call->start = nullptr;
    failed_.push_back(std::move(call));
    if (failed_.size() <= kMostUnderWay) return;
    failed_.front()->check_buffers();
    failed_.pop_front();
}

// Drops what is under way, and the communicators, in any order. Every wait has a deadline, since a rank may wait for what another one has
// dropped.
void RandomProgram::drop_everything() {
    std::shuffle(under_way_.begin(), under_way_.end(), own_);
    // A call that a rank drops breaks its communicator, on which another call may have handed data over. finalize() says that it is lost.
    const auto end = [&] {
        try {
            scene_.job.finalize();
        } catch (const Error& error) {
            if (!says(error, "handed over was not delivered")) throw;
        }
    };
    const auto drop_places = [&] {
        here_.note("to drop the communicators");
        if (own_() % 2) plans_.clear(), std::erase_if(under_way_, [](const UnderWay& each) { return each.planned; });
        places_.clear();
        between_ = {};
    };
    const std::size_t then = own_() % (under_way_.size() + 1);
    while (under_way_.size() > then) {
        UnderWay each = std::move(under_way_.back());
        under_way_.pop_back();
        if (each.planned) continue;
        here_.note("to drop " + each.call->what);
        bool is_well = false;
        try {
            const std::uint64_t how = own_() % 4;
            if (how == 0) is_well = each.request.wait(milliseconds(own_() % 30)).bytes == each.call->received;
            if (how == 1) each.request.cancel();
            if (how == 2 && own_() % 4 == 0) {
                here_.note("to end with " + each.call->what);
                end();
            }
        } catch (const Error& error) {
            check(error.code() == ErrorCode::timeout || error.code() == ErrorCode::state, "{} was dropped somewhere: {}", each.call->what,
                  error.what());
        }
        here_.get_on();
        if (is_well) each.call->check_buffers();
        each.request = Request();
        has_failed(std::move(each.call));
    }
    drop_places();
    under_way_.clear();
    plans_.clear();
    for (const auto& call : failed_) call->check_buffers();
    here_.note("the end");
    end();
}

// Where a rank that has died is missing, nothing works. Everywhere else everything does.
void RandomProgram::end_without_the_dead() {
    const auto ends = [&](const std::string& what, Ranks ranks, const std::function<void()>& call) {
        here_.note("the last " + what);
        check(deaths_.survive(ranks, call) == ((ranks & deaths_.victims()) == 0), "the last {} ended well without the dead", what);
        here_.get_on();
    };
    for (const Place& place : places_) {
        const Communicator& communicator = place.communicator;
        if (!communicator) continue;
        const Ranks ranks = ranks_of(communicator);
        ends("barrier on " + place.name, ranks, [&] { communicator.barrier(); });
        if ((ranks & deaths_.victims()) == 0)
            for (int root = 0; root < communicator.size(); ++root) check_broadcast(communicator, 50'000, root, count_, {});
    }
    if (between_) ends("barrier between two groups", ranks_of(between_), [&] { between_.barrier(); });
    for (int rank = 0; rank < world_.size(); ++rank)
        if (deaths_.victims() & only(rank)) ends("receive", only(rank), [&] { world_.receive<int>(rank, 999); });
    for (const auto& call : failed_) call->check_buffers();
    here_.note("the end");
    deaths_.meet_survivors();
}

}  // namespace rollcall::test
