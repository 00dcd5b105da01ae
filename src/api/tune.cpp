// tune() and tune_cases(): runs of the tuner for a caller in this process.
#include "xtune/tune.hpp"

#include "api/problem.hpp"
#include "api/run_turn.hpp"
#include "api/tune_call.hpp"
#include "xtune/error.hpp"

namespace xtune {

Result tune(const Tunable& tunable, const TuneSettings& settings) {
  try {
    const RunTurn turn(settings.stop, settings.poll);
    TuneCall call(tunable, settings);
    std::vector<Result> results = call.tune({choose_problem(call.spec(), settings.problem)});
    if (!results.empty()) return std::move(results.front());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted || !settings.stop.stop_requested()) throw;
  }
  Result result;  // for a run that never began
  result.kernel_name = tunable.name();
  result.problem = settings.problem;
  result.interrupted = true;
  return result;
}

std::vector<Result> tune_cases(const Tunable& tunable, const TuneSettings& settings) {
  try {
    const RunTurn turn(settings.stop, settings.poll);
    TuneCall call(tunable, settings);
    return call.tune(choose_problems(call.spec(), settings.problem));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted || !settings.stop.stop_requested()) throw;
    return {};
  }
}

}  // namespace xtune
