// The space of one problem on one device, with errors that point into the spec; and lists of configurations, as CSV.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/csv.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "core/space/value.hpp"
#include "core/spec/reader.hpp"
#include "core/spec/template_text.hpp"
#include "xtune/error.hpp"

namespace xtune::spec {

namespace {

using Rows = std::vector<std::vector<std::uint32_t>>;

struct CsvField {
  std::string text;
  std::size_t line = 1, column = 1;  ///< columns in bytes
};

class Table {
 public:
  Table(std::string_view text, const std::string& name) : text_(text), name_(name) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);  // spreadsheets write a byte order mark
  }

  [[noreturn]] void fail(const CsvField& at, const std::string& why) const {
    throw Error(ErrorKind::invalid_spec, fmt::format("{}:{}:{}: {}", name_, at.line, at.column, why));
  }

  /// The fields of the next line that is not empty; none at the end of the text.
  std::vector<CsvField> next() {
    while (peek() == '\n' || peek() == '\r') skip();
    std::vector<CsvField> fields;
    for (bool more = at_ < text_.size(); more; skip()) {
      fields.push_back(field());
      more = peek() == ',';
    }
    return fields;
  }

 private:
  /// 0 at the end.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip() {
    const bool ends_line = peek() == '\n';
    at_ = std::min(at_ + 1, text_.size());
    if (!ends_line) return;
    ++line_;
    line_start_ = at_;
  }

  CsvField field() {
    CsvField found{{}, line_, at_ - line_start_ + 1};
    if (peek() != '"') {
      const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
      found.text = base::trimmed(text_.substr(at_, end - at_), " \t");
      at_ = end;
      return found;
    }
    for (skip();; skip()) {
      if (at_ >= text_.size()) fail(found, "the quote is never closed");
      const char c = peek();
      if (c == '"') {
        skip();
        if (peek() != '"') break;
      }
      found.text += c;
    }
    if (at_ < text_.size() && text_.find_first_of(",\r\n", at_) != at_) fail(found, "text after the closing quote");
    return found;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0, line_ = 1, line_start_ = 0;
};

/// Finds a parameter's values by their texts.
class ValueFinder {
 public:
  explicit ValueFinder(const space::Parameter& parameter) : parameter_(parameter) {
    for (std::uint32_t i = 0; i < parameter.values.size(); ++i) by_text_.emplace(to_text(parameter.values[i]), i);
  }

  std::optional<std::uint32_t> find(const std::string& text) const {
    if (const auto found = by_text_.find(text); found != by_text_.end()) return found->second;
    if (std::holds_alternative<std::string>(parameter_.values.front())) return std::nullopt;
    // 16.0 for 16, 1e2 for 100.0, and 1 for true, as other programs write them.
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    for (std::uint32_t i = 0; i < parameter_.values.size(); ++i)
      if (space::number_or_flag(parameter_.values[i]) == number) return i;
    return std::nullopt;
  }

 private:
  const space::Parameter& parameter_;
  std::unordered_map<std::string, std::uint32_t> by_text_;
};

/// The parameter of each column.
std::vector<std::size_t> read_header(Table& table, const std::vector<space::Parameter>& parameters) {
  const std::vector<std::string> names = names_of(parameters);
  const std::vector<CsvField> header = table.next();
  if (header.empty()) table.fail({}, "the file is empty: its first line names the parameters");
  std::vector<std::size_t> columns;
  for (const CsvField& field : header) {
    const auto found = std::find(names.begin(), names.end(), field.text);
    if (found == names.end())
      table.fail(field, "'" + base::printable(field.text, 80) + "' is not a parameter of [space.params]" +
                            base::did_you_mean(field.text, names));
    const auto column = static_cast<std::size_t>(found - names.begin());
    if (std::find(columns.begin(), columns.end(), column) != columns.end())
      table.fail(field, "the parameter " + field.text + " has two columns");
    columns.push_back(column);
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::find(columns.begin(), columns.end(), i) == columns.end())
      table.fail(header.front(), "there is no column for the parameter " + names[i]);
  return columns;
}

std::string csv_field(const std::string& text) {
  const bool plain = !text.empty() && text.find_first_of(",\"\r\n \t") == std::string::npos;
  return plain ? text : base::csv_quoted(text);
}

}  // namespace

Rows parse_configs(const std::string& text, const std::string& name, const std::vector<space::Parameter>& parameters) {
  Table table(text, name);
  const std::vector<std::size_t> columns = read_header(table, parameters);
  std::vector<ValueFinder> finders;
  for (const space::Parameter& parameter : parameters) finders.emplace_back(parameter);
  Rows rows;
  const auto hash = [&rows](std::size_t number) {
    std::uint64_t mixed = 0;
    for (const std::uint32_t value : rows[number]) mixed = base::mix64(mixed ^ value);
    return mixed;
  };
  const auto same = [&rows](std::size_t a, std::size_t b) { return rows[a] == rows[b]; };
  std::unordered_set<std::size_t, decltype(hash), decltype(same)> seen(16, hash, same);
  for (std::vector<CsvField> line = table.next(); !line.empty(); line = table.next()) {
    if (line.size() != columns.size())
      table.fail(line.front(), fmt::format("{} values for {} parameters", line.size(), columns.size()));
    std::vector<std::uint32_t> row(columns.size());
    for (std::size_t i = 0; i < line.size(); ++i) {
      const auto index = finders[columns[i]].find(line[i].text);
      const space::Parameter& parameter = parameters[columns[i]];
      if (!index) {
        std::vector<std::string> texts;
        for (const Value& value : parameter.values) texts.push_back(to_text(value));
        table.fail(line[i], "'" + base::printable(line[i].text, 80) + "' is not a value of " + parameter.name +
                                base::did_you_mean(line[i].text, texts));
      }
      row[columns[i]] = *index;
    }
    rows.push_back(std::move(row));
    if (!seen.insert(rows.size() - 1).second) table.fail(line.front(), "the configuration is listed twice");
  }
  if (rows.empty()) table.fail({}, "the file lists no configuration: give one a line after the names");
  return rows;
}

std::string configs_text(const space::Space& space) {
  std::string text;
  for (const space::Parameter& parameter : space.parameters())
    text += (text.empty() ? "" : ",") + csv_field(parameter.name);
  text += "\n";
  std::vector<std::vector<std::string>> cells;
  for (const space::Parameter& parameter : space.parameters()) {
    auto& values = cells.emplace_back();
    for (const Value& value : parameter.values) values.push_back(csv_field(to_text(value)));
  }
  for (std::uint64_t index = 0; index < space.size(); ++index) {
    const std::vector<std::uint32_t> row = space.value_indices(index);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      text += cells[i][row[i]];
    }
    text += '\n';
  }
  return text;
}

namespace {

// With candidates, the space has only configurations that the device can launch, as far as the launch's expressions
// show.
std::vector<Text> constraints_of(const Spec& spec, const Bindings& device_facts) {
  std::vector<Text> constraints = spec.constraints;
  if (!spec.candidates) return constraints;
  for (const StepSpec& step : steps_of(spec)) {
    if (step.repeat) continue;  // its texts may name the index
    const std::string unless = step.when ? "not (" + step.when->text + ") or " : "";
    const auto limit = [&](const Text& what, const std::string& text, const std::string& fact) {
      const auto found = device_facts.find(fact);
      if (found != device_facts.end() && found->second != Value(std::int64_t{0}))
        constraints.push_back({unless + text + " <= " + fact, what.at, false, spec.derived});
    };
    const LaunchSpec& launch = step.launch;
    std::string threads;
    for (const Text& extent : launch.block) threads += (threads.empty() ? "(" : " * (") + extent.text + ")";
    if (!threads.empty()) limit(launch.block.front(), threads, "device.max_threads_per_block");
    if (launch.shared) limit(*launch.shared, "(" + launch.shared->text + ")", "device.shared_per_block_optin");
  }
  return constraints;
}

[[noreturn]] void nothing_valid(const Spec& spec, const std::vector<Text>& constraints, const space::Space& space,
                                const Bindings& problem) {
  if (spec.configs)
    throw Error(
        ErrorKind::nothing_valid,
        to_string(spec.configs_at) + ": none of the listed configurations has the values that -D and --filter ask for");
  std::string sizes, removed;
  for (const auto& [name, value] : problem)
    sizes += (sizes.empty() ? " for " : ", ") + name + " = " + space::shown_text(value);
  const std::vector<space::ConstraintEffect> effects = space.constraint_effects();
  for (std::size_t i = 0; i < effects.size(); ++i)
    removed += fmt::format("\n  {}: \"{}\" removes {} of {}{}", to_string(constraints[i].at),
                           base::printable(effects[i].text, 300), effects[i].removed, effects[i].tested,
                           effects[i].removed == effects[i].tested ? ": all" : "");
  throw Error(ErrorKind::nothing_valid,
              fmt::format("{}: no configuration of the space is valid{}. Each constraint on its own removes:{}",
                          spec.path.string(), sizes, removed));
}

/// The listed configurations that satisfy the constraints, which come from --filter.
Rows filtered(const Spec& spec, const std::vector<space::Expression>& constraints, const Bindings& constants) {
  Rows rows = *spec.configs;
  for (std::size_t number = 0; number < constraints.size(); ++number)
    std::erase_if(rows, [&](const std::vector<std::uint32_t>& row) {
      space::Config config;
      for (std::size_t i = 0; i < row.size(); ++i) config.push_back(spec.parameters[i].values[row[i]]);
      try {
        return !space::truth(constraints[number].evaluate(lookup_names(constants, {}, spec.parameters, &config)));
      } catch (const space::ExpressionError& error) {
        throw space::ConstraintError(error.what(), error.column, error.word, number);
      }
    });
  return rows;
}

/// Every count-th of the numbered configurations, in an order that is independent of their numbers: each part has all
/// values of all parameters, as far as its size allows.
space::Space part_of(const space::Space& space, const Partition& partition) {
  constexpr std::uint64_t most = 20'000'000;
  if (space.size() / partition.count > most)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("--partition: a part of {} configurations is too large to list (at most {}): take more "
                            "parts, or a --filter",
                            space.size() / partition.count, most));
  // A step without a common factor visits each number once; the golden ratio spreads the visits.
  std::uint64_t step = static_cast<std::uint64_t>(static_cast<double>(space.size()) * 0.6180339887498949) | 1;
  while (std::gcd(step, space.size()) != 1) step += 2;
  step %= space.size();
  Rows rows;
  std::uint64_t index = 0;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    if (i % partition.count == partition.part) rows.push_back(space.value_indices(index));
    index = (index + step) % space.size();
  }
  return space::Space::listed(space.parameters(), std::move(rows));
}

[[noreturn]] void empty_part(const Spec& spec, const space::Space& space) {
  throw Error(ErrorKind::nothing_valid,
              fmt::format("--partition {}/{}: the space has {} configurations, and this part none of them",
                          spec.partition.part, spec.partition.count, space.size()));
}

}  // namespace

space::Space make_space(const Spec& spec, const Bindings& problem, const Bindings& device_facts,
                        const std::function<void()>& poll) {
  const std::vector<Text> texts = constraints_of(spec, device_facts);
  std::vector<space::Expression> constraints;
  for (const Text& text : texts)
    constraints.push_back(CompiledText::expression(text).parts().front().expression.front());
  Bindings constants = device_facts;
  constants.insert(problem.begin(), problem.end());
  try {
    space::Space space = spec.configs ? space::Space::listed(spec.parameters, filtered(spec, constraints, constants))
                                      : space::Space(spec.parameters, std::move(constraints), constants, poll);
    if (space.size() == 0) nothing_valid(spec, texts, space, problem);
    if (spec.partition.count == 1) return space;
    if (spec.partition.part >= space.size()) empty_part(spec, space);
    return part_of(space, spec.partition);
  } catch (const space::ConstraintError& error) {
    const Text& text = texts[error.constraint];
    const bool own = error.constraint < spec.constraints.size();
    throw spec_error(spec, own ? locate(text, error.column) : text.at,
                     std::string(error.what()) + " in the constraint \"" + text.text + "\"");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    // A space that cannot be numbered is an error of the spec: it would be the same on another machine.
    throw spec_error(spec, spec.parameters_at.empty() ? Location{spec.path.string()} : spec.parameters_at.front(),
                     error.what());
  }
}

}  // namespace xtune::spec
