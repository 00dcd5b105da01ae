// A call: key, lookup, launch. What the first call on a problem needs is in preparation.cpp.
#include "dispatch/kernel_state.hpp"

#include <fmt/core.h>

#include <array>
#include <cstdio>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/space/value.hpp"
#include "core/spec/template_text.hpp"
#include "system/chosen_store.hpp"

namespace xtune {

void dispatch::Messages::operator()(const std::string& message) {
  constexpr std::size_t max_messages = 100;
  {
    const std::lock_guard lock(mutex_);
    if (sent_.size() >= max_messages || !sent_.insert(message).second) return;
  }
  if (receiver_) {
    try {
      receiver_(message);
    } catch (...) {  // it must not throw, but a message must not make a call fail
    }
    return;
  }
  const std::string line = "xtune: " + message + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void dispatch::EncodedMaps::fill(LaunchMaps& launch, const ArgumentPlan& plan, const void* const* values,
                                 backend::Launcher& launcher) {
  // A map depends only on its description and the address, so it stays right when the memory is used for something
  // else.
  constexpr std::size_t max_addresses = 256;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < maps_.size(); ++i) {
    void* address = nullptr;
    __builtin_memcpy(&address, values[plan.mapped()[i]], sizeof address);
    auto& known = known_[i];
    if (const auto found = known.find(address); found != known.end()) {
      launch[i] = found->second;
      continue;
    }
    try {
      launch[i] = launcher.encode(maps_[i], address);
    } catch (const build::CandidateFailure& failure) {
      throw plan.mapping_error(i, failure.what());
    }
    if (known.size() >= max_addresses) known.clear();
    known.emplace(address, launch[i]);
  }
}

namespace detail {

using dispatch::Key;
using dispatch::Prepared;

namespace {
constexpr std::size_t max_problems = std::size_t{1} << 16;

/// Marks the calling thread.
class Preparer {
 public:
  explicit Preparer(std::atomic<std::thread::id>& mark) : mark_(mark) { mark_ = std::this_thread::get_id(); }
  ~Preparer() { mark_ = std::thread::id(); }
  Preparer(const Preparer&) = delete;
  Preparer& operator=(const Preparer&) = delete;

 private:
  std::atomic<std::thread::id>& mark_;
};

/// The step that this thread's last launch failed at.
const dispatch::PreparedStep*& refused_step() noexcept {
  thread_local const dispatch::PreparedStep* step = nullptr;
  return step;
}

/// Calls of this key throw that, as long as nothing else is put in its place.
Prepared refused(const Key& key, const std::string& why) {
  Prepared entry;
  entry.key = key;
  entry.as_passed = false;
  entry.refusal = why;
  return entry;
}

LoadSettings checked_settings(LoadSettings settings) {
  if (settings.frozen && settings.policy != Policy::lookup)
    throw Error(ErrorKind::invalid_argument, "settings: a frozen kernel never tunes, so its policy must be 'lookup'");
  if (!settings.allocator.allocate) return settings;
  if (settings.backend == "host")
    throw Error(ErrorKind::invalid_argument,
                "settings: an allocator is for device memory; on the host backend each thread has its own scratch");
  if (!settings.allocator.release) throw Error(ErrorKind::invalid_argument, "settings: the allocator has no release");
  return settings;
}

std::shared_ptr<backend::Workspaces> workspaces_of(const Allocator& allocator,
                                                   const std::shared_ptr<backend::Runtime>& runtime) {
  if (!allocator.allocate) return {runtime, &runtime->workspaces()};
  return std::make_shared<backend::Workspaces>(
      [allocator](std::size_t bytes, void* stream, bool) -> std::shared_ptr<void> {
        void* const memory = allocator.allocate(bytes, stream);
        if (!memory)
          throw Error(ErrorKind::unavailable,
                      fmt::format("the application's allocator has no {} for scratch", base::human_bytes(bytes)));
        return {memory, [allocator, bytes, stream](void* kept) {
                  try {
                    allocator.release(kept, bytes, stream);
                  } catch (...) {  // a destructor never throws
                  }
                }};
      });
}

/// Makes the context of the first buffer current in a thread without one.
bool enter_context(const dispatch::ArgumentPlan& plan, const void* const* values, backend::Runtime& runtime) {
  for (const std::size_t i : plan.omissible().others) {
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
      workspaces_(workspaces_of(settings_.allocator, parts_.runtime)),
      say_(settings_.on_message),
      preparation_(parts_, settings_, plan_, std::ref(say_)),
      capture_(parts_.fixed ? nullptr
                            : dispatch::Capture::from_environment(parts_.spec, plan_, parts_.narrow, std::ref(say_))) {}

KernelState::~KernelState() {
  preparation_.stop_tuning();
  background_.get().end();
}

std::shared_ptr<const Binding> KernelState::bind(const Bindings& fixed) {
  Binding binding = plan_.bind(fixed);
  const std::lock_guard lock(bindings_.mutex);
  auto& known = bindings_.by_given[binding.given];
  if (!known) {
    binding.id = bindings_.by_given.size();
    known = std::make_shared<const Binding>(std::move(binding));
  }
  return known;
}

void KernelState::wait() {
  if (background_.get().is_here())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{}: a callback of the tuning in the background waits for that tuning; wait on another "
                            "thread",
                            name()));
  background_.get().wait();
}

void KernelState::destroy(KernelState* state) {
  if (state->background_.get().is_here())
    std::thread([state] { delete state; }).detach();
  else
    delete state;
}

void KernelState::call(const Binding& binding, void* stream, const void* const* values, const Signature& signature,
                       const std::size_t* given_bytes) {
  const bool with_scratch = signature.count == plan_.passed_count();
  if (!with_scratch && signature.count != plan_.omissible().others.size()) [[unlikely]]
    plan_.check_count(signature.count);
  // Types are one constant for each place in the code that calls: most calls come from the same place as the last one.
  if (settings_.checked && !signature.checked_at_load && fitting_.load(std::memory_order_relaxed) != signature.types) {
    plan_.check_types(signature);
    fitting_.store(signature.types, std::memory_order_relaxed);
  }
  if (with_scratch) return call_all(binding, stream, values, given_bytes, nullptr);
  const void* all[dispatch::max_arguments];
  std::size_t all_bytes[dispatch::max_arguments];
  void* scratch[dispatch::max_arguments];
  for (std::size_t i = 0; i < signature.count; ++i) {
    const std::size_t at = plan_.omissible().others[i];
    all[at] = values[i];
    all_bytes[at] = given_bytes ? given_bytes[i] : 0;
  }
  for (std::size_t i = 0; i < plan_.omissible().scratch.size(); ++i)
    all[plan_.omissible().scratch[i].passed] = &scratch[i];
  call_all(binding, stream, all, given_bytes ? all_bytes : nullptr, scratch);
}

void KernelState::take_scratch(const Prepared& entry, void* stream, void** scratch) {
  if (entry.scratch.empty()) return;  // refused, so that nothing is launched
  auto* const block =
      static_cast<std::byte*>(workspaces_->block(runtime_.queue_of(stream), stream, entry.scratch_bytes));
  for (std::size_t i = 0; i < entry.scratch.size(); ++i) scratch[i] = block + entry.scratch[i];
  if (entry.zeroed_bytes == 0) return;
  if (const int status = runtime_.zero(block, entry.zeroed_bytes, stream); status != 0)
    throw Error(ErrorKind::unavailable, fmt::format("{}: zeroing its scratch: {}", name(), runtime_.describe(status)));
}

void KernelState::call_all(const Binding& binding, void* stream, const void* const* values,
                           const std::size_t* given_bytes, void** scratch) {
  Key key = key_of(binding, values);
  if (key.words[0] == 0 && enter_context(plan_, values, runtime_)) [[unlikely]]
    key = key_of(binding, values);
  const Prepared* entry = table_.find(key, key.hash());
  if (!entry) [[unlikely]]
    entry = add(key, plan_.problem(binding, values));
  if (settings_.checked) check(binding, values, given_bytes, *entry, scratch != nullptr);
  if (scratch) take_scratch(*entry, stream, scratch);
  if (entry->calls) [[unlikely]]
    entry->calls->fetch_add(1, std::memory_order_relaxed);
  const auto launch_with = [&](const dispatch::LaunchMaps* maps) {
    int status = 0;
    if (capture_) [[unlikely]]
      status = capture_->around(
          runtime_, stream, values, [&] { return plan_.problem(binding, values); },
          [&] { return launch(*entry, stream, values, maps); });
    else
      status = launch(*entry, stream, values, maps);
    if (status != 0) [[unlikely]]
      fail(*entry, status, stream);
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
    key.words[key.count++] = dispatch::word_of(source.in(values), source.bytes);
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
      for (std::size_t i = 0; i < step.arguments->size(); ++i) {
        const std::size_t at = (*step.arguments)[i];
        own[i] = at < routes.size() ? parameters[at]
                                    : const_cast<std::byte*>(entry.replacing[at - routes.size()].bytes.data());
      }
    }
    if (const int status = runtime_.launch(step.handle, step.launch, stream, passed); status != 0) [[unlikely]] {
      refused_step() = &step;
      return status;
    }
  }
  return 0;
}

void KernelState::fail(const Prepared& entry, int status, void* stream) const {
  if (!entry.refusal.empty()) throw dispatch::ProvenWrong(ErrorKind::nothing_valid, entry.refusal);
  const dispatch::PreparedStep* const step = entry.as_passed ? nullptr : refused_step();
  throw Error(
      ErrorKind::unavailable,
      fmt::format(
          "launching {}{}: {}{}", name(), step && !step->name.empty() ? ", " + step->name : "",
          runtime_.describe(status),
          runtime_.is_foreign(stream) ? ". The stream belongs to another context than the thread's current one" : ""));
}

void KernelState::check(const Binding& binding, const void* const* values, const std::size_t* given_bytes,
                        const Prepared& entry, bool own_scratch) {
  if (binding.told_twice) plan_.check_sizes(binding, values);
  const std::size_t count = entry.bytes.empty() ? 0
                            : own_scratch       ? plan_.omissible().others.size()
                                                : plan_.passed_count();
  for (std::size_t each = 0; each < count; ++each) {
    const std::size_t i = own_scratch ? plan_.omissible().others[each] : each;
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

const Prepared* KernelState::add(const Key& key, const Bindings& problem) {
  if (preparer_ == std::this_thread::get_id())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{}, {}: a callback that was called while another problem is prepared calls the kernel for "
                            "this new one; call it once the first call has returned",
                            name(), space::shown_text(problem)));
  const std::lock_guard lock(preparing_);
  const Preparer preparer(preparer_);
  const system::RememberNothing writes_nothing(settings_.frozen);
  if (const Prepared* const entry = table_.find(key, key.hash())) return entry;
  if (parts_.fixed) return table_.put(preparation_.make_fixed(key, problem));
  try {
    return add_chosen(key, problem);
  } catch (const build::CandidateFailure& failure) {
    throw Error(ErrorKind::nothing_valid,
                fmt::format("{}, {}: {}", name(), space::shown_text(problem), failure.what()));
  }
}

/// Tunes before or after that, by the policy.
const Prepared* KernelState::add_chosen(const Key& key, const Bindings& problem) {
  dispatch::ChosenCase found = preparation_.choose(problem);
  const bool tuning = preparation_.wants_tuning(found);
  const bool in_background = tuning && settings_.policy == Policy::tune_in_background;
  if (tuning && settings_.policy == Policy::tune_once) {
    preparation_.tune(problem);
    found = preparation_.choose(problem);
  }
  if (in_background && !found.refusal.empty()) {
    table_.put(refused(key, found.refusal));
    tune_in_background(key, problem);
  }
  Prepared prepared = preparation_.make(key, found);
  if (table_.size() >= max_problems) {
    // Too many to keep: this one exists until the thread's next.
    say_(fmt::format("{}: more than {} problems: further ones are prepared at each call", name(), max_problems));
    thread_local std::unique_ptr<const Prepared> passing;
    passing = std::make_unique<const Prepared>(std::move(prepared));
    return passing.get();
  }
  const Prepared* const entry = table_.put(std::move(prepared));
  if (in_background) tune_in_background(key, problem);
  return entry;
}

void KernelState::tune_in_background(const Key& key, const Bindings& problem) {
  background_.get().add([this, key, problem] {
    try {
      runtime_.adopt(key.words[0]);
      preparation_.tune(problem);
      if (!preparation_.stops()) table_.put(preparation_.make(key, preparation_.choose(problem)));
    } catch (const dispatch::ProvenWrong& error) {
      table_.put(refused(key, error.what()));
    } catch (const std::exception& error) {
      say_(fmt::format("{}, {}: what was tuned is not used: {}", name(), space::shown_text(problem), error.what()));
    }
  });
}

Bindings KernelState::without_sizes() const {
  Bindings sizes;
  if (parts_.fixed)
    for (const std::string& name : plan_.bind({}).missing) sizes.emplace(name, parts_.fixed->problem.at(name));
  return sizes;
}

Bindings KernelState::whole(const Binding& binding, const Bindings& sizes) const {
  Bindings problem = binding.fixed;
  for (const auto& [name, value] : sizes) problem.insert_or_assign(name, value);
  if (parts_.fixed) problem.insert(parts_.fixed->problem.begin(), parts_.fixed->problem.end());
  problem = plan_.bind(problem).fixed;
  for (const auto& [name, value] : parts_.spec.cases.front())
    if (!problem.contains(name))
      throw Error(ErrorKind::invalid_argument, fmt::format("{}: the problem size '{}' is missing", this->name(), name));
  return problem;
}

Choice KernelState::choice(const Binding& binding, const Bindings& sizes) {
  return preparation_.choice(whole(binding, sizes));
}

std::string KernelState::digest(const Binding& binding, const std::vector<Bindings>& problems) {
  std::vector<Bindings> all;
  for (const Bindings& problem : problems) all.push_back(whole(binding, problem));
  return preparation_.digest(all);
}

void KernelState::prepare(const Binding& binding, const Bindings& sizes) {
  const Bindings problem = whole(binding, sizes);
  if (!binding.missing.empty()) plan_.problem(binding, nullptr);  // throws, because no call could follow
  std::array<std::vector<std::byte>, dispatch::max_arguments> scalars;
  std::array<const void*, dispatch::max_arguments> values{};
  for (const SizeSource& source : binding.sources) {
    std::vector<std::byte>& scalar = scalars[source.passed];
    scalar.resize(plan_.passed(source.passed).bytes_by_value());
    std::byte* const bytes = scalar.data() + source.at;
    const Value& value = problem.at(source.name);
    if (const auto* integer = std::get_if<std::int64_t>(&value))
      spec::encode(source.dtype, *integer, bytes);
    else if (const auto* number = std::get_if<double>(&value))
      spec::encode(source.dtype, *number, bytes);
    else
      spec::encode(source.dtype, std::int64_t{value == Value(true)}, bytes);
    values[source.passed] = scalar.data();
  }
  // The values that the call will read from its scalars, which may have narrower types than the values given here.
  const Bindings called = plan_.problem(binding, values.data());
  for (const auto& [name, value] : problem)
    if (called.at(name) != value)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}: no call can have {} = {}: the argument's type does not hold it", this->name(), name,
                              to_text(value)));
  const Key key = key_of(binding, values.data());
  if (const Prepared* const entry = table_.find(key, key.hash()); !entry)
    add(key, called);
  else if (!entry->refusal.empty())
    fail(*entry, 0, nullptr);
}

}  // namespace detail

const char* to_string(Choice::Kind kind) noexcept {
  return base::enum_words<Choice::Kind>("exact", "bucket", "nearest", "default").of(kind);
}

Kernel::Kernel(std::shared_ptr<detail::KernelState> state, std::shared_ptr<const detail::Binding> binding) noexcept
    : state_(std::move(state)), binding_(std::move(binding)) {}

void Kernel::check_signature(const detail::Signature& signature) const {
  try {
    state_->plan().check_types(signature);
  } catch (const Error& error) {
    throw Error(error.kind(),
                fmt::format("the type of the typed kernel does not fit the spec: {}. Declare the arguments in the "
                            "order and with the types of the spec's args",
                            error.what()));
  }
}

void Kernel::call(void* stream, const void* const* values, const detail::Signature& signature,
                  const std::size_t* bytes) const {
  state_->call(*binding_, stream, values, signature, bytes);
}

std::vector<KernelArgument> Kernel::arguments() const { return state_->plan().passed_arguments(); }

void Kernel::launch(Stream stream, std::span<const void* const> values, std::span<const std::size_t> bytes) const {
  if (!bytes.empty() && bytes.size() != values.size())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{}: launch was given {} values and the sizes of {}", name(), values.size(), bytes.size()));
  call(stream.handle(), values.data(), {nullptr, values.size(), true}, bytes.empty() ? nullptr : bytes.data());
}

Kernel Kernel::for_problem(const Bindings& sizes) const {
  Bindings all = binding_->fixed;
  for (const auto& [name, value] : sizes) all.insert_or_assign(name, value);
  return {state_, state_->bind(all)};
}

Choice Kernel::choice(const Bindings& problem) const { return state_->choice(*binding_, problem); }
std::string Kernel::digest(const std::vector<Bindings>& problems) const { return state_->digest(*binding_, problems); }
void Kernel::prepare(const Bindings& problem) const { state_->prepare(*binding_, problem); }
void Kernel::wait() const { state_->wait(); }
const std::string& Kernel::name() const noexcept { return state_->name(); }
const std::string& Kernel::backend() const noexcept { return state_->backend(); }

namespace dispatch {

Kernel make_kernel(Parts parts, LoadSettings settings) {
  std::shared_ptr<detail::KernelState> state(
      std::make_unique<detail::KernelState>(std::move(parts), std::move(settings)).release(),
      detail::KernelState::destroy);
  auto binding = state->bind(state->without_sizes());
  return Access::kernel(std::move(state), std::move(binding));
}

}  // namespace dispatch

}  // namespace xtune
