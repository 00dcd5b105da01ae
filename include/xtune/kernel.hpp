// Calling the best build of a kernel from an application, in the application's own context and stream.
#pragma once

#include <filesystem>
#include <functional>
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
  /// Runs the nearest problem's configuration, else the default one; none that the store knows to fail: where only such
  /// ones are left, Error(nothing_valid).
  lookup,
  /// Tunes it, which takes as long as it takes, then runs the winner. Where all that was tried fails, the default too,
  /// this call and later ones are Error(nothing_valid).
  tune_once,
  tune_in_background,  ///< runs what lookup would, and tunes meanwhile; later calls are as those of tune_once
};

/// Where a kernel's configurations come from, and what is done where none is stored.
struct LoadSettings {
  /// cuda, hip, host, or auto: the first of them that has a device.
  std::string backend = "auto";
  std::filesystem::path store;  ///< records and artifacts; empty: XTUNE_CACHE_DIR, else ~/.cache/xtune
  /// A file that `xtune store bundle` wrote: its records and compiled kernels answer beside the store's. It may hold
  /// several kernels; the spec's name chooses, and where it holds none of that name the error lists those that it does.
  /// Read where it lies, which may be read-only. Empty: none.
  std::filesystem::path bundle;
  Policy policy = Policy::lookup;  ///< what the first call on a new problem does
  /// Every call checks its arguments: number, kind, size and type, and that pointers lead to enough device memory.
  bool checked = true;
  /// false: only what the store holds compiled is ever run; the compiler is never asked.
  bool compile = true;
  /// The best configurations of other architectures may stand in where this one has no measurement at all. They are
  /// compiled for this one.
  bool other_architectures = false;
  std::string arch;         ///< to compile for, "sm_90a"; empty: the device's own
  Bindings default_config;  ///< where nothing is stored; empty: what the spec's [candidates] rate best, else its first
  Bindings defines;         ///< as -D NAME=value does; of specs in files
  /// How to tune where the policy says so. Its problem, backend, devices, store and stop are the kernel's. What a tuner
  /// throws is said, and costs no call. A winner that the store does not keep serves as long as the kernel, which is
  /// said.
  TuneSettings tuning;
  /// A line that somebody should read, from any thread; empty: standard error. What it throws is dropped.
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
  /// Measured with another driver than the device has now: which, and which now; empty: with this one. The
  /// configuration is sound; its time, and that it is the best, may not hold any more.
  std::string stale;
  std::vector<std::string> reasons;  ///< what was considered and why it was taken or not, a line each
};
const char* to_string(Choice::Kind kind) noexcept;  ///< "exact", "bucket", "nearest", "default"

namespace detail {
class KernelState;
struct Binding;

}  // namespace detail

/// A kernel that runs in whatever context the calling thread has, on the stream it is given. Copies share everything;
/// all members may be called by any number of threads at once. Contexts and streams stay the application's: none is
/// made, none is waited for, but where a capture was asked for (XTUNE_CAPTURE, docs/dispatch.md). On the host backend a
/// call runs the kernel and waits, whatever the stream.
class Kernel {
 public:
  /// Queues one launch. `stream` is a cudaStream_t, CUstream, hipStream_t or nullptr. The arguments are the kernel's
  /// own, in its order, but those scalars whose value in the spec names a tuning parameter: these are filled in.
  /// Problem sizes are taken from the scalars whose value in the spec is such a name alone ("N"); of a size that none
  /// tells see for_problem.
  ///
  /// A problem seen before costs a lookup without locks. A new one is prepared first: chosen, loaded from the store,
  /// and compiled only where the store does not have it.
  ///
  /// Throws Error: invalid_argument for arguments that do not fit the spec (the count always, the rest when checked),
  /// unavailable when there is no context or the launch fails, nothing_valid when no configuration runs here.
  template <class... Arguments>
  void operator()(Stream stream, Arguments... arguments) const {
    const void* values[sizeof...(Arguments) + 1] = {static_cast<const void*>(&arguments)..., nullptr};
    call(stream.handle(), values, detail::TypesOf<Arguments...>::signature);
  }

  /// The same kernel for problems with these sizes, which are then not taken from scalars. Throws
  /// Error(invalid_argument) for a name that is no problem size of the spec, and for a value of another type than the
  /// size has there (an integer is good for a float). Keep it: making one costs more than a call.
  Kernel for_problem(const Bindings& sizes) const;

  /// What a call would run on this problem and the calling thread's device; loads nothing. The sizes of for_problem
  /// need not be said again, nor any of a kernel that Result::kernel() made. Throws as a call.
  Choice choice(const Bindings& problem = {}) const;

  /// Does now what the first call on this problem would do, but launches nothing: before a timed part, or before a
  /// stream is captured into a graph, during which a driver may refuse to load anything.
  void prepare(const Bindings& problem = {}) const;

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
  const std::string& name() const noexcept { return kernel_.name(); }                    ///< of the kernel

 private:
  struct Checked {};
  TypedKernel(Kernel kernel, Checked) : kernel_(std::move(kernel)) {}
  Kernel kernel_;
};

/// The kernel of a spec file. Makes no context. Throws Error: invalid_spec, io, unavailable where the backend has no
/// driver, unsupported for what no call can launch: a spec of a whole program or of a Kokkos unit (`xtune run` tunes
/// these), a kernel that takes more than 64 arguments or a tensor map.
Kernel load(const std::filesystem::path& spec, const LoadSettings& settings = {});
/// Of a spec built in code; it may be changed or go afterwards. settings.defines are not looked at.
Kernel load(const Tunable& tunable, const LoadSettings& settings = {});

/// A kernel out of a bundle that carries its spec (`xtune store bundle --spec`), from a place that may be read-only:
/// no other file is needed, and no store. The spec and its sources are put into a private temporary folder until the
/// kernel goes. kernel: its name; may be empty where the bundle has one spec alone. settings.bundle is not looked at.
/// Throws Error as load, and Error(invalid_argument) that lists the bundle's kernels where it has none of that name.
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
