// The variables of the environment that builds, compilers and what they made read: the one list.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace xtune {

enum class VariableReader {
  make,      ///< makefiles and scripts: they matter to builds of programs
  folders,   ///< compilers, which look for headers and libraries there: of kernels the contents count
  compiler,  ///< compilers, of whatever language
  threads,   ///< the runtimes of OpenMP and BLAS
  loader,    ///< the dynamic linker and the C library
};

/// Names, sorted.
std::vector<std::string> variables_read_by(const std::vector<VariableReader>& readers);

/// Those of them that are set, with their values. An empty value counts as set.
std::vector<std::pair<std::string, std::string>> set_variables(const std::vector<VariableReader>& readers);

}  // namespace xtune
