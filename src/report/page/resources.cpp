// The resources of several kernels, the roofline, and the goals of an objective.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.hpp"
#include "core/device/device_info.hpp"
#include "core/model/rank.hpp"
#include "report/page/parts.hpp"
#include "report/text/run_report.hpp"
#include "xtune/error.hpp"

namespace xtune::report {

namespace {

bool is_measured_in_full(const CaseEvent& event) {
  return event.record->outcome == Outcome::ok && std::isfinite(event.merit) && event.counts;
}

/// Of the best configuration, if it launches several kernels; else empty.
std::string steps_table(const CaseView& view) {
  if (view.shown.ranked.empty() || view.shown.ranked.front()->steps.empty()) return "";
  const auto cell = [](const auto& value) { return value ? std::to_string(*value) : std::string("-"); };
  using enum PageTable::Cells;
  PageTable content{"Steps of the best configuration, in the order of their first launches",
                    {{"kernel"},
                     {"launches", right},
                     {"registers", right},
                     {"spilled bytes", right},
                     {"static shared bytes", right},
                     {"dynamic shared bytes", right}}};
  std::vector<std::size_t> launches;
  for (const store::StepUsage& step : view.shown.ranked.front()->steps) {
    const std::vector<std::string> row{step.entry,
                                       "",
                                       cell(step.usage.registers),
                                       cell(step.usage.spilled_bytes),
                                       cell(step.usage.static_shared_bytes),
                                       std::to_string(step.dynamic_shared_bytes)};
    const auto same = static_cast<std::size_t>(std::ranges::find(content.rows, row) - content.rows.begin());
    if (same == content.rows.size()) content.rows.push_back(row), launches.push_back(0);
    ++launches[same];
  }
  for (std::size_t i = 0; i < launches.size(); ++i) content.rows[i][1] = std::to_string(launches[i]);
  return table(content);
}

struct RooflineMarks {
  std::vector<plot::PlotPoint> points;  ///< x: operations per byte, y: operations per second in units of 1e9
  device::Rate rate = device::Rate::f32;
};

std::optional<device::DeviceModel> model_of(const device::DeviceInfo& device) try {
  return device::device_model(device);
} catch (const Error&) {
  return std::nullopt;
}

RooflineMarks roofline_marks(const CaseView& view, const device::DeviceModel& model) {
  RooflineMarks marks;
  std::vector<const CaseEvent*> events;
  std::vector<std::vector<std::uint32_t>> rows;
  const auto& parameters = view.shown.spec->parameters;
  std::set<std::vector<std::uint32_t>> known;
  for (const std::size_t place : view.drawn) {
    const CaseEvent& event = view.events[place];
    if (!is_measured_in_full(event)) continue;
    const auto row = levels_of(parameters, event.record->config);
    if (!row || !known.insert(*row).second) continue;
    rows.push_back(*row);
    events.push_back(&event);
  }
  if (rows.empty()) return marks;
  const space::Space space = space::Space::listed(parameters, rows);
  std::vector<std::uint64_t> indices;
  for (const auto& row : rows) indices.push_back(space.index_of(row).value());
  const auto work = model::modelled_work(*view.shown.spec, space, view.shown.problem, model, indices);
  for (std::size_t i = 0; i < work.size(); ++i) {
    if (!work[i] || !(work[i]->flops > 0) || !(work[i]->memory_bytes > 0)) continue;
    const double seconds = measure::statistic(events[i]->record->time_ms, view.shown.spec->measure.statistic) * 1e-3;
    if (!(seconds > 0)) continue;
    marks.points.push_back({work[i]->flops / work[i]->memory_bytes, work[i]->flops / seconds / 1e9, events[i]->row});
    marks.rate = work[i]->rate;
  }
  return marks;
}

std::string roofline_figure(const CaseView& view) {
  if (!view.shown.spec->candidates) return "";
  const auto model = model_of(view.shown.device);
  if (!model || !(model->memory_GB_s > 0) || !(model->peak(device::Rate::f32) > 0)) return "";
  const RooflineMarks marks = roofline_marks(view, *model);
  if (marks.points.empty()) return "";
  const double peak = (model->peak(marks.rate) > 0 ? model->peak(marks.rate) : model->peak(device::Rate::f32)) * 1e3;
  const double ridge = peak / model->memory_GB_s;
  std::vector<double> xs{ridge / 4, ridge * 4}, ys{peak};
  for (const plot::PlotPoint& point : marks.points) xs.push_back(point.x), ys.push_back(point.y);
  const double left = *std::min_element(xs.begin(), xs.end()) / 1.2,
               right = *std::max_element(xs.begin(), xs.end()) * 1.2;
  const double bottom = std::min(*std::min_element(ys.begin(), ys.end()), left * model->memory_GB_s) / 1.3;
  plot::Canvas canvas({"Roofline", fmt::format("Peak {:.0f} GFLOP/s, memory {:.0f} GB/s.", peak, model->memory_GB_s)},
                      {plot::PlotScale(plot::ScaleKind::logarithmic, left, right), "operations per byte", 5},
                      {plot::PlotScale(plot::ScaleKind::logarithmic, bottom, peak * 1.6), "GFLOP/s", 5});
  const std::vector<plot::PlotPoint> roof{{left, left * model->memory_GB_s, -1}, {ridge, peak, -1}, {right, peak, -1}};
  canvas.line(roof, "roof");
  canvas.word(right, peak * 1.25, fmt::format("{:.3g} TFLOP/s", peak / 1e3), "end");
  canvas.dots(marks.points, "ok", view.limits.drawn);
  return figure(canvas, "Roofline: operations and bytes by the cost model, time as measured");
}

}  // namespace

std::string resources_section(const CaseView& view) {
  const std::string plots = roofline_figure(view);
  const std::string steps = steps_table(view);
  if (plots.empty() && steps.empty()) return "";
  return heading(view.heading, "Resources") + steps + (plots.empty() ? "" : figures(plots));
}

std::string pareto_section(const CaseView& view) {
  const spec::Spec& spec = *view.shown.spec;
  if (spec.objective.goals.size() != 2 || view.shown.ranked.empty()) return "";
  const store::Objective objective(spec);
  const std::vector<std::string> names = objective.names();
  std::vector<double> xs, ys;
  std::vector<plot::PlotPoint> all, front;
  for (const store::Record* record : view.shown.ranked) {
    const std::vector<double> values = objective.values(*record);
    if (!std::isfinite(values[0]) || !std::isfinite(values[1])) continue;
    xs.push_back(values[0]), ys.push_back(values[1]);
    all.push_back({values[0], values[1], -1});
  }
  if (all.empty()) return "";
  using enum PageTable::Cells;
  PageTable content{"Pareto set: no other configuration is better in one goal without being worse in the other",
                    {{"configuration", wrapped}, {names[0], right}, {names[1], right}}};
  for (const store::Record* record : objective.pareto(view.shown.ranked)) {
    const std::vector<double> values = objective.values(*record);
    front.push_back({values[0], values[1], -1});
    content.rows.push_back(
        {config_text(spec, record->config), fmt::format("{:.4g}", values[0]), fmt::format("{:.4g}", values[1])});
  }
  std::sort(front.begin(), front.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  const auto direction = [&](std::size_t i) { return spec.objective.goals[i].maximize ? " (most)" : " (least)"; };
  plot::Canvas canvas({"Pareto set", fmt::format("{} of {}.", front.size(), counted(all.size(), "configuration"))},
                      {plot::PlotScale::fitting(xs), names[0] + direction(0), 5},
                      {plot::PlotScale::fitting(ys), names[1] + direction(1), 5});
  canvas.dots(all, "pruned", view.limits.drawn);
  canvas.line(front, "best");
  canvas.dots(front, "ok mid", view.limits.drawn);
  return heading(view.heading, "Pareto set") +
         figures(figure(canvas, "Both goals; the line joins the Pareto set") + table(content));
}

}  // namespace xtune::report
