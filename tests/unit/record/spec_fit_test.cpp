// Differences between a stored record's key and today's.
#include <doctest/doctest.h>

#include <algorithm>

#include "core/store/lookup.hpp"
#include "core/store/record_check.hpp"
#include "system/files.hpp"

using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::store;
using namespace xtune::resolve;
using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;

namespace {

DeviceInfo cpu(std::int64_t quota_milli) {
  DeviceInfo device;
  device.backend = "process";
  device.vendor = "cpu";
  device.name = "a CPU";
  device.arch = "x86_64";
  device.compute_units = 4;
  device.cpu_quota_milli = quota_milli;
  return device;
}

struct Job {
  explicit Job(const std::string& more = "")
      : spec(parse_spec("[kernel]\nname = \"p\"\n[space.params]\nA = [1]\n[process]\nrun = \"echo {A}\"\n" + more,
                        "p.toml", folder.path())) {}

  TemporaryDirectory folder;
  Spec spec;
  Space space = make_space(spec, spec.cases[0], {});

  Record record(std::int64_t quota_milli) const {
    const CandidateResolver resolver(spec, space, spec.cases[0], cpu(quota_milli), "x86_64", "cc", false);
    const Config config{std::int64_t{1}};
    Record record;
    record.kernel = "p";
    record.config = space.named(config);
    record.device = cpu(quota_milli);
    record.toolchain = "cc";
    record.artifact_key = resolver.artifact_key(resolver.compile_request(config));
    record.key_parts = resolver.measurement_key_parts(config, record.artifact_key);
    record.key = key_of(record.key_parts);
    return record;
  }
  std::vector<std::string> differences(std::int64_t then, std::int64_t now) const {
    SpecFit fit(spec, spec.cases[0], cpu(now), "x86_64", "cc");
    return fit.differences(record(then));
  }
};

}  // namespace

TEST_CASE("a quota of CPU time is part of the key of what runs on a CPU, and named where it differs") {
  const Job job;
  CHECK(job.differences(0, 0).empty());
  CHECK(job.differences(200, 200).empty());
  CHECK(job.differences(200, 0) == std::vector<std::string>{"cpu_quota: 0.2 -> (none)"});
  CHECK(job.differences(0, 1500) == std::vector<std::string>{"cpu_quota: (none) -> 1.5"});
  CHECK(part_names(job.differences(200, 0)) == "cpu_quota");
}

TEST_CASE("of the protocol, only how caches were found counts") {
  const Job careful("[measure]\nrep = 5\nmin_rep = 5\n"), quick("[measure]\nrep = 3\nmin_rep = 3\n");
  SpecFit fit(careful.spec, careful.spec.cases[0], cpu(0), "x86_64", "cc");
  Record record = quick.record(0);
  CHECK(fit.differences(record).empty());
  for (auto& [name, text] : record.key_parts)
    if (name == "protocol") text.replace(text.find("flush none"), 10, "flush l2");
  CHECK(fit.differences(record) == std::vector<std::string>{"flush: l2 -> none"});
}

TEST_CASE("a record with a key of an earlier version does not answer, and says why") {
  const Job job;
  Record record = job.record(0);
  std::erase_if(record.key_parts, [](const auto& part) { return part.first == "schema"; });
  record.key = key_of(record.key_parts);
  SpecFit fit(job.spec, job.spec.cases[0], cpu(0), "x86_64", "cc");
  CHECK(fit.differences(record) == std::vector<std::string>{"schema: (none) -> 2"});
  CHECK(key_fit(fit.differences(record)) == KeyFit::differs);
}

TEST_CASE("keys without a quota are as they were, and those of other devices have none") {
  const Job job;
  for (const auto& [name, value] : job.record(0).key_parts) CHECK(name != "cpu_quota");
  DeviceInfo gpu = cpu(200);
  gpu.vendor = "nvidia";
  CHECK(cpu_quota_part(gpu).empty());
  Record record = job.record(200);
  CHECK(key_damage(record).empty());
  record.device.cpu_quota_milli = 300;
  CHECK(key_damage(record) == "its CPU quota is not the one in its key_parts");
}
