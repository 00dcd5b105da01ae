// The public interface of dispatch.
#include "xtune/kernel.hpp"

#include <fmt/core.h>

#include "base/enum_words.hpp"
#include "dispatch/access.hpp"
#include "dispatch/kernel_state.hpp"

namespace xtune {

namespace detail {

std::shared_ptr<const Binding> KernelState::bind(const Bindings& fixed) {
  Binding binding = plan_.bind(fixed);
  const std::lock_guard lock(bindings_mutex_);
  auto& known = bindings_[binding.fixed];
  if (!known) {
    binding.id = bindings_.size();
    known = std::make_shared<const Binding>(std::move(binding));
  }
  return known;
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
