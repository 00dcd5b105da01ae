// Artifacts of several kernels: one image, with the resources of each kernel. In JSON, a path that is not UTF-8 is a
// list of numbers.
#include "core/build/artifact.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/json_fields.hpp"
#include "base/text.hpp"
#include "core/build/keyed_files.hpp"

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

namespace {

using Json = nlohmann::json;
namespace fields = base::fields;
using fields::optional, fields::required;

constexpr fields::Through integer_form{[](auto number) { return number; },
                                       [](const Json& json) { return json.get<std::int64_t>(); }};

constexpr auto usage_form = fields::object<ResourceUsage>(
    optional("registers", &ResourceUsage::registers, integer_form),
    optional("scalar_registers", &ResourceUsage::scalar_registers, integer_form),
    optional("accumulator_registers", &ResourceUsage::accumulator_registers, integer_form),
    optional("spilled_bytes", &ResourceUsage::spilled_bytes, integer_form),
    optional("static_shared_bytes", &ResourceUsage::static_shared_bytes, integer_form),
    optional("max_threads_per_block", &ResourceUsage::max_threads_per_block, integer_form),
    optional("warp_size", &ResourceUsage::warp_size, integer_form));

constexpr auto entry_form = fields::object<KernelEntry>(required("symbol", &KernelEntry::symbol, fields::text),
                                                        required("usage", &KernelEntry::usage, usage_form));

constexpr auto manifest_form = fields::object<Manifest>(required("files", &Manifest::files, fields::text),
                                                        required("absent", &Manifest::absent, fields::text));

constexpr auto artifact_form = fields::object<Artifact>(
    required("key", &Artifact::key), required("backend", &Artifact::backend), required("arch", &Artifact::arch),
    required("format", &Artifact::format), required("entry_symbol", &Artifact::entry_symbol, fields::text),
    required("log", &Artifact::log, fields::text), required("compile_s", &Artifact::compile_s),
    required("usage", &Artifact::usage, usage_form), optional("toolchain", &Artifact::toolchain, fields::text),
    optional("variables", &Artifact::variables, fields::text), optional("manifest", &Artifact::manifest, manifest_form),
    fields::unless_empty("entries", &Artifact::entries, fields::List{entry_form}),
    optional("unread", &Artifact::unread, fields::text));

}  // namespace

Json to_json(const ResourceUsage& usage) { return usage_form.to_json(usage); }
ResourceUsage resource_usage_from_json(const Json& json) { return usage_form.from_json(json); }

Json to_json(const Artifact& artifact) { return artifact_form.to_json(artifact); }
Artifact artifact_from_json(const Json& json) { return artifact_form.from_json(json); }

namespace {

nlohmann::json bytes_to_json(const std::string& text) {
  if (base::is_utf8(text)) return text;
  return std::vector<unsigned char>(text.begin(), text.end());
}

std::string bytes_from_json(const nlohmann::json& json) {
  if (json.is_string()) return json;
  const auto bytes = json.get<std::vector<unsigned char>>();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

nlohmann::json to_json(const KeyedFiles& keyed) {
  nlohmann::json json = nlohmann::json::object();
  for (const KeyedFile& file : keyed.files)
    json["files"].push_back({bytes_to_json(file.path), file.state, file.sha256, file.recent});
  for (const std::string& path : keyed.absent) json["absent"].push_back(bytes_to_json(path));
  return json;
}

KeyedFiles keyed_files_from_json(const nlohmann::json& json) {
  KeyedFiles keyed;
  for (const nlohmann::json& file : json.value("files", nlohmann::json::array()))
    keyed.files.push_back({bytes_from_json(file.at(0)), file.at(1), file.at(2), file.at(3)});
  for (const nlohmann::json& path : json.value("absent", nlohmann::json::array()))
    keyed.absent.push_back(bytes_from_json(path));
  return keyed;
}

}  // namespace xtune::build
