// Variables of a kernel's source that are filled before its launches.
#pragma once

#include <cstddef>
#include <vector>

#include "worker/output_check.hpp"

namespace xtune::worker {

/// The contents of a problem's constants. Each program has its own copy of them in its variables, which are numbered as
/// the constants are.
class Constants {
 public:
  Constants() = default;  ///< none
  /// Throws Error that opens with a constant's place in the spec.
  Constants(const std::vector<validate::ArgumentLayout>& layouts, std::uint64_t seed);

  std::size_t size() const noexcept { return constants_.size(); }
  /// Fills the program's variables. Throws CandidateFailure(launch_failed) for one that is smaller than its constant.
  void fill(measure::Program& program) const;
  /// The same for a program that has some of them: its variables are the constants of these numbers.
  void fill(measure::Program& program, const std::vector<std::size_t>& numbers) const;
  /// False, with outcome and message in the answer, when one no longer holds what it was filled with.
  bool check(measure::Program& program, ipc::BenchAnswer& answer) const;
  /// nullptr: there is none of this name.
  const TestArgument* find(const std::string& name) const noexcept;
  const std::vector<TestArgument>& all() const noexcept { return constants_; }

 private:
  std::vector<TestArgument> constants_;
};

}  // namespace xtune::worker
