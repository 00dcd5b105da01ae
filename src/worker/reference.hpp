// The expected outputs of a problem: computed once, then kept in the run's scratch directory when a worker is replaced.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/validate/builtin.hpp"
#include "system/clock.hpp"
#include "worker/bench_problem.hpp"
#include "worker/measurer.hpp"
#include "worker/validator.hpp"

namespace xtune::worker {

/// What a reference showed when it was computed.
struct ReferenceFindings {
  std::vector<std::string> warnings;
  std::vector<double> samples_ms;  ///< of a reference kernel, if OpenJob::time_reference asks for its time; else empty
};

/// Fills the expected contents and the tolerances of the problem's arguments.
class Reference {
 public:
  /// The references must outlive it.
  Reference(BenchProblem& problem, Validator& validator, Measurer& measurer, system::Clock& clock)
      : problem_(problem), validator_(validator), measurer_(measurer), clock_(clock) {}

  /// Computes the reference, or reads it from job.scratch if an earlier worker left it there; later calls do nothing.
  /// Throws Error that opens with the reference's place in the spec: invalid_spec if it is wrong, or if its outputs
  /// cannot be compared with because it wrote none of them or only NaN.
  void prepare();
  void forget() { prepared_ = false; }
  const ReferenceFindings& findings() const noexcept { return found_; }
  /// The samples of a reference kernel; empty: not asked for, or it failed.
  std::vector<double> time_kernel();

 private:
  void make();
  void make_by_kernel();
  void make_by_builtin();
  void read_from_file();
  void make_by_command();
  bool load();
  void save() const;
  void decide_tolerances();
  void judge_numbers(const std::string& output, std::uint64_t count, std::uint64_t nans);
  /// Launches the reference kernel once more, on zeroed outputs, if it left NaN or poison; and again with zeros in the
  /// guard zones, if there is still NaN.
  void judge_kernel(const std::function<void()>& launch);
  void judge_integers(const std::function<void(bool zero_outputs, bool zero_guards)>& relaunch);
  void judge_given_outputs();  ///< for expected contents that no kernel computed
  validate::BuiltinCall builtin_call(const TestArgument& output) const;
  TestArgument& output_named(const std::string& name);

  BenchProblem& problem_;
  Validator& validator_;
  Measurer& measurer_;
  system::Clock& clock_;
  bool prepared_ = false;
  ReferenceFindings found_;
};

}  // namespace xtune::worker
