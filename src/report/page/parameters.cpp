// The parameters that determine the time, and their fast values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/space/value.hpp"
#include "report/page/parts.hpp"

namespace xtune::report {

namespace {

constexpr std::size_t most_parameters = 16, most_groups = 16, most_cells = 20, most_bars = 10;

/// Names and shares, largest first, as bars.
std::string share_bars(const std::vector<std::pair<std::string, double>>& shares, const std::string& caption) {
  if (shares.empty()) return "";
  std::vector<std::pair<std::string, double>> percents;
  for (const auto& [name, share] : shares)
    if (percents.size() < most_bars) percents.emplace_back(name, share * 100);
  const auto& [name, percent] = percents.front();
  return percent_bars(percents, caption, fmt::format("{} explains most, {:.0f} %.", name, percent),
                      "share of the variance, %");
}

std::string importance_figures(const CaseView& view) {
  std::vector<std::pair<std::string, double>> alone, pairs;
  for (const auto& one : view.importance.parameters) alone.emplace_back(view.varied[one.parameter].name, one.share);
  for (const auto& one : view.importance.pairs)
    if (one.share >= 0.005)
      pairs.emplace_back(view.varied[one.first].name + " \u00d7 " + view.varied[one.second].name, one.share);
  return share_bars(alone, "Importance of each parameter") +
         share_bars(pairs, "Importance of pairs, beyond each by itself");
}

/// The best of each pair of values.
struct PairCell {
  double best = NAN;
  std::size_t tried = 0, passed = 0;
};

std::vector<std::string> value_labels(const space::Parameter& parameter) {
  std::vector<std::string> labels;
  for (const Value& value : parameter.values) labels.push_back(space::shown_text(value));
  return labels;
}

/// 0: the best; 8: the worst.
int heat_of(double value, double best, double worst) {
  const bool ratios = best > 0 && worst > 0;
  const double whole = ratios ? std::log(worst / best) : worst - best;
  if (!(std::abs(whole) > 1e-12)) return 0;
  const double part = (ratios ? std::log(value / best) : value - best) / whole;
  return std::clamp(static_cast<int>(part * 9), 0, 8);
}

std::string pair_map(const CaseView& view) {
  if (view.importance.parameters.size() < 2) return "";
  std::size_t first = view.importance.parameters[0].parameter, second = view.importance.parameters[1].parameter;
  if (view.varied[first].values.size() < view.varied[second].values.size()) std::swap(first, second);
  const space::Parameter &across = view.varied[first], &up = view.varied[second];
  if (across.values.size() > most_cells || up.values.size() > most_cells) return "";
  std::map<std::pair<std::size_t, std::size_t>, PairCell> cells;
  double best = NAN, worst = NAN;
  for (const CaseEvent& event : view.events) {
    const auto x = view.level(*event.record, first), y = view.level(*event.record, second);
    if (!x || !y || !event.counts) continue;
    PairCell& cell = cells[{*x, *y}];
    ++cell.tried;
    if (event.record->outcome != Outcome::ok || !std::isfinite(event.merit)) continue;
    ++cell.passed;
    if (std::isnan(cell.best) || view.merit.better(event.merit, cell.best)) cell.best = event.merit;
  }
  for (const auto& [place, cell] : cells) {
    if (std::isnan(cell.best)) continue;
    if (std::isnan(best) || view.merit.better(cell.best, best)) best = cell.best;
    if (std::isnan(worst) || view.merit.better(worst, cell.best)) worst = cell.best;
  }
  plot::Canvas canvas({fmt::format("Best {} by {} and {}", view.merit.name(), across.name, up.name),
                       fmt::format("From {} to {}.", view.merit.text(best), view.merit.text(worst))},
                      {plot::PlotScale::categories(value_labels(across)), across.name, 10},
                      {plot::PlotScale::categories(value_labels(up)), up.name, 10},
                      {460, 74 + std::max(60.0, 26.0 * static_cast<double>(up.values.size()))});
  for (const auto& [place, cell] : cells) {
    const std::string where = fmt::format("{}={} {}={}", across.name, space::shown_text(across.values[place.first]),
                                          up.name, space::shown_text(up.values[place.second]));
    const std::string counts = fmt::format("{} of {} measured in full", cell.passed, cell.tried);
    if (std::isnan(cell.best)) {
      canvas.cell(place.first, place.second, "heat none", where + ": " + counts, "\u2013");
      continue;
    }
    const std::string style = fmt::format("heat q{}", heat_of(cell.best, best, worst));
    canvas.cell(place.first, place.second, style.c_str(),
                where + ": best " + view.merit.text(cell.best) + ", " + counts, plot::short_number(cell.best));
  }
  return figure(canvas, fmt::format("Best {} by the two most important parameters", view.merit.axis()));
}

/// The merits of one value of a parameter, or of several adjacent ones.
struct ValueGroup {
  std::string label;
  std::vector<double> merits;
  std::size_t tried = 0;
};

std::vector<ValueGroup> groups_of(const CaseView& view, std::size_t parameter) {
  const auto& values = view.varied[parameter].values;
  const std::size_t count = std::min(most_groups, values.size());
  std::vector<ValueGroup> groups(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = (i * values.size() + count - 1) / count;
    const std::size_t end = ((i + 1) * values.size() + count - 1) / count - 1;
    groups[i].label = space::shown_text(values[begin]);
    if (end > begin) groups[i].label += "\u2013" + space::shown_text(values[end]);
  }
  for (const CaseEvent& event : view.events) {
    const auto at = view.level(*event.record, parameter);
    if (!at || !event.counts) continue;
    ValueGroup& group = groups[*at * count / values.size()];
    ++group.tried;
    if (event.record->outcome == Outcome::ok && std::isfinite(event.merit)) group.merits.push_back(event.merit);
  }
  for (ValueGroup& group : groups) std::sort(group.merits.begin(), group.merits.end());
  return groups;
}

std::string values_figure(const CaseView& view, std::size_t parameter, const std::vector<ValueGroup>& groups,
                          const plot::PlotScale& scale) {
  std::vector<std::string> labels;
  std::size_t fastest = 0;
  const auto best_of_group = [&](const ValueGroup& group) {
    return group.merits.empty() ? NAN : view.merit.maximize() ? group.merits.back() : group.merits.front();
  };
  for (std::size_t i = 0; i < groups.size(); ++i) {
    labels.push_back(groups[i].label);
    const double best = best_of_group(groups[fastest]), mine = best_of_group(groups[i]);
    if (std::isnan(best) || view.merit.better(mine, best)) fastest = i;
  }
  const std::string& name = view.varied[parameter].name;
  plot::Canvas canvas({fmt::format("{} by {}", view.merit.name(), name),
                       fmt::format("The best has {}={}.", name, groups[fastest].label)},
                      {plot::PlotScale::categories(labels), "", 8}, {scale, "", 4}, {230, 160});
  std::vector<plot::PlotPoint> bests;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::vector<double>& merits = groups[i].merits;
    if (merits.empty()) continue;
    const auto x = static_cast<double>(i);
    const std::string tip = fmt::format("{}={}: best {}, median {}, {} of {} measured in full", name, groups[i].label,
                                        view.merit.text(best_of_group(groups[i])),
                                        view.merit.text(quantile_of(merits, 0.5)), merits.size(), groups[i].tried);
    canvas.box(x - 0.28, quantile_of(merits, 0.25), x + 0.28, quantile_of(merits, 0.75), "quartiles", tip);
    const std::vector<plot::PlotPoint> median{{x - 0.28, quantile_of(merits, 0.5), -1},
                                              {x + 0.28, quantile_of(merits, 0.5), -1}};
    canvas.line(median, "median");
    bests.push_back({x, best_of_group(groups[i]), -1});
  }
  canvas.dots(bests, "ok mid", most_groups * 4);
  return figure(canvas, name);
}

}  // namespace

std::string parameters_section(const CaseView& view) {
  if (view.varied.empty() || view.ok_events() == 0) return "";
  std::string text = heading(view.heading, "Parameters");
  if (const std::string plots = importance_figures(view) + pair_map(view); !plots.empty()) {
    text +=
        figures(plots) +
        paragraph("Importance is the share of the variance of the logarithm of " + view.merit.name() +
                      " that a regression forest of the measured configurations explains by one parameter, or by two "
                      "together. In the map the strongest colour is the best; a dash: none measured in full.",
                  "note");
  } else {
    text += paragraph("Too few configurations were measured in full to tell how important each parameter is.", "note");
  }
  std::vector<std::vector<ValueGroup>> groups;
  std::vector<double> drawn;
  for (std::size_t i = 0; i < view.order.size() && i < most_parameters; ++i) {
    groups.push_back(groups_of(view, view.order[i]));
    for (const ValueGroup& group : groups.back())
      for (const double part : {0.0, 0.25, 0.75, 1.0})
        if (!group.merits.empty() && (part != (view.merit.maximize() ? 0.0 : 1.0)))
          drawn.push_back(quantile_of(group.merits, part));
  }
  const plot::PlotScale scale = plot::PlotScale::fitting(drawn);
  text += fmt::format("<h{0}>{1}</h{0}>\n<div class=\"multiples\">\n", view.heading + 1,
                      plot::escaped("By value: " + view.merit.axis()));
  for (std::size_t i = 0; i < groups.size(); ++i) text += values_figure(view, view.order[i], groups[i], scale);
  text += "</div>\n" + paragraph("Box: quartiles; bar: median; dot: the best with that value.", "note");
  return text;
}

}  // namespace xtune::report
