// SPDX-License-Identifier: Apache-2.0
// What must end before the interpreter does: a thread that asks for the GIL afterwards is killed inside C++ code.
#pragma once

#include <functional>
#include <stop_token>

namespace xtune::python {

/// A run of this thread, which the end of the interpreter stops and waits for. Made and destroyed with the GIL: a
/// thread that asks for it later, through frames of C++, would end the program.
class ActiveRun {
 public:
  /// Throws Error(unavailable) once the interpreter ends.
  explicit ActiveRun(std::stop_source source);
  ~ActiveRun();
  ActiveRun(const ActiveRun&) = delete;
  ActiveRun& operator=(const ActiveRun&) = delete;

 private:
  const std::stop_source source_;
};

/// Registers, with Python's atexit, that runs are stopped and awaited for up to some seconds; `also` is called before,
/// with the GIL.
void register_ending(std::function<void()> also);

}  // namespace xtune::python
