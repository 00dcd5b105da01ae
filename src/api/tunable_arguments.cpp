// Arguments of a Tunable, and the references and checks for its results.
#include <algorithm>

#include "api/require_dtype.hpp"
#include "api/tunable_access.hpp"
#include "api/tunable_state.hpp"
#include "base/absolute_path.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

detail::TunableState::Entries buffer(const std::string& name, DType dtype, const Shape& shape, const char* role) {
  require_dtype(dtype);
  return {{"name", spec::toml_string(name)},
          {"dtype", spec::toml_string(to_string(dtype))},
          {"shape", toml_array(shape.extents())},
          {"role", spec::toml_string(role)}};
}

std::string fill_text(const Data& data) {
  if (data.integer_range().empty()) return spec::toml_string(spec::fill_words.of(data.fill()));
  return "{ integers = " + toml_array({data.integer_range().begin(), data.integer_range().end()}) + " }";
}

std::string reference_source(detail::TunableState& state, const ReferenceKernel& details) {
  if (!details.source_file.empty() && !details.source.empty())
    throw Error(ErrorKind::invalid_argument, "reference_kernel: source_file and source exclude each other");
  const std::filesystem::path path =
      details.source.empty() ? details.source_file : state.keep_source(details.source, "reference");
  return path.empty() ? "" : spec::toml_string(base::absolute_path(path).lexically_normal().string());
}

}  // namespace

Tunable& Tunable::input(const std::string& name, DType dtype, const Shape& shape, const Data& data) {
  built().args.push_back(buffer(name, dtype, shape, "in"));
  return this->data(name, data);
}

Tunable& Tunable::output(const std::string& name, DType dtype, const Shape& shape) {
  built().args.push_back(buffer(name, dtype, shape, "out"));
  return *this;
}

Tunable& Tunable::inout(const std::string& name, DType dtype, const Shape& shape, const Data& data) {
  built().args.push_back(buffer(name, dtype, shape, "inout"));
  return this->data(name, data);
}

Tunable& Tunable::scratch(const std::string& name, DType dtype, const Shape& shape, bool zero) {
  built().args.push_back(buffer(name, dtype, shape, "scratch"));
  if (zero) built().args.back().emplace_back("zero", "true");
  return *this;
}

Tunable& Tunable::scalar(const std::string& name, DType dtype, const Formula& value) {
  require_dtype(dtype);
  built().args.push_back({{"name", spec::toml_string(name)},
                          {"kind", "\"scalar\""},
                          {"dtype", spec::toml_string(to_string(dtype))},
                          {"value", spec::toml_string(value.text())}});
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
  detail::TunableState::Entries entries{{"name", spec::toml_string(name)},
                                        {"kind", "\"tensor_map\""},
                                        {"of", spec::toml_string(of)},
                                        {"box", toml_array(view.box)}};
  const auto add_list = [&](const char* key, const std::vector<Formula>& list) {
    if (!list.empty()) entries.emplace_back(key, toml_array(list));
  };
  const auto add = [&](const char* key, const std::string& text) {
    if (!text.empty()) entries.emplace_back(key, spec::toml_string(text));
  };
  add_list("shape", view.shape);
  add_list("strides", view.strides);
  add_list("element_strides", view.element_strides);
  add("swizzle", view.swizzle.text());
  add("l2_promotion", view.l2_promotion.text());
  add("interleave", view.interleave.text());
  if (view.dtype) require_dtype(*view.dtype);
  add("dtype", view.tf32 ? "tf32" : view.dtype ? to_string(*view.dtype) : "");
  if (view.nan_outside) add("outside", "nan");
  built().args.push_back(std::move(entries));
  return *this;
}

Tunable& Tunable::kernel_args(const std::vector<std::string>& names) {
  built().set("kernel", "args", toml_array({names.begin(), names.end()}));
  return *this;
}

Tunable& Tunable::data(const std::string& argument, const Data& data) {
  const auto found = std::find_if(attached().data.begin(), state_->data.end(),
                                  [&](const auto& entry) { return entry.first == argument; });
  if (found == state_->data.end())
    state_->data.emplace_back(argument, data);
  else
    found->second = data;
  // A fill rule is part of the text.
  for (detail::TunableState::Entries& entries : state_->args) {
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
  detail::TunableState::Entries entries{{"kernel", spec::toml_string(entry)}};
  if (const std::string source = reference_source(built(), details); !source.empty())
    entries.emplace_back("source", source);
  if (!details.options.empty())
    entries.emplace_back("options", toml_array({details.options.begin(), details.options.end()}));
  if (!details.grid.empty()) entries.emplace_back("grid", toml_array(details.grid));
  if (!details.block.empty()) entries.emplace_back("block", toml_array(details.block));
  if (!details.shared.text().empty()) entries.emplace_back("shared", spec::toml_string(details.shared.text()));
  if (!details.args.empty()) entries.emplace_back("args", toml_array({details.args.begin(), details.args.end()}));
  return set_reference(toml_table(entries));
}

Tunable& Tunable::reference_config(const Bindings& values) {
  detail::TunableState::Entries entries;
  for (const auto& [name, value] : values) {
    space::require_utf8("reference_config: " + name, value);
    entries.emplace_back(name, spec::toml_text(value));
  }
  return set_reference(toml_table({{"config", toml_table(entries)}}));
}

Tunable& Tunable::reference_builtin(const std::string& builtin,
                                    const std::vector<std::pair<std::string, Formula>>& roles,
                                    const std::string& output) {
  detail::TunableState::Entries entries{{"builtin", spec::toml_string(builtin)}};
  if (!output.empty()) entries.emplace_back("output", spec::toml_string(output));
  for (const auto& [role, formula] : roles) entries.emplace_back(role, spec::toml_string(formula.text()));
  return set_reference(toml_table(entries));
}

Tunable& Tunable::reference_file(const std::filesystem::path& npy, const std::string& output) {
  detail::TunableState::Entries entries{
      {"file", spec::toml_string(base::absolute_path(npy).lexically_normal().string())}};
  if (!output.empty()) entries.emplace_back("output", spec::toml_string(output));
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

Tunable& Tunable::set_check(std::function<bool(const Arguments&)> check, const std::string& label) {
  if (!check) throw Error(ErrorKind::invalid_argument, "output_check: the function is empty");
  attached().check = std::move(check);
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
