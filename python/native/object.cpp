// SPDX-License-Identifier: Apache-2.0
#include "object.hpp"

namespace xtune::python {

Object Object::made(PyObject* object) {
  if (!object) throw ErrorSet();
  Object owner;
  owner.object_ = object;
  return owner;
}

Object Object::shared(PyObject* object) {
  Py_XINCREF(object);
  Object owner;
  owner.object_ = object;
  return owner;
}

Shared::Shared(Object object)
    : object_(new Object(std::move(object)), [](Object* held) {
        if (!Py_IsInitialized()) return;  // the interpreter has ended, and the object with it
        const WithGil gil;
        delete held;
      }) {}

Object imported(const char* module) { return Object::made(PyImport_ImportModule(module)); }

Object known_module(const char* name) { return Object::shared(PyDict_GetItemString(PyImport_GetModuleDict(), name)); }

bool is_true(PyObject* object) {
  const int holds = PyObject_IsTrue(object);
  if (holds < 0) throw ErrorSet();
  return holds == 1;
}

namespace {

std::span<const std::byte> bytes_in(PyObject* bytes) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes, &data, &size) != 0) throw ErrorSet();
  return {reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(size)};
}

std::string string_in(PyObject* bytes) {
  const std::span<const std::byte> span = bytes_in(bytes);
  return {reinterpret_cast<const char*>(span.data()), span.size()};
}

/// nullopt: it has lone surrogates.
std::optional<std::string> utf8_of(PyObject* text) {
  if (PyObject* const bytes = PyUnicode_AsUTF8String(text)) return string_in(Object::made(bytes).get());
  PyErr_Clear();
  return std::nullopt;
}

}  // namespace

std::string text_of(PyObject* text) {
  if (std::optional<std::string> utf8 = utf8_of(text)) return *std::move(utf8);
  throw Error(ErrorKind::invalid_argument, shown(text) + " is not valid Unicode text");
}

std::string escaped(PyObject* text) {
  if (std::optional<std::string> utf8 = utf8_of(text)) return *std::move(utf8);
  return string_in(Object::made(PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace")).get());
}

std::string str_of(PyObject* object) { return escaped(Object::made(PyObject_Str(object)).get()); }

std::string type_name(PyObject* object) {
  const Object type = Object::shared(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  const std::string module = str_of(type.attribute("__module__").get());
  const std::string name = str_of(type.attribute("__qualname__").get());
  return module == "builtins" ? name : module + "." + name;
}

std::string shown(PyObject* object) {
  constexpr std::size_t longest = 80;
  if (PyObject* const repr = PyObject_Repr(object)) {
    std::string text = escaped(Object::made(repr).get());
    if (text.size() <= longest) return text;
  }
  PyErr_Clear();  // an integer of thousands of digits has none
  return "an object of " + type_name(object);
}

void refuse(PyObject* object, const std::string& where, const std::string& expected) {
  throw Error(ErrorKind::invalid_argument, where + ": expected " + expected + ", not " + shown(object));
}

Settings::Settings(const Object& dict) : dict_(dict) {
  if (!PyDict_Check(dict.get())) refuse(dict.get(), "xtune._native", "a dict");
}

PyObject* Settings::find(const char* name) {
  PyObject* const given = PyDict_GetItemString(dict_.get(), name);
  if (given) ++taken_;
  return given;
}

void Settings::require_all() const {
  if (taken_ != PyDict_Size(dict_.get())) refuse(dict_.get(), "xtune._native", "other names");
}

PyTypeObject* numpy_array_type() {
  static PyObject* type = nullptr;  // not initialised by a call: another thread would wait for that with the GIL
  if (!type) type = imported("numpy").attribute("ndarray").release();
  return reinterpret_cast<PyTypeObject*>(type);
}

Bytes::Bytes(PyObject* object) : owner_(Object::shared(object)) {
  if (PyType_IsSubtype(Py_TYPE(object), numpy_array_type())) {
    const auto& array = *reinterpret_cast<const NumpyArray*>(object);
    if (array.flags & NumpyArray::c_contiguous) {
      std::size_t size = static_cast<std::size_t>(PyLong_AsSize_t(owner_.attribute("nbytes").get()));
      span_ = {reinterpret_cast<const std::byte*>(array.data), size};
      return;
    }
  }
  if (!PyBytes_Check(object))
    owner_ = Object::made(PyBytes_FromObject(Object::made(PyMemoryView_FromObject(object)).get()));
  span_ = bytes_in(owner_.get());
}

namespace internal {

Object text(std::string_view utf8) {
  return Object::made(PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "backslashreplace"));
}

bool read_integer(PyObject* object, long long& value) {
  PyObject* const number = PyNumber_Index(object);
  value = number ? PyLong_AsLongLong(Object::made(number).get()) : -1;
  if (value != -1 || !PyErr_Occurred()) return true;
  PyErr_Clear();
  return false;
}

bool read_integer(PyObject* object, unsigned long long& value) {
  PyObject* const number = PyNumber_Index(object);
  value = number ? PyLong_AsUnsignedLongLong(Object::made(number).get()) : 0;
  if (!PyErr_Occurred()) return true;
  PyErr_Clear();
  return false;
}

bool read_double(PyObject* object, double& value) {
  value = PyFloat_AsDouble(object);
  if (value != -1 || !PyErr_Occurred()) return true;
  PyErr_Clear();
  return false;
}

bool read_text(PyObject* object, std::string& value) {
  if (!PyUnicode_Check(object) && !PyBytes_Check(object)) return false;
  value = PyUnicode_Check(object) ? text_of(object) : string_in(object);
  return true;
}

bool read_path(PyObject* object, std::filesystem::path& value) {
  PyObject* bytes = nullptr;
  if (!PyUnicode_FSConverter(object, &bytes)) {
    PyErr_Clear();
    return false;
  }
  value = string_in(Object::made(bytes).get());
  return true;
}

bool is_list(PyObject* object) {
  return PySequence_Check(object) && !PyUnicode_Check(object) && !PyBytes_Check(object);
}

std::size_t size_of_list(PyObject* list) {
  const Py_ssize_t size = PySequence_Size(list);
  if (size < 0) throw ErrorSet();
  return static_cast<std::size_t>(size);
}

Object item_of(PyObject* list, std::size_t index) {
  return Object::made(PySequence_GetItem(list, static_cast<Py_ssize_t>(index)));
}

void put(PyObject* dict, const Object& key, const Object& value) {
  if (PyDict_SetItem(dict, key.get(), value.get()) != 0) throw ErrorSet();
}

}  // namespace internal

}  // namespace xtune::python

namespace xtune {

using namespace python;

namespace {

/// A NumPy scalar has __index__ or __float__, and so do one-element arrays, which have __len__ too.
bool is_scalar(PyObject* object) { return !PyObject_HasAttrString(object, "__len__"); }

bool is_numpy_bool(PyObject* object) {
  const std::string name = type_name(object);
  return name == "numpy.bool_" || name == "numpy.bool";
}

std::int64_t integer_of(PyObject* object) {
  const Object number = Object::made(PyNumber_Index(object));
  const long long integer = PyLong_AsLongLong(number.get());
  if (integer != -1 || !PyErr_Occurred()) return integer;
  PyErr_Clear();
  PyLong_AsUnsignedLongLong(number.get());
  const bool fits_unsigned = PyErr_Occurred() == nullptr;
  PyErr_Clear();
  throw Error(ErrorKind::invalid_argument,
              shown(number.get()) + (fits_unsigned ? " is too large: integers up to 9223372036854775807 can be tuned"
                                                   : " does not fit into 64 bits"));
}

}  // namespace

Object object_of(const Value& value) {
  return std::visit([](const auto& held) { return object_of(held); },
                    static_cast<const std::variant<bool, std::int64_t, double, std::string>&>(value));
}

bool read(PyObject* object, Value& value) {
  if (PyUnicode_Check(object)) {
    value = text_of(object);
  } else if (PyLong_CheckExact(object)) {
    value = integer_of(object);
  } else if (PyBool_Check(object) || is_numpy_bool(object)) {
    value = is_true(object);
  } else if (PyIndex_Check(object) && is_scalar(object)) {
    value = integer_of(object);
  } else if (PyFloat_Check(object) || (PyObject_HasAttrString(object, "__float__") && is_scalar(object))) {
    double number = 0;
    if (!internal::read_double(object, number)) return false;
    value = number;
  } else {
    return false;
  }
  return true;
}

bool read(PyObject* object, Formula& value) {
  Value number;
  if (!read(object, number)) return false;
  value = Formula(expression_text(number));
  return true;
}

bool read(PyObject* object, DType& value) {
  const auto found = PyUnicode_Check(object) ? dtype_from_string(text_of(object)) : std::nullopt;
  if (found) value = *found;
  return found.has_value();
}

}  // namespace xtune
