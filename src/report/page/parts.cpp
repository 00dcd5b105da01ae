// Headings, figures and tables as HTML.
#include "report/page/parts.hpp"

#include <fmt/format.h>

#include <cmath>

namespace xtune::report {

using plot::escaped;

std::string heading(int level, std::string_view text) {
  return fmt::format("<h{0}>{1}</h{0}>\n", level, escaped(text));
}

std::string paragraph(std::string_view text, const char* style) {
  return style ? fmt::format("<p class=\"{}\">{}</p>\n", style, escaped(text))
               : fmt::format("<p>{}</p>\n", escaped(text));
}

std::string figure(const plot::Canvas& canvas, std::string_view caption, const char* style) {
  return fmt::format("<figure{}><figcaption>{}</figcaption>{}</figure>\n",
                     style ? fmt::format(" class=\"{}\"", style) : "", escaped(caption), canvas.svg());
}

std::string figures(const std::string& html) { return "<div class=\"figures\">\n" + html + "</div>\n"; }

std::string percent_bars(const std::vector<std::pair<std::string, double>>& bars, const std::string& caption,
                         const std::string& description, const std::string& axis) {
  std::vector<std::string> labels;
  std::vector<double> percents;
  for (const auto& [label, percent] : bars) {
    labels.insert(labels.begin(), label);
    percents.push_back(percent);
  }
  plot::Canvas canvas({caption, description}, {plot::PlotScale::fitting(percents, true), axis, 5},
                      {plot::PlotScale::categories(labels), "", 10},
                      {460, 50 + 22.0 * static_cast<double>(bars.size())});
  for (std::size_t i = 0; i < bars.size(); ++i)
    canvas.bar(bars.size() - 1 - i, bars[i].second, "bar", fmt::format("{}: {:.1f} %", bars[i].first, bars[i].second));
  return figure(canvas, caption);
}

std::string table(const PageTable& content) {
  const auto style = [&](std::size_t column) {
    constexpr const char* styles[] = {"", " class=\"r\"", " class=\"w\""};
    return styles[static_cast<std::size_t>(content.columns[column].cells)];
  };
  std::string text = fmt::format(
      "<div class=\"scroll{}\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"{}\"><table{}><caption>{}</caption>\n<thead><tr>",
      content.rows.size() > 30 ? " long" : "", escaped(content.caption), content.sortable ? " class=\"sortable\"" : "",
      escaped(content.caption));
  for (std::size_t i = 0; i < content.columns.size(); ++i)
    text += fmt::format("<th scope=\"col\"{}>{}</th>", style(i), escaped(content.columns[i].title));
  text += "</tr></thead>\n<tbody>\n";
  for (std::size_t number = 0; number < content.rows.size(); ++number) {
    const auto& row = content.rows[number];
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      std::string cell = escaped(row[i]);
      if (i == 0 && number < content.links.size() && !content.links[number].empty())
        cell = fmt::format("<a href=\"#{}\">{}</a>", escaped(content.links[number]), cell);
      text += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", style(i), cell)
                     : fmt::format("<td{}>{}</td>", style(i), cell);
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string facts(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string text = "<dl class=\"facts\">";
  for (const auto& [name, value] : pairs)
    if (!value.empty()) text += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(value));
  return text + "</dl>\n";
}

double quantile_of(const std::vector<double>& sorted, double part) {
  if (sorted.empty()) return NAN;
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= sorted.size()) return sorted.back();
  const double between = place - static_cast<double>(below);
  return sorted[below] * (1 - between) + sorted[below + 1] * between;
}

}  // namespace xtune::report
