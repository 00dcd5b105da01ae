// Writes the records that a spec's whole space would leave in a store, for all of its cases: what large_store.py times.
//
//   bench_records SPEC STORE
//
// STORE must have at least one record of that spec, as after `xtune run SPEC --evals 1`: device, compiler and
// everything that is not random here are taken from there. Keys are those of the spec, so that the records answer for
// it.
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "core/resolve/resolve.hpp"
#include "core/spec/spec.hpp"
#include "core/store/record_check.hpp"
#include "core/store/record_log.hpp"
#include "xtune/error.hpp"

using namespace xtune::base;
using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::measure;
using namespace xtune::store;
using namespace xtune::resolve;
using namespace xtune::space;
using namespace xtune::spec;

namespace {

using namespace xtune;

Record template_of(const std::filesystem::path& store, const std::string& kernel) {
  for (const auto& arch : std::filesystem::directory_iterator(store / "records"))
    for (Record& record : read_records(store, arch.path().filename().string(), kernel).records)
      if (record.outcome == Outcome::ok) return std::move(record);
  throw Error(ErrorKind::invalid_argument, store.string() + ": it has no ok record of " + kernel);
}

void draw_times(Record& record, Random& random) {
  record.samples_ms.clear();
  const double time_ms = 0.5 + 4 * random.uniform();
  for (int i = 0; i < 20; ++i) record.samples_ms.push_back(kept_time_ms(time_ms * (1 + 0.02 * random.uniform())));
  record.time_ms = summarize(record.samples_ms);
}

std::uint64_t write_case(const Spec& spec, const Bindings& problem, Record record, Random& random, std::ostream& out) {
  const Space space = make_space(spec, problem, device_facts(record.device));
  const CandidateResolver resolver(spec, space, problem, record.device, record.device.arch, record.toolchain, false);
  record.problem = problem;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    const Config config = space.at(i);
    record.config = space.named(config);
    record.artifact_key = resolver.artifact_key(resolver.compile_request(config));
    record.artifact_sha256 = sha256(record.artifact_key);
    record.key_parts = resolver.measurement_key_parts(config, record.artifact_key);
    record.key = key_of(record.key_parts);
    ++record.unix_time_ms;
    draw_times(record, random);
    out << with_checksum(to_json(record).dump()) << '\n';
  }
  return space.size();
}

int write(const std::filesystem::path& spec_path, const std::filesystem::path& store) {
  const Spec spec = load_spec(spec_path);
  Record record = template_of(store, spec.kernel.name);
  record.tainted.clear();  // a run would measure tainted ones again
  const std::filesystem::path folder =
      store / "records" / path_component(record.device.arch) / path_component(spec.kernel.name);
  std::ofstream out(folder / "generated.jsonl", std::ios::binary);
  out << with_checksum(R"({"xtune_records":1})") << '\n';
  Random random(1);
  std::uint64_t records = 0;
  for (const Bindings& problem : spec.cases) records += write_case(spec, problem, record, random, out);
  std::printf("%llu records, %.2f GB\n", static_cast<unsigned long long>(records),
              static_cast<double>(out.tellp()) / 1e9);
  return out.flush() ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return std::fputs("bench_records SPEC STORE\n", stderr), 2;
  try {
    return write(arguments[1], arguments[2]);
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
