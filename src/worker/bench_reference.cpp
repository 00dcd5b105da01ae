// The expected outputs of a problem: computed once, then kept in the run's scratch directory when a worker is replaced.
#include <fmt/core.h>

#include <algorithm>
#include <fstream>

#include "base/files.hpp"
#include "core/measure/series.hpp"
#include "core/validate/reference_outputs.hpp"
#include "ipc/expected_files.hpp"
#include "worker/bench_session.hpp"
#include "worker/command_reference.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {
namespace {

// The driver ends the worker at 20 times timeout_s; the command must end before that, so that its output can be
// reported.
constexpr double command_timeout_share = 19;

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void store(SealedMemory& memory, std::span<const std::byte> bytes) {
  memory = SealedMemory(bytes.size());
  std::copy(bytes.begin(), bytes.end(), memory.writable().begin());
}

void require_guards_kept(const ipc::ReferencePlan& plan, const std::optional<GuardDamage>& damage) {
  if (damage)
    throw Error(ErrorKind::invalid_spec,
                fmt::format("the reference kernel '{}' wrote {} {}", plan.name, damage->where, damage->argument));
}

/// As a configuration is measured: with a cold cache, and in-place arguments restored. A plain reference may be a
/// thousand times slower than the kernel, so there are fewer samples, and only one without a warm-up if the launches
/// would take longer than a second.
std::vector<double> time_reference(Sampler sampler, const spec::MeasureSpec& measure, base::Clock& clock) {
  constexpr int max_samples = 15;
  constexpr double limit_s = 1;
  measure::StoppingRule rule;
  rule.min_rep = std::min(measure.min_rep, max_samples);
  rule.rep = std::min(measure.rep, max_samples);
  rule.max_time_ms = measure.max_time_ms;
  rule.noise = measure.noise;
  rule.max_wall_s = limit_s;
  const double first_ms = sampler.sample_ms();
  if (first_ms * (measure.warmup + rule.min_rep) >= limit_s * 1e3) return {first_ms};
  sampler.warm_up(measure.warmup);
  return measure::measure_series([&] { return sampler.sample_ms(); }, rule, clock).samples_ms;
}

}  // namespace

TestArgument& BenchSession::output_named(const std::string& name) {
  for (TestArgument& argument : arguments_)
    if (argument.layout.role != spec::ArgRole::in && (name.empty() || argument.layout.name == name)) return argument;
  throw Error(ErrorKind::invalid_spec,
              "the reference describes output '" + name + "', and no argument of role out or inout has that name");
}

void BenchSession::renew_inputs(std::uint64_t seed) {
  if (prepared_.fresh_inputs && seed == job_.seed) return;
  prepared_.fresh_inputs = true;
  job_.seed = seed;
  contenders_.clear();
  device_check_.reset();
  prepared_.reference = false;
  for (TestArgument& argument : arguments_) argument = filled_argument(argument.layout, seed);
  constants_ = Constants(job_.constants, seed);
  inputs_intact_.assign(sets_.size(), false);
}

void BenchSession::prepare_reference() {
  if (prepared_.reference) return;
  if (job_.reference.kind != spec::ReferenceSpec::Kind::none) {
    const bool made = prepared_.fresh_inputs || !load_reference();
    if (made) {
      at_place(job_.reference.at, [this] {
        make_reference();
        if (job_.reference.kind != spec::ReferenceSpec::Kind::kernel) judge_given_outputs();
      });
      for (TestArgument& argument : arguments_) argument.expected.seal();
      if (!prepared_.fresh_inputs) save_reference();
    }
    decide_tolerances();
    if (made || job_.reference.kind == spec::ReferenceSpec::Kind::given) {
      const std::vector<std::string> warnings = tolerance_warnings(job_.reference, arguments_);
      found_.warnings.insert(found_.warnings.end(), warnings.begin(), warnings.end());
    }
  }
  prepare_device_check();
  prepared_.reference = true;
}

/// If the device has no memory to spare, or refuses the kernel, the host checks.
void BenchSession::prepare_device_check() {
  if (!job_.check_kernel) return;
  try {
    device_check_ = std::make_unique<DeviceCheck>(device_, with_image(*job_.check_kernel), arguments_);
  } catch (const ipc::MissingArtifact&) {
    throw;  // the driver makes it again
  } catch (const Error&) {
  } catch (const build::CandidateFailure&) {  // if the device is lost, the next call reports it
  }
}

void BenchSession::decide_tolerances() {
  validate::ResultFacts facts;
  if (job_.reference.kind == spec::ReferenceSpec::Kind::builtin)
    facts = validate::builtin_facts(job_.reference.name, builtin_call(output_named(job_.reference.output)));
  for (TestArgument& argument : arguments_) {
    if (argument.expected.bytes().empty()) continue;
    validate::ToleranceRule rule;
    for (const auto& [name, given] : job_.tolerances)
      if (name == argument.layout.name) rule = given;
    argument.tolerance =
        validate::tolerance_for(rule, argument.layout.dtype, facts, argument.expected.bytes(), argument.layout.shape);
    argument.partly_unwritten = validate::any_poison(argument.layout.dtype, argument.expected.bytes());
  }
}

void BenchSession::make_reference() {
  switch (job_.reference.kind) {
    case spec::ReferenceSpec::Kind::kernel:
      return make_kernel_reference();
    case spec::ReferenceSpec::Kind::builtin:
      return make_builtin_reference();
    case spec::ReferenceSpec::Kind::file:
      return make_file_reference();
    case spec::ReferenceSpec::Kind::command:
      return make_command_reference();
    case spec::ReferenceSpec::Kind::given:
      throw Error(ErrorKind::io, "the expected outputs are gone from " + job_.scratch.string() + "; run again");
    case spec::ReferenceSpec::Kind::none:
      return;
  }
}

std::vector<double> BenchSession::time_kernel_reference() {
  const ipc::ReferencePlan& plan = job_.reference;
  if (!job_.time_reference || device::is_emulated(device_.info())) return {};
  settle();
  reset_sets();  // the sampler takes turns through all of them
  try {
    const std::unique_ptr<measure::Program> program = device_.load(with_image(plan.artifact), plan.launch);
    constants_.fill(*program, plan.constants);
    const std::unique_ptr<ScratchBuffers> scratch = make_scratch(plan.scratch);
    return time_reference(sampler(*program, *scratch, {plan.launch, plan.scalar_arguments, plan.maps}), job_.measure,
                          clock_);
  } catch (const build::CandidateFailure& failure) {
    // The device may be lost, for which no configuration is to blame.
    if (failure.outcome() == Outcome::crashed) throw;
    found_.warnings.push_back(fmt::format("the reference kernel '{}' has no time: {}", plan.name, failure.what()));
    return {};
  }
}

void BenchSession::make_kernel_reference() {
  const ipc::ReferencePlan& plan = job_.reference;
  try {
    const std::unique_ptr<measure::Program> program = device_.load(with_image(plan.artifact), plan.launch);
    program->check_types(job_.types);
    constants_.fill(*program, plan.constants);
    const std::unique_ptr<ScratchBuffers> scratch = make_scratch(plan.scratch);
    reset(arguments_, sets_[0]);
    const auto arguments = arguments_for(sets_[0], *scratch, {plan.launch, plan.scalar_arguments, plan.maps});
    const auto launch = [&] {
      scratch->renew();
      program->run({arguments, false, 0});
    };
    launch();
    require_guards_kept(plan, damaged_guard(arguments_, sets_[0]));
    require_guards_kept(plan, scratch->damaged_guard());
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (arguments_[i].layout.role == spec::ArgRole::in) continue;
      arguments_[i].expected = SealedMemory(arguments_[i].layout.bytes());
      sets_[0][i]->read(0, arguments_[i].expected.writable());
    }
    judge_reference_launch(launch);
    if (!prepared_.fresh_inputs) found_.samples_ms = time_kernel_reference();
  } catch (const build::CandidateFailure& failure) {
    const bool of_the_machine = build::lack_of(failure) != build::Lack::none;
    throw Error(of_the_machine ? ErrorKind::io : ErrorKind::invalid_spec,
                fmt::format("the reference kernel '{}' failed ({}): {}", plan.name, to_string(failure.outcome()),
                            failure.what()));
  }
}

validate::BuiltinCall BenchSession::builtin_call(const TestArgument& output) const {
  const ipc::ReferencePlan& plan = job_.reference;
  validate::BuiltinCall call;
  call.output = &output.layout;
  call.scalars = {plan.scalars.begin(), plan.scalars.end()};
  for (const auto& [role, name] : plan.arrays) {
    const TestArgument* found = constants_.find(name);
    for (const TestArgument& argument : arguments_)
      if (argument.layout.name == name) found = &argument;
    if (!found || found->layout.role == spec::ArgRole::out)
      throw Error(ErrorKind::invalid_spec,
                  "the reference's " + role + " = '" + name + "' is not an input argument of the kernel");
    call.arrays[role] = {&found->layout, found->pristine.bytes()};
  }
  return call;
}

void BenchSession::make_builtin_reference() {
  TestArgument& output = output_named(job_.reference.output);
  store(output.expected, validate::run_builtin(job_.reference.name, builtin_call(output)));
}

void BenchSession::make_file_reference() {
  const ipc::ReferencePlan& plan = job_.reference;
  TestArgument& output = output_named(plan.output);
  // Read like input files, with the same errors about shape and dtype.
  validate::ArgumentLayout layout = output.layout;
  layout.file = plan.file;
  output.expected = SealedMemory(layout.bytes());
  validate::fill_input(layout, job_.seed, output.expected.writable());
}

void BenchSession::make_command_reference() {
  CommandReference call{{job_.reference.command, job_.reference.folder, exchange_folder(job_, "reference"),
                         job_.measure.timeout_s * command_timeout_share}};
  for (const TestArgument& argument : arguments_) {
    if (argument.layout.role != spec::ArgRole::out)
      call.inputs.push_back({&argument.layout, argument.pristine.bytes()});
    if (argument.layout.role != spec::ArgRole::in) call.outputs.push_back(&argument.layout);
  }
  for (const TestArgument& constant : constants_.all())
    call.inputs.push_back({&constant.layout, constant.pristine.bytes()});
  std::vector<std::vector<std::byte>> results = run_command_reference(call);
  std::size_t output = 0;
  for (TestArgument& argument : arguments_)
    if (argument.layout.role != spec::ArgRole::in) store(argument.expected, results[output++]);
}

void BenchSession::save_reference() const try {
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (!arguments_[i].expected.bytes().empty())
      base::write_file_atomically(ipc::expected_path(job_.scratch, i), as_text(arguments_[i].expected.bytes()));
  base::write_file_atomically(ipc::expected_complete_path(job_.scratch), "");
} catch (const Error& error) {
  throw Error(error.kind(), std::string(error.what()) + " (XTUNE_TMP_DIR names another place)");
}

bool BenchSession::load_reference() {
  std::error_code ignored;
  if (!std::filesystem::exists(ipc::expected_complete_path(job_.scratch), ignored)) return false;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (!std::filesystem::exists(ipc::expected_path(job_.scratch, i), ignored)) continue;
    const std::string text = base::read_file(ipc::expected_path(job_.scratch, i), arguments_[i].layout.bytes());
    store(arguments_[i].expected, std::as_bytes(std::span(text)));
  }
  if (job_.reference.kind == spec::ReferenceSpec::Kind::given)
    at_place(job_.reference.at, [this] { judge_given_outputs(); });
  for (TestArgument& argument : arguments_) argument.expected.seal();
  return true;
}

}  // namespace xtune::worker
