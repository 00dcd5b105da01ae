// The winners as a C++ header: tables of constants, and functions that choose at compile time or at run time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.hpp"
#include "core/record/finals.hpp"
#include "core/space/bindings_text.hpp"
#include "core/store/export.hpp"
#include "xtune/error.hpp"
#include "xtune/version.hpp"

namespace xtune::store {
namespace {

const std::set<std::string_view> taken_words = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char",
    "char8_t", "char16_t", "char32_t", "class", "compl", "concept", "const", "consteval", "constexpr", "constinit",
    "const_cast", "continue", "co_await", "co_return", "co_yield", "decltype", "default", "delete", "do", "double",
    "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if",
    "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or",
    "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed",
    "sizeof", "static", "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw",
    "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile",
    "wchar_t", "while", "xor", "xor_eq",
    // names used by the header itself
    "std", "arch", "device", "config", "problem", "time_ms", "Config", "Problem", "Winner", "winners", "default_config",
    "best", "distance", "detail"};

/// Makes a C++ identifier that is not in `used`, and adds it.
std::string identifier(std::string_view name, std::set<std::string>& used) {
  std::string word;
  for (const char c : name) {
    const bool stays = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    word += stays ? c : '_';
  }
  // Reserved: a leading underscore, and two adjacent ones.
  while (word.starts_with('_')) word.erase(0, 1);
  for (std::size_t at; (at = word.find("__")) != std::string::npos;) word.erase(at, 1);
  if (word.empty() || (word[0] >= '0' && word[0] <= '9')) word = "p" + word;
  if (taken_words.contains(word)) word += word.ends_with('_') ? "p" : "_";
  std::string result = word;
  for (int i = 2; !used.insert(result).second; ++i)
    result = word + (word.ends_with('_') ? "" : "_") + std::to_string(i);
  return result;
}

std::string string_literal(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?')
      literal.append("\\").append(1, c);
    else if (byte < 0x20 || byte >= 0x7F)
      literal += fmt::format("\\{:03o}", byte);
    else
      literal += c;
  }
  return literal + "\"";
}

std::string in_comment(std::string_view text) {
  std::string line = base::printable(text, 100);
  for (char& c : line)
    if (c == '\n' || c == '\t' || c == '\\') c = ' ';
  return line;
}

std::string number(double value) {
  if (std::isnan(value)) return "std::numeric_limits<double>::quiet_NaN()";
  if (std::isinf(value)) return std::string(value < 0 ? "-" : "") + "std::numeric_limits<double>::infinity()";
  return to_text(Value(value));
}

enum class Kind { boolean, integer, real, text };

Kind kind_of(const Value& value) { return static_cast<Kind>(value.index()); }

Kind joined(Kind a, Kind b) {
  if (a == b) return a;
  if (a == Kind::text || b == Kind::text) return Kind::text;
  return std::max(a, b);
}

const char* type_of(Kind kind) {
  constexpr const char* types[] = {"bool", "long long", "double", "std::string_view"};
  return types[static_cast<std::size_t>(kind)];
}

std::string literal(const Value& value, Kind kind) {
  if (kind == Kind::text) return string_literal(to_text(value));
  if (const auto* boolean = std::get_if<bool>(&value))
    return kind == Kind::boolean ? (*boolean ? "true" : "false")
           : kind == Kind::real  ? (*boolean ? "1.0" : "0.0")
                                 : (*boolean ? "1" : "0");
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (kind == Kind::real) return number(static_cast<double>(*integer));
    return *integer == INT64_MIN ? "-9223372036854775807LL - 1" : std::to_string(*integer) + "LL";
  }
  return number(std::get<double>(value));
}

struct HeaderField {
  std::string name, word;
  Kind kind;
};

std::vector<HeaderField> fields_of(const std::vector<const Winner*>& winners, const Bindings record::Record::*member) {
  std::vector<HeaderField> fields;
  std::set<std::string> used;
  for (const auto& [name, value] : winners.front()->record.*member) {
    HeaderField field{name, identifier(name, used), kind_of(value)};
    for (const Winner* winner : winners) field.kind = joined(field.kind, kind_of((winner->record.*member).at(name)));
    fields.push_back(field);
  }
  return fields;
}

std::string initializer(const Bindings& bindings, const std::vector<HeaderField>& fields) {
  std::string list;
  for (const HeaderField& field : fields)
    list += (list.empty() ? "" : ", ") + literal(bindings.at(field.name), field.kind);
  return "{" + list + "}";
}

std::string structure(const char* name, const std::vector<HeaderField>& fields) {
  std::string text = fmt::format("struct {} {{\n", name);
  for (const HeaderField& field : fields) {
    text += fmt::format("  {} {};", type_of(field.kind), field.word);
    text += field.word == field.name ? "\n" : "  // " + in_comment(field.name) + "\n";
  }
  return text + "};\n";
}

bool same_names(const Bindings& a, const Bindings& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) { return x.first == y.first; });
}

/// The configuration that wins most often, among equals the one with the smallest text.
const Winner& most_frequent(const std::vector<const Winner*>& winners) {
  std::map<std::string, std::pair<int, const Winner*>> counts;
  for (const Winner* winner : winners) {
    auto& [count, first] = counts[space::bindings_text(winner->record.config)];
    if (count++ == 0) first = winner;
  }
  return *std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
            return a.second.first < b.second.first;
          })->second.second;
}

// Sizes as ratios: their product orders as the sum of the logarithms does, which are not constexpr.
std::string distance_text(const std::vector<HeaderField>& dimensions) {
  std::string text =
      "namespace detail {\n"
      "constexpr double ratio(double a, double b) {\n"
      "  if (!(a > 0) || !(b > 0)) return a < b || b < a ? 1e300 : 1.0;\n"
      "  return a < b ? b / a : a / b;\n"
      "}\n"
      "constexpr double distance([[maybe_unused]] const Problem& a, [[maybe_unused]] const Problem& b) {\n"
      "  double product = 1.0;\n";
  for (const HeaderField& field : dimensions)
    if (field.kind == Kind::integer || field.kind == Kind::real)
      text += fmt::format("  product *= ratio(static_cast<double>(a.{0}), static_cast<double>(b.{0}));\n", field.word);
    else
      text += fmt::format("  if (a.{0} != b.{0}) return 1e300;\n", field.word);
  return text +
         "  return product;\n"
         "}\n"
         "}  // namespace detail\n";
}

constexpr const char* choose_text = R"(
/// The configuration of the nearest problem measured on this architecture, by shape; on this device where one is named
/// and was measured. The default where nothing was.
constexpr const Config& best(std::string_view arch, const Problem& problem, std::string_view device = {}) {
  const Winner* nearest = nullptr;
  double least = 1e299;
  bool on_device = false;
  for (const Winner& winner : winners) {
    if (winner.arch != arch) continue;
    const double distance = detail::distance(winner.problem, problem);
    const bool here = winner.device == device;
    if (distance < least || (!(least < distance) && here && !on_device && distance < 1e299)) {
      nearest = &winner;
      least = distance;
      on_device = here;
    }
  }
  return nearest ? nearest->config : default_config;
}
)";

std::string kernel_text(const std::string& kernel, const std::string& word, std::vector<const Winner*> winners,
                        std::vector<std::string>& warnings) {
  const record::Record& newest =
      (*std::max_element(winners.begin(), winners.end(), [](const Winner* a, const Winner* b) {
        return a->record.unix_time_ms < b->record.unix_time_ms;
      }))->record;
  const std::size_t all = winners.size();
  std::erase_if(winners, [&](const Winner* winner) {
    return !same_names(winner->record.config, newest.config) || !same_names(winner->record.problem, newest.problem);
  });
  if (winners.size() < all)
    warnings.push_back(fmt::format("{}: {} winners skipped: their parameters or dimensions differ from the newest's",
                                   base::printable(kernel, 80), all - winners.size()));
  const std::vector<HeaderField> parameters = fields_of(winners, &record::Record::config),
                                 dimensions = fields_of(winners, &record::Record::problem);
  std::string text = fmt::format("\n/// {}\nnamespace xtune_best::{} {{\n\n", in_comment(kernel), word);
  text += structure("Config", parameters) + "\n" + structure("Problem", dimensions);
  text +=
      "\nstruct Winner {\n  std::string_view arch, device;\n  Problem problem;\n  Config config;\n  double "
      "time_ms;\n};\n";
  text += "\ninline constexpr Winner winners[] = {\n";
  for (const Winner* winner : winners)
    text += fmt::format(
        "    {{{}, {}, {}, {}, {}}},{}\n", string_literal(winner->arch), string_literal(winner->record.device.name),
        initializer(winner->record.problem, dimensions), initializer(winner->record.config, parameters),
        number(winner->record.time_ms.median),
        winner->record.device.driver.empty() ? "" : "  // driver " + in_comment(winner->record.device.driver));
  text += fmt::format("}};\n\n/// What won most often.\ninline constexpr Config default_config = {};\n\n",
                      initializer(most_frequent(winners).record.config, parameters));
  return text + distance_text(dimensions) + choose_text + fmt::format("\n}}  // namespace xtune_best::{}\n", word);
}

}  // namespace

std::string export_header(const std::vector<Winner>& winners, std::vector<std::string>& warnings) {
  std::map<std::string, std::vector<const Winner*>> kernels;
  for (const Winner& winner : winners) kernels[winner.kernel].push_back(&winner);
  if (kernels.empty())
    throw Error(ErrorKind::nothing_valid, "the store has no configuration that may answer; `xtune run` makes some");
  std::string text = fmt::format(
      "// The fastest configurations found by xtune {}, by architecture and problem. Generated by\n"
      "// `xtune store export --format header`; C++17 or later.\n"
      "#pragma once\n\n#include <limits>\n#include <string_view>\n",
      version);
  std::set<std::string> used;
  for (const auto& [kernel, of_kernel] : kernels)
    text += kernel_text(kernel, identifier(kernel, used), of_kernel, warnings);
  return text;
}

}  // namespace xtune::store
