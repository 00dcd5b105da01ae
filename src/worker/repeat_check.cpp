// Compares bits: tolerances do not matter here.
#include "worker/repeat_check.hpp"

#include <fmt/core.h>

namespace xtune::worker {

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

bool RepeatCheck::refuse(ipc::BenchAnswer& answer) const {
  answer.outcome = Outcome::wrong_result;
  answer.message = fmt::format(
      "{}: launch {} on the same inputs gave other bits than launch 1: {}: a race, or sums whose order changes from "
      "launch to launch, as those of floating-point atomics do (with repeatable = \"record\", this is only recorded)",
      result_.difference->argument, result_.launches, result_.difference->text());
  return false;
}

}  // namespace xtune::worker
