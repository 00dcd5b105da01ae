// A map depends only on its description and the address, so it stays right when the memory is used for something else.
#include "dispatch/table.hpp"

#include "xtune/outcome.hpp"

namespace xtune::dispatch {

void EncodedMaps::fill(LaunchMaps& launch, const ArgumentPlan& plan, const void* const* values,
                       backend::Launcher& launcher) {
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

}  // namespace xtune::dispatch
