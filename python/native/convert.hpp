// SPDX-License-Identifier: Apache-2.0
// Values, formulas and element types between Python and C++.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <memory>
#include <string>

#include "xtune/data.hpp"
#include "xtune/dtype.hpp"
#include "xtune/error.hpp"
#include "xtune/tunable.hpp"
#include "xtune/value.hpp"

namespace pybind11::detail {

/// bool, int, float and str; also NumPy's scalars of these kinds.
template <>
struct type_caster<xtune::Value> {
  PYBIND11_TYPE_CASTER(xtune::Value, const_name("Union[bool, int, float, str]"));
  bool load(handle source, bool convert);
  static handle cast(const xtune::Value& value, return_value_policy policy, handle parent);
};

/// A number, or the text of an expression.
template <>
struct type_caster<xtune::Formula> {
  PYBIND11_TYPE_CASTER(xtune::Formula, const_name("Union[int, float, str]"));
  bool load(handle source, bool convert);
};

/// The name of a type, as a spec has it: "f32".
template <>
struct type_caster<xtune::DType> {
  PYBIND11_TYPE_CASTER(xtune::DType, const_name("str"));
  bool load(handle source, bool convert);
  static handle cast(xtune::DType dtype, return_value_policy policy, handle parent);
};

}  // namespace pybind11::detail

namespace xtune::python {

namespace py = pybind11;

/// An object that C++ code may copy and destroy without the GIL.
class Shared {
 public:
  explicit Shared(py::object object);
  const py::object& get() const { return *object_; }  ///< needs the GIL

 private:
  std::shared_ptr<py::object> object_;
};

/// A class of the module xtune.results.
py::object result_class(const char* name);

/// As Python's bool(). Throws what that raises.
bool is_true(const py::object& object);

/// A str in UTF-8, which a str with lone surrogates (as os.fsdecode makes them) does not have. Throws
/// Error(invalid_argument).
std::string text_of(py::handle text);

/// The same for messages: what is not valid is escaped, in both directions.
std::string escaped(py::handle text);
py::str escaped(const std::string& text);

/// How messages show an object: its repr, or its type if that is long.
std::string shown(py::handle object);

/// Throws Error(invalid_argument): "where: expected ..., not ...".
[[noreturn]] void refuse(py::handle object, const std::string& where, const std::string& expected);

/// The object as a T; else refuse().
template <class T>
T converted(py::handle object, const std::string& where, const std::string& expected) {
  py::detail::make_caster<T> caster;
  try {
    if (caster.load(object, true)) return py::detail::cast_op<T>(std::move(caster));
  } catch (const Error& error) {  // of the casters above
    throw Error(error.kind(), where + ": " + error.what());
  }
  refuse(object, where, expected);
}

/// The bytes of an object with a contiguous buffer, as long as that exists.
class Bytes {
 public:
  explicit Bytes(py::handle object);
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  std::span<const std::byte> span() const {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_;
};

}  // namespace xtune::python
