// The variables of the environment that builds, compilers and what they made read: the one list.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace xtune::build {

enum class VariableReader {
  make,      ///< makefiles and scripts: they matter to builds of programs
  folders,   ///< compilers, which look for headers and libraries there: of kernels the contents count
  compiler,  ///< compilers, of whatever language
  threads,   ///< the runtimes of OpenMP, BLAS, GPUs and malloc
  loader,    ///< the dynamic linker and the C library
};

/// Names, sorted. One that ends in "_" stands for all that begin so.
std::vector<std::string> variables_read_by(const std::vector<VariableReader>& readers);

/// Those of them that are set, and those in `named`, with their values. An empty value counts as set. MAKEFLAGS comes
/// without what only says how many jobs run (-j, --jobserver-auth), and not where nothing else is in it.
std::map<std::string, std::string> set_variables(const std::vector<VariableReader>& readers,
                                                 const std::vector<std::string>& named = {});

}  // namespace xtune::build
