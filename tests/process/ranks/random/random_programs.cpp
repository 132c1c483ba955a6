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
///
/// Where ranks die, the others go on with the same program. Calls that depend on a rank that has died fail, and must name that rank. All
/// other calls must work.

#include "tests/process/ranks/failing/deaths.hpp"
#include "tests/process/ranks/random/random_program.hpp"

namespace rollcall::test {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostPlans = 8;

}  // namespace

std::uint64_t RandomProgram::run(const std::function<void()>& program) {
    try {
        program();
    } catch (const JobHasEnded&) {
    } catch (const std::exception& error) {
        throw Wrong(fmt::format("{}\n{}", error.what(), here_.text()));
    }
    return count_;
}

std::uint64_t RandomProgram::run(milliseconds time) {
    return run([&] {
        const auto until = std::chrono::steady_clock::now() + time;
        make_places();
        for (bool on = true; on;) {
            for (int i = 0; i < 40; ++i) step();
            here_.note("the end of a round");
            on = std::chrono::steady_clock::now() < until;
            world_.broadcast(on, 0);
        }
        finish_all();
        here_.note("the last barrier");
        plans_.clear();
        world_.barrier();
    });
}

std::uint64_t RandomProgram::run_with_deaths(std::uint64_t steps) {
    return run([&] {
        deaths_.meet_all(scene_.number(2, 1));
        deaths_.begin(0);
        make_places();
        while (count_ < steps) step();
        finish_all();
        plans_.clear();
        deaths_.await_own();
        end_without_the_dead();
    });
}

std::uint64_t RandomProgram::run_and_drop(std::uint64_t steps) {
    return run([&] {
        make_places();
        while (count_ < steps) step();
        deaths_.meet_all(1);
        drop_everything();
    });
}

void RandomProgram::make_places() {
    const int rank = world_.rank();
    const Ranks everyone = ranks_of(world_);
    // A communicator that not all ranks could make is null on all of them.
    const auto place = [&](const char* name, const std::function<Communicator()>& make) {
        here_.note(std::string("to make ") + name);
        Communicator part;
        const bool made = deaths_.survive(everyone, [&] { part = make(); });
        if (!deaths_.all_have(made)) part = {};
        places_.push_back({part, name});
        here_.get_on();
    };
    places_.push_back({world_, "world"});
    place("duplicate", [&] { return world_.duplicate(); });
    place("half", [&] { return world_.split(rank % 2, -rank); });
    place("third", [&] { return world_.split(rank / 3, 0); });
    place("changing", [&] { return world_.split(rank % 3, rank); });
    if (world_.size() < 2) return;
    std::vector<int> first, second;
    for (int each = 0; each < world_.size(); ++each) (each < (world_.size() + 1) / 2 ? first : second).push_back(each);
    is_first_ = rank < static_cast<int>(first.size());
    place("group", [&] {
        between_ = world_.create_intercommunicator(first, second);
        return between_.local();
    });
    if (!places_.back().communicator) between_ = {};
    place("merged", [&] { return between_ ? between_.merge() : Communicator(); });
}

void RandomProgram::pause() {
    const std::uint64_t drawn = own_() % 200;
    if (drawn < 30) sleep_us(static_cast<std::int64_t>(own_() % 3000));
    if (drawn == 199) sleep_us(10'000);
}

// The numbers of one step are drawn from a generator of its own, because communicators of one name have different sizes.
void RandomProgram::step() {
    Random same(same_());
    pause();
    here_.begin(++count_);
    deaths_.begin(count_);
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
        if (between_ && is_wanted("between")) make(draw_call_between(between_, is_first_, form, same), form, ranks_of(between_));
    } else if (action < 97) {
        divide_again(same);
    } else if (action < 98) {
        finish_all();
    } else if (is_wanted("give_up")) {
        give_up(same);
    }
    while (under_way_.size() > kMostUnderWay || (!under_way_.empty() && own_() % 4 == 0)) finish_some();
}

void RandomProgram::add(std::unique_ptr<DrawnCall> call, Request request) {
    call->start = nullptr;  // With it goes the handle to the communicator.
    under_way_.push_back({std::move(call), std::move(request), nullptr});
}

void RandomProgram::make(std::unique_ptr<DrawnCall> call, Form form, Ranks ranks) {
    here_.note(call->what);
    call->ranks = ranks;
    call->fill(count_);
    Request request;
    const bool is_well = deaths_.survive(ranks, [&] {
        if (form == Form::start)
            request = call->start();
        else
            call->call();
    });
    here_.get_on();
    if (!is_well)
        has_failed(std::move(call));
    else if (form == Form::start)
        add(std::move(call), std::move(request));
    else
        call->check_buffers();
}

void RandomProgram::collective(Random& same, Form form) {
    Place& place = places_[same() % places_.size()];
    const auto rows = collectives::operations();
    const collectives::OperationRow& row = rows[same() % rows.size()];
    Random drawn(same());
    if (!place.communicator || !is_wanted(std::string(name(row.kind)))) return;
    make(draw_call(scene_.job, place, row, form, drawn, own_), form, ranks_of(place.communicator));
}

void RandomProgram::make_plan(Random& same) {
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
        planned->call->ranks = is_between ? ranks_of(between_) : ranks_of(place.communicator);
        deaths_.survive(planned->call->ranks, [&] { planned->plan = planned->call->plan(); });
    }
    plans_.push_back(std::move(planned));
}

void RandomProgram::use_plan(Random& same) {
    if (plans_.empty()) return;
    PlannedCall& planned = *plans_[same() % plans_.size()];
    if (!planned.plan) return;
    here_.note("iteration " + planned.call->what);
    finish_iteration(planned);
    planned.call->fill(++planned.round);
    const bool is_well = deaths_.survive(planned.call->ranks, [&] {
        if (own_() % 2) {
            planned.plan.begin();
            pause();
            if (own_() % 2) planned.plan.edge(static_cast<double>(1 + own_() % 10) / 10);
            pause();
        }
        planned.plan.start();
    });
    if (!is_well) return;
    planned.is_under_way = true;
    under_way_.push_back({nullptr, {}, &planned});
    if (same() % 2) finish(under_way_.back());
}

// Each rank sends a message to another one, of its communicator or of the other group.
void RandomProgram::message(Random& same) {
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
    const auto peer = [&](int rank) { return only(is_between ? between_.remote_world_rank(rank) : group.world_rank(rank)); };
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
        call->ranks = peer(sends ? to : from);
        here_.note(call->what);
        return call;
    };
    // Makes the call. A call that fails because its peer has died is done with.
    const auto begin = [&](std::unique_ptr<DrawnCall> call, const std::function<Request(const DrawnCall&)>& use) {
        Request request;
        if (deaths_.survive(call->ranks, [&] { request = use(*call); }))
            add(std::move(call), std::move(request));
        else
            has_failed(std::move(call));
    };
    const auto start_send = [&] {
        begin(make_one(true), [&](const DrawnCall& call) {
            return is_between ? between_.start_send(std::span(call.buffers[0].data(), bytes), to, tag)
                              : group.start_send(call.buffers[0].data(), bytes, to, tag);
        });
    };
    const auto receive = [&](const DrawnCall& call) {
        return is_between ? between_.start_receive(std::span(call.buffers[0].data(), bytes + room), from, tag)
                          : group.start_receive(call.buffers[0].data(), bytes + room, from, tag);
    };
    auto call = make_one(false);
    switch (own_() % 4) {
        case 0: {
            begin(std::move(call), receive);
            start_send();
            break;
        }
        case 1: {  // Every receive is posted before a rank waits, so a send may block.
            begin(std::move(call), receive);
            begin(make_one(true), [&](const DrawnCall& send) {
                if (is_between)
                    between_.send(std::span(send.buffers[0].data(), bytes), to, tag);
                else
                    group.send(send.buffers[0].data(), bytes, to, tag);
                return Request();
            });
            break;
        }
        case 2: {
            start_send();
            pause();
            begin(std::move(call), receive);
            break;
        }
        default: {
            start_send();
            here_.note(call->what);
            const bool is_well = deaths_.survive(call->ranks, [&] {
                if (!is_between && own_() % 2) check(group.next_size(from, tag) == bytes, "{}: another size", call->what);
                if (own_() % 4 == 0) {
                    Request next = is_between ? between_.start_next_size(from, tag) : group.start_next_size(from, tag);
                    check(next.wait().bytes == bytes, "{}: another size came", call->what);
                }
                const Received received = receive(*call).wait();
                check(received.bytes == bytes, "{}: {} bytes came", call->what, received.bytes);
            });
            if (is_well)
                call->check_buffers();
            else
                has_failed(std::move(call));
        }
    }
    here_.get_on();
}

static void run_programs(Scene& scene, const std::function<std::uint64_t(const Communicator&, int)>& run) {
    std::vector<Communicator> worlds;
    const int threads = scene.number(2, 1);
    for (int thread = 0; thread < threads; ++thread) worlds.push_back(scene.world.duplicate());
    std::atomic<std::uint64_t> calls = 0;
    in_threads(threads, [&](int thread) { calls += run(worlds[static_cast<std::size_t>(thread)], thread); });
    if (scene.rank == 0) fmt::print("{} calls\n", calls.load());
}

ROLLCALL_SCENARIO(random_program) {
    run_programs(scene, [&](const Communicator& world, int thread) {
        return RandomProgram(scene, world, thread, Deaths(scene)).run(milliseconds(scene.number(1, 1000)));
    });
}

// All ranks end the job while their calls are under way. Words: seed, steps.
ROLLCALL_SCENARIO(random_program_with_an_early_end) {
    RandomProgram(scene, scene.world, 0, Deaths(scene)).run_and_drop(static_cast<std::uint64_t>(scene.number(1, 50)));
}

// One or two ranks die at a random time. Words: seed, steps, threads, operations, and how they die.
ROLLCALL_SCENARIO(random_program_with_deaths) {
    connect_all(scene);
    const auto steps = static_cast<std::uint64_t>(scene.number(1, 100));
    run_programs(scene, [&](const Communicator& world, int thread) {
        Deaths deaths(scene, thread, std::stoull(scene.word(0)), steps, scene.word(4, "kill"));
        return RandomProgram(scene, world, thread, std::move(deaths)).run_with_deaths(steps);
    });
    end_without_the_dead(scene);
}

}  // namespace rollcall::test
