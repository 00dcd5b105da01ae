// The input and the result of compiling one configuration, and the interface of a toolchain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/build/candidate_failure.hpp"
#include "xtune/outcome.hpp"

namespace xtune::build {

struct KeyedFiles;  // keyed_files.hpp
struct ToolFiles;   // keyed_files.hpp

/// Names of files that a compile read besides those that its source shows, and of places where it would have read one
/// instead; see manifest.hpp. Sorted, each once.
struct Manifest {
  std::vector<std::string> files, absent;
  bool empty() const noexcept { return files.empty() && absent.empty(); }
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

/// Everything a toolchain needs; plain data that can be sent to a worker.
struct CompileRequest {
  std::string source_name;                                   ///< the path in diagnostics
  std::string source;                                        ///< the text
  std::size_t first_line = 1;                                ///< the line of source_name in which the text begins
  std::vector<std::string> include_dirs;                     ///< absolute, in search order
  std::string entry;                                         ///< "gemm" or a template-id "gemm<64, 32>"
  std::vector<std::string> options;                          ///< options for the compiler, placeholders replaced
  std::vector<std::pair<std::string, std::string>> defines;  ///< NAME, value
  std::string arch;                                          ///< "sm_90a", "gfx90a", "x86_64_v3"
  bool sanitize = false;                                     ///< host only: AddressSanitizer and UBSan
  /// For a program: the directory in which the build command is started. A program has the build command as call texts
  /// in `options` (empty: nothing is built), variables of the environment in `defines`, and a list of its sources as
  /// `source`.
  std::string folder{};
  /// The fingerprint of the toolchain in the artifact's key. Empty: any toolchain.
  std::string toolchain{};
  /// Variables of the source whose memory is filled before launches, as C++ names: "filter", "conv::weights".
  std::vector<std::string> variables{};
  /// Further kernels of the source, as `entry`.
  std::vector<std::string> more_entries{};
  /// The files that base_key describes; the compiler must read the same contents. Null: none.
  std::shared_ptr<const KeyedFiles> files{};
  /// The key without what only a compiler can tell (manifest.hpp). Empty: the artifact's key is fixed.
  std::string base_key{};
  std::vector<Manifest> known_manifests{};  ///< of earlier compiles of this source
  /// Texts of the user's headers in the place of those in their files (device_unit.hpp): by canonical path.
  std::map<std::string, std::string> headers{};
  std::map<std::string, std::size_t> left_out{};  ///< names that these texts and the source lack, with their lines
  std::string run{};  ///< makes the keys of compiles whose files are unknown unique to a run
};

/// For a kernel of xtune itself.
CompileRequest own_request(const std::string& source_name, std::string_view source, const std::string& entry,
                           const std::string& arch);

/// All kernels that a request asks for, in the order in which an artifact lists them.
std::vector<std::string> entries_of(const CompileRequest& request);

/// Per thread or per block, as the compiler reports; unset if it does not report it.
struct ResourceUsage {
  std::optional<int> registers;               ///< per thread (VGPRs on AMD)
  std::optional<int> scalar_registers;        ///< AMD SGPRs
  std::optional<int> accumulator_registers;   ///< AMD AGPRs
  std::optional<std::int64_t> spilled_bytes;  ///< per thread, stores to local memory
  std::optional<std::int64_t> static_shared_bytes;
  std::optional<int> max_threads_per_block;  ///< limit by __launch_bounds__ or the register count
  std::optional<int> warp_size;
};

/// One of the kernels of an artifact.
struct KernelEntry {
  std::string symbol;  ///< lowered (mangled) name
  ResourceUsage usage;
};

/// The compiled kernel, or several of one source; plain data that can be stored and sent to a worker. See
/// docs/architecture.md.
struct Artifact {
  std::string key;      ///< hex SHA-256; see core/build/keys.hpp
  std::string backend;  ///< the backend that can load it
  std::string arch;
  std::string format;                    ///< file extension: "cubin", "hsaco", "so"
  std::string entry_symbol;              ///< lowered (mangled) name; of several kernels, the first one's
  std::string image;                     ///< the binary
  std::string log;                       ///< compiler output, warnings included
  double compile_s = 0;                  ///< wall clock of the compiler
  ResourceUsage usage;                   ///< of several kernels, the largest of each value; the smallest of a limit
  std::string toolchain{};               ///< fingerprint of what compiled it; empty: made by a version that did not say
  std::vector<std::string> variables{};  ///< the symbols of the request's variables, in its order
  std::vector<KernelEntry> entries{};    ///< of several kernels, all of them; empty: there is one
  Manifest manifest{};                   ///< with which the key was made
  std::vector<std::string> unread{};     ///< missing headers that were read as empty, as included: "<mpi.h>"
  /// For core/build/manifest.hpp; unset if the compiler does not list them. Neither stored nor sent.
  std::optional<FilesRead> files_read{};
};

/// The kernel of this number among the artifact's entries. Throws std::out_of_range for a number beyond them.
KernelEntry entry_of(const Artifact& artifact, std::size_t number);
/// All of them; at least one.
std::vector<KernelEntry> all_entries(const Artifact& artifact);
/// Sets entry_symbol, entries and usage. At least one entry.
void set_entries(Artifact& artifact, std::vector<KernelEntry> entries);

// JSON forms: for cache metadata, records and worker messages; of keyed files, to remember them between processes.

/// Unset members are omitted.
nlohmann::json to_json(const ResourceUsage& usage);
ResourceUsage resource_usage_from_json(const nlohmann::json& json);

/// Everything except the image.
nlohmann::json to_json(const Artifact& artifact);
Artifact artifact_from_json(const nlohmann::json& json);

/// Files and absent paths; empty lists are omitted. Paths may hold any bytes.
nlohmann::json to_json(const KeyedFiles& keyed);
/// Throws nlohmann::json::exception for other JSON.
KeyedFiles keyed_files_from_json(const nlohmann::json& json);

/// Compiles for devices that need not be present. Thread-safe; never touches a device.
class Toolchain {
 public:
  virtual ~Toolchain() = default;
  /// Compiler and version ("nvrtc 13.0"), and everything else that changes the code it makes. Cheap after the first
  /// call.
  virtual std::string fingerprint() = 0;
  /// Compiles one configuration. The key and backend of the result are empty. Throws CandidateFailure(compile_failed)
  /// with the log, or Error(unavailable / unsupported / invalid_argument) if the configuration is not the cause
  /// (unknown architecture).
  virtual Artifact compile(const CompileRequest& request) = 0;
  /// The files of the compiler, as far as they are known; fingerprint() covers their contents.
  virtual ToolFiles parts();
  /// Whether each compile lists the files that it read, so that one without a list could have read any.
  virtual bool lists_files() { return false; }
  /// The architecture to compile for if the user gives none and no device is present ("sm_90"; the host's own).
  virtual std::string default_arch() = 0;
  /// The architectures that it compiles for, without features ("gfx90a"). Empty: unknown.
  virtual std::vector<std::string> archs();
};

}  // namespace xtune::build
