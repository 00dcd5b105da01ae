// The begin and end of kernels.
#include "tools/kokkos/kernels.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"

namespace xtune::kokkos_tools {
namespace {

constexpr std::size_t max_kernels = 20'000;
constexpr std::size_t max_depth = 8;

bool is_tile(const NamedVariable& each) { return each.variable.name.find("_tile_size_") != std::string::npos; }

}  // namespace

struct Kernels::Frame {
  std::uint64_t number = 0;
  Kernel* kernel = nullptr;
  std::uint32_t device = 0;
  OnlineTuner::Answer answer = {};
  bool tuned = false;  ///< the kernel has a region
  bool asked = false;
  double start_ms = 0;
};

std::vector<Kernels::Frame>& Kernels::frames() {
  thread_local std::vector<Frame> open;
  return open;
}

// Another object must not find this thread's kernels of this one.
Kernels::~Kernels() { frames().clear(); }

bool Kernels::launching() const { return !frames().empty(); }

Kernels::Kernel* Kernels::find(std::string_view name, std::uint32_t device) {
  if (const auto known = kernels_.find(name); known != kernels_.end()) return &known->second;
  if (kernels_.size() >= max_kernels) return nullptr;
  Kernel kernel{std::string(name), abi::space_kind(device)};
  return &kernels_.emplace(kernel.name, std::move(kernel)).first->second;
}

/// The region of a kernel that can be tuned; nullptr: its own choices.
Region* Kernels::region_of(Kernel& kernel, std::uint32_t device) {
  if (kernel.refused || kernel.variables.empty() || kernel.kind != abi::space_kind(device)) return nullptr;
  if (kernel.region) return kernel.region.get();
  kernel.refused = true;  // unless all goes well
  if (session_.is_child()) return nullptr;
  if (!session_.settings().tiles && std::any_of(kernel.variables.begin(), kernel.variables.end(), is_tile)) {
    ++kernels_with_tiles_;
    return nullptr;
  }
  kernel.region = session_.make_region(kernel.name, {}, device, kernel.variables);
  kernel.refused = !kernel.region;
  return kernel.region.get();
}

/// Forgets the frames above `depth`: kernels that threw.
void Kernels::drop(std::size_t depth) {
  std::vector<Frame>& open = frames();
  while (open.size() > depth) {
    if (open.back().answer.measured) {
      open.back().kernel->region->tuner->forget();
      --measuring_;
    }
    --running_;
    open.pop_back();
  }
}

std::uint64_t Kernels::begin(const char* name, std::uint32_t device, bool may_measure) {
  std::vector<Frame>& open = frames();
  Frame frame{++last_number_, find(name ? name : "", device), device};
  for (std::size_t i = 0; i < open.size(); ++i)
    if (open[i].kernel == frame.kernel || open.size() >= max_depth) drop(i);
  if (running_ > static_cast<int>(open.size()) && last_thread_ != &open && !concurrent_) {
    concurrent_ = true;
    session_.warn("kernels are launched by several threads at once: all have Kokkos' own choices from now on");
  }
  last_thread_ = &open;
  Region* const region = frame.kernel && !concurrent_ ? region_of(*frame.kernel, device) : nullptr;
  if (region) {
    ++region->calls;
    if (!region->tuner->decided()) session_.refresh(*region);
    frame.answer = region->tuner->next(may_measure && measuring_ == 0);
    frame.tuned = true;
  }
  session_.show(frame.answer.choice.has_value());
  if (frame.answer.measured) {
    ++measuring_;
    session_.fence(device);
    frame.start_ms = session_.now_ms();
  }
  ++running_;
  open.push_back(frame);
  return frame.number;
}

void Kernels::end(std::uint64_t number) {
  std::vector<Frame>& open = frames();
  const auto found = std::find_if(open.rbegin(), open.rend(), [&](const Frame& each) { return each.number == number; });
  if (found == open.rend()) return;
  drop(static_cast<std::size_t>(open.rend() - found));
  const Frame frame = open.back();
  if (frame.answer.measured) {
    session_.fence(frame.device);
    const double time_ms = session_.now_ms() - frame.start_ms;
    Region& region = *frame.kernel->region;
    if (frame.asked || !frame.answer.choice)
      region.tuner->observe(time_ms);
    else
      region.tuner->forget();
    --measuring_;
    session_.store(region);
  }
  // A call that asked for nothing, or for other variables: several kernels share this name.
  if (frame.tuned && frame.answer.choice && !frame.asked && !concurrent_) {
    frame.kernel->refused = true;
    session_.warn(fmt::format("'{}' has Kokkos' own choices: several kernels have this name",
                              base::printable(frame.kernel->name, 120)));
  }
  --running_;
  open.pop_back();
}

void Kernels::declare(std::size_t id, Variable variable) {
  Kernel* const kernel = frames().back().kernel;
  if (!kernel || kernel->region) return refuse();
  kernel->variables.push_back({id, std::move(variable)});
}

void Kernels::refuse() {
  if (Kernel* const kernel = frames().back().kernel) kernel->refused = true;
}

void Kernels::request(std::size_t count, abi::VariableValue* values) {
  Frame& frame = frames().back();
  if (!frame.answer.choice || !values) return;
  Region& region = *frame.kernel->region;
  if (count != region.ids.size()) return;
  for (std::size_t i = 0; i < count; ++i)
    if (values[i].type_id != region.ids[i]) return;
  const std::vector<abi::Value>& answer = region.values_for(*frame.answer.choice);
  for (std::size_t i = 0; i < count; ++i) values[i].value = answer[i];
  frame.asked = true;
}

void Kernels::visit(const std::function<void(Region&)>& visitor) {
  std::map<std::string_view, Region*> sorted;
  for (auto& [name, kernel] : kernels_)
    if (kernel.region) sorted.emplace(name, kernel.region.get());
  for (const auto& [name, region] : sorted) visitor(*region);
}

}  // namespace xtune::kokkos_tools
