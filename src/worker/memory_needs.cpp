// Adds up the allocations of a bench session.
#include "worker/memory_needs.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {

std::uint64_t set_bytes(const ipc::OpenJob& job, std::size_t zone_bytes) {
  std::uint64_t bytes = 0;
  for (const ipc::ArgumentPlan& plan : job.arguments)
    if (plan.buffer) bytes += plan.buffer->bytes() + 2 * zone_bytes;
  return bytes;
}

MemoryNeeds memory_needs(const ipc::OpenJob& job, std::size_t sets, std::size_t zone_bytes, std::size_t flush_bytes) {
  MemoryNeeds needs;
  needs.device = sets * set_bytes(job, zone_bytes) + flush_bytes;
  const bool compared = job.reference.kind != spec::ReferenceSpec::Kind::none;
  std::uint64_t outputs = 0, largest_output = 0, copies = 0;
  for (const ipc::ArgumentPlan& plan : job.arguments) {
    if (!plan.buffer) continue;
    const std::uint64_t bytes = plan.buffer->bytes();
    const bool read = plan.buffer->role != spec::ArgRole::out, written = plan.buffer->role != spec::ArgRole::in;
    if (read) needs.host += bytes;
    if (written) outputs += bytes;
    if (written) largest_output = std::max(largest_output, bytes);
    if (read && written) copies += bytes;
  }
  for (const validate::ArgumentLayout& constant : job.constants) needs.host += constant.bytes();
  if (compared) needs.host += outputs + largest_output;
  if (job.repeats > 0) needs.host += outputs;
  if (job.check_kernel) needs.device += copies + (compared ? outputs : 0);
  return needs;
}

void require_memory(const ipc::OpenJob& job, const MemoryNeeds& needs, const MemoryFound& found) {
  const std::uint64_t host = needs.host + (found.shared ? needs.device : 0);
  const bool host_short = found.host > 0 && host > found.host;
  const bool device_short = !found.shared && found.device > 0 && needs.device > found.device;
  if (!host_short && !device_short) return;
  const validate::ArgumentLayout* largest = nullptr;
  for (const ipc::ArgumentPlan& plan : job.arguments)
    if (plan.buffer && (!largest || plan.buffer->bytes() > largest->bytes())) largest = &*plan.buffer;
  const std::string at = largest && !largest->at.empty() ? largest->at + ": " : "";
  throw Error(ErrorKind::unavailable,
              fmt::format("{}not enough memory for the arguments: {} {}, and {} {}. Choose a smaller problem{}", at,
                          host_short ? "they and the copies that they are compared with take" : "they take",
                          base::human_bytes(host_short ? host : needs.device),
                          base::human_bytes(host_short ? found.host : found.device),
                          host_short ? "are free on this machine and in its control group" : "is what the device has",
                          host_short ? ", or give this process more memory" : ""));
}

}  // namespace xtune::worker
