// The C++ types of a call's arguments, as data that the library compares with a spec. Not for applications.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace xtune::detail {

/// The C++ type of an argument.
struct ArgumentType {
  enum class Class : std::uint8_t { other, boolean, integer, floating };
  bool is_pointer = false;
  bool writable = true;         ///< pointers: not to const
  Class number = Class::other;  ///< type of the value, or of the pointer's elements
  std::uint16_t bytes = 0;      ///< size of that type; 0: not known (void)
};

/// The types of one call's arguments.
struct Signature {
  const ArgumentType* types;
  std::size_t count;
  bool checked_at_load;  ///< the types were compared with the spec when the kernel was loaded
};

template <class T>
constexpr ArgumentType::Class class_of() {
  if constexpr (std::is_same_v<T, bool>) return ArgumentType::Class::boolean;
  if constexpr (std::is_integral_v<T>) return ArgumentType::Class::integer;
  if constexpr (std::is_floating_point_v<T>) return ArgumentType::Class::floating;
  return ArgumentType::Class::other;
}

template <class T, class = void>
struct BytesOf {
  static constexpr std::uint16_t value = 0;
};
template <class T>
struct BytesOf<T, std::void_t<decltype(sizeof(T))>> {
  static constexpr std::uint16_t value = sizeof(T) < 0xffff ? static_cast<std::uint16_t>(sizeof(T)) : 0xffff;
};

template <class T>
constexpr ArgumentType type_of() {
  if constexpr (std::is_null_pointer_v<T>) {
    return {true, true, ArgumentType::Class::other, 0};
  } else if constexpr (std::is_pointer_v<T>) {
    using Pointee = std::remove_pointer_t<T>;
    using Element = std::remove_cv_t<Pointee>;
    if constexpr (std::is_void_v<Element> || std::is_function_v<Element>)
      return {true, !std::is_const_v<Pointee>, ArgumentType::Class::other, 0};
    else
      return {true, !std::is_const_v<Pointee>, class_of<Element>(), BytesOf<Element>::value};
  } else if constexpr (std::is_enum_v<T>) {
    return {false, true, class_of<std::underlying_type_t<T>>(), static_cast<std::uint16_t>(sizeof(T))};
  } else {
    static_assert(std::is_trivially_copyable_v<T>, "a kernel takes device pointers and plain values");
    static_assert(sizeof(T) <= 32764, "a kernel's arguments by value have at most 32764 bytes");
    return {false, true, class_of<T>(), static_cast<std::uint16_t>(sizeof(T))};
  }
}

template <class... Arguments>
struct TypesOf {
  static constexpr ArgumentType types[sizeof...(Arguments) + 1] = {type_of<Arguments>()..., {}};
  static constexpr Signature signature{types, sizeof...(Arguments), false};
  static constexpr Signature checked_signature{types, sizeof...(Arguments), true};
};

}  // namespace xtune::detail
