// Tunes a new problem, before its first call or in the background, and uses the outcome.
#include <fmt/core.h>

#include "core/space/bindings_text.hpp"
#include "dispatch/kernel_case.hpp"

namespace xtune::detail {

using dispatch::Key;
using dispatch::Prepared;

bool KernelState::wants_tuning(const Case& found) const {
  const Choice::Kind kind = found.selection.choice.kind;
  return parts_.tune && settings_.policy != Policy::lookup && !found.failure &&
         (kind == Choice::Kind::nearest || kind == Choice::Kind::none);
}

void KernelState::tune(const Bindings& problem) {
  try {
    const device::DeviceInfo device = runtime_.device();
    take(problem, device, parts_.tune(problem, device, stop_.get_token()));
  } catch (const std::exception& error) {
    if (!stop_.stop_requested())
      say(fmt::format("{}, {}: not tuned: {}", name(), space::shown_text(problem), error.what()));
  } catch (...) {  // from a callback of the application
    say(fmt::format("{}, {}: not tuned: a callback threw something that is not a std::exception", name(),
                    space::shown_text(problem)));
  }
  selector_.refresh();
}

void KernelState::take(const Bindings& problem, const device::DeviceInfo& device, dispatch::Tuned tuned) {
  if (!tuned.winner) {
    if (tuned.failed.empty() || stop_.stop_requested()) return;
    auto failure = std::make_shared<const dispatch::Failure>(dispatch::Failure{
        std::move(tuned.failed), fmt::format("{}, {}: {}", name(), space::shown_text(problem), tuned.failures)});
    const std::lock_guard lock(failures_.mutex);
    failures_.by_device.insert_or_assign({device.arch + "\n" + device.name, problem}, std::move(failure));
    return;
  }
  if (tuned.not_kept.empty()) return;
  if (tuned.artifact) builder_.remember(std::move(*tuned.artifact));
  selector_.remember(std::move(*tuned.winner));
  if (!told_not_kept_.exchange(true))
    say(fmt::format("{}: tuned results serve only this process, because the store {} does not keep them: {}", name(),
                    selector_.store().string(), tuned.not_kept));
}

std::shared_ptr<const dispatch::Failure> KernelState::Failures::of(const Bindings& problem,
                                                                   const device::DeviceInfo& device) {
  const std::lock_guard lock(mutex);
  const auto found = by_device.find({device.arch + "\n" + device.name, problem});
  return found == by_device.end() ? nullptr : found->second;
}

void KernelState::tune_in_background(const Key& key, const Bindings& problem) {
  background_.add([this, key, problem] {
    try {
      runtime_.adopt(key.words[0]);
      tune(problem);
      if (!stop_.stop_requested()) table_.put(make(key, case_of(problem)));
    } catch (const dispatch::ProvenWrong& error) {
      table_.put(refused(key, error.what()));
    } catch (const std::exception& error) {
      say(fmt::format("{}, {}: what was tuned is not used: {}", name(), space::shown_text(problem), error.what()));
    }
  });
}

}  // namespace xtune::detail
