// Matching recordings with specs.
#include "backends/replay/target.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/replay/import.hpp"
#include "xtune/error.hpp"

namespace xtune::replay {
namespace {

std::string names_text(const std::vector<space::Parameter>& parameters) {
  std::string text;
  for (const space::Parameter& parameter : parameters) text += (text.empty() ? "" : ", ") + parameter.name;
  return text;
}

std::string problem_text(const Bindings& problem) {
  std::string text;
  for (const auto& [name, value] : problem) text += (text.empty() ? "" : " ") + name + "=" + to_text(value);
  return text.empty() ? "no problem sizes" : text;
}

std::string digest_of(const Recording& recording) {
  std::string bytes;
  const auto add = [&](const auto& value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (std::uint64_t index = 0; index < recording.space.size(); ++index) {
    for (const Value& value : recording.space.at(index)) bytes += to_text(value) + ",";
    const RecordedConfig& config = recording.configs[index];
    bytes += to_string(config.outcome);
    for (const double sample : config.samples_ms) add(sample);
    for (const std::string& reason : config.tainted) bytes += reason + ",";
    add(config.compile_s);
    add(config.bench_s);
  }
  return base::sha256(bytes).substr(0, 16);
}

}  // namespace

const Recording& choose_recording(const std::vector<Recording>& recordings, const spec::Spec& spec,
                                  const Bindings& problem, const std::string& arch, int device) {
  std::vector<const Recording*> fitting;
  std::string held;
  for (const Recording& recording : recordings) {
    held += fmt::format("\n  {} of {} on {} ({})", kernel_name_of(recording, recording.name),
                        problem_text(recording.problem), recording.device.name, recording.device.arch);
    if (kernel_name_of(recording, recording.name) != spec.kernel.name) continue;
    if (recording.problem != problem) continue;
    if (arch.empty() || recording.device.arch == arch) fitting.push_back(&recording);
  }
  if (fitting.empty())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("nothing recorded of kernel {} for {}{}; the recording holds:{}", spec.kernel.name,
                            problem_text(problem), arch.empty() ? "" : " on " + arch, held));
  if (device < 0 || static_cast<std::size_t>(device) >= fitting.size())
    throw Error(ErrorKind::invalid_argument, fmt::format("--device {}: there are recordings of {} devices (0 to {})",
                                                         device, fitting.size(), fitting.size() - 1));
  return *fitting[static_cast<std::size_t>(device)];
}

target::Target target_of(const Recording& recording) {
  target::Target target;
  target.device = recording.device;
  target.device.backend = "replay";
  target.device.index = 0;
  target.arch = recording.device.arch;
  target.backend.name = "replay";
  target.backend.devices = {target.device};
  target.backend.toolchain = fmt::format("recording {} ({})", recording.name, digest_of(recording));
  target.backend.default_arch = target.arch;
  return target;
}

void prepare(spec::Spec& spec) {
  for (space::Parameter& parameter : spec.parameters) parameter.compile_time = true;
  spec.validate.reference = {};
  spec.process.reset();
  spec.measure.race = false;
  spec.measure.finals = 0;
}

std::uint64_t recorded_of(const space::Space& space, const Recording& recording) {
  const std::vector<search::Observation> known = map_observations(recording, space);
  if (known.empty())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} is a recording of another space: its parameters are {}; the spec's are {}",
                            recording.name, names_text(recording.space.parameters()), names_text(space.parameters())));
  return known.size();
}

}  // namespace xtune::replay
