// Arrays as calls see them: an address, a type and a shape.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <type_traits>

#include "xtune/dtype.hpp"

namespace xtune {

/// Memory of the kernel's device with a type and a shape. It owns nothing.
struct Array {
  static constexpr std::size_t max_rank = 8;  ///< maximum number of dimensions

  void* data = nullptr;                          ///< address of the first element
  DType dtype = DType::f32;                      ///< of the elements
  bool is_writable = true;                       ///< false: a kernel must not write it
  std::size_t rank = 0;                          ///< number of dimensions
  std::array<std::int64_t, max_rank> shape{};    ///< extents, the outermost first
  std::array<std::int64_t, max_rank> strides{};  ///< elements from an index to the next, of each dimension

  Array() = default;
  /// Elements that lie one after the other in C order; shape: 1 to 8 extents. Throws std::length_error for more.
  template <class T>
  Array(T* memory, std::initializer_list<std::int64_t> extents)
      : Array(const_cast<std::remove_const_t<T>*>(memory), dtype_of<T>(), extents) {
    is_writable = !std::is_const_v<T>;
  }
  /// The same for a type that C++ does not have: Array(pointer, DType::bf16, {m, k}).
  Array(void* memory, DType type, std::initializer_list<std::int64_t> extents) : data(memory), dtype(type) {
    if (extents.size() > max_rank) throw std::length_error("xtune::Array: more than 8 dimensions");
    for (const std::int64_t extent : extents) shape[rank++] = extent;
    lay_in_order();
  }

  /// Sets the strides of elements that lie one after the other in C order.
  void lay_in_order() noexcept {
    std::int64_t stride = 1;
    for (std::size_t i = rank; i-- > 0; stride *= shape[i]) strides[i] = stride;
  }
  /// Bytes of all elements.
  std::size_t bytes() const noexcept {
    std::size_t total = size_of(dtype);
    for (std::size_t i = 0; i < rank; ++i) total *= static_cast<std::size_t>(shape[i]);
    return total;
  }

  /// The same memory with both dimensions exchanged, as b.t() in PyTorch. Throws std::invalid_argument unless rank
  /// is 2.
  Array transposed() const {
    if (rank != 2) throw std::invalid_argument("xtune::Array::transposed: not two dimensions");
    Array other = *this;
    other.shape = {shape[1], shape[0]};
    other.strides = {strides[1], strides[0]};
    return other;
  }
};

}  // namespace xtune
