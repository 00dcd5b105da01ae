// SPDX-License-Identifier: Apache-2.0
// The memory of arrays of NumPy, PyTorch, CuPy, Numba, JAX and others, for calls of a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "object.hpp"
#include "xtune/array.hpp"
#include "xtune/kernel.hpp"

namespace xtune::python {

namespace dlpack {
struct Tensor;
}
struct Exchange;  ///< functions of a library that hands over its arrays without Python code

/// Who made the arrays of a call, as far as it decides on the stream and on outputs.
struct StreamOwner {
  enum class Kind { none, torch, cupy, exchange };
  Kind kind = Kind::none;
  long device = 0;                     ///< torch, exchange: index of the device
  std::int32_t device_type = 0;        ///< exchange: of DLPack
  const Exchange* exchange = nullptr;  ///< of the first array that has it
};

/// The stream on which the library of the arrays works.
void* exchange_stream(const StreamOwner& owner);
/// A new array of that library on its device; array: receives its memory. Throws what the library raises.
Object exchange_output(const StreamOwner& owner, DType dtype, const std::vector<std::int64_t>& shape, Array& array);

/// Reads the arrays that are passed for one argument. Not thread-safe: used under the GIL.
class ArrayReader {
 public:
  /// on_host: the kernel runs on the CPU, otherwise on a GPU. argument: must outlive it.
  ArrayReader(const KernelArgument& argument, bool on_host) : argument_(argument), on_host_(on_host) {}
  ArrayReader(const ArrayReader&) = delete;
  ArrayReader(ArrayReader&& other) noexcept;
  ~ArrayReader();

  /// place: of the argument, for messages. Throws Error(invalid_argument) for an array that does not fit, and for an
  /// object that is not an array.
  Array read_whole(PyObject* object, StreamOwner& owner, const std::string& place);
  /// The same with type, shape and strides, which the kernel then judges. Throws Error(invalid_argument) for an object
  /// that is not an array, in other memory than the kernel's, or on another device than the owner's.
  Array read_array(PyObject* object, StreamOwner& owner, const std::string& place);

 private:
  enum class Source { unknown, numpy, masked, exchange, torch, cuda_interface, dlpack };

  Source source_of(PyObject* object);
  [[noreturn]] void refuse_object(PyObject* object, Source source) const;
  DType dtype_of(PyObject* dtype);
  Array from_numpy(PyObject* object);
  std::optional<Array> from_exchange(PyObject* object, StreamOwner& owner) const;
  Array from_torch(PyObject* object, StreamOwner& owner);
  Array from_cuda_interface(PyObject* object, StreamOwner& owner);
  Array from_dlpack(PyObject* object) const;
  Array from_tensor(const dlpack::Tensor& tensor) const;
  std::size_t rank_of(std::size_t dimensions) const;
  void require_place(bool is_host, const char* what) const;
  [[noreturn]] void fail(const std::string& why) const;

  const KernelArgument& argument_;
  const bool on_host_;
  const std::string* place_ = nullptr;  ///< during read()
  PyTypeObject* last_type_ = nullptr;   ///< the type of the array that was read last, and how it is read
  Source last_source_ = Source::unknown;
  const Exchange* last_exchange_ = nullptr;
  PyObject* last_dtype_ = nullptr;  ///< the type of elements that was read last, and what it is
  DType read_dtype_ = DType::f32;
};

}  // namespace xtune::python
