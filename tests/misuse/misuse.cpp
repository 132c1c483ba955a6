// Wrong uses that must not compile, each beside the right use. misuse.cmake compiles the column of right uses, which must succeed. Then it
// compiles the column of wrong uses, where each line must have an error and no other line may have one. A case is one line.
#include <array>
#include <coroutine>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <rollcall/rollcall.hpp>

#ifdef ROLLCALL_WRONG
#define CASE(right, wrong) (void)(wrong)
#else
#define CASE(right, wrong) (void)(right)
#endif

namespace {

struct Sample {
    int id;
    double value;
};
// As std::mdspan, which GCC 12 does not have.
struct View {
    using data_handle_type = double*;
    data_handle_type data;
};
struct Made {
    explicit Made(int given) : value(given) {}
    int value;
};
using Vector = std::vector<double>;
using Pair = std::pair<int, double>;
using PairOfPointer = std::pair<int, double*>;
using rollcall::Blocks;
using PointerArray = std::array<const double*, 2>;
using DoubleArray = std::array<double, 2>;

[[maybe_unused]] double plain(double a, double b) noexcept { return a + b; }
[[maybe_unused]] double plain_throwing(double a, double b) { return a + b; }

[[maybe_unused]] void cases(const rollcall::Communicator& world) {
    Vector v(8);
    const Vector constant(8);
    std::vector<int> integers(8);
    std::vector<bool> bits(8);
    std::string text = "text";
    std::string_view view = text;
    double array[4] = {};
    char bytes[32] = {};
    bool truth = true;
    double x = 1;
    const double fixed = 1;
    double* const pointer = v.data();
    Sample sample{};
    Made made(1);
    const View grid{v.data()};
    const std::coroutine_handle<> coroutine;
    rollcall::Communicator other = world;
    Pair pair{};
    PairOfPointer pair_of_pointer{};
    PointerArray pointers{};
    DoubleArray doubles{};
    std::reference_wrapper<double> reference(x);
    std::initializer_list<double> list = {1, 2};
    rollcall::CollectiveOptions options;
    rollcall::PlanOptions plan;
    int ranks[] = {0};
    std::vector<long> counts(8);
    Blocks sizes(counts);
    rollcall::CompletionQueue queue(world);
    const rollcall::Intercommunicator between;
    const rollcall::Mine root{0};
    rollcall::Request request;
    void* const pointer_to_void = pointer;

    // clang-format off: a case is one line.
    // The number of elements is no number of bytes.
    CASE(world.broadcast(v, 0), world.broadcast(v.data(), v.size(), 0));
    CASE(world.start_broadcast(v, 0), world.start_broadcast(v.data(), v.size(), 0));
    CASE(world.plan_broadcast(v, 0), world.plan_broadcast(v.data(), v.size(), 0));
    CASE(world.broadcast(static_cast<void*>(pointer), 64, 0), world.broadcast(pointer, 64, 0));
    CASE(world.broadcast(std::span(pointer, 8), 0, options), world.broadcast(pointer, 8, 0, options));
    CASE(world.broadcast(bytes, 32, 0), world.broadcast(array, 32, 0));
    CASE(world.broadcast(&bytes[0], 32, 0), world.broadcast(&sample, sizeof sample, 0));
    CASE(world.send(v, 1), world.send(v.data(), v.size(), 1));
    CASE(world.send(bytes, 32, 1), world.send(array, 4, 1));
    CASE(world.receive(v, 1), world.receive(v.data(), v.size(), 1));
    CASE(world.start_send(v, 1, 7), world.start_send(v.data(), v.size(), 1, 7));
    CASE(world.start_receive(v, 1, 7), world.start_receive(v.data(), v.size(), 1, 7));
    CASE(world.scatter(v, x, 0), world.scatter(v.data(), bytes, 8, 0));
    CASE(world.scatter(v, x, 0), world.scatter(bytes, &x, 8, 0));
    CASE(world.start_scatter(v, x, 0), world.start_scatter(v.data(), &x, 8, 0));
    CASE(world.plan_scatter(v, x, 0), world.plan_scatter(v.data(), &x, 8, 0));
    CASE(world.gather(x, v, 0), world.gather(&x, bytes, 8, 0));
    CASE(world.gather(x, v, 0), world.gather(bytes, v.data(), 8, 0));
    CASE(world.start_gather(x, v, 0), world.start_gather(&x, v.data(), 8, 0));
    CASE(world.plan_gather(x, v, 0), world.plan_gather(&x, v.data(), 8, 0));
    // Types that only refer to data elsewhere cannot be sent.
    CASE(world.send(*pointer, 1), world.send(pointer, 1));
    CASE(world.send(reference.get(), 1), world.send(reference, 1));
    CASE(world.broadcast(reference.get(), 0), world.broadcast(reference, 0));
    CASE(world.send(pair, 1), world.send(pair_of_pointer, 1));
    CASE(world.broadcast(pair, 0), world.broadcast(pair_of_pointer, 0));
    CASE(world.broadcast(doubles, 0), world.broadcast(pointers, 0));
    CASE(world.send(std::span(grid.data, 8), 1), world.send(grid, 1));
    CASE(world.send(std::optional(x), 1), world.send(std::optional(grid), 1));
    CASE(world.send(sample, 1), world.send(coroutine, 1));
    CASE(world.receive<double>(1), world.receive<double*>(1));
    CASE(world.receive<DoubleArray>(1), world.receive<std::string_view>(1));
    CASE(world.receive<Sample>(1), world.receive<std::span<double>>(1));
    CASE(world.receive<Pair>(1), world.receive<Vector>(1));
    CASE(world.send(integers, 1), world.send(bits, 1));
    // Types without a default constructor cannot be returned, and functions cannot combine them.
    CASE(world.receive(made, 1), world.receive<Made>(1));
    CASE(between.receive(made, 1), between.receive<Made>(1));
    CASE(world.send(made, 1), world.allreduce(made, [](const Made& a, const Made&) noexcept { return a; }));
    // Data that the operation writes must not be const.
    CASE(world.broadcast(v, 0), world.broadcast(constant, 0));
    CASE(world.broadcast(x, 0), world.broadcast(fixed, 0));
    CASE(world.broadcast(text, 0), world.broadcast(view, 0));
    CASE(world.receive(text, 1), world.receive(view, 1));
    CASE(world.receive(v, 1), world.receive(list, 1));
    CASE(world.scatter(v, x, 0), world.scatter(v, fixed, 0));
    CASE(world.gather(x, v, 0), world.gather(x, constant, 0));
    CASE(world.receive_resized(v, 1), world.receive_resized(doubles, 1));
    // Calls whose results no code would see, and buffers that are destroyed before the operation has ended.
    CASE(world.receive(v, 1), world.receive(Vector(8), 1));
    CASE(world.broadcast(v, 0), world.broadcast(Vector(8), 0));
    CASE(world.send(Vector(8), 1), world.start_send(Vector(8), 1));
    CASE(world.send(1.0, 1), world.start_send(1.0, 1));
    CASE(world.start_send(std::span(v), 1), world.start_send(std::move(v), 1));
    CASE(world.send({1, 2, 3}, 1), world.start_send({1, 2, 3}, 1));
    CASE(world.send(std::optional(1), 1), world.send(std::optional(view), 1));
    CASE(world.send(std::variant<int, double>(1), 1), world.send(std::variant<int, double*>(1), 1));
    CASE(world.start_send(std::string_view("text"), 1), world.start_send(std::string("text"), 1));
    CASE(world.start_receive(std::span(v), 1), world.start_receive(Vector(8), 1));
    CASE(world.start_broadcast(std::span(v), 0), world.start_broadcast(Vector(8), 0));
    CASE(world.plan_broadcast(std::span(v), 0), world.plan_broadcast(Vector(8), 0));
    CASE(world.scatter(Vector(8), x, 0), world.start_scatter(Vector(8), x, 0));
    CASE(world.plan_scatter({}, x, 0, plan), world.plan_scatter(Vector(8), x, 0, plan));
    CASE(world.gather(1.0, v, 0), world.start_gather(1.0, v, 0));
    CASE(world.plan_gather(x, {}, 0, plan), world.plan_gather(1.0, v, 0, plan));
    CASE(world.gather(x, v, 0), world.gather(x, Vector(8), 0));
    // Blocks whose element type differs from that of the data.
    CASE(world.scatter(integers, integers, 0), world.scatter(v, integers, 0));
    CASE(world.gather(x, v, 0), world.gather(x, integers, 0));
    CASE(world.gather(v, v, 0), world.gather(sample, v, 0));
    // Wrong arguments for blocks whose sizes differ.
    CASE(world.scatter(v, sizes, v, 0), world.scatter(v, counts, v, 0));
    CASE(world.scatter(v, sizes, x, 0), world.scatter(v, x, sizes, 0));
    CASE(world.scatter(v, sizes, v, 0), world.scatter(v, sizes, integers, 0));
    CASE(world.scatter(pointer_to_void, sizes, bytes, 32, 0), world.scatter(v.data(), sizes, bytes, 32, 0));
    CASE(world.start_scatter(v, sizes, v, 0), world.start_scatter(Vector(8), sizes, v, 0));
    CASE(world.plan_scatter({}, Blocks(), x, 0, plan), world.plan_scatter({}, Blocks(), fixed, 0, plan));
    CASE(world.gather(x, v, sizes, 0), world.gather(x, constant, sizes, 0));
    CASE(world.gather(bytes, 32, bytes, sizes, 0), world.gather(pointer, 32, bytes, sizes, 0));
    CASE(world.gather(1.0, v, sizes, 0), world.start_gather(1.0, v, sizes, 0));
    CASE(world.plan_gather(v, v, sizes, 0, plan), world.plan_gather(v, Vector(8), sizes, 0, plan));
    CASE(Blocks(counts), Blocks(std::vector<int>(8)));
    CASE(Blocks(counts, integers), Blocks(counts, v));
    CASE(Blocks(counts), Blocks(bits));
    CASE(world.send(counts, 1), world.send(sizes, 1));
    CASE(world.allgather(x, v), world.allgather(x, constant));
    CASE(world.allgather(v), world.allgather(constant));
    CASE(world.allgather(1.0, v), world.start_allgather(1.0, v));
    CASE(world.allgather(v, v, sizes), world.allgather(v, integers, sizes));
    CASE(world.plan_allgather(v, v, plan), world.plan_allgather(v, Vector(8), plan));
    CASE(world.alltoall(v, v), world.alltoall(v, integers));
    CASE(world.alltoall(Vector(8), v), world.start_alltoall(Vector(8), v));
    CASE(world.alltoall(v, sizes, v, sizes), world.alltoall(v, sizes, v));
    CASE(world.alltoall(bytes, sizes, bytes, sizes), world.alltoall(pointer, sizes, bytes, sizes));
    // Between two groups.
    CASE(between.gather(v, sizes, root), between.start_gather(Vector(8), sizes, root));
    CASE(between.gather({}, Blocks(), root), between.gather(sizes, v, root));
    CASE(between.alltoall(v, sizes, v, sizes), between.alltoall(v, sizes, integers, sizes));
    CASE(between.plan_alltoall(v, sizes, v, sizes), between.plan_alltoall(v, sizes, v));
    // A request is moved into one queue and stays there.
    CASE(queue.add(std::move(request)), queue.add(request));
    CASE(queue.add(world.start_send(v, 1), &x), queue.add(world.start_send(v, 1), x, &x));
    CASE(rollcall::CompletionQueue(world), rollcall::CompletionQueue());
    CASE(rollcall::CompletionQueue(std::move(queue)), rollcall::CompletionQueue(queue));
    // A part of a communicator is none.
    CASE(rollcall::Communicator(world), rollcall::Exchanges(world));
    CASE(rollcall::Communicator(world), rollcall::ReducingOperations(world));
    CASE(rollcall::Communicator(world), rollcall::DistributingOperations(world));
    CASE(other = world, static_cast<rollcall::Exchanges&>(other) = world);
    CASE(other = world, static_cast<rollcall::ReducingOperations&>(other) = world);
    // An ambiguous call: bytes to a rank, or a rank and a tag?
    CASE(world.send(std::span(array), 1, 7), world.send(array, 1, 7));
    CASE(world.receive(std::span(array), 1, 7), world.receive(array, 1, 7));
    CASE(world.create(ranks), world.create(0));

    // Operators that are not defined for the elements, functions that may throw, and results of a different element type.
    const auto add = [](double a, double b) noexcept { return a + b; };
    const auto throwing = [](double a, double b) { return a + b; };
    CASE(world.allreduce(integers, rollcall::bitwise_and), world.allreduce(v, rollcall::bitwise_and));
    CASE(world.allreduce(v, rollcall::sum), world.allreduce(sample, rollcall::sum));
    CASE(world.allreduce(truth, rollcall::logical_or), world.allreduce(truth, rollcall::sum));
    CASE(world.allreduce(truth, std::plus<>()), world.allreduce(truth, rollcall::by_rank(rollcall::sum)));
    CASE(world.allreduce(v, add), world.allreduce(v, throwing));
    CASE(world.allreduce(v, plain), world.allreduce(v, plain_throwing));
    CASE(world.allreduce(constant, v, rollcall::sum), world.allreduce(constant, rollcall::sum));
    CASE(world.allreduce(v, v, rollcall::sum), world.allreduce(v, integers, rollcall::sum));
    CASE(world.reduce(v, v, rollcall::sum, 0), world.reduce(v, integers, rollcall::sum, 0));
    CASE(world.start_reduce(v, v, rollcall::sum, 0), world.start_reduce(Vector(8), v, rollcall::sum, 0));
    CASE(world.reduce_scatter(v, x, rollcall::sum), world.reduce_scatter(v, integers, rollcall::sum));
    CASE(world.start_reduce_scatter(v, x, rollcall::sum), world.start_reduce_scatter(Vector(8), x, rollcall::sum));
    CASE(world.scan(v, v, rollcall::sum), world.scan(v, integers, rollcall::sum));
    CASE(world.plan_exclusive_scan(v, add), world.plan_exclusive_scan(v, throwing));
    // clang-format on
}

}  // namespace
