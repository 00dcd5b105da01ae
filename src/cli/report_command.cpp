// xtune report: writes the contents of a store as one HTML file. The facts that every report has about itself.
#include "cli/report_command.hpp"

#include "base/text.hpp"
#include "cli/cases.hpp"
#include "cli/store_commands.hpp"
#include "core/store/export.hpp"
#include "report/page/page.hpp"
#include "system/clock.hpp"
#include "xtune/version.hpp"

namespace xtune::cli {

report::ReportData report_data(std::vector<report::ReportCase> cases, std::vector<std::string> run_command) {
  report::ReportData data;
  data.cases = std::move(cases);
  data.run_command = std::move(run_command);
  data.command = command_words();
  data.version = version;
  data.written_unix_ms = system::system_clock().unix_time_ms();
  return data;
}

ReportFile write_report_file(const std::string& path, const std::vector<report::ReportCase>& cases,
                             const std::vector<std::string>& run_command) {
  const std::string page = report::report_page(report_data(cases, run_command));
  system::write_output_file(path, page);
  ReportFile file;
  file.bytes = page.size();
  for (const report::ReportCase& one : cases) {
    file.records += one.records->size();
    file.answered += one.best.has_value();
  }
  return file;
}

std::string report_line(const std::string& path, std::size_t problems, const ReportFile& file) {
  return fmt::format("{}: {}, {}, {}", base::printable(path), counted(problems, "problem"),
                     counted(file.records, "record"), base::human_bytes(file.bytes));
}

namespace {

struct ReportOptions {
  CommonOptions common;
  std::string source, output = "report.html";
  std::vector<std::string> kernels;
};

using SharedSpec = std::shared_ptr<const spec::Spec>;

/// The answer of `xtune best` for one problem, with all records of its problem and device.
report::ReportCase case_of_spec(const SharedSpec& spec, const Bindings& problem, const run::Target& target,
                                const StoredAnswers& stored, const std::filesystem::path& store) {
  store::SpecFit fit = fit_of(*spec, problem, target, store);
  const store::LookupResult found = stored.look_up(problem, fit);
  const store::LookupRules rules = fit.rules();
  const Bindings& measured = found.record ? found.record->problem : problem;
  const device::DeviceInfo& device = found.record ? found.record->device : target.device;
  const store::KeyFit worst = found.record ? store::key_fit(found.differences) : store::KeyFit::differs;
  report::ReportCase one =
      report::make_report_case(spec, measured, device, answering(stored.view(), measured, device, rules, worst),
                               found.record ? found.record->key : "");
  if (one.best) one.default_config = default_of(*spec, measured, device);
  one.asked = problem;
  one.match = found.match;
  if (!found.record)
    for (const std::string& reason : found.reasons) one.notes.push_back(reason);
  if (found.stale)
    one.notes.push_back("Stale: " + store::driver_change(found.record->device, target.device) + ".");
  else if (!found.differences.empty())
    one.notes.push_back("Measured before a change of the spec: " + store::changes_text(found.differences) + ".");
  for (const store::Record& failure : found.failed_elsewhere)
    one.notes.push_back("Suspect: " + store::failure_text(failure) + ".");
  return one;
}

std::vector<report::ReportCase> cases_of_spec(const ReportOptions& options) {
  if (!options.kernels.empty()) throw bad_argument("--kernel chooses among a store's kernels; a spec has one");
  const run::Target target = target_for(options.source, options.common, worker::TargetNeed::device_or_named);
  const auto spec = std::make_shared<const spec::Spec>(load_spec_for(options.source, options.common, target));
  const StoredAnswers stored(*spec, options.common, target);
  std::vector<report::ReportCase> cases;
  for (const Bindings& problem : spec->cases)
    cases.push_back(case_of_spec(spec, problem, target, stored, options.common.store_path()));
  return cases;
}

/// Adds every problem on every kind of device of one kernel on one architecture. answers: keys of records, by group.
void add_cases(store::StoredMeasurements& part, const std::map<std::string, std::string>& answers,
               std::vector<report::ReportCase>& cases) {
  std::map<std::string, std::vector<store::Record>> groups;
  std::erase_if(part.records, store::is_sanitized);
  for (store::Record& record : part.records) groups[store::group_of(record)].push_back(std::move(record));
  for (auto& [name, records] : groups) {
    const Bindings problem = records.front().problem;
    const device::DeviceInfo device = records.front().device;
    const auto answer = answers.find(name);
    const auto spec = std::make_shared<const spec::Spec>(report::spec_of_records(part.kernel, records));
    cases.push_back(report::make_report_case(spec, problem, device, std::move(records),
                                             answer == answers.end() ? "" : answer->second));
  }
}

/// Without a spec, the answers are those that `store export` writes: their keys, by group.
std::map<std::string, std::string> exported_answers(const ReportOptions& options) {
  std::vector<std::string> told_before;
  store::WinnerFilter filter = winner_filter(options.common, options.kernels);
  filter.problem.clear();
  std::map<std::string, std::string> winners;
  for (const store::Winner& winner : store::winners_of(options.source, filter, told_before))
    winners[store::group_of(winner.record)] = winner.record.key;
  return winners;
}

std::vector<report::ReportCase> cases_of_store(const ReportOptions& options) {
  std::vector<std::string> warnings;
  std::vector<store::StoredMeasurements> measurements =
      store::measurements_of(options.source, winner_filter(options.common, options.kernels), warnings);
  tell_warnings(warnings);
  std::vector<report::ReportCase> cases;
  const std::map<std::string, std::string> answers = exported_answers(options);
  for (store::StoredMeasurements& part : measurements) add_cases(part, answers, cases);
  if (cases.empty())
    throw Error(ErrorKind::nothing_valid, base::printable(options.source) + ": the store has no records");
  return cases;
}

/// The command that would measure the report's contents again.
std::vector<std::string> run_words(const ReportOptions& options) {
  std::vector<std::string> words{"xtune", "run", options.source};
  const auto add = [&](const char* name, const std::string& value) {
    words.emplace_back(name);
    words.push_back(value);
  };
  for (const std::string& define : options.common.defines) add("-D", define);
  for (const std::string& filter : options.common.filters) add("--filter", filter);
  if (options.common.backend != "auto") add("--backend", options.common.backend);
  if (options.common.compiler != "auto") add("--compiler", options.common.compiler);
  if (options.common.device != "all") add("--device", options.common.device);
  return words;
}

int write_stored_report(const ReportOptions& options) {
  std::error_code ignored;
  const bool store = std::filesystem::is_directory(options.source, ignored);
  const std::vector<report::ReportCase> cases = store ? cases_of_store(options) : cases_of_spec(options);
  const ReportFile file =
      write_report_file(options.output, cases, store ? std::vector<std::string>() : run_words(options));
  if (options.common.json())
    print_json(Json{{"report", options.output},
                    {"problems", cases.size()},
                    {"records", file.records},
                    {"answered", file.answered},
                    {"bytes", file.bytes}});
  else
    print_out("{}\n", report_line(options.output, cases.size(), file));
  return file.answered > 0 ? done : nothing_valid;
}

}  // namespace

void add_report_command(CLI::App& app, Context& context) {
  const auto [command, options] = add_command<ReportOptions>(
      app, context, "report",
      "Write an HTML report of stored results: the answer, the search, what decides the time, what failed",
      "xtune report configs/gemm.toml -o gemm.html\n  xtune report ~/.cache/xtune --kernel gemm", write_stored_report);
  add_argument(command, "source", options.source, "SPEC|STORE",
               "A spec (TOML), for what the store answers to it, or the directory of a store, for all that it holds");
  add_common_options(command, options.common);
  OptionGroup(command, option_group::problem)
      .list("--kernel", options.kernels, "NAME", "Take only this kernel of a store");
  OptionGroup(command, option_group::output).value("-o,--output", options.output, "FILE", "Write to this file");
  add_store_option(command, options.common.store);
}

}  // namespace xtune::cli
