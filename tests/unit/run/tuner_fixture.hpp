// A run of the tuner over fake services: a small spec, a temporary store, and what came out.
#pragma once

#include <atomic>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/run/tuner.hpp"
#include "core/store/best.hpp"
#include "fakes/fake_clock.hpp"
#include "fakes/fake_services.hpp"
#include "system/files.hpp"

namespace xtune::fakes {

struct RecordingObserver final : run::TuneObserver {
  std::vector<store::Record> records;
  std::vector<std::string> logs, warnings, notes;
  std::uint64_t from_store = 0;
  run::Progress last;
  std::function<void(const store::Record&)> also;
  void on_record(const store::Record& record, const std::string& log, bool stored) override {
    records.push_back(record);
    logs.push_back(log);
    from_store += stored;
    if (also) also(record);
  }
  void on_progress(const run::Progress& progress) override { last = progress; }
  void on_warning(const std::string& text) override { warnings.push_back(text); }
  void on_note(const std::string& text) override { notes.push_back(text); }
};

struct Tuning {
  system::TemporaryDirectory folder;
  system::EventLoop loop;
  Journal journal;
  FakeCompileService compiler{loop, journal};
  FakeBenchService bench{loop, journal};
  std::vector<std::unique_ptr<FakeBenchService>> further;  ///< of target.further
  FakeClock clock;
  RecordingObserver observer;
  std::atomic<bool> stop{false};
  RemoteDevices* remote = nullptr;  ///< measures in the place of compiler and bench
  run::Target target;
  run::TuneOptions options;
  std::string parameters = "A = [1, 2, 3]\nB = { values = [10, 20], compile_time = false }\n";
  std::string shared = "0";
  std::string rest;    ///< further tables of the spec
  std::string kernel;  ///< further lines of [kernel]
  int finals = 0;      ///< as [measure] finals; off unless a test is about them
  std::string reference = "reference = { builtin = \"transpose\", x = \"x\" }";

  Tuning() {
    std::ofstream(folder.path() / "k.cu") << "extern \"C\" __global__ void k(const float*, float*, int) {}\n";
    options.store = folder.path() / "store";
    options.scratch = folder.path() / "scratch";
    options.attempt = "first";
    target.backend.name = "cuda";
    target.backend.toolchain = "fake compiler 1";
    target.device = *device::known_device("sm_90");
    target.device.backend = "cuda";
    target.device.name = "Fake";
    target.arch = "sm_90";
  }

  std::string spec_text() const {
    return "[kernel]\nname = \"k\"\nsource = \"k.cu\"\nentry = \"k\"\n" + kernel +
           "[problem]\nN = 8\n[space.params]\n" + parameters +
           "[launch]\ngrid = [\"N\"]\nblock = [\"A * 32\"]\nshared = \"" + shared +
           "\"\n"
           "[[args]]\nname = \"x\"\ndtype = \"f32\"\nshape = [\"N\", \"N\"]\n"
           "[[args]]\nname = \"y\"\ndtype = \"f32\"\nshape = [\"N\", \"N\"]\nrole = \"out\"\n"
           "[[args]]\nname = \"b\"\nkind = \"scalar\"\ndtype = \"i32\"\nvalue = \"" +
           (parameters.find("B =") == std::string::npos ? "1" : "B") + "\"\n[validate]\n" + reference + "\n" + rest;
  }

  /// One more device, with its own bench.
  FakeBenchService& add_device() {
    device::DeviceInfo device = target.device;
    device.index = static_cast<int>(further.size()) + 1;
    device.uuid = "GPU-" + std::to_string(device.index);
    target.further.push_back(device);
    further.push_back(std::make_unique<FakeBenchService>(loop, journal));
    return *further.back();
  }
  std::vector<run::BenchService*> benches() {
    std::vector<run::BenchService*> all{&bench};
    for (const auto& each : further) all.push_back(each.get());
    return all;
  }

  run::TuneResult run() {
    journal.clear();
    const auto also = observer.also;
    observer = RecordingObserver();
    observer.also = also;
    compiler.jobs.clear();
    bench.jobs.clear();
    bench.rounds.clear();
    bench.problems.clear();
    for (const auto& each : further) each->jobs.clear();
    spec = spec::parse_spec(spec_text(), "t.toml", folder.path());
    spec.measure.finals = finals;
    run::TuneServices services{loop, compiler, benches(), clock, stop, remote};
    if (remote) services.benches.clear();
    return run::tune(spec, spec.cases.front(), target, options, services, observer);
  }

  static std::int64_t value(const Bindings& config, const std::string& name) {
    return std::get<std::int64_t>(config.at(name));
  }
  /// The value of A in the compile job.
  static std::string define(const run::CompileJob& job, const std::string& name) {
    for (const auto& [key, text] : job.request.defines)
      if (key == name) return text;
    return {};
  }
  std::map<std::int64_t, Outcome> outcome_by_a(const run::TuneResult& result) const {
    std::map<std::int64_t, Outcome> outcomes;
    for (const store::Record& record : result.records) outcomes[value(record.config, "A")] = record.outcome;
    return outcomes;
  }

  spec::Spec spec;
};

inline const std::string only_a = "A = [1, 2, 3, 4]\n";

inline run::CompileAnswer compiled(const run::CompileJob& job) {
  run::CompileAnswer answer;
  answer.artifact.key = job.key;
  return answer;
}

inline run::BenchAnswer measured(double time_ms) {
  run::BenchAnswer answer;
  answer.samples_ms = {time_ms, time_ms, time_ms};
  return answer;
}

inline std::int64_t best_a(const run::TuneResult& result) {
  return Tuning::value(store::best_of(result.all()).value().record->config, "A");
}

/// Threads in a block of the job's only kernel.
inline std::uint32_t threads_of(const run::BenchJob& job) { return job.launch.steps.at(0).launch.block[0]; }

/// The value of A that a job measures: A = 1 is launched with 32 threads.
inline int a_of(const run::BenchJob& job) { return static_cast<int>(threads_of(job) / 32); }

}  // namespace xtune::fakes
