// The first call on a problem: a configuration is chosen, or tuned, built and loaded.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "backends/runtime.hpp"
#include "dispatch/arguments.hpp"
#include "dispatch/builder.hpp"
#include "dispatch/capture.hpp"
#include "dispatch/coverage.hpp"
#include "dispatch/selector.hpp"
#include "dispatch/table.hpp"
#include "dispatch/tuning.hpp"
#include "xtune/kernel.hpp"

namespace xtune::dispatch {

/// Receives messages for people, one line each.
using Say = std::function<void(const std::string&)>;

/// An already built kernel for exactly one problem.
struct Fixed {
  Bindings problem;
  Choice choice;  ///< the result of Kernel::choice
  Build build;
};

/// The parts of a kernel; tests replace them by fakes.
struct Parts {
  spec::Spec spec;
  std::shared_ptr<backend::Runtime> runtime;
  OpenToolchain open_toolchain;
  Tuner tune;  ///< empty: never tune
  /// Restricts the spec's space for a problem; may be empty.
  Narrow narrow = {};
  std::shared_ptr<const void> kept = {};  ///< keeps alive what the members above refer to
  /// Set: nothing is looked up, compiled, tuned or captured. The spec has its problem as the only case.
  std::optional<Fixed> fixed = {};
  /// The same kernel with these values of names that decide on types; empty: it has only its own.
  std::function<Kernel(const Bindings& types)> with_types = {};
  std::filesystem::path spec_file = {};  ///< for logs: the spec; empty: built in code, or in a bundle
};

/// A problem, and what is to answer it.
struct ChosenCase {
  Bindings problem;
  device::DeviceInfo device;
  std::vector<std::string> archs;
  spec::Spec spec;  ///< restricted for the problem
  Selection selection;
  std::shared_ptr<const Failure> failure;  ///< from a tuning run; null: none
  std::string refusal;                     ///< not empty: why nothing may be launched

  bool has_failed(const Bindings& config) const { return failure && failure->configs.contains(config); }
};

/// Chooses, tunes, builds and loads. Thread-safe. parts, settings, plan and what `say` refers to must outlive it.
class Preparation {
 public:
  Preparation(const Parts& parts, const LoadSettings& settings, const ArgumentPlan& plan, Say say);
  ChosenCase choose(const Bindings& problem);
  /// Throws ProvenWrong if nothing may run.
  Choice choice(const Bindings& problem);
  bool wants_tuning(const ChosenCase& found) const;
  /// Failures are reported, and what was found before counts.
  void tune(const Bindings& problem);
  /// Tuning that is running ends soon, and later tuning at once.
  void stop_tuning() noexcept { stop_.request_stop(); }
  bool stops() const noexcept { return stop_.stop_requested(); }
  /// Loads the chosen configuration, else a default one. Throws ProvenWrong if nothing may run, Error if nothing runs.
  Prepared make(const Key& key, const ChosenCase& found);
  /// Loads the binary of parts.fixed, and nothing else.
  Prepared make_fixed(const Key& key, const Bindings& problem);
  /// Throws Error(invalid_argument) for another problem than that of parts.fixed.
  void require_fixed(const Bindings& problem) const;
  Constants& constants() noexcept { return constants_; }
  /// As Kernel::digest, of whole problems.
  std::string digest(const std::vector<Bindings>& problems);

 private:
  Prepared load(const Key& key, const Bindings& problem, const device::DeviceInfo& device, const Build& build);
  void take(const Bindings& problem, const device::DeviceInfo& device, Tuned tuned);
  /// null: no log is requested, or it is full.
  Coverage::Counter* log(const ChosenCase& found, const Choice& choice, const std::string& refusal);
  std::string title(const Bindings& problem) const;  ///< "gemm, N=64"

  const Parts& parts_;
  const LoadSettings& settings_;
  const ArgumentPlan& plan_;
  const Say say_;
  const std::shared_ptr<const store::Bundle> bundle_;
  Selector selector_;
  Builder builder_;
  Constants constants_;
  const std::unique_ptr<Coverage> coverage_;  ///< null: not requested
  std::mutex failures_mutex_;
  std::map<std::pair<std::string, Bindings>, std::shared_ptr<const Failure>> failures_;  ///< by kind of device
  std::atomic<bool> told_not_kept_{false};
  std::stop_source stop_;
};

}  // namespace xtune::dispatch
