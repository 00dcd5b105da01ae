// SPDX-License-Identifier: Apache-2.0
// Settings are classes with the members of the C++ structs; runs release the GIL.
#include "tuning.hpp"

#include "convert.hpp"
#include "ending.hpp"
#include "errors.hpp"
#include "kernel.hpp"
#include "results.hpp"
#include "xtune/kernel.hpp"
#include "xtune/lookup.hpp"
#include "xtune/remote.hpp"
#include "xtune/tune.hpp"
#include "xtune/version.hpp"

namespace xtune::python {
namespace {

/// Settings of a run, and the stop that Python asks for.
template <class Settings>
struct Run {
  Settings settings;
  std::stop_source source;
  std::optional<Shared> stop;  ///< its method is_set() is asked

  Run() {
    settings.stop = source.get_token();
    settings.poll = [this] {
      with_gil([this] {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        look_at_stop();
      });
    };
  }
  void set_stop(py::object object) {
    if (object.is_none()) return;
    stop.emplace(std::move(object));
    look_at_stop();
  }
  void look_at_stop() {
    if (stop && is_true(stop->get().attr("is_set")())) source.request_stop();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
};
using TuneRun = Run<TuneSettings>;
using CompileRun = Run<CompileSettings>;

template <class Body>
auto without_gil(const Body& body) {
  forget_cause();
  const py::gil_scoped_release released;
  return body();
}

std::function<void(const std::string&)> line_listener(py::object function) {
  if (function.is_none()) return {};
  return [function = Shared(std::move(function))](const std::string& line) {
    with_gil([&] { function.get()(escaped(line)); });
  };
}

/// For messages on threads of the library, where an exception reaches no caller: it is reported as unraisable.
std::function<void(const std::string&)> message_listener(py::object function) {
  if (function.is_none()) return {};
  return [function = Shared(std::move(function))](const std::string& line) {
    if (!Py_IsInitialized()) return;
    const py::gil_scoped_acquire gil;
    try {
      function.get()(escaped(line));
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("xtune: on_message");
    }
  };
}

template <class Settings, class Member>
auto member(Member Settings::*which) {
  return std::pair{[which](const Run<Settings>& run) { return run.settings.*which; },
                   [which](Run<Settings>& run, Member value) { run.settings.*which = std::move(value); }};
}

template <class Settings, class Type, class Member>
void add_member(Type& type, const char* name, Member Settings::*which) {
  const auto [get, set] = member<Settings>(which);
  type.def_property(name, get, set);
}

/// The workers of an executor (xtune._remote), by an object of Python.
class PythonDevices final : public RemoteDevices {
 public:
  PythonDevices(py::object object, std::size_t parallel) : object_(std::move(object)), parallel_(parallel) {}
  std::string target() override {
    return with_gil([&] { return object_.get().attr("target")().cast<std::string>(); });
  }
  std::size_t parallel() const override { return parallel_; }
  void send(const Batch& batch) override {
    with_gil([&] { object_.get().attr("send")(batch.id, batch.problem, batch.configs, batch.finals); });
  }
  std::vector<Answer> answers() override {
    return with_gil([&] {
      std::vector<Answer> answers;
      for (const py::handle each : object_.get().attr("answers")()) {
        const auto [batch, configs, records, artifacts, lost] =
            each.cast<std::tuple<std::uint64_t, std::vector<std::size_t>, py::bytes, std::filesystem::path, py::str>>();
        answers.push_back({batch, configs, records, artifacts, escaped(lost)});
      }
      return answers;
    });
  }
  void cancel_all() override {
    with_gil([&] { object_.get().attr("cancel_all")(); });
  }

 private:
  Shared object_;
  const std::size_t parallel_;
};

void define_tune_settings(py::module_& module) {
  using Of = TuneSettings;
  py::class_<TuneRun> type(module, "TuneSettings");
  type.def(py::init<>());
  add_member<Of>(type, "backend", &Of::backend);
  add_member<Of>(type, "compiler", &Of::compiler);
  add_member<Of>(type, "devices", &Of::devices);
  add_member<Of>(type, "problem", &Of::problem);
  add_member<Of>(type, "store", &Of::store);
  add_member<Of>(type, "keep", &Of::keep);
  add_member<Of>(type, "jobs", &Of::jobs);
  add_member<Of>(type, "evals", &Of::evals);
  add_member<Of>(type, "seconds", &Of::seconds);
  add_member<Of>(type, "seed", &Of::seed);
  add_member<Of>(type, "strategy", &Of::strategy);
  add_member<Of>(type, "fresh", &Of::fresh);
  add_member<Of>(type, "retry_failed", &Of::retry_failed);
  add_member<Of>(type, "transfer", &Of::transfer);
  add_member<Of>(type, "configs", &Of::configs);
  add_member<Of>(type, "compare", &Of::compare);
  add_member<Of>(type, "max_copy_bytes", &Of::max_copy_bytes);
  type.def("set_in_process", [](TuneRun& run, bool in_process) {
    run.settings.isolation = in_process ? Isolation::in_process : Isolation::process;
  });
  type.def("set_stop", &TuneRun::set_stop);
  type.def("set_remote", [](TuneRun& run, py::object object, std::size_t parallel) {
    run.settings.remote = std::make_shared<PythonDevices>(std::move(object), parallel);
  });
  type.def("set_configs_of", [](TuneRun& run, py::object function) {
    run.settings.configs_of = [function = Shared(std::move(function))](const Bindings& problem) {
      return with_gil([&] { return converted<std::vector<Bindings>>(function.get()(problem), "configs", "dicts"); });
    };
  });
  type.def("set_on_progress", [](TuneRun& run, py::object function) {
    run.settings.on_progress = [function = Shared(std::move(function))](const TuneProgress& progress) {
      with_gil([&] { function.get()(to_python(progress)); });
    };
  });
  type.def("set_on_measurement", [](TuneRun& run, py::object function) {
    run.settings.on_measurement = [function = Shared(std::move(function))](const Measurement& measurement,
                                                                           const std::string& log) {
      with_gil([&] { function.get()(to_python(measurement), escaped(log)); });
    };
  });
  type.def("set_on_log",
           [](TuneRun& run, py::object function) { run.settings.on_log = line_listener(std::move(function)); });
}

void define_compile_settings(py::module_& module) {
  using Of = CompileSettings;
  py::class_<CompileRun> type(module, "CompileSettings");
  type.def(py::init<>());
  add_member<Of>(type, "backend", &Of::backend);
  add_member<Of>(type, "compiler", &Of::compiler);
  add_member<Of>(type, "arch", &Of::arch);
  add_member<Of>(type, "problem", &Of::problem);
  add_member<Of>(type, "store", &Of::store);
  add_member<Of>(type, "jobs", &Of::jobs);
  type.def("set_stop", &CompileRun::set_stop);
}

void define_load_settings(py::module_& module) {
  using Of = LoadSettings;
  py::class_<Of> type(module, "LoadSettings");
  type.def(py::init<>())
      .def_readwrite("backend", &Of::backend)
      .def_readwrite("compiler", &Of::compiler)
      .def_readwrite("store", &Of::store)
      .def_readwrite("bundle", &Of::bundle)
      .def_readwrite("frozen", &Of::frozen)
      .def_readwrite("coverage", &Of::coverage)
      .def_readwrite("checked", &Of::checked)
      .def_readwrite("compile", &Of::compile)
      .def_readwrite("other_architectures", &Of::other_architectures)
      .def_readwrite("arch", &Of::arch)
      .def_readwrite("default_config", &Of::default_config)
      .def_readwrite("defines", &Of::defines)
      .def("set_policy",
           [](Of& settings, const std::string& policy) {
             settings.policy = policy == "tune_once"            ? Policy::tune_once
                               : policy == "tune_in_background" ? Policy::tune_in_background
                                                                : Policy::lookup;
           })
      // Only the plain members: a call on any thread may tune, long after the other ones.
      .def("set_tuning",
           [](Of& settings, const TuneRun& run) {
             settings.tuning = run.settings;
             settings.tuning.poll = check_signals_in_call;
             settings.tuning.stop = {};
           })
      .def("set_allocator",
           [](Of& settings, py::object allocate, py::object release) {
             settings.allocator.allocate = [allocate = Shared(std::move(allocate))](std::size_t bytes, void* stream) {
               return with_gil([&] {
                 const py::object memory = allocate.get()(bytes, reinterpret_cast<std::uintptr_t>(stream));
                 return reinterpret_cast<void*>(memory.is_none() ? 0 : memory.cast<std::uintptr_t>());
               });
             };
             settings.allocator.release = [release = Shared(std::move(release))](void* memory, std::size_t bytes,
                                                                                 void* stream) {
               with_gil([&] {
                 release.get()(reinterpret_cast<std::uintptr_t>(memory), bytes,
                               reinterpret_cast<std::uintptr_t>(stream));
               });
             };
           })
      .def("set_on_message",
           [](Of& settings, py::object function) { settings.on_message = message_listener(std::move(function)); });
}

void define_lookup_settings(py::module_& module) {
  py::class_<LookupSettings>(module, "LookupSettings")
      .def(py::init<>())
      .def_readwrite("arch", &LookupSettings::arch)
      .def_readwrite("backend", &LookupSettings::backend)
      .def_readwrite("store", &LookupSettings::store)
      .def_readwrite("bundle", &LookupSettings::bundle)
      .def_readwrite("frozen", &LookupSettings::frozen)
      .def_readwrite("other_architectures", &LookupSettings::other_architectures)
      .def("set_on_message", [](LookupSettings& settings, py::object function) {
        settings.on_message = message_listener(std::move(function));
      });
  py::class_<CandidateSettings>(module, "CandidateSettings")
      .def(py::init<>())
      .def_readwrite("arch", &CandidateSettings::arch)
      .def_readwrite("backend", &CandidateSettings::backend)
      .def_readwrite("problem", &CandidateSettings::problem)
      .def_readwrite("count", &CandidateSettings::count);
}

void define_runs(py::module_& module) {
  module.def("tune", [](const Tunable& tunable, const TuneRun& run) {
    const ActiveRun active(run.source);
    return to_python(without_gil([&] { return std::make_shared<const Result>(tune(tunable, run.settings)); }));
  });
  module.def("tune_cases", [](const Tunable& tunable, const TuneRun& run) {
    const ActiveRun active(run.source);
    py::list list;
    for (Result& result : without_gil([&] { return tune_cases(tunable, run.settings); }))
      list.append(to_python(std::make_shared<const Result>(std::move(result))));
    return list;
  });
  module.def("compile_all", [](const Tunable& tunable, const std::vector<Bindings>& configs, const CompileRun& run) {
    const ActiveRun active(run.source);
    py::list list;
    for (CompiledConfig& one : without_gil([&] { return compile_all(tunable, configs, run.settings); }))
      list.append(to_python(std::make_shared<const CompiledConfig>(std::move(one))));
    return list;
  });
  module.def("all_configs", [](const Tunable& tunable, const CompileRun& run, std::uint64_t most) {
    return without_gil([&] { return all_configs(tunable, run.settings, most); });
  });
  module.def("describe_target", [](const Tunable& tunable, const TuneRun& run) {
    const DescribedTarget target = without_gil([&] { return describe_target(tunable, run.settings); });
    return py::make_tuple(escaped(target.kind), target.text);
  });
  module.def("pack_spec", [](const std::filesystem::path& path) {
    const PackedSpec packed = without_gil([&] { return pack_spec(path); });
    py::dict files;
    for (const auto& [name, contents] : packed.files) files[py::str(name)] = py::bytes(contents);
    return py::make_tuple(packed.spec, files);
  });
  module.def("load", [](const Tunable& tunable, const LoadSettings& settings) {
    return make_kernel(without_gil([&] { return load(tunable, settings); }));
  });
  module.def("load_bundle",
             [](const std::filesystem::path& bundle, const std::string& kernel, const LoadSettings& settings) {
               return make_kernel(without_gil([&] { return load_bundle(bundle, kernel, settings); }));
             });
}

void define_questions(py::module_& module) {
  module.def("best", [](const Tunable& tunable, const Bindings& problem, const LookupSettings& settings) {
    return to_python(without_gil([&] { return best(tunable, problem, settings); }));
  });
  module.def("candidates", [](const Tunable& tunable, const CandidateSettings& settings) {
    return list_of(without_gil([&] { return candidates(tunable, settings); }));
  });
  module.def("devices",
             [](const std::string& backend) { return list_of(without_gil([&] { return devices(backend); })); });
  module.def("backends", [] { return list_of(without_gil([] { return backends(); })); });
  module.def("strategies", &strategies);
  module.def("version", [] { return library_version(); });
  module.def("dtype_bytes", [](DType dtype) { return size_of(dtype); });
}

}  // namespace

void define_tuning(py::module_& module) {
  define_tune_settings(module);
  define_compile_settings(module);
  define_load_settings(module);
  define_lookup_settings(module);
  define_runs(module);
  define_questions(module);
}

}  // namespace xtune::python
