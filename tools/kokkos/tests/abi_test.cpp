// The declarations of Kokkos Tools' C interface against those of an installed Kokkos.
#include "tools/kokkos/abi.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

#ifdef XTUNE_TEST_KOKKOS_INTERFACE
#include <Kokkos_Profiling_C_Interface.h>
#endif

namespace xtune::kokkos_tools {

TEST_CASE("kokkos tools: layouts are those of the installed Kokkos") {
#ifdef XTUNE_TEST_KOKKOS_INTERFACE
  CHECK(sizeof(abi::Value) == sizeof(Kokkos_Tools_VariableValue_ValueUnion));
  CHECK(sizeof(abi::Set) == sizeof(Kokkos_Tools_ValueSet));
  CHECK(offsetof(abi::Set, values) == offsetof(Kokkos_Tools_ValueSet, values));
  CHECK(sizeof(abi::Range) == sizeof(Kokkos_Tools_ValueRange));
  CHECK(offsetof(abi::Range, step) == offsetof(Kokkos_Tools_ValueRange, step));
  CHECK(offsetof(abi::Range, open_lower) == offsetof(Kokkos_Tools_ValueRange, openLower));
  CHECK(offsetof(abi::Range, open_upper) == offsetof(Kokkos_Tools_ValueRange, openUpper));
  CHECK(sizeof(abi::VariableInfo) == sizeof(Kokkos_Tools_VariableInfo));
  CHECK(offsetof(abi::VariableInfo, category) == offsetof(Kokkos_Tools_VariableInfo, category));
  CHECK(offsetof(abi::VariableInfo, candidate_kind) == offsetof(Kokkos_Tools_VariableInfo, valueQuantity));
  CHECK(offsetof(abi::VariableInfo, candidates) == offsetof(Kokkos_Tools_VariableInfo, candidates));
  CHECK(offsetof(abi::VariableInfo, tool_data) == offsetof(Kokkos_Tools_VariableInfo, toolProvidedInfo));
  CHECK(sizeof(abi::VariableValue) == sizeof(Kokkos_Tools_VariableValue));
  CHECK(offsetof(abi::VariableValue, value) == offsetof(Kokkos_Tools_VariableValue, value));
  CHECK(offsetof(abi::VariableValue, metadata) == offsetof(Kokkos_Tools_VariableValue, metadata));
  CHECK(sizeof(abi::ToolActions) == sizeof(Kokkos_Tools_ToolProgrammingInterface));
  CHECK(sizeof(abi::ToolSettings) == sizeof(Kokkos_Tools_ToolSettings));
  CHECK(int{abi::type_double} == int{kokkos_value_double});
  CHECK(int{abi::type_integer} == int{kokkos_value_int64});
  CHECK(int{abi::type_text} == int{kokkos_value_string});
  CHECK(int{abi::candidates_set} == int{kokkos_value_set});
  CHECK(int{abi::candidates_range} == int{kokkos_value_range});
  CHECK(int{abi::candidates_unbounded} == int{kokkos_value_unbounded});
  CHECK(abi::text_bytes == KOKKOS_TOOLS_TUNING_STRING_LENGTH);
#else
  MESSAGE("skipped: no Kokkos is installed (Debian: libtrilinos-kokkos-dev)");
#endif
}

TEST_CASE("kokkos tools: execution spaces by the number of a device") {
  CHECK(std::string(abi::space_name(0)) == "Serial");
  CHECK(std::string(abi::space_name(2u << 24 | 1u << 17)) == "Cuda");
  CHECK(std::string(abi::space_name(0xFFFFFFFFu)) == "unknown");
  CHECK_FALSE(abi::is_asynchronous(1u << 24));
  CHECK(abi::is_asynchronous(2u << 24));
}

}  // namespace xtune::kokkos_tools
