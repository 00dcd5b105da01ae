// SPDX-License-Identifier: Apache-2.0
// Settings come as dicts with the names of the C++ structs' members; runs release the GIL.
#include "module.hpp"
#include "results.hpp"
#include "xtune/remote.hpp"
#include "xtune/version.hpp"

namespace xtune::python {
namespace {

using Path = std::filesystem::path;
using Text = std::string;

template <class Body>
auto without_gil(const Body& body) {
  forget_cause();
  const WithoutGil released;
  return body();
}

/// For messages on threads of the library, where an exception reaches no caller: it is reported as unraisable.
std::function<void(const Text&)> message_listener(const Object& function) {
  if (!function || function.is_none()) return {};
  return [call = Callback<void(const Text&)>::of(function)](const Text& line) {
    if (!Py_IsInitialized()) return;
    const WithGil gil;
    try {
      call(line);
    } catch (const Raised& raised) {
      raised.restore();
      PyErr_WriteUnraisable(object_of("xtune: on_message").get());
    }
  };
}

/// The workers of an executor (xtune._remote), by an object of Python.
class PythonDevices final : public RemoteDevices {
 public:
  PythonDevices(const Object& object, std::size_t parallel) : object_(object), parallel_(parallel) {}
  Text target() override {
    return with_gil([&] { return value_of<Text>(object_.get().attribute("target")().get()); });
  }
  std::size_t parallel() const override { return parallel_; }
  void send(const Batch& batch) override {
    with_gil([&] { object_.get().attribute("send")(batch.id, batch.problem, batch.configs, batch.finals); });
  }
  std::vector<Answer> answers() override {
    return with_gil([&] {
      using Given = std::tuple<std::uint64_t, std::vector<std::size_t>, Text, Path, Object>;
      std::vector<Answer> answers;
      for (auto& [batch, configs, records, artifacts, lost] :
           value_of<std::vector<Given>>(object_.get().attribute("answers")().get()))
        answers.push_back({batch, std::move(configs), std::move(records), artifacts, escaped(lost.get())});
      return answers;
    });
  }
  void cancel_all() override {
    with_gil([&] { object_.get().attribute("cancel_all")(); });
  }

 private:
  Shared object_;
  const std::size_t parallel_;
};

/// Reads the settings of tune(), but for `stop`.
TuneSettings tune_settings(Settings& given) {
  TuneSettings settings;
  bool in_process = false;
  Object configs_of, on_progress, on_measurement, on_log;
  std::optional<std::pair<Object, std::size_t>> remote;
  given.take("backend", settings.backend, "compiler", settings.compiler, "devices", settings.devices, "problem",
             settings.problem, "store", settings.store, "keep", settings.keep, "jobs", settings.jobs, "evals",
             settings.evals, "seconds", settings.seconds, "seed", settings.seed, "strategy", settings.strategy,
             "effort", settings.effort, "fresh", settings.fresh, "retry_failed", settings.retry_failed, "transfer",
             settings.transfer, "configs", settings.configs, "compare", settings.compare, "max_copy_bytes",
             settings.max_copy_bytes, "in_process", in_process, "configs_of", configs_of, "on_progress", on_progress,
             "on_measurement", on_measurement, "on_log", on_log, "remote", remote);
  settings.isolation = in_process ? Isolation::in_process : Isolation::process;
  settings.configs_of = Callback<std::vector<Bindings>(const Bindings&)>::of(configs_of);
  settings.on_progress = Callback<void(const TuneProgress&)>::of(on_progress);
  settings.on_measurement = Callback<void(const Measurement&, const Text&)>::of(on_measurement);
  settings.on_log = Callback<void(const Text&)>::of(on_log);
  if (remote) settings.remote = std::make_shared<PythonDevices>(remote->first, remote->second);
  return settings;
}

CompileSettings compile_settings(Settings& given) {
  CompileSettings settings;
  given.take("backend", settings.backend, "compiler", settings.compiler, "arch", settings.arch, "problem",
             settings.problem, "store", settings.store, "jobs", settings.jobs);
  return settings;
}

/// Settings of a run, and the stop that Python asks for.
template <auto read_settings>
struct Run {
  std::stop_source source;
  Object stop;  ///< its method is_set() is asked
  decltype(read_settings(std::declval<Settings&>())) settings;

  explicit Run(const Object& dict) {
    Settings given(dict);
    settings = read_settings(given);
    given.take("stop", stop);
    given.require_all();
    settings.stop = source.get_token();
    settings.poll = [this] {
      with_gil([this] {
        if (PyErr_CheckSignals() != 0) throw ErrorSet();
        look_at_stop();
      });
    };
    look_at_stop();
  }
  void look_at_stop() {
    if (stop && !stop.is_none() && is_true(stop.attribute("is_set")().get())) source.request_stop();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
};
using TuneRun = Run<tune_settings>;
using CompileRun = Run<compile_settings>;

LoadSettings load_settings(const Object& dict) {
  LoadSettings settings;
  Text policy;
  Object tuning, on_message;
  std::optional<std::pair<Object, Object>> allocator;
  Settings given(dict);
  given.take("backend", settings.backend, "compiler", settings.compiler, "store", settings.store, "bundle",
             settings.bundle, "frozen", settings.frozen, "coverage", settings.coverage, "checked", settings.checked,
             "compile", settings.compile, "other_architectures", settings.other_architectures, "arch", settings.arch,
             "default_config", settings.default_config, "defines", settings.defines, "policy", policy, "tuning", tuning,
             "allocator", allocator, "on_message", on_message);
  given.require_all();
  settings.policy = policy == "tune_once"            ? Policy::tune_once
                    : policy == "tune_in_background" ? Policy::tune_in_background
                                                     : Policy::lookup;
  // Without a stop: a call on any thread may tune, long after this one.
  Settings of_tuning(tuning);
  settings.tuning = tune_settings(of_tuning);
  settings.tuning.poll = check_signals_in_call;
  if (allocator) {
    settings.allocator.allocate = Callback<void*(std::size_t, void*)>::of(allocator->first);
    settings.allocator.release = Callback<void(void*, std::size_t, void*)>::of(allocator->second);
  }
  settings.on_message = message_listener(on_message);
  return settings;
}

LookupSettings lookup_settings(const Object& dict) {
  LookupSettings settings;
  Object on_message;
  Settings given(dict);
  given.take("arch", settings.arch, "backend", settings.backend, "store", settings.store, "bundle", settings.bundle,
             "frozen", settings.frozen, "other_architectures", settings.other_architectures, "on_message", on_message);
  given.require_all();
  settings.on_message = message_listener(on_message);
  return settings;
}

CandidateSettings candidate_settings(const Object& dict) {
  CandidateSettings settings;
  Settings given(dict);
  given.take("arch", settings.arch, "backend", settings.backend, "problem", settings.problem, "count", settings.count);
  given.require_all();
  return settings;
}

PyMethodDef tuning_functions[] = {
    function("tune",
             [](const Tunable& tunable, const Object& settings) {
               TuneRun run(settings);
               return without_gil([&] { return tune(tunable, run.settings); });
             }),
    function("tune_cases",
             [](const Tunable& tunable, const Object& settings) {
               TuneRun run(settings);
               return without_gil([&] { return tune_cases(tunable, run.settings); });
             }),
    function("compile_all",
             [](const Tunable& tunable, const std::vector<Bindings>& configs, const Object& settings) {
               CompileRun run(settings);
               return without_gil([&] { return compile_all(tunable, configs, run.settings); });
             }),
    function("all_configs",
             [](const Tunable& tunable, const Object& settings, std::uint64_t most) {
               CompileRun run(settings);
               return without_gil([&] { return all_configs(tunable, run.settings, most); });
             }),
    function("describe_target",
             [](const Tunable& tunable, const Object& settings) {
               TuneRun run(settings);
               const DescribedTarget target = without_gil([&] { return describe_target(tunable, run.settings); });
               return tuple_of(target.kind, target.text);
             }),
    function("pack_spec",
             [](const Path& path) {
               const PackedSpec packed = without_gil([&] { return pack_spec(path); });
               std::map<Text, Object> files;
               for (const auto& [name, contents] : packed.files)
                 files[name] =
                     Object::made(PyBytes_FromStringAndSize(contents.data(), static_cast<Py_ssize_t>(contents.size())));
               return tuple_of(packed.spec, files);
             }),
    function("load",
             [](const Tunable& tunable, const Object& dict) {
               const LoadSettings settings = load_settings(dict);
               return without_gil([&] { return load(tunable, settings); });
             }),
    function("load_bundle",
             [](const Path& bundle, const Text& kernel, const Object& dict) {
               const LoadSettings settings = load_settings(dict);
               return without_gil([&] { return load_bundle(bundle, kernel, settings); });
             }),
    function("best",
             [](const Tunable& tunable, const Bindings& problem, const Object& dict) {
               const LookupSettings settings = lookup_settings(dict);
               return without_gil([&] { return best(tunable, problem, settings); });
             }),
    function("candidates",
             [](const Tunable& tunable, const Object& dict) {
               const CandidateSettings settings = candidate_settings(dict);
               return without_gil([&] { return candidates(tunable, settings); });
             }),
    function("devices", [](const Text& backend) { return without_gil([&] { return devices(backend); }); }),
    function("backends", [] { return without_gil([] { return backends(); }); }),
    function("strategies", [] { return strategies(); }),
    function("version", [] { return Text(library_version()); }),
    function("dtype_bytes", [](DType dtype) { return size_of(dtype); }),
    {}};

}  // namespace

void define_tuning(PyObject* module) { define(module, tuning_functions); }

}  // namespace xtune::python
