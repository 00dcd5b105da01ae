// The contents of a kernel's buffers: given by the application before a launch, and read by it afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "xtune/dtype.hpp"
#include "xtune/error.hpp"
#include "xtune/fill.hpp"
#include "xtune/value.hpp"

namespace xtune {

/// The buffer that a generator fills.
struct DataRequest {
  std::string name;                  ///< name of the argument
  DType dtype = DType::f32;          ///< type of the elements
  std::vector<std::uint64_t> shape;  ///< extents for this problem, in elements, C order
  Bindings problem;                  ///< problem sizes by name
  std::uint64_t seed = 0;            ///< of the run ([search] seed): the same seed should give the same contents

  std::uint64_t elements() const noexcept;  ///< number of elements
  /// Size in bytes.
  std::uint64_t bytes() const noexcept { return elements() * size_of(dtype); }
};

/// The contents of an input. Copies are cheap: they share the elements.
class Data {
 public:
  /// Returns the bytes of a buffer: elements one after another in C order.
  using Generator = std::function<std::vector<std::byte>(const DataRequest& request)>;

  /// Filled by Fill::automatic: small random numbers that suit the type.
  Data() = default;
  /// Filled by a rule, with its numbers: each a number, or an expression over problem and device, in which the name of
  /// another buffer stands for its number of elements. Data(Fill::offsets, {"columns"}).
  Data(Fill fill, const std::vector<Value>& numbers = {});  // NOLINT(google-explicit-constructor)
  /// Uniform random integers of [first, end), such as the indices of another argument's rows: each a number, or an
  /// expression over problem and device. integers(0, "ROWS").
  static Data integers(const Value& first, const Value& end) { return {Fill::integers, {first, end}}; }
  /// A copy of host elements.
  template <class T>
  Data(const std::vector<T>& values) : Data(copy(dtype_of<T>(), values)) {}  // NOLINT(google-explicit-constructor)
  /// A copy of host elements.
  template <class T>
  Data(std::span<T> values)  // NOLINT(google-explicit-constructor)
      : Data(bytes(dtype_of<std::remove_const_t<T>>(), std::as_bytes(values))) {}

  /// A copy of elements of any type, including f16 and bf16. Throws Error(invalid_argument) if the size in bytes is not
  /// a multiple of the element size.
  static Data bytes(DType dtype, std::span<const std::byte> elements);
  /// A NumPy .npy file of the argument's shape and type.
  static Data file(const std::filesystem::path& npy);
  /// Memory of the tuned device: a CUDA or HIP device pointer in the context that is current when tune() is called, or
  /// on the host backend an address in this process. tune() checks the pointer and reads `bytes` bytes once. The
  /// application keeps ownership. Throws Error(invalid_argument) for a null pointer.
  static Data device(const void* pointer, std::size_t bytes);
  /// Contents made by a function, which is called once for each problem and argument. Throws Error(invalid_argument)
  /// for an empty function.
  static Data generate(Generator generator);
  /// The same with a function that needs only the problem.
  static Data generate(std::function<std::vector<std::byte>(const Bindings& problem)> generator);

  /// Where the contents come from.
  enum class Kind {
    fill,      ///< a fill rule
    host,      ///< elements held here
    file,      ///< a .npy file
    device,    ///< device memory
    generator  ///< a function
  };
  Kind kind() const noexcept { return kind_; }                                   ///< where the contents come from
  Fill fill() const noexcept { return fill_; }                                   ///< fill: the rule
  const std::vector<std::string>& numbers() const noexcept { return numbers_; }  ///< fill: the numbers of the rule
  std::optional<DType> dtype() const noexcept { return dtype_; }                 ///< host: type of the elements
  std::span<const std::byte> host() const noexcept;                              ///< host: the elements
  const std::filesystem::path& path() const noexcept { return path_; }           ///< file: its path
  const void* pointer() const noexcept { return pointer_; }                      ///< device: the pointer
  std::size_t pointer_bytes() const noexcept { return pointer_bytes_; }          ///< device: size in bytes
  const Generator& generator() const noexcept { return generator_; }             ///< generator: the function

 private:
  template <class T>
  static Data copy(DType dtype, const std::vector<T>& values) {
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<std::byte> bits;
      for (const bool value : values) bits.push_back(std::byte{value});
      return bytes(dtype, bits);
    } else {
      return bytes(dtype, std::as_bytes(std::span(values)));
    }
  }
  Kind kind_ = Kind::fill;
  Fill fill_ = Fill::automatic;
  std::vector<std::string> numbers_;
  std::optional<DType> dtype_;
  std::shared_ptr<const std::vector<std::byte>> host_;
  std::filesystem::path path_;
  const void* pointer_ = nullptr;
  std::size_t pointer_bytes_ = 0;
  Generator generator_;
};

/// A buffer as callbacks see it: host memory, valid during the call.
struct HostArray {
  std::string name;                  ///< name of the argument
  DType dtype = DType::f32;          ///< type of the elements
  std::vector<std::uint64_t> shape;  ///< extents in elements, C order
  std::span<const std::byte> bytes;  ///< all elements

  /// The elements. Throws Error(invalid_argument) if T is not the buffer's type.
  template <class T>
  std::span<const T> as() const {
    check_dtype(dtype_of<T>());
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

 private:
  void check_dtype(DType wanted) const;
};

/// The arguments of a reference or a validator: the problem and the inputs and, for a validator, the configuration and
/// its outputs.
class Arguments {
 public:
  Bindings problem;                ///< problem sizes by name
  Bindings config;                 ///< only for a validator: the configuration that ran
  std::vector<HostArray> inputs;   ///< arguments that are read (input, inout), before the launch
  std::vector<HostArray> outputs;  ///< arguments that are written (output, inout), after the launch; a reference sees
                                   ///< only their names, types and shapes: they have no bytes yet

  /// An input by name. Throws Error(invalid_argument) with the list of inputs if there is none of that name.
  const HostArray& input(std::string_view name) const;
  /// An output by name. Throws Error(invalid_argument) with the list of outputs if there is none of that name.
  const HostArray& output(std::string_view name) const;
  /// An integer of the problem or the configuration, by name. Throws Error(invalid_argument) if the name is unknown or
  /// the value is not an integer.
  std::int64_t size(std::string_view name) const;
};

/// The outputs that a reference expects.
class Expected {
 public:
  Expected() = default;
  /// The elements of a kernel's only output.
  template <class T>
  Expected(const std::vector<T>& values) {  // NOLINT(google-explicit-constructor)
    set("", values);
  }
  /// Sets the elements of one output by name. Outputs that are not set are not compared.
  template <class T>
  Expected& set(const std::string& output, const std::vector<T>& values) {
    outputs_[output] = Data(values);
    return *this;
  }
  /// The same for elements of any type.
  Expected& set_bytes(const std::string& output, DType dtype, std::span<const std::byte> elements) {
    outputs_[output] = Data::bytes(dtype, elements);
    return *this;
  }
  /// The outputs by name; "" stands for the only output.
  const std::map<std::string, Data>& outputs() const noexcept { return outputs_; }

 private:
  std::map<std::string, Data> outputs_;
};

}  // namespace xtune
