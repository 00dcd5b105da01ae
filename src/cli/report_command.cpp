// xtune report: writes the contents of a store as one HTML file. The facts that every report has about itself.
#include "cli/report_command.hpp"

#include <numeric>

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

Json write_report_file(const std::string& path, const report::ReportData& data) {
  const std::string page = report::report_page(data);
  system::write_output_file(path, page);
  std::size_t records = 0, omitted = data.omitted_records, answered = 0;
  for (const report::ReportCase& one : data.cases)
    records += one.records->size(), omitted += one.omitted, answered += one.best.has_value();
  return {{"report", path},       {"problems", data.cases.size() + data.omitted},
          {"records", records},   {"omitted", omitted},
          {"answered", answered}, {"bytes", page.size()}};
}

std::string report_line(const Json& file) {
  const auto number = [&](const char* name) { return file.at(name).get<std::size_t>(); };
  const std::size_t records = number("records"), omitted = number("omitted");
  return fmt::format("{}: {}, {}{}, {}", base::printable(file.at("report").get<std::string>()),
                     counted(number("problems"), "problem"), omitted > 0 ? fmt::format("{} of ", records) : "",
                     counted(records + omitted, "record"), base::human_bytes(number("bytes")));
}

LiveReport::LiveReport(system::EventLoop& loop, int port) : page_(loop, port, [this] { return page(); }) {}

void LiveReport::begin(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device) {
  spec_ = std::make_shared<const spec::Spec>(spec);
  problem_ = problem;
  device_ = device;
  records_.clear();
  std::erase_if(ended_, [&](const report::ReportCase& one) {
    return one.spec->kernel.name == spec.kernel.name && one.problem == problem;
  });
  page_.changed();
}

void LiveReport::add(const store::Record& record) {
  records_.push_back(record);
  page_.changed();
}

void LiveReport::end(const run::TuneResult& result) {
  ended_.push_back(report::report_case_of(std::exchange(spec_, nullptr), result));
  page_.changed();
}

void LiveReport::finish() {
  constexpr std::uint64_t patience_ms = 3000;
  over_ = true;
  page_.finish(patience_ms);
}

std::string LiveReport::page() const {
  std::vector<report::ReportCase> cases;
  // What goes on comes first.
  if (spec_ && !records_.empty()) cases.push_back(report::make_report_case(spec_, problem_, device_, records_));
  cases.insert(cases.end(), ended_.rbegin(), ended_.rend());
  report::ReportData data = report_data(cases, command_words());
  data.live = over_ ? report::ReportData::Live::ended : report::ReportData::Live::running;
  return report::report_page(data);
}

namespace {

struct ReportOptions {
  CommonOptions common;
  std::string source, output = "report.html";
  std::vector<std::string> kernels;
};

using SharedSpec = std::shared_ptr<const spec::Spec>;

/// Of all cases together, since they are in memory until the page is written: about 150 MB.
constexpr std::size_t max_records = 50'000;

/// How many records of each case of these sizes are read: all of the small ones.
std::size_t max_of_each(std::vector<std::size_t> sizes) {
  std::sort(sizes.begin(), sizes.end());
  std::size_t left = max_records;
  for (std::size_t i = 0; i < sizes.size(); left -= sizes[i++])
    if (const std::size_t share = left / (sizes.size() - i); sizes[i] > share) return share;
  return SIZE_MAX;
}

/// Without the parts of their keys, which no report shows.
std::vector<store::Record> records_of(const store::ConfigOrder& rows) {
  std::vector<store::Record> records;
  for (const store::StoredConfig* row : rows) {
    store::Record& record = records.emplace_back(store::read_record(*row));
    build::KeyParts().swap(record.key_parts);
  }
  return records;
}

/// The answer of `xtune best` for one problem, with all records of its problem and device.
report::ReportCase case_of_spec(const SharedSpec& spec, const Bindings& problem, const run::Target& target,
                                const run::StoredAnswers& stored, const std::filesystem::path& store,
                                std::size_t most) {
  store::SpecFit fit = fit_of(*spec, problem, target, store);
  const store::LookupResult found = stored.look_up(problem, fit);
  const store::LookupRules rules = fit.rules();
  const Bindings& measured = found.record ? found.record->problem : problem;
  const device::DeviceInfo& device = found.record ? found.record->device : target.device;
  const store::KeyFit worst = found.record ? store::key_fit(found.differences) : store::KeyFit::differs;
  const std::string answer = found.record ? found.record->key : "";
  const store::ConfigOrder all = answering_rows(stored.view(), measured, device, rules, worst);
  const store::ConfigOrder rows = overview_of(all, most, store::KeyDigest(answer));
  report::ReportCase one = report::make_report_case(spec, measured, device, records_of(rows), answer);
  one.omitted = all.size() - rows.size();
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

report::ReportData data_of_spec(const ReportOptions& options) {
  if (!options.kernels.empty()) throw bad_argument("--kernel chooses among a store's kernels; a spec has one");
  const run::Target target = target_for(options.source, options.common, worker::TargetNeed::device_or_named);
  const auto spec = std::make_shared<const spec::Spec>(load_spec_for(options.source, options.common, target));
  const run::StoredAnswers stored = stored_answers(*spec, options.common, target);
  report::ReportData data = report_data({}, run_words(options));
  for (const Bindings& problem : spec->cases)
    data.cases.push_back(
        case_of_spec(spec, problem, target, stored, options.common.store_path(), max_records / spec->cases.size()));
  return data;
}

/// Without a spec, the answer is that of `store export`.
report::ReportCase case_of_store(const store::StoredProblem& problem, std::size_t most) {
  const store::HeldRows held = problem.rows();
  const auto valid = valid_configs(problem, held.rows, 1);
  const std::string answer = valid.empty() ? "" : valid.front().record.key;
  const store::ConfigOrder rows = overview_of(held.rows, most, store::KeyDigest(answer));
  std::vector<store::Record> records = records_of(rows);
  const auto spec = std::make_shared<const spec::Spec>(report::spec_of_records(records.front().kernel, records));
  report::ReportCase one =
      report::make_report_case(spec, problem.sizes(), problem.device(), std::move(records), answer);
  one.omitted = held.rows.size() - rows.size();
  return one;
}

report::ReportData data_of_store(const ReportOptions& options) {
  const store::WinnerFilter filter = winner_filter(options.common, options.kernels);
  std::vector<std::string> warnings, told;
  std::vector<std::size_t> sizes;
  each_problem(options.source, filter, warnings, [&](const store::StoredProblem& problem) {
    sizes.push_back(problem.group.records);
    return true;
  });
  tell_warnings(warnings);
  if (sizes.empty())
    throw Error(ErrorKind::nothing_valid, base::printable(options.source) + ": the store has no records");
  report::ReportData data = report_data({}, {});
  data.omitted = sizes.size() - std::min(sizes.size(), report::max_cases);
  const auto shown = sizes.end() - static_cast<std::ptrdiff_t>(data.omitted);
  data.omitted_records = std::accumulate(shown, sizes.end(), std::size_t{0});
  sizes.erase(shown, sizes.end());
  const std::size_t most = max_of_each(sizes);
  each_problem(options.source, filter, told, [&](const store::StoredProblem& problem) {
    if (data.cases.size() < sizes.size()) data.cases.push_back(case_of_store(problem, most));
    return true;
  });
  return data;
}

int write_stored_report(ReportOptions& options) {
  std::error_code ignored;
  const bool store = std::filesystem::is_directory(options.source, ignored);
  if (!store) options.source = spec_named(options.source);
  const Json file = write_report_file(options.output, store ? data_of_store(options) : data_of_spec(options));
  if (options.common.json())
    print_json(file);
  else
    print_out("{}\n", report_line(file));
  return file.at("answered") > 0 ? done : nothing_valid;
}

}  // namespace

void add_report_command(CLI::App& app, Context& context) {
  const auto [command, options] = add_command<ReportOptions>(
      app, context, "report",
      "Write an HTML report of stored results: the answer, the search, what decides the time, what failed",
      "xtune report configs/gemm.toml -o gemm.html\n  xtune report ~/.cache/xtune --kernel gemm", write_stored_report);
  add_argument(
      command, "source", options.source, "SPEC|STORE",
      "A spec (TOML or a name), for what the store answers to it, or the directory of a store, for all that it holds");
  add_common_options(command, options.common);
  OptionGroup(command, option_group::problem)
      .list("--kernel", options.kernels, "NAME", "Take only this kernel of a store");
  OptionGroup(command, option_group::output).value("-o,--output", options.output, "FILE", "Write to this file");
  add_store_option(command, options.common.store);
}

}  // namespace xtune::cli
