// The part of Kokkos Tools' C interface that the connector uses, declared here since a machine that builds xtune need
// not have Kokkos. Source: the Kokkos Tools documentation, "Tuning"; tests/unit/kokkos_tools compares the layouts with
// the header of an installed Kokkos.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace xtune::kokkos_tools::abi {

/// Size of a text value, with its terminating zero.
inline constexpr std::size_t text_bytes = 64;

using Text = char[text_bytes];

// Kokkos passes enumerations, whose values may be newer than this list: they are plain numbers here.
enum ValueType : std::int32_t { type_double, type_integer, type_text };
enum Category : std::int32_t { categorical, ordinal, interval, ratio };
enum CandidateKind : std::int32_t { candidates_set, candidates_range, candidates_unbounded };

union Value {
  std::int64_t integer;
  double real;
  Text text;
};

union ValueList {
  const std::int64_t* integers;
  const double* reals;
  const Text* texts;
};

struct Set {
  std::size_t size;
  ValueList values;
};

struct Range {
  Value lower, upper, step;
  bool open_lower, open_upper;
};

union Candidates {
  Set set;
  Range range;
};

struct VariableInfo {
  std::int32_t type, category, candidate_kind;
  Candidates candidates;
  void* tool_data;
};

struct VariableValue {
  std::size_t type_id;
  Value value;
  VariableInfo* metadata;
};

struct OptimizationGoal {
  std::size_t type_id;
  std::int32_t goal;
};

struct ToolActions {
  void (*fence)(std::uint32_t device);
  void (*padding[31])();
};

struct ToolSettings {
  bool requires_global_fencing;
  bool padding[255];
};

using RequestValues = void (*)(std::size_t context, std::size_t input_count, const VariableValue* inputs,
                               std::size_t output_count, VariableValue* outputs);

/// The kind of execution space in the number of a device that Kokkos passes with a kernel.
constexpr std::uint32_t space_kind(std::uint32_t device) { return device >> 24; }
/// Whether a kernel of this device may still run when its launch has returned: all but Serial (0), OpenMP (1) and
/// Threads (6).
constexpr bool is_asynchronous(std::uint32_t device) {
  const std::uint32_t kind = space_kind(device);
  return kind != 0 && kind != 1 && kind != 6;
}
/// "OpenMP"; "unknown" for one that is newer than this list.
constexpr const char* space_name(std::uint32_t device) {
  constexpr const char* names[] = {"Serial", "OpenMP",  "Cuda", "HIP",    "OpenMPTarget",
                                   "HPX",    "Threads", "SYCL", "OpenACC"};
  const std::uint32_t kind = space_kind(device);
  return kind < std::size(names) ? names[kind] : "unknown";
}

}  // namespace xtune::kokkos_tools::abi
