// Whether the outputs of a reference can be used: otherwise a kernel that writes nothing could agree with them.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/validate/reference_outputs.hpp"
#include "worker/bench_session.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {
namespace {

constexpr std::size_t judged_bytes = std::size_t{16} << 20;  // a multiple of every element's size

std::string name_of(const ipc::ReferencePlan& plan) {
  return plan.kind == spec::ReferenceSpec::Kind::kernel ? fmt::format("the reference kernel '{}'", plan.name)
                                                        : "the reference";
}

/// Decided only by its size, so an integer may be taken for a float: then a NaN is allowed rather than refused.
bool may_be_no_number(const measure::ScalarArgument& scalar) {
  constexpr std::uint16_t exponent_of_f16 = 0x7c00;  // that of bf16 has these bits, too
  std::uint16_t half = 0;
  float f32 = 0;
  double f64 = 0;
  if (scalar.size == sizeof half) std::memcpy(&half, scalar.bytes.data(), sizeof half);
  if (scalar.size == sizeof f32) std::memcpy(&f32, scalar.bytes.data(), sizeof f32);
  if (scalar.size == sizeof f64) std::memcpy(&f64, scalar.bytes.data(), sizeof f64);
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

void warn(const ipc::ReferencePlan& plan, std::vector<std::string>& warnings, const std::string& text) {
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
bool are_finite(const std::vector<TestArgument>& arguments, const Constants& constants,
                const ipc::ReferencePlan& reference) {
  const auto finite = [](const TestArgument& a) {
    return !validate::any_not_finite(a.layout.dtype, a.pristine.bytes());
  };
  return std::all_of(arguments.begin(), arguments.end(), finite) &&
         std::all_of(constants.all().begin(), constants.all().end(), finite) &&
         std::none_of(reference.scalar_arguments.begin(), reference.scalar_arguments.end(), may_be_no_number);
}

}  // namespace

void BenchSession::judge_numbers(const std::string& output, std::uint64_t count, std::uint64_t nans) {
  if (nans == 0 || !are_finite(arguments_, constants_, job_.reference)) return;
  if (nans == count)
    throw Error(ErrorKind::invalid_spec,
                fmt::format("{0} gives NaN in all {2} elements of output '{1}', although no input is NaN or infinite, "
                            "so nothing can be compared with it. If it reads '{1}' before it writes there, give '{1}' "
                            "role \"inout\"",
                            name_of(job_.reference), output, count));
  warn(job_.reference, found_.warnings,
       fmt::format("{} gives NaN in {} of {} elements of output '{}', although no input is NaN or infinite, and there "
                   "any NaN passes: give inputs for which it gives numbers (fill or file)",
                   name_of(job_.reference), nans, count, output));
}

void BenchSession::judge_reference_launch(const std::function<void()>& launch) {
  std::vector<std::size_t> doubtful;
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (arguments_[i].layout.role != spec::ArgRole::in &&
        validate::is_doubtful(arguments_[i].layout.dtype, arguments_[i].expected.bytes()))
      doubtful.push_back(i);
  if (doubtful.empty()) return;
  const auto launch_on_zeros = [&](bool zero_guards) {
    reset(arguments_, sets_[0]);
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (arguments_[i].layout.role == spec::ArgRole::out)
        sets_[0][i]->fill(0, arguments_[i].layout.bytes(), std::byte{0});
      if (zero_guards) sets_[0][i]->zero_guards();
    }
    launch();
  };
  launch_on_zeros(false);
  std::uint64_t nans = 0;
  for (const std::size_t i : doubtful) {
    const validate::ReferenceFacts facts = compare_launches(arguments_[i], *sets_[0][i]);
    const std::string& output = arguments_[i].layout.name;
    nans += facts.nans;
    if (arguments_[i].layout.role == spec::ArgRole::inout) continue;  // what it holds before is not undefined
    require_written(name_of(job_.reference), output, facts);
    if (facts.unwritten > 0)
      warn(job_.reference, found_.warnings,
           fmt::format("{} leaves {} of {} elements of output '{}' unwritten: a configuration must leave them, too",
                       name_of(job_.reference), facts.unwritten, facts.count, output));
  }
  if (nans == 0) return;
  // The guard zones hold NaN: results that change with them were read from there.
  launch_on_zeros(true);
  for (const std::size_t i : doubtful) {
    const validate::ReferenceFacts facts = compare_launches(arguments_[i], *sets_[0][i]);
    const std::string& output = arguments_[i].layout.name;
    if (facts.from_output > 0)
      throw Error(ErrorKind::invalid_spec,
                  fmt::format("{} reads outside of its arguments for {} of {} elements of output '{}'. Indices among "
                              "its inputs must be valid ones: fill = {{ integers = [0, N] }} gives those below N",
                              name_of(job_.reference), facts.from_output, facts.count, output));
    judge_numbers(output, facts.count, facts.nans);
  }
}

std::vector<std::string> tolerance_warnings(const ipc::ReferencePlan& reference,
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

void BenchSession::judge_given_outputs() {
  for (TestArgument& argument : arguments_) {
    if (argument.layout.role == spec::ArgRole::in || argument.expected.bytes().empty()) continue;
    const validate::ReferenceFacts facts = validate::sort_out(argument.layout.dtype, argument.expected.writable());
    judge_numbers(argument.layout.name, facts.count, facts.nans);
  }
}

}  // namespace xtune::worker
