// Questions about a kernel that need neither a device nor a driver: what a store and the cost model say.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "xtune/kernel.hpp"
#include "xtune/tunable.hpp"
#include "xtune/value.hpp"

namespace xtune {

/// Whose measurements may answer.
struct LookupSettings {
  /// The architecture, "sm_90" or "gfx90a", which needs no driver and no device. Empty: the device of this machine.
  std::string arch = {};
  /// cuda, hip or host; auto: the vendor's own with arch, else the first with a device.
  std::string backend = "auto";
  std::filesystem::path store = {};   ///< empty: XTUNE_CACHE_DIR, else ~/.cache/xtune
  std::filesystem::path bundle = {};  ///< as LoadSettings::bundle
  bool other_architectures = false;   ///< as LoadSettings::other_architectures
  /// A warning about the store, on the calling thread; empty: they are dropped.
  std::function<void(const std::string&)> on_message = {};
};

/// The best stored configuration for a problem: the answer of Kernel::choice, from the same records by the same rules,
/// for a device that need not be here. Choice::kind is none, and the configuration empty, where no measurement may
/// answer; Choice::reasons has the reasons. problem: as TuneSettings::problem. Throws Error: invalid_spec,
/// invalid_argument for an unknown architecture, a problem that is not the spec's, or several cases of which problem
/// names none, unavailable where arch is empty and there is no device.
Choice best(const Tunable& tunable, const Bindings& problem = {}, const LookupSettings& settings = {});
/// The same for a spec file. Throws also Error(io).
Choice best(const std::filesystem::path& spec, const Bindings& problem = {}, const LookupSettings& settings = {});

/// A configuration that the cost model suggests.
struct Candidate {
  Bindings config;          ///< parameter name, value
  double estimated_ms = 0;  ///< time of a launch; a rank more than a forecast
  std::string reason;       ///< the parts of the estimate, for people
};

/// For which device, and how many.
struct CandidateSettings {
  std::string arch = {};         ///< of a GPU: "sm_90", "gfx90a"; empty: the device of this machine
  std::string backend = "auto";  ///< as LookupSettings::backend
  Bindings problem = {};         ///< as TuneSettings::problem
  std::size_t count = 0;         ///< maximum number of configurations; 0: as the spec's [candidates] top_k
};

/// The configurations that the cost model of the spec's [candidates] (Tunable::candidates) rates best, best first: for
/// TuneSettings::configs, or to compare with what was measured. Nothing is compiled or measured. Throws Error:
/// invalid_spec where there is no [candidates] or it is wrong, invalid_argument as best and for a device that is not a
/// GPU, nothing_valid where no configuration fits the device.
std::vector<Candidate> candidates(const Tunable& tunable, const CandidateSettings& settings = {});

}  // namespace xtune
