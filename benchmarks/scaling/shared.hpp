// Runs of the tuner that share a search, on a simulated NFS server.
#pragma once

#include <cstdint>
#include <string>

#include "simulated_nfs.hpp"

namespace xtune::scaling {

struct SharedJob {
  std::string strategy = "exhaustive";
  std::size_t ranks = 1;
  std::uint64_t evals = 0;
  double evaluation_s = 0;  ///< mean: three tenths are the same for all, the rest is exponentially distributed
  std::size_t killed = 0;   ///< that many processes are killed after half of what they would have measured
};

struct SharedResult {
  NfsCounts nfs;
  std::uint64_t measured = 0;  ///< evaluations on devices
  std::uint64_t wasted = 0;    ///< of them a second one of the same configuration, or one that no answer used
  std::uint64_t claims = 0;    ///< names below claims/
  bool agree = true;           ///< all processes that were not killed have the same best configuration
  std::string answer;          ///< the configuration
  double time_ms = 0;          ///< and its time
  std::string trouble;         ///< the first error or warning of a process
};

/// xtune::run::tune with fake compilers, which take no time, and fake devices; without race and with finals.
SharedResult share(const SharedJob& job, const NfsModel& model);

}  // namespace xtune::scaling
