// xtune init, check: a first spec for a kernel, from its source; and checks of everything in a spec that needs no
// compiler.

#include "base/text.hpp"
#include "cli/cases.hpp"
#include "cli/direct_spec.hpp"
#include "core/device/backend_facts.hpp"
#include "core/init/draft.hpp"
#include "core/init/signature.hpp"
#include "core/model/rank.hpp"
#include "core/resolve/source_warnings.hpp"
#include "core/run/check_spec.hpp"
#include "core/spec/document.hpp"
#include "core/spec/process_spec.hpp"
#include "core/spec/template_text.hpp"
#include "report/text/run_report.hpp"
#include "worker/ipc/target.hpp"

namespace xtune::cli {

namespace {

namespace fs = std::filesystem;

struct InitOptions {
  std::string source, entry, output, format = "text";
  bool force = false, steps = false, wrap = false;
  ProjectFlags project;
};

/// Why xtune would not read the draft; empty: it does.
std::string objection(const std::string& text, const fs::path& path) {
  try {
    spec::parse_spec(text, path.filename().string(), fs::absolute(path).parent_path());
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

int init(const InitOptions& options) {
  const bool to_stdout = options.output == "-";
  if (to_stdout && options.format == "json")
    throw bad_argument("-o - prints the spec, and --format json prints JSON: choose one of them");
  const fs::path path = options.output.empty() || to_stdout ? fs::path(options.source).replace_extension(".toml")
                                                            : fs::path(options.output);
  if (to_stdout && options.wrap) throw bad_argument("--wrap writes a file beside the draft: give -o a file");
  init::DraftRequest request;
  const fs::path source = options.source;
  if (options.wrap) request.wrapper = source.stem().string() + "_wrapped" + source.extension().string();
  const fs::path wrapper = path.parent_path() / request.wrapper;
  if (!to_stdout)
    require_new_files(options.wrap ? std::vector<fs::path>{path, wrapper} : std::vector<fs::path>{path}, options.force,
                      "-o names another");
  request.entries = split_list(options.entry);
  request.launched_steps = options.steps;
  const init::Draft draft = draft_at(options.source, path, options.project, request);
  const std::string shown = base::printable(path.string());
  const std::string text = fmt::format(
      "# A draft that `xtune init` made from {}. Fill in each \"?\"; look at lines with \"guess\". Then:\n"
      "#   xtune check {}\n#   xtune run {}\n\n{}",
      base::printable(options.source), shown, shown, draft.text);
  if (options.wrap) system::write_output_file(wrapper, draft.wrapper);
  const std::string wrong = objection(text, path);
  if (to_stdout)
    print_exactly("{}", text);
  else
    system::write_output_file(path, text);
  if (!wrong.empty() && draft.blanks.empty())
    tell("warning: the draft needs a change before it can be used: {}\n", wrong);
  const auto shown_lines = [](const std::vector<init::DraftLine>& lines) {
    std::vector<std::string> texts;
    for (const init::DraftLine& line : lines)
      texts.push_back(line.shown() + (line.why.empty() ? "" : "  # " + line.why));
    return texts;
  };
  if (options.format == "json")
    print_json(Json{{"spec", path.string()},
                    {"kernel", draft.kernel},
                    {"entry", draft.entry},
                    {"parameters", draft.parameters},
                    {"guesses", shown_lines(draft.guesses)},
                    {"blanks", shown_lines(draft.blanks)},
                    {"valid", wrong.empty()}});
  else if (!to_stdout)
    print_out("{}: a draft for {} with {}; {} marked \"guess\"\n", path.string(), draft.entry,
              counted(draft.parameters.size(), "parameter"), counted(draft.guesses.size(), "line"));
  if (options.format == "text" && !to_stdout) {
    for (const std::string& blank : shown_lines(draft.blanks)) print_out("  {}\n", blank);
    print_out("  `xtune check {}` checks it, `xtune run {}` tunes it\n", path.string(), path.string());
  }
  return done;
}

}  // namespace

void add_init_command(CLI::App& app, Context& context) {
  const auto [command, options] =
      add_command<InitOptions>(app, context, "init", "Write a first spec for a kernel, from its source",
                               "xtune init row_sum.cu && xtune run row_sum.toml", init);
  add_argument(command, "source", options.source, "FILE", "Source file with a __global__ function");
  const OptionGroup problem(command, option_group::problem);
  problem.value("--entry", options.entry, "NAME",
                "Choose a kernel of the source, or several, which become [[steps]]; default: the only one");
  problem.flag("--steps", options.steps, "Draft the launches in the source's host code as [[steps]], in their order");
  problem.flag("--wrap", options.wrap, "Write a kernel that makes the functor or lambda of a kernel, beside the draft");
  add_project_options(problem, options.project);
  OptionGroup(command, option_group::output)
      .value("-o,--output", options.output, "FILE",
             "Write to this file, or to standard output for -; default: the source's name with .toml");
  add_force_option(command, options.force);
  add_format_option(command, options.format);
}

namespace {

struct CheckedSpace {
  std::string backend;
  Bindings problem;
  std::uint64_t valid = 0;
};

bool asks_for_device(const spec::Spec& spec) {
  return std::any_of(spec.constraints.begin(), spec.constraints.end(), [](const spec::Text& text) {
    const space::Expression expression = spec::parse_expression(text);
    const auto& names = expression.names();
    return std::any_of(names.begin(), names.end(), [](const std::string& n) { return n.starts_with("device."); });
  });
}

std::optional<run::Target> available_target(const spec::Spec& spec, const worker::TargetOptions& options) {
  try {
    return worker::choose_target(spec, for_kernel(spec, options));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    return std::nullopt;
  }
}

/// The device whose facts the constraints use: that of --arch, else one of this machine, else one that a compiler here
/// supports.
std::optional<run::Target> target_of(const spec::Spec& spec, const CommonOptions& options) {
  std::optional<run::Target> target;
  if (options.arch.empty()) target = available_target(spec, options.target_options(worker::TargetNeed::device));
  if (!target) target = available_target(spec, options.target_options(worker::TargetNeed::compiler));
  if (target || options.arch.empty()) return target;
  const auto device = device::known_device(options.arch);
  if (!device) return std::nullopt;
  target.emplace();
  target->device = *device;
  target->backend.name = device->backend;
  return target;
}

constexpr std::uint64_t any_machine_bytes = std::uint64_t{1} << 62;

/// The device for checks of launches and buffers: that of --arch or --backend, else one without those limits that
/// differ between devices, because another one may run the kernel.
device::DeviceInfo device_for_checks(const std::optional<run::Target>& target, bool asked_for) {
  if (asked_for && target) return target->device;
  device::DeviceInfo device = target ? target->device : device::known_device("sm_90").value();
  if (measure::lack_of_tensor_maps(device)) device = device::known_device("sm_90").value();
  device.memory_bytes = any_machine_bytes;
  for (const std::string& arch : device::known_archs())
    device.shared_per_block = std::max(device.shared_per_block, device::known_device(arch)->shared_per_block_optin);
  device.shared_per_block_optin = device.shared_per_block;
  return device;
}

/// The checks of launches and buffers that a run makes before it compiles anything, as notes or errors; those of this
/// machine's memory are notes.
void check_launches(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                    const device::DeviceInfo& device, std::vector<std::string>& notes) {
  const resolve::CandidateResolver resolver(spec, space, problem, device, device.arch, "", false);
  resolver.constants(any_machine_bytes);
  resolver.layouts(any_machine_bytes);
  run::check_reference(spec, resolver, any_machine_bytes);
  try {
    resolver.layouts();
  } catch (const Error& error) {
    base::add_once(notes, fmt::format("note: {}", error.what()));
  }
  if (const auto doubt = run::check_launches(spec, space, resolver)) base::add_once(notes, "note: " + *doubt);
}

bool needs_energy(const spec::Spec& spec) {
  return std::ranges::any_of(spec.objective.goals, [](const spec::ObjectiveSpec::Goal& goal) {
    const space::Expression expression = spec::parse_expression(goal.expression);
    return std::ranges::find(expression.names(), "energy_j") != expression.names().end();
  });
}

/// Constructs every space that can be constructed here; throws the errors that a run would.
std::vector<CheckedSpace> check_spaces(const std::vector<std::pair<std::string, spec::Spec>>& specs,
                                       const CommonOptions& options) {
  std::vector<CheckedSpace> spaces;
  std::optional<run::Target> target;
  const bool device_needed =
      std::any_of(specs.begin(), specs.end(), [](const auto& spec) { return asks_for_device(spec.second); });
  const bool named = !options.arch.empty() || options.backend != "auto";
  if (device_needed || named || needs_energy(specs.front().second)) target = target_of(specs.front().second, options);
  std::vector<std::string> notes;
  try {
    if (target) run::check_objective(specs.front().second, target->device);
  } catch (const Error& error) {
    if (named) throw;
    notes.push_back(fmt::format("note: {}", error.what()));  // another device may run it
  }
  bool any_skipped = false, any_by_device = false, plain_done = false;
  for (const auto& [backend, spec] : specs) {
    Bindings facts;
    if (asks_for_device(spec)) {
      any_skipped = true;
      if (!target || target->backend.name != backend) continue;
      any_by_device = true;
      facts = device::device_facts(target->device);
    } else if (spec.backend.empty()) {
      // Backends without an overlay have the same space.
      if (plain_done) continue;
      plain_done = true;
    }
    for (const Bindings& problem : spec.cases) {
      const space::Space space = spec::make_space(spec, problem, facts);
      // Fields may use device facts too; any GPU is good enough for these checks.
      const auto unranked = model::check_fields(
          spec, space, problem, facts.empty() ? device::device_facts(device::known_device("sm_80").value()) : facts);
      if (unranked)
        base::add_once(notes, fmt::format("note: {}: runs of this problem start without candidates", *unranked));
      if (!spec.space_only() && !spec.replays())
        check_launches(spec, space, problem, device_for_checks(target, named), notes);
      spaces.push_back({backend, problem, space.size()});
    }
  }
  for (const std::string& note : notes) tell("{}\n", note);
  if (any_skipped && !any_by_device)
    tell(
        "note: constraints ask for facts of a device, and there is none here: --arch names one to check them "
        "with\n");
  return spaces;
}

void print_text(const std::string& path, const spec::Spec& spec, const std::vector<CheckedSpace>& spaces) {
  print_out("{}: OK: {} '{}', {}, {}, {}, {}{}\n", path, spec.process ? "program" : "kernel", spec.kernel.name,
            counted(spec.parameters.size(), "parameter"), counted(spec.constraints.size(), "constraint"),
            counted(spec.cases.size(), "case"), counted(spec.args.size(), "argument"),
            spec.replays()      ? " (a replay: nothing to compile)"
            : spec.process      ? (spec.process->serves ? " (a server)" : " (a program)")
            : spec.space_only() ? " (only a space: nothing to compile)"
                                : "");
  if (spec.configs)
    print_out("  {} {} listed as valid\n", counted(spec.configs->size(), "configuration"),
              spec.configs->size() == 1 ? "is" : "are");
  for (const CheckedSpace& space : spaces)
    print_out("  {}{}{}: {}\n", space.backend, space.problem.empty() ? "" : ", ", space::shown_text(space.problem),
              counted(space.valid, "valid configuration"));
}

Json check_json(const spec::Spec& spec, const std::vector<CheckedSpace>& spaces) {
  Json json{{"spec", spec.path.string()}, {"kernel", spec.kernel.name}, {"valid", true}};
  json["parameters"] = spec.parameters.size();
  json["constraints"] = spec.constraints.size();
  if (spec.configs) json["configs"] = spec.configs->size();
  json["cases"] = spec.cases.size();
  json["spaces"] = Json::array();
  for (const CheckedSpace& space : spaces)
    json["spaces"].push_back(
        {{"backend", space.backend}, {"problem", report::bindings_json(space.problem)}, {"valid", space.valid}});
  return json;
}

int check_one(const std::string& path, const CommonOptions& options, std::vector<Json>& answers) {
  // Every backend's overlay must be valid, not only that of the current device.
  std::vector<std::string> backends = device::backends_of(device::SourceKind::cuda_cpp);
  if (options.backend != "auto") backends = {options.backend};
  if (options.backend == "gpu") backends = device::backends_for("gpu");
  std::vector<std::pair<std::string, spec::Spec>> specs;
  const spec::Spec plain = read_spec(path, options, "");
  if (plain.replays() && options.backend == "auto") backends = {"replay"};
  if (plain.process) backends = device::backends_of(device::SourceKind::program);
  if (plain.for_kokkos() && options.backend == "auto") backends = {plain.kernel.backend};
  // Without overlays all of them are the same spec, and a spec that lists a million configurations takes seconds to
  // read.
  const bool overlays = spec::Document(*plain.text, plain.text_name).root().find("on") != nullptr;
  for (const std::string& backend : backends)
    specs.emplace_back(backend, overlays ? read_spec(path, options, backend) : plain);
  for (const auto& [backend, each] : specs)
    if (overlays || &each == &specs.front().second) init::check_signatures(each);
  const std::vector<CheckedSpace> spaces = check_spaces(specs, options);
  const spec::Spec& spec = specs.size() == 1 && options.backend != "auto" ? specs.front().second : plain;
  for (const std::string& warning : resolve::source_warnings(spec)) tell("warning: {}\n", warning);
  if (options.json())
    answers.push_back(check_json(spec, spaces));
  else
    print_text(path, spec, spaces);
  return done;
}

struct CheckOptions : CommonOptions {
  std::vector<std::string> paths;
};

int check(const CheckOptions& options) {
  const SpecList list = list_specs(options.paths);
  Answers answers;
  const auto check_item = [&](const SpecList::Item& item, std::vector<Json>& own) {
    return check_one(item.path, options_for(item, options), own);
  };
  const int code = for_each_spec(list, in_order(list), answers, check_item);
  for (auto& own : answers)
    for (auto& answer : own)
      if (answer.contains("error")) answer["valid"] = false;
  if (options.json()) print_answers(list, answers);
  return code;
}

}  // namespace

void add_check_command(CLI::App& app, Context& context) {
  const auto [command, options] = add_command<CheckOptions>(app, context, "check", "Check specs without compiling",
                                                            "xtune check configs/gemm.toml", check);
  add_specs_argument(command, options.paths);
  add_problem_options(command, options);
  add_backend_option(command, options,
                     "Check with the overlay of this backend; auto checks each of them, gpu those of GPUs");
  add_arch_option(command, options, "Check constraints with the facts of this architecture; default: the device's");
  add_format_option(command, options.format);
}

}  // namespace xtune::cli
