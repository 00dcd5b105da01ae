// GCC, "Environment Variables"; GNU make, "Implicit Variables"; CMake, cmake-env-variables(7); ld(1); ld.so(8); Clang's
// ApplyQAOverride; OpenMP's specification and the vendors' guides.
#include "core/build/environment.hpp"

#include <algorithm>
#include <cstdlib>

namespace xtune {
namespace {

struct Variable {
  const char* name;
  VariableReader reader;
};

constexpr Variable variables[] = {{"CC", VariableReader::make},
                                  {"CCC_OVERRIDE_OPTIONS", VariableReader::compiler},
                                  {"CFLAGS", VariableReader::make},
                                  {"COMPILER_PATH", VariableReader::compiler},
                                  {"CPATH", VariableReader::folders},
                                  {"CPLUS_INCLUDE_PATH", VariableReader::folders},
                                  {"CPPFLAGS", VariableReader::make},
                                  {"CUDA_HOME", VariableReader::make},
                                  {"CXX", VariableReader::make},
                                  {"CXXFLAGS", VariableReader::make},
                                  {"C_INCLUDE_PATH", VariableReader::folders},
                                  {"FC", VariableReader::make},
                                  {"FFLAGS", VariableReader::make},
                                  {"GCC_EXEC_PREFIX", VariableReader::compiler},
                                  {"GLIBC_TUNABLES", VariableReader::loader},
                                  {"GOMP_CPU_AFFINITY", VariableReader::threads},
                                  {"KMP_AFFINITY", VariableReader::threads},
                                  {"LDFLAGS", VariableReader::make},
                                  {"LD_LIBRARY_PATH", VariableReader::loader},
                                  {"LD_PRELOAD", VariableReader::loader},
                                  {"LD_RUN_PATH", VariableReader::compiler},
                                  {"LIBRARY_PATH", VariableReader::folders},
                                  {"MKL_NUM_THREADS", VariableReader::threads},
                                  {"MODULAR_HOME", VariableReader::make},
                                  {"OMP_NUM_THREADS", VariableReader::threads},
                                  {"OMP_PLACES", VariableReader::threads},
                                  {"OMP_PROC_BIND", VariableReader::threads},
                                  {"OMP_SCHEDULE", VariableReader::threads},
                                  {"OMP_STACKSIZE", VariableReader::threads},
                                  {"OPENBLAS_NUM_THREADS", VariableReader::threads},
                                  {"ROCM_PATH", VariableReader::make}};

}  // namespace

std::vector<std::string> variables_read_by(const std::vector<VariableReader>& readers) {
  std::vector<std::string> names;
  for (const Variable& variable : variables)
    if (std::find(readers.begin(), readers.end(), variable.reader) != readers.end()) names.emplace_back(variable.name);
  return names;
}

std::vector<std::pair<std::string, std::string>> set_variables(const std::vector<VariableReader>& readers) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const std::string& name : variables_read_by(readers))
    if (const char* value = std::getenv(name.c_str())) found.emplace_back(name, value);
  return found;
}

}  // namespace xtune
