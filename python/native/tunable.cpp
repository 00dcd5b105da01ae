// SPDX-License-Identifier: Apache-2.0
// The builder, with Python's callables as predicates, references, validators and generators.
#include "module.hpp"
#include "xtune/source.hpp"

namespace xtune {

using namespace python;
using Formulas = std::vector<Formula>;
using Names = std::vector<std::string>;
using Path = std::filesystem::path;
using Roles = std::vector<std::pair<std::string, Formula>>;
using Text = std::string;

/// (name, dtype, shape, bytearray): a copy, because the array is valid only during the call.
Object object_of(const HostArray& array) {
  return tuple_of(array.name, array.dtype, array.shape,
                  Object::made(PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(array.bytes.data()),
                                                             static_cast<Py_ssize_t>(array.bytes.size()))));
}

Object object_of(const Arguments& arguments) {
  return tuple_of(arguments.problem, arguments.config, arguments.inputs, arguments.outputs);
}

Object object_of(const DataRequest& request) {
  return tuple_of(request.name, request.dtype, Object::made(PyList_AsTuple(object_of(request.shape).get())),
                  request.seed, request.problem);
}

/// [(output, dtype, bytes)]
bool read(PyObject* object, Expected& value) {
  for (const auto& [output, dtype, bytes] : value_of<std::vector<std::tuple<Text, DType, Bytes>>>(object))
    value.set_bytes(output, dtype, bytes.span());
  return true;
}

/// ("array", role, dtype, shape), ("number", dtype or None, value) or ("value", bytes)
bool read(PyObject* object, Passed& passed) {
  const auto parts = value_of<std::vector<Object>>(object);
  const auto kind = value_of<Text>(parts[0].get());
  if (kind == "value") {
    const Bytes bytes(parts[1].get());
    passed.kind = Passed::Kind::value;
    passed.bytes = bytes.span().size();
    passed.data = Data::bytes(DType::u8, bytes.span());
  } else if (kind == "number") {
    passed.dtype = value_of<std::optional<DType>>(parts[1].get());
    passed.number = value_of<Formula>(parts[2].get());
  } else {
    const auto role = value_of<Text>(parts[1].get());
    passed.kind = Passed::Kind::array;
    passed.role = role == "inout" ? Passed::Role::inout : role == "output" ? Passed::Role::out : Passed::Role::in;
    passed.dtype = value_of<DType>(parts[2].get());
    passed.bytes = size_of(*passed.dtype);
    passed.shape = value_of<Formulas>(parts[3].get());
  }
  return true;
}

/// Whether a parameter is launch_only.
bool read(PyObject* object, ParamKind& kind) {
  kind = is_true(object) ? ParamKind::launch_only : ParamKind::compile_time;
  return true;
}

namespace python {

template <>
struct internal::Argument<Shape> {
  explicit Argument(PyObject* object) : value(value_of<Formulas>(object)) {}
  Shape value;
};

namespace {

/// For callbacks whose exceptions the library turns into messages.
template <class Answer, class... Arguments>
std::function<Answer(Arguments...)> ending_runs(std::function<Answer(Arguments...)> function,
                                                bool keeps_cause = false) {
  return [function = std::move(function), keeps_cause](Arguments... arguments) {
    try {
      return function(arguments...);
    } catch (const Raised& raised) {
      end_run_for(raised);
      if (keeps_cause) keep_as_cause(raised);
      throw;
    }
  };
}

Data filled_by(const Text& word, const Formulas& numbers) {
  const std::map<Text, Fill> fills{
      {"auto", Fill::automatic},    {"integer", Fill::integer}, {"uniform", Fill::uniform},
      {"normal", Fill::normal},     {"randn", Fill::randn},     {"zero", Fill::zero},
      {"one", Fill::one},           {"range", Fill::range},     {"sorted", Fill::sorted},
      {"one_hot", Fill::one_hot},   {"offsets", Fill::offsets}, {"permutation", Fill::permutation},
      {"integers", Fill::integers}, {"formula", Fill::formula}};
  const auto found = fills.find(word);
  if (found == fills.end())
    throw Error(ErrorKind::invalid_argument,
                "fill '" + word +
                    "' is unknown: use auto, integer, uniform, normal, zero, one, range, sorted, permutation, one_hot, "
                    "integers, offsets or formula");
  std::vector<Value> values;
  for (const Formula& number : numbers) values.emplace_back(number.text());
  return {found->second, values};
}

Object new_tunable(Tunable tunable) { return new_instance(std::make_unique<Tunable>(std::move(tunable))); }

Object tunable_of_source(const Text& source, const Object& given, const std::vector<Passed>& passed,
                         const Object& tell) {
  SourceSettings settings;
  std::vector<std::pair<Text, std::vector<Value>>> params;
  Settings from(given);
  from.take("params", params, "entry", settings.entry, "name", settings.name, "grid", settings.grid, "block",
            settings.block, "shared", settings.shared, "problem", settings.problem, "defines", settings.defines,
            "include_dirs", settings.include_dirs);
  from.require_all();
  for (auto& [name, values] : params) settings.params.push_back({name, std::move(values)});
  settings.tuning.on_log = [tell](const Text& line) { tell(line); };  // within this call
  return new_tunable(from_source(source, settings, std::span<const Passed>(passed)));
}

PyMethodDef tunable_functions[] = {
    function("tunable", [](const Text& name) { return new_tunable(Tunable(name)); }),
    function("tunable_from_file",
             [](const Path& path, const Bindings& defines) { return new_tunable(Tunable::from_file(path, defines)); }),
    function("tunable_from_text",
             [](const Text& toml, const Path& base_dir, const Bindings& defines) {
               return new_tunable(Tunable::from_text(toml, base_dir, defines));
             }),
    function<tunable_of_source>("tunable_from_source"),
    {}};

PyMethodDef tunable_methods[] = {
    method("argument_names", [](const Tunable& t) { return argument_names(t); }),
    method("copy", [](const Tunable& t) { return new_tunable(t); }),
    method("name", [](const Tunable& t) { return t.name(); }),
    method<&Tunable::toml>("toml"),
    method<&Tunable::check_spec>("check_spec"),
    // The source and its launch.
    method<&Tunable::source_file>("source_file"),
    method<&Tunable::source>("source"),
    method<&Tunable::entry>("entry"),
    method("option", [](Tunable& t, const std::optional<Text>& backend,
                        const Text& option) { backend ? t.option(*backend, option) : t.option(option); }),
    method<&Tunable::define>("define"),
    method<&Tunable::include_dir>("include_dir"),
    method<&Tunable::compile_timeout_s>("compile_timeout_s"),
    // function(problem, config) -> milliseconds; prepare(problem, config), on threads of the library
    method("function",
           [](Tunable& t, const Object& function, const Text& version, const Text& device, const Object& prepare) {
             t.function(ending_runs(Callback<double(const Bindings&, const Bindings&)>::of(function)), version, device,
                        Callback<void(const Bindings&, const Bindings&)>::of(prepare));
           }),
    method<&Tunable::grid>("grid"),
    method<&Tunable::block>("block"),
    method<&Tunable::cluster>("cluster"),
    method<&Tunable::shared>("shared"),
    method<&Tunable::cooperative>("cooperative"),
    method("step",
           [](Tunable& t, const Text& entry, const Formulas& grid, const Formulas& block, const Names& args,
              const Text& when, const Formula& shared, const Formulas& cluster, bool cooperative) {
             t.step({entry, grid, block, args, when, shared, cluster, cooperative});
           }),
    // Problem and space.
    method<&Tunable::problem>("problem"),
    method<&Tunable::add_case>("add_case"),
    method("param", [](Tunable& t, const Text& name, const std::vector<Value>& values,
                       ParamKind kind) { t.param(name, values, kind); }),
    method<&Tunable::params>("params"),
    method<&Tunable::param_range>("param_range"),
    method<&Tunable::param_pow2>("param_pow2"),
    method("constraint", [](Tunable& t, const Text& expression) { t.constraint(expression); }),
    method("predicate",
           [](Tunable& t, const Names& names, const Names& optional, const Object& function) {
             t.constraint(names, Callback<bool(const Bindings&)>::of(function), optional);
           }),
    method<&Tunable::candidates>("candidates"),
    // Arguments.
    method(
        "input",
        [](Tunable& t, const Text& name, DType dtype, const Shape& shape, const Formula& when, const Text& transposed) {
          t.input(name, dtype, shape, {}, {when, transposed});
        }),
    method("output",
           [](Tunable& t, const Text& name, DType dtype, const Shape& shape) { t.output(name, dtype, shape); }),
    method(
        "inout",
        [](Tunable& t, const Text& name, DType dtype, const Shape& shape, const Formula& when, const Text& transposed) {
          t.inout(name, dtype, shape, {}, {when, transposed});
        }),
    method<&Tunable::scratch>("scratch"),
    method("constant",
           [](Tunable& t, const Text& name, DType dtype, const Shape& shape) { t.constant(name, dtype, shape); }),
    method("scalar", [](Tunable& t, const Text& name, DType dtype, const Formula& value,
                        const Formula& otherwise) { t.scalar(name, dtype, value, otherwise); }),
    method("value", [](Tunable& t, const Text& name, const Bytes& bytes) { t.value(name, bytes.span()); }),
    method<&Tunable::table>("table"),
    method<&Tunable::kernel_args>("kernel_args"),
    method("tensor_map",
           [](Tunable& t, const Text& name, const Text& of, const Object& given) {
             TensorMapView view;
             Settings from(given);
             from.take("box", view.box, "swizzle", view.swizzle, "shape", view.shape, "strides", view.strides,
                       "element_strides", view.element_strides, "l2_promotion", view.l2_promotion, "interleave",
                       view.interleave, "dtype", view.dtype, "tf32", view.tf32, "nan_outside", view.nan_outside);
             from.require_all();
             t.tensor_map(name, of, view);
           }),
    method("data_bytes", [](Tunable& t, const Text& name, DType dtype,
                            const Bytes& bytes) { t.data(name, Data::bytes(dtype, bytes.span())); }),
    method("data_file", [](Tunable& t, const Text& name, const Path& npy) { t.data(name, Data::file(npy)); }),
    method("data_device", [](Tunable& t, const Text& name, void* pointer,
                             std::size_t bytes) { t.data(name, Data::device(pointer, bytes)); }),
    method("data_generate",
           [](Tunable& t, const Text& name, const Object& function) {
             t.data(name, Data::generate(Callback<std::vector<std::byte>(const DataRequest&)>::of(function)));
           }),
    method("data_fill", [](Tunable& t, const Text& name, const Text& word,
                           const Formulas& numbers) { t.data(name, filled_by(word, numbers)); }),
    // Validation.
    method("reference",
           [](Tunable& t, const Object& function) {
             t.reference(ending_runs(Callback<Expected(const Arguments&)>::of(function), true));
           }),
    method("validator",
           [](Tunable& t, const Object& function, const Text& label) {
             t.validator(ending_runs(Callback<bool(const Arguments&)>::of(function)), label);
           }),
    method("reference_kernel",
           [](Tunable& t, const Text& entry, const Path& source_file, const Text& source, const Names& options,
              const Formulas& grid, const Formulas& block, const Formula& shared, const Names& args) {
             t.reference_kernel(entry, {source_file, source, options, grid, block, shared, args});
           }),
    method<&Tunable::reference_config>("reference_config"),
    method<&Tunable::reference_builtin>("reference_builtin"),
    method<&Tunable::reference_file>("reference_file"),
    method<&Tunable::reference_command>("reference_command"),
    method<&Tunable::skip_validation>("skip_validation"),
    method<&Tunable::tolerance>("tolerance"),
    // Other keys of a spec.
    method<&Tunable::validation>("validation"),
    method<&Tunable::measure>("measure"),
    method<&Tunable::search>("search"),
    method("metric", [](Tunable& t, const Text& name, const Formula& formula) { t.metric(name, formula); }),
    method("metric_code",
           [](Tunable& t, const Text& name, const Object& function, const Text& label) {
             t.metric(name, {Callback<double(const Bindings&)>::of(function), label});
           }),
    method<&Tunable::minimize>("minimize"),
    method<&Tunable::maximize>("maximize"),
    method("across", [](Tunable& t, bool worst) { t.across(worst ? AcrossRule::worst : AcrossRule::geomean); }),
    method<&Tunable::dispatch_key>("dispatch_key"),
    method<&Tunable::dispatch_radius>("dispatch_radius"),
    {}};

}  // namespace

void define_tunable(PyObject* module) {
  define_class<Tunable>(module, tunable_methods);
  define(module, tunable_functions);
}

}  // namespace python
}  // namespace xtune
