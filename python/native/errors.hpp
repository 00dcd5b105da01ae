// SPDX-License-Identifier: Apache-2.0
// Exceptions between Python and C++.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <type_traits>

#include "object.hpp"

namespace xtune::python {

/// A Python exception on its way through C++ code that does not hold the GIL. The mistake of a callback
/// (xtune.errors.CallbackMistake) is an InvalidArgumentError from here on, and ends the run all the same.
class Raised : public std::exception {
 public:
  /// Takes the exception that is set. Needs the GIL.
  Raised();
  const char* what() const noexcept override { return text_.c_str(); }  ///< "ValueError: the message"
  const Object& error() const { return error_.get(); }                  ///< needs the GIL
  void restore() const;                                                 ///< sets it again; needs the GIL
  bool ends_run() const { return ends_run_; }  ///< KeyboardInterrupt, SystemExit and the like, and a callback's mistake

 private:
  Shared error_;
  std::string text_;
  bool ends_run_ = false;
};

/// Calls back into Python from C++ code without the GIL; what is raised there becomes Raised.
template <class Body>
auto with_gil(const Body& body) {
  const WithGil gil;
  try {
    return body();
  } catch (const ErrorSet&) {
    throw Raised();
  }
}

/// A function of Python as one of C++, which any thread calls without the GIL; empty for None.
template <class Signature>
struct Callback;
template <class Answer, class... Arguments>
struct Callback<Answer(Arguments...)> {
  static std::function<Answer(Arguments...)> of(const Object& given) {
    if (!given || given.is_none()) return {};
    return [function = Shared(given)](Arguments... arguments) {
      return with_gil([&] {
        const Object answer = function.get()(arguments...);
        if constexpr (!std::is_void_v<Answer>) return value_of<Answer>(answer.get());
      });
    };
  }
};

/// Keeps the exception as the cause of the next xtune::Error that this thread reports to Python.
void keep_as_cause(const Raised& raised);
/// Forgets what keep_as_cause kept.
void forget_cause() noexcept;
/// For callbacks whose exceptions the library turns into messages: one that ends the run is kept for
/// raise_interrupt().
void end_run_for(const Raised& raised);

/// Lets Python handle its signals. An exception of a handler (KeyboardInterrupt) is thrown, and kept for
/// raise_interrupt(): tuning within a call of a kernel turns exceptions into messages. Takes the GIL.
void check_signals_in_call();
/// Sets what check_signals_in_call or end_run_for kept on this thread; false: nothing. Needs the GIL.
bool raise_interrupt() noexcept;

/// Sets the Python exception for the C++ exception that is being handled, or what raise_interrupt() sets, which is its
/// cause. Needs the GIL.
void set_python_error() noexcept;

}  // namespace xtune::python
