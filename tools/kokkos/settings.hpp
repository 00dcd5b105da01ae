// The connector's settings, from environment variables: an application that it is loaded into has no options for it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace xtune::kokkos_tools {

enum class Mode {
  tune,    ///< try configurations where no answer is stored
  stored,  ///< answer from the store, and try nothing
  fresh,   ///< try configurations, without those stored results
  off      ///< Kokkos' own choices everywhere
};

struct Settings {
  Mode mode = Mode::tune;
  /// Whether tiles of MDRangePolicy are tuned. In Kokkos 3.4.1 a tuned tile multiplies the number of tiles instead of
  /// setting it, so iterations run repeatedly.
  bool tiles = false;
  std::uint64_t evals = 100;                 ///< maximum number of configurations tried for a kernel
  double share = 0.1;                        ///< maximum part of a kernel's time that slower tries may cost
  double refresh_s = 10;                     ///< time between readings of other processes' results
  std::string strategy = "auto";             ///< of search/strategies.def
  bool verbose = false;                      ///< print a table at the end of the application
  std::vector<std::string> complaints = {};  ///< about variables whose values are ignored
};

/// variable: the value of an environment variable, or nullptr. Never throws for a bad value: the default stays, and
/// `complaints` has one line about it.
Settings read_settings(const std::function<const char*(const char*)>& variable);

}  // namespace xtune::kokkos_tools
