// SPDX-License-Identifier: Apache-2.0
// A type that is not one of pybind11: its calls are vectorcalls, without a tuple for the arguments.
#include "kernel.hpp"

#include <structmember.h>

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
#include "xtune/benchmark.hpp"
#include "xtune/error.hpp"

namespace xtune::python {
namespace {

constexpr std::size_t max_arguments = 64;  // a library's kernel has no more

/// A kernel, and what its calls need to know about the arguments.
struct Callee {
  Kernel kernel;
  std::vector<KernelArgument> arguments;
  std::vector<std::string> places;  ///< "gemm: argument 2, 'B'", for messages
  std::vector<py::str> names;
  std::vector<ArrayReader> readers;

  explicit Callee(Kernel kernel_) : kernel(std::move(kernel_)), arguments(kernel.arguments()) {
    readers.reserve(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const KernelArgument& argument = arguments[i];
      names.emplace_back(argument.name);
      places.push_back(kernel.name() + ": argument " + std::to_string(i + 1) + ", '" + argument.name + "'");
      readers.emplace_back(argument, kernel.backend() == "host");
    }
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

void place_keywords(const Callee& callee, PyObject* const* values, PyObject* keywords, Ordered& ordered) {
  const std::size_t all = callee.arguments.size();
  std::fill(ordered.arguments + ordered.count, ordered.arguments + all, nullptr);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keywords); ++i) {
    PyObject* const keyword = PyTuple_GET_ITEM(keywords, i);
    const std::string name = escaped(py::handle(keyword));
    std::size_t at = 0;
    while (at < all && callee.arguments[at].name != name) ++at;
    if (at < all) {
      if (ordered.arguments[at]) throw wrong(callee.kernel.name() + "() got '" + name + "' twice");
      ordered.arguments[at] = values[i];
      ordered.count = std::max(ordered.count, at + 1);
    } else if (name == "stream") {
      ordered.stream = values[i];
    } else {
      throw wrong(callee.kernel.name() + "() has no argument '" + name + "'");
    }
  }
  for (std::size_t i = 0; i < ordered.count; ++i)
    if (!ordered.arguments[i]) throw wrong(callee.places[i] + ", is missing");
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
    const KernelArgument& argument = callee.arguments[i];
    values[i] = &slots[i];
    if (argument.is_buffer) {
      const Memory memory = callee.readers[i].read(ordered.arguments[i], owner, callee.places[i]);
      slots[i].pointer = memory.pointer;
      bytes[i] = memory.bytes;
    } else if (argument.struct_bytes > 0) {
      values[i] = structs.emplace_back(ordered.arguments[i], argument.struct_bytes, callee.places[i]).data();
      bytes[i] = 0;
    } else {
      read_scalar(ordered.arguments[i], argument.dtype, callee.places[i], slots[i].bits);
      bytes[i] = 0;
    }
  }
  void* const stream = ordered.stream && ordered.stream != Py_None ? stream_of(ordered.stream) : current_stream(owner);
  const Kernel kernel = callee.kernel;  // the callee may be given up meanwhile
  const py::gil_scoped_release released;
  use(kernel, Stream(static_cast<CUstream_st*>(stream)), std::span<const void* const>(values, ordered.count),
      std::span<const std::size_t>(bytes, ordered.count));
}

void launch(Callee& callee, const Ordered& ordered) {
  with_arguments(callee, ordered, [](const Kernel& kernel, Stream stream, auto values, auto bytes) {
    kernel.launch(stream, values, bytes);
  });
}

/// given: `count` values, then one for each keyword. Throws for a wrong number.
Ordered ordered_of(const Callee& callee, PyObject* const* given, std::size_t count, PyObject* keywords) {
  Ordered ordered;
  ordered.count = count;
  const std::size_t named = keywords ? static_cast<std::size_t>(PyTuple_GET_SIZE(keywords)) : 0;
  if (ordered.count > callee.arguments.size() || (named == 0 && ordered.count != callee.arguments.size()))
    callee.kernel.launch(nullptr, std::vector<const void*>(ordered.count));  // throws, with the names
  std::copy(given, given + ordered.count, ordered.arguments);
  if (named == 0) return ordered;
  place_keywords(callee, given + ordered.count, keywords, ordered);
  if (ordered.count != callee.arguments.size()) callee.kernel.launch(nullptr, std::vector<const void*>(ordered.count));
  return ordered;
}

PyObject* call(PyObject* self, PyObject* const* given, std::size_t flagged_count, PyObject* keywords) noexcept {
  try {
    Callee& callee = callee_of(self);
    launch(callee, ordered_of(callee, given, static_cast<std::size_t>(PyVectorcall_NARGS(flagged_count)), keywords));
  } catch (...) {
    set_python_error();
    return nullptr;
  }
  if (raise_interrupt()) return nullptr;
  Py_RETURN_NONE;
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
  Callee& callee = callee_of(self);
  Timing timing;
  with_arguments(callee, ordered_of(callee, given.data(), args.size(), names.empty() ? nullptr : names.ptr()),
                 [&](const Kernel& kernel, Stream stream, auto values, auto bytes) {
                   timing = detail::time_launches(kernel, stream, settings,
                                                  [&](Stream on) { kernel.launch(on, values, bytes); });
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
    "A tuned kernel, called like a function: kernel(x, y, 2.0, n).\n\n"
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
  add_properties(type);
  module.attr("Kernel") = type;
  register_ending([] {
    while (!living_kernels().empty()) give_up(**living_kernels().begin());
  });
}

}  // namespace xtune::python
