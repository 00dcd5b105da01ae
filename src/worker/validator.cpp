// A kernel may be right only in its first launch, but the measured launches are the others: the launch after all
// measured ones is checked like the first one.
#include "worker/validator.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "worker/command_reference.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::worker {

// Compares bits: tolerances do not matter here.
RepeatCheck::RepeatCheck(const std::vector<TestArgument>& arguments, DeviceCheck* device_check, BufferSet& set)
    : arguments_(arguments), device_check_(device_check), first_(arguments.size()) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!spec::is_output(arguments[i].layout.role)) continue;
    first_[i].resize(arguments[i].layout.bytes());
    set[i]->read(0, first_[i]);
  }
  if (device_check_) first_sums_ = device_check_->output_sums(set);
}

bool RepeatCheck::compare(BufferSet& set) {
  if (!result_.same()) return false;
  ++result_.launches;
  if (device_check_ && device_check_->output_sums(set) == first_sums_) return true;
  for (std::size_t i = 0; i < first_.size() && result_.same(); ++i)
    result_.difference =
        validate::bit_difference(arguments_[i].layout, first_[i],
                                 [&](std::size_t offset, std::span<std::byte> bytes) { set[i]->read(offset, bytes); });
  return result_.same();
}

bool RepeatCheck::refuse(run::BenchAnswer& answer) const {
  answer.outcome = Outcome::wrong_result;
  answer.message = fmt::format(
      "{}: launch {} on the same inputs gave other bits than launch 1: {}: a race, or sums whose order changes from "
      "launch to launch, as those of floating-point atomics do (with repeatable = \"record\", this is only recorded)",
      result_.difference->argument, result_.launches, result_.difference->text());
  return false;
}

/// If the device has no memory to spare, or refuses the kernel, the host checks.
void Validator::prepare_device() {
  if (!problem_.job.check_kernel) return;
  try {
    device_check_ = std::make_unique<DeviceCheck>(problem_.device, problem_.with_image(*problem_.job.check_kernel),
                                                  problem_.arguments);
  } catch (const MissingArtifact&) {
    throw;  // the driver makes it again
  } catch (const Error&) {
  } catch (const build::CandidateFailure&) {  // if the device is lost, the next call reports it
  }
}

void Validator::forget() {
  device_check_.reset();
  inputs_intact_.assign(problem_.sets.size(), false);
}

void Validator::reset_sets() {
  for (std::size_t i = 0; i < problem_.sets.size(); ++i) {
    renew(problem_.arguments, problem_.sets[i], {validate::Poison::usual, true, !inputs_intact_[i]},
          device_check_.get());
    inputs_intact_[i] = false;
  }
}

bool Validator::judge_outputs(BufferSet& set, run::BenchAnswer& answer) {
  if (device_check_ && device_check_->outputs_agree(set, answer)) return true;
  return check_outputs(problem_.arguments, set, answer);
}

/// Of each output, after a launch on the usual poison and another on the high one.
std::vector<std::uint64_t> Validator::count_unwritten(BufferSet& set, const std::function<void(bool zeroed)>& launch) {
  const std::vector<TestArgument>& arguments = problem_.arguments;
  const auto contents = [&] {
    std::vector<std::vector<std::byte>> all(arguments.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (arguments[i].layout.role != spec::ArgRole::out || arguments[i].partly_unwritten) continue;
      all[i].resize(arguments[i].layout.bytes());
      set[i]->read(0, all[i]);
    }
    return all;
  };
  std::vector<std::uint64_t> counts(arguments.size());
  const auto first = contents();
  bool any = false;
  for (std::size_t i = 0; i < first.size(); ++i) any = any || validate::any_poison(arguments[i].layout.dtype, first[i]);
  if (!any) return counts;
  restore(set, validate::Poison::high);
  launch(false);
  const auto second = contents();
  for (std::size_t i = 0; i < first.size(); ++i)
    counts[i] = validate::count_unwritten(arguments[i].layout.dtype, first[i], second[i]);
  return counts;
}

bool Validator::judge_first_launch(BufferSet& set, const ScratchBuffers& scratch,
                                   const std::function<void(bool zeroed)>& launch, run::BenchAnswer& answer) {
  const std::vector<TestArgument>& arguments = problem_.arguments;
  if (judge_outputs(set, answer)) {
    const run::OpenJob& job = problem_.job;
    if (job.reference.kind != spec::ReferenceSpec::Kind::none || !job.check.empty() || !job.outputs.empty())
      return true;
    if (device_check_ && device_check_->outputs_written(set)) return true;
    const std::vector<std::uint64_t> counts = count_unwritten(set, launch);
    const auto worst = std::max_element(counts.begin(), counts.end());
    if (worst == counts.end() || *worst == 0) return true;
    const validate::ArgumentLayout& layout = arguments[static_cast<std::size_t>(worst - counts.begin())].layout;
    answer.validation.emplace();
    answer.validation->output = layout.name;
    answer.validation->count = layout.elements();
    answer.validation->unwritten = *worst;
    return true;
  }
  if (!answer.validation) return false;
  if (answer.validation->unwritten > 0) {
    const std::vector<std::uint64_t> counts = count_unwritten(set, launch);
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (arguments[i].layout.name == answer.validation->output && !arguments[i].partly_unwritten)
        answer.validation->unwritten = counts[i];
    answer.message = answer.validation->text();
  }
  const std::string poisoned = scratch.poisoned();
  if (poisoned.empty()) return false;
  restore(set, validate::Poison::usual);
  launch(true);
  run::BenchAnswer on_zeros;
  if (judge_outputs(set, on_zeros))
    answer.message += "; it is right where scratch buffers hold zeros before the launch: if it relies on that, give " +
                      poisoned + " zero = true";
  return false;
}

bool Validator::judge_inputs(run::BenchAnswer& answer) {
  bool intact = true;
  for (std::size_t i = 0; i < problem_.sets.size() && intact; ++i) {
    intact = (device_check_ && device_check_->inputs_intact(problem_.sets[i])) ||
             check_inputs(problem_.arguments, problem_.sets[i], answer);
    inputs_intact_[i] = intact;
  }
  return intact;
}

bool Validator::judge_guards(run::BenchAnswer& answer) {
  for (BufferSet& set : problem_.sets)
    if (!check_guards(problem_.arguments, set, answer)) return false;
  return true;
}

/// Scratch buffers contain `poison`, and so do the sets' outputs, alternately with the opposite one.
bool Validator::judge_launches(Sampler& sampler, ScratchBuffers& scratch, int launches, validate::Poison poison,
                               run::BenchAnswer& answer) {
  scratch.renew(poison);
  for (BufferSet& set : problem_.sets) {
    restore(set, poison);
    poison = poison == validate::Poison::high ? validate::Poison::low : validate::Poison::high;
  }
  sampler.run_on(std::max(launches, static_cast<int>(problem_.sets.size())));
  if (!scratch.check_guards(answer)) return false;
  for (BufferSet& set : problem_.sets) {
    problem_.add_up(set, scratch);
    if (!judge_outputs(set, answer)) return false;
  }
  return true;
}

/// Launches back to back as in a sample, then once. A kernel that is right only every second time is caught: with one
/// set the checked launches are consecutive, with several sets all of them are checked.
bool Validator::judge_last_launch(LoadedProgram& loaded, Sampler& sampler, bool again, run::BenchAnswer& answer) {
  if (loaded.program->times_itself()) {
    loaded.program->check_last_run();
    return true;
  }
  const bool right = judge_launches(sampler, *loaded.scratch, sampler.launches(), validate::Poison::high, answer) &&
                     (problem_.sets.size() > 1 || !again ||
                      judge_launches(sampler, *loaded.scratch, 1, validate::Poison::low, answer));
  if (right) {
    answer.stage = "validate";
    check_by_command(problem_.sets[0], late_words());
    answer.stage = "measure";
    leave_outputs(problem_.job, problem_.arguments, problem_.sets[0], "last");
    return true;
  }
  answer.stage = "validate";
  // An input that a measured launch changed is the cause of wrong outputs, not their consequence.
  run::BenchAnswer inputs;
  if (judge_inputs(inputs)) {
    answer.message += late_words();
  } else {
    answer.stage = "measure";
    answer.message = inputs.message;
  }
  return false;
}

void Validator::check_by_command(BufferSet& set, const std::string& after) const {
  if (problem_.job.check.empty()) return;
  CommandCall call{problem_.job.check, problem_.job.folder, exchange_folder(problem_.job, "check"),
                   problem_.job.measure.timeout_s};
  std::vector<std::vector<std::byte>> contents(problem_.arguments.size());
  std::vector<validate::ArrayView> outputs;
  for (std::size_t i = 0; i < problem_.arguments.size(); ++i) {
    const validate::ArgumentLayout& layout = problem_.arguments[i].layout;
    if (spec::is_input(layout.role)) call.inputs.push_back({&layout, problem_.arguments[i].pristine.bytes()});
    if (!spec::is_output(layout.role)) continue;
    contents[i].resize(layout.bytes());
    set[i]->read(0, contents[i]);
    outputs.push_back({&layout, contents[i]});
  }
  for (const TestArgument& constant : problem_.constants)
    call.inputs.push_back({&constant.layout, constant.pristine.bytes()});
  try {
    run_command_check(call, outputs);
  } catch (const build::CandidateFailure& failure) {
    if (after.empty() || failure.outcome() != Outcome::wrong_result || build::lack_of(failure) != build::Lack::none)
      throw;
    throw build::CandidateFailure(failure.outcome(), failure.what() + after, failure.log());
  }
}

const char* Validator::late_words() const noexcept {
  return problem_.job.sanitize
             ? "; the first launch was right, and one in which the threads of a block change at random stores was not: "
               "do two of them write to one place without an atomic function or a barrier, or does the kernel rely on "
               "what only the first launch finds?"
             : "; the first launch was right, and a later one was not: does the kernel rely on what only the first "
               "launch finds, such as a counter that no launch resets, or on what its outputs or scratch buffers hold "
               "before the launch?";
}

}  // namespace xtune::worker
