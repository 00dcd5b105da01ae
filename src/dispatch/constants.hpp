// What the variables of a kernel's source hold, in every module that an application's calls launch.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/runtime.hpp"
#include "core/spec/spec.hpp"
#include "dispatch/builder.hpp"

namespace xtune::dispatch {

/// The constants of one kernel. Each kernel has its own modules for them, so that two kernels of one spec can hold
/// different contents. Thread-safe; spec outlives it.
class Constants {
 public:
  explicit Constants(const spec::Spec& spec) : spec_(spec) {}

  /// From now on: copied, and written to all modules that are loaded, once what is queued in their contexts has ended.
  /// Throws Error(invalid_argument) for a name that is not a constant, and for contents of another type (unset: not
  /// known) or too large; Error(unavailable) where the driver cannot copy.
  void set(const std::string& name, std::optional<DType> dtype, std::span<const std::byte> contents,
           backend::Runtime& runtime);

  /// Loads the kernel of each step of the build, with their variables filled: by what was set, else by the spec's value
  /// or file. Throws as Launcher::load does, CandidateFailure(launch_failed) for a variable that is smaller than the
  /// spec's constant, and Error(invalid_argument) for a constant without contents or with more than its variable holds.
  std::vector<backend::LoadedKernel> load(const Build& build, backend::Runtime& runtime);

 private:
  struct Module {
    std::uintptr_t context = 0;
    std::vector<backend::LoadedVariable> variables;  ///< in the order of the spec's constants
  };
  std::vector<std::byte> contents_of(const validate::ArgumentLayout& layout) const;
  void write(backend::Runtime& runtime, const validate::ArgumentLayout& layout,
             const backend::LoadedVariable& variable) const;

  const spec::Spec& spec_;
  std::mutex mutex_;
  std::map<std::string, std::vector<std::byte>> given_;
  std::map<const void*, Module> modules_;  ///< by the address of their first variable
};

/// Throws Error(unsupported): a result's binary does not tell where its variables are.
void require_no_constants(const spec::Spec& spec);

}  // namespace xtune::dispatch
