// SPDX-License-Identifier: Apache-2.0
// xtune::Error becomes a class of xtune.errors; Python's own exceptions come out as they went in.
#include "errors.hpp"

#include <optional>

#include "xtune/error.hpp"

namespace xtune::python {
namespace {

std::optional<Raised>& kept_cause() {
  thread_local std::optional<Raised> cause;
  return cause;
}

std::optional<Raised>& kept_interrupt() {
  thread_local std::optional<Raised> interrupt;
  return interrupt;
}

PyObject* type_of(const Object& object) { return reinterpret_cast<PyObject*>(Py_TYPE(object.get())); }

/// "ValueError: the message", without a trace.
std::string described(const Object& error) {
  std::string text = str_of(Object::shared(type_of(error)).attribute("__name__").get());
  try {
    const std::string message = str_of(error.get());
    if (!message.empty()) text += ": " + message;
  } catch (const ErrorSet&) {  // its __str__ fails
    PyErr_Clear();
  }
  return text;
}

Object error_of(ErrorKind kind, const std::string& message) {
  return imported("xtune.errors").attribute("of_kind")(kind, message);
}

void set(const Object& error) {
  PyErr_Restore(Object::shared(type_of(error)).release(), Object(error).release(),
                PyException_GetTraceback(error.get()));
}

void raise(const Error& error) {
  const Object made = error_of(error.kind(), error.what());
  if (kept_cause()) PyException_SetCause(made.get(), Object(kept_cause()->error()).release());
  forget_cause();
  set(made);
}

/// The exception that is set, which is then no longer set.
Object taken() {
  PyObject *type = nullptr, *error = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  if (trace) PyException_SetTraceback(error, trace);
  Py_XDECREF(trace);
  Py_XDECREF(type);
  return Object::made(error);
}

}  // namespace

Raised::Raised() : error_(taken()) {
  ends_run_ = PyErr_GivenExceptionMatches(error().get(), PyExc_Exception) == 0;
  if (ends_run_ &&
      PyErr_GivenExceptionMatches(error().get(), imported("xtune.errors").attribute("CallbackMistake").get())) {
    error_ = Shared(error_of(ErrorKind::invalid_argument, str_of(error().get())));
  }
  text_ = described(error());
}

void Raised::restore() const { set(error()); }

void keep_as_cause(const Raised& raised) { kept_cause() = raised; }

void end_run_for(const Raised& raised) {
  if (!raised.ends_run()) return;
  kept_interrupt() = raised;
  throw Error(ErrorKind::interrupted, raised.what());
}

void forget_cause() noexcept { kept_cause().reset(); }

void check_signals_in_call() {
  with_gil([] {
    if (PyErr_CheckSignals() == 0) return;
    kept_interrupt().emplace();
    throw Raised(*kept_interrupt());
  });
}

bool raise_interrupt() noexcept {
  if (!kept_interrupt()) return false;
  kept_interrupt()->restore();
  kept_interrupt().reset();
  return true;
}

void set_python_error() noexcept {
  if (raise_interrupt()) return;
  try {
    try {
      throw;
    } catch (const Raised& raised) {
      raised.restore();
    } catch (const Error& error) {
      raise(error);
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
    } catch (const std::exception& error) {
      PyErr_SetObject(PyExc_RuntimeError, object_of(std::string(error.what())).get());
    }
  } catch (const ErrorSet&) {  // also of raise()
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an unknown C++ exception");
  }
}

}  // namespace xtune::python
