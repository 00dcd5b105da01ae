// SPDX-License-Identifier: Apache-2.0
// Calls are vectorcalls, without a tuple for the arguments.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "errors.hpp"
#include "module.hpp"
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
  std::vector<Object> names;
  std::vector<ArrayReader> readers;
  std::vector<std::size_t> given;       ///< the arguments that are not scratch
  std::unique_ptr<ArrayCallee> arrays;  ///< made by the first call with arrays

  explicit Callee(Kernel kernel_) : kernel(std::move(kernel_)), arguments(kernel.arguments()) {
    readers.reserve(arguments.size());
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const KernelArgument& argument = arguments[i];
      if (!argument.is_scratch) given.push_back(i);
      names.push_back(Object::made(PyUnicode_InternFromString(argument.name.c_str())));
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

/// All of them that can be called, under the GIL.
std::map<Callee*, Instance<Callee>*>& living_kernels() {
  static auto& kernels = *new std::map<Callee*, Instance<Callee>*>;
  return kernels;
}

}  // namespace

template <>
inline constexpr const char* class_name<Callee> = "xtune.Kernel";

/// Tuning in the background ends with the last copy of its kernel. Its callbacks take the GIL.
template <>
void give_up(Callee* callee) {
  living_kernels().erase(callee);
  std::optional<Kernel> last(callee->kernel);
  delete callee;
  const WithoutGil released;
  last.reset();
}

namespace {

/// PyTorch's own fast question, with which Triton launches too; kept after the first use.
Object& torch_stream_function() {
  static auto& function = *new Object;
  return function;
}

/// The stream on which the makers of the arrays work.
void* current_stream(const StreamOwner& owner) {
  if (owner.kind == StreamOwner::Kind::exchange) return exchange_stream(owner);
  if (owner.kind == StreamOwner::Kind::torch) {
    Object& function = torch_stream_function();
    if (!function) function = imported("torch").attribute("_C").attribute("_cuda_getCurrentRawStream");
    return value_of<void*>(function(owner.device).get());
  }
  if (owner.kind == StreamOwner::Kind::cupy)
    return value_of<void*>(imported("cupy").attribute("cuda").attribute("get_current_stream")().attribute("ptr").get());
  return nullptr;
}

Error wrong(const std::string& message) { return {ErrorKind::invalid_argument, message}; }

/// An address, or a stream of PyTorch, CuPy, Numba or cuda-python.
void* stream_of(PyObject* object) {
  const Object stream = Object::shared(object);
  Object address = stream;
  if (!PyLong_Check(object)) {
    for (const char* name : {"handle", "ptr", "cuda_stream"})  // the last one counts
      if (stream.has(name)) address = stream.attribute(name);
    if (stream.has("__cuda_stream__")) address = stream.attribute("__cuda_stream__")();  // (version, address)
    if (PyTuple_Check(address.get()) && PyTuple_Size(address.get()) == 2)
      address = Object::shared(PyTuple_GetItem(address.get(), 1));
  }
  void* pointer = nullptr;
  PyObject* const number = PyNumber_Check(address.get()) ? PyNumber_Long(address.get()) : nullptr;
  if (number && read(Object::made(number).get(), pointer)) return pointer;
  PyErr_Clear();
  throw wrong("stream: pass the address of a stream, or a stream of PyTorch, CuPy or Numba, not " + shown(object));
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
  for (Py_ssize_t i = 0; i < PyTuple_Size(keywords); ++i) {
    PyObject* const keyword = PyTuple_GetItem(keywords, i);
    const std::string name = escaped(keyword);
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
  std::vector<Bytes> structs;
  for (std::size_t i = 0; i < ordered.count; ++i) {
    const std::size_t at = callee.number(i, ordered.count);
    const KernelArgument& argument = callee.arguments[at];
    values[i] = &slots[i];
    if (argument.is_buffer) {
      const Array array = callee.readers[at].read_whole(ordered.arguments[i], owner, callee.places[at]);
      slots[i].pointer = array.data;
      bytes[i] = array.bytes();
    } else if (argument.struct_bytes > 0) {
      values[i] = structs.emplace_back(struct_bytes(ordered.arguments[i], argument.struct_bytes, callee.places[at]))
                      .span()
                      .data();
      bytes[i] = 0;
    } else {
      read_scalar(ordered.arguments[i], argument.dtype, callee.places[at], slots[i].bits);
      bytes[i] = 0;
    }
  }
  void* const stream = ordered.stream && ordered.stream != Py_None ? stream_of(ordered.stream) : current_stream(owner);
  const Kernel kernel = callee.kernel;  // the callee may be given up meanwhile
  const WithoutGil released;
  use(kernel, Stream(static_cast<CUstream_st*>(stream)), std::span<const void* const>(values, ordered.count),
      std::span<const std::size_t>(bytes, ordered.count));
}

/// given: `count` values, then one for each keyword: as many as the kernel has arguments, by its names.
Ordered ordered_of(const Callee& callee, PyObject* const* given, std::size_t count, PyObject* keywords) {
  Ordered ordered;
  ordered.count = count;
  std::copy(given, given + count, ordered.arguments);
  if (!keywords) return ordered;
  std::size_t all = count + static_cast<std::size_t>(PyTuple_Size(keywords));
  if (!callee.takes(all)) --all;  // one of them is the stream
  place_keywords(callee, given + count, keywords, all, ordered);
  return ordered;
}

/// Whether the call passes all arguments of the kernel, rather than arrays that tell the others.
bool passes_all(Callee& callee, std::size_t count, PyObject* keywords) {
  const std::size_t named = keywords ? static_cast<std::size_t>(PyTuple_Size(keywords)) : 0;
  bool has_stream = false;
  for (std::size_t i = 0; i < named; ++i) {
    PyObject* const keyword = PyTuple_GetItem(keywords, static_cast<Py_ssize_t>(i));
    if (PyUnicode_CompareWithASCIIString(keyword, "stream") == 0) {
      has_stream = true;
      continue;
    }
    const auto is_it = [&](const Object& name) {
      return keyword == name.get() || PyUnicode_Compare(keyword, name.get()) == 0;
    };
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
  Object result;
};

PyObject* passed_output(PyObject* out, std::size_t number, std::size_t count) {
  if (!out || out == Py_None) return nullptr;
  if (count == 1) return out;
  if (!PyTuple_Check(out) || static_cast<std::size_t>(PyTuple_Size(out)) != count)
    throw wrong("out: this kernel has " + std::to_string(count) + " outputs: pass a tuple of as many arrays");
  return PyTuple_GetItem(out, static_cast<Py_ssize_t>(number));
}

/// An array of the kind, and on the device, of `like`.
Object make_output(PyObject* like, const ArrayOutput& output) {
  static PyObject* function = nullptr;
  if (!function) function = imported("xtune._arrays").attribute("empty_like").release();
  const Object shape = Object::made(PyList_AsTuple(object_of(output.shape).get()));
  return Object::shared(function)(Object::shared(like), shape, output.dtype);
}

/// The objects of a call with arrays, each in its place.
struct PlacedObjects {
  std::vector<PyObject*> objects;
  Bindings words;
  PyObject* stream = nullptr;
};

/// A word of the problem. Another object may have been meant for an argument whose name is misspelt.
Value word_of(const Callee& callee, const std::vector<CallArgument>& arguments, const std::string& keyword,
              PyObject* value) try {
  return converted<Value>(value, keyword, "a number, a bool or a text");
} catch (const Error&) {
  std::vector<std::string> known = callee.kernel.problem_names();
  for (const CallArgument& each : arguments) known.push_back(each.name);
  known.insert(known.end(), {"out", "stream"});
  imported("xtune._tuning").attribute("require_known")(tuple_of(keyword), known, callee.kernel.name() + "()");
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
  PyObject* out = nullptr;
  for (Py_ssize_t i = 0; keywords && i < PyTuple_Size(keywords); ++i) {
    const std::string keyword = escaped(PyTuple_GetItem(keywords, i));
    PyObject* const value = given[count + static_cast<std::size_t>(i)];
    const auto found = std::find_if(own.arguments.begin(), own.arguments.end(),
                                    [&](const CallArgument& each) { return each.name == keyword; });
    if (found != own.arguments.end()) {
      PyObject*& object = placed.objects[static_cast<std::size_t>(found - own.arguments.begin())];
      if (object) throw wrong(name + "() got '" + keyword + "' twice");
      object = value == Py_None ? nullptr : value;
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
  call.stream = stream && stream != Py_None ? stream_of(stream) : current_stream(owner);
  call.solved = &callee.kernel.solve(call.placed, words);
  for (std::size_t i = 0; i < all; ++i) {
    if (!objects[i] || own.arguments[i].is_array) continue;
    read_scalar(objects[i], Kernel::type_of(*call.solved, i), own.places[i], call.bits[i]);
    call.scalars[i] = &call.bits[i];
  }
  const std::vector<ArrayOutput>& outputs = Kernel::outputs(*call.solved);
  std::vector<Object> results;
  for (const ArrayOutput& output : outputs) {
    const std::size_t at = output.argument;
    if (objects[at]) {
      results.push_back(Object::shared(objects[at]));
      continue;
    }
    if (!first) throw wrong(name + ": no argument says which kind of array the output is: pass out=");
    if (owner.exchange) {
      results.push_back(exchange_output(owner, output.dtype, output.shape, call.arrays[at]));
    } else {
      results.push_back(make_output(first, output));
      call.arrays[at] = own.readers[at].read_array(results.back().get(), owner, own.places[at]);
    }
    call.placed[at] = &call.arrays[at];
  }
  if (results.size() == 1)
    call.result = results.front();
  else if (results.empty())
    call.result = Object::none();
  else
    call.result = Object::made(PyList_AsTuple(object_of(results).get()));
  return call;
}

/// Calls launch(kernel, stream, once) without the GIL, where once(stream) queues the call; returns its result.
template <class Launch>
Object with_call(Callee& callee, PyObject* const* given, std::size_t count, PyObject* keywords, const Launch& launch) {
  if (passes_all(callee, count, keywords)) {
    with_arguments(callee, ordered_of(callee, given, count, keywords),
                   [&](const Kernel& kernel, Stream stream, auto values, auto bytes) {
                     launch(kernel, stream, [&](Stream on) { kernel.launch(on, values, bytes); });
                   });
    return Object::none();
  }
  PreparedArrayCall call = prepare_array_call(callee, given, count, keywords);
  const Kernel kernel = callee.kernel;  // the callee may be given up meanwhile
  {
    const WithoutGil released;
    launch(kernel, Stream(static_cast<CUstream_st*>(call.stream)),
           [&](Stream on) { kernel.launch(on, *call.solved, call.placed, call.scalars); });
  }
  return std::move(call.result);
}

PyObject* call(PyObject* self, PyObject* const* given, std::size_t flagged_count, PyObject* keywords) noexcept {
  constexpr std::size_t flag = std::size_t{1} << (8 * sizeof(std::size_t) - 1);  // PY_VECTORCALL_ARGUMENTS_OFFSET
  return internal::answer([&] {
    Object result = with_call(instance_of<Callee>(self), given, flagged_count & ~flag, keywords,
                              [](const Kernel&, Stream stream, const auto& once) { once(stream); });
    if (raise_interrupt()) throw ErrorSet();
    return result;
  });
}

/// given: what a call gets, first what has no name.
Timing benchmarked(Callee& callee, const std::vector<Object>& given, const Object& names,
                   const BenchmarkSettings& settings) {
  std::vector<PyObject*> objects;
  for (const Object& each : given) objects.push_back(each.get());
  const auto named = static_cast<std::size_t>(PyTuple_Size(names.get()));
  Timing timing;
  with_call(callee, objects.data(), objects.size() - named, named == 0 ? nullptr : names.get(),
            [&](const Kernel& kernel, Stream stream, const auto& once) {
              timing = detail::time_launches(kernel, stream, settings, once);
            });
  if (raise_interrupt()) throw ErrorSet();
  return timing;
}

using Extents = std::vector<std::int64_t>;

/// [(type, shape)] of the outputs of a call that is not made. arrays: name -> (type, shape, strides in elements).
Object outputs_of(const Kernel& kernel, const std::map<std::string, std::tuple<DType, Extents, Extents>>& arrays,
                  const std::map<std::string, Object>& named) {
  const std::vector<CallArgument>& arguments = kernel.call_arguments();
  std::vector<Array> described(arguments.size());
  std::vector<const Array*> placed(arguments.size());
  Bindings words;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto found = arrays.find(arguments[i].name);
    if (found == arrays.end()) continue;
    const auto& [dtype, shape, strides] = found->second;
    described[i] = described_array(kernel, arguments[i].name, dtype, shape);
    std::copy(strides.begin(), strides.end(), described[i].strides.begin());
    placed[i] = &described[i];
  }
  for (const auto& [name, value] : named) {
    const auto is_scalar = [&wanted = name](const CallArgument& each) { return each.name == wanted; };
    if (std::none_of(arguments.begin(), arguments.end(), is_scalar))
      words.insert_or_assign(name, converted<Value>(value.get(), name, "a number, a bool or a text"));
  }
  std::vector<Object> outputs;
  for (const ArrayOutput& output : Kernel::outputs(kernel.solve(placed, words)))
    outputs.push_back(tuple_of(output.dtype, output.shape));
  return object_of(outputs);
}

/// Calls use(kernel) without the GIL, also if the callee is given up meanwhile.
template <class Use>
auto released(const Callee& callee, const Use& use) {
  const Kernel kernel = callee.kernel;
  const WithoutGil released;
  return use(kernel);
}

/// What _kernel.py completes.
PyMethodDef kernel_methods[] = {
    method("_facts", [](const Callee& callee) { return tuple_of(callee.kernel.name(), callee.kernel.backend()); }),
    method("_arguments", [](const Callee& callee) { return callee.arguments; }),
    method("_for_problem",
           [](const Callee& callee, const Bindings& sizes) { return callee.kernel.for_problem(sizes); }),
    method("_choice",
           [](const Callee& callee, const Bindings& sizes) {
             return released(callee, [&](const Kernel& kernel) { return kernel.choice(sizes); });
           }),
    method("_digest",
           [](const Callee& callee, const std::vector<Bindings>& problems) {
             return released(callee, [&](const Kernel& kernel) { return kernel.digest(problems); });
           }),
    method("_prepare",
           [](const Callee& callee, const Bindings& sizes) {
             released(callee, [&](const Kernel& kernel) { kernel.prepare(sizes); });
             if (raise_interrupt()) throw ErrorSet();
           }),
    method("_wait", [](const Callee& callee) { released(callee, [](const Kernel& kernel) { kernel.wait(); }); }),
    method("_set_constant",
           [](const Callee& callee, const std::string& name, DType dtype, const Bytes& bytes) {
             const Data data = Data::bytes(dtype, bytes.span());
             released(callee, [&](const Kernel& kernel) { kernel.set_constant(name, data); });
           }),
    method("_benchmark",
           [](Callee& callee, const std::vector<Object>& given, const Object& names, bool cold, std::size_t samples,
              double min_sample_ms, double max_seconds) {
             return benchmarked(callee, given, names, {samples, min_sample_ms, max_seconds, cold});
           }),
    method("_call_arguments",
           [](const Callee& callee) {
             std::vector<Object> list;  // name, whether it is an array, an output, required, written
             for (const CallArgument& each : callee.kernel.call_arguments())
               list.push_back(tuple_of(each.name, each.is_array, each.is_output, each.is_required, each.is_written));
             return list;
           }),
    method("_problem_names", [](const Callee& callee) { return callee.kernel.problem_names(); }),
    method("_outputs",
           [](const Callee& callee, const std::map<std::string, std::tuple<DType, Extents, Extents>>& arrays,
              const std::map<std::string, Object>& named) { return outputs_of(callee.kernel, arrays, named); }),
    method("_register_xla_call", [](const Callee& callee, const std::string& key, const XlaArrays& arrays,
                                    const Bindings& named) { register_xla_call(callee.kernel, key, arrays, named); }),
    {}};

/// For the end of the interpreter: no kernel can be used any more.
void end_kernels() {
  while (!living_kernels().empty()) {
    const auto [callee, instance] = *living_kernels().begin();
    instance->value = nullptr;
    give_up(callee);
  }
}

}  // namespace

void define_kernel(PyObject* module) {
  static PyMethodDef functions[] = {function<end_kernels>("_end_kernels"), {}};
  define_class<Callee>(module, kernel_methods, call);
  define(module, functions);
}

}  // namespace xtune::python

namespace xtune {

python::Object object_of(const Kernel& kernel) {
  using namespace python;
  auto made = std::make_unique<Callee>(kernel);
  Callee* const callee = made.get();
  Object object = new_instance(std::move(made));
  auto* const instance = reinterpret_cast<Instance<Callee>*>(object.get());
  instance->call = call;
  living_kernels().emplace(callee, instance);
  return object;
}

}  // namespace xtune
