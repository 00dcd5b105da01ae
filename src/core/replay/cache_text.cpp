// Python's JSON dialect, and closing brackets that Kernel Tuner left open.
#include "core/replay/cache_text.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json_error.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::replay {
namespace {

using Json = nlohmann::json;

constexpr std::size_t deepest =
    64;  // an entry of a cache nests two or three deep; the parser recurses not, its tree does

/// The result of a walk over the text: words of the dialect are replaced, and the end of the last complete entry is
/// known.
struct Walk {
  std::string text;
  std::size_t depth = 0, max_depth = 0;
  std::size_t last_entry_end = 0;  ///< in text: after the brace that closed an object at depth 2; 0: none
  bool in_string = false;
};

Walk walk(std::string_view source) {
  Walk result;
  result.text.reserve(source.size() + 2);
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (result.in_string) {
      result.text += c;
      if (c == '\\' && i + 1 < source.size())
        result.text += source[++i];
      else if (c == '"')
        result.in_string = false;
      continue;
    }
    const auto word = [&](std::string_view name) {
      if (source.substr(i, name.size()) != name) return false;
      result.text += "null";
      i += name.size() - 1;
      return true;
    };
    if (word("NaN") || word("-Infinity") || word("Infinity")) continue;
    result.text += c;
    if (c == '"') {
      result.in_string = true;
    } else if (c == '{' || c == '[') {
      result.max_depth = std::max(result.max_depth, ++result.depth);
    } else if ((c == '}' || c == ']') && result.depth > 0) {
      if (--result.depth == 2 && c == '}') result.last_entry_end = result.text.size();
    }
  }
  return result;
}

}  // namespace

Json parse_cache_text(const std::string& text, const std::string& name, std::vector<std::string>& warnings) {
  const auto fail = [&](const std::string& why) -> Json {
    throw Error(ErrorKind::invalid_argument, name + ": not a Kernel Tuner cache: " + why);
  };
  Walk found = walk(text);
  if (found.max_depth > deepest) return fail("its JSON nests too deep");
  const bool open = found.depth > 0 || found.in_string;
  if (open && found.text.find("\"cache\"") != std::string::npos) {
    if (found.last_entry_end > 0) {
      const std::string_view rest = std::string_view(found.text).substr(found.last_entry_end);
      if (rest.find_first_not_of(", \t\r\n}") != std::string_view::npos)
        warnings.push_back(name + ": the file was not finished; its torn last entry is dropped");
      found.text.resize(found.last_entry_end);
      found.text += "}}";
    } else {
      // So far there is only the opening of "cache".
      const std::size_t brace = found.text.rfind('{');
      found.text.resize(brace + 1);
      found.text += "}}";
    }
  }
  try {
    Json json = Json::parse(found.text);
    if (!json.is_object()) return fail("its JSON is not an object");
    return json;
  } catch (const Json::exception& error) {
    return fail(base::json_error_text(error));
  }
}

}  // namespace xtune::replay
