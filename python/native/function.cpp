// SPDX-License-Identifier: Apache-2.0
#include "function.hpp"

#include <structmember.h>

#include <cstring>

namespace xtune::python {
namespace {

constexpr unsigned has_vectorcall = 1U << 11;  // Py_TPFLAGS_HAVE_VECTORCALL, in all versions from 3.8 on

PyObject* refuse_new(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "objects of this class are made by functions of xtune");
  return nullptr;
}

}  // namespace

void define(PyObject* module, PyMethodDef* functions) {
  if (PyModule_AddFunctions(module, functions) != 0) throw ErrorSet();
}

namespace internal {

PyTypeObject* add_class(PyObject* module, const char* name, std::size_t size, destructor destroy, PyMethodDef* methods,
                        Vectorcall call) {
  PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, sizeof(PyObject), READONLY, nullptr}, {}};
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                         {Py_tp_new, reinterpret_cast<void*>(refuse_new)},
                         {Py_tp_methods, methods},
                         // 0 is the end; PyObject_Call calls the vectorcall.
                         {call ? Py_tp_call : 0, reinterpret_cast<void*>(PyObject_Call)},
                         {Py_tp_members, members},
                         {0, nullptr}};
  const auto flags = static_cast<unsigned>(Py_TPFLAGS_DEFAULT) | (call ? has_vectorcall : 0);
  PyType_Spec spec = {name, static_cast<int>(size), 0, flags, slots};
  Object made = Object::made(PyType_FromSpec(&spec));
  auto* const type = reinterpret_cast<PyTypeObject*>(made.get());
  if (PyObject_SetAttrString(module, std::strrchr(name, '.') + 1, made.get()) != 0) throw ErrorSet();
  made.release();  // for the module's life
  return type;
}

void free_instance(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

}  // namespace internal
}  // namespace xtune::python
