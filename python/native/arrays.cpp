// SPDX-License-Identifier: Apache-2.0
// A call reads a torch tensor by DLPack's exchange table, in older versions of PyTorch by short methods, and a NumPy
// array by its struct: all cost well below 1 us.
#include "arrays.hpp"

#include "errors.hpp"
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
    throw ErrorSet();
  return stream;
}

Object exchange_output(const StreamOwner& owner, DType dtype, const std::vector<std::int64_t>& shape, Array& array) {
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
    if (PyErr_Occurred()) throw ErrorSet();
    throw Error(ErrorKind::unavailable, "the output was not allocated: " + why);
  }
  array = {};
  array.data = static_cast<std::byte*>(made->tensor.data) + made->tensor.byte_offset;
  array.dtype = dtype;
  array.rank = shape.size();
  std::copy(shape.begin(), shape.end(), array.shape.begin());
  array.lay_in_order();
  void* object = nullptr;
  if (owner.exchange->to_object(made, &object) != 0) throw ErrorSet();
  return Object::made(static_cast<PyObject*>(object));
}

namespace {

using Extents = std::vector<std::int64_t>;

/// A class of a module that is already imported; empty: it is not.
Object known_class(const char* module, const char* name) {
  const Object found = known_module(module);
  return found && found.has(name) ? found.attribute(name) : Object();
}

bool is_subtype(PyTypeObject* type, const Object& base) {
  return base && PyType_Check(base.get()) && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(base.get()));
}

/// null: the type has none that this understands.
const Exchange* exchange_of(PyTypeObject* type) {
  PyObject* const found = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
  if (!found) {
    PyErr_Clear();
    return nullptr;
  }
  const Object capsule = Object::made(found);
  constexpr const char* name = "dlpack_exchange_api";
  if (!PyCapsule_IsValid(capsule.get(), name)) return nullptr;
  const auto* exchange = static_cast<const Exchange*>(PyCapsule_GetPointer(capsule.get(), name));
  while (exchange && exchange->version.major != 1) exchange = exchange->previous;
  return exchange && exchange->view ? exchange : nullptr;
}

/// NumPy has no types for these, and hands over their bits; PyTorch had none once.
bool is_bits(DType wanted, DType given) {
  return (wanted == DType::bf16 && given == DType::u16) ||
         ((wanted == DType::f8e4m3 || wanted == DType::f8e5m2) && given == DType::u8);
}

/// Whether elements lie one after the other in C order.
bool is_dense(const Array& array) {
  std::int64_t expected = 1;
  for (std::size_t i = array.rank; i-- > 0;) {
    if (array.shape[i] == 0) return true;
    if (array.shape[i] != 1 && array.strides[i] != expected) return false;
    expected *= array.shape[i];
  }
  return true;
}

}  // namespace

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
  if (is_subtype(type, known_class("torch", "Tensor")))
    source = (exchange = exchange_of(type)) ? Source::exchange : Source::torch;
  else if (is_subtype(type, known_class("numpy.ma", "MaskedArray")))
    source = Source::masked;
  else if (PyType_IsSubtype(type, numpy_array_type()))
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

Array ArrayReader::read_whole(PyObject* object, StreamOwner& owner, const std::string& place) {
  const Array array = read_array(object, owner, place);
  if (array.dtype != argument_.dtype && !is_bits(argument_.dtype, array.dtype))
    fail(std::string("is a buffer of ") + to_string(argument_.dtype) + " and was given an array of " +
         to_string(array.dtype) + ": convert it first");
  if (!is_dense(array))
    fail(
        "was given an array that is not contiguous in C order: pass numpy.ascontiguousarray(...) or "
        "tensor.contiguous()");
  if (argument_.is_written && !array.is_writable) fail("is written by the kernel and was given a read-only array");
  return array;
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
      refuse_object(object, source);
  }
}

void ArrayReader::refuse_object(PyObject* object, Source source) const {
  if (source == Source::masked) fail("was given a masked array, and a kernel knows no mask: pass array.filled(...)");
  fail(std::string("is a buffer of ") + to_string(argument_.dtype) + " and was given " + type_name(object) +
       ": pass an array of NumPy, PyTorch, CuPy, Numba or JAX, or one that has __cuda_array_interface__ or __dlpack__");
}

DType ArrayReader::dtype_of(PyObject* dtype) {
  if (dtype == last_dtype_) return read_dtype_;
  static PyObject* known = nullptr;
  if (!known) known = imported("xtune._arrays").attribute("DTYPES_BY_TEXT").release();
  const Object text = Object::made(PyObject_Str(dtype));
  PyObject* const name = PyDict_GetItem(known, text.get());
  if (!name) fail("was given an array of " + escaped(text.get()) + ", which no kernel takes");
  const auto found = value_of<DType>(name);
  Py_INCREF(dtype);
  Py_XDECREF(last_dtype_);
  last_dtype_ = dtype;
  return read_dtype_ = found;
}

std::size_t ArrayReader::rank_of(std::size_t dimensions) const {
  if (dimensions > Array::max_rank) fail("was given an array of more than 8 dimensions");
  return dimensions;
}

Array ArrayReader::from_numpy(PyObject* object) {
  const auto& from = *reinterpret_cast<const NumpyArray*>(object);
  require_place(true, "a NumPy array");
  Array array;
  array.data = from.data;
  array.dtype = dtype_of(from.dtype);
  array.is_writable = (from.flags & NumpyArray::writeable) != 0;
  array.rank = rank_of(static_cast<std::size_t>(from.dimensions));
  const auto element = static_cast<std::int64_t>(size_of(array.dtype));
  for (std::size_t i = 0; i < array.rank; ++i) {
    array.shape[i] = from.shape[i];
    array.strides[i] = from.strides[i] / element;
    if (array.strides[i] * element != from.strides[i])
      fail("was given an array whose elements do not lie at multiples of their size");
  }
  return array;
}

Array ArrayReader::from_torch(PyObject* object, StreamOwner& owner) {
  const Object tensor = Object::shared(object);
  const bool is_cuda = is_true(tensor.attribute("is_cuda").get());
  require_place(!is_cuda, "a tensor");
  Array array;
  array.dtype = dtype_of(tensor.attribute("dtype").get());
  const Extents shape = value_of<Extents>(tensor.attribute("shape").get());
  const Extents strides = value_of<Extents>(tensor.attribute("stride")().get());
  array.rank = rank_of(shape.size());
  if (strides.size() != array.rank) fail("was given a tensor without strides");
  std::copy(shape.begin(), shape.end(), array.shape.begin());
  std::copy(strides.begin(), strides.end(), array.strides.begin());
  if (is_cuda) {
    const long device = value_of<long>(tensor.attribute("get_device")().get());
    if (owner.kind == StreamOwner::Kind::torch && owner.device != device)
      fail("is on device " + std::to_string(device) + ", and an argument before it is on device " +
           std::to_string(owner.device));
    owner = {StreamOwner::Kind::torch, device};
  }
  array.data = value_of<void*>(tensor.attribute("data_ptr")().get());
  return array;
}

void ArrayReader::require_place(bool is_host, const char* what) const {
  if (is_host == on_host_) return;
  fail(std::string("was given ") + what +
       (is_host ? " in host memory, and the kernel runs on a GPU: copy it there"
                : " on a GPU, and the kernel runs on the host: copy it there"));
}

Array ArrayReader::from_cuda_interface(PyObject* object, StreamOwner& owner) {
  const Object interface = Object::shared(object).attribute("__cuda_array_interface__");
  const auto field = [&](const char* name) {
    return PyDict_Check(interface.get()) ? PyDict_GetItemString(interface.get(), name) : nullptr;
  };
  if (!field("typestr") || !field("shape") || !field("data"))
    fail("has a __cuda_array_interface__ that lacks typestr, shape or data");
  require_place(false, "an array");
  Array array;
  array.dtype = dtype_of(field("typestr"));
  const auto shape = value_of<Extents>(field("shape"));
  array.rank = rank_of(shape.size());
  std::copy(shape.begin(), shape.end(), array.shape.begin());
  const auto element = static_cast<std::int64_t>(size_of(array.dtype));
  if (field("strides") && field("strides") != Py_None) {
    const auto strides = value_of<Extents>(field("strides"));
    if (strides.size() != array.rank) fail("has a __cuda_array_interface__ with other strides than dimensions");
    for (std::size_t i = 0; i < array.rank; ++i) array.strides[i] = strides[i] / element;
  } else {
    array.lay_in_order();
  }
  const auto [address, is_read_only] = value_of<std::pair<void*, bool>>(field("data"));
  array.is_writable = !is_read_only;
  if (owner.kind == StreamOwner::Kind::none && type_name(object).substr(0, 5) == "cupy.")
    owner.kind = StreamOwner::Kind::cupy;
  array.data = address;
  return array;
}

Array ArrayReader::from_dlpack(PyObject* object) const {
  const Object capsule = Object::shared(object).attribute("__dlpack__")();
  auto* const managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule.get(), "dltensor"));
  if (!managed) {
    PyErr_Clear();
    fail("has a __dlpack__ that returns " + shown(capsule.get()) + ", which is not a capsule of a tensor");
  }
  PyCapsule_SetName(capsule.get(), "used_dltensor");
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
