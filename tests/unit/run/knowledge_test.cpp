// Which stored records guide a search, and that the same ones do when the run is repeated.
#include <doctest/doctest.h>

#include "core/run/search_path.hpp"
#include "core/spec/spec.hpp"
#include "core/store/record_log.hpp"
#include "core/store/store_view.hpp"
#include "system/files.hpp"
#include "unit/record/example_record.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;
using namespace xtune::device;
using namespace xtune::store;
using namespace xtune::run;
using namespace xtune::search;
using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;

namespace {

struct Study {
  TemporaryDirectory folder;
  Spec spec = parse_spec(
      "[kernel]\nname = \"gemm\"\n[problem]\nM = 64\nN = 64\n[space.params]\nBLOCK = { min = 1, max = 40 }\n",
      "gemm.toml", ".");
  Bindings problem = spec.cases.front();
  Space space = make_space(spec, problem, {});
  Target target;
  int writers = 0;

  Study() { target.device = example_device(); }

  /// Records of all blocks on this device and problem, from that time on.
  void store(const DeviceInfo& device, const Bindings& sizes, std::int64_t unix_time_ms) {
    RecordWriter writer(folder.path(), device.arch, "gemm", "a" + std::to_string(++writers));
    for (std::int64_t block = 1; block <= 40; ++block) {
      Record record = example_record(block, static_cast<double>(block));
      record.key += std::to_string(writers);
      record.device = device;
      record.problem = sizes;
      record.unix_time_ms = unix_time_ms + block;
      writer.append(record);
    }
  }
  std::vector<Source> sources() const {
    Knowledge knowledge;
    GrowingRecords here(folder.path(), target.device.arch, "gemm");
    here.refresh();
    add_sources(knowledge, spec, space, problem, target, here, folder.path());
    CHECK(knowledge.notes.size() == knowledge.sources.size());
    return knowledge.sources;
  }
};

DeviceInfo other_device(const std::string& arch, const std::string& name) {
  DeviceInfo device = example_device();
  device.arch = arch;
  device.name = name;
  return device;
}

}  // namespace

TEST_CASE("records of other devices and problems guide, a device of this architecture before others") {
  Study study;
  CHECK(study.sources().empty());
  study.store(other_device("gfx90a", "MI250X"), study.problem, 1000);
  study.store(other_device("sm_90", "H100"), study.problem, 2000);
  study.store(example_device(), {{"M", std::int64_t{128}}, {"N", std::int64_t{64}}}, 3000);
  const auto sources = study.sources();
  REQUIRE(sources.size() == 3);
  CHECK(sources[0].name == "NVIDIA H200 (sm_90), M=128, N=64");
  CHECK(sources[1].name == "H100 (sm_90), M=64, N=64");
  CHECK(sources[2].name == "MI250X (gfx90a), M=64, N=64");
  for (const Source& source : sources) {
    REQUIRE(source.observations.size() == 40);
    for (const Observation& observation : source.observations) {
      CHECK(observation.outcome == Outcome::ok);
      CHECK(study.space.at(observation.index) == Config{static_cast<std::int64_t>(observation.time_ms)});
    }
  }
}

TEST_CASE("what came after the first own record does not guide: a repeated run goes the same way") {
  Study study;
  study.store(other_device("sm_90", "H100"), study.problem, 1000);
  study.store(example_device(), study.problem, 2000);
  study.store(other_device("sm_80", "A100"), study.problem, 3000);
  const auto sources = study.sources();
  REQUIRE(sources.size() == 1);
  CHECK(sources[0].name == "H100 (sm_90), M=64, N=64");
}

TEST_CASE(
    "records of this problem and device with another driver guide before all others, until this one is measured") {
  Study study;
  DeviceInfo before = example_device();
  before.driver = "12.4 (550.54)";
  study.store(example_device(), {{"M", std::int64_t{128}}, {"N", std::int64_t{64}}}, 1000);
  study.store(before, study.problem, 2000);
  auto sources = study.sources();
  REQUIRE(sources.size() == 2);
  CHECK(sources[0].name == "NVIDIA H200 (sm_90), M=64, N=64, driver 12.4 (550.54)");
  CHECK(sources[0].observations.size() == 40);
  study.store(example_device(), study.problem, 3000);
  study.store(before, study.problem, 4000);
  CHECK(study.sources().size() == 2);
  // The node with the other driver was not guided by what came after its own first measurement.
  study.target.device = before;
  sources = study.sources();
  REQUIRE(sources.size() == 1);
  CHECK(sources[0].name == "NVIDIA H200 (sm_90), M=128, N=64, driver 13.0 (580.65)");
}

TEST_CASE("what another backend measured on this device guides a run that measures, and never its replay") {
  Study study;
  DeviceInfo hip = example_device();
  hip.backend = "hip";
  study.store(hip, study.problem, 1000);
  DeviceInfo imported = hip;
  imported.backend = "kernel-tuner";
  imported.arch = "unknown";
  imported.compute_units = 0;
  study.store(imported, study.problem, 1000);
  study.store(other_device("sm_80", "A100"), study.problem, 1000);
  CHECK(study.sources().size() == 3);
  study.target.device.backend = "replay";
  const auto sources = study.sources();
  REQUIRE(sources.size() == 1);
  CHECK(sources[0].name == "A100 (sm_80), M=64, N=64");
  study.problem = {{"M", std::int64_t{128}}, {"N", std::int64_t{64}}};
  CHECK(study.sources().size() == 3);
}

TEST_CASE("a CPU's records do not guide a GPU, nor the other way") {
  Study study;
  DeviceInfo cpu = other_device("x86_64_v3", "EPYC");
  cpu.vendor = "cpu";
  cpu.backend = "host";
  study.store(cpu, study.problem, 1000);
  CHECK(study.sources().empty());
  study.store(other_device("sm_90", "H100"), study.problem, 1000);
  CHECK(study.sources().size() == 1);
  study.target.device = cpu;
  study.problem = {{"M", std::int64_t{1}}, {"N", std::int64_t{1}}};
  const auto sources = study.sources();
  REQUIRE(sources.size() == 1);
  CHECK(sources[0].name == "EPYC (x86_64_v3), M=64, N=64");
}

TEST_CASE("simulated times of an emulated GPU do not guide a real one; the other way they do") {
  Study study;
  study.target.device = other_device("gfx942", "AMD Instinct MI300X");
  study.store(other_device(emulated_arch("gfx942"), emulated_name("gfx942")), study.problem, 1000);
  CHECK(study.sources().empty());
  study.store(study.target.device, study.problem, 2000);
  study.target.device = other_device(emulated_arch("gfx90a"), emulated_name("gfx90a"));
  CHECK(study.sources().size() == 2);
}

TEST_CASE("candidates come from the model for a GPU that is known, and are said to be missing for one that is not") {
  Study study;
  study.spec = parse_spec(
      "[kernel]\nname = \"gemm\"\n[problem]\nM = 4096\nN = 4096\nK = 4096\n[space.params]\nBLOCK_M = [16, 64, 128]\n"
      "BLOCK_N = [16, 64, 128]\n[candidates]\ntemplate = \"matmul\"\ndtype = \"f16\"\ntop_k = 3\n[candidates.map]\n"
      "block_m = \"BLOCK_M\"\nblock_n = \"BLOCK_N\"\n",
      "gemm.toml", ".");
  study.problem = study.spec.cases.front();
  study.space = make_space(study.spec, study.problem, {});
  Knowledge knowledge = candidates_of(study.spec, study.space, study.problem, study.target);
  CHECK(knowledge.first.size() == 3);
  REQUIRE(knowledge.notes.size() == 1);
  CHECK(knowledge.notes[0].find("3 candidates of the matmul model") != std::string::npos);
  study.target.device = other_device("sm_1", "Tesla");
  knowledge = candidates_of(study.spec, study.space, study.problem, study.target);
  CHECK(knowledge.first.empty());
  REQUIRE(knowledge.notes.size() == 1);
  CHECK(knowledge.notes[0].find("without candidates") != std::string::npos);
  // As in a replay of a recording that has only a name.
  study.target.device = DeviceInfo{};
  study.target.device.name = "NVIDIA A100-PCIE-40GB";
  study.target.device.arch = "unknown";
  CHECK(candidates_of(study.spec, study.space, study.problem, study.target).first.size() == 3);
  study.target.device.vendor = "cpu";
  CHECK(candidates_of(study.spec, study.space, study.problem, study.target).notes.empty());
}
