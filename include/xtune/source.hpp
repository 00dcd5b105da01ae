// Tuning a kernel from its source and the arguments of a call: names, order, types and constness stand in the source.
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "xtune/array.hpp"
#include "xtune/data.hpp"
#include "xtune/dtype.hpp"
#include "xtune/tunable.hpp"
#include "xtune/tune.hpp"
#include "xtune/value.hpp"

namespace xtune {

/// An argument of a kernel, as a call passes it. Arguments convert to it: vectors, spans and arrays of host memory,
/// which is copied; Array, memory of the tuned device (on the host backend of this process); numbers; structs by value.
struct Passed {
  /// value: a struct or vector by value.
  enum class Kind { array, number, value };
  /// What the kernel does with an array.
  enum class Role { in, out, inout };

  Kind kind = Kind::number;         ///< what it is
  Role role = Role::in;             ///< of an array
  std::optional<DType> dtype = {};  ///< nullopt: a C++ type without a DType, such as __half
  std::size_t bytes = 0;            ///< of an element, or of a value
  std::vector<Formula> shape = {};  ///< of an array
  Formula number = {};              ///< a number, or an expression of the spec
  Data data = {};                   ///< of an array or a value; a fill rule: xtune makes the contents

  Passed() = default;
  /// Host elements, which are copied. Elements without a DType are taken as bytes of the type that the source declares.
  template <std::ranges::contiguous_range Range>
  requires std::ranges::sized_range<Range> Passed(const Range& values)  // NOLINT(google-explicit-constructor)
      : kind(Kind::array), bytes(sizeof(*std::ranges::data(values))), shape{Formula(std::ranges::size(values))} {
    using Element = std::ranges::range_value_t<Range>;
    static_assert(std::is_trivially_copyable_v<Element>, "a kernel reads elements that can be copied bytewise");
    const std::span<const Element> elements(std::ranges::data(values), std::ranges::size(values));
    if constexpr (has_dtype<Element>) dtype = dtype_of<Element>();
    data = Data::bytes(dtype.value_or(DType::u8), std::as_bytes(elements));
  }
  /// Memory of the device; null: contents that xtune makes. Throws Error(invalid_argument) if it is not in C order.
  Passed(const Array& array);  // NOLINT(google-explicit-constructor)
  /// A number, as the kernel's parameter declares it.
  template <Arithmetic T>
  Passed(T value)  // NOLINT(google-explicit-constructor)
      : dtype(dtype_of<T>()), bytes(sizeof value), number(value) {}
  /// Its number.
  template <class T>
  requires std::is_enum_v<T> Passed(T value)  // NOLINT(google-explicit-constructor)
      : Passed(static_cast<std::underlying_type_t<T>>(value)) {}
  /// A struct or vector, or a number without a DType, by value.
  template <class T>
  requires(std::is_class_v<T>&& std::is_trivially_copyable_v<T> && !std::ranges::range<T>)
      Passed(const T& value)  // NOLINT(google-explicit-constructor)
      : kind(Kind::value), bytes(sizeof value), data(Data::bytes(DType::u8, std::as_bytes(std::span(&value, 1)))) {}
  template <class T>
  Passed(T* memory) = delete;  ///< how many elements? std::span(memory, count), or in(memory, count) for the device's

 private:
  template <class T>
  static constexpr bool has_dtype = (std::is_arithmetic_v<T> && sizeof(T) <= 8) ||
                                    std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;
};

/// An array that the kernel reads: what every array is without a word. Only for a pointer and a count it is needed.
template <class T>
Passed in(T* memory, std::int64_t count) {
  return Array(memory, {count});
}
/// An array that the kernel reads and writes. While tuning, it gets a copy of the contents before every launch.
template <class T>
Passed inout(const T& array) {
  Passed passed(array);
  passed.role = Passed::Role::inout;
  return passed;
}
/// The same for memory of the device.
template <class T>
Passed inout(T* memory, std::int64_t count) {
  return inout(Array(memory, {count}));
}
/// An array that the kernel writes and never reads. While tuning, it gets memory of the same size.
template <class T>
Passed out(const T& array) {
  Passed passed(array);
  passed.role = Passed::Role::out;
  return passed;
}
/// The same for memory of the device.
template <class T>
Passed out(T* memory, std::int64_t count) {
  return out(Array(memory, {count}));
}

/// A parameter and its values: {"BLOCK", {64, 128, 256}}.
struct Param {
  std::string name;           ///< as the source spells it
  std::vector<Value> values;  ///< those that are tried
};

/// What a call adds to a kernel's source. What is empty is taken from the source: its body and its own launch, if the
/// file has one. In expressions, an integer argument is a problem size of its name.
struct SourceSettings {
  std::vector<Param> params = {};   ///< more are those that the source has with a default (`#ifndef BLOCK`)
  std::vector<Formula> grid = {};   ///< 1 to 3 extents, in blocks: {"ceildiv(n, BLOCK)"}
  std::vector<Formula> block = {};  ///< 1 to 3 extents, in threads
  Formula shared = {};              ///< dynamic shared memory, bytes
  std::string entry = {};           ///< the kernel's name; needed if the source has several
  std::string name = {};            ///< in the store; empty: the kernel's
  Bindings problem = {};            ///< names that no argument gives
  std::vector<std::pair<std::string, Formula>> defines = {};  ///< macros for the source
  std::vector<std::string> constraints = {};                  ///< "BLOCK * UNROLL <= 1024"
  std::vector<std::filesystem::path> include_dirs = {};       ///< for headers; also those of a compile_commands.json
  /// For tune(). on_log receives what was guessed from the source, too.
  TuneSettings tuning = {};
};

/// A Tunable for the only kernel of a source, or settings.entry. source: a file, or a text, which has a brace. It can
/// be changed further: references, metrics, other keys. Without a reference, the first configuration counts as right.
/// Throws Error(invalid_argument), with the kernel's signature, for arguments that it does not take; with the list of
/// kernels, if there are several; and for what neither the source nor the settings show. Error(io).
Tunable from_source(const std::string& source, const SourceSettings& settings, std::span<const Passed> arguments);
/// The same with the arguments of the kernel, in its order:
/// from_source("saxpy.cu", {.params = {{"BLOCK", {64, 128}}}}, x, inout(y), 2.0f, n).
template <class... Arguments>
requires(sizeof...(Arguments) > 0) Tunable
    from_source(const std::string& source, const SourceSettings& settings, const Arguments&... arguments) {
  const Passed passed[] = {Passed(arguments)...};
  return from_source(source, settings, std::span<const Passed>(passed));
}
/// The same with nothing but parameters: from_source("saxpy.cu", {{"BLOCK", {64, 128}}}, x, inout(y), 2.0f, n).
template <class... Arguments>
requires(sizeof...(Arguments) > 0) Tunable
    from_source(const std::string& source, std::initializer_list<Param> params, const Arguments&... arguments) {
  return from_source(source, SourceSettings{.params = params}, arguments...);
}

/// Of the arguments that are declared in code, in their order.
std::vector<std::string> argument_names(const Tunable& tunable);

/// Tunes the kernel of a source for a call with these arguments, as from_source and tune do. result.kernel() then takes
/// a stream and the same arguments, with pointers in the place of arrays.
template <class... Arguments>
requires(sizeof...(Arguments) > 0) Result
    tune(const std::string& source, const SourceSettings& settings, const Arguments&... arguments) {
  return tune(from_source(source, settings, arguments...), settings.tuning);
}
/// The same with nothing but parameters: tune("saxpy.cu", {{"BLOCK", {64, 128, 256}}}, x, inout(y), 2.0f, n).
template <class... Arguments>
requires(sizeof...(Arguments) > 0) Result
    tune(const std::string& source, std::initializer_list<Param> params, const Arguments&... arguments) {
  return tune(source, SourceSettings{.params = params}, arguments...);
}

}  // namespace xtune
