// SPDX-License-Identifier: Apache-2.0
// Objects of Python, and values of C++ as such objects, by Python's limited API (Py_LIMITED_API): a module that uses
// nothing else serves every CPython from 3.9 on.
#pragma once

#include <Python.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "xtune/dtype.hpp"
#include "xtune/error.hpp"
#include "xtune/tunable.hpp"
#include "xtune/value.hpp"

namespace xtune::python {
class Object;
}

namespace xtune {
python::Object object_of(const Value& value);
bool read(PyObject* object, Value& value);    ///< bool, int, float and str; also NumPy's scalars of these kinds
bool read(PyObject* object, Formula& value);  ///< a number, or the text of an expression
bool read(PyObject* object, DType& value);    ///< "f32"
}  // namespace xtune

namespace xtune::python {

/// Thrown while Python's error of this thread is set.
struct ErrorSet {};

/// Holds the GIL, on any thread.
class WithGil {
 public:
  WithGil() : state_(PyGILState_Ensure()) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  const PyGILState_STATE state_;
};

/// Gives up the GIL, which this thread holds.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() { PyEval_RestoreThread(state_); }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* const state_;
};

/// A value as an object of Python. The library's structs have overloads in their namespace, where all templates find
/// them: results.hpp.
template <class T>
Object object_of(const T& value);
/// A dict of pairs.
template <class Pairs>
Object dict_of(const Pairs& pairs);

/// A counted reference to an object, or none. Needs the GIL unless it is empty.
class Object {
 public:
  Object() = default;
  Object(const Object& other) : object_(other.object_) { Py_XINCREF(object_); }
  Object(Object&& other) noexcept : object_(other.release()) {}
  Object& operator=(Object other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Object() { Py_XDECREF(object_); }
  /// Of a new reference, which it owns. Throws ErrorSet for none.
  static Object made(PyObject* object);
  /// Of a reference that somebody else owns.
  static Object shared(PyObject* object);
  static Object none() { return shared(Py_None); }

  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  bool is_none() const noexcept { return object_ == Py_None; }

  Object attribute(const char* name) const { return made(PyObject_GetAttrString(object_, name)); }
  bool has(const char* name) const { return PyObject_HasAttrString(object_, name) != 0; }
  template <class... Arguments>
  Object operator()(const Arguments&... arguments) const {
    return made(PyObject_CallFunctionObjArgs(object_, object_of(arguments).get()..., static_cast<PyObject*>(nullptr)));
  }

 private:
  PyObject* object_ = nullptr;
};

/// An object that C++ code may copy and destroy without the GIL.
class Shared {
 public:
  explicit Shared(Object object);
  const Object& get() const { return *object_; }  ///< needs the GIL

 private:
  std::shared_ptr<Object> object_;
};

Object imported(const char* module);
/// A module that is already imported; empty: it is not.
Object known_module(const char* name);

/// As Python's bool(). Throws what that raises.
bool is_true(PyObject* object);

/// A str in UTF-8, which a str with lone surrogates (as os.fsdecode makes them) does not have. Throws
/// Error(invalid_argument).
std::string text_of(PyObject* text);
/// The same for messages: what is not valid is escaped.
std::string escaped(PyObject* text);
/// As Python's str(), escaped. Throws what that raises.
std::string str_of(PyObject* object);
/// "numpy.ndarray"; without the module for Python's own types.
std::string type_name(PyObject* object);
/// How messages show an object: its repr, or its type if that is long.
std::string shown(PyObject* object);

/// Throws Error(invalid_argument): "where: expected ..., not ...".
[[noreturn]] void refuse(PyObject* object, const std::string& where, const std::string& expected);

/// NumPy's PyArrayObject, the same in all its versions.
struct NumpyArray {
  static constexpr int c_contiguous = 1, writeable = 0x400;  ///< of `flags`

  PyObject object;
  char* data;
  int dimensions;
  Py_ssize_t* shape;
  Py_ssize_t* strides;  ///< in bytes
  PyObject* base;
  PyObject* dtype;
  int flags;
};
/// The type numpy.ndarray.
PyTypeObject* numpy_array_type();

/// The bytes of bytes, a contiguous array of NumPy, or a copy of those of another object with a buffer.
class Bytes {
 public:
  Bytes() = default;
  /// Throws ErrorSet for an object that has none.
  explicit Bytes(PyObject* object);
  std::span<const std::byte> span() const { return span_; }

 private:
  Object owner_;
  std::span<const std::byte> span_;
};

namespace internal {
Object text(std::string_view utf8);  // what is not valid is escaped
bool read_integer(PyObject* object, long long& value);
bool read_integer(PyObject* object, unsigned long long& value);
bool read_double(PyObject* object, double& value);
bool read_text(PyObject* object, std::string& value);
bool read_path(PyObject* object, std::filesystem::path& value);
bool is_list(PyObject* object);  // or another sequence, but not a text
std::size_t size_of_list(PyObject* list);
Object item_of(PyObject* list, std::size_t index);
void put(PyObject* dict, const Object& key, const Object& value);

template <class T>
concept Map = requires {
  typename T::mapped_type;
};
template <class T>
concept Optional = requires(const T& value) {
  value.has_value();
};
template <class T>
concept Tuple = requires {
  std::tuple_size<T>::value;
};
}  // namespace internal

template <class T>
Object object_of(const T& value) {
  if constexpr (std::same_as<T, Object>) {
    return value;
  } else if constexpr (std::same_as<T, bool>) {
    return Object::shared(value ? Py_True : Py_False);
  } else if constexpr (std::is_enum_v<T>) {
    return internal::text(to_string(value));
  } else if constexpr (std::unsigned_integral<T>) {
    return Object::made(PyLong_FromUnsignedLongLong(value));
  } else if constexpr (std::integral<T>) {
    return Object::made(PyLong_FromLongLong(value));
  } else if constexpr (std::floating_point<T>) {
    return Object::made(PyFloat_FromDouble(value));
  } else if constexpr (std::same_as<T, void*>) {
    return object_of(reinterpret_cast<std::uintptr_t>(value));
  } else if constexpr (std::convertible_to<const T&, std::string_view>) {
    return internal::text(value);
  } else if constexpr (internal::Optional<T>) {
    return value ? object_of(*value) : Object::none();
  } else if constexpr (internal::Map<T>) {
    return dict_of(value);
  } else {
    Object list = Object::made(PyList_New(0));
    for (const auto& each : value)
      if (PyList_Append(list.get(), object_of(each).get()) != 0) throw ErrorSet();
    return list;
  }
}
template <class Pairs>
Object dict_of(const Pairs& pairs) {
  Object dict = Object::made(PyDict_New());
  for (const auto& [key, value] : pairs) internal::put(dict.get(), object_of(key), object_of(value));
  return dict;
}
template <class... Values>
Object tuple_of(const Values&... values) {
  return Object::made(PyTuple_Pack(sizeof...(Values), object_of(values).get()...));
}

/// The object as a T; else refuse().
template <class T>
T converted(PyObject* object, const std::string& where, const std::string& expected);

/// Reads a value; false: the object is another one. Throws Error(invalid_argument) for a number or a text that does not
/// fit. A text is also bytes as they are; an address (void*) is also None.
template <class T>
bool read(PyObject* object, T& value) {
  if constexpr (std::same_as<T, Object>) {
    value = Object::shared(object);
  } else if constexpr (std::same_as<T, bool>) {
    value = is_true(object);
  } else if constexpr (std::integral<T>) {
    std::conditional_t<std::is_signed_v<T>, long long, unsigned long long> number = 0;
    if (!internal::read_integer(object, number) || !std::in_range<T>(number)) return false;
    value = static_cast<T>(number);
  } else if constexpr (std::same_as<T, double>) {
    return internal::read_double(object, value);
  } else if constexpr (std::same_as<T, std::string>) {
    return internal::read_text(object, value);
  } else if constexpr (std::same_as<T, void*>) {
    std::uintptr_t address = 0;
    if (object != Py_None && !read(object, address)) return false;
    value = reinterpret_cast<void*>(address);
  } else if constexpr (std::same_as<T, std::vector<std::byte>>) {
    const Bytes bytes(object);
    value.assign(bytes.span().begin(), bytes.span().end());
  } else if constexpr (std::same_as<T, std::filesystem::path>) {
    return internal::read_path(object, value);
  } else if constexpr (std::same_as<T, Bytes>) {
    value = Bytes(object);
  } else if constexpr (internal::Optional<T>) {
    return object == Py_None || read(object, value.emplace());
  } else if constexpr (internal::Map<T>) {
    if (!PyDict_Check(object)) return false;
    PyObject *key = nullptr, *each = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &each);) {
      auto name = converted<typename T::key_type>(key, "a name", "a text");
      auto held = converted<typename T::mapped_type>(each, name, "a number, a bool or a text");
      value.insert_or_assign(std::move(name), std::move(held));
    }
  } else if constexpr (internal::Tuple<T>) {
    constexpr std::size_t size = std::tuple_size_v<T>;
    if (!internal::is_list(object) || internal::size_of_list(object) != size) return false;
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return (read(internal::item_of(object, I).get(), std::get<I>(value)) && ...);
    }
    (std::make_index_sequence<size>());
  } else {
    if (!internal::is_list(object)) return false;
    for (std::size_t i = 0; i < internal::size_of_list(object); ++i)
      if (!read(internal::item_of(object, i).get(), value.emplace_back())) return false;
  }
  return true;
}

template <class T>
T converted(PyObject* object, const std::string& where, const std::string& expected) {
  T value{};
  try {
    if (read(object, value)) return value;
  } catch (const Error& error) {
    throw Error(error.kind(), where + ": " + error.what());
  }
  refuse(object, where, expected);
}

/// The same for what the Python layer has checked.
template <class T>
T value_of(PyObject* object) {
  T value{};
  if (read(object, value)) return value;
  refuse(object, "xtune._native", "another type");
}

/// Named values of the Python layer: what is missing keeps its default.
class Settings {
 public:
  explicit Settings(const Object& dict);
  /// Each name, and the member that receives its value.
  template <class T, class... More>
  void take(const char* name, T& member, More&&... more) {
    if (PyObject* const given = find(name)) member = converted<T>(given, name, "another type");
    if constexpr (sizeof...(more) > 0) take(std::forward<More>(more)...);
  }
  /// Throws Error(invalid_argument) if a name was not taken.
  void require_all() const;

 private:
  PyObject* find(const char* name);
  const Object dict_;
  Py_ssize_t taken_ = 0;
};

}  // namespace xtune::python
