// The guarantees of a device: buffers, launch limits, arguments, timing.
#include <algorithm>
#include <array>
#include <stdexcept>

#include "core/build/candidate_failure.hpp"
#include "suite.hpp"
#include "xtune/error.hpp"

using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::measure;

using namespace xtune;
using namespace xtune::conformance;

namespace {

constexpr const char* set_kernel = R"(
extern "C" __global__ void set(int* x, int value) { x[blockIdx.x * blockDim.x + threadIdx.x] = value; })";

constexpr const char* work_kernel = R"(
extern "C" __global__ void work(float* x, int rounds) {
  float v = x[threadIdx.x];
  for (int i = 0; i < rounds; ++i) v = v * 0.999f + 0.5f;
  x[threadIdx.x] = v;
})";

}  // namespace

CONFORMANCE_TEST("buffers are written, read and filled by ranges, and nothing beyond") {
  if (!t.device) return;
  const auto buffer = t.device->allocate(1000);
  CHECK(buffer->size() == 1000);
  CHECK(reinterpret_cast<std::uintptr_t>(buffer->address()) % 256 == 0);
  buffer->fill(0, 1000, std::byte{0x11});
  const std::array<std::byte, 4> word = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  buffer->write(996, word);
  buffer->fill(10, 3, std::byte{0xee});
  std::array<std::byte, 1000> all{};
  buffer->read(0, all);
  CHECK(all[9] == std::byte{0x11});
  CHECK(all[10] == std::byte{0xee});
  CHECK(all[12] == std::byte{0xee});
  CHECK(all[13] == std::byte{0x11});
  CHECK(all[999] == std::byte{4});
  std::array<std::byte, 4> out{};
  CHECK_THROWS_AS(buffer->write(997, word), std::out_of_range);
  CHECK_THROWS_AS(buffer->read(1001, out), std::out_of_range);
  CHECK_THROWS_AS(buffer->fill(~std::size_t{0}, 2, std::byte{}), std::out_of_range);
  CHECK_THROWS_AS(buffer->fill(2, ~std::size_t{0}, std::byte{}), std::out_of_range);
  CHECK_NOTHROW(buffer->write(1000, {}));
  CHECK_NOTHROW(t.device->allocate(0)->fill(0, 0, std::byte{}));
}

CONFORMANCE_TEST("memory that is not there is refused") {
  if (!t.device) return;
  CHECK_THROWS_AS(t.device->allocate(std::size_t{1} << 60), Error);
  CHECK_NOTHROW(t.device->allocate(4096));
}

CONFORMANCE_TEST("the device tells its facts") {
  if (!t.device) return;
  const DeviceInfo& info = t.device->info();
  CHECK(info.backend == t.backend);
  CHECK_FALSE(info.name.empty());
  CHECK_FALSE(info.vendor.empty());
  CHECK(info.compute_units > 0);
  CHECK((info.warp_size == 32 || info.warp_size == 64));
  CHECK(info.max_threads_per_block >= 256);
  CHECK(info.shared_per_block >= 16384);
  CHECK(info.shared_per_block_optin >= info.shared_per_block);
  CHECK(info.memory_bytes > (1 << 20));
}

CONFORMANCE_TEST("launches that the device cannot do are rejected before they run") {
  const auto artifact = compile(t, set_kernel, "set");
  if (!t.device) return;
  const auto limit = static_cast<std::uint32_t>(t.device->info().max_threads_per_block);
  const auto shared = static_cast<std::uint32_t>(t.device->info().shared_per_block_optin);
  const auto deep = static_cast<std::uint32_t>(t.device->info().max_block_z);
  const std::vector<Launch> bad = {
      {{1, 1, 1}, {limit + 1, 1, 1}}, {{1, 1, 1}, {limit, 2, 1}},
      {{0, 1, 1}, {32, 1, 1}},        {{1, 0, 1}, {32, 1, 1}},
      {{1, 1, 1}, {0, 1, 1}},         {{1, 1, 1}, {1, 1, deep + 1}},
      {{1, 65536, 1}, {1, 1, 1}},     {{1, 1, 1}, {32, 1, 1}, {0, 0, 0}, shared + 1},
  };
  for (const Launch& launch : bad) {
    std::string message;
    CHECK(outcome_of([&] { t.device->load(artifact, launch); }, &message) == Outcome::rejected);
    CHECK(message.size() > 10);
  }
  const auto x = upload(t, std::vector<int>(limit));
  CHECK(outcome_of([&] { run(t, artifact, {{1, 1, 1}, {limit, 1, 1}}, arguments(x, 5)); }) == Outcome::ok);
  CHECK(download<int>(*x) == std::vector<int>(limit, 5));
}

CONFORMANCE_TEST("a wrong number or size of arguments is a failed launch") {
  const auto artifact = compile(t, set_kernel, "set");
  if (!t.device) return;
  const auto x = upload(t, std::vector<int>(32));
  const auto program = t.device->load(artifact, Launch{{1, 1, 1}, {32, 1, 1}});
  for (const auto& bad : {arguments(x), arguments(x, 1, 2), arguments(x, 1.0), std::vector<KernelArgument>{}}) {
    std::string message;
    CHECK(outcome_of([&] { run(*program, bad); }, &message) == Outcome::launch_failed);
    CHECK(message.size() > 10);
  }
  run(*program, arguments(x, 9));
  CHECK(download<int>(*x) == std::vector<int>(32, 9));
}

CONFORMANCE_TEST("a damaged image is a failed launch") {
  auto artifact = compile(t, set_kernel, "set");
  if (!t.device) return;
  for (const std::string& image : {std::string(),
                                   std::string("\x7f"
                                               "ELF") +
                                       std::string(5000, '\0'),
                                   std::string(5000, 'x')}) {
    artifact.image = image;
    CHECK(outcome_of([&] { t.device->load(artifact, {}); }) == Outcome::launch_failed);
  }
}

CONFORMANCE_TEST("more work takes longer, and flushing leaves it at that") {
  const auto artifact = compile(t, work_kernel, "work");
  if (!t.device) return;
  const auto x = upload(t, std::vector<float>(32, 1.0f));
  const auto program = t.device->load(artifact, Launch{{1, 1, 1}, {32, 1, 1}});
  const auto best_of = [&](int rounds, std::size_t flush_bytes) {
    double best = 1e30;
    for (int i = 0; i < 5; ++i) best = std::min(best, run(*program, arguments(x, rounds), flush_bytes).time_ms);
    return best;
  };
  const int few = is_emulated(t.device->info()) ? 200 : 20000, many = 100 * few;
  const double little = best_of(few, 0), much = best_of(many, 0);
  CHECK(little > 0);
  CHECK(much > little);
  CHECK(best_of(many, 8 << 20) > little);
  CHECK(run(*program, arguments(x, 10), 0, false).time_ms == 0);
}

CONFORMANCE_TEST("flushing touches no buffer") {
  const auto artifact = compile(t, set_kernel, "set");
  if (!t.device) return;
  const auto x = upload(t, std::vector<int>(64, 3)), other = upload(t, std::vector<int>(100000, 77));
  const auto program = t.device->load(artifact, Launch{{1, 1, 1}, {64, 1, 1}});
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4097}, std::size_t{3} << 20})
    run(*program, arguments(x, 4), bytes);
  CHECK(download<int>(*x) == std::vector<int>(64, 4));
  CHECK(download<int>(*other) == std::vector<int>(100000, 77));
}

CONFORMANCE_TEST("programs come and go, several at a time") {
  const auto first = compile(t, set_kernel, "set");
  auto request =
      request_for(t, "extern \"C\" __global__ void set(int* x, int value) { x[threadIdx.x] = -value; }", "set");
  const auto second = compile(t, request);
  if (!t.device) return;
  const auto x = upload(t, std::vector<int>(32)), y = upload(t, std::vector<int>(32));
  const Launch launch = {{1, 1, 1}, {32, 1, 1}};
  auto kept = t.device->load(first, launch);
  int wrong = 0;
  for (int i = 1; i <= 200; ++i) {
    auto program = t.device->load(i % 2 ? second : first, launch);
    run(*program, arguments(x, i));
    run(*kept, arguments(y, i));
    wrong += download<int>(*x)[31] != (i % 2 ? -i : i) || download<int>(*y)[0] != i;
    if (i % 10 == 0) kept = std::move(program), kept = t.device->load(first, launch);
  }
  CHECK(wrong == 0);
}

CONFORMANCE_TEST("further launches of one sample take their own arguments, and every launch its time") {
  const auto artifact = compile(t, work_kernel, "work");
  const auto setting = compile(t, set_kernel, "set");
  if (!t.device) return;
  const Launch launch = {{1, 1, 1}, {32, 1, 1}};
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<std::vector<KernelArgument>> sets;
  for (int i = 0; i < 5; ++i) {
    buffers.push_back(upload(t, std::vector<int>(32)));
    sets.push_back(arguments(buffers.back(), 10 + i));
  }
  const std::vector<std::span<const KernelArgument>> more(sets.begin() + 1, sets.end());
  const auto program = t.device->load(setting, launch);
  program->run({sets[0], false, 0, more});
  for (std::size_t i = 0; i < 5; ++i) CHECK(download<int>(*buffers[i])[31] == 10 + static_cast<int>(i));
  CHECK(program->run({sets[0], true, 1 << 20, more}).time_ms > 0);

  const auto bad = arguments(buffers[0]);
  const std::vector<std::span<const KernelArgument>> one_bad = {sets[1], bad};
  CHECK(outcome_of([&] { program->run({sets[0], true, 0, one_bad}); }) == Outcome::launch_failed);

  const auto x = upload(t, std::vector<float>(32, 1.0f));
  const auto working = t.device->load(artifact, launch);
  const auto values = arguments(x, is_emulated(t.device->info()) ? 20000 : 2000000);
  const std::vector<std::span<const KernelArgument>> again(3, std::span<const KernelArgument>(values));
  working->run({values, false});
  // The mean, not the sum of the four. Other programs may delay launches, so it is tried again.
  double alone = 1e30, shared = 1e30;
  for (int i = 0; i < 40 && (i < 3 || shared >= 2 * alone); ++i) {
    alone = std::min(alone, working->run({values}).time_ms);
    shared = std::min(shared, working->run({values, true, 0, again}).time_ms);
  }
  CHECK(shared < 2 * alone);
}

CONFORMANCE_TEST("launches in a graph compute the same, each time with the arguments of that run") {
  const auto artifact = compile(t, work_kernel, "work");
  const auto setting = compile(t, set_kernel, "set");
  if (!t.device || t.backend == "host") return;
  REQUIRE(t.device->lack_of_graphs() == "");
  const Launch launch = {{1, 1, 1}, {32, 1, 1}};
  std::vector<std::unique_ptr<Buffer>> buffers;
  for (int i = 0; i < 3; ++i) buffers.push_back(upload(t, std::vector<int>(32)));
  const auto program = t.device->load(setting, launch);
  for (int round = 0; round < 4; ++round) {  // the first one is not a graph, and the last one is an earlier one's
    const int base = round == 3 ? 100 : 100 * round;
    std::vector<std::vector<KernelArgument>> sets;
    for (int i = 0; i < 3; ++i) sets.push_back(arguments(buffers[static_cast<std::size_t>(i)], base + i));
    const std::vector<std::span<const KernelArgument>> more(sets.begin() + 1, sets.end());
    RunOptions options{sets[0], round % 2 == 1, round == 3 ? std::size_t{1} << 20 : 0, more};
    options.graph = true;
    const Sample sample = program->run(options);
    CHECK((sample.time_ms > 0) == options.timed);
    for (std::size_t i = 0; i < 3; ++i) CHECK(download<int>(*buffers[i])[31] == base + static_cast<int>(i));
  }
  const auto bad = arguments(buffers[0]);
  RunOptions refused{bad};
  refused.graph = true;
  CHECK(outcome_of([&] { program->run(refused); }) == Outcome::launch_failed);

  // The time of one launch, whether it is in a graph or not; other programs may delay launches, so it is tried again.
  const auto x = upload(t, std::vector<float>(32, 1.0f));
  const auto working = t.device->load(artifact, launch);
  const auto values = arguments(x, is_emulated(t.device->info()) ? 20000 : 2000000);
  const std::vector<std::span<const KernelArgument>> again(3, std::span<const KernelArgument>(values));
  working->run({values, false});
  double alone = 1e30, in_graph = 1e30;
  for (int i = 0; i < 40 && (i < 3 || in_graph >= 1.5 * alone || alone >= 1.5 * in_graph); ++i) {
    RunOptions options{values, true, 0, again};
    alone = std::min(alone, working->run(options).time_ms);
    options.graph = true;
    in_graph = std::min(in_graph, working->run(options).time_ms);
  }
  CHECK(in_graph < 1.5 * alone);
  CHECK(alone < 1.5 * in_graph);
}

CONFORMANCE_TEST("buffers are zeroed before each launch of a sample, and nothing beyond") {
  const auto artifact = compile(
      t, "extern \"C\" __global__ void count(int* seen, int* y) { y[threadIdx.x] = ++seen[threadIdx.x]; }", "count");
  if (!t.device) return;
  const auto seen = upload(t, std::vector<int>(32, 7)), beside = upload(t, std::vector<int>(32, 7));
  Buffer* const zeroed[] = {seen.get()};
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<std::vector<KernelArgument>> sets;
  for (int i = 0; i < 3; ++i) {
    buffers.push_back(upload(t, std::vector<int>(32)));
    sets.push_back({seen.get(), buffers.back().get()});
  }
  const std::vector<std::span<const KernelArgument>> more(sets.begin() + 1, sets.end());
  const auto program = t.device->load(artifact, Launch{{1, 1, 1}, {32, 1, 1}});
  for (const bool graph : {false, t.device->lack_of_graphs().empty()})
    for (const bool timed : {false, true}) {
      program->run({sets[0], timed, 0, more, graph, zeroed});
      for (const auto& y : buffers) CHECK(download<int>(*y) == std::vector<int>(32, 1));
      CHECK(download<int>(*beside) == std::vector<int>(32, 7));
      program->run({sets[0], timed, 0, {}, graph});
      CHECK(download<int>(*buffers[0]) == std::vector<int>(32, 2));
    }
}

CONFORMANCE_TEST("the timer tells what it does") {
  if (!t.device) return;
  const TimerInfo timer = t.device->timer();
  CHECK(timer.overhead.event_ms >= 0);
  CHECK(timer.overhead.launch_ms >= 0);
  if (t.backend == "host") return;
  if (is_emulated(t.device->info())) {
    CHECK(timer.note == simulated_times);
    CHECK_FALSE(timer.holds_queue);
    return;
  }
  CHECK(timer.note == "");
  CHECK(timer.holds_queue);
  CHECK(timer.empty_pair_ms > 0);
}

CONFORMANCE_TEST("steps of one sample are launched in order, each with its own kernel, launch and arguments") {
  auto request = request_for(t, R"(
template <int FACTOR>
__global__ void scale(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = FACTOR * x[i];
}
extern "C" __global__ void total(const int* y, int* sum) {
  extern __shared__ int part[];
  part[threadIdx.x] = y[threadIdx.x];
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *sum = part[0];
})",
                             "scale<2>");
  request.more_entries = {"total", "scale<3>"};
  const auto artifact = compile(t, request);
  REQUIRE(artifact.entries.size() == 3);
  CHECK(artifact.entry_symbol == artifact.entries[0].symbol);
  CHECK(artifact.entries[0].symbol != artifact.entries[2].symbol);
  if (!t.device) return;
  constexpr std::uint32_t n = 128;
  std::vector<int> numbers(n);
  for (std::uint32_t i = 0; i < n; ++i) numbers[i] = static_cast<int>(i);
  const auto x = upload(t, numbers), y = upload(t, std::vector<int>(n)), sum = upload(t, std::vector<int>(1));
  // Arguments 0 to 3: x, y, sum, n. y = 3 * x; x = 2 * y; sum of x; once more with another launch: x = 2 * y.
  LaunchPlan plan;
  plan.steps = {{{{2, 1, 1}, {64, 1, 1}}, 2, {{0, 1, 3}}, "step 1 'scale<3>'"},
                {{{4, 1, 1}, {32, 1, 1}}, 0, {{1, 0, 3}}, "step 2 'scale<2>'"},
                {{{1, 1, 1}, {n, 1, 1}, {0, 0, 0}, n * 4}, 1, {{0, 2}}, "step 3 'total'"}};
  const auto program = t.device->load(artifact, plan);
  run(*program, arguments(x, y, sum, static_cast<int>(n)), 0, false);
  CHECK(download<int>(*y)[5] == 15);
  CHECK(download<int>(*x)[5] == 30);
  CHECK(download<int>(*sum)[0] == 6 * 127 * 64);
  CHECK(run(*program, arguments(x, y, sum, static_cast<int>(n)), 1 << 20).time_ms > 0);
  CHECK(download<int>(*sum)[0] == 36 * 127 * 64);

  std::string message;
  plan.steps[1].launch.block[0] = static_cast<std::uint32_t>(t.device->info().max_threads_per_block) + 1;
  CHECK(outcome_of([&] { t.device->load(artifact, plan); }, &message) == Outcome::rejected);
  CHECK(message.find("step 2 'scale<2>': ") == 0);
  plan.steps[1] = {{{4, 1, 1}, {32, 1, 1}}, 0, {{1, 0}}, "step 2 'scale<2>'"};
  CHECK(outcome_of([&] { run(*t.device->load(artifact, plan), arguments(x, y, sum, 1)); }, &message) ==
        Outcome::launch_failed);
  CHECK(message.find("step 2 'scale<2>': ") == 0);
}

CONFORMANCE_TEST("a kernel that is missing among several is named") {
  auto request = request_for(t, set_kernel, "set");
  request.more_entries = {"no_such_kernel"};
  const CandidateFailure failure = failing_compile(t, request);
  CHECK(failure.outcome() == Outcome::compile_failed);
  CHECK((std::string(failure.what()) + failure.log()).find("no_such_kernel") != std::string::npos);
}
