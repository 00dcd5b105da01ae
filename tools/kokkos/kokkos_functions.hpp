// Functions of the Kokkos in this process, which its C interface does not have.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tools/kokkos/abi.hpp"

namespace xtune::kokkos_tools {

/// Found by their names in the symbol tables: of all loaded libraries, or of the program itself, which has a static
/// Kokkos' functions there unless it is stripped.
struct KokkosFunctions {
  /// Kokkos::Tools::Experimental::set_request_output_values_callback. While a tool has no such callback, Kokkos sees no
  /// tuning tool, and takes its own team sizes and tiles.
  void (*set_request_values)(abi::RequestValues) = nullptr;
  /// Kokkos::print_configuration(std::ostream&, bool).
  void (*print_configuration)(void* stream, bool detail) = nullptr;
};

KokkosFunctions find_kokkos_functions();

/// The facts in the text of Kokkos::print_configuration.
struct Configuration {
  std::string version;   ///< "5.2.2"; empty: unknown
  std::string gpu_name;  ///< "NVIDIA H200"; empty: no GPU is listed
  std::string gpu_arch;  ///< "sm_90"; empty: unknown
  std::string threads;   ///< of OpenMP: "1 x 8 x 1"
};
Configuration parse_configuration(std::string_view text);

/// Calls print_configuration; without it, or if it throws, all facts are empty.
Configuration read_configuration(const KokkosFunctions& functions);

}  // namespace xtune::kokkos_tools
