// SPDX-License-Identifier: Apache-2.0
// A call reads a torch tensor by DLPack's exchange table, in older versions of PyTorch by short methods, and a NumPy
// array by its struct: all cost well below 1 us.
#include "arrays.hpp"

#include <pybind11/numpy.h>

#include <map>
#include <string_view>

#include "convert.hpp"
#include "xtune/dtype.hpp"
#include "xtune/error.hpp"

namespace xtune::python {

/// DLPack's ABI: https://dmlc.github.io/dlpack
namespace dlpack {
struct Device {
  std::int32_t type;
  std::int32_t index;
};
struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t dimensions;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed* self);
};
struct Version {
  std::uint32_t major, minor;
};
struct Versioned {
  Version version;
  void* context;
  void (*deleter)(Versioned* self);
  std::uint64_t flags;
  Tensor tensor;
};
constexpr std::int32_t cpu = 1, cuda = 2, cuda_host = 3, rocm = 10, rocm_host = 11, cuda_managed = 13;

struct Known {
  std::uint8_t code, bits;
  DType dtype;
};
constexpr Known known[] = {{0, 8, DType::i8},     {0, 16, DType::i16},   {0, 32, DType::i32},    {0, 64, DType::i64},
                           {1, 8, DType::u8},     {1, 16, DType::u16},   {1, 32, DType::u32},    {1, 64, DType::u64},
                           {2, 16, DType::f16},   {2, 32, DType::f32},   {2, 64, DType::f64},    {4, 16, DType::bf16},
                           {5, 64, DType::c64},   {5, 128, DType::c128}, {6, 8, DType::boolean}, {10, 8, DType::f8e4m3},
                           {12, 8, DType::f8e5m2}};

DataType type_of(DType dtype) {
  for (const Known& each : known)
    if (each.dtype == dtype) return {each.code, each.bits, 1};
  return {};
}

/// nullopt: no kernel takes it.
std::optional<DType> dtype_of(DataType type) {
  for (const Known& each : known)
    if (type.lanes == 1 && each.code == type.code && each.bits == type.bits) return each.dtype;
  return std::nullopt;
}
}  // namespace dlpack

/// DLPackExchangeAPI of DLPack 1.3, the table behind `__dlpack_c_exchange_api__` of an array's type.
struct Exchange {
  dlpack::Version version;
  const Exchange* previous;  ///< the same for an older major version
  int (*allocate)(dlpack::Tensor* prototype, dlpack::Versioned** out, void* error,
                  void (*set_error)(void* error, const char* kind, const char* message));
  int (*owned_from)(void* object, dlpack::Versioned** out);
  int (*to_object)(dlpack::Versioned* tensor, void** object);
  int (*view)(void* object, dlpack::Tensor* out);  ///< may be null
  int (*stream)(std::int32_t device_type, std::int32_t device, void** stream);
};

void* exchange_stream(const StreamOwner& owner) {
  void* stream = nullptr;
  if (owner.device_type == dlpack::cpu) return stream;
  if (owner.exchange->stream(owner.device_type, static_cast<std::int32_t>(owner.device), &stream) != 0)
    throw py::error_already_set();
  return stream;
}

py::object exchange_output(const StreamOwner& owner, DType dtype, const std::vector<std::int64_t>& shape,
                           Array& array) {
  std::vector<std::int64_t> extents = shape;
  dlpack::Tensor prototype{nullptr,
                           {owner.device_type, static_cast<std::int32_t>(owner.device)},
                           static_cast<std::int32_t>(shape.size()),
                           dlpack::type_of(dtype),
                           extents.data(),
                           nullptr,
                           0};
  dlpack::Versioned* made = nullptr;
  std::string why;
  const auto keep = [](void* error, const char* kind, const char* message) {
    *static_cast<std::string*>(error) = std::string(kind) + ": " + message;
  };
  if (owner.exchange->allocate(&prototype, &made, &why, keep) != 0) {
    if (PyErr_Occurred()) throw py::error_already_set();
    throw Error(ErrorKind::unavailable, "the output was not allocated: " + why);
  }
  array = {};
  array.data = static_cast<std::byte*>(made->tensor.data) + made->tensor.byte_offset;
  array.dtype = dtype;
  array.rank = shape.size();
  std::copy(shape.begin(), shape.end(), array.shape.begin());
  array.lay_in_order();
  void* object = nullptr;
  if (owner.exchange->to_object(made, &object) != 0) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(static_cast<PyObject*>(object));
}

namespace {

/// A string that Python compares by its address.
PyObject* interned(const char* text) { return PyUnicode_InternFromString(text); }

struct Names {
  PyObject* const dtype = interned("dtype");
  PyObject* const is_cuda = interned("is_cuda");
  PyObject* const get_device = interned("get_device");
  PyObject* const is_contiguous = interned("is_contiguous");
  PyObject* const data_ptr = interned("data_ptr");
  PyObject* const numel = interned("numel");
  PyObject* const shape = interned("shape");
  PyObject* const stride = interned("stride");
};

const Names& names() {
  static const Names all;
  return all;
}

py::object attribute(PyObject* object, PyObject* name) {
  PyObject* const found = PyObject_GetAttr(object, name);
  if (!found) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(found);
}

py::object method(PyObject* object, PyObject* name) {
  PyObject* const arguments[] = {object};
  PyObject* const answer = PyObject_VectorcallMethod(name, arguments, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  if (!answer) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(answer);
}

std::uintptr_t address_in(const py::object& number) {
  const unsigned long long address = PyLong_AsUnsignedLongLong(number.ptr());
  if (PyErr_Occurred()) throw py::error_already_set();
  return static_cast<std::uintptr_t>(address);
}

/// A class of a module that is already imported; null: it is not.
py::object imported_class(const char* module, const char* name) {
  PyObject* const found = PyDict_GetItemString(PyImport_GetModuleDict(), module);
  if (!found || !PyObject_HasAttrString(found, name)) return {};
  return py::reinterpret_borrow<py::object>(found).attr(name);
}

/// null: the type has none that this understands.
const Exchange* exchange_of(PyTypeObject* type) {
  PyObject* const found = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
  if (!found) {
    PyErr_Clear();
    return nullptr;
  }
  const auto capsule = py::reinterpret_steal<py::object>(found);
  constexpr const char* name = "dlpack_exchange_api";
  if (!PyCapsule_IsValid(capsule.ptr(), name)) return nullptr;
  const auto* exchange = static_cast<const Exchange*>(PyCapsule_GetPointer(capsule.ptr(), name));
  while (exchange && exchange->version.major != 1) exchange = exchange->previous;
  return exchange && exchange->view ? exchange : nullptr;
}

bool is_subtype(PyTypeObject* type, const py::object& base) {
  return base && PyType_Check(base.ptr()) && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(base.ptr()));
}

std::string type_name(PyObject* object) {
  const py::object type = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  const std::string module = py::str(type.attr("__module__"));
  const std::string name = py::str(type.attr("__qualname__"));
  return module == "builtins" ? name : module + "." + name;
}

/// NumPy has no types for these, and hands over their bits; PyTorch had none once.
bool is_bits(DType wanted, DType given) {
  return (wanted == DType::bf16 && given == DType::u16) ||
         ((wanted == DType::f8e4m3 || wanted == DType::f8e5m2) && given == DType::u8);
}

/// Whether elements lie one after the other in C order. strides: in units of `unit`; null: yes.
template <class Extent>
bool is_dense(const Extent* shape, const Extent* strides, std::size_t dimensions, Extent unit) {
  if (!strides) return true;
  Extent expected = unit;
  for (std::size_t i = dimensions; i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

}  // namespace

std::string dtype_name(PyObject* dtype) {
  static const std::map<std::string, const char*, std::less<>> known{{"float8_e4m3fn", "f8e4m3"},
                                                                     {"float8_e5m2", "f8e5m2"},
                                                                     {"float16", "f16"},
                                                                     {"bfloat16", "bf16"},
                                                                     {"float32", "f32"},
                                                                     {"float64", "f64"},
                                                                     {"int8", "i8"},
                                                                     {"int16", "i16"},
                                                                     {"int32", "i32"},
                                                                     {"int64", "i64"},
                                                                     {"uint8", "u8"},
                                                                     {"uint16", "u16"},
                                                                     {"uint32", "u32"},
                                                                     {"uint64", "u64"},
                                                                     {"bool", "bool"},
                                                                     {"complex64", "c64"},
                                                                     {"complex128", "c128"},
                                                                     {"<f2", "f16"},
                                                                     {"<f4", "f32"},
                                                                     {"<f8", "f64"},
                                                                     {"|i1", "i8"},
                                                                     {"<i2", "i16"},
                                                                     {"<i4", "i32"},
                                                                     {"<i8", "i64"},
                                                                     {"|u1", "u8"},
                                                                     {"<u2", "u16"},
                                                                     {"<u4", "u32"},
                                                                     {"<u8", "u64"},
                                                                     {"|b1", "bool"},
                                                                     {"<c8", "c64"},
                                                                     {"<c16", "c128"}};
  const std::string text = py::str(py::handle(dtype));
  std::string_view name = text;
  constexpr std::string_view torch = "torch.";
  if (name.substr(0, torch.size()) == torch) name.remove_prefix(torch.size());
  const auto found = known.find(name);
  return found == known.end() ? std::string() : found->second;
}

ArrayReader::ArrayReader(ArrayReader&& other) noexcept
    : argument_(other.argument_),
      on_host_(other.on_host_),
      last_type_(std::exchange(other.last_type_, nullptr)),
      last_source_(other.last_source_),
      last_exchange_(other.last_exchange_),
      last_dtype_(std::exchange(other.last_dtype_, nullptr)),
      read_dtype_(other.read_dtype_) {}

ArrayReader::~ArrayReader() {
  Py_XDECREF(reinterpret_cast<PyObject*>(last_type_));
  Py_XDECREF(last_dtype_);
}

void ArrayReader::fail(const std::string& why) const { throw Error(ErrorKind::invalid_argument, *place_ + ", " + why); }

ArrayReader::Source ArrayReader::source_of(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  if (type == last_type_) return last_source_;
  Source source = Source::unknown;
  const Exchange* exchange = nullptr;
  if (is_subtype(type, imported_class("torch", "Tensor")))
    source = (exchange = exchange_of(type)) ? Source::exchange : Source::torch;
  else if (is_subtype(type, imported_class("numpy.ma", "MaskedArray")))
    source = Source::masked;
  else if (is_subtype(type, imported_class("numpy", "ndarray")))
    source = Source::numpy;
  else if (PyObject_HasAttrString(object, "__cuda_array_interface__"))
    source = Source::cuda_interface;
  else if (PyObject_HasAttrString(object, "__dlpack__"))
    source = Source::dlpack;
  // A type whose instances differ (JAX's arrays, on the CPU or not) is asked each time.
  if (source == Source::exchange || source == Source::torch || source == Source::numpy) {
    last_exchange_ = exchange;
    Py_INCREF(type);
    Py_XDECREF(reinterpret_cast<PyObject*>(last_type_));
    last_type_ = type;
    last_source_ = source;
  }
  return source;
}

Memory ArrayReader::read(PyObject* object, StreamOwner& owner, const std::string& place) {
  place_ = &place;
  const Source source = source_of(object);
  switch (source) {
    case Source::numpy:
      return read_numpy(object);
    case Source::exchange:
      if (const auto array = from_exchange(object, owner)) return dense(*array, true);
      [[fallthrough]];
    case Source::torch:
      return read_torch(object, owner);
    case Source::cuda_interface:
      return dense(from_cuda_interface(object, owner));
    case Source::dlpack:
      return dense(from_dlpack(object));
    default:
      refuse(object, source);
  }
}

Array ArrayReader::read_array(PyObject* object, StreamOwner& owner, const std::string& place) {
  place_ = &place;
  const Source source = source_of(object);
  switch (source) {
    case Source::numpy:
      return from_numpy(object);
    case Source::exchange:
      if (const auto array = from_exchange(object, owner)) return *array;
      [[fallthrough]];
    case Source::torch:
      return from_torch(object, owner);
    case Source::cuda_interface:
      return from_cuda_interface(object, owner);
    case Source::dlpack:
      return from_dlpack(object);
    default:
      refuse(object, source);
  }
}

void ArrayReader::refuse(PyObject* object, Source source) const {
  if (source == Source::masked) fail("was given a masked array, and a kernel knows no mask: pass array.filled(...)");
  fail(std::string("is a buffer of ") + to_string(argument_.dtype) + " and was given " + type_name(object) +
       ": pass an array of NumPy, PyTorch, CuPy, Numba or JAX, or one that has __cuda_array_interface__ or __dlpack__");
}

/// For a call that passes addresses: elements of the argument's type, one after the other.
Memory ArrayReader::dense(const Array& array, bool takes_bits) const {
  if (array.dtype != argument_.dtype && !(takes_bits && is_bits(argument_.dtype, array.dtype)))
    fail(std::string("is a buffer of ") + to_string(argument_.dtype) + " and was given an array of " +
         to_string(array.dtype) + ": convert it first");
  if (!is_dense(array.shape.data(), array.strides.data(), array.rank, std::int64_t{1}))
    fail("was given an array that is not contiguous in C order: copy it first");
  if (argument_.is_written && !array.is_writable) fail("is written by the kernel and was given a read-only array");
  return {array.data, array.bytes()};
}

DType ArrayReader::dtype_of(PyObject* dtype) {
  if (dtype == last_dtype_) return read_dtype_;
  const auto found = dtype_from_string(dtype_name(dtype));
  if (!found) fail("was given an array of " + std::string(py::str(py::handle(dtype))) + ", which no kernel takes");
  Py_INCREF(dtype);
  Py_XDECREF(last_dtype_);
  last_dtype_ = dtype;
  return read_dtype_ = *found;
}

std::size_t ArrayReader::rank_of(std::size_t dimensions) const {
  if (dimensions > Array::max_rank) fail("was given an array of more than 8 dimensions");
  return dimensions;
}

Array ArrayReader::from_numpy(PyObject* object) {
  const auto* const from = py::detail::array_proxy(object);
  require_place(true, "a NumPy array");
  Array array;
  array.data = from->data;
  array.dtype = dtype_of(from->descr);
  array.is_writable = (from->flags & py::detail::npy_api::NPY_ARRAY_WRITEABLE_) != 0;
  array.rank = rank_of(static_cast<std::size_t>(from->nd));
  const auto element = static_cast<std::int64_t>(size_of(array.dtype));
  for (std::size_t i = 0; i < array.rank; ++i) {
    if (from->strides[i] % element != 0)
      fail("was given an array whose elements do not lie at multiples of their size");
    array.shape[i] = from->dimensions[i];
    array.strides[i] = from->strides[i] / element;
  }
  return array;
}

Array ArrayReader::from_torch(PyObject* object, StreamOwner& owner) {
  const Names& name = names();
  const bool is_cuda = attribute(object, name.is_cuda).ptr() == Py_True;
  require_place(!is_cuda, "a tensor");
  Array array;
  array.dtype = dtype_of(attribute(object, name.dtype).ptr());
  const py::object shape = attribute(object, name.shape), strides = method(object, name.stride);
  if (!PyTuple_Check(shape.ptr()) || !PyTuple_Check(strides.ptr())) fail("was given a tensor without strides");
  array.rank = rank_of(static_cast<std::size_t>(PyTuple_GET_SIZE(shape.ptr())));
  for (std::size_t i = 0; i < array.rank; ++i) {
    const auto at = static_cast<Py_ssize_t>(i);
    array.shape[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape.ptr(), at));
    array.strides[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(strides.ptr(), at));
  }
  if (PyErr_Occurred()) throw py::error_already_set();
  if (is_cuda) {
    const long device = PyLong_AsLong(method(object, name.get_device).ptr());
    if (owner.kind == StreamOwner::Kind::torch && owner.device != device)
      fail("is on device " + std::to_string(device) + ", and an argument before it is on device " +
           std::to_string(owner.device));
    owner = {StreamOwner::Kind::torch, device};
  }
  array.data = reinterpret_cast<void*>(address_in(method(object, name.data_ptr)));
  return array;
}

void ArrayReader::require_dtype(PyObject* dtype) {
  if (dtype == last_dtype_) return;
  const auto given = dtype_from_string(dtype_name(dtype));
  if (given != argument_.dtype && !(given && is_bits(argument_.dtype, *given)))
    fail(std::string("is a buffer of ") + to_string(argument_.dtype) + " and was given an array of " +
         std::string(py::str(py::handle(dtype))) + ": convert it first");
  Py_INCREF(dtype);
  Py_XDECREF(last_dtype_);
  last_dtype_ = dtype;
}

void ArrayReader::require_place(bool is_host, const char* what) const {
  if (is_host == on_host_) return;
  fail(std::string("was given ") + what +
       (is_host ? " in host memory, and the kernel runs on a GPU: copy it there"
                : " on a GPU, and the kernel runs on the host: copy it there"));
}

Memory ArrayReader::read_numpy(PyObject* object) {
  const auto* const array = py::detail::array_proxy(object);
  require_place(true, "a NumPy array");
  require_dtype(array->descr);
  using Flags = py::detail::npy_api;
  if (!(array->flags & Flags::NPY_ARRAY_C_CONTIGUOUS_))
    fail("was given an array that is not contiguous in C order: pass numpy.ascontiguousarray(...)");
  if (argument_.is_written && !(array->flags & Flags::NPY_ARRAY_WRITEABLE_))
    fail("is written by the kernel and was given a read-only array");
  std::size_t bytes = size_of(argument_.dtype);
  for (int i = 0; i < array->nd; ++i) bytes *= static_cast<std::size_t>(array->dimensions[i]);
  return {array->data, bytes};
}

Memory ArrayReader::read_torch(PyObject* object, StreamOwner& owner) {
  const Names& name = names();
  const bool is_cuda = attribute(object, name.is_cuda).ptr() == Py_True;
  require_place(!is_cuda, "a tensor");
  require_dtype(attribute(object, name.dtype).ptr());
  if (method(object, name.is_contiguous).ptr() != Py_True)
    fail("was given a tensor that is not contiguous: pass tensor.contiguous()");
  if (is_cuda && owner.kind != StreamOwner::Kind::torch)
    owner = {StreamOwner::Kind::torch, PyLong_AsLong(method(object, name.get_device).ptr())};
  const std::size_t bytes = address_in(method(object, name.numel)) * size_of(argument_.dtype);
  return {reinterpret_cast<void*>(address_in(method(object, name.data_ptr))), bytes};
}

Array ArrayReader::from_cuda_interface(PyObject* object, StreamOwner& owner) const {
  const py::object described = py::reinterpret_borrow<py::object>(object).attr("__cuda_array_interface__");
  if (!py::isinstance<py::dict>(described) || !described.contains("typestr") || !described.contains("shape") ||
      !described.contains("data"))
    fail("has a __cuda_array_interface__ that lacks typestr, shape or data");
  const py::dict interface(described);
  require_place(false, "an array");
  const auto dtype = dtype_from_string(dtype_name(interface["typestr"].ptr()));
  if (!dtype)
    fail(std::string("is a buffer of ") + to_string(argument_.dtype) + " and was given an array of " +
         std::string(py::str(interface["typestr"])) + ": convert it first");
  Array array;
  array.dtype = *dtype;
  const auto shape = interface["shape"].cast<std::vector<std::int64_t>>();
  array.rank = rank_of(shape.size());
  std::copy(shape.begin(), shape.end(), array.shape.begin());
  const auto element = static_cast<std::int64_t>(size_of(array.dtype));
  if (interface.contains("strides") && !interface["strides"].is_none()) {
    const auto strides = interface["strides"].cast<std::vector<std::int64_t>>();
    if (strides.size() != array.rank) fail("has a __cuda_array_interface__ with other strides than dimensions");
    for (std::size_t i = 0; i < array.rank; ++i) array.strides[i] = strides[i] / element;
  } else {
    array.lay_in_order();
  }
  const py::tuple data = interface["data"];
  array.is_writable = !data[1].cast<bool>();
  if (owner.kind == StreamOwner::Kind::none && type_name(object).substr(0, 5) == "cupy.")
    owner.kind = StreamOwner::Kind::cupy;
  array.data = reinterpret_cast<void*>(data[0].cast<std::uintptr_t>());
  return array;
}

Array ArrayReader::from_dlpack(PyObject* object) const {
  const py::object capsule = py::reinterpret_borrow<py::object>(object).attr("__dlpack__")();
  auto* const managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (!managed) {
    PyErr_Clear();
    fail("has a __dlpack__ that returns " + shown(capsule) + ", which is not a capsule of a tensor");
  }
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  // The array itself keeps the memory during the call.
  struct Release {
    dlpack::Managed* managed;
    ~Release() {
      if (managed->deleter) managed->deleter(managed);
    }
  } const release{managed};
  return from_tensor(managed->tensor);
}

Array ArrayReader::from_tensor(const dlpack::Tensor& tensor) const {
  const std::int32_t type = tensor.device.type;
  const bool is_host = type == dlpack::cpu || type == dlpack::cuda_host || type == dlpack::rocm_host;
  if (!is_host && type != dlpack::cuda && type != dlpack::rocm && type != dlpack::cuda_managed)
    fail("was given an array of the DLPack device " + std::to_string(type) +
         ", which is neither a CPU nor a GPU of CUDA or ROCm");
  if (type != dlpack::cuda_managed) require_place(is_host, "an array");
  const auto dtype = dlpack::dtype_of(tensor.dtype);
  if (!dtype)
    fail(std::string("is a buffer of ") + to_string(argument_.dtype) +
         " and was given an array of an unknown type: convert it first");
  Array array;
  array.dtype = *dtype;
  array.rank = rank_of(static_cast<std::size_t>(tensor.dimensions));
  std::copy(tensor.shape, tensor.shape + array.rank, array.shape.begin());
  if (tensor.strides)
    std::copy(tensor.strides, tensor.strides + array.rank, array.strides.begin());
  else
    array.lay_in_order();
  array.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  return array;
}

/// nullopt: the library refuses, and its Python interface may not.
std::optional<Array> ArrayReader::from_exchange(PyObject* object, StreamOwner& owner) const {
  dlpack::Tensor tensor{};
  if (last_exchange_->view(object, &tensor) != 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  if (owner.kind == StreamOwner::Kind::exchange && owner.device != tensor.device.index)
    fail("is on device " + std::to_string(tensor.device.index) + ", and an argument before it is on device " +
         std::to_string(owner.device));
  const Array array = from_tensor(tensor);
  owner = {StreamOwner::Kind::exchange, tensor.device.index, tensor.device.type, last_exchange_};
  return array;
}

}  // namespace xtune::python
