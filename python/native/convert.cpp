// SPDX-License-Identifier: Apache-2.0
// Casters of xtune's plain types.
#include "convert.hpp"

#include <optional>

namespace pybind11::detail {
namespace {

/// A NumPy scalar has __index__ or __float__, and so do one-element arrays, which have __len__ too.
bool is_scalar(handle source) { return !PyObject_HasAttrString(source.ptr(), "__len__"); }

bool is_numpy_bool(handle source) {
  const std::string name = Py_TYPE(source.ptr())->tp_name;
  return name == "numpy.bool_" || name == "numpy.bool";
}

}  // namespace

bool type_caster<xtune::Value>::load(handle source, bool) {
  PyObject* const object = source.ptr();
  if (PyBool_Check(object) || is_numpy_bool(source)) {
    value = PyObject_IsTrue(object) == 1;
  } else if (PyUnicode_Check(object)) {
    value = xtune::python::text_of(source);
  } else if (PyIndex_Check(object) && is_scalar(source)) {
    const auto number = reinterpret_steal<pybind11::object>(PyNumber_Index(object));
    if (!number) throw error_already_set();
    const long long integer = PyLong_AsLongLong(number.ptr());
    if (integer == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      PyLong_AsUnsignedLongLong(number.ptr());
      const bool fits_unsigned = PyErr_Occurred() == nullptr;
      PyErr_Clear();
      throw xtune::Error(xtune::ErrorKind::invalid_argument,
                         xtune::python::shown(source) +
                             (fits_unsigned ? " is too large: integers up to 9223372036854775807 can be tuned"
                                            : " does not fit into 64 bits"));
    }
    value = integer;
  } else if (PyFloat_Check(object) || (PyObject_HasAttrString(object, "__float__") && is_scalar(source))) {
    const double number = PyFloat_AsDouble(object);
    if (number == -1 && PyErr_Occurred()) throw error_already_set();
    value = number;
  } else {
    return false;
  }
  return true;
}

handle type_caster<xtune::Value>::cast(const xtune::Value& value, return_value_policy, handle) {
  return std::visit([](const auto& held) { return pybind11::cast(held).release(); },
                    static_cast<const std::variant<bool, std::int64_t, double, std::string>&>(value));
}

bool type_caster<xtune::Formula>::load(handle source, bool convert) {
  type_caster<xtune::Value> number;
  if (!number.load(source, convert)) return false;
  value = xtune::Formula(expression_text(static_cast<xtune::Value&>(number)));
  return true;
}

bool type_caster<xtune::DType>::load(handle source, bool) {
  if (!PyUnicode_Check(source.ptr())) return false;
  const auto found = xtune::dtype_from_string(xtune::python::text_of(source));
  if (!found) return false;
  value = *found;
  return true;
}

handle type_caster<xtune::DType>::cast(xtune::DType dtype, return_value_policy, handle) {
  return pybind11::str(xtune::to_string(dtype)).release();
}

}  // namespace pybind11::detail

namespace xtune::python {

Shared::Shared(py::object object)
    : object_(new py::object(std::move(object)), [](py::object* held) {
        if (!Py_IsInitialized()) return;  // the interpreter has ended, and the object with it
        const py::gil_scoped_acquire gil;
        delete held;
      }) {}

bool is_true(const py::object& object) {
  const int holds = PyObject_IsTrue(object.ptr());
  if (holds < 0) throw py::error_already_set();
  return holds == 1;
}

namespace {

/// nullopt: it has lone surrogates.
std::optional<std::string> utf8_of(py::handle text) {
  Py_ssize_t size = 0;
  const char* const utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (utf8) return std::string(utf8, static_cast<std::size_t>(size));
  PyErr_Clear();
  return std::nullopt;
}

}  // namespace

std::string text_of(py::handle text) {
  if (std::optional<std::string> utf8 = utf8_of(text)) return *std::move(utf8);
  throw Error(ErrorKind::invalid_argument, shown(text) + " is not valid Unicode text");
}

std::string escaped(py::handle text) {
  if (std::optional<std::string> utf8 = utf8_of(text)) return *std::move(utf8);
  const auto bytes =
      py::reinterpret_steal<py::object>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
  if (!bytes) throw py::error_already_set();
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

py::str escaped(const std::string& text) {
  PyObject* const made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (!made) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(made);
}

std::string shown(py::handle object) {
  constexpr std::size_t longest = 80;
  try {
    std::string text = escaped(py::repr(object));
    if (text.size() <= longest) return text;
  } catch (py::error_already_set&) {  // an integer of thousands of digits has none
  }
  return std::string("an object of ") + Py_TYPE(object.ptr())->tp_name;
}

void refuse(py::handle object, const std::string& where, const std::string& expected) {
  throw Error(ErrorKind::invalid_argument, where + ": expected " + expected + ", not " + shown(object));
}

py::object result_class(const char* name) { return py::module_::import("xtune.results").attr(name); }

Bytes::Bytes(py::handle object) : view_{} {
  if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_C_CONTIGUOUS) != 0) throw py::error_already_set();
}

}  // namespace xtune::python
