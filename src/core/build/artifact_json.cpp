// JSON forms of artifacts and resource usage.
#include "core/build/artifact_json.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace xtune::build {

namespace {

using Json = nlohmann::json;

// One list of the members serves both directions.
template <class Usage, class Visit>
void each_member(Usage& usage, Visit visit) {
  visit("registers", usage.registers);
  visit("scalar_registers", usage.scalar_registers);
  visit("accumulator_registers", usage.accumulator_registers);
  visit("spilled_bytes", usage.spilled_bytes);
  visit("static_shared_bytes", usage.static_shared_bytes);
  visit("max_threads_per_block", usage.max_threads_per_block);
  visit("warp_size", usage.warp_size);
}

}  // namespace

Json to_json(const ResourceUsage& usage) {
  Json json = Json::object();
  each_member(usage, [&](const char* name, const auto& member) {
    if (member) json[name] = *member;
  });
  return json;
}

ResourceUsage resource_usage_from_json(const Json& json) {
  json.get_ref<const Json::object_t&>();  // throws for what is no object; find() would only find nothing in it
  ResourceUsage usage;
  each_member(usage, [&](const char* name, auto& member) {
    const auto found = json.find(name);
    if (found != json.end()) member = found->template get<std::int64_t>();
  });
  return usage;
}

Json to_json(const Artifact& artifact) {
  Json json = {{"key", artifact.key},
               {"backend", artifact.backend},
               {"arch", artifact.arch},
               {"format", artifact.format},
               {"entry_symbol", base::printable(artifact.entry_symbol)},
               {"log", base::printable(artifact.log)},
               {"compile_s", artifact.compile_s},
               {"usage", to_json(artifact.usage)}};
  if (!artifact.toolchain.empty()) json["toolchain"] = base::printable(artifact.toolchain);
  return json;
}

Artifact artifact_from_json(const Json& json) {
  Artifact artifact;
  artifact.key = json.at("key");
  artifact.backend = json.at("backend");
  artifact.arch = json.at("arch");
  artifact.format = json.at("format");
  artifact.entry_symbol = json.at("entry_symbol");
  artifact.log = json.at("log");
  artifact.compile_s = json.at("compile_s");
  artifact.usage = resource_usage_from_json(json.at("usage"));
  artifact.toolchain = json.value("toolchain", "");
  return artifact;
}

}  // namespace xtune::build
