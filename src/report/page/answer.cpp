// The answer: the best configuration, its interval, and its ties.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "core/space/value.hpp"
#include "core/store/best.hpp"
#include "report/page/parts.hpp"
#include "report/text/run_report.hpp"

namespace xtune::report {

namespace {

constexpr std::size_t best_listed = 10;

std::string configuration_list(const spec::Spec& spec, const Bindings& config) {
  std::string text = "<dl class=\"config\">";
  for (const space::Parameter& parameter : spec.parameters)
    if (const auto value = config.find(parameter.name); value != config.end())
      text += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", plot::escaped(parameter.name),
                          plot::escaped(space::shown_text(value->second)));
  return text + "</dl>\n";
}

std::string interval_text(const store::Record& record) {
  return fmt::format("{} to {}", base::human_time_ms(record.time_ms.low), base::human_time_ms(record.time_ms.high));
}

std::string finals_sentence(const CaseView& view, const store::Record& best) {
  const auto finals = finals_behind(
      *view.shown.records, best, store::Objective(*view.shown.spec).criterion(view.shown.problem, view.shown.device));
  if (!finals) return "";
  return fmt::format("{} in {} rounds{}", counted(finals->order().size(), "configuration"), finals->rounds(),
                     finals->decided() || view.shown.best->ties.empty() ? "" : ", no clear winner");
}

std::string noise_text(const measure::Summary& time) {
  const std::string text =
      fmt::format("{:.1f} % between the quartiles of {}", time.noise * 100, counted(time.count, "sample"));
  return time.outliers > 0 ? text + ", of which " + counted(time.outliers, "outlier") : text;
}

/// From any record of the answer that has one: those of finals do not compare again.
std::string validation_text(const CaseView& view) {
  const store::Record& best = *view.shown.best->record;
  for (const store::Record& record : *view.shown.records)
    if (record.key == best.key && record.outcome == Outcome::ok && record.validation) {
      if (!record.validation->has_reference()) return "none: no reference was compared; " + record.validation->text();
      return fmt::format("{} agrees with the reference; largest error {:.2g}, relative {:.2g}",
                         record.validation->output.empty() ? "output" : record.validation->output,
                         record.validation->max_abs_error, record.validation->max_rel_error);
    }
  return "none: no reference was compared";
}

std::size_t tried(const CaseView& view) {
  return static_cast<std::size_t>(std::ranges::count_if(view.events, &CaseEvent::counts));
}

std::string search_text(const CaseView& view) {
  if (view.shown.space_size == 0) return "";
  return fmt::format("{} of {} valid configurations tried", tried(view), view.shown.space_size);
}

std::string ties_text(const CaseView& view) {
  const auto& ties = view.shown.best->ties;
  if (ties.empty()) return "none: every other configuration is slower beyond the noise";
  return fmt::format("{} tied with it", counted(ties.size(), "other configuration"));
}

std::string gain_text(const CaseView& view) {
  if (!view.merit.is_time()) return "";
  std::vector<double> times;
  for (const store::Record* record : view.shown.ranked) times.push_back(view.merit.of(*record));
  if (times.size() < 4) return "";
  const double best = times.front();
  std::sort(times.begin(), times.end());
  return fmt::format(
      "{:.2f} times as fast as the median of the {} measured in full, {:.1f} times as fast as the slowest",
      quantile_of(times, 0.5) / best, times.size(), times.back() / best);
}

/// The best configurations with their intervals, the answer and its ties in the accent colour.
std::string best_figure(const CaseView& view) {
  const auto& ranked = view.shown.ranked;
  const std::size_t count = std::min(best_listed, ranked.size());
  if (count < 2) return "";
  const plot::TimeUnit unit = plot::time_unit(ranked.front()->time_ms.median);
  const auto time_of = [&](const store::Record& record) {
    return measure::statistic(record.time_ms, view.shown.spec->measure.statistic);
  };
  // Those of the others are intervals of their ratios to the best.
  const auto interval_of = [&](const store::Record& record) {
    const auto ratio = view.shown.standings->ratio(record);
    if (!ratio || &record == ranked.front() || !view.shown.standings->by_time())
      return std::pair(record.time_ms.low, record.time_ms.high);
    return std::pair(ratio->low * time_of(*ranked.front()), ratio->high * time_of(*ranked.front()));
  };
  std::vector<double> ends;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < count; ++i) {
    labels.insert(labels.begin(), std::to_string(i + 1));
    const auto [low, high] = interval_of(*ranked[i]);
    for (const double time_ms : {low, high, time_of(*ranked[i])}) ends.push_back(time_ms * unit.per_ms);
  }
  plot::Canvas canvas({fmt::format("The {} best configurations with their 95 % intervals", count),
                       fmt::format("The best takes {}, interval {}.", base::human_time_ms(time_of(*ranked[0])),
                                   interval_text(*ranked[0]))},
                      {plot::PlotScale::fitting(ends), std::string("time, ") + unit.name, 5},
                      {plot::PlotScale::categories(labels), "", 10}, {460, 48 + 20.0 * static_cast<double>(count)});
  const auto& ties = view.shown.best->ties;
  for (std::size_t i = 0; i < count; ++i) {
    const bool told_apart = i > 0 && std::none_of(ties.begin(), ties.end(), [&](const store::Record* tie) {
                              return tie->config == ranked[i]->config;
                            });
    const std::size_t y = count - 1 - i;
    const auto [low, high] = interval_of(*ranked[i]);
    canvas.whisker(y, low * unit.per_ms, high * unit.per_ms, told_apart ? "quiet" : "ok");
    const plot::PlotPoint dot{time_of(*ranked[i]) * unit.per_ms, static_cast<double>(y), -1};
    canvas.dots({&dot, 1}, told_apart ? "big quiet" : "big ok", 4);
  }
  return figure(canvas, ties.empty()
                            ? "The best by rank, with 95 % intervals"
                            : "The best by rank, with 95 % intervals; coloured: no difference beyond the noise");
}

std::string ties_table(const CaseView& view) {
  const auto& ties = view.shown.best->ties;
  if (ties.empty()) return "";
  using enum PageTable::Cells;
  PageTable content{
      "Configurations tied with the best",
      {{"configuration", wrapped}, {view.merit.name(), right}, {"vs best", right}, {"95 % interval", right}}};
  for (std::size_t i = 0; i < ties.size() && i < best_listed; ++i) {
    const store::Ratio ratio = view.shown.standings->ratio(*ties[i]).value_or(store::Ratio());
    content.rows.push_back({config_text(*view.shown.spec, ties[i]->config), view.merit.text(view.merit.of(*ties[i])),
                            fmt::format("{:.3f}", ratio.value),
                            fmt::format("{:.3f} .. {:.3f}", ratio.low, ratio.high)});
  }
  std::string text = table(content);
  if (ties.size() > best_listed) text += paragraph(fmt::format("{} more tie.", ties.size() - best_listed), "note");
  return fmt::format("<details><summary>{} within the noise</summary>{}</details>\n",
                     counted(ties.size(), "configuration"), text);
}

std::string reference_sentence(const CaseView& view, const store::Record& best) {
  const measure::Statistic by = view.shown.spec->measure.statistic;
  const auto speedup = store::speedup(best, by);
  if (!speedup || view.shown.spec->validate.reference.config) return "";
  return fmt::format("{:.3g} times as fast as {}, which takes {}", *speedup, best.reference->name,
                     base::human_time_ms(store::reference_ms(best, by).value()));
}

/// The default configuration, if it was measured, compared with the best one.
std::string default_text(const ReportCase& shown) {
  const store::Record* const found =
      record_of(shown.default_config, *shown.standings, store::RecordPointers(*shown.records));
  return default_sentence(*shown.spec, found, *shown.standings);
}

std::string match_text(const ReportCase& shown) {
  if (shown.match == store::Match::exact || shown.match == store::Match::none) return "";
  return fmt::format("measured for {} on {}: the {} to {}", space::shown_text(shown.problem), shown.device.name,
                     shown.match == store::Match::bucket ? "nearest of the same bucket" : "nearest",
                     space::shown_text(shown.asked));
}

std::string no_answer(const CaseView& view) {
  std::string text = paragraph("No configuration passed", "big none");
  text += paragraph(view.events.empty() ? "The store holds no record of this problem."
                                        : fmt::format("{} tried; none compiled, ran and gave the right result.",
                                                      counted(tried(view), "configuration")));
  return text;
}

}  // namespace

std::string answer_section(const CaseView& view) {
  const ReportCase& shown = view.shown;
  std::string text = heading(view.heading, "Answer");
  for (const std::string& note : shown.notes) text += paragraph(note, "note");
  if (shown.omitted > 0)
    text += paragraph(
        fmt::format("{} of {} records are shown: the best, those of finals, and others evenly spread in time. Counts, "
                    "medians and importance are of these; `xtune store export --format csv` writes all of them.",
                    shown.records->size(), shown.records->size() + shown.omitted),
        "note");
  if (device::is_emulated(shown.device))
    text += paragraph(fmt::format("The GPU is emulated: {}.", device::simulated_times), "note");
  if (!shown.best) return text + no_answer(view);
  const store::Record& best = *shown.best->record;
  const double time_ms = measure::statistic(best.time_ms, shown.spec->measure.statistic);
  text += "<div class=\"answer\"><div>\n";
  text += fmt::format("<p class=\"big\">{}</p><p class=\"interval\">{}95 % interval {}</p>\n",
                      plot::escaped(base::human_time_ms(time_ms)),
                      shown.spec->measure.statistic == measure::Statistic::median ? "" : "median&#39;s ",
                      plot::escaped(interval_text(best)));
  text += configuration_list(*shown.spec, best.config);
  std::string metrics = metrics_text(*shown.spec, best);
  text += facts(
      {{"metrics", metrics},
       {"objective", shown.spec->objective.goals.empty() ? "" : objective_text(*shown.spec, best).substr(11)},
       {"gain", gain_text(view)},
       {"reference", reference_sentence(view, best)},
       {"default", default_text(shown)},
       {"ties", ties_text(view)},
       {"search", search_text(view)},
       {"validation", validation_text(view)},
       {"finals", finals_sentence(view, best)},
       {"match", match_text(shown)},
       {"tainted", fmt::format("{}", fmt::join(best.tainted, "; "))},
       {"repeatable", best.repeatable ? best.repeatable->text() : ""},
       {"clock", best.device.locked_clock_mhz > 0 ? fmt::format("fixed at {} MHz", best.device.locked_clock_mhz) : ""},
       {"noise", noise_text(best.time_ms)}});
  text += "</div>\n" + best_figure(view) + "</div>\n";
  return text + ties_table(view);
}

std::string case_title(const ReportCase& shown) {
  const std::string problem = space::shown_text(shown.asked);
  const std::string device = shown.device.name.empty() ? shown.device.arch : shown.device.name;
  return problem.empty() ? device : problem + " on " + device;
}

}  // namespace xtune::report
