// Reads the logs of Coverage, and writes a suite of the problems in them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "xtune/kernel.hpp"

namespace xtune::dispatch {

/// A problem of a kernel on a kind of device, over all processes of the logs.
struct CoveredProblem {
  std::string kernel, arch, device;
  std::filesystem::path spec;  ///< empty: unknown
  Bindings defines, problem, config, measured_for;
  Choice::Kind kind = Choice::Kind::none;  ///< of the newest answer
  double distance = 0;                     ///< to the problem of the measurement
  bool stale = false;                      ///< measured with another driver
  std::string refusal;                     ///< not empty: calls were errors
  std::uint64_t calls = 0;                 ///< as far as they were logged: a crash loses some
};
/// Orders by the kind of answer, refusals first and exact ones last, then by calls times distance.
bool is_worse(const CoveredProblem& a, const CoveredProblem& b);

/// Files, and directories whose *.jsonl files are logs. The worst problem comes first. Lines that are torn or damaged,
/// and files without any line of a log, give a warning. Throws Error(invalid_argument) for a path that does not exist,
/// Error(io) for a file that cannot be read.
std::vector<CoveredProblem> read_coverage(const std::vector<std::filesystem::path>& paths,
                                          std::vector<std::string>& warnings);

/// A suite (docs/cluster.md) with these problems as cases, in their order; empty without problems. specs: a spec for
/// each kernel, in place of the one in the log. Problems of kernels without a spec are omitted with a warning.
std::string coverage_suite(const std::vector<CoveredProblem>& problems,
                           const std::map<std::string, std::filesystem::path>& specs,
                           std::vector<std::string>& warnings);

}  // namespace xtune::dispatch
