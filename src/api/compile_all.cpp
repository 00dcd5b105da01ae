// Compiling without measuring, for sweeps that the application makes itself.
#include <fmt/core.h>

#include <map>
#include <memory>

#include "api/measurement.hpp"
#include "api/problem.hpp"
#include "api/program_finder.hpp"
#include "api/run_turn.hpp"
#include "api/stoppable_loop.hpp"
#include "api/tunable_access.hpp"
#include "base/chosen_store.hpp"
#include "base/files.hpp"
#include "core/candidates/resolve.hpp"
#include "core/run/services.hpp"
#include "core/run/tuning.hpp"
#include "xtune/error.hpp"
#include "xtune/tune.hpp"

namespace xtune {
namespace {

/// What compiling is for.
struct Setting {
  Target target;
  Spec spec;
  Bindings problem;
  Space space;
};

Target target_of(const CompileSettings& settings) {
  check_jobs(settings.jobs);
  find_worker_program();
  TargetOptions options;
  options.backend = settings.backend.empty() ? "auto" : settings.backend;
  options.arch = settings.arch;
  options.need = TargetNeed::compiler;
  return choose_target(options);
}

Setting prepare(const Tunable& tunable, const CompileSettings& settings) {
  Target target = target_of(settings);
  Spec spec = spec_of(tunable, target.backend.name);
  Bindings problem = choose_problem(spec, settings.problem);
  const Bindings facts = device_facts(target.device);
  const auto poll = [&] {
    if (settings.stop.stop_requested()) throw Error(ErrorKind::interrupted, "stopped while the space was made");
  };
  apply_predicates(tunable, spec, problem, facts, poll);
  Space space = make_space(spec, problem, facts, poll);
  return {std::move(target), std::move(spec), std::move(problem), std::move(space)};
}

class Compilation {
 public:
  Compilation(const Setting& setting, const CompileSettings& settings, std::size_t jobs)
      : setting_(setting),
        store_(chosen_store(settings.store)),
        resolver_(setting.spec, setting.space, setting.problem, setting.target.device, setting.target.arch,
                  setting.target.backend.toolchain, false),
        stoppable_(settings.stop),
        compiler_(stoppable_.loop(), jobs, compile_worker_command(jobs, temporaries_.path())) {}

  std::vector<CompiledConfig> go(const std::vector<Bindings>& configs) {
    // Answers point at this object: none may come once it is gone.
    struct Abandon {
      CompileService& compiler;
      ~Abandon() { compiler.cancel_all(); }
    } abandon{compiler_};
    rows_.resize(configs.size());
    for (std::size_t i = 0; i < configs.size(); ++i) start(i, configs[i]);
    while (outstanding_ > 0 && !stoppable_.stop()) {
      const std::size_t before = outstanding_;
      if (!stoppable_.loop().run_once() && outstanding_ == before)
        throw Error(ErrorKind::io, "the compile workers ended without an answer");
    }
    std::vector<CompiledConfig> done;
    for (Row& row : rows_)
      if (row.done) done.push_back(std::move(row.answer));
    return done;
  }

 private:
  struct Row {
    CompiledConfig answer;
    Launch launch;
    bool done = false;
  };

  void reject(Row& row, Outcome outcome, const std::string& why) {
    row.answer.outcome = outcome;
    row.answer.message = why;
    row.done = true;
  }

  void start(std::size_t place, const Bindings& config) {
    Row& row = rows_[place];
    row.answer.config = config;
    const auto index = index_of(setting_.space, config);
    if (!index) return reject(row, Outcome::rejected, "it is not valid in the space of the spec");
    const Config values = setting_.space.at(*index);
    const CompileRequest request = resolver_.compile_request(values);
    row.answer.key = resolver_.artifact_key(request);
    try {
      row.launch = resolver_.launch(values);
      if (const auto violation = resolver_.limit_violation(row.launch, nullptr))
        return reject(row, Outcome::rejected, *violation);
    } catch (const CandidateFailure& failure) {
      return reject(row, failure.outcome(), failure.what());
    }
    // Launch-only parameters share an artifact: one job, several rows.
    auto& sharing = sharing_[row.answer.key];
    sharing.push_back(place);
    if (sharing.size() > 1) return;
    ++outstanding_;
    compiler_.compile({setting_.target.backend.name, store_, row.answer.key, request},
                      setting_.spec.kernel.compile_timeout_s,
                      [this, key = row.answer.key](const CompileAnswer& answer) {
                        --outstanding_;
                        for (const std::size_t each : sharing_[key]) take(rows_[each], answer);
                      });
  }

  void take(Row& row, const CompileAnswer& answer) {
    row.done = true;
    row.answer.outcome = answer.outcome;
    row.answer.message = answer.message;
    row.answer.log = answer.log;
    row.answer.resources = resources_of(answer.artifact.usage, row.launch.shared_bytes);
    row.answer.seconds = answer.cached ? 0 : answer.artifact.compile_s;
    if (answer.outcome != Outcome::ok) return;
    if (const auto violation = resolver_.limit_violation(row.launch, &answer.artifact.usage))
      reject(row, Outcome::rejected, *violation);
  }

  const Setting& setting_;
  std::filesystem::path store_;
  CandidateResolver resolver_;
  TemporaryDirectory temporaries_;
  StoppableLoop stoppable_;
  PooledCompileService compiler_;
  std::vector<Row> rows_;
  std::map<std::string, std::vector<std::size_t>> sharing_;
  std::size_t outstanding_ = 0;
};

}  // namespace

std::vector<CompiledConfig> compile_all(const Tunable& tunable, const std::vector<Bindings>& configs,
                                        const CompileSettings& settings) try {
  if (settings.jobs > 4096)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("settings: jobs is {}; at most 4096 compilers run at once", settings.jobs));
  const RunTurn turn(settings.stop);
  const Setting setting = prepare(tunable, settings);
  // For what it refuses; what is merely not valid is a row of its own.
  choose_configs(setting.space, configs, [](const std::string&) {});
  return Compilation(setting, settings, settings.jobs > 0 ? settings.jobs : default_jobs()).go(configs);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::interrupted || !settings.stop.stop_requested()) throw;
  return {};
}

std::vector<Bindings> all_configs(const Tunable& tunable, const CompileSettings& settings, std::uint64_t most) {
  const Setting setting = prepare(tunable, settings);
  const Space& space = setting.space;
  if (space.size() > most)
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("the space has {} valid configurations, more than the {} asked for at most", space.size(), most));
  std::vector<Bindings> configs(space.size());
  for (std::uint64_t i = 0; i < space.size(); ++i) {
    const Config values = space.at(i);
    for (std::size_t j = 0; j < values.size(); ++j) configs[i][space.parameters()[j].name] = values[j];
  }
  return configs;
}

}  // namespace xtune
