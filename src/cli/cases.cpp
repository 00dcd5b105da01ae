// Errors of one spec do not end the work on the others.
#include "cli/cases.hpp"

#include <numeric>

#include "base/text.hpp"
#include "core/device/backend_facts.hpp"
#include "core/run/check_spec.hpp"
#include "dispatch/selector.hpp"
#include "report/text/run_report.hpp"
#include "worker/ipc/target.hpp"

namespace xtune::cli {

spec::Spec read_spec(const std::string& path, const CommonOptions& options, const std::string& for_backend) {
  return read_given([&] {
    const spec::SpecOptions given = options.spec_options(for_backend);
    spec::Spec spec = options.direct
                          ? spec::parse_spec(options.direct->text, path, options.direct->place.parent_path(), given)
                          : spec::load_spec(path, given);
    run::check_spec(spec);
    return spec;
  });
}

std::unique_ptr<Replay> open_replay(const std::string& path, const CommonOptions& options,
                                    const std::string& recording) {
  if (!replay_opener)
    throw Error(ErrorKind::unavailable, "this build replays no recordings: it was configured with XTUNE_LAB=OFF");
  return replay_opener(path, options, recording);
}

void add_recording_option(CLI::App& command, std::string& recording) {
  OptionGroup(command, option_group::search)
      .value("--recording", recording, "FILE",
             "Replay a recording instead of measuring: a Kernel Tuner cache, a record file or a store");
}

bool wants_replay(const std::string& path, const CommonOptions& options, const std::string& recording) {
  if (options.backend == "replay") return true;
  if (!recording.empty() && options.backend != "auto")
    throw bad_argument("--recording is what --backend replay serves; backend {} measures", options.backend);
  return !recording.empty() || (options.backend == "auto" && read_spec(path, options, "").replays());
}

worker::TargetOptions for_kernel(const spec::Spec& spec, worker::TargetOptions options) {
  if (spec.for_kokkos() && options.backend == "auto") options.backend = spec.kernel.backend;
  if (spec.for_kokkos() && options.backend != spec.kernel.backend)
    throw bad_argument(
        "--backend {}: the spec's kernel is a Kokkos unit ([kernel] backend = \"kokkos\"), which "
        "only backend kokkos compiles",
        base::printable(options.backend, 80));
  if (!spec.for_kokkos() && options.backend == "kokkos")
    throw bad_argument(
        "--backend kokkos tunes Kokkos units, and the spec does not say that its kernel is one: [kernel] backend = "
        "\"kokkos\" does");
  return options;
}

run::Target target_for(const std::string& path, const CommonOptions& options, worker::TargetNeed need) {
  return target_for(path, options, options.target_options(need));
}

run::Target target_for(const std::string& path, const CommonOptions& options,
                       const worker::TargetOptions& target_options) {
  // An unknown backend is reported before other errors.
  device::backends_for(target_options.backend);
  const spec::Spec spec = read_spec(path, options, "");
  run::Target target = worker::choose_target(spec, for_kernel(spec, target_options));
  if (target.assumed_arch)
    tell("note: no {} device here: taken for {}, its compiler's default (--arch names another)\n", target.backend.name,
         target.arch);
  return target;
}

spec::Spec load_spec_for(const std::string& path, const CommonOptions& options, const run::Target& target) {
  spec::Spec spec = read_spec(path, options, target.backend.name);
  tell_notes(spec);
  return spec;
}

void require_more_than_space(const std::string& path, const spec::Spec& spec, const std::string& work) {
  if (spec.space_only())
    throw Error(ErrorKind::invalid_spec, path + ": the spec describes only a space; there is nothing to " + work);
}

void require_sanitizable(const device::DeviceInfo& device) {
  if (device::is_cpu(device)) return;
  if (device::is_emulated(device))
    throw Error(ErrorKind::unsupported,
                fmt::format("--sanitize: {}: the emulator always reports accesses outside of allocations, reads of LDS "
                            "that was not written, and missing barriers and waits. Leave --sanitize out",
                            device.name));
  throw Error(ErrorKind::unsupported,
              "--sanitize works with --backend host: AddressSanitizer cannot see a GPU's memory");
}

void tell_no_gpu(const run::Target& target, const std::string& work) {
  if (!target.no_gpu.empty()) tell("note: {}: {} on the CPU\n", target.no_gpu, work);
}

void tell_notes(const spec::Spec& spec) {
  for (const std::string& note : spec.notes) tell("{}\n", note);
}

space::Space space_of(const spec::Spec& spec, const Bindings& problem, const run::Target& target) {
  return spec::make_space(spec, problem, device::device_facts(target.device));
}

resolve::CandidateResolver resolver_of(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                                       const run::Target& target, const std::filesystem::path& store, bool sanitize) {
  return {spec, space, problem, target.device, target.arch, target.backend.toolchain, sanitize, store};
}

store::SpecFit fit_of(const spec::Spec& spec, const Bindings& problem, const run::Target& target,
                      const std::filesystem::path& store,
                      std::function<build::Manifest(const std::string& artifact_key)> manifest_of) {
  return {spec, problem, target.device, target.arch, target.backend.toolchain, store, std::move(manifest_of)};
}

Bindings default_of(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device) {
  run::Question asked{spec, problem, device};
  return run::first_answer(asked).config;
}

run::StoredAnswers stored_answers(const spec::Spec& spec, const CommonOptions& options, const run::Target& target,
                                  const store::Bundle* bundle) {
  if (std::error_code ignored; !bundle && !std::filesystem::exists(options.store_path(), ignored))
    tell("note: the store {} does not exist\n", base::printable(options.store_path().string()));
  const store::RowOptions rows = run::StoredAnswers::options_for(spec);
  store::StoreView view =
      bundle ? bundle->view(target.device.arch, spec.kernel.name, rows)
             : store::StoreView::load(options.store_path(), target.device.arch, spec.kernel.name, rows);
  tell_warnings(view.warnings());
  return {spec, target, std::move(view)};
}

SpecList list_specs(const std::vector<std::string>& paths) {
  SpecList list;
  list.several = paths.size() > 1;
  for (const std::string& path : paths) {
    const std::optional<spec::Suite> suite = spec::load_suite(path);
    if (!suite) {
      list.items.push_back({path, std::nullopt, std::nullopt});
      continue;
    }
    list.several = true;
    for (const spec::SuiteEntry& entry : suite->entries)
      list.items.push_back({entry.spec.string(), entry, std::nullopt});
  }
  return list;
}

CommonOptions options_for(const SpecList::Item& item, const CommonOptions& options) {
  CommonOptions own = options;
  own.suite = item.entry ? &*item.entry : nullptr;
  return own;
}

namespace {

/// The message with the spec's name in front, unless it has it already.
std::string with_path(const std::string& path, const std::string& message) {
  const std::string name = base::printable(path);
  const bool named = message.starts_with(path) || message.starts_with("cannot read " + name + ":");
  return named ? message : name + ": " + message;
}

}  // namespace

void read_all(SpecList& list, const CommonOptions& options) {
  if (!list.several) return;
  const Error* first = nullptr;
  for (SpecList::Item& item : list.items) {
    try {
      // This also reads the overlays of all backends, so the backend of the run does not matter.
      read_spec(item.path, options_for(item, options), "");
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) throw;
      item.error = error;
      if (!item.entry && !first) {
        first = &*item.error;
        continue;  // printed where it is caught
      }
      tell("xtune: {}\n", with_path(item.path, error.what()));
    }
  }
  if (first) throw Error(*first);
}

std::vector<std::size_t> in_order(const SpecList& list) {
  std::vector<std::size_t> order(list.items.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

int for_each_spec(const SpecList& list, const std::vector<std::size_t>& order, Answers& answers,
                  const std::function<int(const SpecList::Item&, std::vector<Json>&)>& work,
                  const std::function<bool()>& stopped) {
  int code = done;
  answers.resize(list.items.size());
  for (const std::size_t number : order) {
    if (stopped()) break;
    const SpecList::Item& item = list.items[number];
    std::vector<Json>& own = answers[number];
    if (!list.several) return work(item, own);
    const auto fail = [&](int with, const char* kind, const std::string& message) {
      if (!item.error) tell("xtune: {}\n", with_path(item.path, message));
      own.push_back({{"spec", item.path}, {"error", error_json(kind, message)}});
      code = worse_code(code, with);
    };
    try {
      if (item.error) throw Error(*item.error);
      code = worse_code(code, work(item, own));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) throw;
      fail(exit_code_of(error.kind()), to_string(error.kind()), error.what());
    } catch (const std::exception& error) {
      fail(own_failure, "internal", error.what());
    }
    for (Json& answer : own)
      if (!answer.contains("spec")) {
        Json named{{"spec", item.path}};
        named.update(answer);
        answer = std::move(named);
      }
  }
  return code;
}

void print_answers(const SpecList& list, const Answers& answers, bool csv) {
  std::vector<Json> all;
  for (const std::vector<Json>& each : answers) all.insert(all.end(), each.begin(), each.end());
  if (csv)
    print_csv(report::run_rows(all));
  else
    print_json(list.several || all.size() != 1 ? Json(all) : all[0]);
}

}  // namespace xtune::cli
