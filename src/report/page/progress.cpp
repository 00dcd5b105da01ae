// The course of the search: the best so far, and when each configuration was measured.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "report/page/parts.hpp"

namespace xtune::report {

namespace {

struct Stretch {
  double from = 0, to = 0;
};

/// The positions of finals on an axis; adjacent ones are combined.
template <class At>
std::vector<Stretch> finals_stretches(const CaseView& view, const At& at, double apart) {
  std::vector<Stretch> found;
  for (const CaseEvent& event : view.events) {
    if (!event.of_finals) continue;
    const Stretch one = at(event);
    if (!found.empty() && one.from - found.back().to <= apart)
      found.back().to = std::max(found.back().to, one.to);
    else
      found.push_back(one);
  }
  return found;
}

/// For a long search the beginning matters most.
plot::PlotScale order_scale(const CaseView& view) {
  const bool is_long = view.events.size() >= 500;
  return {is_long ? plot::ScaleKind::logarithmic : plot::ScaleKind::linear, is_long ? 0.9 : 0,
          static_cast<double>(view.events.size()) + 0.5};
}

plot::PlotScale seconds_scale(const CaseView& view) {
  return {plot::ScaleKind::linear, 0, std::max(1e-9, view.events.back().seconds)};
}

/// One plot of the best so far. x: returns the position of an event.
template <class X>
std::string best_so_far(const CaseView& view, const std::string& x_label, const plot::PlotScale& x_scale, const X& x,
                        const std::vector<Stretch>& finals, const std::string& caption) {
  std::vector<double> merits;
  std::vector<plot::PlotPoint> steps;
  double best = NAN;
  const auto is_clean = [](const CaseEvent& event) {
    return event.record->outcome == Outcome::ok && std::isfinite(event.merit) && !event.of_finals &&
           event.record->tainted.empty();
  };
  const bool has_clean = std::any_of(view.events.begin(), view.events.end(), is_clean);
  for (const CaseEvent& event : view.events) {
    if (event.record->outcome != Outcome::ok || !std::isfinite(event.merit)) continue;
    merits.push_back(event.merit);
    if (event.of_finals || (has_clean && !is_clean(event))) continue;
    if (std::isnan(best) || view.merit.better(event.merit, best)) steps.push_back({x(event), best = event.merit, -1});
  }
  if (merits.empty()) return "";
  // A configuration that was dropped early has its smallest sample, which may be below all other times.
  const double least = *std::min_element(merits.begin(), merits.end());
  for (const CaseEvent& event : view.events)
    if (event.record->outcome == Outcome::pruned && event.merit < least) merits.push_back(event.merit);
  plot::Canvas canvas({caption, fmt::format("At the end of the search, the best is {}.", view.merit.text(best))},
                      {x_scale, x_label, 6}, {plot::PlotScale::fitting(merits), view.merit.axis(), 5});
  for (std::size_t i = 0; i < finals.size() && i < 20; ++i)
    canvas.band(finals[i].from, finals[i].to, i + 1 == finals.size() ? "finals" : "");
  const auto height = [](const CaseEvent& event) { return event.merit; };
  for (const auto& [outcome, style] : {std::pair(Outcome::pruned, "pruned"), {Outcome::ok, "ok"}})
    canvas.dots(drawn_points(view, x, height, [&](const CaseEvent& event) { return event.record->outcome == outcome; }),
                style, view.limits.drawn);
  canvas.steps(steps, "best", x_scale.high(), view.limits.drawn / 2);
  return figure(canvas, caption);
}

std::string device_lane(const store::Record& record, bool several_hosts) {
  const std::string device = fmt::format("device {}", record.device.index);
  return several_hosts ? record.host + " " + std::to_string(record.device.index) : device;
}

std::string lanes_figure(const CaseView& view) {
  bool several_hosts = false;
  for (const CaseEvent& event : view.events) several_hosts |= event.record->host != view.events[0].record->host;
  std::vector<std::string> lanes;
  for (const CaseEvent& event : view.events) base::add_once(lanes, device_lane(*event.record, several_hosts));
  std::sort(lanes.rbegin(), lanes.rend());
  if (lanes.size() > 32) lanes.resize(32);
  std::vector<plot::PlotSpan> measured, failed;
  for (const std::size_t place : view.drawn) {
    const CaseEvent& event = view.events[place];
    const auto lane = std::find(lanes.begin(), lanes.end(), device_lane(*event.record, several_hosts));
    if (event.record->bench_s <= 0 || lane == lanes.end()) continue;
    const bool good = event.record->outcome == Outcome::ok || event.record->outcome == Outcome::pruned;
    const double begin = std::max(0.0, event.seconds - event.record->bench_s);
    (good ? measured : failed).push_back({begin, event.seconds, static_cast<double>(lane - lanes.begin()), event.row});
  }
  if (measured.empty() && failed.empty()) return "";
  plot::Canvas canvas({"When the devices measured", fmt::format("{}.", counted(lanes.size(), "device"))},
                      {seconds_scale(view), "seconds of the run", 6}, {plot::PlotScale::categories(lanes), "", 10},
                      {460, 56 + 22.0 * static_cast<double>(lanes.size())});
  canvas.spans(measured, "ok");
  canvas.spans(failed, "bad");
  return figure(canvas, "When each device measured");
}

}  // namespace

std::string progress_section(const CaseView& view) {
  if (view.ok_events() == 0) return "";
  const auto by_order = [](const CaseEvent& event) { return event.number; };
  const auto by_seconds = [](const CaseEvent& event) { return event.seconds; };
  const std::vector<Stretch> orders = finals_stretches(
      view,
      [](const CaseEvent& event) {
        return Stretch{event.number - 0.5, event.number + 0.5};
      },
      0.1);
  const std::vector<Stretch> times = finals_stretches(
      view,
      [](const CaseEvent& event) {
        return Stretch{std::max(0.0, event.seconds - event.record->bench_s), event.seconds};
      },
      0.5);
  const std::string text =
      heading(view.heading, "Search") +
      figures(best_so_far(view, "evaluations", order_scale(view), by_order, orders, "Best so far against evaluations") +
              best_so_far(view, "seconds", seconds_scale(view), by_seconds, times, "Best so far against seconds"));
  std::string note =
      "The line is the best so far. Coloured dots passed; grey dots were dropped early, at their smallest "
      "sample. Pauses between runs are omitted.";
  if (view.drawn.size() < view.events.size())
    note += fmt::format(" {} of {} records are drawn, extremes always.", view.drawn.size(), view.events.size());
  return text + paragraph(note, "note");
}

std::string timeline_section(const CaseView& view) {
  if (view.events.empty()) return "";
  const std::string plot = lanes_figure(view);
  return plot.empty() ? "" : heading(view.heading, "Timeline") + figures(plot);
}

}  // namespace xtune::report
