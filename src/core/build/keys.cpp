// Keys are hashes of one canonical text, so that they can be checked by hand with sha256sum.
#include "core/build/keys.hpp"

#include <algorithm>
#include <set>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/keyed_files.hpp"
#include "core/build/source_closure.hpp"

namespace xtune::build {

namespace {

// nlohmann-json refuses bytes that are not UTF-8, and replacing them could make two keys equal.
void append_quoted(std::string& to, std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  to += '"';
  const auto is_plain = [](char c) { return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20; };
  const auto special = std::find_if_not(text.begin(), text.end(), is_plain);
  to.append(text.begin(), special);
  for (const char c : text.substr(static_cast<std::size_t>(special - text.begin()))) {
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      to += "\\u00";
      to += digits[static_cast<unsigned char>(c) >> 4];
      to += digits[c & 15];
    } else {
      to += c;
    }
  }
  to += '"';
}

/// A file of controls counts by its content, wherever it is.
std::vector<std::string> keyed_options(const CompileRequest& request) {
  std::vector<std::string> options = request.options;
  for (std::string& option : options)
    if (request.files && option.starts_with(controls_option))
      for (const KeyedFile& file : request.files->files)
        if (option == controls_option + file.path) option = controls_option + ("sha256:" + file.sha256);
  return options;
}

}  // namespace

std::string canonical_list(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) {
    if (text.size() > 1) text += ',';
    append_quoted(text, item);
  }
  return text + ']';
}

std::string key_of(const KeyParts& parts) {
  std::string text = "[";
  for (const auto& [name, value] : parts) {
    if (text.size() > 1) text += ',';
    text += canonical_list({name, value});
  }
  return base::sha256(text + ']');
}

KeyParts artifact_key_parts(const CompileRequest& request, const std::string& backend, const std::string& fingerprint,
                            const std::string& source_digest) {
  std::vector<std::string> defines;
  for (const auto& [name, value] : request.defines) defines.push_back(name + "=" + value);
  KeyParts parts{{"backend", backend},
                 {"arch", request.arch},
                 {"toolchain", fingerprint},
                 {"source", source_digest},
                 {"entry", request.entry},
                 {"options", canonical_list(keyed_options(request))},
                 {"defines", canonical_list(defines)},
                 {"sanitize", request.sanitize ? "true" : "false"},
                 {"schema", key_schema}};
  if (!request.more_entries.empty()) parts.emplace_back("more_entries", canonical_list(request.more_entries));
  if (!request.variables.empty()) parts.emplace_back("variables", canonical_list(request.variables));
  if (!request.headers.empty()) {
    std::set<std::string> digests;
    for (const auto& [path, text] : request.headers) digests.insert(base::sha256(text));
    parts.emplace_back("headers", canonical_list({digests.begin(), digests.end()}));
  }
  return parts;
}

std::vector<std::string> key_difference(const KeyParts& a, const KeyParts& b) {
  const auto find = [](const KeyParts& parts, const std::string& name) -> const std::string* {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.first == name; });
    return found == parts.end() ? nullptr : &found->second;
  };
  const auto shown = [](const std::string* value) {
    return value ? base::printable(*value, 400) : std::string("(none)");
  };
  std::vector<std::string> lines;
  for (const auto& [name, value] : a) {
    const std::string* other = find(b, name);
    if (!other || *other != value) lines.push_back(name + ": " + shown(&value) + " -> " + shown(other));
  }
  for (const auto& [name, value] : b)
    if (!find(a, name)) lines.push_back(name + ": (none) -> " + shown(&value));
  return lines;
}

std::string part_names(const std::vector<std::string>& differences) {
  std::string names;
  for (const std::string& difference : differences)
    names += (names.empty() ? "" : ", ") + difference.substr(0, difference.find(':'));
  return names;
}

}  // namespace xtune::build
