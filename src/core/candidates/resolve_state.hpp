// What a CandidateResolver holds, shared by its source files.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/candidates/resolve.hpp"
#include "core/spec/template_text.hpp"

namespace xtune {

/// The texts of a launch, parsed.
struct CompiledLaunch {
  std::vector<CompiledText> grid, block, cluster;
  std::optional<CompiledText> shared;
};

struct CandidateResolver::State {
  State(const Spec& spec_, const Space& space_, Bindings problem_, DeviceInfo device_, std::string arch_,
        std::string toolchain_, bool sanitize_);

  /// Parameters of config first, then constants. Borrows config.
  Lookup lookup(const Config& config) const;
  const Value* constant(std::string_view name) const;
  /// All but entry and options.
  CompileRequest request(const Config& config, const std::filesystem::path& path, const std::string& text) const;
  /// Of everything the request's source includes; computed once for each set of folders.
  std::string digest(const CompileRequest& request);

  const Spec& spec;
  const Space& space;
  const Bindings problem;
  const DeviceInfo device;
  const std::string arch, toolchain;
  const bool sanitize;
  Bindings constants;  ///< the problem and "device.*"
  std::string source, reference_source;

  // The spec's texts, parsed: in the order of the spec, scalars without the other arguments.
  CompiledText entry;
  std::vector<CompiledText> options, reference_options, defines, scalar_values;
  std::vector<const ArgSpec*> scalar_args;
  CompiledLaunch launch, reference_launch;

  std::mutex mutex;                            ///< guards what follows: all of it is computed at first use
  std::map<std::string, std::string> digests;  ///< by source path, folders and forced includes
  KeyParts constant_parts;                     ///< the measurement key's parts that no configuration changes
};

}  // namespace xtune
