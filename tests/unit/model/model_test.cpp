// Properties of the cost model for any constants: monotone in work and traffic, faster on faster devices.
#include <doctest/doctest.h>

#include "core/model/template.hpp"
#include "ranking.hpp"

using namespace xtune::device;
using namespace xtune::model;
using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

namespace {

Work some_work() {
  Work work;
  work.blocks = 1024, work.threads = 256, work.registers = 96, work.shared_bytes = 16384;
  work.flops = 1e7, work.instructions = 1e4, work.shared_cycles = 2e4, work.cache_cycles = 1e4, work.l2_bytes = 1e5;
  work.serial_cycles = 3e4, work.spill_uses = 100, work.memory_bytes = 1e9, work.bytes_in_flight = 32768;
  return work;
}

const std::vector<std::string> gpus = [] {
  std::vector<std::string> archs;
  for (const std::string& arch : known_archs())
    if (!is_cpu(*known_device(arch))) archs.push_back(arch);
  return archs;
}();

}  // namespace

TEST_CASE("more of anything never makes it faster") {
  for (const std::string& arch : gpus) {
    CAPTURE(arch);
    const DeviceModel device = model_of(arch);
    const double before = estimate(some_work(), device).time_ms;
    CHECK(before > 0);
    for (double Work::*part :
         {&Work::blocks, &Work::registers, &Work::shared_bytes, &Work::flops, &Work::instructions, &Work::shared_cycles,
          &Work::cache_cycles, &Work::l2_bytes, &Work::serial_cycles, &Work::memory_bytes, &Work::extra_us}) {
      Work more = some_work();
      more.*part = more.*part * 1.5 + 1;
      if (misfit(more, device)) continue;
      CHECK(estimate(more, device).time_ms >= before * (1 - 1e-12));
    }
    Work ahead = some_work();
    ahead.bytes_in_flight *= 2;
    CHECK(estimate(ahead, device).time_ms <= before * (1 + 1e-12));
  }
}

TEST_CASE("a device with twice the bandwidth spends less time on memory, and one with more units less in all") {
  for (const std::string& arch : gpus) {
    CAPTURE(arch);
    const DeviceModel device = model_of(arch);
    if (device.memory_GB_s <= 0) continue;
    DeviceModel wide = device;
    wide.memory_GB_s *= 2;
    Work work = some_work();
    work.bytes_in_flight = 0;  // no limit
    CHECK(estimate(work, wide).memory_ms == doctest::Approx(estimate(work, device).memory_ms / 2));
    CHECK(estimate(work, wide).time_ms < estimate(work, device).time_ms);
    DeviceInfo twice = device.info;
    twice.compute_units *= 2;
    const DeviceModel big = device_model(twice);
    CHECK(big.peak(Rate::f32) == doctest::Approx(2 * device.peak(Rate::f32)));
    CHECK(estimate(work, big).time_ms <= estimate(work, device).time_ms);
  }
}

TEST_CASE("the last wave counts: one block more than fits starts another round") {
  const DeviceModel device = model_of("sm_80");
  Work work = some_work();
  work.memory_bytes = 0;
  const double slots = estimate(work, device).blocks_per_unit * device.info.compute_units;
  work.blocks = slots;
  const double full = estimate(work, device).time_ms;
  work.blocks = slots + 1;
  CHECK(estimate(work, device).time_ms > full * 1.1);
}

TEST_CASE("residency follows the tightest resource") {
  const DeviceModel device = model_of("sm_80");
  Work work = some_work();
  work.registers = 128, work.shared_bytes = 0;
  CHECK(estimate(work, device).residency == "registers");
  CHECK(estimate(work, device).blocks_per_unit == 2);
  work.registers = 32, work.shared_bytes = 80 * 1024;
  CHECK(estimate(work, device).residency == "shared memory");
  CHECK(estimate(work, device).blocks_per_unit == 2);
  work.shared_bytes = 0;
  CHECK(estimate(work, device).residency == "threads");
  CHECK(estimate(work, device).occupancy == 1);
  work.registers = 400;
  CHECK(estimate(work, device).spilled > 0);
  work.registers = 96, work.blocks_at_most = 8;  // 8 blocks of 256 threads leave 32 registers for each
  CHECK(estimate(work, device).spilled == 64);
}

TEST_CASE("bank conflicts and cache lines, counted by hand") {
  CHECK(bank_turns({32, 32, 1, 0, 1}, 32) == 1);
  CHECK(bank_turns({32, 32, 2, 0, 1}, 32) == 2);
  CHECK(bank_turns({32, 32, 32, 0, 1}, 32) == 32);
  CHECK(bank_turns({32, 32, 33, 0, 1}, 32) == 1);
  CHECK(bank_turns({32, 32, 0, 0, 1}, 32) == 1);  // all want one word
  CHECK(bank_turns({32, 32, 4, 0, 4}, 32) == 4);  // 512 bytes at 128 a turn
  CHECK(bank_turns({32, 32, 8, 0, 4}, 32) == 8);
  CHECK(bank_turns({64, 64, 1, 0, 1}, 32) == 2);
  CHECK(lines_touched({32, 32, 1, 0, 1}, 32) == 1);
  CHECK(lines_touched({32, 32, 32, 0, 1}, 32) == 32);
  CHECK(lines_touched({32, 8, 1, 1024, 1}, 32) == 4);
}

TEST_CASE("every template ranks its own space on both vendors, and gives carver a view") {
  const Bindings sizes{
      {"m", std::int64_t{4096}},      {"n", std::int64_t{4096}},          {"k", std::int64_t{4096}},
      {"width", std::int64_t{4096}},  {"height", std::int64_t{2048}},     {"filter_width", std::int64_t{5}},
      {"seq_q", std::int64_t{2048}},  {"seq_k", std::int64_t{2048}},      {"head_dim", std::int64_t{128}},
      {"heads", std::int64_t{64}},    {"filter_height", std::int64_t{5}}, {"bins", std::int64_t{256}},
      {"rows", std::int64_t{100000}}, {"columns", std::int64_t{100000}},  {"nnz", std::int64_t{1600000}}};
  for (const CandidateTemplate& candidate : candidate_templates())
    for (const char* arch : {"sm_75", "sm_90", "sm_120", "gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1201"})
      for (const char* type : {"f16", "f32"}) {
        CAPTURE(candidate.name);
        CAPTURE(arch);
        CAPTURE(type);
        const DeviceModel device = model_of(arch);
        const Spec spec = template_spec(candidate.name, type, sizes_of(candidate, sizes), device);
        for (const RankMode mode : {RankMode::model, RankMode::carver}) {
          RankOptions options;
          options.mode = mode;
          const Ranking ranking = ranked(spec, device, options);
          REQUIRE_FALSE(ranking.configs.empty());
          CHECK(ranking.configs.front().cost > 0);
          CHECK(ranking.configs.front().cost < 1e15);
          if (mode == RankMode::model) CHECK(ranking.configs.front().estimate->time_ms < 1e4);
        }
      }
}

TEST_CASE("a bigger tile of a matrix product moves fewer bytes, and wide reads are at least as good as narrow ones") {
  const DeviceModel device = model_of("sm_86");
  const CandidateTemplate& matmul = *find_template("matmul");
  std::vector<double> values(matmul.fields.size(), NAN);
  const auto set = [&](const std::string& name, double value) {
    for (std::size_t i = 0; i < matmul.fields.size(); ++i)
      if (matmul.fields[i].name == name) values[i] = value;
  };
  for (const char* size : {"m", "n", "k"}) set(size, 4096);
  set("block_m", 64), set("block_n", 64), set("thread_m", 8), set("thread_n", 8);
  const Work small = matmul.work(values, device, DType::f32);
  set("block_m", 128), set("block_n", 128);
  const Work large = matmul.work(values, device, DType::f32);
  CHECK(large.l2_bytes * large.blocks < small.l2_bytes * small.blocks);
  double before = 1e300;
  for (const double wide : {1, 2, 4}) {
    set("vector_a", wide), set("vector_b", wide);
    const double now = estimate(matmul.work(values, device, DType::f32), device).time_ms;
    CHECK(now <= before * (1 + 1e-9));
    before = now;
  }
}

TEST_CASE("the shipped specs rank on both vendors") {
  for (const char* name : {"conv2d", "gemm", "gemm_f16", "gemv", "histogram", "layernorm", "reduce_axis", "reduction",
                           "rmsnorm", "softmax", "spmv", "stencil_2d", "stencil_3d", "transpose"})
    for (const char* arch : {"sm_75", "sm_90", "gfx90a", "gfx942", "gfx1100"}) {
      CAPTURE(name);
      CAPTURE(arch);
      const Spec spec = load_spec(std::string(XTUNE_SOURCE_DIR "/configs/") + name + ".toml");
      REQUIRE(spec.candidates);
      CHECK_FALSE(ranked(spec, model_of(arch), {}).configs.empty());
    }
}
