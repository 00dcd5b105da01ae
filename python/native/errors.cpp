// SPDX-License-Identifier: Apache-2.0
// xtune::Error becomes a class of xtune.errors; Python's own exceptions come out as they went in.
#include "errors.hpp"

#include <optional>

#include "convert.hpp"
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

/// "ValueError: the message", without a trace.
std::string described(const py::error_already_set& error) {
  std::string text = py::str(error.type().attr("__name__"));
  try {
    const std::string message = escaped(py::str(error.value()));
    if (!message.empty()) text += ": " + message;
  } catch (py::error_already_set&) {  // its __str__ fails
  }
  return text;
}

py::object error_of(ErrorKind kind, const std::string& message) {
  return py::module_::import("xtune.errors").attr("of_kind")(to_string(kind), escaped(message));
}

void set(const py::object& error) { PyErr_SetObject(py::type::handle_of(error).ptr(), error.ptr()); }

void raise(const Error& error) {
  const py::object made = error_of(error.kind(), error.what());
  if (kept_cause()) {
    kept_cause()->restore();
    py::error_already_set cause;
    PyException_SetCause(made.ptr(), cause.value().inc_ref().ptr());
    forget_cause();
  }
  set(made);
}

/// The exception that is set, which may be destroyed without the GIL.
std::shared_ptr<py::error_already_set> taken() {
  return {new py::error_already_set, [](py::error_already_set* held) {
            if (!Py_IsInitialized()) return;
            const py::gil_scoped_acquire gil;
            delete held;
          }};
}

}  // namespace

Raised::Raised() : error_(taken()) {
  ends_run_ = PyErr_GivenExceptionMatches(error_->type().ptr(), PyExc_Exception) == 0;
  if (ends_run_ && error_->matches(py::module_::import("xtune.errors").attr("CallbackMistake"))) {
    set(error_of(ErrorKind::invalid_argument, escaped(py::str(error_->value()))));
    error_ = taken();
  }
  text_ = described(*error_);
}

void Raised::restore() const {
  py::error_already_set copy = *error_;
  copy.restore();
}

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
    } catch (py::error_already_set& error) {
      error.restore();
    } catch (const py::builtin_exception& error) {
      error.set_error();
    } catch (const Error& error) {
      raise(error);
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
    } catch (const std::exception& error) {
      PyErr_SetObject(PyExc_RuntimeError, escaped(std::string(error.what())).ptr());
    } catch (...) {
      PyErr_SetString(PyExc_RuntimeError, "an unknown C++ exception");
    }
  } catch (py::error_already_set& error) {  // of raise()
    error.restore();
  }
}

void register_errors() {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Raised&) {
      set_python_error();
    } catch (const Error&) {
      set_python_error();
    }
  });
}

}  // namespace xtune::python
