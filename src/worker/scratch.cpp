// A kernel that reads what it has not written computes with poison, so its results are wrong.
#include "worker/scratch.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"
#include "core/build/shortage.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::worker {
namespace {

bool is_zeroed(const validate::ArgumentLayout& layout) noexcept { return layout.fill == Fill::zero; }

[[noreturn]] void refuse_size(const validate::ArgumentLayout& layout, const std::string& why) {
  throw build::ShortageFailure(
      build::Lack::memory, Outcome::rejected,
      fmt::format("scratch buffer '{}' {} takes {}: {}", layout.name, validate::describe(layout.dtype, layout.shape),
                  base::human_bytes(layout.bytes()), why));
}

}  // namespace

ScratchBuffers::ScratchBuffers(measure::Device& device, const std::vector<validate::ArgumentLayout>& layouts,
                               std::size_t zone_bytes, std::uint64_t available_bytes)
    : layouts_(layouts) {
  const bool shared = device::is_cpu(device.info());
  std::uint64_t left = available_bytes;
  for (const validate::ArgumentLayout& layout : layouts_) {
    // The system promises more than there is, and kills who uses it.
    if (shared && layout.bytes() > left)
      refuse_size(layout, fmt::format("{} of memory may be taken now", base::human_bytes(left)));
    left -= std::min(left, layout.bytes());
    try {
      buffers_.push_back(std::make_unique<GuardedBuffer>(device, layout.bytes(), zone_bytes));
      device.name_memory(buffers_.back()->address(), layout.bytes(), "scratch buffer '" + layout.name + "'");
    } catch (const Error& error) {
      refuse_size(layout, error.what());
    }
  }
}

void ScratchBuffers::renew() {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    buffers_[i]->fill(0, layouts_[i].bytes(),
                      is_zeroed(layouts_[i]) ? std::byte{0} : validate::poison_byte(layouts_[i].dtype));
    buffers_[i]->renew_guards();
  }
}

void ScratchBuffers::zero() {
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (is_zeroed(layouts_[i])) buffers_[i]->fill(0, layouts_[i].bytes(), std::byte{0});
}

bool ScratchBuffers::any_zeroed() const noexcept { return std::any_of(layouts_.begin(), layouts_.end(), is_zeroed); }

std::optional<GuardDamage> ScratchBuffers::damaged_guard() {
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (const char* const where = buffers_[i]->damage()) return GuardDamage{layouts_[i].name, where};
  return std::nullopt;
}

bool ScratchBuffers::check_guards(ipc::BenchAnswer& answer) {
  const auto damage = damaged_guard();
  return !damage || refuse_damage(*damage, answer);
}

}  // namespace xtune::worker
