// Evaluates Python's literals: the forms that hold several values here, and single values as expressions.
#include "core/replay/python_values.hpp"

#include <fmt/core.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <map>

#include "base/text.hpp"
#include "base/trimmed.hpp"
#include "core/space/expression.hpp"

namespace xtune::replay {
namespace {

constexpr std::size_t max_python_values = 100'000;
constexpr int max_python_depth = 16;

using Bindings = std::map<std::string, Value, std::less<>>;

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Calls what(position) for each character outside of quotes and brackets. what returns whether to go on. Throws
/// PythonError for a bracket or quote that is not closed.
template <class What>
void each_outside(std::string_view text, const What& what) {
  std::string open;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      if (c == '\\')
        ++i;
      else if (c == quote)
        quote = 0;
      continue;
    }
    if (open.empty() && !what(i)) return;
    if (c == '\'' || c == '"') quote = c;
    if (c == '[') open += ']';
    if (c == '(') open += ')';
    if (c == '{') open += '}';
    if ((c == ']' || c == ')' || c == '}') && (open.empty() || open.back() != c))
      throw PythonError(fmt::format("'{}' closes nothing", c));
    if (!open.empty() && c == open.back()) open.pop_back();
  }
  if (quote) throw PythonError("the string is not closed");
  if (!open.empty()) throw PythonError(fmt::format("'{}' is missing at the end", open.back()));
}

/// The parts between commas outside of quotes and brackets. A comma at the end adds none.
std::vector<std::string_view> items_of(std::string_view text) {
  std::vector<std::string_view> items;
  std::size_t start = 0;
  each_outside(text, [&](std::size_t at) {
    if (text[at] == ',') {
      items.push_back(base::trimmed(text.substr(start, at - start)));
      start = at + 1;
    }
    return true;
  });
  if (const auto last = base::trimmed(text.substr(start)); !last.empty() || !items.empty()) items.push_back(last);
  if (items.size() > 1 && items.back().empty()) items.pop_back();
  return items;
}

/// Where the word stands outside of quotes and brackets, from `from` on; npos: nowhere.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0) {
  std::size_t found = std::string_view::npos;
  each_outside(text, [&](std::size_t at) {
    const bool begins = at >= from && (at == 0 || !is_word_character(text[at - 1]));
    const std::size_t end = at + word.size();
    if (!begins || text.substr(at, word.size()) != word || (end < text.size() && is_word_character(text[end])))
      return true;
    found = at;
    return false;
  });
  return found;
}

/// What the brackets hold if the text is `open`...`close` as a whole.
std::optional<std::string_view> within(std::string_view text, std::string_view open, char close) {
  if (!text.starts_with(open) || text.back() != close || text.size() <= open.size()) return std::nullopt;
  bool whole = true;
  each_outside(text, [&](std::size_t at) { return whole = at < open.size(); });
  return whole ? std::optional(text.substr(open.size(), text.size() - open.size() - 1)) : std::nullopt;
}

class PythonEvaluator {
 public:
  std::vector<Value> values(std::string_view text, const Bindings& names, int depth = 0) {
    text = base::trimmed(text);
    if (depth > max_python_depth) throw PythonValueError("too many brackets");
    if (text.empty()) throw PythonError("a value is missing");
    for (const char* const call : {"list(", "tuple("})
      if (const auto argument = within(text, call, ')')) return values(*argument, names, depth + 1);
    if (const auto arguments = within(text, "range(", ')')) return range(*arguments, names);
    if (const auto inner = within(text, "[", ']')) return list(*inner, names, depth);
    if (const auto inner = within(text, "(", ')'); inner && is_tuple(*inner)) return list(*inner, names, depth);
    const Value value = evaluated(text, names);
    if (const auto* const truth = std::get_if<bool>(&value)) return {std::string(*truth ? "True" : "False")};
    if (const auto* const number = std::get_if<double>(&value); number && !std::isfinite(*number)) {
      const std::string why = fmt::format("'{}' is not a finite number", base::printable(text, 80));
      if (is_one_number(text)) throw PythonError(why);  // the word says the same
      throw PythonValueError(why);
    }
    return {value};
  }

 private:
  static space::Expression parsed(std::string_view text) {
    try {
      return space::Expression::parse(text);
    } catch (const space::ExpressionError& error) {
      throw PythonError(error.what());
    }
  }

  static Value evaluated(std::string_view text, const Bindings& names) {
    const space::Expression expression = parsed(text);
    try {
      return expression.evaluate([&](std::string_view name) -> const Value* {
        const auto found = names.find(name);
        return found == names.end() ? nullptr : &found->second;
      });
    } catch (const space::ExpressionError& error) {
      if (expression.names().empty()) throw PythonValueError(error.what());
      throw PythonError(error.what());
    }
  }

  static bool is_one_number(std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error != std::errc::invalid_argument && end == text.data() + text.size();
  }

  static bool is_tuple(std::string_view inner) {
    return inner.empty() || find_word(inner, "for") != std::string_view::npos || items_of(inner).size() > 1 ||
           base::trimmed(inner).ends_with(',');
  }

  void count(std::size_t values) {
    if (values > left_) throw PythonValueError(fmt::format("more than {} values", max_python_values));
    left_ -= values;
  }

  std::vector<Value> list(std::string_view inner, const Bindings& names, int depth) {
    std::vector<Value> all;
    if (const std::size_t at = find_word(inner, "for"); at != std::string_view::npos) {
      comprehend(inner.substr(0, at), inner.substr(at), names, depth + 1, all);
      return all;
    }
    for (const std::string_view item : items_of(inner)) append(all, values(item, names, depth + 1));
    return all;
  }

  static void append(std::vector<Value>& all, std::vector<Value> more) {
    for (Value& value : more) all.push_back(std::move(value));
  }

  std::vector<Value> range(std::string_view arguments, const Bindings& names) {
    std::vector<std::int64_t> bounds;
    for (const std::string_view item : items_of(arguments)) {
      const Value value = evaluated(item, names);
      if (!std::holds_alternative<std::int64_t>(value)) throw PythonError("range takes integers");
      bounds.push_back(std::get<std::int64_t>(value));
    }
    if (bounds.empty() || bounds.size() > 3) throw PythonError("range takes one to three integers");
    const std::int64_t step = bounds.size() == 3 ? bounds[2] : 1, start = bounds.size() > 1 ? bounds[0] : 0;
    const std::int64_t stop = bounds.size() > 1 ? bounds[1] : bounds[0];
    constexpr std::int64_t far = std::int64_t{1} << 60;
    for (const std::int64_t bound : bounds)
      if (bound > far || bound < -far) throw PythonValueError("a bound of range is too large");
    if (step == 0) throw PythonValueError("the step of range is zero");
    std::vector<Value> all;
    for (std::int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
      count(1);
      all.emplace_back(i);
    }
    return all;
  }

  /// clauses: "for NAME in VALUES", then "if CONDITION" or another "for", if any.
  void comprehend(std::string_view element, std::string_view clauses, const Bindings& names, int depth,
                  std::vector<Value>& to) {
    const std::size_t in = find_word(clauses, "in");
    if (in == std::string_view::npos) throw PythonError("'in' is missing after 'for'");
    const std::string name(base::trimmed(clauses.substr(3, in - 3)));
    for (const char c : name)
      if (!is_word_character(c)) throw PythonError("only one name can follow 'for'");
    const std::string_view rest = clauses.substr(in + 2);
    const std::size_t next_for = find_word(rest, "for"), next_if = find_word(rest, "if");
    const std::size_t end = std::min({next_for, next_if, rest.size()});
    const std::size_t condition_end = std::min(next_for, rest.size());
    for (const Value& value : values(rest.substr(0, end), names, depth + 1)) {
      count(1);
      Bindings inner = names;
      inner[name] = value;
      if (next_if < condition_end &&
          !space::truth(evaluated(rest.substr(next_if + 2, condition_end - next_if - 2), inner)))
        continue;
      if (next_for != std::string_view::npos)
        comprehend(element, rest.substr(next_for), inner, depth + 1, to);
      else
        append(to, values(element, inner, depth + 1));
    }
  }

  std::size_t left_ = max_python_values;  ///< values and turns of loops that may follow
};

/// Whether a reader takes it for Python rather than for a word: a list, a string, or a call.
bool looks_like_python(std::string_view text) {
  if (text.empty()) return false;
  if (std::string_view("[({'\"").find(text.front()) != std::string_view::npos) return true;
  std::size_t end = 0;
  while (end < text.size() && (is_word_character(text[end]) || text[end] == '.')) ++end;
  return end > 0 && end < text.size() && text[end] == '(' && text.back() == ')';
}

}  // namespace

std::optional<std::vector<Value>> python_values(std::string_view text) {
  text = base::trimmed(text);
  try {
    each_outside(text, [](std::size_t) { return true; });  // for what is not closed
    return PythonEvaluator().values(text, {});
  } catch (const PythonValueError&) {
    throw;
  } catch (const PythonError&) {
    if (looks_like_python(text)) throw;
    return std::nullopt;
  }
}

std::vector<std::string> python_items(std::string_view text) {
  text = base::trimmed(text);
  if (!text.empty() && text.front() == '[' && text.back() == ']') text = text.substr(1, text.size() - 2);
  std::vector<std::string> items;
  for (const std::string_view item : items_of(text)) items.emplace_back(item);
  return items;
}

}  // namespace xtune::replay
