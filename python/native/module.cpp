// SPDX-License-Identifier: Apache-2.0
// The module xtune._native: the C++ library, for the Python layer in xtune/.
#include "module.hpp"

PyMODINIT_FUNC PyInit__native() {
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                   "_native",
                                   "The C++ library; use the package xtune, which documents everything.",
                                   -1,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr};
  using namespace xtune::python;
  return internal::answer([] {
    Object module = Object::made(PyModule_Create(&definition));
    for (const auto define_part : {define_results, define_kernel, define_tunable, define_tuning, define_xla})
      define_part(module.get());
    return module;
  });
}
