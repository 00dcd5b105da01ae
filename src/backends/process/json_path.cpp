// Follows paths into JSON.
#include "backends/process/json_path.hpp"

#include <fmt/core.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/process/read_value.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"

namespace xtune::process {
namespace {

using Json = nlohmann::json;

/// One step of a path into JSON.
struct Step {
  std::string key;
  std::optional<long> index;
};

/// "results[0].time", "a.\"b.c\"[-1]", or a JSON pointer, "/results/0/time".
std::vector<Step> steps_of(const std::string& path) {
  std::vector<Step> steps;
  const auto index_of = [](std::string_view digits) -> std::optional<long> {
    long index = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return index;
  };
  if (path.starts_with('/')) {
    std::string key;
    for (std::size_t i = 1; i <= path.size(); ++i) {
      if (i == path.size() || path[i] == '/') {
        steps.push_back({key, index_of(key)});
        key.clear();
      } else if (path[i] == '~' && i + 1 < path.size()) {
        key += path[++i] == '1' ? '/' : '~';
      } else {
        key += path[i];
      }
    }
    return steps;
  }
  for (std::size_t i = 0; i < path.size();) {
    if (path[i] == '.') {
      ++i;
    } else if (path[i] == '[') {
      const std::size_t close = std::min(path.find(']', i), path.size());
      const std::string inside = path.substr(i + 1, close - i - 1);
      steps.push_back({inside, index_of(inside)});
      i = close + 1;
    } else if (path[i] == '"') {
      const std::size_t close = std::min(path.find('"', i + 1), path.size());
      steps.push_back({path.substr(i + 1, close - i - 1), std::nullopt});
      i = close + 1;
    } else {
      const std::size_t end = std::min(path.find_first_of(".[", i), path.size());
      steps.push_back({path.substr(i, end - i), std::nullopt});
      i = end;
    }
  }
  return steps;
}

}  // namespace

Json parse_json(const std::string& text) {
  Json json = base::read_json(text);
  if (!json.is_discarded()) return json;
  std::string_view rest = std::string_view(text).substr(0, text.find_last_not_of(" \t\r\n") + 1);
  constexpr int max_lines = 1000;
  for (int i = 0; !rest.empty() && i < max_lines; ++i) {
    const std::size_t start = rest.rfind('\n') == std::string_view::npos ? 0 : rest.rfind('\n') + 1;
    const std::string_view line = rest.substr(start);
    if (line.starts_with('{') || line.starts_with('[')) {
      Json of_line = base::read_json(line);
      if (!of_line.is_discarded()) return of_line;
    }
    rest = rest.substr(0, start > 0 ? start - 1 : 0);
  }
  throw NoNumber("neither the whole of it nor any line is JSON");
}

const Json& json_at(const Json& json, const std::string& path) {
  const Json* at = &json;
  for (const Step& step : steps_of(path)) {
    const std::string name = step.index ? fmt::format("[{}]", *step.index) : step.key;
    if (at->is_array() && step.index) {
      const long size = static_cast<long>(at->size());
      const long index = *step.index < 0 ? size + *step.index : *step.index;
      if (index < 0 || index >= size)
        throw NoNumber(fmt::format("the path '{}' ends at {}: the list has {} items", path, name, size));
      at = &(*at)[static_cast<std::size_t>(index)];
    } else {
      const auto found = at->is_object() ? at->find(step.key) : at->end();
      if (found == at->end()) {
        std::vector<std::string> keys;
        if (at->is_object())
          for (const auto& [key, item] : at->items()) keys.push_back(base::printable(key, 80));
        throw NoNumber(fmt::format("the path '{}' ends at '{}': there is {}{}", path, name,
                                   at->is_object() ? "no such key" : std::string("a ") + at->type_name(),
                                   base::did_you_mean(step.key, keys)));
      }
      at = &*found;
    }
  }
  return *at;
}

}  // namespace xtune::process
