// Tries lines with fewer and fewer parts.
#include <fmt/core.h>

#include <cmath>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "report/text/run_report.hpp"
#include "report/text/table.hpp"

namespace xtune::report {

namespace {

/// The state of a run without a result: "compiling 10, 2 s".
std::string waiting_text(const run::Progress& progress) {
  const std::string what = progress.compiling > 0 ? fmt::format("compiling {}", progress.compiling)
                           : progress.waiting > 0 ? fmt::format("measuring the first of {}", progress.waiting + 1)
                                                  : "measuring";
  const double seconds = std::floor(progress.elapsed_s);
  return fmt::format("{}, {}", what, seconds < 60 ? fmt::format("{:.0f} s", seconds) : base::human_seconds(seconds));
}

std::string joined(std::string_view between, std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts)
    if (!part.empty()) text.append(text.empty() ? "" : between).append(part);
  return text;
}

/// The words that fit; a word that does not is replaced by "...", as are those behind it.
std::string fitting_words(const std::vector<std::string>& words, std::size_t width) {
  constexpr std::string_view more = "...";
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string longer = joined(" ", {text, words[i]});
    const std::size_t rest = i + 1 < words.size() ? 1 + more.size() : 0;
    if (columns_of(longer) + rest > width) return text.empty() ? "" : joined(" ", {text, more});
    text = longer;
  }
  return text;
}

/// The best configuration: the parameters that differ from the default, or all if none does.
std::vector<std::string> telling_words(const spec::Spec& spec, const run::Progress& progress) {
  std::vector<std::string> differing, all;
  for (const space::Parameter& parameter : spec.parameters) {
    const auto found = progress.best->config.find(parameter.name);
    if (found == progress.best->config.end()) continue;
    all.push_back(parameter.name + "=" + space::shown_text(found->second));
    if (!progress.default_config) continue;
    const auto usual = progress.default_config->find(parameter.name);
    if (usual == progress.default_config->end() || usual->second != found->second) differing.push_back(all.back());
  }
  return differing.empty() ? all : differing;
}

}  // namespace

std::string progress_line(const spec::Spec& spec, const run::Progress& progress, std::size_t width) {
  std::string head = fmt::format("[{}/{}]", progress.done, progress.total);
  if (width > 0 && progress.done == 0) {
    const std::string line = head + " " + waiting_text(progress);
    return columns_of(line) <= width ? line : head;
  }
  if (progress.best)
    head += " best " + base::human_time_ms(measure::statistic(progress.best->time_ms, spec.measure.statistic));
  std::string rate, left;
  const double fresh = static_cast<double>(progress.done - progress.from_store);
  if (progress.elapsed_s > 0 && fresh > 0) {
    const double per_s = fresh / progress.elapsed_s;
    rate = fmt::format("{:.1f} configs/s", per_s);
    if (progress.total > progress.done)
      left = base::human_seconds(static_cast<double>(progress.total - progress.done) / per_s) + " left";
  }
  std::string queues = fmt::format("{} compiling, {} waiting", progress.compiling, progress.waiting);
  const std::string config = progress.best ? config_text(spec, progress.best->config) : "";
  if (width == 0) return joined(" | ", {head, joined(", ", {rate, left}), queues, config});
  if (progress.finals) queues.clear(), left = "measuring the best again, side by side";
  const std::string pace = joined(progress.finals ? " | " : ", ", {rate, left});
  for (const std::string& line : {joined(" | ", {head, pace, queues, config}), joined(" | ", {head, pace, config}),
                                  joined(" | ", {head, left, config})})
    if (columns_of(line) <= width) return line;
  if (progress.finals) left = "finals";
  std::string line = joined(" | ", {head, left});
  if (columns_of(line) > width) return columns_of(head) <= width ? head : "";
  const std::size_t used = columns_of(line) + 3;
  if (progress.best && used < width)
    line = joined(" | ", {line, fitting_words(telling_words(spec, progress), width - used)});
  return line;
}

}  // namespace xtune::report
