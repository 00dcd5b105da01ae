// Artifacts of several kernels: one image, with the resources of each kernel.
#include "core/build/artifact.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace xtune::build {
namespace {

template <class Number, class Choose>
void merge(std::optional<Number>& all, const std::optional<Number>& one, Choose choose) {
  if (one) all = all ? choose(*all, *one) : *one;
}

void add(ResourceUsage& all, const ResourceUsage& one) {
  const auto largest = [](auto a, auto b) { return std::max(a, b); };
  merge(all.registers, one.registers, largest);
  merge(all.scalar_registers, one.scalar_registers, largest);
  merge(all.accumulator_registers, one.accumulator_registers, largest);
  merge(all.spilled_bytes, one.spilled_bytes, largest);
  merge(all.static_shared_bytes, one.static_shared_bytes, largest);
  merge(all.max_threads_per_block, one.max_threads_per_block, [](auto a, auto b) { return std::min(a, b); });
  merge(all.warp_size, one.warp_size, largest);
}

}  // namespace

CompileRequest own_request(const std::string& source_name, std::string_view source, const std::string& entry,
                           const std::string& arch) {
  CompileRequest request;
  request.source_name = "<xtune>/" + source_name;
  request.source = source;
  request.entry = entry;
  request.options = {"-std=c++17"};  // before CUDA 12, NVRTC's default is C++14
  request.arch = arch;
  return request;
}

std::vector<std::string> entries_of(const CompileRequest& request) {
  std::vector<std::string> entries{request.entry};
  entries.insert(entries.end(), request.more_entries.begin(), request.more_entries.end());
  return entries;
}

KernelEntry entry_of(const Artifact& artifact, std::size_t number) {
  if (!artifact.entries.empty()) return artifact.entries.at(number);
  if (number > 0) throw std::out_of_range("an artifact of one kernel has no second one");
  return {artifact.entry_symbol, artifact.usage};
}

std::vector<KernelEntry> all_entries(const Artifact& artifact) {
  if (!artifact.entries.empty()) return artifact.entries;
  return {{artifact.entry_symbol, artifact.usage}};
}

void set_entries(Artifact& artifact, std::vector<KernelEntry> entries) {
  artifact.entry_symbol = entries.at(0).symbol;
  artifact.usage = {};
  for (const KernelEntry& entry : entries) add(artifact.usage, entry.usage);
  if (entries.size() == 1) entries.clear();
  artifact.entries = std::move(entries);
}

}  // namespace xtune::build
