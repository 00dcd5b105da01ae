// SPDX-License-Identifier: Apache-2.0
// Functions and classes of the module. Their arguments go by position; names, defaults and texts are in Python.
#pragma once

#include <memory>
#include <tuple>
#include <type_traits>

#include "errors.hpp"
#include "object.hpp"

namespace xtune::python {

/// Python's vectorcall: part of the limited API from 3.12 on, and the same in 3.9 to 3.11.
using Vectorcall = PyObject* (*)(PyObject* callable, PyObject* const* arguments, std::size_t count, PyObject* names);

/// An object that owns a T.
template <class T>
struct Instance {
  PyObject object;
  Vectorcall call;  ///< of a class that can be called
  T* value;         ///< null: it was given up before the interpreter ends
};

/// The name of a class, "xtune._native.Tunable"; null: T has none.
template <class T>
inline constexpr const char* class_name = nullptr;
template <class T>
concept Class = class_name<T>
!= nullptr;
template <Class T>
inline PyTypeObject* class_of = nullptr;

/// Deletes what an instance owned.
template <Class T>
void give_up(T* value) {
  delete value;
}

template <Class T>
T& instance_of(PyObject* object) {
  if (!PyType_IsSubtype(Py_TYPE(object), class_of<T>)) refuse(object, "xtune._native", class_name<T>);
  T* const value = reinterpret_cast<Instance<T>*>(object)->value;
  if (!value) throw Error(ErrorKind::unavailable, "a kernel cannot be used any more: Python is ending");
  return *value;
}

template <Class T>
Object new_instance(std::unique_ptr<T> value) {
  Object object = Object::made(PyType_GenericAlloc(class_of<T>, 0));
  reinterpret_cast<Instance<T>*>(object.get())->value = value.release();
  return object;
}

namespace internal {
PyTypeObject* add_class(PyObject* module, const char* name, std::size_t size, destructor destroy, PyMethodDef* methods,
                        Vectorcall call);
void free_instance(PyObject* object);

template <Class T>
void destroy(PyObject* object) {
  if (T* const value = std::exchange(reinterpret_cast<Instance<T>*>(object)->value, nullptr)) give_up(value);
  free_instance(object);
}

/// What a parameter of type T receives.
template <class T>
struct Argument {
  explicit Argument(PyObject* object) : value(value_of<T>(object)) {}
  T value;
};
template <Class T>
struct Argument<T> {
  explicit Argument(PyObject* object) : value(instance_of<T>(object)) {}
  T& value;
};

template <class Function>
struct Parameters : Parameters<decltype(&Function::operator())> {};
template <class Result, class Owner, class... Arguments>
struct Parameters<Result (Owner::*)(Arguments...) const> {
  using Tuple = std::tuple<Argument<std::remove_cvref_t<Arguments>>...>;
};

template <auto member, class Type = decltype(member)>
struct Member;
template <auto member, class Result, class Owner, class... Arguments>
struct Member<member, Result (Owner::*)(Arguments...)> {
  Result operator()(Owner& owner, Arguments... arguments) const {
    return (owner.*member)(std::forward<Arguments>(arguments)...);
  }
};
template <auto member, class Result, class Owner, class... Arguments>
struct Member<member, Result (Owner::*)(Arguments...) const> {
  Result operator()(const Owner& owner, Arguments... arguments) const {
    return (owner.*member)(std::forward<Arguments>(arguments)...);
  }
};
template <auto function, class Result, class... Arguments>
struct Member<function, Result (*)(Arguments...)> {
  Result operator()(Arguments... arguments) const { return function(std::forward<Arguments>(arguments)...); }
};

/// What `body` returns as a new reference; null, with Python's error, for what it throws.
template <class Body>
PyObject* answer(const Body& body) noexcept {
  try {
    using Result = decltype(body());
    if constexpr (std::is_void_v<Result> ||
                  (std::is_lvalue_reference_v<Result> && Class<std::remove_cvref_t<Result>>)) {
      body();
      return Object::none().release();
    } else {
      return object_of(body()).release();
    }
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

/// A PyCFunction; the first parameter of a method is the object.
template <class Function, bool is_method>
PyObject* call(PyObject* self, PyObject* given) noexcept {
  using Tuple = typename Parameters<Function>::Tuple;
  constexpr std::size_t count = std::tuple_size_v<Tuple>;
  return answer([&]() -> decltype(auto) {
    if (PyTuple_Size(given) != static_cast<Py_ssize_t>(count - is_method))
      throw Error(ErrorKind::invalid_argument, "xtune._native: another number of arguments");
    return [&]<std::size_t... I>(std::index_sequence<I...>)->decltype(auto) {
      Tuple arguments{(is_method && I == 0 ? self : PyTuple_GetItem(given, I - is_method))...};
      return Function{}(std::get<I>(std::move(arguments)).value...);
    }
    (std::make_index_sequence<count>());
  });
}
}  // namespace internal

/// A method of a class, by a function of the object and the arguments. What returns nothing or the object returns None.
template <class Function>
PyMethodDef method(const char* name, Function) {
  return {name, internal::call<Function, true>, METH_VARARGS, nullptr};
}
template <auto member>
PyMethodDef method(const char* name) {
  return {name, internal::call<internal::Member<member>, true>, METH_VARARGS, nullptr};
}
/// A function of the module.
template <class Function>
PyMethodDef function(const char* name, Function) {
  return {name, internal::call<Function, false>, METH_VARARGS, nullptr};
}
template <auto target>
PyMethodDef function(const char* name) {
  return {name, internal::call<internal::Member<target>, false>, METH_VARARGS, nullptr};
}

/// Adds functions to the module; the last one is empty, as of methods.
void define(PyObject* module, PyMethodDef* functions);
/// Adds a class, whose objects only new_instance makes.
template <Class T>
void define_class(PyObject* module, PyMethodDef* methods, Vectorcall call = nullptr) {
  class_of<T> = internal::add_class(module, class_name<T>, sizeof(Instance<T>), internal::destroy<T>, methods, call);
}

}  // namespace xtune::python
