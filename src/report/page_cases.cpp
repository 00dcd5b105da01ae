// An overview of all cases of a report, and the cost of one configuration for all of them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "core/record/across.hpp"
#include "plot/markup.hpp"
#include "report/page_parts.hpp"
#include "report/page_sections.hpp"
#include "report/run_report.hpp"

namespace xtune::report {
namespace {

constexpr std::size_t most_cases = 500, most_ratios = 40;

bool has_several_kernels(const ReportData& data) {
  return std::any_of(data.cases.begin(), data.cases.end(),
                     [&](const ReportCase& one) { return one.spec->kernel.name != data.cases[0].spec->kernel.name; });
}

std::string overview(const ReportData& data, std::size_t shown_whole) {
  const bool several = has_several_kernels(data);
  PageTable content;
  content.caption = "The best configuration of each problem";
  content.sortable = true;
  content.header = {"problem", "device", "time", "95 % interval", "ties", "best configuration"};
  content.right = {false, false, true, true, true, false};
  content.wraps = {true, false, false, false, false, true};
  for (std::size_t i = 0; i < data.cases.size() && i < most_cases; ++i) {
    const ReportCase& one = data.cases[i];
    std::string problem = space::shown_text(one.asked);
    if (several || problem.empty()) problem = one.spec->kernel.name + (problem.empty() ? "" : ": " + problem);
    content.links.push_back(i < shown_whole ? fmt::format("case-{}", i + 1) : "");
    if (!one.best) {
      content.rows.push_back({problem, one.device.name, "", "", "", "none passed"});
      continue;
    }
    const record::Record& best = *one.best->record;
    content.rows.push_back({problem, one.device.name,
                            base::human_time_ms(measure::statistic(best.time_ms, one.spec->measure.statistic)),
                            base::human_time_ms(best.time_ms.low) + " .. " + base::human_time_ms(best.time_ms.high),
                            std::to_string(one.best->ties.size()), config_text(*one.spec, best.config)});
  }
  return table(content);
}

std::string ratio_figure(const std::vector<const ReportCase*>& cases, const record::AcrossChoice& choice) {
  const std::size_t count = std::min(most_ratios, cases.size());
  std::vector<std::string> labels;
  std::vector<double> losses;
  for (std::size_t i = 0; i < count; ++i) {
    labels.insert(labels.begin(), space::shown_text(cases[i]->problem));
    losses.push_back((choice.ratios[i] - 1) * 100);
  }
  const std::string caption = "Regret: how much worse than each problem's own best";
  plot::Canvas canvas({caption, fmt::format("At worst {:.1f} %.", *std::max_element(losses.begin(), losses.end()))},
                      {plot::PlotScale::fitting(losses, true), "regret, %", 5},
                      {plot::PlotScale::categories(labels), "", 10}, {460, 50 + 20.0 * static_cast<double>(count)});
  for (std::size_t i = 0; i < count; ++i)
    canvas.bar(count - 1 - i, losses[i], "bar",
               fmt::format("{}: {:.1f} %", space::shown_text(cases[i]->problem), losses[i]));
  return figure(canvas, caption);
}

/// For the cases of one spec on one kind of device.
std::string regret(const std::vector<const ReportCase*>& cases) {
  const spec::Spec& spec = *cases[0]->spec;
  std::vector<record::CaseRecords> records;
  for (const ReportCase* one : cases) records.push_back({one->problem, one->device, one->ranked});
  const std::string where = fmt::format("{} on {}", spec.kernel.name, cases[0]->device.name);
  const auto choice = record::choose_across(record::Objective(spec), spec.objective.across, records);
  if (!choice)
    return paragraph(fmt::format("{}: no configuration was measured in full for each of its {} problems, so the regret "
                                 "of one for all is unknown.",
                                 where, cases.size()),
                     "note");
  const bool worst = spec.objective.across == spec::ObjectiveSpec::Across::worst;
  return "<div class=\"figures\">\n" + ratio_figure(cases, *choice) + "<div>" +
         paragraph(fmt::format("One configuration for all {} problems of {}: {} {:.3f} times each problem's best.",
                               cases.size(), where, worst ? "at worst" : "in geometric mean", choice->score)) +
         paragraph(config_text(spec, choice->config), "code") + "</div></div>\n";
}

}  // namespace

std::string cases_section(const ReportData& data, std::size_t shown_whole) {
  if (data.cases.size() < 2) return "";
  std::string text = heading(2, "All problems") + overview(data, shown_whole);
  if (data.cases.size() > shown_whole)
    text += paragraph(
        fmt::format("The sections below are of the first {} problems; -D and --kernel choose others.", shown_whole),
        "note");
  std::map<std::string, std::vector<const ReportCase*>> groups;
  for (const ReportCase& one : data.cases)
    if (one.match != record::Match::none)
      groups[one.spec->kernel.name + "\n" + one.device.backend + "\n" + one.device.arch + "\n" + one.device.name]
          .push_back(&one);
  for (const auto& [name, cases] : groups)
    if (cases.size() > 1) text += regret(cases);
  return text;
}

}  // namespace xtune::report
