/// \file
/// Random programs: all ranks draw the same calls from one seed, and each rank its own delays. Every result is compared with what it must
/// be. Words: seed, milliseconds, threads, and operations (other ones are left out, which helps to find out what a failure needs): "a+b".
///
/// A program is legal, and therefore ends, for these reasons:
///   - All ranks of a communicator make its collective calls in the same order: blocking, started, and those that make a plan. The ranks of
///     an intercommunicator do, too.
///   - A rank waits for its started calls in an order of its own. It has made all calls before them, and no call that it has started needs
///     that it waits. Therefore, when ranks wait for each other, the one that is furthest behind in the program can go on.
///   - Each message is received in the step in which it is sent, and its receive is posted or its send is started before a rank waits.
///   - Each thread has its own communicators and its own program.
///   - Calls that are given up are on communicators of their own.
#include <algorithm>
#include <deque>
#include <optional>

#include "tests/process/ranks/random_calls.hpp"
#include "tests/process/ranks/whereabouts.hpp"

namespace rollcall::test {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostUnderWay = 30;
constexpr std::size_t kMostPlans = 8;

class RandomProgram {
  public:
    RandomProgram(const Scene& scene, const Communicator& world, int thread)
        : scene_(scene),
          same_(std::stoull(scene.word(0)) + static_cast<std::uint64_t>(thread)),
          own_(own_random(scene, same_())),
          only_("+" + scene.word(3) + "+"),
          world_(world),
          here_(scene, thread) {}

    std::uint64_t run(milliseconds time) {
        const auto until = std::chrono::steady_clock::now() + time;
        try {
            make_places();
            for (bool on = true; on;) {
                for (int i = 0; i < 40; ++i) step();
                here_.note("the end of a round");
                on = std::chrono::steady_clock::now() < until;
                world_.broadcast(on, 0);
            }
            while (!under_way_.empty()) finish_some();
            here_.note("the last barrier");
            plans_.clear();
            world_.barrier();
        } catch (const std::exception& error) {
            throw Wrong(fmt::format("{}\n{}", error.what(), here_.text()));
        }
        return count_;
    }

  private:
    void make_places() {
        const int rank = world_.rank();
        places_.push_back({world_, "world"});
        places_.push_back({world_.duplicate(), "duplicate"});
        places_.push_back({world_.split(rank % 2, -rank), "half"});
        places_.push_back({world_.split(rank / 3, 0), "third"});
        places_.push_back({world_.split(rank % 3, rank), "changing"});
        if (world_.size() < 2) return;
        std::vector<int> first, second;
        for (int each = 0; each < world_.size(); ++each) (each < (world_.size() + 1) / 2 ? first : second).push_back(each);
        between_ = world_.create_intercommunicator(first, second);
        is_first_ = rank < static_cast<int>(first.size());
        places_.push_back({between_.local(), "group"});
        places_.push_back({between_.merge(), "merged"});
    }

    void pause() {
        const std::uint64_t drawn = own_() % 200;
        if (drawn < 30) sleep_us(static_cast<std::int64_t>(own_() % 3000));
        if (drawn == 199) sleep_us(10'000);
    }
    bool is_wanted(const std::string& name) const { return only_ == "++" || only_.find("+" + name + "+") != std::string::npos; }

    // The numbers of one step are drawn from a generator of its own, because communicators of one name have different sizes.
    void step() {
        Random same(same_());
        pause();
        here_.begin(++count_);
        const std::uint64_t action = same() % 100;
        if (action < 42) {
            collective(same, Form::call);
        } else if (action < 64) {
            collective(same, Form::start);
        } else if (action < 66) {
            // Many at a time, mostly on one communicator.
            for (std::uint64_t i = same() % kMostUnderWay; i-- > 0;) collective(same, Form::start);
        } else if (action < 69) {
            make_plan(same);
        } else if (action < 79) {
            use_plan(same);
        } else if (action < 90) {
            message(same);
        } else if (action < 95) {
            const Form form = same() % 2 ? Form::start : Form::call;
            if (between_ && is_wanted("between")) make(draw_call_between(between_, is_first_, form, same), form);
        } else if (action < 97) {
            divide_again(same);
        } else if (action < 98) {
            while (!under_way_.empty()) finish_some();
        } else if (is_wanted("give_up")) {
            give_up(same);
        }
        while (under_way_.size() > kMostUnderWay || (!under_way_.empty() && own_() % 4 == 0)) finish_some();
    }

    void add(std::unique_ptr<DrawnCall> call, Request request) {
        call->start = nullptr;  // With it goes the handle to the communicator.
        under_way_.push_back({std::move(call), std::move(request), nullptr});
    }
    void make(std::unique_ptr<DrawnCall> call, Form form) {
        here_.note(call->what);
        call->fill(count_);
        if (form == Form::start) {
            Request request = call->start();
            return add(std::move(call), std::move(request));
        }
        call->call();
        here_.get_on();
        call->check_buffers();
    }
    void collective(Random& same, Form form) {
        Place& place = places_[same() % places_.size()];
        const auto rows = collectives::operations();
        const collectives::OperationRow& row = rows[same() % rows.size()];
        Random drawn(same());
        if (!place.communicator || !is_wanted(std::string(name(row.kind)))) return;
        make(draw_call(scene_.job, place, row, form, drawn, own_), form);
    }
    void finish_iteration(PlannedCall& planned) {
        if (planned.is_under_way) finish(*std::ranges::find(under_way_, &planned, &UnderWay::planned));
    }
    void make_plan(Random& same) {
        // The oldest plan goes. All of its iterations have ended here.
        if (plans_.size() == kMostPlans) {
            finish_iteration(*plans_.front());
            plans_.pop_front();
        }
        Place& place = places_[same() % places_.size()];
        const auto rows = collectives::operations();
        const collectives::OperationRow& row = rows[same() % rows.size()];
        const bool is_between = same() % 6 == 0;
        Random drawn(same());
        auto planned = std::make_unique<PlannedCall>();
        if (is_between ? between_ && is_wanted("between") : place.communicator && is_wanted(std::string(name(row.kind)))) {
            planned->call = is_between ? draw_call_between(between_, is_first_, Form::plan, drawn)
                                       : draw_call(scene_.job, place, row, Form::plan, drawn, own_);
            here_.note("to make a plan: " + planned->call->what);
            planned->plan = planned->call->plan();
        }
        plans_.push_back(std::move(planned));
    }
    void use_plan(Random& same) {
        if (plans_.empty()) return;
        PlannedCall& planned = *plans_[same() % plans_.size()];
        if (!planned.plan) return;
        here_.note("iteration " + planned.call->what);
        finish_iteration(planned);
        planned.call->fill(++planned.round);
        if (own_() % 2) {
            planned.plan.begin();
            pause();
            if (own_() % 2) planned.plan.edge(static_cast<double>(1 + own_() % 10) / 10);
            pause();
        }
        planned.plan.start();
        planned.is_under_way = true;
        under_way_.push_back({nullptr, {}, &planned});
        if (same() % 2) finish(under_way_.back());
    }

    // Each rank sends a message to another one, of its communicator or of the other group.
    void message(Random& same) {
        Place& place = places_[same() % places_.size()];
        const std::uint64_t distance = same(), tag = same() % 3, bytes = draw_size(same), room = same() % 2 * 100;
        const bool is_between = same() % 6 == 0;
        if (!is_wanted("message") || (is_between ? !between_ : !place.communicator)) return;
        const Communicator group = is_between ? between_.local() : place.communicator;
        // In groups of different sizes only the first ranks have a partner.
        const int partners = is_between ? std::min(between_.size(), between_.remote_size()) : group.size();
        if (group.rank() >= partners) return;
        const int shift = static_cast<int>(distance % static_cast<std::uint64_t>(partners));
        const int to = (group.rank() + (is_between && !is_first_ ? partners - shift : shift)) % partners;
        const int from = is_between ? to : (group.rank() + partners - shift) % partners;
        const auto key_of = [&](int sender, bool of_first) { return key(sender + (of_first ? 0 : 100), count_); };
        const auto make_one = [&](bool sends) {
            auto call = std::make_unique<DrawnCall>();
            const std::uint64_t size = sends ? bytes : bytes + room;
            call->what = fmt::format("{} of {} bytes {} rank {}, tag {}, on {}", sends ? "send" : "receive", bytes, sends ? "to" : "from",
                                     sends ? to : from, tag, is_between ? "the two groups" : place.name);
            call->buffers[0].place(size, own_() % 4 == 0 ? scene_.job.allocate(size + 64) : Memory());
            Bytes after(size, kUnwritten), before = after;
            const Bytes data = pattern(bytes, key_of(sends ? group.rank() : from, is_between && is_first_ == sends));
            std::copy(data.begin(), data.end(), after.begin());
            call->buffers[0].fill(sends ? after : before, after);
            call->received = sends ? 0 : bytes;
            here_.note(call->what);
            return call;
        };
        const auto start_send = [&] {
            auto call = make_one(true);
            Request request = is_between ? between_.start_send(std::span(call->buffers[0].data(), bytes), to, tag)
                                         : group.start_send(call->buffers[0].data(), bytes, to, tag);
            add(std::move(call), std::move(request));
        };
        auto call = make_one(false);
        const auto start_receive = [&] {
            return is_between ? between_.start_receive(std::span(call->buffers[0].data(), bytes + room), from, tag)
                              : group.start_receive(call->buffers[0].data(), bytes + room, from, tag);
        };
        switch (own_() % 4) {
            case 0: {
                Request request = start_receive();
                add(std::move(call), std::move(request));
                start_send();
                break;
            }
            case 1: {  // Every receive is posted before a rank waits, so a send may block.
                Request request = start_receive();
                add(std::move(call), std::move(request));
                const auto send = make_one(true);
                if (is_between)
                    between_.send(std::span(send->buffers[0].data(), bytes), to, tag);
                else
                    group.send(send->buffers[0].data(), bytes, to, tag);
                break;
            }
            case 2: {
                start_send();
                pause();
                Request request = start_receive();
                add(std::move(call), std::move(request));
                break;
            }
            default: {
                start_send();
                here_.note(call->what);
                if (!is_between && own_() % 2) check(group.next_size(from, tag) == bytes, "{}: another size", call->what);
                const Received received = start_receive().wait();
                check(received.bytes == bytes, "{}: {} bytes came", call->what, received.bytes);
                call->check_buffers();
            }
        }
        here_.get_on();
    }

    void divide_again(Random& same) {
        const std::uint64_t by = same() % 4, shift = same();
        if (!is_wanted("split")) return;
        here_.note("split");
        const auto rank = static_cast<std::uint64_t>(world_.rank());
        const int color = static_cast<int>((rank * 7 + shift) % (by + 1));
        places_[4] = {world_.split(color == 3 ? Communicator::kNoColor : color, static_cast<int>(own_() % 100)), "changing"};
    }

    // On a communicator that is used for nothing else: a receive without a message, a send that is taken back, and a collective call that
    // one rank does not make.
    void give_up(Random& same) {
        Place& place = places_[same() % places_.size()];
        const std::uint64_t bytes = draw_size(same), absent = same();
        if (!place.communicator || place.communicator.size() < 2) return;
        here_.note("give up on a duplicate of " + place.name);
        const Communicator part = place.communicator.duplicate();
        const int to = (part.rank() + 1) % part.size(), from = (part.rank() + part.size() - 1) % part.size();
        Bytes nothing(100, kUnwritten), in(bytes, kUnwritten), out = pattern(bytes, key(part.rank(), count_));
        Request receive = part.start_receive(std::span(nothing), from, 1);
        Request send = part.start_send(std::span(out), to, 2);
        pause();
        if (own_() % 2)
            check(receive.cancel(), "a receive without a message was not cancelled");
        else
            expect_error(ErrorCode::timeout, "a receive without a message",
                         [&] { receive.wait(std::chrono::microseconds(own_() % 1000)); });
        if (!send.cancel()) send.wait();
        std::fill(out.begin(), out.end(), kUnwritten);
        // It comes whole, or not at all.
        Request whole = part.start_receive(std::span(in), from, 2);
        try {
            whole.wait(milliseconds(own_() % 3));
            check_pattern(in.data(), bytes, key(from, count_), "a send that was given up");
        } catch (const Error& error) {
            check(error.code() == ErrorCode::timeout || error.code() == ErrorCode::state, "a receive of what was given up: {}",
                  error.what());
        }
        const int missing = static_cast<int>(absent % static_cast<std::uint64_t>(part.size()));
        const auto fails = [&](const std::function<void()>& call) { expect_error(ErrorCode::timeout, "a barrier without a rank", call); };
        if (part.rank() != missing) {
            Request barrier = part.start_barrier();
            fails([&] { barrier.wait(milliseconds(own_() % 4)); });
            part.send(part.rank(), missing, 3);
        } else {
            for (int rank = 0; rank < part.size(); ++rank)
                if (rank != missing) check(part.receive<int>(rank, 3) == rank, "a message after a failure");
        }
        fails([&] { part.barrier(); });
        here_.get_on();
    }

    // Waits for one or more of what is under way.
    void finish_some() {
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
        std::vector<bool> is_done(which.size(), how != 5);
        if (how == 5) {
            const std::size_t done = Request::wait_any(requests);
            check(requests[done].wait().bytes == under_way_[which[done]].call->received, "wait_any: another size");
            is_done[done] = true;
        } else if (how == 6) {
            Request::wait_all(requests);
        } else {
            CompletionQueue queue(world_);
            for (std::size_t i = 0; i < which.size(); ++i) queue.add(std::move(requests[i]), i);
            while (queue.size() > 0) {
                const Completion completion = queue.next();
                if (completion.error) throw *completion.error;
                check(completion.received.bytes == under_way_[which[completion.context]].call->received,
                      "a completion queue: another size");
            }
        }
        here_.get_on();
        for (std::size_t i = which.size(); i-- > 0;) {
            UnderWay& each = under_way_[which[i]];
            each.request = std::move(requests[i]);
            if (!is_done[i]) continue;
            each.call->check_buffers();
            under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(which[i]));
        }
    }
    void finish(UnderWay& each) {
        const DrawnCall& call = each.planned ? *each.planned->call : *each.call;
        here_.note("to wait for " + call.what);
        const std::uint64_t how = own_() % 4;
        if (each.planned) {
            if (how == 0)
                while (!each.planned->plan.test()) pause();
            each.planned->plan.wait();
            each.planned->is_under_way = false;
        } else {
            std::optional<Received> received;
            if (how == 0)
                while (!(received = each.request.test())) pause();
            else if (how == 1)
                while (!(received = each.request.wait_for(milliseconds(1)))) {
                }
            else
                received = each.request.wait();
            check(received->bytes == call.received, "{}: {} bytes came, not {}", call.what, received->bytes, call.received);
        }
        here_.get_on();
        call.check_buffers();
        under_way_.erase(under_way_.begin() + (&each - under_way_.data()));
    }

    const Scene& scene_;
    Random same_, own_;
    const std::string only_;
    const Communicator world_;
    Whereabouts here_;
    std::vector<Place> places_;
    Intercommunicator between_;
    bool is_first_ = false;
    std::uint64_t count_ = 0;
    std::deque<std::unique_ptr<PlannedCall>> plans_;
    std::vector<UnderWay> under_way_;
};

}  // namespace

ROLLCALL_SCENARIO(random_program) {
    std::vector<Communicator> worlds;
    const int threads = scene.number(2, 1);
    for (int thread = 0; thread < threads; ++thread) worlds.push_back(scene.world.duplicate());
    std::atomic<std::uint64_t> calls = 0;
    in_threads(threads, [&](int thread) {
        calls += RandomProgram(scene, worlds[static_cast<std::size_t>(thread)], thread).run(milliseconds(scene.number(1, 1000)));
    });
    if (scene.rank == 0) fmt::print("{} calls\n", calls.load());
}

}  // namespace rollcall::test
