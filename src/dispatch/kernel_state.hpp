// The state of a loaded kernel, shared by all copies of a Kernel.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "backends/runtime.hpp"
#include "dispatch/arguments.hpp"
#include "dispatch/background.hpp"
#include "dispatch/builder.hpp"
#include "dispatch/capture.hpp"
#include "dispatch/constants.hpp"
#include "dispatch/coverage.hpp"
#include "dispatch/selector.hpp"
#include "dispatch/table.hpp"
#include "dispatch/tuned.hpp"
#include "xtune/kernel.hpp"

namespace xtune {

namespace dispatch {

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
  std::filesystem::path spec_file = {};  ///< for logs: the spec; empty: built in code, or in a bundle
};

/// What a kernel logs of its calls, as requested; null: not requested.
struct Logs {
  std::unique_ptr<Capture> capture;
  std::unique_ptr<Coverage> coverage;
};

/// settings.backend: the name of the backend that the parts belong to.
Kernel make_kernel(Parts parts, LoadSettings settings);

}  // namespace dispatch

namespace detail {

class KernelState {
 public:
  KernelState(dispatch::Parts parts, LoadSettings settings);
  ~KernelState();
  KernelState(const KernelState&) = delete;
  KernelState& operator=(const KernelState&) = delete;

  /// given_bytes: of each buffer; null: the driver is asked.
  void call(const Binding& binding, void* stream, const void* const* values, const Signature& signature,
            const std::size_t* given_bytes);
  const dispatch::ArgumentPlan& plan() const noexcept { return plan_; }
  std::shared_ptr<const Binding> bind(const Bindings& fixed);
  Choice choice(const Binding& binding, const Bindings& sizes);
  void prepare(const Binding& binding, const Bindings& sizes);
  /// As Kernel::digest.
  std::string digest(const Binding& binding, const std::vector<Bindings>& problems);
  void wait();
  void set_constant(const std::string& constant, std::optional<DType> dtype, std::span<const std::byte> contents) {
    constants_.set(constant, dtype, contents, runtime_);
  }
  /// The backend's, for waiting and timing in the application's contexts.
  backend::Runtime& runtime() const noexcept { return runtime_; }
  /// For the owner of the last reference. If that is a callback of the tuning in the background, another thread waits
  /// for the end of the tuning.
  static void destroy(KernelState* state);
  const std::string& name() const noexcept { return parts_.spec.kernel.name; }
  const std::string& backend() const noexcept { return settings_.backend; }
  /// Sizes of a fixed problem that no scalar of a call gives.
  Bindings without_sizes() const;

 private:
  /// The problem of one preparation, with data derived from it.
  struct Case;

  void require_fixed(const Bindings& problem) const;

  void check(const Binding& binding, const void* const* values, const std::size_t* given_bytes,
             const dispatch::Prepared& entry);
  dispatch::Key key_of(const Binding& binding, const void* const* values) noexcept;
  Bindings whole(const Binding& binding, const Bindings& sizes) const;
  const dispatch::Prepared* add(const dispatch::Key& key, const Bindings& problem);
  dispatch::Prepared make(const dispatch::Key& key, const Case& found);
  dispatch::Prepared make_fixed(const dispatch::Key& key, const Bindings& problem);
  dispatch::Prepared load(const dispatch::Key& key, const Bindings& problem, const device::DeviceInfo& device,
                          const dispatch::Build& build);
  Case case_of(const Bindings& problem);
  bool wants_tuning(const Case& found) const;
  void tune(const Bindings& problem);
  void take(const Bindings& problem, const device::DeviceInfo& device, dispatch::Tuned tuned);
  void tune_in_background(const dispatch::Key& key, const Bindings& problem);
  /// maps: of the entry's buffers; null for an entry without.
  int launch(const dispatch::Prepared& entry, void* stream, const void* const* values,
             const dispatch::LaunchMaps* maps) const noexcept;
  [[noreturn]] void fail(const dispatch::Prepared& entry, int status) const;
  void say(const std::string& message);

  const LoadSettings settings_;
  const dispatch::Parts parts_;
  const dispatch::ArgumentPlan plan_;
  backend::Runtime& runtime_;
  std::mutex said_mutex_;  ///< declared first: constructors of later members may send messages
  std::set<std::string> said_;
  const std::shared_ptr<const store::Bundle> bundle_;
  dispatch::Selector selector_;
  dispatch::Builder builder_;
  dispatch::Table table_;
  std::atomic<const ArgumentType*> fitting_{nullptr};  ///< the types of the last call that passed the check
  std::mutex preparing_;
  std::atomic<std::thread::id> preparer_{};  ///< the thread that holds it
  dispatch::Constants constants_;
  struct Failures {
    std::mutex mutex;
    std::map<std::pair<std::string, Bindings>, std::shared_ptr<const dispatch::Failure>> by_device;  ///< by its kind
    std::shared_ptr<const dispatch::Failure> of(const Bindings& problem, const device::DeviceInfo& device);
  } failures_;
  std::atomic<bool> told_not_kept_{false};
  std::mutex bindings_mutex_;
  std::map<Bindings, std::shared_ptr<const Binding>> bindings_;
  const dispatch::Logs logs_;
  std::stop_source stop_;
  dispatch::Background background_;  ///< last: its thread uses all other members
};

}  // namespace detail
}  // namespace xtune
