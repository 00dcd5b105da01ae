// The state of a loaded kernel, shared by all copies of a Kernel.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "dispatch/array_call.hpp"
#include "dispatch/preparation.hpp"
#include "system/parallel.hpp"
#include "xtune/tunable.hpp"

namespace xtune {

namespace dispatch {

/// settings.backend: the name of the backend that the parts belong to.
Kernel make_kernel(Parts parts, LoadSettings settings);

/// Passes messages on to the application, each once; without a receiver, to standard error.
class Messages {
 public:
  explicit Messages(const std::function<void(const std::string&)>& receiver) : receiver_(receiver) {}
  void operator()(const std::string& message);

 private:
  const std::function<void(const std::string&)>& receiver_;
  std::mutex mutex_;
  std::set<std::string> sent_;
};

}  // namespace dispatch

/// As the library's users know it.
class ArrayCall {
 public:
  dispatch::SolvedCall solved;
  std::shared_ptr<const detail::Binding> binding;  ///< of this problem; null: another kernel has it
  std::optional<Kernel> typed;                     ///< that kernel, with this problem
};

namespace detail {

/// Calls with arrays of one kernel, solved once for each signature. Thread-safe.
class ArrayCalls {
 public:
  ArrayCalls(const dispatch::Parts& parts, const dispatch::ArgumentPlan& arguments)
      : plan(parts.spec, arguments), parts_(parts) {}
  const dispatch::ArrayPlan plan;

  /// make: solves a call that is not known.
  const ArrayCall& find(std::span<const Array* const> arrays, const Bindings& words,
                        const std::function<ArrayCall()>& make);

  /// The kernel for these values of names that decide on types; nullopt: the one of the parts.
  std::optional<Kernel> with_types(const Bindings& types);

 private:
  const dispatch::Parts& parts_;
  const std::uint64_t id_ = next_id();
  static std::uint64_t next_id();
  std::mutex mutex_, typed_mutex_;
  std::map<Bindings, Kernel> typed_;
  std::map<std::vector<std::int64_t>, std::unique_ptr<const ArrayCall>> calls_;
};

class KernelState {
 public:
  KernelState(dispatch::Parts parts, LoadSettings settings);
  ~KernelState();
  KernelState(const KernelState&) = delete;
  KernelState& operator=(const KernelState&) = delete;

  /// The values of all passed arguments, or of all but scratch. given_bytes: of each buffer; null: the driver is asked.
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
    preparation_.constants().set(constant, dtype, contents, runtime_);
  }
  /// Made by the first call with arrays. Throws Error(unsupported).
  ArrayCalls& array_calls();
  /// The backend's, for waiting and timing in the application's contexts.
  backend::Runtime& runtime() const noexcept { return runtime_; }
  /// For the owner of the last reference. If that is a callback of the tuning in the background, another thread waits
  /// for the end of the tuning.
  static void destroy(KernelState* state);
  const std::string& name() const noexcept { return parts_.spec.kernel.name; }
  const std::string& backend() const noexcept { return settings_.backend; }
  bool is_checked() const noexcept { return settings_.checked; }
  /// Sizes of a fixed problem that no scalar of a call gives.
  Bindings without_sizes() const;

 private:
  /// The values of all passed arguments. scratch: for the addresses of scratch, to which values point already; null:
  /// the caller's is used.
  void call_all(const Binding& binding, void* stream, const void* const* values, const std::size_t* given_bytes,
                void** scratch);
  void take_scratch(const dispatch::Prepared& entry, void* stream, void** scratch);
  void check(const Binding& binding, const void* const* values, const std::size_t* given_bytes,
             const dispatch::Prepared& entry, bool own_scratch);
  dispatch::Key key_of(const Binding& binding, const void* const* values) noexcept;
  Bindings whole(const Binding& binding, const Bindings& sizes) const;
  const dispatch::Prepared* add(const dispatch::Key& key, const Bindings& problem);
  const dispatch::Prepared* add_chosen(const dispatch::Key& key, const Bindings& problem);
  void tune_in_background(const dispatch::Key& key, const Bindings& problem);
  /// maps: of the entry's buffers; null for an entry without.
  int launch(const dispatch::Prepared& entry, void* stream, const void* const* values,
             const dispatch::LaunchMaps* maps) const noexcept;
  [[noreturn]] void fail(const dispatch::Prepared& entry, int status, void* stream) const;

  const LoadSettings settings_;
  const dispatch::Parts parts_;
  const dispatch::ArgumentPlan plan_;
  backend::Runtime& runtime_;
  const std::shared_ptr<backend::Workspaces> workspaces_;  ///< of the settings' allocator, else the runtime's
  dispatch::Table table_;
  std::atomic<const ArgumentType*> fitting_{nullptr};  ///< the types of the last call that passed the check
  dispatch::Messages say_;                             ///< before the members whose constructors may send messages
  dispatch::Preparation preparation_;
  const std::unique_ptr<dispatch::Capture> capture_;  ///< null: not requested
  std::mutex preparing_;
  std::atomic<std::thread::id> preparer_{};  ///< the thread that holds it
  struct {
    std::once_flag made;
    std::unique_ptr<ArrayCalls> calls;
  } array_calls_;
  struct {
    std::mutex mutex;
    std::map<Bindings, std::shared_ptr<const Binding>> by_given;
  } bindings_;
  /// Last: its thread uses all other members. The child of a fork has none of its parent's tasks.
  system::PerProcess<dispatch::Background> background_;
};

}  // namespace detail

/// The parts of public objects that only the library sees.
struct Access {
  static Kernel kernel(std::shared_ptr<detail::KernelState> state,
                       std::shared_ptr<const detail::Binding> binding) noexcept {
    return {std::move(state), std::move(binding)};
  }
  static detail::KernelState& state(const Kernel& kernel) noexcept { return *kernel.state_; }
  static const detail::Binding& binding(const Kernel& kernel) noexcept { return *kernel.binding_; }
  /// Throws Error(invalid_argument) for a moved-from Tunable.
  static const detail::TunableState& state(const Tunable& tunable) { return tunable.state(); }
  static detail::TunableState& changed(Tunable& tunable) noexcept { return *tunable.state_; }
  static std::shared_ptr<const detail::CompiledBuild>& build(CompiledConfig& compiled) noexcept {
    return compiled.build_;
  }
};

}  // namespace xtune
