// Calls that pass arrays: the problem follows from their shapes, types and layouts, and the spec has the rest.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/spec/spec.hpp"
#include "dispatch/arguments.hpp"
#include "xtune/array.hpp"
#include "xtune/kernel.hpp"

namespace xtune::dispatch {

/// Where a kernel's argument comes from, in the order of Omissible::others.
struct ArgumentSource {
  std::size_t call_argument = 0;   ///< among ArrayPlan::arguments; beyond them: never the caller's
  std::vector<std::byte> value{};  ///< of a scalar that the call does not pass
  bool is_absent = false;          ///< of a buffer that this call does not need
};

/// What an array call's arrays decide.
struct SolvedCall {
  Bindings problem;  ///< complete
  Bindings types;    ///< names of it that decide on types
  std::vector<ArrayOutput> outputs;
  std::vector<DType> types_of_arguments;  ///< of ArrayPlan::arguments, in this problem
  std::vector<ArgumentSource> sources;
  bool writes_nothing = false;  ///< all that the kernel writes is empty
  std::string empty;            ///< "'A' with the shape (0, 7)", for messages; empty: no array is
};

/// Immutable, shared by all threads. spec and plan must outlive it.
class ArrayPlan {
 public:
  /// Throws Error(unsupported) for a kernel whose structs or tables the caller must fill.
  ArrayPlan(const spec::Spec& spec, const ArgumentPlan& plan);

  const std::vector<CallArgument>& arguments() const noexcept { return arguments_; }
  std::vector<std::string> problem_names() const;
  /// arrays: for each of arguments(), null where it is not given. words: names of the problem that the call sets.
  /// facts: of the device. Throws Error(invalid_argument) that names the arguments which contradict each other, or
  /// lack.
  SolvedCall solve(std::span<const Array* const> arrays, const Bindings& words, const Bindings& facts) const;

 private:
  class Solver;
  const spec::Spec& spec_;
  const ArgumentPlan& plan_;
  std::vector<CallArgument> arguments_;
  std::vector<const spec::ArgSpec*> specs_;  ///< of arguments_
  std::vector<std::size_t> call_numbers_;    ///< of Omissible::others, in arguments_; beyond them: not among them
};

/// Whether elements lie one after the other, in C order or with both dimensions exchanged.
enum class Layout : std::uint8_t { dense, transposed, other };
Layout layout_of(const Array& array) noexcept;

}  // namespace xtune::dispatch
