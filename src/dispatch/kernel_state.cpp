// A call: key, lookup, launch. The first call on a problem is in kernel_prepare.cpp.
#include "dispatch/kernel_state.hpp"

#include <fmt/core.h>

#include <cstdio>

#include "base/chosen_store.hpp"

namespace xtune::detail {

using dispatch::Key;
using dispatch::Prepared;

namespace {
/// The step that this thread's last launch failed at.
const dispatch::PreparedStep*& refused_step() noexcept {
  thread_local const dispatch::PreparedStep* step = nullptr;
  return step;
}

dispatch::Logs open_logs(const dispatch::Parts& parts, const dispatch::ArgumentPlan& plan, const LoadSettings& settings,
                         const std::function<void(const std::string&)>& say) {
  if (parts.fixed) return {};
  return {
      dispatch::Capture::from_environment(parts.spec, plan, parts.narrow, say),
      dispatch::Coverage::open(settings.coverage, {parts.spec.kernel.name, parts.spec_file, settings.defines}, say)};
}

LoadSettings checked_settings(LoadSettings settings) {
  if (settings.frozen && settings.policy != Policy::lookup)
    throw Error(ErrorKind::invalid_argument, "settings: a frozen kernel never tunes, so its policy must be 'lookup'");
  return settings;
}

/// Makes the context of the first buffer current in a thread without one.
bool enter_context(const dispatch::ArgumentPlan& plan, const void* const* values, backend::Runtime& runtime) {
  for (std::size_t i = 0; i < plan.passed_count(); ++i) {
    if (plan.passed(i).kind != spec::ArgKind::buffer) continue;
    const void* address = nullptr;
    __builtin_memcpy(&address, values[i], sizeof address);
    return runtime.enter_context_of(address);
  }
  return false;
}
}  // namespace

KernelState::KernelState(dispatch::Parts parts, LoadSettings settings)
    : settings_(checked_settings(std::move(settings))),
      parts_(std::move(parts)),
      plan_(parts_.spec),
      runtime_(*parts_.runtime),
      bundle_(dispatch::open_bundle(settings_.bundle, parts_.spec.kernel.name)),
      selector_(parts_.spec, dispatch::store_for(settings_.store, settings_.bundle, settings_.frozen), bundle_,
                settings_.other_architectures, [this](const std::string& text) { say(text); }),
      builder_(
          selector_.store(), bundle_,
          [this](const build::Artifact& artifact) { return parts_.runtime->understands(artifact); },
          settings_.compile ? parts_.open_toolchain : nullptr, [this](const std::string& text) { say(text); }),
      constants_(parts_.spec),
      logs_(open_logs(parts_, plan_, settings_, [this](const std::string& text) { say(text); })) {}

KernelState::~KernelState() {
  stop_.request_stop();
  background_.end();
}

void KernelState::wait() {
  if (background_.is_here())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{}: a callback of the tuning in the background waits for that tuning; wait on another "
                            "thread",
                            name()));
  background_.wait();
}

void KernelState::destroy(KernelState* state) {
  if (state->background_.is_here())
    std::thread([state] { delete state; }).detach();
  else
    delete state;
}

void KernelState::say(const std::string& message) {
  constexpr std::size_t max_messages = 100;
  {
    const std::lock_guard lock(said_mutex_);
    if (said_.size() >= max_messages || !said_.insert(message).second) return;
  }
  if (settings_.on_message) {
    try {
      settings_.on_message(message);
    } catch (...) {  // it must not throw, but a message must not make a call fail
    }
    return;
  }
  const std::string line = "xtune: " + message + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void KernelState::call(const Binding& binding, void* stream, const void* const* values, const Signature& signature,
                       const std::size_t* given_bytes) {
  if (signature.count != plan_.passed_count()) [[unlikely]]
    plan_.check_count(signature.count);
  // Types are one constant for each place in the code that calls: most calls come from the same place as the last one.
  if (settings_.checked && !signature.checked_at_load && fitting_.load(std::memory_order_relaxed) != signature.types) {
    plan_.check_types(signature);
    fitting_.store(signature.types, std::memory_order_relaxed);
  }
  Key key = key_of(binding, values);
  if (key.words[0] == 0 && enter_context(plan_, values, runtime_)) [[unlikely]]
    key = key_of(binding, values);
  const Prepared* entry = table_.find(key, key.hash());
  if (!entry) [[unlikely]]
    entry = add(key, plan_.problem(binding, values));
  if (settings_.checked) check(binding, values, given_bytes, *entry);
  if (entry->calls) [[unlikely]]
    entry->calls->fetch_add(1, std::memory_order_relaxed);
  const auto launch_with = [&](const dispatch::LaunchMaps* maps) {
    int status = 0;
    if (logs_.capture) [[unlikely]]
      status = logs_.capture->around(
          runtime_, stream, values, [&] { return plan_.problem(binding, values); },
          [&] { return launch(*entry, stream, values, maps); });
    else
      status = launch(*entry, stream, values, maps);
    if (status != 0) [[unlikely]]
      fail(*entry, status);
  };
  if (!entry->maps) [[likely]]
    return launch_with(nullptr);
  dispatch::LaunchMaps maps;
  entry->maps->fill(maps, plan_, values, runtime_);
  launch_with(&maps);
}

Key KernelState::key_of(const Binding& binding, const void* const* values) noexcept {
  Key key;
  key.words[0] = runtime_.current();
  key.words[1] = binding.id;
  key.count = 2;
  for (const SizeSource& source : binding.sources)
    key.words[key.count++] = dispatch::word_of(values[source.passed], source.bytes);
  return key;
}

int KernelState::launch(const Prepared& entry, void* stream, const void* const* values,
                        const dispatch::LaunchMaps* maps) const noexcept {
  // The driver takes the addresses of the arguments and only reads them.
  if (entry.as_passed) [[likely]] {
    const dispatch::PreparedStep& only = entry.steps.front();
    return runtime_.launch(only.handle, only.launch, stream, const_cast<void**>(values));
  }
  if (entry.steps.empty()) [[unlikely]]  // never as_passed
    return -1;
  void* parameters[dispatch::max_arguments];
  const std::vector<dispatch::Route>& routes = plan_.routes();
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const std::uint16_t number = routes[i].number;
    switch (routes[i].kind) {
      case dispatch::Route::Kind::passed:
        parameters[i] = const_cast<void*>(values[number]);
        break;
      case dispatch::Route::Kind::filled:
        parameters[i] = const_cast<std::byte*>(entry.filled[number].bytes.data());
        break;
      case dispatch::Route::Kind::map:
        parameters[i] = const_cast<std::byte*>((*maps)[number].bytes.data());
        break;
      case dispatch::Route::Kind::none:
        break;
    }
  }
  for (const dispatch::PreparedStep& step : entry.steps) {
    void* own[dispatch::max_arguments];
    void** passed = parameters;
    if (step.arguments) {
      passed = own;
      for (std::size_t i = 0; i < step.arguments->size(); ++i) own[i] = parameters[(*step.arguments)[i]];
    }
    if (const int status = runtime_.launch(step.handle, step.launch, stream, passed); status != 0) [[unlikely]] {
      refused_step() = &step;
      return status;
    }
  }
  return 0;
}

void KernelState::fail(const Prepared& entry, int status) const {
  if (!entry.refusal.empty()) throw dispatch::ProvenWrong(ErrorKind::nothing_valid, entry.refusal);
  const dispatch::PreparedStep* const step = entry.as_passed ? nullptr : refused_step();
  throw Error(ErrorKind::unavailable,
              fmt::format("launching {}{}: {}", name(), step && !step->name.empty() ? ", " + step->name : "",
                          runtime_.describe(status)));
}

void KernelState::check(const Binding& binding, const void* const* values, const std::size_t* given_bytes,
                        const Prepared& entry) {
  if (binding.told_twice) plan_.check_sizes(binding, values);
  for (std::size_t i = 0; i < entry.bytes.size(); ++i) {
    if (entry.bytes[i] == 0) continue;
    const void* address = nullptr;
    __builtin_memcpy(&address, values[i], sizeof address);
    const auto accessible = [&]() -> std::optional<std::size_t> {
      if (!address) return 0;
      return given_bytes ? given_bytes[i] : runtime_.accessible_bytes(address, entry.bytes[i]);
    };
    plan_.check_memory(i, address, entry.bytes[i], accessible());
  }
}

}  // namespace xtune::detail
