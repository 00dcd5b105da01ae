// SPDX-License-Identifier: Apache-2.0
// The builder, with Python's callables as predicates, references, validators and generators.
#include "tunable.hpp"

#include "convert.hpp"
#include "errors.hpp"
#include "xtune/source.hpp"
#include "xtune/tunable.hpp"

namespace xtune::python {
namespace {

using Roles = std::vector<std::pair<std::string, Formula>>;
using Formulas = std::vector<Formula>;

/// [(name, dtype, shape, bytearray)]: copies, because the arrays are valid only during the call.
py::list arrays_of(const std::vector<HostArray>& arrays) {
  py::list list;
  for (const HostArray& array : arrays) {
    const auto bytes = py::reinterpret_steal<py::object>(PyByteArray_FromStringAndSize(
        reinterpret_cast<const char*>(array.bytes.data()), static_cast<Py_ssize_t>(array.bytes.size())));
    if (!bytes) throw py::error_already_set();
    list.append(py::make_tuple(array.name, array.dtype, array.shape, bytes));
  }
  return list;
}

std::function<bool(const Bindings&)> predicate_of(py::object function) {
  return [function = Shared(std::move(function))](const Bindings& values) {
    return with_gil([&] { return is_true(function.get()(values)); });
  };
}

/// function(problem, inputs, outputs) -> [(output, dtype, buffer)]
std::function<Expected(const Arguments&)> reference_of(py::object function) {
  return [function = Shared(std::move(function))](const Arguments& arguments) {
    try {
      return with_gil([&] {
        const py::list outputs =
            function.get()(arguments.problem, arrays_of(arguments.inputs), arrays_of(arguments.outputs));
        Expected expected;
        for (const py::handle& output : outputs) {
          const auto parts = output.cast<py::tuple>();
          const Bytes bytes(parts[2]);
          expected.set_bytes(parts[0].cast<std::string>(), parts[1].cast<DType>(), bytes.span());
        }
        return expected;
      });
    } catch (const Raised& raised) {
      end_run_for(raised);
      keep_as_cause(raised);
      throw;
    }
  };
}

/// function(problem, config, inputs, outputs) -> bool
std::function<bool(const Arguments&)> validator_of(py::object function) {
  return [function = Shared(std::move(function))](const Arguments& arguments) {
    try {
      return with_gil([&] {
        return function
            .get()(arguments.problem, arguments.config, arrays_of(arguments.inputs), arrays_of(arguments.outputs))
            .cast<bool>();
      });
    } catch (const Raised& raised) {
      end_run_for(raised);
      throw;
    }
  };
}

Data bytes_of(DType dtype, const py::object& buffer) { return Data::bytes(dtype, Bytes(buffer).span()); }

/// function(problem, {"name", "dtype", "shape", "seed"}) -> buffer
Data generated_by(py::object function) {
  return Data::generate([function = Shared(std::move(function))](const DataRequest& request) {
    return with_gil([&] {
      py::dict facts;
      facts["name"] = request.name;
      facts["dtype"] = to_string(request.dtype);
      facts["shape"] = py::tuple(py::cast(request.shape));
      facts["seed"] = request.seed;
      const Bytes bytes(function.get()(request.problem, facts));
      return std::vector<std::byte>(bytes.span().begin(), bytes.span().end());
    });
  });
}

Data filled_by(const std::string& word, const std::vector<Formula>& numbers) {
  const std::map<std::string, Fill> fills{
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

/// function(problem, config) -> milliseconds
std::function<double(const Bindings&, const Bindings&)> timed_by(py::object function) {
  return [function = Shared(std::move(function))](const Bindings& problem, const Bindings& config) {
    try {
      return with_gil([&] { return function.get()(problem, config).cast<double>(); });
    } catch (const Raised& raised) {
      end_run_for(raised);
      throw;
    }
  };
}

/// function(problem, config), on threads of the library; None: nothing.
std::function<void(const Bindings&, const Bindings&)> prepared_by(py::object function) {
  if (function.is_none()) return {};
  return [function = Shared(std::move(function))](const Bindings& problem, const Bindings& config) {
    with_gil([&] { function.get()(problem, config); });
  };
}

/// function(values) -> number
std::function<double(const Bindings&)> metric_of(py::object function) {
  return [function = Shared(std::move(function))](const Bindings& values) {
    return with_gil([&] { return function.get()(values).cast<double>(); });
  };
}

/// ("array", role, dtype, shape), ("number", dtype or None, value) or ("value", bytes)
Passed passed_of(const py::tuple& described) {
  const auto kind = described[0].cast<std::string>();
  Passed passed;
  if (kind == "value") {
    const Bytes bytes(described[1]);
    passed.kind = Passed::Kind::value;
    passed.bytes = bytes.span().size();
    passed.data = Data::bytes(DType::u8, bytes.span());
  } else if (kind == "number") {
    passed.dtype = described[1].cast<std::optional<DType>>();
    passed.number = described[2].cast<Formula>();
  } else {
    const auto role = described[1].cast<std::string>();
    passed.kind = Passed::Kind::array;
    passed.role = role == "inout" ? Passed::Role::inout : role == "output" ? Passed::Role::out : Passed::Role::in;
    passed.dtype = described[2].cast<DType>();
    passed.bytes = size_of(*passed.dtype);
    passed.shape = described[3].cast<Formulas>();
  }
  return passed;
}

Tunable tunable_of_source(const std::string& source, const py::dict& given, const std::vector<py::tuple>& args,
                          py::object tell) {
  SourceSettings settings;
  for (const auto& [name, values] : given["params"].cast<py::dict>())
    settings.params.push_back({name.cast<std::string>(), values.cast<std::vector<Value>>()});
  settings.entry = given["entry"].cast<std::string>();
  settings.name = given["name"].cast<std::string>();
  settings.grid = given["grid"].cast<Formulas>();
  settings.block = given["block"].cast<Formulas>();
  settings.shared = given["shared"].cast<Formula>();
  settings.problem = given["problem"].cast<Bindings>();
  settings.defines = given["defines"].cast<Roles>();
  settings.include_dirs = given["include_dirs"].cast<std::vector<std::filesystem::path>>();
  settings.tuning.on_log = [tell](const std::string& line) { tell(escaped(line)); };  // within this call
  std::vector<Passed> passed;
  for (const py::tuple& each : args) passed.push_back(passed_of(each));
  return from_source(source, settings, std::span<const Passed>(passed));
}

ParamKind kind_of(bool launch_only) { return launch_only ? ParamKind::launch_only : ParamKind::compile_time; }

void define_kernel(py::class_<Tunable>& type) {
  type.def("source_file", [](Tunable& t, const std::filesystem::path& path) { t.source_file(path); })
      .def("source", [](Tunable& t, const std::string& text) { t.source(text); })
      .def("entry", [](Tunable& t, const std::string& entry) { t.entry(entry); })
      .def("option", [](Tunable& t, const std::string& option) { t.option(option); })
      .def("option", [](Tunable& t, const std::string& backend, const std::string& o) { t.option(backend, o); })
      .def("define", [](Tunable& t, const std::string& name, const Formula& value) { t.define(name, value); })
      .def("include_dir", [](Tunable& t, const std::filesystem::path& path) { t.include_dir(path); })
      .def("function",
           [](Tunable& t, py::object function, const std::string& version, const std::string& device,
              py::object prepare) {
             t.function(timed_by(std::move(function)), version, device, prepared_by(std::move(prepare)));
           })
      .def("compile_timeout_s", [](Tunable& t, double seconds) { t.compile_timeout_s(seconds); })
      .def("problem", [](Tunable& t, const std::string& name, const Value& value) { t.problem(name, value); })
      .def("add_case", [](Tunable& t, const Bindings& problem) { t.add_case(problem); })
      .def("grid", [](Tunable& t, const Formulas& extents) { t.grid(extents); })
      .def("block", [](Tunable& t, const Formulas& extents) { t.block(extents); })
      .def("cluster", [](Tunable& t, const Formulas& extents) { t.cluster(extents); })
      .def("shared", [](Tunable& t, const Formula& bytes) { t.shared(bytes); })
      .def("cooperative", [](Tunable& t, bool on) { t.cooperative(on); })
      .def(
          "step",
          [](Tunable& t, std::string entry, Formulas grid, Formulas block, std::vector<std::string> args,
             std::string when, Formula shared, Formulas cluster, bool cooperative) {
            t.step({std::move(entry), std::move(grid), std::move(block), std::move(args), std::move(when),
                    std::move(shared), std::move(cluster), cooperative});
          },
          py::arg("entry"), py::arg("grid"), py::arg("block"), py::arg("args"), py::arg("when"), py::arg("shared"),
          py::arg("cluster"), py::arg("cooperative"));
}

void define_space(py::class_<Tunable>& type) {
  type.def("param", [](Tunable& t, const std::string& name, const std::vector<Value>& values,
                       bool launch_only) { t.param(name, values, kind_of(launch_only)); })
      .def("params", [](Tunable& t, const std::vector<std::string>& names, const std::vector<std::vector<Value>>& rows,
                        bool launch_only) { t.params(names, rows, kind_of(launch_only)); })
      .def("param_range", [](Tunable& t, const std::string& name, std::int64_t min, std::int64_t max, std::int64_t step,
                             bool launch_only) { t.param_range(name, min, max, step, kind_of(launch_only)); })
      .def("param_pow2", [](Tunable& t, const std::string& name, std::int64_t min, std::int64_t max,
                            bool launch_only) { t.param_pow2(name, min, max, kind_of(launch_only)); })
      .def("constraint", [](Tunable& t, const std::string& expression) { t.constraint(expression); })
      .def("predicate", [](Tunable& t, const std::vector<std::string>& names, const std::vector<std::string>& optional,
                           py::object function) { t.constraint(names, predicate_of(std::move(function)), optional); })
      .def("candidates",
           [](Tunable& t, const std::string& model, const Roles& map, int top_k) { t.candidates(model, map, top_k); });
}

void define_arguments(py::class_<Tunable>& type) {
  type.def("input",
           [](Tunable& t, const std::string& name, DType dtype, const Formulas& shape, const Formula& when,
              const std::string& transposed) {
             t.input(name, dtype, shape, {}, {when, transposed});
           })
      .def("output", [](Tunable& t, const std::string& name, DType dtype,
                        const Formulas& shape) { t.output(name, dtype, shape); })
      .def("inout",
           [](Tunable& t, const std::string& name, DType dtype, const Formulas& shape, const Formula& when,
              const std::string& transposed) {
             t.inout(name, dtype, shape, {}, {when, transposed});
           })
      .def("scratch", [](Tunable& t, const std::string& name, DType dtype, const Formulas& shape,
                         bool zero) { t.scratch(name, dtype, shape, zero); })
      .def("constant", [](Tunable& t, const std::string& name, DType dtype,
                          const Formulas& shape) { t.constant(name, dtype, shape); })
      .def("scalar", [](Tunable& t, const std::string& name, DType dtype, const Formula& value,
                        const Formula& default_value) { t.scalar(name, dtype, value, default_value); })
      .def("value",
           [](Tunable& t, const std::string& name, const py::object& buffer) { t.value(name, Bytes(buffer).span()); })
      .def("table", [](Tunable& t, const std::string& name, const std::vector<std::string>& of, const Formula& count,
                       const Formula& stride) { t.table(name, of, count, stride); })
      .def("kernel_args", [](Tunable& t, const std::vector<std::string>& names) { t.kernel_args(names); })
      .def("data_bytes", [](Tunable& t, const std::string& name, DType dtype,
                            const py::object& buffer) { t.data(name, bytes_of(dtype, buffer)); })
      .def("data_file",
           [](Tunable& t, const std::string& name, const std::filesystem::path& npy) { t.data(name, Data::file(npy)); })
      .def("data_device",
           [](Tunable& t, const std::string& name, std::uintptr_t pointer, std::size_t bytes) {
             t.data(name, Data::device(reinterpret_cast<const void*>(pointer), bytes));
           })
      .def("data_generate", [](Tunable& t, const std::string& name,
                               py::object function) { t.data(name, generated_by(std::move(function))); })
      .def("data_fill", [](Tunable& t, const std::string& name, const std::string& word,
                           const std::vector<Formula>& numbers) { t.data(name, filled_by(word, numbers)); })
      .def(
          "tensor_map",
          [](Tunable& t, const std::string& name, const std::string& of, Formulas box, Formula swizzle, Formulas shape,
             Formulas strides, Formulas element_strides, Formula l2_promotion, Formula interleave,
             std::optional<DType> dtype, bool tf32, bool nan_outside) {
            t.tensor_map(
                name, of,
                {std::move(box), std::move(swizzle), std::move(shape), std::move(strides), std::move(element_strides),
                 std::move(l2_promotion), std::move(interleave), dtype, tf32, nan_outside});
          },
          py::arg("name"), py::arg("of"), py::arg("box"), py::arg("swizzle"), py::arg("shape"), py::arg("strides"),
          py::arg("element_strides"), py::arg("l2_promotion"), py::arg("interleave"), py::arg("dtype"), py::arg("tf32"),
          py::arg("nan_outside"));
}

void define_validation(py::class_<Tunable>& type) {
  type.def("reference", [](Tunable& t, py::object function) { t.reference(reference_of(std::move(function))); })
      .def("validator", [](Tunable& t, py::object function,
                           const std::string& label) { t.validator(validator_of(std::move(function)), label); })
      .def(
          "reference_kernel",
          [](Tunable& t, const std::string& entry, std::filesystem::path source_file, std::string source,
             std::vector<std::string> options, Formulas grid, Formulas block, Formula shared,
             std::vector<std::string> args) {
            t.reference_kernel(entry, {std::move(source_file), std::move(source), std::move(options), std::move(grid),
                                       std::move(block), std::move(shared), std::move(args)});
          },
          py::arg("entry"), py::arg("source_file"), py::arg("source"), py::arg("options"), py::arg("grid"),
          py::arg("block"), py::arg("shared"), py::arg("args"))
      .def("reference_config", [](Tunable& t, const Bindings& values) { t.reference_config(values); })
      .def("reference_builtin", [](Tunable& t, const std::string& builtin, const Roles& roles,
                                   const std::string& output) { t.reference_builtin(builtin, roles, output); })
      .def("reference_file", [](Tunable& t, const std::filesystem::path& npy,
                                const std::string& output) { t.reference_file(npy, output); })
      .def("reference_command", [](Tunable& t, const std::vector<std::string>& words) { t.reference_command(words); })
      .def("skip_validation", [](Tunable& t) { t.skip_validation(); })
      .def("tolerance", [](Tunable& t, double rtol, double atol) { t.tolerance(rtol, atol); });
}

void define_settings(py::class_<Tunable>& type) {
  type.def("validation", [](Tunable& t, const std::string& key, const Value& value) { t.validation(key, value); })
      .def("measure", [](Tunable& t, const std::string& key, const Value& value) { t.measure(key, value); })
      .def("search", [](Tunable& t, const std::string& key, const Value& value) { t.search(key, value); })
      .def("metric", [](Tunable& t, const std::string& name, const Formula& formula) { t.metric(name, formula); })
      .def("metric_code",
           [](Tunable& t, const std::string& name, py::object function, const std::string& label) {
             t.metric(name, {metric_of(std::move(function)), label});
           })
      .def("minimize", [](Tunable& t, const Formulas& goals) { t.minimize(goals); })
      .def("maximize", [](Tunable& t, const Formulas& goals) { t.maximize(goals); })
      .def("across", [](Tunable& t, bool worst) { t.across(worst ? AcrossRule::worst : AcrossRule::geomean); })
      .def("dispatch_key", [](Tunable& t, const Formulas& key) { t.dispatch_key(key); })
      .def("dispatch_radius", [](Tunable& t, double radius) { t.dispatch_radius(radius); });
}

}  // namespace

void define_tunable(py::module_& module) {
  py::class_<Tunable> type(module, "Tunable");
  type.def(py::init<std::string>(), py::arg("name"))
      .def_static("from_file", &Tunable::from_file, py::arg("path"), py::arg("defines"))
      .def_static("from_text", &Tunable::from_text, py::arg("toml"), py::arg("base_dir"), py::arg("defines"))
      .def_static("from_source", &tunable_of_source, py::arg("source"), py::arg("settings"), py::arg("args"),
                  py::arg("tell"))
      .def("argument_names", [](const Tunable& t) { return argument_names(t); })
      .def("copy", [](const Tunable& t) { return Tunable(t); })
      .def("name", &Tunable::name)
      .def("toml", [](const Tunable& t) { return escaped(t.toml()); })
      .def("check_spec", &Tunable::check_spec);
  define_kernel(type);
  define_space(type);
  define_arguments(type);
  define_validation(type);
  define_settings(type);
}

}  // namespace xtune::python
