// Calling the best build of a kernel from an application, in the application's own context and stream.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "xtune/detail/arguments.hpp"
#include "xtune/stream.hpp"
#include "xtune/tunable.hpp"
#include "xtune/tune.hpp"
#include "xtune/value.hpp"

namespace xtune {

/// What the first call on a new problem does when the store has no measurement of it (nor of its bucket).
enum class Policy {
  /// Runs the nearest problem's configuration, else the default one. Configurations that are known to fail are skipped;
  /// if none is left, the call is Error(nothing_valid).
  lookup,
  /// Tunes the problem within the call, then runs the winner. If every configuration that was tried fails, and the
  /// default too, this call and later ones are Error(nothing_valid).
  tune_once,
  tune_in_background,  ///< runs what lookup would run and tunes in a thread; later calls are those of tune_once
};

/// Where a kernel's configurations come from, and what happens if none is stored.
struct LoadSettings {
  /// cuda, hip, host, or auto: the first of them that has a device.
  std::string backend = "auto";
  std::filesystem::path store;  ///< records and artifacts; empty: XTUNE_CACHE_DIR, else ~/.cache/xtune
  /// A file that `xtune store bundle` wrote: its records and compiled kernels are used in addition to the store's. It
  /// may hold several kernels; the spec's name selects one, and if there is no kernel of that name the error lists
  /// those there are. The file is only read. Empty: none.
  std::filesystem::path bundle;
  Policy policy = Policy::lookup;  ///< what the first call on a new problem does
  /// Every call checks its arguments: number, type and size of each, and that pointers have enough device memory behind
  /// them.
  bool checked = true;
  /// false: only compiled kernels of the store run; no compiler is started.
  bool compile = true;
  /// If this architecture has no measurement at all, use the best configurations of other architectures, compiled for
  /// this one.
  bool other_architectures = false;
  std::string arch;         ///< to compile for, "sm_90a"; empty: the device's own
  Bindings default_config;  ///< if nothing is stored; empty: the best by the spec's [candidates], else the first
  Bindings defines;         ///< as -D NAME=value does; of specs in files
  /// How to tune if the policy says so. Its problem, backend, devices, store and stop are ignored: the kernel's own are
  /// used. An exception of the tuner becomes a message, and the call goes on. A winner that the store cannot keep is
  /// used as long as the kernel lives, with a message.
  TuneSettings tuning;
  /// Receives warnings, a line each, on any thread; empty: they go to standard error. Its exceptions are ignored.
  std::function<void(const std::string&)> on_message;
};

/// Which configuration answers for a problem, and why.
struct Choice {
  /// How good a fit it is, best first.
  enum class Kind {
    exact,    ///< measured for this problem on this kind of device
    bucket,   ///< for another problem with the same [dispatch] key
    nearest,  ///< for the nearest problem by shape
    none,     ///< nothing measured may answer: the default configuration
  };
  Kind kind = Kind::none;  ///< how good a fit it is
  Bindings config;         ///< parameter name -> value
  Bindings measured_for;   ///< the problem of the measurement; empty: none
  double time_ms = 0;      ///< as measured there
  double distance = 0;     ///< of the two problems: the sum over dimensions of |log2(a / b)|
  /// Not empty: the measurement was taken with another driver than the device has now, and this names both. The
  /// configuration is valid, but its time, and that it is the best, may be out of date.
  std::string stale;
  /// Bytes of each scratch buffer with this configuration: what a call passes must be at least as large.
  std::map<std::string, std::uint64_t> scratch;
  std::vector<std::string> reasons;  ///< what was considered and why it was taken or not, a line each
};
const char* to_string(Choice::Kind kind) noexcept;  ///< "exact", "bucket", "nearest", "default"

namespace detail {
class KernelState;
struct Binding;

}  // namespace detail

/// A kernel that runs in the current context of the calling thread, on the stream it is given. Copies share everything;
/// any number of threads may call all members at once. Contexts and streams belong to the application: the library
/// creates none and waits for none, except for a capture (XTUNE_CAPTURE, docs/dispatch.md). On the host backend a call
/// runs the kernel and returns when it has ended, whatever the stream.
class Kernel {
 public:
  /// Queues one launch. `stream` is a cudaStream_t, CUstream, hipStream_t or nullptr. The arguments are the kernel's
  /// own, in its order. Scalars whose value in the spec names a tuning parameter are left out: xtune passes them. A
  /// scalar whose value in the spec is the name of a problem size ("N") gives that size; for_problem gives sizes that
  /// no scalar gives.
  ///
  /// A problem seen before costs a lookup without locks. A new one is prepared first: its configuration is chosen and
  /// loaded from the store, and compiled only if the store does not have it.
  ///
  /// Throws Error: invalid_argument for arguments that do not fit the spec (their number always, the rest when
  /// checked), unavailable if there is no context or the launch fails, nothing_valid if no configuration runs here.
  template <class... Arguments>
  void operator()(Stream stream, Arguments... arguments) const {
    const void* values[sizeof...(Arguments) + 1] = {static_cast<const void*>(&arguments)..., nullptr};
    call(stream.handle(), values, detail::TypesOf<Arguments...>::signature);
  }

  /// The same kernel for problems with these sizes, which are then not taken from scalars. Throws
  /// Error(invalid_argument) for a name that is not a problem size of the spec, and for a value of another type than
  /// the size has there (an integer converts to a float). It costs more than a call, so keep the result.
  Kernel for_problem(const Bindings& sizes) const;

  /// What a call would run for this problem on the calling thread's device; loads nothing. Sizes given to for_problem
  /// can be left out, and all sizes of a kernel of Result::kernel() or CompiledConfig::kernel(). Throws as a call.
  Choice choice(const Bindings& problem = {}) const;

  /// Does now what the first call on this problem would do, but launches nothing: before a timed part, or before a
  /// stream is captured into a graph, during which a driver may refuse to load anything.
  void prepare(const Bindings& problem = {}) const;

  /// Gives a constant of the spec (kind = "constant") its contents for all later calls of this kernel and its copies:
  /// host data of the constant's type, which is copied; set_constant("filter", weights). Waits for what is queued in
  /// the contexts that the kernel was called in, and must not run beside a call on another thread. A constant whose
  /// spec gives a value or a file has that until then; others must be set before the first call. Throws
  /// Error(invalid_argument) for a name that is no constant and for data that does not fit.
  void set_constant(const std::string& constant, const Data& data) const;

  /// Waits until nothing is left to tune in the background. Throws Error(invalid_argument) in a callback of that
  /// tuning.
  void wait() const;

  const std::string& name() const noexcept;  ///< of the kernel

  Kernel(const Kernel&) = default;             ///< shares everything; a move does the same, and leaves the other fit
  Kernel& operator=(const Kernel&) = default;  ///< shares everything; a move does the same, and leaves the other fit

 private:
  friend struct Access;
  template <class Type>
  friend class TypedKernel;
  Kernel(std::shared_ptr<detail::KernelState> state, std::shared_ptr<const detail::Binding> binding) noexcept;
  void check_signature(const detail::Signature& signature) const;
  void call(void* stream, const void* const* values, const detail::Signature& signature) const;

  std::shared_ptr<detail::KernelState> state_;
  std::shared_ptr<const detail::Binding> binding_;
};

/// A kernel whose call is that of a C++ function: load<void(const float* x, float* y, int n)>(...). The compiler checks
/// number, types and constness of the arguments at each call, and converts them as for any function. The type is
/// compared with the spec once, when the kernel is made.
template <class Type>
class TypedKernel {
  static_assert(!std::is_same_v<Type, Type>, "TypedKernel: the type of a kernel is void(Arguments...)");
};

/// A kernel whose call is that of a C++ function.
template <class... Arguments>
class TypedKernel<void(Arguments...)> {
 public:
  /// Throws Error(invalid_argument) that names the argument where the spec takes another number of arguments, another
  /// type, or writes through a pointer to const.
  explicit TypedKernel(Kernel kernel) : TypedKernel(std::move(kernel), Checked{}) {
    kernel_.check_signature(detail::TypesOf<Arguments...>::checked_signature);
  }

  /// As Kernel's call. Which memory pointers lead to is checked as LoadSettings::checked says, types are not checked
  /// again.
  void operator()(Stream stream, Arguments... arguments) const {
    const void* values[sizeof...(Arguments) + 1] = {static_cast<const void*>(&arguments)..., nullptr};
    kernel_.call(stream.handle(), values, detail::TypesOf<Arguments...>::checked_signature);
  }

  const Kernel& untyped() const noexcept { return kernel_; }  ///< the same kernel without the type
  /// As Kernel::for_problem.
  TypedKernel for_problem(const Bindings& sizes) const { return TypedKernel(kernel_.for_problem(sizes), Checked{}); }
  Choice choice(const Bindings& problem = {}) const { return kernel_.choice(problem); }  ///< as Kernel::choice
  void prepare(const Bindings& problem = {}) const { kernel_.prepare(problem); }         ///< as Kernel::prepare
  void wait() const { kernel_.wait(); }                                                  ///< as Kernel::wait
  /// As Kernel::set_constant.
  void set_constant(const std::string& constant, const Data& data) const { kernel_.set_constant(constant, data); }
  const std::string& name() const noexcept { return kernel_.name(); }  ///< of the kernel

 private:
  struct Checked {};
  TypedKernel(Kernel kernel, Checked) : kernel_(std::move(kernel)) {}
  Kernel kernel_;
};

/// The kernel of a spec file. Creates no context. Throws Error: invalid_spec, io, invalid_argument for an unknown
/// backend, unavailable if the backend has no driver, unsupported for what no call can launch: a spec of a whole
/// program or of a Kokkos unit (`xtune run` tunes these), a kernel that takes more than 64 arguments or a tensor map.
Kernel load(const std::filesystem::path& spec, const LoadSettings& settings = {});
/// The kernel of a spec built in code, which is copied. settings.defines are ignored.
Kernel load(const Tunable& tunable, const LoadSettings& settings = {});

/// A kernel of a bundle that carries its spec (`xtune store bundle --spec`): no other file is needed, and no store. The
/// bundle may be read-only. The spec and its sources are in a private temporary directory until the last copy of the
/// kernel is destroyed. kernel: its name; may be empty if the bundle has only one spec. settings.bundle is ignored.
/// Throws Error as load, and Error(invalid_argument) that lists the bundle's kernels if it has none of that name.
Kernel load_bundle(const std::filesystem::path& bundle, const std::string& kernel = "", LoadSettings settings = {});

/// load as a typed kernel: load<void(const float* x, float* y, int n)>("axpy.toml"). Throws Error as load, and
/// Error(invalid_argument) where the type does not fit the spec.
template <class Type>
TypedKernel<Type> load(const std::filesystem::path& spec, const LoadSettings& settings = {}) {
  return TypedKernel<Type>(load(spec, settings));
}
/// The same of a spec built in code.
template <class Type>
TypedKernel<Type> load(const Tunable& tunable, const LoadSettings& settings = {}) {
  return TypedKernel<Type>(load(tunable, settings));
}
/// load_bundle as a typed kernel. Throws Error as load_bundle, and Error(invalid_argument) where the type does not fit
/// the spec.
template <class Type>
TypedKernel<Type> load_bundle(const std::filesystem::path& bundle, const std::string& kernel = "",
                              LoadSettings settings = {}) {
  return TypedKernel<Type>(load_bundle(bundle, kernel, std::move(settings)));
}

template <class Type>
TypedKernel<Type> Result::kernel(bool checked) const {
  return TypedKernel<Type>(kernel(checked));
}

template <class Type>
TypedKernel<Type> CompiledConfig::kernel(bool checked) const {
  return TypedKernel<Type>(kernel(checked));
}

}  // namespace xtune
