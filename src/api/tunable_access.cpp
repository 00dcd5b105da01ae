// From a Tunable to the spec that the rest of xtune uses.
#include "api/tunable_access.hpp"

#include <algorithm>
#include <map>

#include "api/tunable_state.hpp"
#include "base/named.hpp"
#include "base/text.hpp"
#include "dispatch/access.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

// A predicate is one function call for each combination: this many take about a minute.
constexpr std::uint64_t max_rows = 20'000'000;

/// A predicate over value indices, called once for each combination of the parameters that it uses.
class Table {
 public:
  Table(const detail::TunableState::Predicate& predicate, const spec::Spec& spec, const Bindings& problem)
      : predicate_(predicate), parameters_(spec.parameters), values_(problem) {
    std::vector<std::string> known;
    for (const space::Parameter& parameter : spec.parameters) known.push_back(parameter.name);
    const auto add = [&](const std::string& name) {
      const auto found = std::find(known.begin(), known.end(), name);
      if (found != known.end()) columns_.push_back(static_cast<std::size_t>(found - known.begin()));
      return found != known.end();
    };
    for (const std::string& name : predicate.names)
      if (!add(name) && !problem.contains(name))
        throw Error(ErrorKind::invalid_argument, "constraint in code: '" + base::printable(name, 80) +
                                                     "' is neither a parameter nor a name of the problem" +
                                                     base::did_you_mean(name, known));
    for (const std::string& name : predicate.optional) add(name);
  }
  bool allows(const std::vector<std::uint32_t>& row) {
    std::vector<std::uint32_t> place;
    for (const std::size_t column : columns_) place.push_back(row[column]);
    const auto [entry, is_new] = answers_.try_emplace(std::move(place), false);
    if (!is_new) return entry->second;
    for (const std::size_t column : columns_)
      values_[parameters_[column].name] = parameters_[column].values[row[column]];
    try {
      entry->second = predicate_.holds(values_);
    } catch (...) {
      answers_.erase(entry);
      throw;
    }
    return entry->second;
  }

 private:
  const detail::TunableState::Predicate& predicate_;
  const std::vector<space::Parameter>& parameters_;
  Bindings values_;
  std::vector<std::size_t> columns_;
  std::map<std::vector<std::uint32_t>, bool> answers_;
};

spec::ArgSpec& input_named(spec::Spec& spec, const std::string& name) {
  std::vector<std::string> names;
  for (spec::ArgSpec& each : spec.args) {
    const bool is_data = each.kind == spec::ArgKind::buffer || (each.kind == spec::ArgKind::constant && !each.value);
    if (!is_data || !spec::is_input(each.role)) continue;
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  throw Error(ErrorKind::invalid_argument, "data for '" + base::printable(name, 80) +
                                               "', which is not an input of the kernel" +
                                               base::did_you_mean(name, names));
}

}  // namespace

std::optional<SpecFile> spec_file_of(const Tunable& tunable) { return Access::state(tunable).file; }

spec::Spec spec_of(const Tunable& tunable, const std::string& backend) {
  const detail::TunableState& state = Access::state(tunable);
  const bool built = state.text.empty();
  const std::string name = built ? state.name + " (built in code)" : state.text_name;
  spec::Spec spec = spec::parse_spec(toml_of(state), name, state.base_dir, {state.defines, backend});
  if (spec.space_only())
    throw Error(ErrorKind::invalid_spec,
                name + ": the kernel has no source; give it one with source_file() or source()");
  if (state.reference) {
    spec.validate.reference = {};
    spec.validate.reference.kind = spec::ReferenceSpec::Kind::given;
  }
  if (state.check) spec.validate.reference.checked_by = state.check_label;
  for (const auto& [argument, data] : state.data) {
    spec::ArgSpec& arg = input_named(spec, argument);
    if (data.kind() == Data::Kind::fill) {
      arg.fill = data.fill();
      arg.integers.clear();
      for (const std::string& text : data.integer_range()) arg.integers.push_back({text, arg.at});
      arg.file.clear();
    } else {
      arg.in_code = true;
    }
  }
  for (const auto& metric : state.metrics) {
    if (!metric.code) throw Error(ErrorKind::invalid_argument, name + ": the metric '" + metric.name + "' is empty");
    if (spec::Metric* const own = base::find_named(spec.metrics, metric.name)) {
      own->code = metric.code;
      own->label = metric.label;
    }
  }
  const bool judged = state.reference || state.check;
  if (judged &&
      std::none_of(spec.args.begin(), spec.args.end(), [](const spec::ArgSpec& a) { return spec::is_output(a.role); }))
    throw Error(ErrorKind::invalid_spec,
                name + ": there is a reference or a check, but no argument is an output or inout");
  return spec;
}

void apply_predicates(const Tunable& tunable, spec::Spec& spec, const Bindings& problem, const Bindings& device_facts,
                      const std::function<void()>& poll) {
  const auto& predicates = Access::state(tunable).predicates;
  if (predicates.empty()) return;
  std::vector<Table> tables;
  for (const auto& predicate : predicates) tables.emplace_back(predicate, spec, problem);
  const space::Space space = spec::make_space(spec, problem, device_facts, poll);
  if (space.size() > max_rows)
    throw Error(ErrorKind::invalid_argument,
                std::to_string(space.size()) +
                    " configurations are too many for constraints in code, which are asked " + "one by one (at most " +
                    std::to_string(max_rows) + "): write those that remove most of them as text");
  std::vector<std::vector<std::uint32_t>> rows;
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    if (poll && i % 4096 == 0) poll();
    std::vector<std::uint32_t> row = space.value_indices(i);
    if (std::all_of(tables.begin(), tables.end(), [&](Table& table) { return table.allows(row); }))
      rows.push_back(std::move(row));
  }
  if (rows.empty())
    throw Error(ErrorKind::nothing_valid, "the constraints in code remove all " + std::to_string(space.size()) +
                                              " configurations that the constraints of the spec leave");
  spec.configs = std::move(rows);
}

}  // namespace xtune
