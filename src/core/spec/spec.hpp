// A tuning job as the user wrote it: the spec file, parsed and checked, with the place of every text that may still
// fail.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/named.hpp"
#include "core/space/space.hpp"
#include "core/spec/dtype.hpp"
#include "xtune/error.hpp"
#include "xtune/fill.hpp"

namespace xtune::spec {

/// inlier_mean: the mean without outliers (measure::Summary), which [measure] outliers = "drop" makes of the mean.
enum class Statistic { median, min, mean, inlier_mean };

/// The words in specs, records and options.
inline constexpr auto statistic_words = base::enum_words<Statistic>("median", "min", "mean", "mean without outliers");

constexpr const char* to_string(Statistic statistic) noexcept { return statistic_words.of(statistic); }
/// nullopt for an unknown word.
constexpr std::optional<Statistic> statistic_from_string(std::string_view word) noexcept {
  return statistic_words.find(word);
}

/// The place of a text; lines and columns count from 1. Line 0: no file (built from code or the command line).
struct Location {
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;
};
std::string to_string(const Location& at);  ///< "gemm.toml:12:9", or only the file

/// A text from the spec with its place: an expression, or a template text in which {expression} is replaced by its
/// value.
struct Text {
  std::string text;
  Location at;
  bool escaped = false;  ///< it is on one line, where line breaks, quotes and backslashes are escaped
  std::shared_ptr<const space::Expression::Derived> derived{};  ///< names of [derived]; null: none
};

struct KernelSpec {
  std::string name;              ///< name in the store
  std::filesystem::path source;  ///< absolute; empty in a space-only spec; the spec's own path where code is given
  std::optional<Text> code;      ///< the source's text; unset: it is in the file
  Location source_at;
  /// The arguments that the kernel takes, in its order, by their numbers in Spec::args; unset: all but constants.
  std::optional<std::vector<std::size_t>> args{};
  Text entry;                                                ///< "gemm", or a template-id: "gemm<{BLOCK_M}, {BLOCK_N}>"
  std::vector<Text> options;                                 ///< for every backend; `{EXPR}` is replaced
  std::map<std::string, std::vector<Text>> backend_options;  ///< additional ones for one backend: options_<backend>
  std::optional<Text> controls{};  ///< CUDA: the file for ptxas' --apply-controls, relative to the spec's directory
  std::vector<std::pair<std::string, Text>> defines;
  std::vector<std::filesystem::path> include_dirs;  ///< absolute; the source's directory is searched first
  double compile_timeout_s = 120;
  /// "replay": nothing is compiled or measured; "kokkos": the source is a Kokkos unit; empty: any kernel backend
  std::string backend;
  std::filesystem::path recording;  ///< absolute: the source of a replay; empty: given on the command line
};

struct LaunchSpec {
  std::vector<Text> grid, block, cluster;  ///< 1 to 3 expressions each; cluster may be empty
  std::optional<Text> shared;              ///< dynamic shared memory, bytes
  bool cooperative = false;                ///< as device::Launch
};

/// A loop of launches, "for index in range(count)". Steps that follow each other with the same loop alternate in it.
struct LoopSpec {
  std::string index = "i";  ///< a name for `when`, `with` and the launch of its steps
  Text count;               ///< an expression over problem, parameters and device
};

/// One of several kernels of the source that a configuration launches in sequence.
struct StepSpec {
  Text entry;                ///< as KernelSpec::entry
  std::optional<Text> when;  ///< an expression over problem, parameters and device; where false, the step is skipped
  LaunchSpec launch;
  std::optional<std::vector<std::size_t>> args;  ///< as KernelSpec::args
  Location at;
  std::optional<LoopSpec> repeat{};
  std::vector<std::pair<std::string, Text>> with{};  ///< values of scalars for this step, instead of their own
};
/// Launches of one configuration.
inline constexpr std::size_t max_launches = 4096;

/// constant: no argument of the kernel, but a variable of its source that xtune fills. tensor_map: a description of a
/// buffer, passed by value. structure: a struct or vector by value. table: the address of an array of addresses.
enum class ArgKind { buffer, scalar, constant, tensor_map, structure, table };
constexpr bool has_elements(ArgKind kind) noexcept { return kind == ArgKind::buffer || kind == ArgKind::constant; }
/// Whether its bytes are made for each configuration.
constexpr bool has_value(ArgKind kind) noexcept {
  return kind == ArgKind::scalar || kind == ArgKind::structure || kind == ArgKind::table;
}
/// scratch: memory of one launch, whose contents are never compared.
enum class ArgRole { in, out, inout, scratch };
constexpr bool is_input(ArgRole role) noexcept { return role == ArgRole::in || role == ArgRole::inout; }
constexpr bool is_output(ArgRole role) noexcept { return role == ArgRole::out || role == ArgRole::inout; }

inline constexpr auto kind_words =
    base::enum_words<ArgKind>("buffer", "scalar", "constant", "tensor_map", "struct", "table");
inline constexpr auto role_words = base::enum_words<ArgRole>("in", "out", "inout", "scratch");
/// The names of an element's place in Fill::formula: its number, and its index in each dimension.
inline constexpr std::array place_names{"index", "i0", "i1", "i2", "i3", "i4", "i5", "i6", "i7"};
inline constexpr auto fill_words =
    base::enum_words<Fill>("auto", "integer", "uniform", "normal", "randn", "zero", "one", "range", "sorted",
                           "permutation", "one_hot", "integers", "offsets", "formula");

/// How a kernel reads a buffer through a tensor map. Expressions over problem, device and parameters, dimensions in the
/// order of the shape.
struct TensorMapSpec {
  std::string of;                                         ///< name of the buffer
  std::vector<Text> box;                                  ///< elements that one copy takes
  std::vector<Text> shape;                                ///< of the view; empty: the buffer's
  std::vector<Text> strides;                              ///< in elements, of all dimensions but the last; empty: dense
  std::vector<Text> element_strides;                      ///< empty: ones
  std::optional<Text> swizzle, l2_promotion, interleave;  ///< bytes; unset: 0, 128, 0
  bool tf32 = false;                                      ///< f32 is rounded to tf32
  bool nan_outside = false;                               ///< what lies outside of the shape reads as NaN, not as zero
};

/// A field of a struct, the only one of a vector, or addresses of a table. Its numbers are one text for all of them, or
/// one for each.
struct FieldSpec {
  std::string name;  ///< empty: of a vector or table
  Location at;
  DType dtype = DType::f32;
  std::uint32_t lanes = 1;                 ///< of a vector type: 3 of float3
  std::uint64_t count = 1;                 ///< of an array
  std::vector<Text> value{};               ///< over problem, device and parameters
  std::string of{};                        ///< not numbers, but addresses in this buffer; empty: numbers
  std::optional<Text> offset{}, stride{};  ///< of the first address, and between two; in elements of the buffer
  std::optional<Text> entries{};           ///< of a table: instead of count
  std::size_t at_byte = 0;                 ///< of the struct

  std::uint64_t numbers() const noexcept { return lanes * count; }
  std::size_t bytes() const noexcept { return (of.empty() ? size_of(dtype) : sizeof(void*)) * numbers(); }
};

struct ArgSpec {
  std::string name;
  Location at;
  ArgKind kind = ArgKind::buffer;
  ArgRole role = ArgRole::in;
  DType dtype = DType::f32;  ///< see dtype_of
  std::optional<Text>
      dtype_text;               ///< where the problem decides on the type: a template text; dtype is the first case's
  std::vector<Text> shape;      ///< buffers, constants: expressions over problem and device, of scratch also parameters
  Fill fill = Fill::automatic;  ///< scratch: zero where every launch is to find zeros
  std::vector<Text> numbers{};  ///< of the fill: over problem, device and buffers, which stand for their elements; of a
                                ///< formula the expression, which may also name an element's place
  std::filesystem::path file;   ///< absolute .npy, instead of fill
  bool in_code = false;         ///< the application's data, which only a run writes to a file
  /// Scalars: an expression over problem, device and parameters. Constants, instead of shape, fill and file: one
  /// element, an expression over problem and device.
  /// Buffers and constants with a fill by this: each element.
  std::optional<Text> value;
  std::optional<Text> symbol;          ///< constants: the variable in C++, a template text; unset: name
  std::optional<TensorMapSpec> map{};  ///< tensor maps, whose shape above is empty and whose type is the elements'
  std::vector<FieldSpec> fields{};     ///< structures, vectors and tables
  std::string contents{};              ///< structures: the bytes of a file, instead of fields
  std::size_t value_bytes = 0;         ///< size of a structure
  std::string like{};                  ///< buffers, constants: the argument whose contents they have; empty: their own
  std::vector<std::size_t> permute{};  ///< of `like`: the order of its dimensions here; empty: as they are
  std::string sum_of{};                ///< outputs: the scratch buffer whose sum xtune puts here; empty: kernels write

  // Of calls with arrays:
  std::optional<Text> when{};  ///< inputs: an expression over the problem; where false, no caller passes it
  std::string transposed{};    ///< inputs: the problem's boolean that says that both dimensions are exchanged
  /// Scalars: what a call takes that does not pass it; unset: value. Outputs whose type is only a name of the problem:
  /// that name, over the problem, where no array says it.
  std::optional<Text> call_value{};

  std::size_t bytes_by_value() const noexcept { return kind == ArgKind::scalar ? size_of(dtype) : value_bytes; }
};
/// Sets where the fields of a struct are, as in C++ on every backend; returns the struct's size.
std::size_t place_fields(std::vector<FieldSpec>& fields);
/// The buffers whose addresses the argument has.
std::vector<std::string> buffers_in(const ArgSpec& argument);

struct ReferenceSpec {
  /// given: by a program that uses the library; the expected outputs are in the run's scratch directory.
  enum class Kind { none, kernel, builtin, file, command, given };
  Kind kind = Kind::none;
  Location at;
  std::string name;                                ///< the kernel's entry point or the builtin's name
  std::filesystem::path source;                    ///< kernel: absolute
  std::vector<Text> options;                       ///< kernel: instead of the tuned kernel's options
  std::optional<std::vector<std::size_t>> args{};  ///< kernel: as KernelSpec::args; unset: the tuned kernel's
  std::optional<Bindings> config;    ///< kernel: the tuned kernel itself, with these values of all parameters
  std::optional<LaunchSpec> launch;  ///< kernel: its own grid and block, else the tuned kernel's
  std::filesystem::path file;        ///< file: absolute .npy
  std::vector<Text> command;         ///< command: its words, each a template text over problem and device
  std::string digest;                ///< given: hash of the expected outputs
  std::string checked_by;            ///< label of a check that the library's caller added; empty: none
  std::string output;                ///< file, builtin: the argument it describes; empty: the only output
  std::vector<std::pair<std::string, Text>> bindings;  ///< builtin: role -> argument name or expression ("a" -> "A")
};

/// The type that a template text over the problem stands for; without a text, dtype. Throws Error(invalid_spec) at the
/// text's place for a value that is not an element type.
DType dtype_in(const std::optional<Text>& text, DType dtype, const Bindings& problem);
/// An argument's type in a problem.
inline DType dtype_of(const ArgSpec& argument, const Bindings& problem) {
  return dtype_in(argument.dtype_text, argument.dtype, problem);
}

/// Roles of a builtin reference that take a word ("sum"), not an expression.
bool is_word_role(std::string_view role) noexcept;

/// Which inputs configurations are validated and measured on.
enum class Inputs { same, fresh };
inline constexpr auto inputs_words = base::enum_words<Inputs>("same", "fresh");

/// What happens to a configuration whose launches on the same inputs give different bits: record: its record states it;
/// bitwise: it is a wrong result.
enum class Repeatable { ignore, record, bitwise };
inline constexpr auto repeatable_words = base::enum_words<Repeatable>("ignore", "record", "bitwise");

struct ValidateSpec {
  ReferenceSpec reference;
  std::vector<Text> check;  ///< words of a command that judges the outputs, template texts over problem and device
  Location check_at;
  bool time_reference = true;        ///< measure the time of a reference kernel, too
  Inputs inputs = Inputs::same;      ///< fresh: new random ones for each configuration
  std::optional<double> rtol, atol;  ///< unset: from dtype, reduction length and magnitude of the reference
  double max_mismatched_ratio = 0.0;
  double outlier_factor = 10;     ///< elements that the ratio forgives lie within this many times the tolerance
  std::optional<Text> reduction;  ///< terms added up for one element; unset: as the reference knows
  Repeatable repeatable = Repeatable::ignore;
  int repeat = 0;                       ///< more launches on the same inputs, whose output bits are compared
  std::optional<DType> accumulate;      ///< the type they are added up in; unset: f64 for f64, else f32; see dtype_in
  std::optional<Text> accumulate_text;  ///< where the problem decides on it
};

enum class Flush { l2, rotate, none };
inline constexpr auto flush_words = base::enum_words<Flush>("l2", "rotate", "none");

/// How a kernel is launched: stream: each launch on its own; graph: the launches of a span as one CUDA or HIP graph.
enum class LaunchBy { stream, graph };
inline constexpr auto launch_words = base::enum_words<LaunchBy>("stream", "graph");

struct MeasureSpec {
  int warmup = 3;            ///< untimed launches before the first sample
  int rep = 50;              ///< maximum number of samples
  int min_rep = 7;           ///< minimum number of samples, unless timeout or budget ends the series
  double min_time_ms = 0;    ///< keep sampling until this much kernel time is accumulated (within rep)
  double max_time_ms = 200;  ///< stop sampling after this much kernel time
  double noise = 0.005;      ///< stop early if the median's relative uncertainty is below this
  double timeout_s = 30;     ///< wall clock for a configuration's whole benchmark
  double wait_s = 1;         ///< maximum wait before a series while the device is disturbed
  double energy_ms = 0;      ///< time of repeated runs to measure the kernel's energy; 0: do not
  Flush flush = Flush::l2;
  LaunchBy launch = LaunchBy::stream;
  Statistic statistic = Statistic::median;
  bool drop_outliers = false;  ///< from the mean: statistic is then not mean, but inlier_mean
  bool race = true;            ///< stop measuring configurations that are clearly slower than the best so far
  int finals = 8;              ///< number of best configurations measured again in turns at the end; below 2: none
};

/// A program that proposes configurations during a search.
struct AdvisorSpec {
  std::vector<std::string> command;  ///< its words; started in the spec's directory
  double share = 0.25;               ///< of the evaluations: the maximum for its proposals
  std::uint64_t every = 25;          ///< evaluations between two questions
  double timeout_s = 120;            ///< of one answer
  Location at;
};

/// none: a prediction, and nothing is measured; quick: at most quick_evals configurations; full: all of the budget.
std::vector<std::string> effort_words();
inline constexpr std::uint64_t quick_evals = 10;

struct SearchSpec {
  std::string strategy = "auto";
  std::string effort = "full";         ///< one of effort_words
  std::optional<std::uint64_t> evals;  ///< maximum of configurations; unset: all for exhaustive, else 400
  std::optional<double> seconds;       ///< maximum wall clock
  std::uint64_t seed = 1;
  std::optional<AdvisorSpec> advisor;
  Location at;

  /// Maximum number of configurations by evals (if_unset without them) and effort.
  std::uint64_t max_evals(std::uint64_t if_unset) const {
    const std::uint64_t most = evals.value_or(if_unset);
    return effort == "quick" ? std::min(most, quick_evals) : most;
  }
};

struct Metric {
  std::string name;
  Text expression;  ///< over problem, parameters, device, and time_s / time_ms
  /// Of the application, instead of the expression: gets store::measured_names and the metrics before it. Its
  /// exceptions reach the caller.
  std::function<double(const Bindings& names)> code = {};
  std::string label = {};  ///< changes with the code
};

/// What makes one configuration better than another.
struct ObjectiveSpec {
  struct Goal {
    Text expression;  ///< over problem, parameters, device, metrics and measured quantities (quantity_names)
    bool maximize = false;
  };
  enum class Across { each, geomean, worst };
  std::vector<Goal> goals;       ///< empty: minimise time_ms; two: a compromise, and the Pareto set
  Across across = Across::each;  ///< one configuration for all cases, or one for each
  Location at;
};

/// Measured quantities of a configuration besides its time: "energy_j", "registers", "repeatable", "shared_bytes",
/// "spilled_bytes".
const std::vector<std::string>& quantity_names();

/// The cost model's name for a property of a configuration, and the expression over problem, parameters and device that
/// gives it.
struct CandidateField {
  std::string name;
  Location at;
  Text expression;
};

struct CandidatesSpec {
  std::string template_name;
  int top_k = 20;
  std::string rank = "model";      ///< model | carver
  std::optional<DType> dtype;      ///< of the inputs; unset: the first input buffer's; see dtype_in
  std::optional<Text> dtype_text;  ///< where the problem decides on it
  std::vector<CandidateField> map;
  Location at, template_at, map_at;  ///< map_at: [candidates.map], else [candidates]
};

struct ProcessSpec;  // process_spec.hpp

/// How a program's call of the kernel finds a configuration for a problem.
struct DispatchSpec {
  std::vector<Text> key;  ///< problems with equal values form a bucket; empty: none
  /// Maximum distance (store::shape_distance) of a problem whose configuration is used outside of a bucket.
  double radius = std::numeric_limits<double>::infinity();
  std::optional<Bindings> default_config;  ///< values of all parameters; unset: see model::default_order
};

/// The part of a space for one of several runs: parts 0 .. count - 1 have no configuration in common, and together they
/// are the whole space.
struct Partition {
  std::uint64_t part = 0, count = 1;
};

struct Spec {
  std::filesystem::path path;
  std::shared_ptr<const std::string> text;  ///< text of the file, for lines in later errors; null: from code
  std::string text_name;                    ///< name of the file in places
  std::string backend;                      ///< the backend whose [on.<backend>] overlay was applied; empty: none
  KernelSpec kernel;
  std::shared_ptr<const ProcessSpec> process;  ///< for a program that is tuned; null: a kernel
  std::vector<Bindings> cases;                 ///< at least one; each a complete problem with the -D overrides applied
  std::shared_ptr<const space::Expression::Derived> derived;  ///< [derived]; null: none
  std::vector<space::Parameter> parameters;
  std::vector<Location> parameters_at;
  std::vector<Text> constraints;
  /// The valid configurations if the spec lists them instead of constraints: rows of value indices.
  std::optional<std::vector<std::vector<std::uint32_t>>> configs;
  Location configs_at;
  Partition partition;
  LaunchSpec launch;            ///< of the only kernel
  std::vector<StepSpec> steps;  ///< of several kernels, instead of kernel.entry and launch; else empty
  std::vector<ArgSpec> args;
  ValidateSpec validate;
  MeasureSpec measure;
  SearchSpec search;
  std::vector<Metric> metrics;
  ObjectiveSpec objective;
  std::optional<CandidatesSpec> candidates;
  DispatchSpec dispatch;
  /// Values that the overlay or -D changed, one line each ("on the CPU: M = 256; other values of TILE (gemm.toml
  /// [on.host])").
  std::vector<std::string> notes;

  /// The spec with the whole space of its file; null: nothing (-D, --config, --filter, --partition, a suite) restricts
  /// this one.
  std::shared_ptr<const Spec> unrestricted;

  bool space_only() const noexcept { return kernel.source.empty() && !process; }
  bool replays() const noexcept { return kernel.backend == "replay"; }
  bool for_kokkos() const noexcept;
};

struct SuiteEntry;  // suite.hpp

struct SpecOptions {
  std::vector<std::pair<std::string, std::string>>
      defines;                         ///< -D NAME=value: a problem size, or a parameter pinned to a value
  std::string backend;                 ///< its [on.<backend>] is applied
  std::vector<std::string> filters{};  ///< --filter: further expressions that a configuration must satisfy
  Partition partition = {};
  const SuiteEntry* suite = nullptr;                           ///< the entry of a suite that changes the spec
  std::vector<std::pair<std::string, std::string>> choices{};  ///< --config NAME=value: one of a parameter's values
};

/// Reads and checks a spec. Everything that the text determines is checked here, before anything compiles: keys, types,
/// names in expressions, duplicates, missing sources. Throws Error(invalid_spec) whose message opens with
/// file:line:column and names the wrong word and the nearest valid one; Error(io) if the file cannot be read;
/// Error(invalid_argument) for a bad -D or --config.
Spec load_spec(const std::filesystem::path& path, const SpecOptions& options = {});

/// The same from text (name is used for the file in messages; relative paths resolve against base_dir).
Spec parse_spec(const std::string& text, const std::string& name, const std::filesystem::path& base_dir,
                const SpecOptions& options = {});

/// The number of one of spec.args among those that are not constants.
std::size_t passed_number(const Spec& spec, const ArgSpec& argument);
/// The same of numbers in spec.args.
std::optional<std::vector<std::size_t>> passed_numbers(const Spec& spec,
                                                       const std::optional<std::vector<std::size_t>>& args);
/// Those of spec.args that a kernel takes which names these numbers, in its order; unset: all that are not constants.
std::vector<const ArgSpec*> arguments_of(const Spec& spec, const std::optional<std::vector<std::size_t>>& args);
/// The numbers that the reference kernel names; those of the only kernel if it names none.
const std::optional<std::vector<std::size_t>>& reference_args(const Spec& spec);
/// The kernels that are launched, in order: the spec's steps, or its only kernel.
std::vector<StepSpec> steps_of(const Spec& spec);

/// The names of the metrics that the program itself reports, in the spec's order; empty for a kernel.
std::vector<std::string> reported_names(const Spec& spec);

/// Whether the results of a configuration are checked: by a reference, or by a program's check or expected output.
bool validates(const Spec& spec);

/// An Error(invalid_spec) at a place of the spec: "file:line:column: message", the line and a caret.
Error spec_error(const Spec& spec, const Location& at, const std::string& message);

/// The space of one problem on one device. Throws Error(invalid_spec) at the place of an expression that fails (such as
/// a division by zero) or a space that is too large to number. Throws Error(nothing_valid) with the number of
/// configurations that each constraint removes if no configuration is valid. poll: as in Space.
space::Space make_space(const Spec& spec, const Bindings& problem, const Bindings& device_facts,
                        const std::function<void()>& poll = {});

/// The list of valid configurations that [space] configs names, a CSV file. Returns rows of value indices into
/// parameters, in the file's order. The first line names every parameter once, in any order; fields with commas or
/// quotes are in double quotes (RFC 4180). Throws Error(invalid_spec) that opens with name:line:column for an unknown
/// name or value, a line of another length, a repeated configuration, and an empty list.
std::vector<std::vector<std::uint32_t>> parse_configs(const std::string& text, const std::string& name,
                                                      const std::vector<space::Parameter>& parameters);

/// The text that parse_configs reads: every configuration of the space, in its order.
std::string configs_text(const space::Space& space);

/// A source, and where it stands.
struct SourceText {
  std::filesystem::path path;  ///< of a text in the spec: the spec's
  std::string text;
  std::size_t first_line = 1;  ///< the line of that file in which it begins
};

/// The kernel's source, or its reference's. Throws Error(io) for a file that cannot be read.
SourceText read_source(const Spec& spec, const std::filesystem::path& path);

}  // namespace xtune::spec
