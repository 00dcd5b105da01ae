// Compares records with the current spec.
#include "core/record/spec_fit.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/named.hpp"
#include "core/build/cache.hpp"
#include "core/spec/template_text.hpp"
#include "xtune/error.hpp"

namespace xtune::record {
namespace {

/// An application's data and its reference in code have a digest in a run only: a lookup compares the rest.
build::KeyParts without_contents_in_code(const spec::Spec& spec, build::KeyParts parts) {
  const spec::ReferenceSpec& reference = spec.validate.reference;
  const bool unknown_reference = reference.kind == spec::ReferenceSpec::Kind::given && reference.digest.empty();
  for (auto& [name, value] : parts) {
    if (name == "reference" && unknown_reference && value.starts_with("given ")) value = "given";
    if (name != "buffers" && name != "constants") continue;
    const nlohmann::json list = nlohmann::json::parse(value, nullptr, false);
    if (!list.is_array()) continue;
    std::vector<std::string> items;
    for (const nlohmann::json& item : list) {
      std::string text = item.is_string() ? item.get<std::string>() : item.dump();
      // "0: x in f32[1000] sha256:..."
      const std::size_t begin = text.find(": ") + 2, end = text.find(' ', begin);
      const spec::ArgSpec* const arg = base::find_named(spec.args, text.substr(begin, end - begin));
      if (end != text.npos && arg && arg->in_code && arg->file.empty()) text.erase(text.rfind(' '));
      items.push_back(std::move(text));
    }
    value = build::canonical_list(items);
  }
  return parts;
}

/// The record's measurement key, if the configuration may have it today; else the most likely one.
build::KeyParts key_like(const resolve::CandidateResolver& resolver, const space::Config& config, const Record& record,
                         const std::function<build::Manifest(const std::string& artifact_key)>& manifest_of) {
  const build::CompileRequest request = resolver.compile_request(config);
  const auto find = [&]() -> std::optional<build::KeyParts> {
    for (const std::string& artifact : resolver.artifact_keys(request))
      if (build::KeyParts parts = resolver.measurement_key_parts(config, artifact); build::key_of(parts) == record.key)
        return parts;
    return std::nullopt;
  };
  if (auto found = find()) return *std::move(found);
  if (const build::Manifest manifest = manifest_of(record.artifact_key); !manifest.empty()) {
    resolver.learn(request, manifest);
    if (auto found = find()) return *std::move(found);
  }
  return resolver.measurement_key_parts(config, resolver.artifact_key(request));
}

}  // namespace

std::function<std::string(const Bindings&)> bucket_function(const spec::Spec& spec, const device::DeviceInfo& device) {
  if (spec.dispatch.key.empty()) return {};
  std::vector<spec::CompiledText> key;
  for (const spec::Text& text : spec.dispatch.key) key.push_back(spec::CompiledText::expression(text));
  return [key, facts = device::device_facts(device)](const Bindings& problem) {
    std::string bucket;
    try {
      for (const spec::CompiledText& part : key)
        bucket += (bucket.empty() ? "" : ", ") + to_text(part.evaluate(spec::lookup_names(problem, facts)));
    } catch (const Error&) {
      return std::string();
    }
    return bucket;
  };
}

SpecFit::SpecFit(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device, std::string arch,
                 std::string toolchain, std::filesystem::path store,
                 std::function<build::Manifest(const std::string& artifact_key)> manifest_of)
    : spec_(spec),
      space_(spec::make_space(spec, problem, device::device_facts(device))),
      device_(device),
      arch_(std::move(arch)),
      toolchain_(std::move(toolchain)),
      store_(std::move(store)),
      manifest_of_(std::move(manifest_of)),
      bucket_(bucket_function(spec, device)) {
  if (!manifest_of_)
    manifest_of_ = [from = store_](const std::string& key) {
      return from.empty() ? build::Manifest() : build::ArtifactCache(from).manifest(key);
    };
}

SpecFit::~SpecFit() = default;

std::string SpecFit::obstacle(const Record& record) const {
  const std::optional<space::Config> config = space_.ordered(record.config);
  if (!config) return "whose parameters are not this spec's";
  if (!space_.index_of(*config)) return "whose configuration this spec does not allow (its values or its constraints)";
  return {};
}

std::vector<std::string> SpecFit::differences(const Record& record) {
  try {
    const space::Config config = space_.at(space_.index_of(record.config).value());
    const resolve::CandidateResolver& resolver = resolver_for(record);
    const build::KeyParts parts = key_like(resolver, config, record, manifest_of_);
    if (build::key_of(parts) == record.key) return {};
    std::vector<std::string> differences = build::key_difference(without_contents_in_code(spec_, record.key_parts),
                                                                 without_contents_in_code(spec_, parts));
    const bool driver_counts = fit_at_best(record.device, device_) == KeyFit::stale;
    std::erase_if(differences, [&](const std::string& line) {
      return line.starts_with("seed: ") || line.starts_with("protocol: ") ||
             (line.starts_with("driver: ") && !driver_counts);
    });
    const auto setting = [](const build::KeyParts& of, const char* name) { return protocol_setting(of, name); };
    if (const std::string then = setting(record.key_parts, "flush"), now = setting(parts, "flush");
        !then.empty() && then != now)
      differences.push_back("flush: " + then + " -> " + now);
    const auto launched_by = [&](const build::KeyParts& of) {
      const std::string by = setting(of, "launch");
      return by.empty() ? std::string("stream") : by;
    };
    if (const std::string then = launched_by(record.key_parts), now = launched_by(parts); then != now)
      differences.push_back("launch by: " + then + " -> " + now);
    const bool built_otherwise = std::any_of(differences.begin(), differences.end(),
                                             [](const std::string& line) { return line.starts_with("artifact: "); });
    if (built_otherwise && record.toolchain != toolchain_)
      differences.push_back("toolchain: " + record.toolchain + " -> " + toolchain_);
    return differences;
  } catch (const Error& error) {
    return {std::string("today's key cannot be computed: ") + error.what()};
  }
}

LookupRules SpecFit::rules() {
  return {[this](const Record& record) { return obstacle(record); },
          [this](const Record& record) { return differences(record); },
          [this](const device::DeviceInfo& measured) { return fit_at_best(measured, device_); }, bucket_,
          spec_.dispatch.radius};
}

const resolve::CandidateResolver& SpecFit::resolver_for(const Record& record) {
  device::DeviceInfo device = record.device;
  if (same_device(device, device_) && !device_.driver.empty()) device.driver = device_.driver;
  if (same_device(device, device_)) device.cpu_quota_milli = device_.cpu_quota_milli;
  device.locked_clock_mhz = device_.locked_clock_mhz;
  std::string id = device.name + "\n" + std::to_string(device.compute_units) + "\n" + device.driver + "\n" +
                   resolve::cpu_quota_part(device);
  for (const auto& [name, value] : record.problem) id += "\n" + name + "=" + to_text(value);
  auto& resolver = resolvers_[id];
  if (!resolver)
    resolver = std::make_unique<resolve::CandidateResolver>(spec_, space_, record.problem, device, arch_, toolchain_,
                                                            false, store_);
  return *resolver;
}

}  // namespace xtune::record
