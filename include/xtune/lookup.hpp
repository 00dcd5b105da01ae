// Questions that the store and the cost model answer about a kernel, without a device or a driver.
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

/// Which measurements may be used.
struct LookupSettings {
  /// The architecture, "sm_90" or "gfx90a", which needs no driver and no device. Empty: the device of this machine.
  std::string arch = {};
  /// cuda, hip or host; auto: the backend of the vendor of `arch`, or without `arch` the first with a device; gpu: not
  /// the host.
  std::string backend = "auto";
  std::filesystem::path store = {};   ///< empty: XTUNE_CACHE_DIR, else ~/.cache/xtune
  std::filesystem::path bundle = {};  ///< as LoadSettings::bundle
  bool frozen = false;                ///< use only the bundle's measurements, not the store's
  bool other_architectures = false;   ///< as LoadSettings::other_architectures
  /// Receives warnings about the store, on the calling thread. Empty: they are dropped.
  std::function<void(const std::string&)> on_message = {};
};

/// The best stored configuration for a problem: the answer of Kernel::choice, from the same records by the same rules,
/// also for a device that is not in this machine. If no measurement can be used, Choice::kind is none, the
/// configuration is empty, and Choice::reasons explains why. problem: as TuneSettings::problem. Throws Error:
/// invalid_spec, invalid_argument for an unknown architecture, for names that are not in the spec's problem, or if the
/// spec has several cases and `problem` does not select one, unavailable if arch is empty and there is no device.
Choice best(const Tunable& tunable, const Bindings& problem = {}, const LookupSettings& settings = {});
/// The same for a spec file. Also throws Error(io).
Choice best(const std::filesystem::path& spec, const Bindings& problem = {}, const LookupSettings& settings = {});

/// A configuration that the cost model suggests.
struct Candidate {
  Bindings config;          ///< parameter name -> value
  double estimated_ms = 0;  ///< estimated time of a launch, milliseconds; useful for ranking rather than as a forecast
  std::string reason;       ///< the parts of the estimate, for people
};

/// The device, and the number of configurations.
struct CandidateSettings {
  std::string arch = {};         ///< architecture of a GPU: "sm_90", "gfx90a"; empty: the device of this machine
  std::string backend = "auto";  ///< as LookupSettings::backend
  Bindings problem = {};         ///< as TuneSettings::problem
  std::size_t count = 0;         ///< maximum number of configurations; 0: top_k of the spec's [candidates]
};

/// The configurations that the cost model of the spec's [candidates] (Tunable::candidates) rates best, best first. Pass
/// them to TuneSettings::configs, or compare them with measurements. Nothing is compiled or measured. Throws Error:
/// invalid_spec if [candidates] is missing or wrong, invalid_argument as best() and for a device that is not a GPU,
/// nothing_valid if no configuration fits the device.
std::vector<Candidate> candidates(const Tunable& tunable, const CandidateSettings& settings = {});

}  // namespace xtune
