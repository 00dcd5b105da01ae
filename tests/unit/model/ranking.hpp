// Small specs to rank, and helpers for their rankings.
#pragma once

#include <string>

#include "core/device/device_info.hpp"
#include "core/model/rank.hpp"
#include "core/model/template.hpp"
#include "xtune/error.hpp"

namespace xtune::test {

inline const std::string matmul_spec = R"spec([kernel]
name = "gemm"

[problem]
M = 4096
N = 4096
K = 4096

[space.params]
BM = [32, 64, 128, 256]
BN = [32, 64, 128, 256]
BK = [16, 32]
STAGES = [1, 2, 3]
UNSEEN = [1, 2, 3]

[candidates]
template = "matmul"
dtype = "f16"
[candidates.map]
block_m = "BM"
block_n = "BN"
block_k = "BK"
stages = "STAGES"
)spec";

inline device::DeviceModel model_of(const std::string& arch) {
  return device::device_model(device::known_device(arch).value());
}

inline spec::Spec parsed(const std::string& text) { return spec::parse_spec(text, "test.toml", "."); }

/// The ranking of a spec's first problem.
inline model::Ranking ranked(const spec::Spec& spec, const device::DeviceModel& device,
                             const model::RankOptions& options) {
  const space::Space space = spec::make_space(spec, spec.cases.front(), device::device_facts(device.info));
  return model::rank_candidates(spec, space, spec.cases.front(), device, options);
}
inline model::Ranking ranked(const std::string& text, const std::string& arch, const model::RankOptions& options = {}) {
  return ranked(parsed(text), model_of(arch), options);
}

inline std::int64_t value_of(const spec::Spec& spec, const space::Space& space, std::uint64_t index,
                             const std::string& name) {
  const space::Config config = space.at(index);
  for (std::size_t i = 0; i < spec.parameters.size(); ++i)
    if (spec.parameters[i].name == name) return std::get<std::int64_t>(config[i]);
  throw std::out_of_range(name);
}

/// "kind: message" of what ranking throws.
inline std::string failure(const std::string& text, const std::string& arch = "sm_90") {
  try {
    ranked(text, arch);
    return "no error";
  } catch (const Error& error) {
    return std::string(to_string(error.kind())) + ": " + error.what();
  }
}

/// Those of all templates' sizes that this one has.
inline Bindings sizes_of(const model::CandidateTemplate& candidate, const Bindings& all) {
  Bindings sizes;
  for (const model::Field& field : candidate.fields)
    if (field.need == model::Need::problem) sizes.insert(*all.find(field.name));
  return sizes;
}

inline std::string edited(const std::string& from, const std::string& to, std::string text = matmul_spec) {
  const auto at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("no '" + from + "' in the spec");
  return text.replace(at, from.size(), to);
}

}  // namespace xtune::test
