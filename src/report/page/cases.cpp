// What concerns all cases: the list of them, one configuration for all, and how to measure again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.hpp"
#include "core/store/objective.hpp"
#include "report/page/page.hpp"
#include "report/page/parts.hpp"
#include "report/text/run_report.hpp"
#include "system/clock.hpp"
#include "system/shell_words.hpp"

namespace xtune::report {

namespace {

constexpr std::size_t most_ratios = 40;

bool has_several_kernels(const ReportData& data) {
  return std::any_of(data.cases.begin(), data.cases.end(),
                     [&](const ReportCase& one) { return one.spec->kernel.name != data.cases[0].spec->kernel.name; });
}

std::string overview(const ReportData& data, std::size_t shown_whole) {
  const bool several = has_several_kernels(data);
  using enum PageTable::Cells;
  PageTable content{"The best configuration of each problem",
                    {{"problem", wrapped},
                     {"device"},
                     {"time", right},
                     {"95 % interval", right},
                     {"ties", right},
                     {"best configuration", wrapped}}};
  content.sortable = true;
  for (std::size_t i = 0; i < data.cases.size() && i < max_cases; ++i) {
    const ReportCase& one = data.cases[i];
    std::string problem = space::shown_text(one.asked);
    if (several || problem.empty()) problem = one.spec->kernel.name + (problem.empty() ? "" : ": " + problem);
    content.links.push_back(i < shown_whole ? fmt::format("case-{}", i + 1) : "");
    if (!one.best) {
      content.rows.push_back({problem, one.device.name, "", "", "", "none passed"});
      continue;
    }
    const store::Record& best = *one.best->record;
    content.rows.push_back({problem, one.device.name,
                            base::human_time_ms(measure::statistic(best.time_ms, one.spec->measure.statistic)),
                            base::human_time_ms(best.time_ms.low) + " .. " + base::human_time_ms(best.time_ms.high),
                            std::to_string(one.best->ties.size()), config_text(*one.spec, best.config)});
  }
  return table(content);
}

std::string ratio_figure(const std::vector<const ReportCase*>& cases, const store::AcrossChoice& choice) {
  std::vector<std::pair<std::string, double>> regrets;
  double worst = 0;
  for (std::size_t i = 0; i < std::min(most_ratios, cases.size()); ++i) {
    regrets.emplace_back(space::shown_text(cases[i]->problem), (choice.ratios[i] - 1) * 100);
    worst = std::max(worst, regrets.back().second);
  }
  return percent_bars(regrets, "Regret: how much worse than each problem's own best",
                      fmt::format("At worst {:.1f} %.", worst), "regret, %");
}

/// For the cases of one spec on one kind of device.
std::string regret(const std::vector<const ReportCase*>& cases) {
  const spec::Spec& spec = *cases[0]->spec;
  std::vector<store::CaseRecords> records;
  for (const ReportCase* one : cases) records.push_back({one->problem, one->device, one->ranked});
  const std::string where = fmt::format("{} on {}", spec.kernel.name, cases[0]->device.name);
  if (std::any_of(cases.begin(), cases.end(), [](const ReportCase* one) { return one->omitted > 0; }))
    return paragraph(where +
                         ": not all records are shown, so one configuration for all problems is not chosen here; "
                         "`xtune cover` does it from all of them.",
                     "note");
  const auto choice = store::choose_across(store::Objective(spec), spec.objective.across, records);
  if (!choice)
    return paragraph(fmt::format("{}: no configuration was measured in full for each of its {} problems, so the regret "
                                 "of one for all is unknown.",
                                 where, cases.size()),
                     "note");
  const bool worst = spec.objective.across == spec::ObjectiveSpec::Across::worst;
  return figures(
      ratio_figure(cases, *choice) + "<div>" +
      paragraph(fmt::format("One configuration for all {} problems of {}: {} {:.3f} times each problem's best.",
                            cases.size(), where, worst ? "at worst" : "in geometric mean", choice->score)) +
      paragraph(config_text(spec, choice->config), "code") + "</div>");
}

}  // namespace

std::string cases_section(const ReportData& data, std::size_t shown_whole) {
  if (data.cases.size() < 2) return "";
  std::string text = heading(2, "All problems") + overview(data, shown_whole);
  if (const std::size_t all = data.cases.size() + data.omitted; all > max_cases)
    text += paragraph(
        fmt::format("The table has the first {} of {} problems; -D and --kernel choose others.", max_cases, all),
        "note");
  if (data.cases.size() > shown_whole)
    text += paragraph(
        fmt::format("The sections below are of the first {} problems; -D and --kernel choose others.", shown_whole),
        "note");
  std::map<std::string, std::vector<const ReportCase*>> groups;
  for (const ReportCase& one : data.cases)
    if (one.match != store::Match::none)
      groups[one.spec->kernel.name + "\n" + one.device.backend + "\n" + one.device.arch + "\n" + one.device.name]
          .push_back(&one);
  for (const auto& [name, cases] : groups)
    if (cases.size() > 1) text += regret(cases);
  return text;
}

namespace {

constexpr std::size_t longest_spec = 64 << 10, most_listed = 6;

/// Texts that differ between records: "A, B and 3 more".
std::string few_of(std::vector<std::string> texts) {
  std::erase(texts, "");
  const std::size_t listed = std::min(texts.size(), most_listed);
  return fmt::format("{}{}", fmt::join(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(listed), ", "),
                     texts.size() > listed ? fmt::format(" and {} more", texts.size() - listed) : "");
}

/// "1980 MHz", "1950 to 1980 MHz"; empty if none is known.
std::string range_of(const ReportCase& one, double measure::Telemetry::*member, const char* unit) {
  double low = HUGE_VAL, high = 0;
  for (const store::Record& record : *one.records)
    if (const double value = record.telemetry.*member; value > 0)
      low = std::min(low, value), high = std::max(high, value);
  if (high == 0) return "";
  if (high - low < 0.5) return fmt::format("{:.0f} {}", low, unit);
  return fmt::format("{:.0f} to {:.0f} {}", low, high, unit);
}

std::string device_facts_list(const ReportCase& one, const std::string& name) {
  std::vector<std::string> compilers, drivers, hosts;
  std::set<std::string> attempts;
  for (const store::Record& record : *one.records) {
    base::add_once(compilers, record.toolchain);
    base::add_once(drivers, record.device.driver);
    base::add_once(hosts, record.host);
    attempts.insert(record.attempt);
  }
  std::string when;
  if (!one.records->empty())
    when = fmt::format("{} to {}, {}", system::utc_text(one.records->front().unix_time_ms),
                       system::utc_text(one.records->back().unix_time_ms), counted(attempts.size(), "run"));
  const device::DeviceInfo& device = one.device;
  return facts(
      {{"device", name},
       {"architecture", device.arch},
       {"backend", device.backend},
       {"driver", few_of(drivers)},
       {"compute units", device.compute_units ? std::to_string(device.compute_units) : ""},
       {"memory", device.memory_bytes ? base::human_bytes(static_cast<std::uint64_t>(device.memory_bytes)) : ""},
       {"clocks while measuring", range_of(one, &measure::Telemetry::clock_mhz, "MHz")},
       {"temperature", range_of(one, &measure::Telemetry::temperature_c, "\u00b0C")},
       {"power", range_of(one, &measure::Telemetry::power_w, "W")},
       {"compiler", few_of(compilers)},
       {"host", few_of(hosts)},
       {"measured", when}});
}

std::string command_block(const std::vector<std::string>& words) {
  return fmt::format("<pre tabindex=\"0\"><code>{}</code></pre>\n", plot::escaped(system::command_line(words)));
}

std::string spec_text(const spec::Spec& spec) {
  if (!spec.text || spec.text->empty()) return "";
  std::string text = spec.text->substr(0, longest_spec);
  const bool cut = text.size() < spec.text->size();
  return fmt::format("<details><summary>Spec {}</summary><pre tabindex=\"0\"><code>{}</code></pre>{}</details>\n",
                     plot::escaped(spec.path.filename().string()), plot::escaped(text),
                     cut ? paragraph("The rest of the spec is omitted.", "note") : "");
}

}  // namespace

std::string origin_section(const ReportData& data) {
  std::string text = heading(2, "Reproduce");
  if (data.run_command.empty())
    text += paragraph("A store does not hold the commands that filled it.", "note");
  else
    text += paragraph("This measures again what the store does not answer; --fresh measures all:") +
            command_block(data.run_command);
  if (data.command != data.run_command) text += paragraph("This wrote the report:") + command_block(data.command);
  std::vector<std::string> devices;
  std::set<const spec::Spec*> specs;
  for (const ReportCase& one : data.cases) {
    if (!one.records->empty() && std::find(devices.begin(), devices.end(), one.device.name) == devices.end()) {
      devices.push_back(one.device.name);
      text += device_facts_list(one, one.device.name);
    }
  }
  for (const ReportCase& one : data.cases)
    if (specs.insert(one.spec.get()).second) text += spec_text(*one.spec);
  return text;
}

}  // namespace xtune::report
