// One problem on one device, inside the bench worker, and the trial of configurations.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "system/clock.hpp"
#include "system/machine.hpp"
#include "worker/bench_problem.hpp"
#include "worker/measurer.hpp"
#include "worker/reference.hpp"
#include "worker/validator.hpp"

namespace xtune::worker {

/// Single-threaded.
class BenchSession {
 public:
  /// Fills inputs. Throws Error; if there is not enough memory, before allocating any. available_bytes: returns the
  /// bytes that this process may still use.
  BenchSession(
      measure::Device& device, run::OpenJob job, system::Clock& clock,
      std::function<std::uint64_t()> available_bytes = [] { return system::available_memory_bytes(); });

  /// Maximum memory of this machine that the session uses.
  std::uint64_t host_bytes() const noexcept;
  /// Reference::prepare.
  void prepare_reference() { reference_.prepare(); }
  /// What prepare_reference() found, if this session computed the reference.
  const ReferenceFindings& reference_findings() const noexcept { return reference_.findings(); }

  /// Loads, validates and measures a configuration, and validates it once more if it was measured in full; prepares the
  /// reference if necessary. A failure of the configuration is in the answer; Error is thrown for failures of xtune
  /// itself.
  run::BenchAnswer bench(const run::BenchJob& job);
  /// Makes the answer of the last bench() one that timed out, if its launches and checks took longer than [measure]
  /// timeout_s. Not for kernels in an application's own process, which have no time limit.
  void refuse_late(run::BenchAnswer& answer) const;

  /// Loads all of them and launches each once untimed, except those that were also in the previous rounds; then runs
  /// as many of the rounds as there is time for, and a launch of each whose outputs are compared. The first failure
  /// ends it. If a guard zone or an input was overwritten by one of several kernels, it is unknown which one did:
  /// `failed` is then unset.
  run::RoundsAnswer measure_rounds(const run::RoundsJob& job);

 private:
  struct Contender {
    LoadedProgram loaded;
    Sampler sampler;
  };
  using Contenders = std::multimap<std::string, Contender>;  ///< by job

  void renew_inputs(std::uint64_t seed);
  void bench_loaded(LoadedProgram& loaded, const run::BenchJob& job, measure::Budget& budget, run::BenchAnswer& answer);
  Contender* contender(const run::BenchJob& job, Contenders& kept);
  void run_rounds(const run::RoundsJob& job, const std::vector<Contender*>& contenders, double round_s,
                  measure::Budget& budget, std::size_t& at, run::RoundsAnswer& answer);
  void judge_rounds(const std::vector<Contender*>& contenders, std::size_t& at, run::RoundsAnswer& answer);

  BenchProblem problem_;
  Validator validator_;
  system::Clock& clock_;
  Measurer measurer_;
  Reference reference_;
  Contenders contenders_;  ///< of the last rounds
  bool late_ = false;      ///< the last bench() took longer than its limit
};

}  // namespace xtune::worker
