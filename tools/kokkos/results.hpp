// Measurements of kernels of Kokkos applications as records of the store.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/build/keys.hpp"
#include "core/device/device_info.hpp"
#include "core/store/record_log.hpp"
#include "tools/kokkos/online_tuner.hpp"

namespace xtune::kokkos_tools {

/// The value of a parameter in the record of the default, where Kokkos does not show its own choice.
inline constexpr const char* own_choice = "auto";

/// What is tuned: all that its stored results depend on.
struct Question {
  std::string kernel;          ///< name of the kernel, or of the variables of a context of the application
  Bindings problem;            ///< values of the context's input variables
  std::string kokkos_version;  ///< empty: unknown
  std::string space;           ///< execution space; empty outside of kernels
  device::DeviceInfo device;
};

/// The parts of the key that are the same for all configurations. environment: the variables that decide about threads,
/// "OMP_NUM_THREADS=8".
build::KeyParts question_parts(const Question& question, const space::Space& space,
                               const std::vector<std::string>& environment);

/// The stored results of a question. store must be readable; throws Error(io) if it is not.
Known read_known(const std::filesystem::path& store, const Question& question, const build::KeyParts& parts,
                 const space::Space& space);

/// Writes the findings of one question to this process's own file in the store. Not thread-safe.
class ResultWriter {
 public:
  /// parts: question_parts().
  ResultWriter(const std::filesystem::path& store, Question question, build::KeyParts parts, std::string attempt);
  /// Findings that belong to the same finals must be given together. Throws Error(io), for example on a full disk.
  void write(const std::vector<Finding>& findings, const space::Space& space);

 private:
  store::Record record_of(const Finding& finding, const space::Space& space) const;

  Question question_;
  build::KeyParts parts_;
  std::string attempt_;
  store::RecordWriter writer_;
};

}  // namespace xtune::kokkos_tools
