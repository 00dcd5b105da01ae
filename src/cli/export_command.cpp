// xtune export: a kernel with its best configurations as a library that does not need xtune. This gathers what the
// store and the compilers know; the script export.py writes the text.
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "cli/cases.hpp"
#include "cli/export_spec.hpp"
#include "cli/script.hpp"
#include "cli/store_commands.hpp"
#include "core/build/cache.hpp"
#include "core/init/signature.hpp"
#include "core/space/value.hpp"
#include "core/spec/template_text.hpp"
#include "core/store/record_log.hpp"
#include "report/text/run_report.hpp"
#include "system/chosen_store.hpp"
#include "worker/ipc/services.hpp"

namespace xtune::cli {
namespace {

struct ExportOptions {
  CommonOptions common;
  std::string path, cases, output, within = "5%";
  std::size_t max_configs = 8;
  bool force = false;
};

std::string hex(std::string_view bytes) {
  std::string result;
  for (const char byte : bytes) result += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return result;
}

/// One architecture of a library.
struct ArchExport {
  const spec::Spec& spec;
  const run::Target& target;
  std::size_t number = 0;       ///< among the library's
  Json json{};                  ///< for the script
  std::set<Bindings> wanted{};  ///< the configurations of its answers and its tree
};

/// Compiles for all architectures, and collects what the script needs.
class Export {
 public:
  explicit Export(const ExportOptions& options)
      : options_(options), workers_(work_.loop, worker::job_count(options.common.jobs)) {
    if (system::cache_disabled()) temporary_.emplace();
    store_ = temporary_ ? temporary_->path() : options_.common.store_path();
    for (const char* list : {"archs", "builds", "images", "tests", "references"}) request_[list] = Json::array();
  }

  void add(const run::Target& target) {
    const spec::Spec spec = load_spec_for(options_.path, options_.common, target);
    require_exportable(options_.path, spec, target);
    init::check_signatures(spec);
    Json own = exported_spec(spec, target.backend.name);
    if (common_.is_null())
      common_ = std::move(own);
    else if (common_ != own)
      throw Error(ErrorKind::unsupported, fmt::format("{}: the kernel or its space differs on the backend {} from the "
                                                      "others: export its architectures to a directory of their own",
                                                      options_.path, target.backend.name));
    ArchExport arch{spec, target, request_["archs"].size()};
    arch.json = {{"arch", target.arch},          {"backend", target.backend.name},
                 {"device", target.device.name}, {"facts", space::bindings_json(device::device_facts(target.device))},
                 {"tree", tree_of(target)},      {"answers", Json::array()}};
    if (!arch.json["tree"].is_null())
      for (const Json& config : arch.json["tree"]["configs"]) arch.wanted.insert(space::bindings_from_json(config));
    const run::StoredAnswers stored = stored_answers(spec, options_.common, target);
    std::vector<Bindings> answers;
    for (const Bindings& problem : spec.cases) {
      const auto [config, why] = answer_for(arch, problem, stored);
      arch.json["answers"].push_back(
          {{"case", case_number(problem)}, {"config", space::bindings_json(config)}, {"why", why}});
      arch.wanted.insert(config);
      answers.push_back(config);
    }
    for (std::size_t i = 0; i < answers.size(); ++i) add_case(arch, spec.cases[i], answers[i]);
    configs_.insert(arch.wanted.begin(), arch.wanted.end());
    request_["archs"].push_back(std::move(arch.json));
  }

  /// The library's files, by their names in its directory.
  std::map<std::string, std::string> files(std::vector<std::string>& warnings) {
    request_.update(common_);
    request_["cases"] = request_["configs"] = Json::array();
    for (const Bindings& problem : cases_) {
      request_["cases"].push_back(space::bindings_json(problem));
      for (Json& argument : request_["args"]) {
        const auto& types = types_.at(problem);
        if (const auto type = types.find(argument["name"]); type != types.end())
          argument["dtypes"].push_back(to_string(type->second));
      }
    }
    for (const Bindings& config : configs_) request_["configs"].push_back(space::bindings_json(config));
    const Json answer = script_answer("export", std::move(request_), warnings);
    for (const auto& [name, contents] : answer.items()) files_[name] = contents;
    return std::move(files_);
  }

 private:
  std::size_t case_number(const Bindings& problem) {
    const auto number = static_cast<std::size_t>(std::find(cases_.begin(), cases_.end(), problem) - cases_.begin());
    if (number == cases_.size()) cases_.push_back(problem);
    return number;
  }

  /// Null: nothing was measured.
  Json tree_of(const run::Target& target) const {
    std::vector<std::string> warnings;
    Json tree = stored_tree(options_.path, options_.common.store_path(), target.device.arch, options_.max_configs,
                            share_of("--within", options_.within), warnings);
    tell_warnings(warnings);
    return tree;
  }

  /// The configuration, and for people where it comes from.
  std::pair<Bindings, std::string> answer_for(const ArchExport& arch, const Bindings& problem,
                                              const run::StoredAnswers& stored) const {
    const spec::Spec& spec = arch.spec;
    const std::string title = space::shown_text(problem), name = arch.target.arch;
    store::SpecFit fit = fit_of(spec, problem, arch.target, options_.common.store_path());
    const store::LookupResult found = stored.look_up(problem, fit);
    if (found.record && space_of(spec, problem, arch.target).index_of(found.record->config)) {
      const store::Record& record = *found.record;
      std::string why = fmt::format("{}: {} on {}", store::to_string(found.match),
                                    base::human_time_ms(measure::statistic(record.time_ms, spec.measure.statistic)),
                                    record.device.name);
      if (record.problem == problem) return {record.config, why};
      const std::string other = space::shown_text(record.problem);
      tell("note: {}: {} was not measured, and gets the configuration of {}\n", name, title, other);
      return {record.config, why + ", for " + other};
    }
    std::vector<std::string> others = store::recorded_archs(options_.common.store_path(), spec.kernel.name);
    std::erase(others, arch.target.device.arch);
    for (std::string& other : others)
      if (const auto device = device::known_device(other); device && device::is_cpu(*device)) other += " (--arch host)";
    tell(
        "warning: {}: nothing was measured for {}: it gets the default configuration, whose speed is not known; "
        "`xtune run` measures{}\n",
        name, title, others.empty() ? "" : fmt::format("; the store has records of {}", fmt::join(others, ", ")));
    return {default_of(spec, problem, arch.target.device), "not measured: the default"};
  }

  /// Waits for the compiler. Throws CandidateFailure if it refuses.
  build::Artifact compiled(const ArchExport& arch, const resolve::CandidateResolver& resolver,
                           build::CompileRequest request) {
    const std::string key = resolver.artifact_key(request), source = request.source_name;
    std::optional<run::CompileAnswer> answer;
    workers_.compiler().compile({arch.target.backend.name, store_, key, std::move(request)},
                                arch.spec.kernel.compile_timeout_s,
                                [&](const run::CompileAnswer& given) { answer = given; });
    while (!answer && !work_.stop)
      if (!work_.loop.run_once() && !answer) throw Error(ErrorKind::io, "the compile workers ended without an answer");
    if (!answer) {
      workers_.compiler().cancel_all();
      throw Error(ErrorKind::interrupted, "stopped");
    }
    if (answer->outcome != Outcome::ok) throw build::CandidateFailure(answer->outcome, answer->message);
    resolver.learn(source, answer->artifact.manifest);
    return build::ArtifactCache(store_).read(answer->artifact.key);
  }

  std::size_t image_number(const std::string& image) {
    const auto [at, is_new] = images_.emplace(base::sha256(image), images_.size());
    if (is_new) request_["images"].push_back(hex(image));
    return at->second;
  }

  /// Compiles the answer and, where the case allows them, the other configurations.
  void add_case(const ArchExport& arch, const Bindings& problem, const Bindings& answer) {
    const space::Space space = space_of(arch.spec, problem, arch.target);
    const resolve::CandidateResolver resolver = resolver_of(arch.spec, space, problem, arch.target, store_);
    for (const Bindings& config : arch.wanted) {
      const auto index = space.index_of(config);
      if (!index) continue;
      try {
        add_build(arch, resolver, problem, space.at(*index));
      } catch (const build::CandidateFailure& failure) {
        if (config == answer)
          throw Error(ErrorKind::nothing_valid, fmt::format("{}: {}: {}", arch.target.arch,
                                                            report::config_text(arch.spec, config), failure.what()));
      }
    }
    add_test(arch, resolver, problem, space.at(*space.index_of(answer)));
  }

  void add_build(const ArchExport& arch, const resolve::CandidateResolver& resolver, const Bindings& problem,
                 const space::Config& config) {
    const device::LaunchPlan launch = resolver.launch(config);
    build::CompileRequest request = resolver.compile_request(config);
    const std::vector<std::string> entries = build::entries_of(request);
    const build::Artifact artifact = compiled(arch, resolver, std::move(request));
    if (const auto violation = resolver.limit_violation(launch, &artifact))
      throw build::CandidateFailure(Outcome::rejected, *violation);
    const Bindings names = resolver.bindings(config);
    const space::Lookup lookup = [&](std::string_view name) { return space::find_value(names, name); };
    Json symbols = Json::array();
    for (const spec::StepSpec& step : spec::steps_of(arch.spec)) {
      const auto entry = std::find(entries.begin(), entries.end(), spec::expand(step.entry, lookup));
      symbols.push_back(
          entry == entries.end()
              ? Json()
              : Json(build::entry_of(artifact, static_cast<std::size_t>(entry - entries.begin())).symbol));
    }
    Bindings own;
    for (const space::Parameter& parameter : arch.spec.parameters) own[parameter.name] = names.at(parameter.name);
    request_["builds"].push_back({{"arch", arch.number},
                                  {"case", case_number(problem)},
                                  {"config", space::bindings_json(own)},
                                  {"image", image_number(artifact.image)},
                                  {"symbols", std::move(symbols)}});
  }

  /// The self-test of a case, and its reference kernel on this architecture.
  void add_test(const ArchExport& arch, const resolve::CandidateResolver& resolver, const Bindings& problem,
                const space::Config& config) {
    const std::size_t number = case_number(problem);
    auto test = tests_.find(number);
    if (test == tests_.end()) {
      test = tests_.emplace(number, request_["tests"].size()).first;
      request_["tests"].push_back(test_json(arch, resolver, problem, config));
    }
    try {
      Json reference = reference_json(arch, resolver);
      if (reference.is_null()) return;
      reference.update({{"arch", arch.number}, {"test", test->second}});
      request_["references"].push_back(std::move(reference));
    } catch (const build::CandidateFailure& failure) {
      tell("note: {}: the self-test has no reference: {}\n", arch.target.arch, base::first_line(failure.what()));
    }
  }

  Json test_json(const ArchExport& arch, const resolve::CandidateResolver& resolver, const Bindings& problem,
                 const space::Config& config) {
    const validate::ToleranceRule rule = resolver.tolerances().front().second;
    Json json{{"case", case_number(problem)},   {"rtol", rule.rtol.value_or(-1)},
              {"atol", rule.atol.value_or(-1)}, {"mismatched", rule.max_mismatched_ratio},
              {"buffers", Json::array()},       {"scalars", Json::object()}};
    for (const validate::ArgumentLayout& layout : resolver.layouts())
      json["buffers"].push_back({{"name", layout.name},
                                 {"dtype", to_string(layout.dtype)},
                                 {"elements", layout.elements()},
                                 {"role", spec::role_words.of(layout.role)},
                                 {"file", contents_of(layout, case_number(problem))}});
    const Bindings names = resolver.bindings(config);
    for (const spec::ArgSpec& argument : arch.spec.args) {
      types_[problem][argument.name] = spec::dtype_of(argument, problem);
      if (argument.kind != spec::ArgKind::scalar) continue;
      const Value value =
          spec::evaluate(*argument.value, [&](std::string_view name) { return space::find_value(names, name); });
      json["scalars"][argument.name] = space::bindings_json({{"value", value}})["value"];
    }
    return json;
  }

  /// The file with an input's contents; null for numbers that the test makes itself.
  Json contents_of(const validate::ArgumentLayout& layout, std::size_t number) {
    const bool random = layout.file.empty() && layout.value.empty() && layout.like.empty() && layout.numbers.empty() &&
                        (layout.fill == Fill::automatic || layout.fill == Fill::integer ||
                         (validate::unit_roundoff(layout.dtype) > 0 && layout.fill <= Fill::randn));
    if (random || layout.role == spec::ArgRole::out) return nullptr;
    const std::string name = fmt::format("testdata/{}.{}", number, file_stem(layout.name));
    std::string& bytes = files_[name];
    bytes.resize(layout.bytes());
    validate::fill_input(layout, seed, std::as_writable_bytes(std::span(bytes)));
    return name;
  }

  /// The launch of the spec's reference kernel; null if it has none that a library can run.
  Json reference_json(const ArchExport& arch, const resolve::CandidateResolver& resolver) {
    const spec::ReferenceSpec& reference = arch.spec.validate.reference;
    if (reference.kind != spec::ReferenceSpec::Kind::kernel || reference.config) return nullptr;
    const std::vector<measure::ScalarArgument> scalars = resolver.scalars(resolver.reference_config());
    Json arguments = Json::array();
    for (const spec::ArgSpec* argument : spec::arguments_of(arch.spec, spec::reference_args(arch.spec))) {
      std::size_t scalar = 0;
      for (const spec::ArgSpec& each : arch.spec.args) {
        if (&each == argument) break;
        if (spec::has_value(each.kind)) ++scalar;
      }
      if (argument->kind == spec::ArgKind::scalar) {
        const auto& bytes = scalars.at(scalar).bytes;
        arguments.push_back({{"bytes", hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()})}});
      } else if (argument->kind == spec::ArgKind::buffer && argument->role != spec::ArgRole::scratch) {
        arguments.push_back({{"buffer", argument->name}});
      } else {
        return nullptr;
      }
    }
    const device::Launch launch = resolver.reference_launch().steps.front().launch;
    const build::Artifact artifact = compiled(arch, resolver, resolver.reference_request());
    return {{"image", image_number(artifact.image)},
            {"symbol", artifact.entry_symbol},
            {"grid", launch.grid},
            {"block", launch.block},
            {"shared", launch.shared_bytes},
            {"args", std::move(arguments)}};
  }

  static constexpr std::uint64_t seed = 1;
  const ExportOptions& options_;
  SpecsWork work_;
  worker::JobWorkers workers_;
  std::optional<system::TemporaryDirectory> temporary_;  ///< instead of the store, if nothing is to be kept
  std::filesystem::path store_;
  Json request_, common_;  ///< for the script; what all architectures share
  std::vector<Bindings> cases_;
  std::set<Bindings> configs_;
  std::map<std::string, std::size_t> images_;               ///< by their hash
  std::map<std::size_t, std::size_t> tests_;                ///< by the number of the case
  std::map<Bindings, std::map<std::string, DType>> types_;  ///< of the arguments of a case
  std::map<std::string, std::string> files_;
};

/// The entry of a suite that has the cases of this spec.
spec::SuiteEntry cases_of(const std::string& path, const std::string& spec) {
  const std::optional<spec::Suite> suite = spec::load_suite(path);
  if (!suite)
    throw bad_argument(
        "--cases {}: it is not a suite: write [[suite]] with `spec` and `cases`, as `xtune coverage -o` does",
        base::printable(path));
  for (const spec::SuiteEntry& entry : suite->entries) {
    std::error_code failed;
    if (std::filesystem::equivalent(entry.spec, spec, failed)) return entry;
  }
  throw bad_argument("--cases {}: the suite has no entry with spec = \"{}\"", base::printable(path),
                     base::printable(spec));
}

/// One for each architecture; all are found before the first one compiles. "host" is this machine's CPU.
std::vector<run::Target> targets_of(const ExportOptions& options) {
  std::vector<std::string> archs = split_list(options.common.arch);
  if (archs.empty()) archs.emplace_back();
  std::vector<run::Target> targets;
  for (const std::string& arch : archs) {
    if (!arch.empty() && arch != "host" && device::feature_complaint(arch).empty() && !device::known_device(arch)) {
      const std::string like = base::did_you_mean(arch, {"host"});
      throw bad_argument("--arch: unknown architecture '{}'{}; known: host, {}", base::printable(arch),
                         like.empty() ? device::did_you_mean_arch(arch) : like, fmt::join(device::known_archs(), ", "));
    }
    worker::TargetOptions own = options.common.target_options(worker::TargetNeed::compiler);
    own.arch = arch == "host" ? "" : arch;
    if (arch == "host") own.backend = "host";
    targets.push_back(target_for(options.path, options.common, own));
    for (std::size_t i = 0; i + 1 < targets.size(); ++i)
      if (targets[i].arch == targets.back().arch) throw bad_argument("--arch: {} is named twice", targets.back().arch);
  }
  return targets;
}

/// All of the files, or none.
void write_files(const ExportOptions& options, const std::map<std::string, std::string>& files) {
  const std::filesystem::path folder = options.output;
  std::vector<std::filesystem::path> paths, written;
  for (const auto& [name, contents] : files) paths.push_back(folder / name);
  require_new_files(paths, options.force, "--out names another directory");
  const bool is_new = !std::filesystem::exists(folder);
  try {
    for (const auto& [name, contents] : files) {
      system::write_output_file(folder / name, contents);
      written.push_back(folder / name);
    }
  } catch (const Error&) {
    std::error_code ignored;
    if (is_new)
      std::filesystem::remove_all(folder, ignored);
    else if (!options.force)
      for (const std::filesystem::path& path : written) std::filesystem::remove(path, ignored);
    throw;
  }
}

int export_library(ExportOptions& options) {
  share_of("--within", options.within);
  std::optional<spec::SuiteEntry> cases;
  if (!options.cases.empty()) cases = cases_of(options.cases, options.path);
  options.common.suite = cases ? &*cases : nullptr;
  if (std::error_code ignored;
      std::filesystem::exists(options.output, ignored) && !std::filesystem::is_directory(options.output, ignored))
    throw bad_argument("--out {}: it is not a directory", base::printable(options.output));
  Export library(options);
  for (const run::Target& target : targets_of(options)) library.add(target);
  std::vector<std::string> warnings;
  const auto files = library.files(warnings);
  tell_warnings(warnings);
  write_files(options, files);
  print_out("{}: {}; README.md says how to build and test it\n", base::printable(options.output),
            counted(files.size(), "file"));
  return done;
}

}  // namespace

void add_export_command(CLI::App& app, Context& context) {
  const auto [command, options] =
      add_command<ExportOptions>(app, context, "export", "Write a kernel as a C++ library that does not need xtune",
                                 "xtune export configs/gemm.toml --arch sm_80,sm_90a,gfx942 --out gemm\n"
                                 "  xtune export configs/gemm.toml --cases cases.toml --arch host --out gemm_host",
                                 export_library);
  add_spec_argument(command, options.path);
  const OptionGroup problem(command, option_group::problem), output(command, option_group::output);
  problem.value("--cases", options.cases, "FILE", "Take the cases of this suite instead of the spec's");
  add_problem_options(command, options.common);
  add_backend_option(command, options.common, "Choose the backend; auto takes that of each architecture");
  add_compiler_option(command, options.common);
  add_arch_option(command, options.common,
                  "Export for these architectures, separated by commas: sm_80,sm_90a,gfx942; host is this CPU");
  output.value("--out", options.output, "DIR", "Write the library to this directory")->required()->check(not_empty());
  add_force_option(command, options.force);
  output.number("--max-configs", options.max_configs, 1,
                "For problems that are not exported cases, choose among at most N configurations");
  output.value("--within", options.within, "SHARE",
               "For these, accept this much more time than the best of a measured problem: 5% or 0.05");
  add_jobs_option(command, options.common);
  add_store_option(command, options.common.store);
}

}  // namespace xtune::cli
