// The library's access to private parts of its public classes.
#pragma once

#include <memory>
#include <utility>

#include "xtune/kernel.hpp"
#include "xtune/tunable.hpp"

namespace xtune {

struct Access {
  static Kernel kernel(std::shared_ptr<detail::KernelState> state,
                       std::shared_ptr<const detail::Binding> binding) noexcept {
    return {std::move(state), std::move(binding)};
  }
  static detail::KernelState& state(const Kernel& kernel) noexcept { return *kernel.state_; }
  /// Throws Error(invalid_argument) for a moved-from Tunable.
  static const detail::TunableState& state(const Tunable& tunable) { return tunable.state(); }
  static std::shared_ptr<const detail::CompiledBuild>& build(CompiledConfig& compiled) noexcept {
    return compiled.build_;
  }
};

}  // namespace xtune
