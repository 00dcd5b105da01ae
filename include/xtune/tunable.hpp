// A kernel to tune, with everything about it: read from a spec file, or built in code.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "xtune/across_rule.hpp"
#include "xtune/data.hpp"
#include "xtune/dtype.hpp"
#include "xtune/error.hpp"
#include "xtune/value.hpp"

namespace xtune {

namespace detail {
struct TunableState;
}  // namespace detail

/// A number, or the text of an expression over problem, device and parameters: 256, "ceildiv(N, BLOCK)".
class Formula {
 public:
  Formula() = default;  ///< empty
  /// An expression; a null pointer gives an empty formula.
  Formula(const char* text) : text_(text ? text : "") {}  // NOLINT(google-explicit-constructor)
  /// An expression.
  Formula(std::string text) : text_(std::move(text)) {}  // NOLINT(google-explicit-constructor)
  /// A number; an unsigned one may be above the maximum of std::int64_t, for a scalar of u64.
  template <Arithmetic T>
  Formula(T number)  // NOLINT(google-explicit-constructor)
      : text_(std::unsigned_integral<T> && sizeof(T) == sizeof(std::uint64_t) ? std::to_string(number)
                                                                              : expression_text(Value(number))) {}
  const std::string& text() const noexcept { return text_; }  ///< the text, as written in a spec

 private:
  std::string text_;
};

/// The extents of a buffer in elements, C order, each a number or an expression over problem and device: {"M", "N"},
/// "N", 1024. Expressions are evaluated for each problem, so each case has buffers of its size.
class Shape {
 public:
  /// One to eight extents.
  Shape(std::initializer_list<Formula> extents) : extents_(extents) {}
  /// One to eight extents.
  Shape(std::vector<Formula> extents) : extents_(std::move(extents)) {}  // NOLINT(google-explicit-constructor)
  /// One extent.
  template <class Extent>
  requires(std::convertible_to<Extent, Formula> && !std::same_as<std::remove_cvref_t<Extent>, Shape>)
      Shape(Extent&& extent)  // NOLINT(google-explicit-constructor)
      : extents_{Formula(std::forward<Extent>(extent))} {}
  const std::vector<Formula>& extents() const noexcept { return extents_; }  ///< the formulas, in C order

 private:
  std::vector<Formula> extents_;
};

/// A value of a measured configuration: an expression, or code.
class Metric {
 public:
  /// A number or the text of an expression.
  template <class Expression>
  requires(std::convertible_to<Expression, Formula> && !std::same_as<std::remove_cvref_t<Expression>, Metric>)
      Metric(Expression&& expression)  // NOLINT(google-explicit-constructor)
      : expression_(std::forward<Expression>(expression)) {}
  /// Code gets everything that an expression may name (problem, configuration, facts of the device, time_ms, time_s,
  /// registers, ...) and the metrics before it, and returns the value; NaN: none. It is called whenever a value is
  /// needed, also for stored measurements: nothing that it returns is stored. An exception leaves the function that
  /// needed the value. label: finals that were decided by other code do not count, so change the label with the code.
  template <std::invocable<const Bindings&> Code>
  requires(!std::convertible_to<Code, Formula> && !std::same_as<std::remove_cvref_t<Code>, Metric>)
      Metric(Code code, std::string label = "1")  // NOLINT(google-explicit-constructor)
      : code_(std::move(code)), label_(std::move(label)) {}

  const Formula& expression() const noexcept { return expression_; }                            ///< empty: code
  const std::function<double(const Bindings& values)>& code() const noexcept { return code_; }  ///< empty: expression
  const std::string& label() const noexcept { return label_; }                                  ///< of the code

 private:
  Formula expression_;
  std::function<double(const Bindings& values)> code_;
  std::string label_;
};

/// How a parameter reaches the kernel.
enum class ParamKind {
  compile_time,  ///< as a macro: -D NAME=value
  launch_only,   ///< only through launch and arguments: no recompilation
};

/// A reference kernel's own source and launch, where they differ from those of the tuned kernel.
struct ReferenceKernel {
  std::filesystem::path source_file = {};  ///< file; empty: see source
  std::string source = {};                 ///< text; empty: the tuned kernel's source
  std::vector<std::string> options = {};   ///< instead of the tuned kernel's options
  std::vector<Formula> grid = {};          ///< in blocks; set it together with block
  std::vector<Formula> block = {};         ///< in threads; set it together with grid
  Formula shared = {};                     ///< dynamic shared memory, bytes
  /// Names of the arguments that it takes, in its order; empty: those of the tuned kernel.
  std::vector<std::string> args = {};
};

/// How a kernel reads a buffer through a tensor map (CUtensorMap, compute capability 9.0): formulas over problem,
/// device and parameters, with dimensions in the order of the shape (the last one is contiguous).
struct TensorMapView {
  std::vector<Formula> box = {};              ///< elements that one copy takes
  Formula swizzle = {};                       ///< bytes: 0, 32, 64, 128; empty: 0
  std::vector<Formula> shape = {};            ///< in elements; empty: the buffer's
  std::vector<Formula> strides = {};          ///< in elements, of all dimensions but the last; empty: dense
  std::vector<Formula> element_strides = {};  ///< steps between elements, 1 to 8; empty: ones
  Formula l2_promotion = {};                  ///< bytes: 0, 64, 128, 256; empty: 128
  Formula interleave = {};                    ///< bytes: 0, 16, 32; empty: 0
  std::optional<DType> dtype = {};            ///< of the elements; unset: the buffer's
  bool tf32 = false;                          ///< f32 is rounded to tf32
  bool nan_outside = false;                   ///< what lies outside of the shape reads as NaN, not as zero
};

/// A field of a struct that a kernel takes by value.
struct StructField {
  std::string name;                 ///< as in C++
  DType dtype = DType::f32;         ///< of each number
  std::vector<Formula> value = {};  ///< one for all numbers of the field, or one for each
  std::uint64_t count = 1;          ///< elements of an array
  int lanes = 1;                    ///< of a vector: 3 of float3
  std::string of = {};              ///< not numbers, but the address of this buffer; empty: numbers
};

/// One of several kernels of the source that are launched in sequence and timed as one unit.
struct KernelStep {
  std::string entry = {};              ///< "pack", or a template-id "gemm<{BLOCK_M}>"
  std::vector<Formula> grid = {};      ///< 1 to 3 extents, in blocks
  std::vector<Formula> block = {};     ///< 1 to 3 extents, in threads
  std::vector<std::string> args = {};  ///< names of declared arguments, in this kernel's order; empty: all in theirs
  std::string when = {};               ///< expression: the step is skipped where it is false; empty: never
  Formula shared = {};                 ///< dynamic shared memory, bytes
  std::vector<Formula> cluster = {};   ///< 1 to 3 extents, in blocks; empty: no cluster
  bool cooperative = false;            ///< all blocks are resident at once, so they may wait for each other
  Formula repeat = {};                 ///< launches in a loop, whose index is `i` in the others; empty: one launch
  std::vector<std::pair<std::string, Formula>> with = {};  ///< values of scalars for this step
};

/// What calls with arrays (docs/dispatch.md) may do with an input.
struct CallRule {
  /// The name of a boolean of the problem, which is true where a call passes the input, or an expression; empty: every
  /// call passes it.
  Formula when = {};
  std::string transposed = {};  ///< the boolean of the problem that is true where it is a transposed view; empty: never
};

/// A spec (docs/spec-format.md) together with data, predicates and callbacks. A value type: copies are independent.
/// Functions that build it check only their own arguments. check_spec() and all functions that use the spec check it as
/// a whole; their messages show the line of toml() that is wrong. Several threads may not use it while one of them
/// changes it.
class Tunable {
 public:
  /// name: the kernel's name in the store, and its entry point unless entry() sets one.
  explicit Tunable(std::string name);
  /// Reads a spec file, or the spec of a kernel that comes with xtune by its name ("gemm", as `xtune kernels` lists it;
  /// a file of that name comes first). Its problem and space cannot be changed in code; data, predicates and callbacks
  /// can be added. defines: like -D NAME=value. Throws Error(io) or Error(invalid_spec).
  static Tunable from_file(const std::filesystem::path& path, const Bindings& defines = {});
  /// The same for the text of a spec; relative paths in it start at base_dir.
  static Tunable from_text(const std::string& toml, const std::filesystem::path& base_dir = ".",
                           const Bindings& defines = {});
  Tunable(const Tunable& other);                 ///< independent of the other
  Tunable(Tunable&& other) noexcept;             ///< the other can only be assigned to or destroyed
  Tunable& operator=(const Tunable& other);      ///< independent of the other
  Tunable& operator=(Tunable&& other) noexcept;  ///< the other can only be assigned to or destroyed
  ~Tunable();

  const std::string& name() const noexcept;  ///< name of the kernel
  /// The text of the spec, without the data and callbacks that are attached.
  std::string toml() const;
  /// Checks everything in the spec that needs no device. Throws Error(invalid_spec) with the line of toml() that is
  /// wrong.
  void check_spec() const;

  /// The file of the kernel's source: the common subset of CUDA C++ and HIP C++. Relative paths start at the working
  /// directory.
  Tunable& source_file(const std::filesystem::path& path);
  /// The same as text, which becomes part of toml(). Its quoted includes start at the working directory.
  Tunable& source(const std::string& text);
  Tunable& entry(const std::string& entry);    ///< "gemm", or a template-id "gemm<{BLOCK_M}, {BLOCK_N}>"
  Tunable& option(const std::string& option);  ///< a compiler option, for every backend
  Tunable& option(const std::string& backend, const std::string& option);  ///< only for cuda, hip or host
  Tunable& define(const std::string& name, const Formula& value);          ///< a macro for the kernel's source
  Tunable& include_dir(const std::filesystem::path& path);                 ///< searched after the source's directory
  Tunable& compile_timeout_s(double seconds);                              ///< time limit for one configuration,
                                                                           ///< seconds; default 120

  /// A problem size that expressions use by name, and its default.
  Tunable& problem(const std::string& name, const Value& value);
  /// One of several problems that are tuned in one run; names that are missing keep their defaults.
  Tunable& add_case(const Bindings& problem);

  /// A parameter and its values: param("BLOCK", {64, 128, 256}).
  template <class T>
  Tunable& param(const std::string& name, std::initializer_list<T> values, ParamKind kind = ParamKind::compile_time) {
    return param(name, std::vector<T>(values), kind);
  }
  /// The same with the values of a vector.
  template <class T>
  Tunable& param(const std::string& name, const std::vector<T>& values, ParamKind kind = ParamKind::compile_time) {
    std::vector<Value> list;
    for (const auto& value : values) list.emplace_back(static_cast<const T&>(value));
    return add_param(name, list, kind);
  }
  /// A parameter with the values min, min + step, ... up to max.
  Tunable& param_range(const std::string& name, std::int64_t min, std::int64_t max, std::int64_t step = 1,
                       ParamKind kind = ParamKind::compile_time);
  /// A parameter with the powers of two from min to max.
  Tunable& param_pow2(const std::string& name, std::int64_t min, std::int64_t max,
                      ParamKind kind = ParamKind::compile_time);
  /// Parameters whose values belong together: params({"BLOCK_M", "BLOCK_N"}, {{128, 64}, {64, 64}}). Each row has a
  /// value for each name, and only the rows are tried. Throws Error(invalid_argument) for a row of another length.
  Tunable& params(const std::vector<std::string>& names, const std::vector<std::vector<Value>>& rows,
                  ParamKind kind = ParamKind::compile_time);
  /// A condition that every configuration must satisfy: "BLOCK * UNROLL <= 1024".
  Tunable& constraint(const std::string& expression);
  /// The same as code: called with the named parameters and problem sizes, once for each combination of their values.
  /// An exception that it throws leaves tune(). optional: further names, which the spec need not have; the values then
  /// lack them.
  Tunable& constraint(const std::vector<std::string>& names, std::function<bool(const Bindings& values)> predicate,
                      const std::vector<std::string>& optional = {});
  /// The same with the values as arguments, in the order of the names, which may also be names of the problem:
  /// constraint({"BLOCK", "UNROLL"}, [](int block, int unroll) { return block * unroll <= 512; }). Arguments are
  /// numbers, bool or std::string; if a value has another type than its argument, tune() throws
  /// Error(invalid_argument).
  template <class Predicate>
  requires(!std::invocable<Predicate&, const Bindings&>) Tunable& constraint(const std::vector<std::string>& names,
                                                                             Predicate predicate) {
    return typed_constraint(names, std::function(std::move(predicate)));
  }
  /// Starts the search at configurations that a cost model suggests: the name of a template ("matmul"), and the spec's
  /// formula for each name of the template.
  Tunable& candidates(const std::string& model, const std::vector<std::pair<std::string, Formula>>& map = {},
                      int top_k = 20);

  Tunable& grid(const std::vector<Formula>& extents);     ///< 1 to 3 extents, in blocks
  Tunable& block(const std::vector<Formula>& extents);    ///< 1 to 3 extents, in threads
  Tunable& cluster(const std::vector<Formula>& extents);  ///< 1 to 3 extents, in blocks
  Tunable& shared(const Formula& bytes);                  ///< dynamic shared memory, bytes
  Tunable& cooperative(bool on = true);  ///< all blocks are resident at once, so they may wait for each other
  /// Adds a kernel to those that are launched in sequence; excludes entry, grid, block, cluster, shared and
  /// cooperative.
  Tunable& step(const KernelStep& step);

  /// Tunes a function of this program instead of a kernel: the spec then has only a problem and a space. tune() calls
  /// it on its own thread, in this process and without a time limit, once for each sample, and it returns the time of
  /// what it measured in milliseconds. An exception is a launch that failed, except for Error(interrupted), which
  /// leaves tune(). code_version: stored results answer as long as it stays the same, so change it with the function.
  /// device: the backend whose first device (TuneSettings::devices) the function uses: cuda, hip or host. load() and
  /// compile_all() cannot use it.
  ///
  /// prepare (may be empty): for work that can be done ahead, such as compiling: called once for each configuration
  /// before it is timed, on threads of the library, TuneSettings::jobs at a time, and never while something is timed.
  /// An exception means that the configuration does not compile. When a run is stopped, it waits for the calls in
  /// progress.
  Tunable& function(std::function<double(const Bindings& problem, const Bindings& config)> timed,
                    const std::string& code_version, const std::string& device = "host",
                    std::function<void(const Bindings& problem, const Bindings& config)> prepare = {});

  /// Arguments are declared in the kernel's order. An input that the kernel must not write. If the data's size or type
  /// differs from the shape and type for a problem, tune() throws Error(invalid_argument) with the argument's name.
  Tunable& input(const std::string& name, DType dtype, const Shape& shape, const Data& data = {},
                 const CallRule& rule = {});
  /// The same with the DType of T: input<float>("x", "N").
  template <class T>
  Tunable& input(const std::string& name, const Shape& shape, const Data& data = {}, const CallRule& rule = {}) {
    return input(name, dtype_of<T>(), shape, data, rule);
  }
  /// The same with a copy of the vector's elements and their type: input("x", x, "N").
  template <class T>
  Tunable& input(const std::string& name, const std::vector<T>& values, const Shape& shape) {
    return input(name, dtype_of<T>(), shape, Data(values));
  }
  /// An argument that the kernel writes and never reads.
  Tunable& output(const std::string& name, DType dtype, const Shape& shape);
  /// The same with the DType of T: output<float>("y", "N").
  template <class T>
  Tunable& output(const std::string& name, const Shape& shape) {
    return output(name, dtype_of<T>(), shape);
  }
  /// An argument that the kernel reads and writes; every launch starts with the same contents. Data as for input.
  Tunable& inout(const std::string& name, DType dtype, const Shape& shape, const Data& data = {},
                 const CallRule& rule = {});
  /// The same with the DType of T: inout<float>("y", "N").
  template <class T>
  Tunable& inout(const std::string& name, const Shape& shape, const Data& data = {}, const CallRule& rule = {}) {
    return inout(name, dtype_of<T>(), shape, data, rule);
  }
  /// The same with a copy of the vector's elements and their type: inout("y", y, "N").
  template <class T>
  Tunable& inout(const std::string& name, const std::vector<T>& values, const Shape& shape) {
    return inout(name, dtype_of<T>(), shape, Data(values));
  }
  /// Memory of one launch, whose contents are never compared; its shape may name parameters. zero: it holds zeros
  /// before every launch.
  Tunable& scratch(const std::string& name, DType dtype, const Shape& shape, bool zero = false);
  /// Passed by value. default_value: what it is in calls with arrays that do not pass it; empty: its value.
  Tunable& scalar(const std::string& name, DType dtype, const Formula& value, const Formula& default_value = {});
  /// A scalar with the type of the number.
  template <Arithmetic T>
  Tunable& scalar(const std::string& name, T value) {
    return scalar(name, dtype_of<T>(), Formula(value));
  }
  /// A struct passed by value, with its fields in their order in C++.
  Tunable& structure(const std::string& name, const std::vector<StructField>& fields);
  /// A struct or vector passed by value, with these bytes.
  Tunable& value(const std::string& name, std::span<const std::byte> bytes);
  /// A struct or vector passed by value, with these contents.
  template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>) Tunable& value(const std::string& name,
                                                                                    const T& value) {
    return this->value(name, std::as_bytes(std::span(&value, 1)));
  }
  /// The address of an array with the addresses of these buffers: count (empty: 1) in each of them, stride elements
  /// apart.
  Tunable& table(const std::string& name, const std::vector<std::string>& of, const Formula& count = {},
                 const Formula& stride = {});
  /// An output that no kernel writes: the sum of a scratch buffer's elements, over its leading dimensions.
  Tunable& sum(const std::string& name, DType dtype, const Shape& shape, const std::string& of);
  /// A variable of the source (`__constant__` or `__device__`) that is filled before launches; it is not an argument of
  /// a call. Data as of input. Its place among the arguments does not matter.
  Tunable& constant(const std::string& name, DType dtype, const Shape& shape, const Data& data = {});
  /// The same with the type of T: constant<float>("filter", 9).
  template <class T>
  Tunable& constant(const std::string& name, const Shape& shape, const Data& data = {}) {
    return constant(name, dtype_of<T>(), shape, data);
  }
  /// A copy of the vector's elements, of their type: constant("filter", filter, 9).
  template <class T>
  Tunable& constant(const std::string& name, const std::vector<T>& values, const Shape& shape) {
    return constant(name, dtype_of<T>(), shape, Data(values));
  }
  /// A tensor map of a buffer, which the kernel takes by value (`const __grid_constant__ CUtensorMap`). xtune makes it
  /// for each configuration; callers of the kernel pass only the buffer.
  Tunable& tensor_map(const std::string& name, const std::string& of, const TensorMapView& view);
  /// The arguments that the kernel takes, in its order, if these are not all that are declared: a kernel may read a
  /// buffer only through a tensor map.
  Tunable& kernel_args(const std::vector<std::string>& names);
  /// Sets the contents of an argument that is already declared, for example in a spec file.
  Tunable& data(const std::string& argument, const Data& data);

  /// Sets a kernel that computes the same in a simpler way. If several references are set, the last one is used.
  Tunable& reference_kernel(const std::string& entry, const ReferenceKernel& details = {});
  /// The kernel itself at one configuration: reference_config({{"BLOCK", 16}}). Parameters that are not named have
  /// their first value. It cannot find an error that all configurations share.
  Tunable& reference_config(const Bindings& values);
  /// Sets a reference that xtune provides: reference_builtin("gemm", {{"a", "A"}, {"b", "B"}}).
  Tunable& reference_builtin(const std::string& builtin, const std::vector<std::pair<std::string, Formula>>& roles,
                             const std::string& output = {});
  Tunable& reference_file(const std::filesystem::path& npy, const std::string& output = {});  ///< expected contents
  Tunable& reference_command(const std::vector<std::string>& words);  ///< a program that writes the expected contents
  /// Sets code that computes the expected outputs from the inputs, once for each problem. If it throws, tune() throws
  /// Error(invalid_argument); an Error(interrupted) leaves tune() as it is.
  Tunable& reference(std::function<Expected(const Arguments&)> reference);
  /// Sets code that validates the outputs of every configuration that runs. If it returns false or throws, the result
  /// is wrong, with the exception's text as the message, except that an Error(interrupted) leaves tune(); a validator
  /// that returns nothing reports only by exceptions. With a reference, it runs after the comparison. xtune cannot
  /// detect that the code changed: stored results stay valid until the label changes, so change it with the validator.
  template <std::invocable<const Arguments&> Validator>
  Tunable& validator(Validator validator, const std::string& label = "1") {
    if constexpr (std::is_void_v<std::invoke_result_t<Validator&, const Arguments&>>) {
      return set_validator(
          [validator = std::move(validator)](const Arguments& arguments) mutable {
            validator(arguments);
            return true;
          },
          label);
    } else {
      return set_validator(std::move(validator), label);
    }
  }
  /// An earlier name of validator().
  template <std::invocable<const Arguments&> Validator>
  Tunable& output_check(Validator code, const std::string& label = "1") {
    return validator(std::move(code), label);
  }
  /// Accepts every result: removes the reference and the validator.
  Tunable& skip_validation();
  Tunable& tolerance(double rtol, double atol);  ///< instead of the default for the type and reduction

  /// Sets a key of the spec's [validate] (docs/validation.md): validation("repeat", 2).
  Tunable& validation(const std::string& key, const Value& value) { return set("validate", key, value); }
  /// Sets a key of the spec's [measure] (docs/measuring.md): measure("flush", "none").
  Tunable& measure(const std::string& key, const Value& value) { return set("measure", key, value); }
  /// Sets a key of the spec's [search] (docs/search.md): search("evals", 100). Throws Error(invalid_argument) for a
  /// strategy that does not exist.
  Tunable& search(const std::string& key, const Value& value);
  /// A value that is shown with results: metric("GB_per_s", "12 * N / time_s / 1e9"). Goals may name it, also if it is
  /// code; configurations are then measured in full, since a race cannot know whether more time is worse.
  Tunable& metric(const std::string& name, const Metric& metric);
  Tunable& minimize(const std::vector<Formula>& goals);    ///< goals instead of the time; one or two
  Tunable& maximize(const std::vector<Formula>& goals);    ///< goals instead of the time; one or two
  Tunable& across(AcrossRule rule);                        ///< for tune_cases: also one configuration for all
  Tunable& dispatch_key(const std::vector<Formula>& key);  ///< buckets problems: {"pow2(M)", "N"}
  /// Maximum distance of a problem whose configuration is used outside of its bucket (docs/dispatch.md).
  Tunable& dispatch_radius(double radius);

 private:
  friend struct Access;
  template <class Answer, class... Values>
  Tunable& typed_constraint(const std::vector<std::string>& names, std::function<Answer(Values...)> predicate) {
    if (names.size() != sizeof...(Values))
      throw Error(ErrorKind::invalid_argument, "constraint: the predicate takes " + std::to_string(sizeof...(Values)) +
                                                   " values, and names has " + std::to_string(names.size()));
    return constraint(names, [names, predicate = std::move(predicate)](const Bindings& values) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return static_cast<bool>(predicate(value_named<std::remove_cvref_t<Values>>(values, names[I])...));
      }
      (std::index_sequence_for<Values...>{});
    });
  }
  template <class T>
  static T value_named(const Bindings& values, const std::string& name) {
    try {
      return value_as<T>(values.at(name));
    } catch (const Error& error) {
      throw Error(error.kind(), "constraint in code: " + name + ": " + error.what());
    }
  }
  explicit Tunable(std::unique_ptr<detail::TunableState> state);
  const detail::TunableState& state() const;  // throws for a moved-from object
  detail::TunableState& built();              // throws if the spec came from a text
  detail::TunableState& attached();
  Tunable& add_param(const std::string& name, const std::vector<Value>& values, ParamKind kind);
  Tunable& set_reference(const std::string& toml);
  Tunable& set_validator(std::function<bool(const Arguments&)> validator, const std::string& label);
  Tunable& set(const std::string& section, const std::string& key, const Value& value);
  std::unique_ptr<detail::TunableState> state_;
};

}  // namespace xtune
