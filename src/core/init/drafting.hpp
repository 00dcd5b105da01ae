// A draft in the making: what the source, its launches and the user say, before it is text.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/init/draft.hpp"
#include "core/init/host.hpp"

namespace xtune::init {

// What a kernel's body shows of its arguments and its launch (body.cpp).

/// An index is below the product of the extents, and stays there with `slack` added.
struct Bound {
  std::vector<std::string> extents;  ///< as the spec writes them
  std::int64_t slack = 0;
  bool is_whole = false;     ///< the index takes every value, but for what is added at a distance
  std::size_t distance = 0;  ///< extents, from the last one, that are only a distance: nothing is added to it
};

struct IndexUse {
  std::size_t at = 0;  ///< in the body
  Tokens index;
  bool is_set = false;  ///< it is given a value there
};

struct PointerUse {
  std::vector<IndexUse> indices;
  std::set<std::string> data;        ///< other arguments that hold its indices
  std::set<std::string> indexed_by;  ///< those whose elements are such an index as they are
  bool passed = false;               ///< to a function: not all of its uses are seen
  bool read = false, written = false;
};

/// What bounds the indices of a body: comparisons, and the products that rows and columns are made with. Names are
/// followed through definitions; control flow does not matter.
class IndexBounds {
 public:
  /// fixed: names of the spec that an extent may have.
  IndexBounds(const Tokens& tokens, const SpecExpressions& values, std::set<std::string> fixed);

  /// "blockIdx.x" is below the product of these from now on.
  void set(const std::string& place, const std::vector<std::string>& extents) { places_[place] = extents; }
  /// Of an index that is used at a token of the body; nullopt: nothing proves one.
  std::optional<Bound> of(const Tokens& index, std::size_t at) const {
    int steps = 0;
    return of(index, at, steps);
  }
  /// The limits of names that are made of this one.
  std::vector<std::vector<std::string>> limits_of(const std::string& place) const;
  /// Whether the place itself, or a variable that begins as it, has a limit.
  bool is_limited(const std::string& place) const;
  /// The words of an expression, and of the definitions of these; "[" stands for elements of arrays.
  std::set<std::string> words_behind(const Tokens& tokens) const;
  /// What a word is defined as, and nothing else; else the expression itself.
  Tokens resolved(Tokens expression) const;
  /// Whether the name counts up from this word.
  bool starts_at(const std::string& name, const std::string& word) const;
  /// Whether threads come to the use in the body whatever the data: its only conditions are limits of its index.
  bool is_reached(const Tokens& body, const IndexUse& use, const std::map<std::string, PointerUse>& pointers) const;

 private:
  std::optional<Bound> of(const Tokens& index, std::size_t at, int& steps) const;
  std::optional<Bound> of_product(const Tokens& product, std::size_t at, int& steps) const;
  /// Of a product of fixed names and numbers; none if anything else is in it.
  std::vector<std::string> factors_of(const Tokens& tokens) const;
  /// Whether the smallest value is 0, and coordinates make all others.
  bool counts_all(const Tokens& expression, int depth = 0) const;

  SpecExpressions values_;
  std::set<std::string> fixed_, changed_;
  std::set<std::size_t> upper_;  ///< comparisons that are limits
  std::map<std::string, std::vector<std::string>> places_;
  // By name or expression, and in the order of the body: where, and what.
  std::map<std::string, std::vector<std::pair<std::size_t, Tokens>>> definitions_;
  std::map<std::string, std::vector<std::pair<std::size_t, Bound>>> limits_;
  std::map<std::string, std::vector<std::size_t>> changes_;  ///< behind which tokens a name has another value
};

/// One axis of the launch.
struct AxisUse {
  bool is_limited = false;                       ///< blockIdx itself is an index with a limit
  std::vector<Tokens> threads, strides;          ///< F in blockIdx.x * F + threadIdx.x; strides of loops over threads
  std::vector<Tokens> tile;                      ///< factors of blockIdx: what a block covers; empty: one
  std::vector<std::vector<std::string>> limits;  ///< the extents that limit an index made of blockIdx
  std::vector<Tokens> arrays;                    ///< extents of shared arrays with an element for each threadIdx
};

struct BodyUse {
  Tokens tokens;
  std::optional<IndexBounds> indices;
  std::map<std::string, PointerUse> pointers;
  std::array<AxisUse, 3> axes;
  std::string shared_type;        ///< of extern __shared__; empty: there is none
  bool shared_per_thread = true;  ///< all indices of extern __shared__ are threadIdx.x
  bool shared_by_block = false;   ///< or are made of blockIdx: the number of threads does not limit them
  bool shared_passed = false;     ///< some shared array is passed to a function
};

/// values: the spec's names of integer arguments and macros. fixed: those that do not change between configurations.
BodyUse body_use(const Tokens& body, const SpecExpressions& values, const std::set<std::string>& fixed,
                 const std::set<std::string>& pointers);

constexpr std::string_view axis_names = "xyz", axis_capitals = "XYZ";

/// A kernel to draft, and where host code launches it; nullptr: nowhere, as far as is seen.
struct ChosenKernel {
  const KernelFunction* kernel = nullptr;
  const Launch* launch = nullptr;
};

struct Work {
  DraftRequest request;
  const SourceNames& names;
  const TypeNames& source_types;
  const HostCode& host_code;
  bool in_steps = false;  ///< host code shows the steps
  SpecExpressions source_expressions{names.expressions};
  DraftModel model{};
  // What host code calls a thing, and what the spec does.
  std::map<std::string, std::string> host_sizes{};                           ///< a variable's name in the spec
  std::map<std::string, std::string> host_owners{};                          ///< by name in the spec: what is passed
  std::map<std::string, std::pair<std::string, std::size_t>> host_values{};  ///< of a size, and the line
  std::set<std::string> taken{};                                             ///< names of the spec
  // Of the kernel at hand.
  const KernelFunction* kernel = nullptr;
  const Launch* launch = nullptr;
  TypeNames types = source_types;
  SpecExpressions expressions = source_expressions;
  BodyUse use{};
  Named sizes{};                                      ///< an integer argument, and its name in the spec
  std::map<std::string, Tokens> host_definitions{};   ///< where the launch is
  std::optional<SpecExpressions> host_expressions{};  ///< without a launch: none
  std::string index{};                                ///< of the loop around the launch; empty: none
};

bool is_like(const std::string& name, const char* pattern);
bool is_integer(DType type);
bool is_whole(const std::string& value);  ///< a whole number
/// The parameter's type is CUDA's CUtensorMap, or xtune::hopper::TensorMap.
bool is_tensor_map(const FunctionArgument& argument);
std::string product(const Texts& factors);
const std::string* given(const Named& named, const std::string& name);
/// A name that neither the source nor the spec has.
std::string unused_name(Work& work, std::string name, const char* suffix, bool in_source);
void add_parameter(Work& work, DraftParameter parameter);
std::string values_text(const std::vector<Value>& values);
/// A size becomes part of the problem where an extent has it.
void use_size(Work& work, const std::string& name, const std::string& comment);
void use_sizes_in(Work& work, const Texts& extents);

// Of the launch (draft_launch.cpp).

/// The host's variable has this name in the spec, also in later steps.
void name_host(Work& work, const std::string& variable, const std::string& name);
/// Whether the launch's block is made of it.
bool is_in_block(const Work& work, const std::string& word);
/// Of a text of the launch, with what it has for parameters; nullopt: not known.
std::optional<std::int64_t> launched_value(const Work& work, const std::string& text);
/// Reads the definitions and the loop around the launch.
void add_launch(Work& work, DraftStep& step);
/// Whether the launch is in no #if, and no other one of the kernel has other ones of these: its values are the
/// program's.
bool is_always_launched(const Work& work, std::vector<Tokens> Launch::*part);
/// Says what else host code does between two launches, as of HostCode::other_work.
void add_other_work(const Work& work, DraftStep& step, const Launch* before, const Launch* after);
/// A loop that repeats what one round does, to measure it.
bool is_timing(const LaunchLoop& loop);
/// An expression of host code at the launch in the names of the spec; nullopt: it cannot be read.
std::optional<std::string> host_text(const Work& work, const Tokens& tokens);
/// What the launch passes as the kernel's argument; none without a launch.
Tokens passed_to(const Work& work, std::size_t argument);
/// Whether a parameter in effect has this name.
bool is_parameter(const Work& work, const std::string& name);
/// Whether all names in an expression of the spec are parameters in effect, or sizes of the problem.
bool is_known(const Work& work, const std::string& text, bool sizes);
/// Whether an expression of the spec changes between configurations, or in the loop.
bool has_parameter(const Work& work, const std::string& text);
bool has_index(const Work& work, const std::string& text);
/// The names of host code in it become sizes.
void use_host_names(Work& work, const std::string& text, const std::string& comment);
/// Extents of what cudaMalloc gives a pointer; nullopt: not known. comment: where from.
std::optional<Texts> allocated_shape(const Work& work, std::size_t argument, const ElementType& type,
                                     std::string& comment);
void add_block(Work& work, DraftStep& step);
void add_grid(Work& work, DraftStep& step);
void add_shared(Work& work, DraftStep& step);

// Wrappers of kernels that take a functor or a lambda (wrap.cpp).

/// The first argument by value of a template's type that the kernel calls; nullopt: there is none.
std::optional<std::size_t> functor_argument(const KernelFunction& kernel);

struct WrappedKernel {
  KernelFunction kernel;         ///< the wrapper, with the body of what it calls
  std::optional<Launch> launch;  ///< with the wrapper's arguments
  std::string text;              ///< of the wrapper's file
};

/// A kernel that makes the functors as the launch does, and calls the kernel with them. Variables that they are made
/// of become arguments. source: the text with the launch; include: how the wrapper's file includes it.
WrappedKernel wrapped_kernel(const KernelFunction& kernel, const Launch* launch, const HostCode& host,
                             const std::string& source, const std::string& include);

// The arguments of a call (passed.cpp).

/// What the call passes for an argument of the kernel; nullptr: unknown.
const PassedArgument* passed_argument(const Work& work, std::size_t argument);
/// Throws Error(invalid_argument), with the argument's name and place, for what the kernel does not take.
void check_passed(const Work& work);
/// The C++ name of the type that the call passes for this template parameter; empty: unknown.
std::string passed_type(const Work& work, const std::string& parameter);
/// proven: extents that all indices stay below.
void add_passed_buffer(Work& work, const PassedArgument& passed, const std::optional<ElementType>& type,
                       const std::optional<Texts>& proven, DraftArgument& drafted);
void add_passed_scalar(Work& work, const PassedArgument& passed, const FunctionArgument& argument,
                       DraftArgument& drafted);

/// Writes the model as a spec, and lists its guesses and blanks (draft_text.cpp).
void write_draft(const DraftModel& model, const DraftRequest& request, Draft& draft);
std::string list_text(const Texts& texts);

}  // namespace xtune::init
