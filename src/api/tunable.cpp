// Builds a Tunable: each call adds a line to the spec's text, or data in addition to it.
#include "xtune/tunable.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "api/strategy_name.hpp"
#include "api/tunable_access.hpp"
#include "api/tunable_state.hpp"
#include "base/absolute_path.hpp"
#include "base/files.hpp"
#include "base/named.hpp"
#include "base/text.hpp"
#include "core/spec/spec.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

constexpr std::uint64_t largest_spec = 4 << 20;

std::vector<std::pair<std::string, std::string>> texts_of(const Bindings& defines) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [name, value] : defines) texts.emplace_back(name, to_text(value));
  return texts;
}

std::string toml_path(const std::filesystem::path& path) {
  return spec::toml_string(base::absolute_path(path).lexically_normal().string());
}

/// key: one name or several.
void add_params(detail::TunableState& state, const std::string& key, const std::string& values, ParamKind kind) {
  state.section("space.params")
      .entries.emplace_back(
          key, kind == ParamKind::launch_only ? "{ values = " + values + ", compile_time = false }" : values);
}

}  // namespace

const char* to_string(AcrossRule rule) noexcept { return rule == AcrossRule::worst ? "worst" : "geomean"; }

detail::TunableState::Section& detail::TunableState::section(const std::string& wanted) {
  Section* const found = base::find_named(sections, wanted);
  return found ? *found : sections.emplace_back(Section{wanted, {}});
}

void detail::TunableState::set(const std::string& wanted, const std::string& key, const std::string& value) {
  Entries& entries = section(wanted).entries;
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == key; });
  if (found == entries.end())
    entries.emplace_back(key, value);
  else
    found->second = value;
}

void detail::TunableState::unset(const std::string& wanted, const std::string& key) {
  std::erase_if(section(wanted).entries, [&](const auto& entry) { return entry.first == key; });
}

std::vector<std::string>& detail::TunableState::list(const std::string& key) {
  section(key.substr(0, key.find('.')));
  const auto found = std::find_if(lists.begin(), lists.end(), [&](const auto& entry) { return entry.first == key; });
  return found == lists.end() ? lists.emplace_back(key, std::vector<std::string>()).second : found->second;
}

std::filesystem::path detail::TunableState::keep_source(const std::string& source_text, const std::string& stem) {
  const auto folder = std::make_shared<const base::TemporaryDirectory>();
  const std::filesystem::path path = folder->path() / (stem + ".cu");
  base::write_file_atomically(path, source_text);
  sources.push_back(folder);
  return path;
}

Tunable::Tunable(std::unique_ptr<detail::TunableState> state) : state_(std::move(state)) {}

Tunable::Tunable(std::string name) : state_(std::make_unique<detail::TunableState>()) {
  state_->name = std::move(name);
  state_->base_dir = base::absolute_path("x").parent_path();
  state_->set("kernel", "name", spec::toml_string(state_->name));
}

Tunable Tunable::from_file(const std::filesystem::path& path, const Bindings& defines) {
  auto state = std::make_unique<detail::TunableState>();
  state->text = base::read_file(path, largest_spec);
  state->text_name = path.string();
  state->file = SpecFile{base::absolute_path(path), defines};
  state->base_dir = state->file->path.parent_path();
  state->defines = texts_of(defines);
  state->name = spec::parse_spec(state->text, state->text_name, state->base_dir, {state->defines, ""}).kernel.name;
  return Tunable(std::move(state));
}

Tunable Tunable::from_text(const std::string& toml, const std::filesystem::path& base_dir, const Bindings& defines) {
  auto state = std::make_unique<detail::TunableState>();
  state->text = toml.empty() ? "\n" : toml;
  state->text_name = "(text)";
  state->base_dir = base::absolute_path(base_dir);
  state->defines = texts_of(defines);
  state->name = spec::parse_spec(state->text, state->text_name, state->base_dir, {state->defines, ""}).kernel.name;
  return Tunable(std::move(state));
}

Tunable::Tunable(const Tunable& other) : state_(std::make_unique<detail::TunableState>(other.state())) {}
Tunable::Tunable(Tunable&& other) noexcept = default;
Tunable& Tunable::operator=(const Tunable& other) {
  if (this != &other) state_ = std::make_unique<detail::TunableState>(other.state());
  return *this;
}
Tunable& Tunable::operator=(Tunable&& other) noexcept = default;
Tunable::~Tunable() = default;

const detail::TunableState& Tunable::state() const {
  if (!state_) throw Error(ErrorKind::invalid_argument, "this Tunable was moved from: assign to it before using it");
  return *state_;
}

detail::TunableState& Tunable::attached() {
  state();
  return *state_;
}

detail::TunableState& Tunable::built() {
  if (!state().text.empty())
    throw Error(ErrorKind::invalid_argument,
                "the kernel '" + state_->name + "' was read from " + state_->text_name +
                    ": change it there; in code, data, predicates, reference and check can be added");
  return *state_;
}

const std::string& Tunable::name() const noexcept {
  static const std::string none;
  return state_ ? state_->name : none;
}

std::string Tunable::toml() const { return toml_of(state()); }
void Tunable::check_spec() const { spec_of(*this); }

Tunable& Tunable::source_file(const std::filesystem::path& path) {
  built().set("kernel", "source", toml_path(path));
  state_->unset("kernel", "code");
  return *this;
}

Tunable& Tunable::source(const std::string& text) {
  built().set("kernel", "code", spec::toml_string(text));
  state_->unset("kernel", "source");
  return *this;
}

Tunable& Tunable::entry(const std::string& entry) {
  built().set("kernel", "entry", spec::toml_string(entry));
  return *this;
}

Tunable& Tunable::option(const std::string& option) {
  built().list("kernel.options").push_back(spec::toml_string(option));
  return *this;
}

Tunable& Tunable::option(const std::string& backend, const std::string& option) {
  if (backend != "cuda" && backend != "hip" && backend != "host")
    throw Error(ErrorKind::invalid_argument,
                "option: '" + backend + "' is not a backend with options (cuda, hip, host)");
  built().list("kernel.options_" + backend).push_back(spec::toml_string(option));
  return *this;
}

Tunable& Tunable::define(const std::string& name, const Formula& value) {
  built().section("kernel");
  state_->set("kernel.defines", name, spec::toml_string(value.text()));
  return *this;
}

Tunable& Tunable::include_dir(const std::filesystem::path& path) {
  built().list("kernel.include_dirs").push_back(toml_path(path));
  return *this;
}

Tunable& Tunable::function(std::function<double(const Bindings&, const Bindings&)> timed, const std::string& version,
                           const std::string& device, std::function<void(const Bindings&, const Bindings&)> prepare) {
  if (!timed) throw Error(ErrorKind::invalid_argument, "function: it is empty");
  if (device != "cuda" && device != "hip" && device != "host")
    throw Error(ErrorKind::invalid_argument, "function: '" + device + "' is not a device (cuda, hip, host)");
  built().function = std::move(timed);
  state_->function_version = version;
  state_->function_device = device;
  state_->prepare = std::move(prepare);
  return *this;
}

Tunable& Tunable::compile_timeout_s(double seconds) { return set("kernel", "compile_timeout_s", Value(seconds)); }

Tunable& Tunable::problem(const std::string& name, const Value& value) {
  space::require_utf8("problem: " + name, value);
  built().set("problem", name, spec::toml_text(value));
  return *this;
}

Tunable& Tunable::add_case(const Bindings& problem) {
  detail::TunableState::Entries entries;
  for (const auto& [name, value] : problem) {
    space::require_utf8("case: " + name, value);
    entries.emplace_back(name, spec::toml_text(value));
  }
  built().cases.push_back(std::move(entries));
  return *this;
}

Tunable& Tunable::add_param(const std::string& name, const std::vector<Value>& values, ParamKind kind) {
  for (const Value& value : values) space::require_utf8("parameter " + name, value);
  add_params(built(), name, spec::toml_list(values), kind);
  return *this;
}

Tunable& Tunable::params(const std::vector<std::string>& names, const std::vector<std::vector<Value>>& rows,
                         ParamKind kind) {
  std::string key, list;
  for (const std::string& name : names) key += (key.empty() ? "" : ", ") + name;
  if (names.size() < 2)
    throw Error(ErrorKind::invalid_argument, "params: name at least two parameters, or use param for one");
  for (const std::vector<Value>& row : rows) {
    if (row.size() != names.size())
      throw Error(ErrorKind::invalid_argument, fmt::format("params: a row has {} values, and there are {} names ({})",
                                                           row.size(), names.size(), base::printable(key, 200)));
    for (const Value& value : row) space::require_utf8("parameters " + key, value);
    list += (list.empty() ? "" : ", ") + spec::toml_list(row);
  }
  add_params(built(), key, "[" + list + "]", kind);
  return *this;
}

Tunable& Tunable::param_range(const std::string& name, std::int64_t min, std::int64_t max, std::int64_t step,
                              ParamKind kind) {
  detail::TunableState::Entries entries{
      {"min", std::to_string(min)}, {"max", std::to_string(max)}, {"step", std::to_string(step)}};
  if (kind == ParamKind::launch_only) entries.emplace_back("compile_time", "false");
  built().section("space.params").entries.emplace_back(name, toml_table(entries));
  return *this;
}

Tunable& Tunable::param_pow2(const std::string& name, std::int64_t min, std::int64_t max, ParamKind kind) {
  detail::TunableState::Entries entries{
      {"min", std::to_string(min)}, {"max", std::to_string(max)}, {"scale", "\"pow2\""}};
  if (kind == ParamKind::launch_only) entries.emplace_back("compile_time", "false");
  built().section("space.params").entries.emplace_back(name, toml_table(entries));
  return *this;
}

Tunable& Tunable::constraint(const std::string& expression) {
  built().constraints.push_back(spec::toml_string(expression));
  return *this;
}

Tunable& Tunable::constraint(const std::vector<std::string>& names, std::function<bool(const Bindings&)> predicate,
                             const std::vector<std::string>& optional) {
  if (!predicate) throw Error(ErrorKind::invalid_argument, "constraint: the predicate is empty");
  if (names.empty() && optional.empty())
    throw Error(ErrorKind::invalid_argument, "constraint: name the parameters that the predicate looks at");
  attached().predicates.push_back({names, optional, std::move(predicate)});
  return *this;
}

Tunable& Tunable::candidates(const std::string& model, const std::vector<std::pair<std::string, Formula>>& map,
                             int top_k) {
  built().set("candidates", "template", spec::toml_string(model));
  state_->set("candidates", "top_k", std::to_string(top_k));
  for (const auto& [field, formula] : map) state_->set("candidates.map", field, spec::toml_string(formula.text()));
  return *this;
}

Tunable& Tunable::grid(const std::vector<Formula>& extents) {
  built().set("launch", "grid", toml_array(extents));
  return *this;
}

Tunable& Tunable::block(const std::vector<Formula>& extents) {
  built().set("launch", "block", toml_array(extents));
  return *this;
}

Tunable& Tunable::cluster(const std::vector<Formula>& extents) {
  built().set("launch", "cluster", toml_array(extents));
  return *this;
}

Tunable& Tunable::shared(const Formula& bytes) {
  built().set("launch", "shared", spec::toml_string(bytes.text()));
  return *this;
}

Tunable& Tunable::step(const KernelStep& step) {
  detail::TunableState::Entries entries{{"entry", spec::toml_string(step.entry)}};
  if (!step.when.empty()) entries.emplace_back("when", spec::toml_string(step.when));
  for (const auto& [key, extents] : {std::pair("grid", &step.grid), {"block", &step.block}, {"cluster", &step.cluster}})
    if (!extents->empty()) entries.emplace_back(key, toml_array(*extents));
  if (!step.shared.text().empty()) entries.emplace_back("shared", spec::toml_string(step.shared.text()));
  if (!step.args.empty()) entries.emplace_back("args", toml_array({step.args.begin(), step.args.end()}));
  built().steps.push_back(std::move(entries));
  return *this;
}

Tunable& Tunable::metric(const std::string& name, const Metric& metric) {
  // Goals may name a metric in code, so the text has something in its place.
  const bool is_code = metric.expression().text().empty();
  built().set("metrics", name,
              is_code ? "\"0\"  # in code, label " + spec::toml_string(metric.label())
                      : spec::toml_string(metric.expression().text()));
  std::erase_if(state_->metrics, [&](const auto& each) { return each.name == name; });
  if (is_code) state_->metrics.push_back({name, metric.code(), metric.label()});
  return *this;
}

Tunable& Tunable::minimize(const std::vector<Formula>& goals) {
  built().set("objective", "minimize", toml_array(goals));
  return *this;
}

Tunable& Tunable::maximize(const std::vector<Formula>& goals) {
  built().set("objective", "maximize", toml_array(goals));
  return *this;
}

Tunable& Tunable::across(AcrossRule rule) { return set("objective", "across", to_string(rule)); }

Tunable& Tunable::search(const std::string& key, const Value& value) {
  if (key == "strategy") require_strategy("search(\"strategy\")", to_text(value));
  return set("search", key, value);
}

Tunable& Tunable::dispatch_key(const std::vector<Formula>& key) {
  built().set("dispatch", "key", toml_array(key));
  return *this;
}

Tunable& Tunable::dispatch_radius(double radius) { return set("dispatch", "radius", radius); }

Tunable& Tunable::set(const std::string& section, const std::string& key, const Value& value) {
  built().set(section, key, spec::toml_text(value));
  return *this;
}

}  // namespace xtune
