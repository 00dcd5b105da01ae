// Computes, reads or stores expected outputs, and judges them: a kernel that writes nothing must not agree with them.
#include "worker/reference.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "core/measure/race.hpp"
#include "core/validate/compare.hpp"
#include "system/files.hpp"
#include "worker/command_reference.hpp"
#include "worker/ipc/protocol.hpp"
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

void require_guards_kept(const run::ReferencePlan& plan, const std::optional<GuardDamage>& damage) {
  if (damage)
    throw Error(ErrorKind::invalid_spec,
                fmt::format("the reference kernel '{}' wrote {} {}", plan.name, damage->where, damage->argument));
}

/// As a configuration is measured: with a cold cache, and in-place arguments restored. A plain reference may be a
/// thousand times slower than the kernel, so there are fewer samples, and only one without a warm-up if the launches
/// would take longer than a second.
std::vector<double> time_reference(Sampler sampler, const spec::MeasureSpec& measure, system::Clock& clock) {
  constexpr int max_samples = 15;
  constexpr double limit_s = 1;
  measure::StoppingRule rule;
  rule.min_rep = std::min(measure.min_rep, max_samples);
  rule.rep = std::min(measure.rep, max_samples);
  rule.max_time_ms = measure.max_time_ms;
  rule.noise = measure.noise;
  const double first_ms = sampler.sample_ms();
  if (first_ms * (measure.warmup + rule.min_rep) >= limit_s * 1e3) return {first_ms};
  sampler.warm_up(measure.warmup);
  return measure::measure_series([&] { return sampler.sample_ms(); }, rule, measure::Budget(clock, limit_s)).samples_ms;
}

constexpr std::size_t judged_bytes = std::size_t{16} << 20;  // a multiple of every element's size

std::string name_of(const run::ReferencePlan& plan) {
  return plan.kind == spec::ReferenceSpec::Kind::kernel ? fmt::format("the reference kernel '{}'", plan.name)
                                                        : "the reference";
}

/// Decided only by its size, so an integer or struct may be taken for a float: then a NaN is allowed rather than
/// refused.
bool may_be_no_number(const measure::ScalarArgument& scalar) {
  constexpr std::uint16_t exponent_of_f16 = 0x7c00;  // that of bf16 has these bits, too
  std::uint16_t half = 0;
  float f32 = 0;
  double f64 = 0;
  const std::size_t size = scalar.bytes.size();
  if (size == sizeof half) std::memcpy(&half, scalar.bytes.data(), sizeof half);
  if (size == sizeof f32) std::memcpy(&f32, scalar.bytes.data(), sizeof f32);
  if (size == sizeof f64) std::memcpy(&f64, scalar.bytes.data(), sizeof f64);
  return (half & exponent_of_f16) == exponent_of_f16 || !std::isfinite(f32) || !std::isfinite(f64);
}

/// Throws Error(invalid_spec) if agreement with this output would prove nothing.
void require_written(const std::string& reference, const std::string& output, const validate::ReferenceFacts& facts) {
  if (facts.count == 0) return;
  if (facts.unwritten == facts.count)
    throw Error(ErrorKind::invalid_spec,
                fmt::format("{0} writes nothing to output '{1}' (all {2} elements hold what they held before the "
                            "launch), so any kernel that writes nothing would agree with it. If '{1}' is changed in "
                            "place, give it role \"inout\"",
                            reference, output, facts.count));
  if (facts.from_output > 0)
    throw Error(ErrorKind::invalid_spec,
                fmt::format("{0} computes {2} of {3} elements of output '{1}' from what '{1}' holds before the launch, "
                            "which is undefined for role \"out\". Give '{1}' role \"inout\"",
                            reference, output, facts.from_output, facts.count));
}

[[noreturn]] void refuse_reads(const run::ReferencePlan& plan, const std::string& output, std::uint64_t elements,
                               std::uint64_t count) {
  throw Error(ErrorKind::invalid_spec,
              fmt::format("{} reads outside of its arguments for {} of {} elements of output '{}'. Indices among its "
                          "inputs must be valid ones: fill = {{ integers = [0, N] }} gives those below N",
                          name_of(plan), elements, count, output));
}

/// Whether the reference changes an in-place argument by less than the tolerance.
bool changes_little(const TestArgument& argument) {
  const validate::ArgumentLayout& layout = argument.layout;
  return layout.role == spec::ArgRole::inout && layout.elements() > 0 &&
         validate::compare(layout.name, layout.dtype, argument.pristine.bytes(), argument.expected.bytes(),
                           layout.shape, argument.tolerance)
             .passed;
}

std::string text_of(const validate::Tolerance& tolerance) {
  return fmt::format("rtol {:g}, atol {}{:g}", tolerance.rtol, tolerance.row_atol.empty() ? "" : "up to ",
                     tolerance.atol);
}

void warn(const run::ReferencePlan& plan, std::vector<std::string>& warnings, const std::string& text) {
  warnings.push_back(plan.at.empty() ? text : plan.at + ": " + text);
}

/// Compares the expected contents with those that another launch left in the buffer.
validate::ReferenceFacts compare_launches(TestArgument& argument, measure::Buffer& buffer) {
  const std::span<std::byte> first = argument.expected.writable();
  std::vector<std::byte> second;
  validate::ReferenceFacts facts;
  for (std::size_t at = 0; at < first.size(); at += second.size()) {
    second.resize(std::min(judged_bytes, first.size() - at));
    buffer.read(at, second);
    facts.add(validate::sort_out(argument.layout.dtype, first.subspan(at, second.size()), second));
  }
  return facts;
}

/// Whether no input, constant or scalar is NaN or infinite.
bool are_finite(const std::vector<TestArgument>& arguments, const std::vector<TestArgument>& constants,
                const run::ReferencePlan& reference) {
  const auto finite = [](const TestArgument& a) {
    return !validate::any_not_finite(a.layout.dtype, a.pristine.bytes());
  };
  return std::all_of(arguments.begin(), arguments.end(), finite) &&
         std::all_of(constants.begin(), constants.end(), finite) &&
         std::none_of(reference.scalars.begin(), reference.scalars.end(), may_be_no_number);
}

/// Warnings of tolerances with which a kernel that does nothing, or writes zeros, would pass for most elements.
std::vector<std::string> tolerance_warnings(const run::ReferencePlan& reference,
                                            const std::vector<TestArgument>& arguments) {
  std::vector<std::string> warnings;
  for (const TestArgument& argument : arguments) {
    const std::span<const std::byte> expected = argument.expected.bytes();
    if (expected.empty()) continue;
    if (changes_little(argument))
      warn(reference, warnings,
           fmt::format("{} changes '{}' by less than the tolerance ({}), so a kernel that does nothing "
                       "would pass: lower rtol and atol in [validate], or give inputs for which the change is larger",
                       name_of(reference), argument.layout.name, text_of(argument.tolerance)));
    const validate::ZeroFacts zero = validate::zero_facts(argument.layout.dtype, expected, argument.tolerance);
    if (2 * zero.agreeing > zero.others)
      warn(reference, warnings,
           fmt::format("for {} of {} elements of output '{}' that are not 0, a result of 0 would pass ({}; "
                       "their median magnitude is {:g}): set atol in [validate] to less than that",
                       zero.agreeing, zero.others, argument.layout.name, text_of(argument.tolerance),
                       validate::typical_magnitude(argument.layout.dtype, expected)));
  }
  return warnings;
}

}  // namespace

TestArgument& Reference::output_named(const std::string& name) {
  for (TestArgument& argument : problem_.arguments)
    if (argument.layout.role != spec::ArgRole::in && (name.empty() || argument.layout.name == name)) return argument;
  throw Error(ErrorKind::invalid_spec,
              "the reference describes output '" + name + "', and no argument of role out or inout has that name");
}

void Reference::prepare() {
  if (prepared_) return;
  if (problem_.job.reference.kind != spec::ReferenceSpec::Kind::none) {
    const bool made = problem_.fresh_inputs || !load();
    if (made) {
      at_place(problem_.job.reference.at, [this] {
        make();
        if (problem_.job.reference.kind != spec::ReferenceSpec::Kind::kernel) judge_given_outputs();
      });
      for (TestArgument& argument : problem_.arguments) argument.expected.seal();
      if (!problem_.fresh_inputs) save();
    }
    decide_tolerances();
    if (made || problem_.job.reference.kind == spec::ReferenceSpec::Kind::given) {
      const std::vector<std::string> warnings = tolerance_warnings(problem_.job.reference, problem_.arguments);
      found_.warnings.insert(found_.warnings.end(), warnings.begin(), warnings.end());
    }
  }
  validator_.prepare_device();
  prepared_ = true;
}

void Reference::decide_tolerances() {
  validate::ResultFacts facts;
  if (problem_.job.reference.kind == spec::ReferenceSpec::Kind::builtin)
    facts =
        validate::builtin_facts(problem_.job.reference.name, builtin_call(output_named(problem_.job.reference.output)));
  for (TestArgument& argument : problem_.arguments) {
    if (argument.expected.bytes().empty()) continue;
    validate::ToleranceRule rule;
    for (const auto& [name, given] : problem_.job.tolerances)
      if (name == argument.layout.name) rule = given;
    argument.tolerance =
        validate::tolerance_for(rule, argument.layout.dtype, facts, argument.expected.bytes(), argument.layout.shape);
    argument.partly_unwritten = validate::any_poison(argument.layout.dtype, argument.expected.bytes());
  }
}

void Reference::make() {
  switch (problem_.job.reference.kind) {
    case spec::ReferenceSpec::Kind::kernel:
      return make_by_kernel();
    case spec::ReferenceSpec::Kind::builtin:
      return make_by_builtin();
    case spec::ReferenceSpec::Kind::file:
      return read_from_file();
    case spec::ReferenceSpec::Kind::command:
      return make_by_command();
    case spec::ReferenceSpec::Kind::given:
      throw Error(ErrorKind::io, "the expected outputs are gone from " + problem_.job.scratch.string() + "; run again");
    case spec::ReferenceSpec::Kind::none:
      return;
  }
}

std::vector<double> Reference::time_kernel() {
  const run::ReferencePlan& plan = problem_.job.reference;
  if (!problem_.job.time_reference || device::is_emulated(problem_.device.info())) return {};
  measurer_.settle();
  validator_.reset_sets();  // the sampler takes turns through all of them
  try {
    LoadedProgram loaded = problem_.load(plan);
    return time_reference(measurer_.sampler(loaded, plan), problem_.job.measure, clock_);
  } catch (const build::CandidateFailure& failure) {
    // The device may be lost, for which no configuration is to blame.
    if (failure.outcome() == Outcome::crashed) throw;
    found_.warnings.push_back(fmt::format("the reference kernel '{}' has no time: {}", plan.name, failure.what()));
    return {};
  }
}

void Reference::make_by_kernel() {
  const run::ReferencePlan& plan = problem_.job.reference;
  try {
    const LoadedProgram loaded = problem_.load(plan);
    renew(problem_.arguments, problem_.sets[0], {validate::Poison::usual, true, true}, nullptr);
    const auto arguments = problem_.arguments_for(problem_.sets[0], *loaded.scratch, plan);
    const auto launch = [&] {
      loaded.scratch->renew();
      loaded.program->run({arguments, false, 0});
      problem_.add_up(problem_.sets[0], *loaded.scratch, &plan.launch);
    };
    launch();
    require_guards_kept(plan, damaged_guard(problem_.arguments, problem_.sets[0]));
    require_guards_kept(plan, loaded.scratch->damaged_guard());
    for (std::size_t i = 0; i < problem_.arguments.size(); ++i) {
      if (problem_.arguments[i].layout.role == spec::ArgRole::in) continue;
      problem_.arguments[i].expected = SealedMemory(problem_.arguments[i].layout.bytes());
      problem_.sets[0][i]->read(0, problem_.arguments[i].expected.writable());
    }
    judge_kernel(launch);
    if (!problem_.fresh_inputs) found_.samples_ms = time_kernel();
  } catch (const build::CandidateFailure& failure) {
    const bool of_the_machine = build::lack_of(failure) != build::Lack::none;
    throw Error(of_the_machine ? ErrorKind::io : ErrorKind::invalid_spec,
                fmt::format("the reference kernel '{}' failed ({}): {}", plan.name, to_string(failure.outcome()),
                            failure.what()));
  }
}

validate::BuiltinCall Reference::builtin_call(const TestArgument& output) const {
  const run::ReferencePlan& plan = problem_.job.reference;
  validate::BuiltinCall call;
  call.output = &output.layout;
  call.scalars = {plan.values.begin(), plan.values.end()};
  for (const auto& [role, name] : plan.arrays) {
    const TestArgument* found = nullptr;
    for (const auto* const list : {&problem_.constants, &problem_.arguments})
      for (const TestArgument& argument : *list)
        if (argument.layout.name == name) found = &argument;
    if (!found || found->layout.role == spec::ArgRole::out)
      throw Error(ErrorKind::invalid_spec,
                  "the reference's " + role + " = '" + name + "' is not an input argument of the kernel");
    call.arrays[role] = {&found->layout, found->pristine.bytes()};
  }
  return call;
}

void Reference::make_by_builtin() {
  TestArgument& output = output_named(problem_.job.reference.output);
  store(output.expected, validate::run_builtin(problem_.job.reference.name, builtin_call(output)));
}

void Reference::read_from_file() {
  const run::ReferencePlan& plan = problem_.job.reference;
  TestArgument& output = output_named(plan.output);
  // Read like input files, with the same errors about shape and dtype.
  validate::ArgumentLayout layout = output.layout;
  layout.file = plan.file;
  output.expected = SealedMemory(layout.bytes());
  validate::fill_input(layout, problem_.job.seed, output.expected.writable());
}

void Reference::make_by_command() {
  CommandReference call{{problem_.job.reference.command, problem_.job.reference.folder,
                         exchange_folder(problem_.job, "reference"),
                         problem_.job.measure.timeout_s * command_timeout_share}};
  for (const TestArgument& argument : problem_.arguments) {
    if (argument.layout.role != spec::ArgRole::out)
      call.inputs.push_back({&argument.layout, argument.pristine.bytes()});
    if (argument.layout.role != spec::ArgRole::in) call.outputs.push_back(&argument.layout);
  }
  for (const TestArgument& constant : problem_.constants)
    call.inputs.push_back({&constant.layout, constant.pristine.bytes()});
  std::vector<std::vector<std::byte>> results = run_command_reference(call);
  std::size_t output = 0;
  for (TestArgument& argument : problem_.arguments)
    if (argument.layout.role != spec::ArgRole::in) store(argument.expected, results[output++]);
}

void Reference::save() const try {
  for (std::size_t i = 0; i < problem_.arguments.size(); ++i)
    if (!problem_.arguments[i].expected.bytes().empty())
      system::write_file_atomically(expected_path(problem_.job.scratch, i),
                                    as_text(problem_.arguments[i].expected.bytes()));
  system::write_file_atomically(expected_complete_path(problem_.job.scratch), "");
} catch (const Error& error) {
  throw Error(error.kind(), std::string(error.what()) + " (XTUNE_TMP_DIR names another place)");
}

bool Reference::load() {
  std::error_code ignored;
  if (!std::filesystem::exists(expected_complete_path(problem_.job.scratch), ignored)) return false;
  for (std::size_t i = 0; i < problem_.arguments.size(); ++i) {
    if (!std::filesystem::exists(expected_path(problem_.job.scratch, i), ignored)) continue;
    const std::string text =
        system::read_file(expected_path(problem_.job.scratch, i), problem_.arguments[i].layout.bytes());
    store(problem_.arguments[i].expected, std::as_bytes(std::span(text)));
  }
  if (problem_.job.reference.kind == spec::ReferenceSpec::Kind::given)
    at_place(problem_.job.reference.at, [this] { judge_given_outputs(); });
  for (TestArgument& argument : problem_.arguments) argument.expected.seal();
  return true;
}

void Reference::judge_numbers(const std::string& output, std::uint64_t count, std::uint64_t nans) {
  if (nans == 0 || !are_finite(problem_.arguments, problem_.constants, problem_.job.reference)) return;
  if (nans == count)
    throw Error(ErrorKind::invalid_spec,
                fmt::format("{0} gives NaN in all {2} elements of output '{1}', although no input is NaN or infinite, "
                            "so nothing can be compared with it. If it reads '{1}' before it writes there, give '{1}' "
                            "role \"inout\"",
                            name_of(problem_.job.reference), output, count));
  warn(problem_.job.reference, found_.warnings,
       fmt::format("{} gives NaN in {} of {} elements of output '{}', although no input is NaN or infinite, and there "
                   "any NaN passes: give inputs for which it gives numbers (fill or file)",
                   name_of(problem_.job.reference), nans, count, output));
}

/// Integers have no NaN that shows what was read from the guard zones: a launch with zeros there does.
void Reference::judge_integers(const std::function<void(bool zero_outputs, bool zero_guards)>& relaunch) {
  const auto difference = [&]() -> std::optional<validate::BitDifference> {
    for (std::size_t i = 0; i < problem_.arguments.size(); ++i) {
      const TestArgument& argument = problem_.arguments[i];
      if (argument.layout.role == spec::ArgRole::in || spec::is_floating(argument.layout.dtype)) continue;
      const auto read = [&](std::size_t at, std::span<std::byte> bytes) { problem_.sets[0][i]->read(at, bytes); };
      if (auto found = validate::bit_difference(argument.layout, argument.expected.bytes(), read)) return found;
    }
    return std::nullopt;
  };
  const bool any = std::any_of(problem_.arguments.begin(), problem_.arguments.end(), [](const TestArgument& argument) {
    return argument.layout.role != spec::ArgRole::in && !spec::is_floating(argument.layout.dtype);
  });
  if (!any || problem_.guard_size == 0) return;
  relaunch(false, true);
  const auto found = difference();
  if (!found) return;
  relaunch(false, false);
  if (!difference()) refuse_reads(problem_.job.reference, found->argument, found->differing, found->count);
}

void Reference::judge_kernel(const std::function<void()>& launch) {
  const auto relaunch = [&](bool zero_outputs, bool zero_guards) {
    renew(problem_.arguments, problem_.sets[0], {validate::Poison::usual, true, true}, nullptr);
    for (std::size_t i = 0; i < problem_.arguments.size(); ++i) {
      if (zero_outputs && problem_.arguments[i].layout.role == spec::ArgRole::out)
        problem_.sets[0][i]->fill(0, problem_.arguments[i].layout.bytes(), std::byte{0});
      if (zero_guards) problem_.sets[0][i]->zero_guards();
    }
    launch();
  };
  judge_integers(relaunch);
  std::vector<std::size_t> doubtful;
  for (std::size_t i = 0; i < problem_.arguments.size(); ++i)
    if (problem_.arguments[i].layout.role != spec::ArgRole::in &&
        validate::is_doubtful(problem_.arguments[i].layout.dtype, problem_.arguments[i].expected.bytes()))
      doubtful.push_back(i);
  if (doubtful.empty()) return;
  relaunch(true, false);
  std::uint64_t nans = 0;
  for (const std::size_t i : doubtful) {
    const validate::ReferenceFacts facts = compare_launches(problem_.arguments[i], *problem_.sets[0][i]);
    const std::string& output = problem_.arguments[i].layout.name;
    nans += facts.nans;
    if (problem_.arguments[i].layout.role == spec::ArgRole::inout) continue;  // what it holds before is not undefined
    require_written(name_of(problem_.job.reference), output, facts);
    if (facts.unwritten > 0)
      warn(problem_.job.reference, found_.warnings,
           fmt::format("{} leaves {} of {} elements of output '{}' unwritten: a configuration must leave them, too",
                       name_of(problem_.job.reference), facts.unwritten, facts.count, output));
  }
  if (nans == 0) return;
  // The guard zones hold NaN: results that change with them were read from there.
  relaunch(true, true);
  for (const std::size_t i : doubtful) {
    const validate::ReferenceFacts facts = compare_launches(problem_.arguments[i], *problem_.sets[0][i]);
    const std::string& output = problem_.arguments[i].layout.name;
    if (facts.from_output > 0) refuse_reads(problem_.job.reference, output, facts.from_output, facts.count);
    judge_numbers(output, facts.count, facts.nans);
  }
}

void Reference::judge_given_outputs() {
  for (TestArgument& argument : problem_.arguments) {
    if (argument.layout.role == spec::ArgRole::in || argument.expected.bytes().empty()) continue;
    const validate::ReferenceFacts facts = validate::sort_out(argument.layout.dtype, argument.expected.writable());
    judge_numbers(argument.layout.name, facts.count, facts.nans);
  }
}

}  // namespace xtune::worker
