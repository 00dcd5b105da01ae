// Builds a Tunable: each call adds a line to the spec's text, or data in addition to it.
#include "xtune/tunable.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "api/checks.hpp"
#include "api/tunable_state.hpp"
#include "api/workers.hpp"
#include "base/text.hpp"
#include "core/spec/spec.hpp"
#include "dispatch/kernel_state.hpp"
#include "system/files.hpp"
#include "worker/ipc/installed.hpp"
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
  return spec::toml_string(system::absolute_path(path).lexically_normal().string());
}

using Entries = detail::TunableState::Entries;

/// Adds a key with a text or a list, unless that is empty.
void add(Entries& entries, const char* key, const std::string& text) {
  if (!text.empty()) entries.emplace_back(key, spec::toml_string(text));
}
void add(Entries& entries, const char* key, const std::vector<Formula>& list) {
  if (!list.empty()) entries.emplace_back(key, toml_array(list));
}
void add(Entries& entries, const char* key, const std::vector<std::string>& list) {
  add(entries, key, std::vector<Formula>(list.begin(), list.end()));
}

/// what: for errors.
Entries entries_of(const Bindings& bindings, const char* what) {
  Entries entries;
  for (const auto& [name, value] : bindings) {
    space::require_utf8(std::string(what) + ": " + name, value);
    entries.emplace_back(name, spec::toml_text(value));
  }
  return entries;
}

/// key: one name or several.
void add_params(detail::TunableState& state, const std::string& key, const std::string& values, ParamKind kind) {
  state.section("space.params")
      .entries.emplace_back(
          key, kind == ParamKind::launch_only ? "{ values = " + values + ", compile_time = false }" : values);
}

void add_range(detail::TunableState& state, const std::string& name, Entries range, ParamKind kind) {
  if (kind == ParamKind::launch_only) range.emplace_back("compile_time", "false");
  state.section("space.params").entries.emplace_back(name, toml_table(range));
}

}  // namespace

const char* to_string(AcrossRule rule) noexcept { return rule == AcrossRule::worst ? "worst" : "geomean"; }

Tunable::Tunable(std::unique_ptr<detail::TunableState> state) : state_(std::move(state)) {}

Tunable::Tunable(std::string name) : state_(std::make_unique<detail::TunableState>()) {
  state_->name = std::move(name);
  state_->base_dir = system::absolute_path("x").parent_path();
  state_->set("kernel", "name", spec::toml_string(state_->name));
}

Tunable Tunable::from_file(const std::filesystem::path& given, const Bindings& defines) {
  std::filesystem::path path = given;
  if (worker::is_spec_name(given)) {
    find_worker_program();  // beside which the specs are
    path = worker::shipped_spec(given);
  }
  auto state = std::make_unique<detail::TunableState>();
  state->text = system::read_file(path, largest_spec);
  state->text_name = path.string();
  state->file = SpecFile{system::absolute_path(path), defines};
  state->base_dir = state->file->path.parent_path();
  state->defines = texts_of(defines);
  state->name = spec::parse_spec(state->text, state->text_name, state->base_dir, {state->defines, ""}).kernel.name;
  return Tunable(std::move(state));
}

Tunable Tunable::from_text(const std::string& toml, const std::filesystem::path& base_dir, const Bindings& defines) {
  auto state = std::make_unique<detail::TunableState>();
  state->text = toml.empty() ? "\n" : toml;
  state->text_name = "(text)";
  state->base_dir = system::absolute_path(base_dir);
  state->defines = texts_of(defines);
  state->name = spec::parse_spec(state->text, state->text_name, state->base_dir, {state->defines, ""}).kernel.name;
  return Tunable(std::move(state));
}

Tunable with_defines(const Tunable& tunable, const Bindings& defines) {
  Tunable copy(tunable);
  detail::TunableState& state = Access::changed(copy);
  for (auto& [name, value] : texts_of(defines)) {
    std::erase_if(state.defines, [&](const auto& each) { return each.first == name; });
    state.defines.emplace_back(name, value);
  }
  if (state.file)
    for (const auto& [name, value] : defines) state.file->defines.insert_or_assign(name, value);
  return copy;
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
                    ": change it there; in code, data, predicates, reference and validator can be added");
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
  return built().set("kernel", "entry", spec::toml_string(entry)), *this;
}

Tunable& Tunable::option(const std::string& option) {
  return built().list("kernel.options").push_back(spec::toml_string(option)), *this;
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
  return built().list("kernel.include_dirs").push_back(toml_path(path)), *this;
}

Tunable& Tunable::function(std::function<double(const Bindings&, const Bindings&)> timed,
                           const std::string& code_version, const std::string& device,
                           std::function<void(const Bindings&, const Bindings&)> prepare) {
  if (!timed) throw Error(ErrorKind::invalid_argument, "function: it is empty");
  if (device != "cuda" && device != "hip" && device != "host")
    throw Error(ErrorKind::invalid_argument, "function: '" + device + "' is not a device (cuda, hip, host)");
  built().function = std::move(timed);
  state_->function_version = code_version;
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
  return built().cases.push_back(entries_of(problem, "case")), *this;
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
  // In the place of declarations of one name: of a source's own parameters (source.hpp).
  std::erase_if(built().section("space.params").entries,
                [&](const auto& entry) { return std::find(names.begin(), names.end(), entry.first) != names.end(); });
  add_params(*state_, key, "[" + list + "]", kind);
  return *this;
}

Tunable& Tunable::param_range(const std::string& name, std::int64_t min, std::int64_t max, std::int64_t step,
                              ParamKind kind) {
  return add_range(built(), name,
                   {{"min", std::to_string(min)}, {"max", std::to_string(max)}, {"step", std::to_string(step)}}, kind),
         *this;
}

Tunable& Tunable::param_pow2(const std::string& name, std::int64_t min, std::int64_t max, ParamKind kind) {
  return add_range(built(), name, {{"min", std::to_string(min)}, {"max", std::to_string(max)}, {"scale", "\"pow2\""}},
                   kind),
         *this;
}

Tunable& Tunable::constraint(const std::string& expression) {
  return built().constraints.push_back(spec::toml_string(expression)), *this;
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
  return built().set("launch", "grid", toml_array(extents)), *this;
}

Tunable& Tunable::block(const std::vector<Formula>& extents) {
  return built().set("launch", "block", toml_array(extents)), *this;
}

Tunable& Tunable::cluster(const std::vector<Formula>& extents) {
  return built().set("launch", "cluster", toml_array(extents)), *this;
}

Tunable& Tunable::shared(const Formula& bytes) {
  return built().set("launch", "shared", spec::toml_string(bytes.text())), *this;
}

Tunable& Tunable::cooperative(bool on) { return set("launch", "cooperative", Value(on)); }

Tunable& Tunable::step(const KernelStep& step) {
  Entries entries{{"entry", spec::toml_string(step.entry)}};
  add(entries, "when", step.when);
  add(entries, "grid", step.grid);
  add(entries, "block", step.block);
  add(entries, "cluster", step.cluster);
  add(entries, "shared", step.shared.text());
  add(entries, "args", step.args);
  if (step.cooperative) entries.emplace_back("cooperative", "true");
  add(entries, "repeat", step.repeat.text());
  std::vector<std::string> with;
  for (const auto& [name, value] : step.with)
    with.push_back(fmt::format("{} = {}", spec::toml_string(name), spec::toml_string(value.text())));
  if (!with.empty()) entries.emplace_back("with", fmt::format("{{ {} }}", fmt::join(with, ", ")));
  return built().steps.push_back(std::move(entries)), *this;
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
  return built().set("objective", "minimize", toml_array(goals)), *this;
}

Tunable& Tunable::maximize(const std::vector<Formula>& goals) {
  return built().set("objective", "maximize", toml_array(goals)), *this;
}

Tunable& Tunable::across(AcrossRule rule) { return set("objective", "across", to_string(rule)); }

Tunable& Tunable::search(const std::string& key, const Value& value) {
  if (key == "strategy") require_strategy("search(\"strategy\")", to_text(value));
  return set("search", key, value);
}

Tunable& Tunable::dispatch_key(const std::vector<Formula>& key) {
  return built().set("dispatch", "key", toml_array(key)), *this;
}

Tunable& Tunable::dispatch_radius(double radius) { return set("dispatch", "radius", radius); }

Tunable& Tunable::set(const std::string& section, const std::string& key, const Value& value) {
  return built().set(section, key, spec::toml_text(value)), *this;
}

namespace {

Entries buffer(const std::string& name, DType dtype, const Shape& shape, const char* role, const CallRule& rule = {}) {
  require_dtype(dtype);
  Entries entries{{"name", spec::toml_string(name)},
                  {"dtype", spec::toml_string(to_string(dtype))},
                  {"shape", toml_array(shape.extents())},
                  {"role", spec::toml_string(role)}};
  add(entries, "when", rule.when.text());
  add(entries, "transposed", rule.transposed);
  return entries;
}

std::string fill_text(const Data& data) {
  const std::string word = spec::fill_words.of(data.fill());
  if (data.numbers().empty()) return spec::toml_string(word);
  return "{ " + word + " = " + toml_array({data.numbers().begin(), data.numbers().end()}) + " }";
}

std::string reference_source(detail::TunableState& state, const ReferenceKernel& details) {
  if (!details.source_file.empty() && !details.source.empty())
    throw Error(ErrorKind::invalid_argument, "reference_kernel: source_file and source exclude each other");
  const std::filesystem::path path =
      details.source.empty() ? details.source_file : state.keep_source(details.source, "reference");
  return path.empty() ? "" : system::absolute_path(path).lexically_normal().string();
}

}  // namespace

Tunable& Tunable::input(const std::string& name, DType dtype, const Shape& shape, const Data& data,
                        const CallRule& rule) {
  built().args.push_back(buffer(name, dtype, shape, "in", rule));
  return this->data(name, data);
}

Tunable& Tunable::output(const std::string& name, DType dtype, const Shape& shape) {
  return built().args.push_back(buffer(name, dtype, shape, "out")), *this;
}

Tunable& Tunable::inout(const std::string& name, DType dtype, const Shape& shape, const Data& data,
                        const CallRule& rule) {
  built().args.push_back(buffer(name, dtype, shape, "inout", rule));
  return this->data(name, data);
}

Tunable& Tunable::scratch(const std::string& name, DType dtype, const Shape& shape, bool zero) {
  built().args.push_back(buffer(name, dtype, shape, "scratch"));
  if (zero) built().args.back().emplace_back("zero", "true");
  return *this;
}

Tunable& Tunable::scalar(const std::string& name, DType dtype, const Formula& value, const Formula& default_value) {
  require_dtype(dtype);
  built().args.push_back({{"name", spec::toml_string(name)},
                          {"kind", "\"scalar\""},
                          {"dtype", spec::toml_string(to_string(dtype))},
                          {"value", spec::toml_string(value.text())}});
  add(state_->args.back(), "default", default_value.text());
  return *this;
}

Tunable& Tunable::structure(const std::string& name, const std::vector<StructField>& fields) {
  std::vector<std::string> texts;
  for (const StructField& field : fields) {
    std::string text = fmt::format("{{ name = {}, count = {}", spec::toml_string(field.name), field.count);
    if (!field.of.empty()) {
      text += ", of = " + spec::toml_string(field.of);
    } else {
      require_dtype(field.dtype);
      const std::string lanes = field.lanes > 1 ? fmt::format("x{}", field.lanes) : "";
      text += fmt::format(
          ", dtype = {}, value = {}", spec::toml_string(to_string(field.dtype) + lanes),
          field.value.size() == 1 ? spec::toml_string(field.value.front().text()) : toml_array(field.value));
    }
    texts.push_back(text + " }");
  }
  built().args.push_back({{"name", spec::toml_string(name)},
                          {"kind", "\"struct\""},
                          {"fields", fmt::format("[{}]", fmt::join(texts, ", "))}});
  return *this;
}

Tunable& Tunable::value(const std::string& name, std::span<const std::byte> bytes) {
  StructField field{"bytes", DType::u8, {}, bytes.size()};
  for (const std::byte byte : bytes) field.value.emplace_back(std::to_integer<int>(byte));
  return structure(name, {field});
}

Tunable& Tunable::table(const std::string& name, const std::vector<std::string>& of, const Formula& count,
                        const Formula& stride) {
  Entries entries{{"name", spec::toml_string(name)}, {"kind", "\"table\""}};
  add(entries, "of", of);
  add(entries, "count", count.text());
  add(entries, "stride", stride.text());
  return built().args.push_back(std::move(entries)), *this;
}

Tunable& Tunable::sum(const std::string& name, DType dtype, const Shape& shape, const std::string& of) {
  built().args.push_back(buffer(name, dtype, shape, "out"));
  built().args.back().emplace_back("sum_of", spec::toml_string(of));
  return *this;
}

Tunable& Tunable::constant(const std::string& name, DType dtype, const Shape& shape, const Data& data) {
  require_dtype(dtype);
  built().args.push_back({{"name", spec::toml_string(name)},
                          {"kind", "\"constant\""},
                          {"dtype", spec::toml_string(to_string(dtype))},
                          {"shape", toml_array(shape.extents())}});
  return this->data(name, data);
}

Tunable& Tunable::tensor_map(const std::string& name, const std::string& of, const TensorMapView& view) {
  Entries entries{{"name", spec::toml_string(name)},
                  {"kind", "\"tensor_map\""},
                  {"of", spec::toml_string(of)},
                  {"box", toml_array(view.box)}};
  add(entries, "shape", view.shape);
  add(entries, "strides", view.strides);
  add(entries, "element_strides", view.element_strides);
  add(entries, "swizzle", view.swizzle.text());
  add(entries, "l2_promotion", view.l2_promotion.text());
  add(entries, "interleave", view.interleave.text());
  if (view.dtype) require_dtype(*view.dtype);
  add(entries, "dtype", view.tf32 ? "tf32" : view.dtype ? to_string(*view.dtype) : std::string());
  if (view.nan_outside) add(entries, "outside", "nan");
  built().args.push_back(std::move(entries));
  return *this;
}

Tunable& Tunable::kernel_args(const std::vector<std::string>& names) {
  return built().set("kernel", "args", toml_array({names.begin(), names.end()})), *this;
}

Tunable& Tunable::data(const std::string& argument, const Data& data) {
  const auto found = std::find_if(attached().data.begin(), state_->data.end(),
                                  [&](const auto& entry) { return entry.first == argument; });
  if (found == state_->data.end())
    state_->data.emplace_back(argument, data);
  else
    found->second = data;
  // A fill rule is part of the text.
  for (Entries& entries : state_->args) {
    if (entries.front().second != spec::toml_string(argument)) continue;
    std::erase_if(entries, [](const auto& entry) { return entry.first == "fill"; });
    if (data.kind() == Data::Kind::fill && state_->text.empty()) {
      entries.emplace_back("fill", fill_text(data));
      std::erase_if(state_->data, [&](const auto& entry) { return entry.first == argument; });
    }
    break;
  }
  return *this;
}

Tunable& Tunable::reference_kernel(const std::string& entry, const ReferenceKernel& details) {
  Entries entries{{"kernel", spec::toml_string(entry)}};
  add(entries, "source", reference_source(built(), details));
  add(entries, "options", details.options);
  add(entries, "grid", details.grid);
  add(entries, "block", details.block);
  add(entries, "shared", details.shared.text());
  add(entries, "args", details.args);
  return set_reference(toml_table(entries));
}

Tunable& Tunable::reference_config(const Bindings& values) {
  return set_reference(toml_table({{"config", toml_table(entries_of(values, "reference_config"))}}));
}

Tunable& Tunable::reference_builtin(const std::string& builtin,
                                    const std::vector<std::pair<std::string, Formula>>& roles,
                                    const std::string& output) {
  Entries entries{{"builtin", spec::toml_string(builtin)}};
  add(entries, "output", output);
  for (const auto& [role, formula] : roles) entries.emplace_back(role, spec::toml_string(formula.text()));
  return set_reference(toml_table(entries));
}

Tunable& Tunable::reference_file(const std::filesystem::path& npy, const std::string& output) {
  Entries entries{{"file", toml_path(npy)}};
  add(entries, "output", output);
  return set_reference(toml_table(entries));
}

Tunable& Tunable::reference_command(const std::vector<std::string>& words) {
  return set_reference(toml_table({{"command", toml_array({words.begin(), words.end()})}}));
}

Tunable& Tunable::set_reference(const std::string& toml) {
  built().set("validate", "reference", toml);
  state_->reference = nullptr;
  return *this;
}

Tunable& Tunable::reference(std::function<Expected(const Arguments&)> reference) {
  if (!reference) throw Error(ErrorKind::invalid_argument, "reference: the function is empty");
  attached().reference = std::move(reference);
  return *this;
}

Tunable& Tunable::set_validator(std::function<bool(const Arguments&)> validator, const std::string& label) {
  if (!validator) throw Error(ErrorKind::invalid_argument, "validator: the function is empty");
  attached().check = std::move(validator);
  state_->check_label = label.empty() ? "1" : label;
  return *this;
}

Tunable& Tunable::skip_validation() {
  attached().reference = nullptr;
  state_->check = nullptr;
  state_->check_label.clear();
  state_->unset("validate", "reference");
  return *this;
}

Tunable& Tunable::tolerance(double rtol, double atol) {
  set("validate", "rtol", Value(rtol));
  return set("validate", "atol", Value(atol));
}

}  // namespace xtune
