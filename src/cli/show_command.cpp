// xtune show: one configuration's source, macros, resources and code, and how to profile it.

#include <fmt/ranges.h>

#include <cstdlib>

#include "base/text.hpp"
#include "cli/cases.hpp"
#include "core/build/cache.hpp"
#include "core/build/compiler_places.hpp"
#include "core/build/device_unit.hpp"
#include "core/build/tokens.hpp"
#include "core/device/backend_facts.hpp"
#include "core/model/work.hpp"
#include "core/resolve/unit_source.hpp"
#include "core/run/compile_sweep.hpp"
#include "report/text/run_report.hpp"
#include "system/chosen_store.hpp"
#include "system/dynamic_library.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"
#include "system/subprocess.hpp"
#include "worker/ipc/services.hpp"
#include "worker/ipc/target.hpp"

namespace xtune::cli {

namespace {

namespace fs = std::filesystem;

struct Tool {
  std::string name;
  std::vector<std::string> options;
  std::vector<std::string> folders;  ///< beside those of PATH
};

/// These directories of each installation.
std::vector<std::string> folders_of(const std::vector<std::filesystem::path>& roots,
                                    const std::vector<std::string>& below) {
  std::vector<std::string> folders;
  for (const std::filesystem::path& root : roots)
    for (const std::string& name : below) folders.push_back((root / name).string());
  return folders;
}

std::vector<Tool> tools_for(const build::Artifact& artifact) {
  std::vector<std::string> symbols;
  for (const build::KernelEntry& entry : build::all_entries(artifact)) symbols.push_back(entry.symbol);
  if (artifact.format == "cubin") {
    const std::vector<std::string> folders = folders_of(build::cuda_roots(), {"bin"});
    return {{"nvdisasm", {"--print-code"}, folders}, {"cuobjdump", {"--dump-sass"}, folders}};
  }
  if (artifact.format == "hsaco") {
    const std::string only = fmt::format("--disassemble-symbols={}", fmt::join(symbols, ","));
    return {
        {"llvm-objdump", {"--no-show-raw-insn", only}, folders_of(build::rocm_roots(), {"llvm/bin", "lib/llvm/bin"})}};
  }
  return {{"objdump", {"--no-show-raw-insn", "--demangle", "--disassemble=" + symbols.front()}, {}},
          {"objdump", {"--no-show-raw-insn", "--demangle", "--disassemble", "--section=.text"}, {}}};
}

std::string path_of(const Tool& tool) {
  std::string path = system::find_program(tool.name);
  for (const std::string& folder : tool.folders)
    if (path.empty()) path = system::find_program(folder + "/" + tool.name);
  return path;
}

/// Whether there is an instruction in the text: disassemblers print headers of what they do not find.
bool has_instructions(const std::string& text) {
  return text.find(":\t") != std::string::npos || text.find("/*0") != std::string::npos ||
         text.find(">:\n") != std::string::npos;
}

/// AMD's instructions, by the emulator's library, which opens LLVM. Throws Error where one of them is missing.
std::string listed_by_emulator(const build::Artifact& artifact) {
  auto library = system::DynamicLibrary::open({worker::installed_emulator().string()});
  library.keep_resident();
  bool (*list)(const char* image, std::size_t bytes, const char* arch, const char* kernel,
               void (*take)(void* context, const char* text), void* context) = nullptr;
  library.get("xtune_list_instructions", list);
  std::string text;
  const auto take = [](void* context, const char* part) { *static_cast<std::string*>(context) += part; };
  for (const build::KernelEntry& entry : build::all_entries(artifact))
    if (!list(artifact.image.data(), artifact.image.size(), artifact.arch.c_str(), entry.symbol.c_str(), take, &text))
      throw Error(ErrorKind::unavailable, text);
  return text;
}

/// The kernel's instructions: SASS by nvdisasm or cuobjdump, AMD's by the emulator or llvm-objdump, a CPU's by objdump.
/// image: the artifact's file. Throws Error(unavailable) that says why none of them reads it.
std::string disassemble(const build::Artifact& artifact, const fs::path& image) {
  std::vector<std::string> names, complaints;
  if (artifact.format == "hsaco") try {
      return listed_by_emulator(artifact);
    } catch (const Error& error) {
      complaints.emplace_back(error.what());
    }
  const std::size_t before = complaints.size();
  for (const Tool& tool : tools_for(artifact)) {
    if (names.empty() || names.back() != tool.name) names.push_back(tool.name);
    const std::string path = path_of(tool);
    if (path.empty()) continue;
    std::vector<std::string> words{path};
    words.insert(words.end(), tool.options.begin(), tool.options.end());
    words.push_back(image.string());
    system::CommandOptions options;
    options.timeout_ms = 60'000;
    const system::CommandResult result = system::run_command(words, options);
    if (result.ok() && has_instructions(result.stdout_text)) return result.stdout_text;
    complaints.push_back(result.ok() ? tool.name + " finds no code of the kernel"
                                     : tool.name + ": " + base::first_line(result.stderr_text));
  }
  const char* const package = artifact.format == "cubin"   ? "nvidia-cuda-toolkit"
                              : artifact.format == "hsaco" ? "llvm"
                                                           : "binutils";
  if (complaints.size() == before)
    complaints.push_back(fmt::format("{} is not in PATH (Debian: {})", fmt::join(names, " or "), package));
  throw Error(ErrorKind::unavailable,
              fmt::format("--isa: {} cannot be read ({})", image.string(), fmt::join(complaints, "; ")));
}

struct ShowOptions {
  CommonOptions common;
  std::string path, config;
  bool best = false, ptx = false, isa = false, no_source = false, unit = false;
};

/// One of the kernels that the configuration launches.
struct ShownStep {
  std::string entry;  ///< "gemm<64>"
  build::KernelEntry kernel;
  device::Launch launch;
  std::string name;                         ///< "step 2", which launches of a loop share; empty: the only kernel
  std::optional<model::Estimate> resident;  ///< how many blocks fit a compute unit
};

struct ShownMap {
  std::string name, of, text;
};

/// One configuration of one case.
struct Shown {
  Bindings problem, config;
  std::optional<store::LookupResult> found;  ///< where the store chose it
  build::CompileRequest request;
  run::SweptConfig swept;
  build::Artifact artifact;
  std::vector<ShownStep> steps;
  std::vector<ShownMap> maps{};
  std::string code_name, code;  ///< "source", "ptx", "isa"; empty: none is asked for
  std::string profile;          ///< a command line; empty: no profiler is known
};

class ShowRun {
 public:
  ShowRun(const ShowOptions& options, const run::Target& target, const spec::Spec& spec, system::EventLoop& loop,
          run::CompileService& compiler, const std::atomic<bool>& stop)
      : options_(options), target_(target), spec_(spec), loop_(loop), compiler_(compiler), stop_(stop) {
    if (system::cache_disabled()) scratch_.emplace();
  }

  /// Throws Error(nothing_valid) where the store has no answer or the configuration does not compile.
  Shown show(const Bindings& problem) {
    const space::Space space = space_of(spec_, problem, target_);
    const resolve::CandidateResolver resolver =
        resolver_of(spec_, space, problem, target_, options_.common.store_path());
    Shown shown;
    shown.problem = problem;
    const std::uint64_t index = chosen(space, problem, shown);
    shown.config = space.named(space.at(index));
    shown.request = resolver.compile_request(space.at(index));
    compile(space, resolver, index, shown);
    add_maps(resolver.tensor_maps(space.at(index)), shown);
    add_steps(shown);
    shown.profile = profile_command(shown);
    add_code(resolver, shown);
    return shown;
  }

 private:
  void add_maps(const std::vector<measure::TensorMap>& maps, Shown& shown) const {
    std::size_t next = 0;
    for (const spec::ArgSpec& argument : spec_.args)
      if (argument.map) shown.maps.push_back({argument.name, argument.map->of, measure::to_string(maps.at(next++))});
  }

  std::uint64_t chosen(const space::Space& space, const Bindings& problem, Shown& shown) {
    if (space.size() == 1 && !options_.best) return 0;
    if (!options_.config.empty()) throw Error(ErrorKind::invalid_argument, unpinned(space));
    if (!stored_) stored_.emplace(stored_answers(spec_, options_.common, target_));
    store::SpecFit fit = fit_of(spec_, problem, target_, options_.common.store_path());
    shown.found = stored_->look_up(problem, fit);
    const auto index = shown.found->record ? space.index_of(shown.found->record->config) : std::nullopt;
    if (!index)
      throw Error(ErrorKind::nothing_valid,
                  "the store has no configuration for this problem on this device: `xtune run` finds one, and --config "
                  "A=1,B=2 shows any other");
    return *index;
  }

  std::string unpinned(const space::Space& space) const {
    std::vector<std::string> names;
    for (const space::Parameter& parameter : space.parameters())
      if (parameter.values.size() > 1) names.push_back(parameter.name);
    return fmt::format("--config leaves {} configurations: name {} as well", space.size(), fmt::join(names, ", "));
  }

  std::filesystem::path store() const { return scratch_ ? scratch_->path() : options_.common.store_path(); }

  void compile(const space::Space& space, const resolve::CandidateResolver& resolver, std::uint64_t index,
               Shown& shown) {
    run::CompileSweep sweep(spec_, space, resolver, target_.backend.name, store(), loop_, compiler_);
    shown.swept = sweep.compile({index}, [this] { return stop_.load(); }).front();
    if (!shown.swept.done) throw Error(ErrorKind::interrupted, "interrupted");
    if (shown.swept.outcome != Outcome::ok)
      throw Error(ErrorKind::nothing_valid, fmt::format("{}: {}: {}", report::config_text(spec_, shown.config),
                                                        to_string(shown.swept.outcome), shown.swept.message));
    shown.artifact = build::ArtifactCache(store()).read(shown.swept.key);
  }

  void add_steps(Shown& shown) const {
    const std::vector<std::string> entries = build::entries_of(shown.request);
    for (const device::Step& step : shown.swept.launch.steps) {
      build::KernelEntry kernel = build::entry_of(shown.artifact, step.kernel);
      auto resident = residency(step.launch, kernel.usage);
      shown.steps.push_back({entries.at(step.kernel), std::move(kernel), step.launch,
                             step.name.substr(0, step.name.find(" '")), std::move(resident)});
    }
  }

  std::optional<model::Estimate> residency(const device::Launch& launch, const build::ResourceUsage& usage) const {
    if (target_.backend.name == "host" || !usage.registers) return std::nullopt;
    model::Work work;
    work.blocks = static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
    work.threads = static_cast<double>(launch.block[0]) * launch.block[1] * launch.block[2];
    work.registers = *usage.registers;
    work.shared_bytes = static_cast<double>(usage.static_shared_bytes.value_or(0) + launch.shared_bytes);
    try {
      const device::DeviceModel device = device::device_model(target_.device);
      if (model::misfit(work, device)) return std::nullopt;
      return model::estimate(work, device);
    } catch (const Error&) {  // a device that the table does not have
      return std::nullopt;
    }
  }

  /// A run of this one configuration that reads and keeps nothing, under a profiler.
  std::string profile_command(const Shown& shown) const {
    std::vector<std::string> words{"env", "XTUNE_DISABLE_CACHE=1"};
    const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
    const bool nvidia = target_.device.vendor == "nvidia";
    const std::string launches = std::to_string(shown.steps.size());
    std::vector<std::string> symbols;
    for (const build::KernelEntry& kernel : build::all_entries(shown.artifact)) symbols.push_back(kernel.symbol);
    const std::string pattern = fmt::format("{}", fmt::join(symbols, "|"));
    if (nvidia)
      // The first launches check the result.
      add({"ncu", "--target-processes", "all", "--kernel-name-base", "mangled", "--kernel-name",
           (symbols.size() > 1 ? "regex:" : "") + pattern, "--launch-skip", launches, "--launch-count", launches,
           "--set", "full", "-o", spec_.kernel.name});
    else if (target_.backend.name == "hip")
      add({"rocprofv3", "--kernel-trace", "--stats", "--kernel-include-regex", pattern, "-d", spec_.kernel.name, "--"});
    else if (target_.backend.name == "host")
      add({"perf", "record", "-g", "-o", spec_.kernel.name + ".perf", "--"});
    else
      return {};
    add({"xtune", "run", options_.path, "--backend", target_.backend.name, "--quiet"});
    if (options_.common.compiler != "auto") add({"--compiler", options_.common.compiler});
    if (!options_.common.arch.empty()) add({"--arch", options_.common.arch});
    if (options_.common.device != "all") add({"--device", options_.common.device});
    for (const Bindings* const bindings : {&shown.problem, &shown.config})
      for (const auto& [name, value] : *bindings) add({"-D", name + "=" + to_text(value)});
    return system::command_line(words);
  }

  void add_code(const resolve::CandidateResolver& resolver, Shown& shown) {
    if (options_.ptx) {
      shown.code_name = "ptx";
      shown.code = ptx(resolver, shown);
    } else if (options_.isa) {
      shown.code_name = "isa";
      shown.code = disassemble(shown.artifact, build::ArtifactCache(store()).image_path(shown.artifact));
    } else if (!options_.no_source) {
      shown.code_name = "source";
      for (const auto& [name, value] : shown.request.defines) shown.code += "#define " + name + " " + value + "\n";
      shown.code += shown.request.source;
    }
  }

  /// The compiler gives PTX where it compiles for the virtual architecture.
  std::string ptx(const resolve::CandidateResolver& resolver, const Shown& shown) {
    if (shown.artifact.format != "cubin")
      throw bad_argument("--ptx: PTX is made for NVIDIA GPUs, and this is {}; --isa prints its instructions",
                         target_.arch);
    build::CompileRequest request = shown.request;
    request.base_key.clear();  // it is of the other architecture
    request.arch = "compute_" + request.arch.substr(std::string("sm_").size());
    const std::string key = resolver.artifact_key(request);
    std::optional<run::CompileAnswer> answer;
    compiler_.compile({target_.backend.name, store(), key, std::move(request)}, spec_.kernel.compile_timeout_s,
                      [&](const run::CompileAnswer& given) { answer = given; });
    while (!answer && !stop_)
      if (!loop_.run_once() && !answer) throw Error(ErrorKind::io, "the compile worker ended without an answer");
    if (!answer) throw Error(ErrorKind::interrupted, "interrupted");
    if (answer->outcome != Outcome::ok) throw Error(ErrorKind::nothing_valid, "--ptx: " + answer->message);
    std::string text = build::ArtifactCache(store()).read(answer->artifact.key).image;
    text.resize(std::min(text.size(), text.find('\0')));
    return text;
  }

  const ShowOptions& options_;
  const run::Target& target_;
  const spec::Spec& spec_;
  system::EventLoop& loop_;
  run::CompileService& compiler_;
  const std::atomic<bool>& stop_;
  std::optional<run::StoredAnswers> stored_;
  std::optional<system::TemporaryDirectory> scratch_;
};

Json resources_json(const build::ResourceUsage& usage, const std::optional<model::Estimate>& resident) {
  Json json{{"registers", optional_json(usage.registers)},
            {"spilled_bytes", optional_json(usage.spilled_bytes)},
            {"static_shared_bytes", optional_json(usage.static_shared_bytes)},
            {"max_threads_per_block", optional_json(usage.max_threads_per_block)},
            {"blocks_per_compute_unit", nullptr},
            {"occupancy", nullptr}};
  if (resident) {
    json["blocks_per_compute_unit"] = resident->blocks_per_unit;
    json["occupancy"] = resident->occupancy;
    json["limited_by"] = resident->residency;
  }
  return json;
}

/// Adds entry, symbol, launch and resources.
void add_kernel(Json& json, const ShownStep& step) {
  const device::Launch& launch = step.launch;
  json["entry"] = step.entry;
  json["symbol"] = step.kernel.symbol;
  json["launch"] = {{"grid", launch.grid}, {"block", launch.block}, {"shared_bytes", launch.shared_bytes}};
  json["resources"] = resources_json(step.kernel.usage, step.resident);
}

Json shown_json(const spec::Spec& spec, const run::Target& target, const Shown& shown) {
  Json json{{"kernel", spec.kernel.name},
            {"problem", report::bindings_json(shown.problem)},
            {"config", report::bindings_json(shown.config)},
            {"backend", target.backend.name},
            {"arch", target.arch}};
  if (spec.steps.empty()) {
    add_kernel(json, shown.steps.front());
  } else {
    json["steps"] = Json::array();
    for (const ShownStep& step : shown.steps) add_kernel(json["steps"].emplace_back(), step);
    json["resources"] = resources_json(shown.swept.usage, std::nullopt);  // the maximum of the steps
  }
  json["match"] = shown.found ? Json(store::to_string(shown.found->match)) : Json();
  json["best"] = nullptr;
  if (shown.found && shown.found->record) json["best"] = report::measured_json(spec, *shown.found->record);
  json["macros"] = Json::object();
  for (const auto& [name, value] : shown.request.defines) json["macros"][name] = value;
  json["options"] = shown.request.options;
  for (const ShownMap& map : shown.maps)
    json["tensor_maps"].push_back({{"name", map.name}, {"of", map.of}, {"map", map.text}});
  json["artifact"] = {{"key", shown.artifact.key}, {"format", shown.artifact.format}};
  if (!shown.code_name.empty()) json[shown.code_name] = shown.code;
  json["profile"] = shown.profile.empty() ? Json() : Json(shown.profile);
  return json;
}

std::string shape_text(const std::array<std::uint32_t, 3>& shape) {
  return fmt::format("{}", fmt::join(shape.begin(), shape.begin() + (shape[2] > 1 ? 3 : shape[1] > 1 ? 2 : 1), " x "));
}

std::string resources_text(const build::ResourceUsage& usage) {
  std::vector<std::string> parts;
  if (usage.registers) parts.push_back(fmt::format("{} registers", *usage.registers));
  if (usage.spilled_bytes) parts.push_back(fmt::format("{} bytes spilled", *usage.spilled_bytes));
  if (usage.static_shared_bytes)
    parts.push_back(fmt::format("{} bytes of static shared memory", *usage.static_shared_bytes));
  if (parts.empty()) parts.emplace_back("the compiler reports none");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string launch_text(const device::Launch& launch) {
  return fmt::format("grid {}, block {}, {} bytes of dynamic shared memory", shape_text(launch.grid),
                     shape_text(launch.block), launch.shared_bytes);
}

/// The launches of one step: several are those of a loop, which may differ.
void print_step(const std::vector<const ShownStep*>& launches) {
  const ShownStep& step = *launches.front();
  const std::string first = launch_text(step.launch), last = launch_text(launches.back()->launch);
  if (!step.name.empty())
    print_out("{}:     {}{}\n", step.name, step.entry,
              launches.size() > 1 ? fmt::format(" x {}", launches.size()) : "");
  print_out("launch:     {}\n", first);
  if (last != first) print_out("last one:   {}\n", last);
  print_out("resources:  {}\n", resources_text(step.kernel.usage));
  if (step.resident)
    print_out("occupancy:  {:.0f} %: {} on a compute unit, limited by {}\n", 100 * step.resident->occupancy,
              counted(static_cast<std::uint64_t>(step.resident->blocks_per_unit), "block"), step.resident->residency);
}

/// The code first: what follows it is what a terminal still shows.
void print_text(const spec::Spec& spec, const run::Target& target, const Shown& shown) {
  if (!shown.code.empty()) print_exactly("{}{}\n", shown.code, shown.code.ends_with('\n') ? "" : "\n");
  if (!shown.problem.empty()) print_out("problem:    {}\n", space::shown_text(shown.problem));
  print_out("config:     {}\n", report::config_text(spec, shown.config));
  if (shown.found && shown.found->record)
    print_out("            {} on {} ({})\n",
              base::human_time_ms(measure::statistic(shown.found->record->time_ms, spec.measure.statistic)),
              shown.found->record->device.name, store::to_string(shown.found->match));
  if (shown.found && shown.found->record && shown.found->record->repeatable)
    print_out("            {}\n", shown.found->record->repeatable->text());
  print_out("compiled:   {} for {} ({})\n", fmt::join(build::entries_of(shown.request), ", "), target.arch,
            target.backend.name);
  if (!shown.request.options.empty()) print_out("options:    {}\n", system::command_line(shown.request.options));
  std::vector<std::vector<const ShownStep*>> steps;
  for (const ShownStep& launch : shown.steps) {
    auto own =
        std::find_if(steps.begin(), steps.end(), [&](const auto& of) { return of.front()->name == launch.name; });
    if (own == steps.end())
      steps.push_back({&launch});
    else
      own->push_back(&launch);
  }
  for (const auto& launches : steps) print_step(launches);
  for (const ShownMap& map : shown.maps) print_out("tensor map: {} of {}: {}\n", map.name, map.of, map.text);
  if (!shown.profile.empty()) print_exactly("profile:\n  {}\n", shown.profile);
}

void require_kernel(const std::string& path, const spec::Spec& spec) {
  const char* const why = spec.process        ? "the spec tunes a program; `xtune run --dry-run` prints its commands"
                          : spec.replays()    ? "the spec is a replay, without a kernel to compile"
                          : spec.space_only() ? "the spec describes only a space, without a kernel to compile"
                                              : nullptr;
  if (why) throw bad_argument("{}: {}", path, why);
}

/// What compilers see of a spec's source, or of a source itself with all its kernels.
int show_unit(const ShowOptions& options) {
  spec::Spec spec;
  if (options.path.ends_with(".toml")) {
    spec = read_spec(options.path, options.common, "");
    require_kernel(options.path, spec);
  } else {
    spec.kernel.source = fs::absolute(options.path);
  }
  const resolve::UnitSource unit = resolve::unit_source(spec, spec.kernel.source);
  if (options.common.format == "json") {
    Json json{{"unit", unit.text}, {"left_out", unit.left_out}, {"headers", unit.headers}};
    print_json(json);
    return done;
  }
  print_exactly("{}{}", unit.text, unit.text.ends_with('\n') ? "" : "\n");
  const std::string source(build::without_byte_order_mark(spec::read_source(spec, spec.kernel.source).text));
  if (const std::size_t lines = build::lines_left_out(source, unit.text); lines > 0)
    tell("{} omitted, which no kernel uses\n", counted(lines, "line"));
  for (const auto& [path, text] : unit.headers)
    tell("{}: {} omitted\n", path, counted(build::lines_left_out(system::read_file(path), text), "line"));
  return done;
}

int show_configs(ShowOptions options) {
  if (options.unit) return show_unit(options);
  choose_config(options.config, options.common);
  require_kernel(options.path, read_spec(options.path, options.common, ""));
  const run::Target target = target_for(options.path, options.common, worker::TargetNeed::device_or_named);
  const spec::Spec spec = load_spec_for(options.path, options.common, target);
  system::EventLoop loop;
  const StopSignals signals(loop);
  const std::atomic<bool>& stop = signals.asked();
  system::remove_abandoned_temporaries();
  worker::JobWorkers workers(loop, 1);
  ShowRun run(options, target, spec, loop, workers.compiler(), stop);
  Printer printer(options.common.format);
  for (const Bindings& problem : spec.cases) {
    const Shown shown = run.show(problem);
    printer.add([&] { return shown_json(spec, target, shown); }, [&] { print_text(spec, target, shown); });
  }
  printer.end();
  return done;
}

}  // namespace

void add_show_command(CLI::App& app, Context& context) {
  const auto [command, options] = add_command<ShowOptions>(
      app, context, "show", "Show one configuration: source, macros, resources, code, and how to profile it",
      "xtune show configs/gemm.toml\n  xtune show row_sum.toml --config BLOCK=128,UNROLL=8 --arch sm_90a --ptx",
      show_configs);
  add_spec_argument(command, options.path);
  const OptionGroup problem(command, option_group::problem), output(command, option_group::output);
  problem.value("--config", options.config, "NAME=VALUE,...", "Show this configuration: BLOCK=64,UNROLL=4");
  problem
      .flag("--best", options.best,
            "Show the store's best configuration; the default where --config, -D and --filter leave several")
      ->excludes("--config");
  output.flag("--ptx", options.ptx, "Print PTX in place of the source");
  output.flag("--isa", options.isa, "Print the instructions in place of the source")->excludes("--ptx");
  output.flag("--no-source", options.no_source, "Print no code")->excludes("--ptx")->excludes("--isa");
  output
      .flag("--unit", options.unit,
            "Print only the source as compilers see it, without what no kernel uses, such as main(); SPEC may be a "
            "source as well")
      ->excludes("--ptx")
      ->excludes("--isa")
      ->excludes("--no-source");
  add_common_options(command, options.common);
  add_store_option(command, options.common.store);
}

}  // namespace xtune::cli
