// [on.<backend>]: tables that replace parts of the spec's own when that backend is used.
#include <algorithm>
#include <functional>

#include "base/text.hpp"
#include "core/device/backend_facts.hpp"
#include "core/spec/reader.hpp"

namespace xtune::spec {

namespace {

/// The changes of an overlay, for one note to the user.
struct Changes {
  std::vector<std::string> sizes;       ///< "N = 65536"
  std::vector<std::string> parameters;  ///< names
  bool cases = false;
};

std::string joined(const std::vector<std::string>& parts) {
  std::string list;
  for (const std::string& part : parts) list += (list.empty() ? "" : ", ") + part;
  return list;
}

/// "on the CPU: N = 65536; other values of BLOCK, UNROLL (gemm.toml [on.host])"; empty without changes.
std::string note_of(const Changes& changes, const std::string& backend, const std::string& file) {
  std::vector<std::string> parts;
  if (changes.cases) parts.emplace_back("other cases");
  if (!changes.sizes.empty()) parts.push_back(joined(changes.sizes));
  const std::size_t parameters = changes.parameters.size();
  if (parameters > 0)
    parts.push_back("other values of " +
                    (parameters > 5 ? std::to_string(parameters) + " parameters" : joined(changes.parameters)));
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  const std::string device = backend == "host" ? "the CPU" : backend;
  return text.empty() ? "" : "on " + device + ": " + text + " (" + file + " [on." + backend + "])";
}

TomlNode& entry(TomlNode& table, const std::string& key, const TomlNode& like) {
  if (TomlNode* const found = table.find(key)) return *found;
  TomlNode empty;
  empty.at = like.at;
  empty.key_at = like.key_at;
  table.entries.push_back({key, std::move(empty)});
  return table.entries.back().node;
}

// An overlay cannot add names to the problem or the parameters, because the spec's expressions are checked with these
// names for every backend.
void merge_named(const Reader& reader, TomlNode& own, const TomlNode& overlay, const std::string& backend,
                 const std::string& where, const std::function<void(const std::string&, const TomlNode&)>& changed) {
  std::vector<std::string> names;
  for (const auto& [name, node] : own.entries) names.push_back(name);
  for (const auto& [name, node] : reader.table(overlay, "[on." + backend + where + "]").entries) {
    TomlNode* const found = own.find(name);
    if (found == nullptr)
      reader.fail(node.key_at, "[on." + backend + where + "] sets '" + name + "', which the spec itself does not have" +
                                   base::did_you_mean(name, names));
    if (render(node) != render(*found)) changed(name, node);
    *found = node;
  }
}

void merge_keys(TomlNode& own, const TomlNode& overlay) {
  for (const auto& [key, node] : overlay.entries) entry(own, key, node) = node;
}

void merge(const Reader& reader, TomlNode& root, const TomlNode& overlay, const std::string& backend,
           Changes& changes) {
  const std::string where = "[on." + backend + "]";
  reader.check_keys(reader.table(overlay, where), where,
                    {"problem", "cases", "space", "search", "measure", "validate", "kernel"});
  for (const auto& [section, node] : overlay.entries) {
    if (section == "cases") {
      changes.cases = true;
      entry(root, section, node) = node;
      continue;
    }
    reader.table(node, "[on." + backend + "." + section + "]");
    TomlNode& own = entry(root, section, node);
    reader.table(own, "[" + section + "]");
    if (section == "problem") {
      merge_named(reader, own, node, backend, ".problem", [&](const std::string& name, const TomlNode& value) {
        changes.sizes.push_back(name + " = " + render(value));
      });
    } else if (section == "space") {
      reader.check_keys(node, "[on." + backend + ".space]", {"constraints", "params"});
      if (const TomlNode* constraints = node.find("constraints"))
        entry(own, "constraints", *constraints) = *constraints;
      if (const TomlNode* params = node.find("params")) {
        TomlNode& own_params = entry(own, "params", *params);
        merge_named(reader, own_params, *params, backend, ".space.params",
                    [&](const std::string& name, const TomlNode&) { changes.parameters.push_back(name); });
      }
    } else if (section == "kernel") {
      reader.check_keys(node, "[on." + backend + ".kernel]", {"options"});
      if (node.find("options") != nullptr) entry(own, "options", node) = *node.find("options");
    } else {
      merge_keys(own, node);
    }
  }
}

}  // namespace

void check_overlays(const Reader& reader) {
  const TomlNode* const overlays = reader.document.root().find("on");
  if (overlays == nullptr) return;
  std::vector<std::string> names;
  for (const device::BackendFacts& facts : device::all_backends())
    if (facts.source != device::SourceKind::program) names.emplace_back(facts.name);
  reader.check_keys(reader.table(*overlays, "[on]"), "[on]", names);
}

void apply_overlay(Reader& reader, const std::string& backend, const Defines& defines) {
  const TomlNode* const overlays = reader.document.root().find("on");
  const TomlNode* const found = overlays == nullptr || backend.empty() ? nullptr : overlays->find(backend);
  if (found == nullptr) return;
  const TomlNode overlay = *found;  // a copy, because merging may move the root's entries
  Changes changes;
  merge(reader, reader.document.root(), overlay, backend, changes);
  // -D overrides the overlay.
  for (const auto& [name, value] : defines) {
    std::erase(changes.parameters, name);
    std::erase_if(changes.sizes,
                  [&, start = name + " = "](const std::string& size) { return size.starts_with(start); });
  }
  if (const std::string note = note_of(changes, backend, reader.document.at({}).file); !note.empty())
    reader.spec.notes.push_back(note);
}

}  // namespace xtune::spec
