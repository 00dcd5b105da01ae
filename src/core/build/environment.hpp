// The one list of environment variables that builds, compilers and compiled programs read.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace xtune::build {

enum class VariableReader {
  make,      ///< makefiles and scripts: they affect builds of programs
  folders,   ///< compilers, which search there for headers and libraries: for kernels the contents count
  compiler,  ///< compilers of any language
  threads,   ///< the runtimes of OpenMP, BLAS, GPUs and malloc
  loader,    ///< the dynamic linker and the C library
};

/// Names, sorted. A name that ends in "_" is a prefix.
std::vector<std::string> variables_read_by(const std::vector<VariableReader>& readers);

/// The variables among them that are set, and those in `named`, with their values. An empty value counts as set.
/// MAKEFLAGS is listed without the options that set the number of jobs (-j, --jobserver-auth), and not at all if it has
/// no others.
std::map<std::string, std::string> set_variables(const std::vector<VariableReader>& readers,
                                                 const std::vector<std::string>& named = {});

}  // namespace xtune::build
