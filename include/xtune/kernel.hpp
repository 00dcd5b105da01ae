// Calling the best build of a kernel from an application, in the application's own context and stream.
#pragma once

#include <concepts>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "xtune/array.hpp"
#include "xtune/detail/arguments.hpp"
#include "xtune/stream.hpp"
#include "xtune/tunable.hpp"
#include "xtune/tune.hpp"
#include "xtune/value.hpp"

namespace xtune {

/// What the first call on a new problem does if the store has no measurement of the problem or of its bucket.
enum class Policy {
  /// Runs the nearest problem's configuration, or the default one if there is none. Configurations that are known to
  /// fail are skipped; if none remains, the call throws Error(nothing_valid).
  lookup,
  /// Tunes the problem within the call, then runs the winner. If every configuration that was tried fails, and the
  /// default too, this call and later ones throw Error(nothing_valid).
  tune_once,
  tune_in_background,  ///< runs what lookup would run, and tunes in a thread; later calls behave as with tune_once
};

/// The application's device memory for scratch buffers, on any thread. For cuda and hip.
struct Allocator {
  /// Memory for launches in this stream, aligned to 256 bytes; nullptr, or an exception, which the call throws: there
  /// is none. While the stream is captured, the memory belongs to the graph, too.
  std::function<void*(std::size_t bytes, void* stream)> allocate;
  /// Called when the kernel is destroyed; launches in the stream may still use the memory.
  std::function<void(void* memory, std::size_t bytes, void* stream)> release;
};

/// Where a kernel's configurations come from, and what happens if none is stored.
struct LoadSettings {
  /// cuda, hip, host; auto: the first of these that has a device; gpu: the first of cuda, hip.
  std::string backend = "auto";
  std::string compiler = "auto";  ///< as TuneSettings::compiler, for what must be compiled or tuned
  std::filesystem::path store;    ///< records and artifacts; empty: XTUNE_CACHE_DIR, else ~/.cache/xtune
  /// A file written by `xtune store bundle`: its records and compiled kernels are used in addition to the store's. If
  /// it holds several kernels, the spec's name selects one; if none has that name, the error lists the kernels. The
  /// file is never written. Empty: no bundle.
  std::filesystem::path bundle;
  /// Use only the bundle: no store is read or written, nothing is tuned, and a chosen configuration that does not run
  /// here is an error instead of a reason to run a default one. Processes with the same bundle, spec and kind of device
  /// then make the same choices, which Kernel::digest proves. Needs `bundle` and the policy `lookup`.
  bool frozen = false;
  Policy policy = Policy::lookup;  ///< what the first call on a new problem does
  /// Check the arguments of every call: their number, the type and size of each, and that pointers have enough device
  /// memory behind them.
  bool checked = true;
  /// false: run only compiled kernels from the store; no compiler is started.
  bool compile = true;
  /// If this architecture has no measurement at all, use the best configurations of other architectures, compiled for
  /// this one.
  bool other_architectures = false;
  std::string arch;  ///< the architecture to compile for, "sm_90a"; empty: the device's own
  /// Where the library gets memory for scratch buffers that a call does not pass. Empty: from the stream-ordered pool
  /// (cudaMallocAsync, hipMallocAsync), one block for each stream that all kernels share, kept until the process ends.
  Allocator allocator;
  std::uint64_t scratch_limit = 0;  ///< configurations with more bytes of scratch are not used; 0: no limit
  Bindings default_config;  ///< if nothing is stored; empty: the best by the spec's [candidates], else the first
  Bindings defines;         ///< for specs in files, like -D NAME=value: parameters, and sizes that decide on types
  /// How to tune if the policy asks for it. The problem, backend, devices, store and stop in it are ignored: the
  /// kernel's own are used. An exception of the tuner becomes a message, and the call continues. If the store cannot
  /// keep a winner, the winner is used until the kernel is destroyed, and a message reports this.
  TuneSettings tuning;
  /// A file or an existing directory for a log of the problems that calls had, for `xtune coverage`. Empty: the
  /// environment variable XTUNE_COVERAGE, else none.
  std::filesystem::path coverage;
  /// Receives warnings, one line each, on any thread. Empty: they go to standard error. Exceptions that it throws are
  /// ignored.
  std::function<void(const std::string&)> on_message;
};

/// Which configuration is used for a problem, and why.
struct Choice {
  /// How well the measurement fits the problem, best first.
  enum class Kind {
    exact,    ///< measured for this problem on this kind of device
    bucket,   ///< measured for another problem with the same [dispatch] key
    nearest,  ///< measured for the nearest problem by shape
    none,     ///< no usable measurement: the default configuration
  };
  Kind kind = Kind::none;  ///< how well the measurement fits
  Bindings config;         ///< parameter name -> value
  Bindings measured_for;   ///< the problem of the measurement; empty: no measurement
  double time_ms = 0;      ///< the measured time of that problem, milliseconds
  /// Of the configuration for the problem in question; unset: it was measured (exact), or its time is not known.
  std::optional<ExpectedTime> expected = {};
  double distance = 0;  ///< between the two problems: the sum over dimensions of |log2(a / b)|
  /// Not empty: the measurement was taken with another driver than the device has now; the text names both. The
  /// configuration is valid, but its time may be out of date, and another one may be faster now.
  std::string stale;
  /// Bytes of each scratch buffer with this configuration: what a call passes instead of the library's must be at least
  /// as large.
  std::map<std::string, std::uint64_t> scratch;
  std::vector<std::string> reasons;  ///< the records that were considered, and why each was used or not, one line each
};
const char* to_string(Choice::Kind kind) noexcept;  ///< "exact", "bucket", "nearest", "default"

namespace detail {
class KernelState;
struct Binding;

}  // namespace detail

/// An argument that the caller of a kernel passes.
struct KernelArgument {
  std::string name;                ///< name in the spec
  bool is_buffer = false;          ///< a device pointer; otherwise a value
  DType dtype = DType::f32;        ///< type of the elements, or of the value
  bool is_written = false;         ///< of a buffer: the kernel writes it
  bool is_scratch = false;         ///< a buffer that a call need not pass
  std::vector<std::string> shape;  ///< of a buffer: its extents as the spec has them, expressions over the problem
  std::string size;                ///< of a value: the problem size that it sets; empty: none
  std::size_t struct_bytes = 0;    ///< of a struct or vector by value: its size; 0: dtype says all
};

/// What a call with arrays may pass: arrays, and scalars that follow from no size. Words of the problem come by name.
struct CallArgument {
  std::string name;          ///< name in the spec
  bool is_array = false;     ///< otherwise a value
  DType dtype = DType::f32;  ///< of a value; of an array unless the problem decides
  bool is_output = false;    ///< an array that the kernel only writes
  bool is_written = false;   ///< an array that it writes
  bool is_required = false;  ///< an input that every call passes
};

/// An output of a call with arrays.
struct ArrayOutput {
  std::size_t argument = 0;         ///< its number among the call's arguments
  DType dtype = DType::f32;         ///< type of the elements
  std::vector<std::int64_t> shape;  ///< its extents
};

/// The problem, the configuration and the outputs that belong to arrays of these types, shapes and layouts.
class ArrayCall;

/// An argument of a call by its name: {"A", Array(a, {m, k})}, {"alpha", 2.0}, {"ACTIVATION", 1}.
struct Named {
  std::string_view name;                  ///< of an argument, or a name of [problem]
  std::variant<Array, Value> value = {};  ///< what is passed
};

/// A kernel that runs in the current context of the calling thread, on the stream it is given; in a thread without a
/// context, a call first makes that of its first buffer current. Copies share everything.
/// Any number of threads may call all members at once. Contexts and streams belong to the application: the library does
/// not create any and does not wait for any, except for a capture (XTUNE_CAPTURE, docs/dispatch.md). On the host
/// backend a call ignores the stream, runs the kernel and returns when it has ended.
class Kernel {
 public:
  /// Queues one launch. `stream` is a cudaStream_t, CUstream, hipStream_t or nullptr. The arguments are the kernel's
  /// own, in its order, except for scalars whose value in the spec names a tuning parameter: xtune passes these. A
  /// scalar whose value in the spec is the name of a problem size ("N") sets that size; for_problem sets sizes that no
  /// scalar sets. Scratch buffers are the library's, unless a call passes all of them.
  ///
  /// For a problem seen before, choosing the configuration is a lookup without locks. A new problem is prepared first:
  /// its configuration is chosen and loaded from the store, and compiled only if the store has no binary.
  ///
  /// Throws Error: invalid_argument for arguments that do not fit the spec (their number is always checked, the rest
  /// only with LoadSettings::checked), unavailable if there is no context or the launch fails, nothing_valid if no
  /// configuration runs here.
  template <class... Arguments>
  void operator()(Stream stream, Arguments... arguments) const {
    const void* values[sizeof...(Arguments) + 1] = {static_cast<const void*>(&arguments)..., nullptr};
    call(stream.handle(), values, detail::TypesOf<Arguments...>::signature);
  }

  /// Queues one launch for arrays: sizes, types and layouts follow from them, and what is not passed has the spec's
  /// value. They are the inputs that every call needs and the outputs, in the spec's order: gemm(stream, a, b, c).
  template <class... Arrays>
  requires(std::same_as<Arrays, Array>&&...) void operator()(Stream stream, const Array& first,
                                                             const Arrays&... others) const {
    const Array* const arrays[] = {&first, &others...};
    call_in_order(stream, arrays);
  }
  /// The same by name, for arrays that not every call needs, scalars and words of the problem:
  /// gemm.call(stream, {{"A", a}, {"B", b}, {"C", c}, {"bias", bias}}). Throws the errors of a call, and
  /// Error(invalid_argument) with the names of arguments that contradict each other or are missing.
  void call(Stream stream, std::initializer_list<Named> passed) const;
  /// The same for arguments that are known only at run time.
  void call(Stream stream, std::span<const Named> passed) const;
  /// Prepares such a call, but launches nothing: the arrays need a type and a shape only.
  void prepare_call(std::span<const Named> passed) const;

  /// What calls with arrays may pass. Throws Error(unsupported) for a kernel whose structs the caller fills.
  const std::vector<CallArgument>& call_arguments() const;
  /// The names of [problem], which calls with arrays may set.
  std::vector<std::string> problem_names() const;
  /// For language bindings: solves a call. arrays: for each of call_arguments(), null where it is not passed. words:
  /// names of the problem that the call sets. The answer lives as long as the kernel and is found again without locks.
  const ArrayCall& solve(std::span<const Array* const> arrays, const Bindings& words = {}) const;
  /// The outputs of a solved call, in the spec's order.
  static const std::vector<ArrayOutput>& outputs(const ArrayCall& call) noexcept;
  /// The type of an argument in a solved call, by its number among call_arguments().
  static DType type_of(const ArrayCall& call, std::size_t argument) noexcept;
  /// Queues a solved call. arrays: as for solve, but with all outputs. scalars: for each of call_arguments(), the
  /// address of a value of type_of; null: the spec's.
  void launch(Stream stream, const ArrayCall& call, std::span<const Array* const> arrays,
              std::span<const void* const> scalars) const;

  /// The arguments of a call, in its order, with scratch buffers, which it may omit.
  std::vector<KernelArgument> arguments() const;
  /// The call for language bindings, whose argument types are known only at run time. values: for each of arguments(),
  /// the address of a pointer, or of a value that has the bits of its dtype; the caller answers for the types. bytes:
  /// empty, or for each argument the number of bytes behind its pointer (ignored for values), which are then compared
  /// with what the problem needs, instead of a question to the driver. Throws the errors of a call.
  void launch(Stream stream, std::span<const void* const> values, std::span<const std::size_t> bytes = {}) const;

  /// The same kernel for problems with these sizes, which are then not taken from scalars. Throws
  /// Error(invalid_argument) for a name that is not a problem size of the spec, and for a value of another type than
  /// the size has there (an integer converts to a float). This costs more than a call, so keep the result.
  Kernel for_problem(const Bindings& sizes) const;

  /// The configuration that a call would run for this problem on the calling thread's device. Loads nothing. `problem`
  /// need not repeat sizes given to for_problem; for a kernel from Result::kernel() or CompiledConfig::kernel() it may
  /// be empty. Throws the errors of a call.
  Choice choice(const Bindings& problem = {}) const;

  /// A SHA-256, as hexadecimal text, of the contents of LoadSettings::bundle, the kernel's name, and the configurations
  /// that choice() returns for these problems on the calling thread's device. Processes that pass the same problems and
  /// get the same digest run the same configurations, if LoadSettings::frozen is set. Reads the whole bundle. Throws
  /// Error(invalid_argument) without a bundle, Error(io) for a damaged one, and the errors of choice.
  std::string digest(const std::vector<Bindings>& problems = {}) const;

  /// Prepares this problem as the first call on it would, but launches nothing. Use it before a timed section, or
  /// before a stream is captured into a graph: a driver may refuse to load a kernel during the capture.
  void prepare(const Bindings& problem = {}) const;

  /// Gives a constant of the spec (kind = "constant") its contents for all later calls of this kernel and its copies:
  /// host data of the constant's type, which is copied; set_constant("filter", weights). Waits for what is queued in
  /// the contexts that the kernel was called in, and must not run beside a call on another thread. A constant whose
  /// spec gives a value or a file has that until then; others must be set before the first call. Throws
  /// Error(invalid_argument) for a name that is not a constant and for data that does not fit.
  void set_constant(const std::string& constant, const Data& data) const;

  /// Waits until no tuning in the background remains. Throws Error(invalid_argument) in a callback of that tuning.
  void wait() const;

  const std::string& name() const noexcept;     ///< name of the kernel
  const std::string& backend() const noexcept;  ///< cuda, hip or host

  Kernel(const Kernel&) = default;             ///< shares everything; a move does the same, and the other stays usable
  Kernel& operator=(const Kernel&) = default;  ///< shares everything; a move does the same, and the other stays usable

 private:
  friend struct Access;
  template <class Type>
  friend class TypedKernel;
  Kernel(std::shared_ptr<detail::KernelState> state, std::shared_ptr<const detail::Binding> binding) noexcept;
  void check_signature(const detail::Signature& signature) const;
  void call_in_order(Stream stream, std::span<const Array* const> arrays) const;
  void call(void* stream, const void* const* values, const detail::Signature& signature,
            const std::size_t* bytes = nullptr) const;

  std::shared_ptr<detail::KernelState> state_;
  std::shared_ptr<const detail::Binding> binding_;
};

/// A kernel that is called like a C++ function: load<void(const float* x, float* y, int n)>(...). The compiler checks
/// the number, types and constness of the arguments at each call, and converts them as for any function. The type is
/// compared with the spec once, when the kernel is made.
template <class Type>
class TypedKernel {
  static_assert(!std::is_same_v<Type, Type>, "TypedKernel: the type of a kernel is void(Arguments...)");
};

/// A kernel that is called like a C++ function with these parameters.
template <class... Arguments>
class TypedKernel<void(Arguments...)> {
 public:
  /// Throws Error(invalid_argument) with the argument's name if the spec has another number of arguments, another type,
  /// or an output where this type has a pointer to const.
  explicit TypedKernel(Kernel kernel) : TypedKernel(std::move(kernel), Checked{}) {
    kernel_.check_signature(detail::TypesOf<Arguments...>::checked_signature);
  }

  /// Queues one launch like Kernel's call. The memory behind pointers is checked if LoadSettings::checked is set; types
  /// are not checked again.
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
  /// As Kernel::digest.
  std::string digest(const std::vector<Bindings>& problems = {}) const { return kernel_.digest(problems); }
  /// As Kernel::set_constant.
  void set_constant(const std::string& constant, const Data& data) const { kernel_.set_constant(constant, data); }
  const std::string& name() const noexcept { return kernel_.name(); }  ///< of the kernel

 private:
  struct Checked {};
  TypedKernel(Kernel kernel, Checked) : kernel_(std::move(kernel)) {}
  Kernel kernel_;
};

/// The kernel of a spec file, or one that comes with xtune, by its name: load("gemm"). Creates no context. Throws
/// Error: invalid_spec, io, invalid_argument for an unknown backend, unavailable if the backend has no driver,
/// unsupported for kernels that cannot be called: a spec of a whole program or of a Kokkos unit (`xtune run` tunes
/// these), a kernel with more than 64 arguments.
Kernel load(const std::filesystem::path& spec, const LoadSettings& settings = {});
/// The kernel of a spec built in code, which is copied. settings.defines is ignored.
Kernel load(const Tunable& tunable, const LoadSettings& settings = {});

/// A kernel of a bundle that carries its spec (`xtune store bundle --spec`). No other file and no store is needed, and
/// the bundle may be read-only. The spec and its sources are in a private temporary directory until the last copy of
/// the kernel is destroyed. kernel: its name; may be empty if the bundle has only one spec. settings.bundle is ignored.
/// Throws the errors of load, and Error(invalid_argument) with the list of kernels if the bundle has none of that name.
Kernel load_bundle(const std::filesystem::path& bundle, const std::string& kernel = "", LoadSettings settings = {});

/// The kernel of a spec file as a typed kernel: load<void(const float* x, float* y, int n)>("axpy.toml"). Throws the
/// errors of load, and Error(invalid_argument) if the type does not fit the spec.
template <class Type>
TypedKernel<Type> load(const std::filesystem::path& spec, const LoadSettings& settings = {}) {
  return TypedKernel<Type>(load(spec, settings));
}
/// The same for a spec built in code.
template <class Type>
TypedKernel<Type> load(const Tunable& tunable, const LoadSettings& settings = {}) {
  return TypedKernel<Type>(load(tunable, settings));
}
/// A kernel of a bundle as a typed kernel. Throws the errors of load_bundle, and Error(invalid_argument) if the type
/// does not fit the spec.
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
