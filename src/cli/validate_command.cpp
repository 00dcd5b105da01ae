// xtune validate: compile, execute and compare configurations, without measuring them.

#include "base/text.hpp"
#include "cli/cases.hpp"
#include "cli/progress.hpp"
#include "core/device/backend_facts.hpp"
#include "core/init/signature.hpp"
#include "core/run/job.hpp"
#include "core/search/samples.hpp"
#include "core/store/record.hpp"
#include "report/text/run_report.hpp"
#include "system/chosen_store.hpp"
#include "system/clock.hpp"
#include "worker/ipc/pool.hpp"
#include "worker/ipc/services.hpp"
#include "worker/ipc/target.hpp"

namespace xtune::cli {
namespace {

struct ValidateOptions : SpecsOptions {
  std::string config;
  std::string log;
  std::uint64_t configs = 20;
  bool all = false, sanitize = false;
};

/// The results of one case on one device.
struct ValidatedCase {
  spec::Spec spec;
  run::TuneResult result;

  std::size_t count(Outcome outcome) const {
    const auto found = result.counts.find(outcome);
    return found == result.counts.end() ? 0 : found->second;
  }
  /// A configuration that the device's limits forbid has not failed.
  std::size_t failed() const { return result.records.size() - count(Outcome::ok) - count(Outcome::rejected); }
};

/// Valid ones first, in the order of their texts.
std::vector<const store::Record*> ordered(const ValidatedCase& one) {
  std::vector<std::pair<std::string, const store::Record*>> named;
  for (const store::Record& record : one.result.records)
    named.emplace_back(
        fmt::format("{} {}", static_cast<int>(record.outcome), report::config_text(one.spec, record.config)), &record);
  std::sort(named.begin(), named.end());
  std::vector<const store::Record*> order;
  for (const auto& [name, record] : named) order.push_back(record);
  return order;
}

std::string error_text(const store::Record& record) {
  return record.validation && record.validation->has_reference()
             ? fmt::format("{:.2g}", record.validation->max_abs_error)
             : "-";
}

/// An architecture whose validation failed as a whole.
struct FailedArch {
  std::string arch;
  Error error;
};

/// stopped: by the user, before all cases were done.
void print_text(const std::vector<ValidatedCase>& cases, const std::vector<FailedArch>& failed, bool stopped) {
  using enum report::FittedTable::Kind;
  report::FittedTable table{
      {{"device"}, {"result"}, {"max abs error"}, {"configuration", text}, {"problem", context}, {"message", remark}}};
  for (const ValidatedCase& one : cases)
    for (const store::Record* const record : ordered(one))
      table.rows.push_back({one.result.device.arch,
                            record->outcome == Outcome::ok ? "valid" : to_string(record->outcome), error_text(*record),
                            report::config_text(one.spec, record->config), space::shown_text(one.result.problem),
                            base::first_line(record->message)});
  if (!table.rows.empty()) print_table(table);
  for (const ValidatedCase& one : cases) {
    if (stopped && one.result.records.empty()) continue;
    std::map<Outcome, std::uint64_t> others = one.result.counts;
    others.erase(Outcome::ok);
    print_out("{} on {}: {} of {} valid{}{}\n", one.spec.kernel.name, one.result.device.name, one.count(Outcome::ok),
              one.result.records.size(), others.empty() ? "" : ", ", report::counts_text(others));
    print_out("{}", report::sanitize_hint(one.result));
  }
  for (const FailedArch& one : failed)
    print_out("{}: not validated: {}\n", one.arch, base::first_line(one.error.what()));
}

Json case_json(const ValidatedCase& one) {
  const device::DeviceInfo& device = one.result.device;
  Json json{{"kernel", one.spec.kernel.name},
            {"device", {{"backend", device.backend}, {"name", device.name}, {"arch", device.arch}}},
            {"problem", report::bindings_json(one.result.problem)},
            {"space_size", one.result.space_size},
            {"counts", report::counts_json(one.result.counts)}};
  json["configurations"] = Json::array();
  for (const store::Record* const record : ordered(one)) {
    Json row{{"config", report::bindings_json(record->config)},
             {"valid", record->outcome == Outcome::ok},
             {"outcome", to_string(record->outcome)}};
    if (record->outcome != Outcome::ok) row["stage"] = record->stage;
    if (!record->message.empty()) row["message"] = record->message;
    if (record->validation) row["validation"] = store::to_json(*record->validation);
    json["configurations"].push_back(std::move(row));
  }
  return json;
}

std::vector<Json> report_json(const std::vector<ValidatedCase>& cases, const std::vector<FailedArch>& failed) {
  std::vector<Json> list;
  for (const ValidatedCase& one : cases) list.push_back(case_json(one));
  for (const auto& [arch, error] : failed)
    list.push_back({{"arch", arch}, {"error", {{"kind", to_string(error.kind())}, {"message", error.what()}}}});
  return list;
}

void tell_begin(const ValidateOptions& options, const spec::Spec& spec, const run::Target& target) {
  tell("{}: {} on {}, compiler {}\n", spec.kernel.name, target.backend.name, target.device.name,
       device::compiler_name(target.backend.toolchain));
  if (!spec::validates(spec))
    tell("note: {}: the spec has neither a reference nor a validator: only faults of the kernel are found\n",
         options.path);
}

std::vector<Bindings> chosen(const ValidateOptions& options, const spec::Spec& spec, const Bindings& problem,
                             const run::Target& target) {
  const space::Space space = space_of(spec, problem, target);
  const std::uint64_t limit = options.all ? space.size() : options.configs;
  const auto each = [](std::uint64_t index) { return std::to_string(index); };
  std::vector<Bindings> configs;
  for (const std::uint64_t index : search::spread_sample(space, limit, each))
    configs.push_back(space.named(space.at(index)));
  if (!options.quiet && configs.size() < space.size())
    tell("{} of {} configurations: a sample with each value of each parameter (--limit N changes its size)\n",
         configs.size(), space.size());
  return configs;
}

/// One spec on one device.
void validate_on(const ValidateOptions& options, SpecsWork& work, run::Target target,
                 std::vector<ValidatedCase>& cases) {
  target.further.clear();
  if (options.sanitize) require_sanitizable(target.device);
  const spec::Spec spec = load_spec_for(options.path, options.common, target);
  require_more_than_space(options.path, spec, "validate");
  init::check_signatures(spec);
  tell_no_gpu(target, "checking");
  if (!options.quiet) tell_begin(options, spec, target);
  worker::JobWorkers workers(work.loop, worker::job_count(options.common.jobs), worker::JobWorkers::Orphans::kill);
  workers.add_benches(target, options.sanitize);
  const run::TuneServices services{work.loop, workers.compiler(), workers.benches(), system::awake_clock(), work.stop};
  using enum ProgressPrinter::Verbosity;
  ProgressPrinter printer(spec, options.log, options.quiet ? quiet : all, work.loop);
  for (const Bindings& problem : spec.cases) {
    if (work.stop) return;
    const system::TemporaryDirectory scratch;
    run::TuneOptions settings;
    settings.store = options.common.store_path();
    settings.sanitize = options.sanitize;
    settings.validate_only = true;
    settings.only = chosen(options, spec, problem, target);
    run::TuningJob job(std::move(settings), system::kept_in_store());
    cases.push_back(
        {spec, run::tune(spec, problem, target, job.next_run(spec, target, scratch.path()), services, printer)});
    printer.finish();
  }
}

/// The device for an architecture; "": the one that is here.
run::Target target_of(const ValidateOptions& options, const std::string& arch) {
  worker::TargetOptions wanted = options.common.target_options(worker::TargetNeed::device);
  wanted.arch = arch;
  if ((device::is_choice(wanted.backend) || wanted.backend == "hip") && worker::needs_emulator(arch)) {
    worker::use_emulator(arch);
    wanted.backend = "hip";
  }
  return target_for(options.path, options.common, wanted);
}

/// The architectures of --arch, each once; "": none was named.
std::vector<std::string> archs_of(const ValidateOptions& options) {
  std::vector<std::string> archs;
  for (const std::string& arch : split_list(options.common.arch))
    if (std::find(archs.begin(), archs.end(), arch) == archs.end()) archs.push_back(arch);
  if (archs.empty()) archs.emplace_back();
  return archs;
}

int validate_one(ValidateOptions& options, SpecsWork& work, Printer& printer) {
  choose_config(options.config, options.common);
  const std::vector<std::string> archs = archs_of(options);
  std::vector<ValidatedCase> cases;
  std::vector<FailedArch> failed;
  int code = done;
  for (const std::string& arch : archs) {
    if (work.stop) break;
    try {
      validate_on(options, work, target_of(options, arch), cases);
    } catch (const Error& error) {
      // What is wrong with the command line is so for all.
      if (archs.size() == 1 || error.kind() == ErrorKind::invalid_argument || error.kind() == ErrorKind::interrupted)
        throw;
      tell("xtune: {}: {}\n", arch, error.what());
      failed.push_back({arch, error});
      code = worse_code(code, exit_code_of(error.kind()));
    }
  }
  for (const ValidatedCase& one : cases)
    if (one.failed() > 0 || one.count(Outcome::ok) == 0) code = worse_code(code, nothing_valid);
  printer.add([&] { return report_json(cases, failed); }, [&] { print_text(cases, failed, work.stop); });
  return code;
}

int validate(const ValidateOptions& options) { return for_each_spec(options, validate_one); }

}  // namespace

void add_validate_command(CLI::App& app, Context& context) {
  const auto [command, options] = add_command<ValidateOptions>(
      app, context, "validate", "Compile and execute configurations, and validate their results, without measuring",
      "xtune validate configs/gemm.toml --arch gfx942 -D M=64 -D N=64 -D K=64", validate);
  add_specs_argument(command, options.paths);
  const OptionGroup search(command, option_group::search);
  search.number("--limit,--configs", options.configs, 1,
                "Validate at most N configurations of each case: a sample with each value of each parameter");
  search.flag("--all", options.all, "Validate every configuration")->excludes("--limit");
  search.value("--config", options.config, "NAME=VALUE,...",
               "Validate only configurations with these values: BLOCK=64,UNROLL=4");
  add_problem_options(command, options.common);
  add_backend_option(
      command, options.common,
      "Choose the backend; auto takes that of --arch, else that of the first GPU that is here, else the CPU; gpu never "
      "takes the CPU");
  add_compiler_option(command, options.common);
  add_arch_option(
      command, options.common,
      "Validate for these architectures, separated by commas: gfx90a,gfx942. AMD GPUs that are not here are "
      "emulated, if the emulator knows them");
  add_device_option(command, options.common);
  add_sanitize_option(command, options.sanitize);
  add_jobs_option(command, options.common);
  add_format_option(command, options.common.format);
  add_log_option(command, options.log, "outcome and compiler output");
  add_quiet_option(command, options.quiet);
  add_store_option(command, options.common.store, "Keep compiled kernels in this directory");
}

}  // namespace xtune::cli
