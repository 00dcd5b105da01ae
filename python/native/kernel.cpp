// SPDX-License-Identifier: Apache-2.0
// A type that is not one of pybind11: its calls are vectorcalls, without a tuple for the arguments.
#include "kernel.hpp"

#include <structmember.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "convert.hpp"
#include "ending.hpp"
#include "errors.hpp"
#include "results.hpp"
#include "scalars.hpp"
#include "xla.hpp"
#include "xtune/benchmark.hpp"
#include "xtune/error.hpp"

namespace xtune::python {
namespace {

constexpr std::size_t max_arguments = 64;  // a library's kernel has no more

/// What calls with arrays need to know about a kernel.
struct ArrayCallee {
  const std::vector<CallArgument>& arguments;
  std::vector<KernelArgument> described;  ///< the arrays among them, for the readers
  std::vector<std::string> places;        ///< "gemm: 'B'", for messages
  std::vector<ArrayReader> readers;
  std::vector<std::size_t> in_order, outputs;  ///< the arguments that go by position, and those that a call makes

  explicit ArrayCallee(const Kernel& kernel) : arguments(kernel.call_arguments()) {
    described.reserve(arguments.size());
    readers.reserve(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      KernelArgument& argument = described.emplace_back();
      argument.name = arguments[i].name;
      argument.is_buffer = arguments[i].is_array;
      argument.dtype = arguments[i].dtype;
      argument.is_written = arguments[i].is_written;
      places.push_back(kernel.name() + ": '" + arguments[i].name + "'");
      readers.emplace_back(described.back(), kernel.backend() == "host");
      if (arguments[i].is_required) in_order.push_back(i);
      if (arguments[i].is_output) outputs.push_back(i);
    }
  }
};

/// A kernel, and what its calls need to know about the arguments.
struct Callee {
  Kernel kernel;
  std::vector<KernelArgument> arguments;
  std::vector<std::string> places;  ///< "gemm: argument 2, 'B'", for messages
  std::vector<py::str> names;
  std::vector<ArrayReader> readers;
  std::vector<std::size_t> given;       ///< the arguments that are not scratch
  std::unique_ptr<ArrayCallee> arrays;  ///< made by the first call with arrays

  explicit Callee(Kernel kernel_) : kernel(std::move(kernel_)), arguments(kernel.arguments()) {
    readers.reserve(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const KernelArgument& argument = arguments[i];
      if (!argument.is_scratch) given.push_back(i);
      names.emplace_back(argument.name);
      const std::string number = argument.is_scratch ? "scratch" : "argument " + std::to_string(given.size()) + ",";
      places.push_back(kernel.name() + ": " + number + " '" + argument.name + "'");
      readers.emplace_back(argument, kernel.backend() == "host");
    }
  }
  bool takes(std::size_t count) const { return count == given.size() || count == arguments.size(); }
  /// The number of an argument of a call with `count` of them.
  std::size_t number(std::size_t at, std::size_t count) const { return count == arguments.size() ? at : given[at]; }
  ArrayCallee& array_callee() {
    if (!arrays) arrays = std::make_unique<ArrayCallee>(kernel);
    return *arrays;
  }
};

struct KernelObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Callee* callee;
};

PyTypeObject* kernel_type = nullptr;

/// All of them, under the GIL.
std::set<KernelObject*>& living_kernels() {
  static auto& kernels = *new std::set<KernelObject*>;
  return kernels;
}

/// Tuning in the background ends with the last copy of its kernel. Its callbacks take the GIL.
void give_up(KernelObject& object) {
  living_kernels().erase(&object);
  Callee* const callee = std::exchange(object.callee, nullptr);
  if (!callee) return;
  std::optional<Kernel> last(callee->kernel);
  delete callee;
  const py::gil_scoped_release released;
  last.reset();
}

Callee& callee_of(PyObject* object) {
  Callee* const callee = reinterpret_cast<KernelObject*>(object)->callee;
  if (!callee) throw Error(ErrorKind::unavailable, "a kernel cannot be used any more: Python is ending");
  return *callee;
}
Callee& callee_of(const py::handle& object) { return callee_of(object.ptr()); }

py::object imported(const char* module) {
  PyObject* const found = PyDict_GetItemString(PyImport_GetModuleDict(), module);
  return found ? py::reinterpret_borrow<py::object>(found) : py::object();
}

/// PyTorch's own fast question, with which Triton launches too; kept after the first use.
py::object& torch_stream_function() {
  static auto& function = *new py::object;
  return function;
}

void* address_of(const py::object& number) { return PyLong_AsVoidPtr(number.ptr()); }

/// The stream on which the makers of the arrays work.
void* current_stream(const StreamOwner& owner) {
  if (owner.kind == StreamOwner::Kind::exchange) return exchange_stream(owner);
  if (owner.kind == StreamOwner::Kind::torch) {
    py::object& function = torch_stream_function();
    if (!function) function = imported("torch").attr("_C").attr("_cuda_getCurrentRawStream");
    return address_of(function(owner.device));
  }
  if (owner.kind == StreamOwner::Kind::cupy)
    return address_of(imported("cupy").attr("cuda").attr("get_current_stream")().attr("ptr"));
  return nullptr;
}

Error wrong(const std::string& message) { return {ErrorKind::invalid_argument, message}; }

/// An address, or a stream of PyTorch, CuPy, Numba or cuda-python.
void* stream_of(PyObject* object) {
  const auto stream = py::reinterpret_borrow<py::object>(object);
  py::object address = stream;
  if (!PyLong_Check(object)) {
    for (const char* name : {"handle", "ptr", "cuda_stream"})  // the last one counts
      if (py::hasattr(stream, name)) address = stream.attr(name);
    if (py::hasattr(stream, "__cuda_stream__")) address = stream.attr("__cuda_stream__")();  // (version, address)
    if (py::isinstance<py::tuple>(address) && py::len(address) == 2) address = py::tuple(address)[1];
  }
  py::detail::make_caster<std::uintptr_t> number;
  if (!number.load(address, true))
    throw wrong("stream: pass the address of a stream, or a stream of PyTorch, CuPy or Numba, not " + shown(stream));
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
}

/// The arguments in the kernel's order, and the stream if one was given.
struct Ordered {
  PyObject* arguments[max_arguments];
  std::size_t count = 0;
  PyObject* stream = nullptr;
};

/// The arguments of a call that passes all of a kernel's.
void place_keywords(const Callee& callee, PyObject* const* values, PyObject* keywords, std::size_t all,
                    Ordered& ordered) {
  std::fill(ordered.arguments + ordered.count, ordered.arguments + all, nullptr);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keywords); ++i) {
    PyObject* const keyword = PyTuple_GET_ITEM(keywords, i);
    const std::string name = escaped(py::handle(keyword));
    std::size_t at = 0;
    while (at < all && callee.arguments[callee.number(at, all)].name != name) ++at;
    if (at < all) {
      if (ordered.arguments[at]) throw wrong(callee.kernel.name() + "() got '" + name + "' twice");
      ordered.arguments[at] = values[i];
    } else if (name == "stream") {
      ordered.stream = values[i];
    } else {
      throw wrong(callee.kernel.name() + "() has no argument '" + name + "'");
    }
  }
  ordered.count = all;
  for (std::size_t i = 0; i < all; ++i)
    if (!ordered.arguments[i]) throw wrong(callee.places[callee.number(i, all)] + ", is missing");
}

/// Calls use(kernel, stream, values, bytes) with the arguments as the library takes them, without the GIL.
template <class Use>
void with_arguments(Callee& callee, const Ordered& ordered, const Use& use) {
  const void* values[max_arguments];
  std::size_t bytes[max_arguments];
  union Slot {
    void* pointer;
    Bits bits;
  } slots[max_arguments];
  StreamOwner owner;
  std::vector<StructBytes> structs;  // which own nothing that moves with them
  for (std::size_t i = 0; i < ordered.count; ++i) {
    const std::size_t at = callee.number(i, ordered.count);
    const KernelArgument& argument = callee.arguments[at];
    values[i] = &slots[i];
    if (argument.is_buffer) {
      const Memory memory = callee.readers[at].read(ordered.arguments[i], owner, callee.places[at]);
      slots[i].pointer = memory.pointer;
      bytes[i] = memory.bytes;
    } else if (argument.struct_bytes > 0) {
      values[i] = structs.emplace_back(ordered.arguments[i], argument.struct_bytes, callee.places[at]).data();
      bytes[i] = 0;
    } else {
      read_scalar(ordered.arguments[i], argument.dtype, callee.places[at], slots[i].bits);
      bytes[i] = 0;
    }
  }
  void* const stream = ordered.stream && ordered.stream != Py_None ? stream_of(ordered.stream) : current_stream(owner);
  const Kernel kernel = callee.kernel;  // the callee may be given up meanwhile
  const py::gil_scoped_release released;
  use(kernel, Stream(static_cast<CUstream_st*>(stream)), std::span<const void* const>(values, ordered.count),
      std::span<const std::size_t>(bytes, ordered.count));
}

/// given: `count` values, then one for each keyword: as many as the kernel has arguments, by its names.
Ordered ordered_of(const Callee& callee, PyObject* const* given, std::size_t count, PyObject* keywords) {
  Ordered ordered;
  ordered.count = count;
  std::copy(given, given + count, ordered.arguments);
  if (!keywords) return ordered;
  std::size_t all = count + static_cast<std::size_t>(PyTuple_GET_SIZE(keywords));
  if (!callee.takes(all)) --all;  // one of them is the stream
  place_keywords(callee, given + count, keywords, all, ordered);
  return ordered;
}

/// Whether the call passes all arguments of the kernel, rather than arrays that tell the others.
bool passes_all(Callee& callee, std::size_t count, PyObject* keywords) {
  const std::size_t named = keywords ? static_cast<std::size_t>(PyTuple_GET_SIZE(keywords)) : 0;
  bool has_stream = false;
  for (std::size_t i = 0; i < named; ++i) {
    PyObject* const keyword = PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(i));
    if (PyUnicode_CompareWithASCIIString(keyword, "stream") == 0) {
      has_stream = true;
      continue;
    }
    const auto is_it = [&](const py::str& name) { return PyUnicode_Compare(keyword, name.ptr()) == 0; };
    if (std::none_of(callee.names.begin(), callee.names.end(), is_it)) return false;
  }
  const std::size_t all = count + named - (has_stream ? 1 : 0);
  if (!callee.takes(all)) return false;
  if (named > (has_stream ? 1U : 0U)) return true;
  // Where a kernel takes nothing but inputs, either kind of call passes the same, and arrays tell more.
  try {
    return callee.array_callee().in_order.size() != all;
  } catch (const Error&) {
    return true;
  }
}

/// A call with arrays, ready to be queued.
struct PreparedArrayCall {
  std::vector<Array> arrays;
  std::vector<const Array*> placed;
  std::vector<Bits> bits;
  std::vector<const void*> scalars;
  const ArrayCall* solved = nullptr;
  void* stream = nullptr;
  py::object result;
};

PyObject* passed_output(const py::object& out, std::size_t number, std::size_t count) {
  if (!out || out.is_none()) return nullptr;
  if (count == 1) return out.ptr();
  if (!PyTuple_Check(out.ptr()) || static_cast<std::size_t>(PyTuple_GET_SIZE(out.ptr())) != count)
    throw wrong("out: this kernel has " + std::to_string(count) + " outputs: pass a tuple of as many arrays");
  return PyTuple_GET_ITEM(out.ptr(), static_cast<Py_ssize_t>(number));
}

/// An array of the kind, and on the device, of `like`.
py::object make_output(const py::handle& like, const ArrayOutput& output) {
  static const auto& function = *new py::object(py::module_::import("xtune._arrays").attr("empty_like"));
  py::tuple shape(output.shape.size());
  for (std::size_t i = 0; i < output.shape.size(); ++i) shape[i] = output.shape[i];
  return function(like, shape, to_string(output.dtype));
}

/// The objects of a call with arrays, each in its place.
struct PlacedObjects {
  std::vector<PyObject*> objects;
  Bindings words;
  py::object stream;
};

/// A word of the problem. Another object may have been meant for an argument whose name is misspelt.
Value word_of(const Callee& callee, const std::vector<CallArgument>& arguments, const std::string& keyword,
              const py::object& value) try {
  return converted<Value>(value, keyword, "a number, a bool or a text");
} catch (const Error&) {
  py::list known = py::cast(callee.kernel.problem_names());
  for (const CallArgument& each : arguments) known.append(each.name);
  known.append("out");
  known.append("stream");
  py::module_::import("xtune._tuning")
      .attr("require_known")(py::make_tuple(keyword), known, callee.kernel.name() + "()");
  throw;
}

/// given: `count` objects, then one for each keyword.
PlacedObjects place_objects(Callee& callee, PyObject* const* given, std::size_t count, PyObject* keywords) {
  ArrayCallee& own = callee.array_callee();
  const std::string& name = callee.kernel.name();
  if (count > own.in_order.size()) callee.kernel.launch(nullptr, std::vector<const void*>(count));  // throws
  PlacedObjects placed;
  placed.objects.resize(own.arguments.size());
  for (std::size_t i = 0; i < count; ++i) placed.objects[own.in_order[i]] = given[i];
  py::object out;
  for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); ++i) {
    const std::string keyword = escaped(py::handle(PyTuple_GET_ITEM(keywords, i)));
    const auto value = py::reinterpret_borrow<py::object>(given[count + static_cast<std::size_t>(i)]);
    const auto found = std::find_if(own.arguments.begin(), own.arguments.end(),
                                    [&](const CallArgument& each) { return each.name == keyword; });
    if (found != own.arguments.end()) {
      PyObject*& object = placed.objects[static_cast<std::size_t>(found - own.arguments.begin())];
      if (object) throw wrong(name + "() got '" + keyword + "' twice");
      object = value.is_none() ? nullptr : value.ptr();
    } else if (keyword == "out") {
      out = value;
    } else if (keyword == "stream") {
      placed.stream = value;
    } else {
      placed.words.insert_or_assign(keyword, word_of(callee, own.arguments, keyword, value));
    }
  }
  for (std::size_t i = 0; i < own.outputs.size(); ++i)
    if (PyObject* const passed = passed_output(out, i, own.outputs.size())) {
      PyObject*& object = placed.objects[own.outputs[i]];
      if (object) throw wrong(name + "() got '" + own.arguments[own.outputs[i]].name + "' twice");
      object = passed;
    }
  return placed;
}

PreparedArrayCall prepare_array_call(Callee& callee, PyObject* const* given, std::size_t count, PyObject* keywords) {
  ArrayCallee& own = callee.array_callee();
  const std::size_t all = own.arguments.size();
  const std::string& name = callee.kernel.name();
  const auto [objects, words, stream] = place_objects(callee, given, count, keywords);
  PreparedArrayCall call;
  call.arrays.resize(all);
  call.placed.resize(all);
  call.bits.resize(all);
  call.scalars.resize(all);
  StreamOwner owner;
  PyObject* first = nullptr;
  for (std::size_t i = 0; i < all; ++i) {
    if (!objects[i]) continue;
    if (own.arguments[i].is_array) {
      call.arrays[i] = own.readers[i].read_array(objects[i], owner, own.places[i]);
      call.placed[i] = &call.arrays[i];
      if (!first) first = objects[i];
    }
  }
  call.stream = stream && !stream.is_none() ? stream_of(stream.ptr()) : current_stream(owner);
  call.solved = &callee.kernel.solve(call.placed, words);
  for (std::size_t i = 0; i < all; ++i) {
    if (!objects[i] || own.arguments[i].is_array) continue;
    read_scalar(objects[i], Kernel::type_of(*call.solved, i), own.places[i], call.bits[i]);
    call.scalars[i] = &call.bits[i];
  }
  const std::vector<ArrayOutput>& outputs = Kernel::outputs(*call.solved);
  std::vector<py::object> results;
  for (const ArrayOutput& output : outputs) {
    const std::size_t at = output.argument;
    if (objects[at]) {
      results.push_back(py::reinterpret_borrow<py::object>(objects[at]));
      continue;
    }
    if (!first) throw wrong(name + ": no argument says which kind of array the output is: pass out=");
    if (owner.exchange) {
      results.push_back(exchange_output(owner, output.dtype, output.shape, call.arrays[at]));
    } else {
      results.push_back(make_output(first, output));
      call.arrays[at] = own.readers[at].read_array(results.back().ptr(), owner, own.places[at]);
    }
    call.placed[at] = &call.arrays[at];
  }
  if (results.size() == 1)
    call.result = results.front();
  else if (results.empty())
    call.result = py::none();
  else
    call.result = py::tuple(py::cast(results));
  return call;
}

/// Calls launch(kernel, stream, once) without the GIL, where once(stream) queues the call; returns its result.
template <class Launch>
py::object with_call(Callee& callee, PyObject* const* given, std::size_t count, PyObject* keywords,
                     const Launch& launch) {
  if (passes_all(callee, count, keywords)) {
    with_arguments(callee, ordered_of(callee, given, count, keywords),
                   [&](const Kernel& kernel, Stream stream, auto values, auto bytes) {
                     launch(kernel, stream, [&](Stream on) { kernel.launch(on, values, bytes); });
                   });
    return py::none();
  }
  PreparedArrayCall call = prepare_array_call(callee, given, count, keywords);
  const Kernel kernel = callee.kernel;  // the callee may be given up meanwhile
  {
    const py::gil_scoped_release released;
    launch(kernel, Stream(static_cast<CUstream_st*>(call.stream)),
           [&](Stream on) { kernel.launch(on, *call.solved, call.placed, call.scalars); });
  }
  return std::move(call.result);
}

PyObject* call(PyObject* self, PyObject* const* given, std::size_t flagged_count, PyObject* keywords) noexcept {
  try {
    py::object result = with_call(callee_of(self), given, static_cast<std::size_t>(PyVectorcall_NARGS(flagged_count)),
                                  keywords, [](const Kernel&, Stream stream, const auto& once) { once(stream); });
    if (raise_interrupt()) return nullptr;
    return result.release().ptr();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

void destroy(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  give_up(*reinterpret_cast<KernelObject*>(self));
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyObject* describe(PyObject* self) noexcept try {
  const Callee& callee = callee_of(self);
  std::string text = "<xtune.Kernel " + callee.kernel.name() + "(";
  for (std::size_t i = 0; i < callee.arguments.size(); ++i) {
    const KernelArgument& argument = callee.arguments[i];
    text += (i > 0 ? ", " : "") + argument.name + ": " + to_string(argument.dtype);
    if (!argument.is_buffer) continue;
    std::string extents;
    for (const std::string& extent : argument.shape) extents += (extents.empty() ? "" : ", ") + extent;
    text += "[" + extents + "]" + (argument.is_written ? " (written)" : "");
  }
  return PyUnicode_FromString((text + ") on " + callee.kernel.backend() + ">").c_str());
} catch (...) {
  set_python_error();
  return nullptr;
}

constexpr const char* expected_sizes = "a dict of problem sizes by name";

/// Sizes as a dictionary, as keywords, or both.
Bindings sizes_of(const py::object& problem, const py::kwargs& sizes) {
  Bindings all;
  if (!problem.is_none()) all = converted<Bindings>(problem, "problem", expected_sizes);
  for (const auto& [key, value] : sizes) {
    const std::string name = text_of(key);
    all.insert_or_assign(name, converted<Value>(value, name, "a number, a bool or a text"));
  }
  return all;
}

/// args, named: of a call.
py::object benchmarked(const py::object& self, const py::tuple& args, const py::dict& named,
                       const BenchmarkSettings& settings) {
  std::vector<PyObject*> given;
  py::list keywords;
  for (const py::handle& each : args) given.push_back(each.ptr());
  for (const auto& [name, value] : named) {
    keywords.append(name);
    given.push_back(value.ptr());
  }
  const py::tuple names(keywords);
  Timing timing;
  with_call(callee_of(self), given.data(), args.size(), names.empty() ? nullptr : names.ptr(),
            [&](const Kernel& kernel, Stream stream, const auto& once) {
              timing = detail::time_launches(kernel, stream, settings, once);
            });
  if (raise_interrupt()) throw py::error_already_set();
  return to_python(timing);
}

py::object argument_of(const KernelArgument& argument) {
  using namespace py::literals;
  return result_class("KernelArgument")("name"_a = argument.name, "dtype"_a = argument.dtype,
                                        "is_buffer"_a = argument.is_buffer, "is_written"_a = argument.is_written,
                                        "shape"_a = argument.shape, "size"_a = argument.size);
}

/// [(type, shape)] of the outputs of a call that is not made. arrays: name -> (type, shape, strides in elements).
py::list outputs_of(const Kernel& kernel, const py::dict& arrays, const py::dict& named) {
  const std::vector<CallArgument>& arguments = kernel.call_arguments();
  std::vector<Array> described(arguments.size());
  std::vector<const Array*> placed(arguments.size());
  Bindings words;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const py::str name(arguments[i].name);
    if (!arrays.contains(name)) continue;
    const py::tuple given = arrays[name];
    const auto strides = given[2].cast<std::vector<std::int64_t>>();
    described[i] =
        described_array(kernel, arguments[i].name, given[0].cast<DType>(), given[1].cast<std::vector<std::int64_t>>());
    std::copy(strides.begin(), strides.end(), described[i].strides.begin());
    placed[i] = &described[i];
  }
  for (const auto& [key, value] : named) {
    const std::string name = text_of(key);
    const auto is_scalar = [&](const CallArgument& each) { return each.name == name; };
    if (std::none_of(arguments.begin(), arguments.end(), is_scalar))
      words.insert_or_assign(name, converted<Value>(value, name, "a number, a bool or a text"));
  }
  py::list outputs;
  for (const ArrayOutput& output : Kernel::outputs(kernel.solve(placed, words)))
    outputs.append(py::make_tuple(to_string(output.dtype), output.shape));
  return outputs;
}

template <class Function, class... Extra>
void add_method(py::object& type, const char* name, Function function, const Extra&... extra) {
  type.attr(name) = py::cpp_function(function, py::name(name), py::is_method(type), extra...);
}

template <class Function>
void add_property(py::object& type, const char* name, Function function, const char* text) {
  const py::object property = py::module_::import("builtins").attr("property");
  type.attr(name) = property(py::cpp_function(function, py::is_method(type)), py::none(), py::none(), text);
}

void add_methods(py::object& type) {
  add_method(
      type, "for_problem",
      [](const py::object& self, const py::object& problem, const py::kwargs& sizes) {
        return make_kernel(callee_of(self).kernel.for_problem(sizes_of(problem, sizes)));
      },
      py::arg("problem") = py::none(),
      "The same kernel with these problem sizes, which are then not taken from scalars. Keep it: making it costs more "
      "than a call.");
  add_method(
      type, "choice",
      [](const py::object& self, const py::object& problem, const py::kwargs& sizes) {
        const Bindings all = sizes_of(problem, sizes);
        const Kernel kernel = callee_of(self).kernel;
        const auto choose = [&] {
          const py::gil_scoped_release released;
          return kernel.choice(all);
        };
        return to_python(choose());
      },
      py::arg("problem") = py::none(),
      "The configuration that a call would run for this problem, as a Choice. Loads nothing.");
  add_method(
      type, "digest",
      [](const py::object& self, const py::object& given) {
        const auto problems = converted<std::vector<Bindings>>(given, "problems", "a list of dicts of problem sizes");
        const Kernel kernel = callee_of(self).kernel;
        const py::gil_scoped_release released;
        return kernel.digest(problems);
      },
      py::arg("problems") = py::list(),
      "A SHA-256 of the bundle and of the choices for these problems. Processes that get the same one run the same "
      "configurations, if the kernel is frozen.");
  add_method(
      type, "prepare",
      [](const py::object& self, const py::object& problem, const py::kwargs& sizes) {
        const Bindings all = sizes_of(problem, sizes);
        const Kernel kernel = callee_of(self).kernel;
        {
          const py::gil_scoped_release released;
          kernel.prepare(all);
        }
        if (raise_interrupt()) throw py::error_already_set();
      },
      py::arg("problem") = py::none(),
      "Prepares this problem as the first call on it would, but launches nothing: for example before a CUDA graph is "
      "captured.");
  add_method(
      type, "wait",
      [](const py::object& self) {
        const Kernel kernel = callee_of(self).kernel;
        const py::gil_scoped_release released;
        kernel.wait();
      },
      "Waits until no tuning in the background remains.");
  add_method(type, "_set_constant",
             [](const py::object& self, const std::string& name, DType dtype, const py::object& buffer) {
               const Data data = Data::bytes(dtype, Bytes(buffer).span());
               const Kernel kernel = callee_of(self).kernel;
               const py::gil_scoped_release released;
               kernel.set_constant(name, data);
             });
  add_method(type, "_benchmark",
             [](const py::object& self, const py::tuple& args, const py::dict& named, bool cold, std::size_t samples,
                double min_sample_ms, double max_seconds) {
               return benchmarked(self, args, named, {samples, min_sample_ms, max_seconds, cold});
             });
}

/// For xtune.torch and xtune.jax.
void add_descriptions(py::object& type) {
  add_method(type, "_call_arguments", [](const py::object& self) {
    py::list list;  // name, whether it is an array, an output, required, written
    for (const CallArgument& each : callee_of(self).kernel.call_arguments())
      list.append(py::make_tuple(each.name, each.is_array, each.is_output, each.is_required, each.is_written));
    return list;
  });
  add_method(type, "_problem_names", [](const py::object& self) { return callee_of(self).kernel.problem_names(); });
  add_method(type, "_outputs", [](const py::object& self, const py::dict& arrays, const py::dict& named) {
    return outputs_of(callee_of(self).kernel, arrays, named);
  });
  add_method(type, "_register_xla_call",
             [](const py::object& self, const std::string& key, const py::list& arrays, const py::dict& named) {
               register_xla_call(callee_of(self).kernel, key, arrays, named);
             });
}

void add_properties(py::object& type) {
  add_property(
      type, "arguments",
      [](const py::object& self) {
        py::list list;
        for (const KernelArgument& argument : callee_of(self).arguments) list.append(argument_of(argument));
        return list;
      },
      "The arguments of a call, in its order: a list of KernelArgument.");
  add_property(
      type, "name", [](const py::object& self) { return callee_of(self).kernel.name(); }, "The kernel's name.");
  add_property(
      type, "backend", [](const py::object& self) { return callee_of(self).kernel.backend(); },
      "\"cuda\", \"hip\" or \"host\".");
}

constexpr const char* type_text =
    "A tuned kernel, called like a function: c = kernel(a, b).\n\n"
    "Arrays that every call needs go by position, the rest by name: other arrays, scalars, names of the problem, "
    "out=.\n"
    "Sizes, types and layouts follow from the arrays; what is not passed has the spec's value; outputs are made and\n"
    "returned. A call may also pass all of the kernel's arguments in its order, kernel(a, b, c, m, n, k), and then\n"
    "returns None.\n\n"
    "Arrays are passed by NumPy (backend host), PyTorch, CuPy, Numba, JAX or anything with __cuda_array_interface__ "
    "or\n"
    "__dlpack__; they must be contiguous in C order and have the dtype of the argument. Arguments may be given by "
    "name.\n"
    "stream: the address of a CUDA or HIP stream, or a stream of PyTorch, CuPy or Numba; without it the current "
    "stream\n"
    "of PyTorch or CuPy, if their arrays are passed, else the default stream. On a GPU a call does not wait for the\n"
    "kernel. Raises InvalidArgumentError for arguments that do not fit, UnavailableError if the launch fails, and\n"
    "NothingValidError if no configuration runs here.\n\n"
    "Made by xtune.load, Result.kernel and CompiledConfig.kernel.";

}  // namespace

py::object make_kernel(Kernel kernel) {
  auto callee = std::make_unique<Callee>(std::move(kernel));
  auto* const object = reinterpret_cast<KernelObject*>(PyType_GenericAlloc(kernel_type, 0));
  if (!object) throw py::error_already_set();
  object->vectorcall = call;
  object->callee = callee.release();
  living_kernels().insert(object);
  return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(object));
}

void define_kernel(py::module_& module) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(KernelObject, vectorcall), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                                {Py_tp_repr, reinterpret_cast<void*>(describe)},
                                {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_members, members},
                                {Py_tp_doc, const_cast<char*>(type_text)},
                                {0, nullptr}};
  static PyType_Spec spec = {"xtune.Kernel", sizeof(KernelObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
                             slots};
  PyObject* const made = PyType_FromSpec(&spec);
  if (!made) throw py::error_already_set();
  kernel_type = reinterpret_cast<PyTypeObject*>(made);
  kernel_type->tp_new = nullptr;  // made only by make_kernel
  auto type = py::reinterpret_borrow<py::object>(made);
  add_methods(type);
  add_descriptions(type);
  add_properties(type);
  module.attr("Kernel") = type;
  register_ending([] {
    while (!living_kernels().empty()) give_up(**living_kernels().begin());
  });
}

}  // namespace xtune::python
