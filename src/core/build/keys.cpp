// Keys are hashes of one canonical text, so that they can be checked by hand with sha256sum.
#include "core/build/keys.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/build/include_scan.hpp"
#include "xtune/error.hpp"

namespace xtune {

namespace {

namespace fs = std::filesystem;

// nlohmann-json refuses bytes that are not UTF-8, and replacing them would let two keys meet.
void append_quoted(std::string& to, std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  to += '"';
  for (const char c : text) {
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

// The texts of a source and all that it includes, each file once, in the order of first mention.
class Closure {
 public:
  explicit Closure(const std::vector<std::string>& include_dirs) : include_dirs_(include_dirs) {}

  std::string canonical_text(const CompileRequest& request) {
    add(request.source, fs::path(request.source_name).parent_path());
    while (!waiting_.empty()) {
      const auto [text, folder] = std::move(waiting_.front());
      waiting_.pop_front();
      for (const IncludeDirective& include : scan_includes(text)) mention(include, folder);
    }
    return canonical_list(lines_);
  }

 private:
  void add(const std::string& text, const fs::path& folder) {
    lines_.push_back("file " + sha256(text));
    waiting_.emplace_back(text, folder);
  }

  void mention(const IncludeDirective& include, const fs::path& folder) {
    lines_.push_back((include.quoted ? "quoted " : "angled ") + include.name);
    const auto path = resolve(include, folder);
    if (!path) {
      lines_.emplace_back("of the toolchain");
      return;
    }
    const auto [seen, is_new] = seen_.emplace(*path, seen_.size());
    lines_.push_back("is " + std::to_string(seen->second));
    if (is_new) add(read_file(*path), path->parent_path());
  }

  std::optional<fs::path> resolve(const IncludeDirective& include, const fs::path& folder) const {
    std::vector<fs::path> folders;
    if (include.quoted) folders.push_back(folder);
    folders.insert(folders.end(), include_dirs_.begin(), include_dirs_.end());
    for (const fs::path& candidate : folders) {
      std::error_code error;
      const fs::path path = fs::canonical(candidate / include.name, error);
      if (!error && fs::is_regular_file(path, error)) return path;
    }
    return std::nullopt;
  }

  std::vector<std::string> include_dirs_;
  std::vector<std::string> lines_;
  std::deque<std::pair<std::string, fs::path>> waiting_;
  std::map<fs::path, std::size_t> seen_;
};

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
  return sha256(text + ']');
}

std::string source_digest(const CompileRequest& request) {
  return sha256(Closure(request.include_dirs).canonical_text(request));
}

KeyParts artifact_key_parts(const CompileRequest& request, const std::string& backend, const std::string& fingerprint,
                            const std::string& source_digest) {
  std::vector<std::string> defines;
  for (const auto& [name, value] : request.defines) defines.push_back(name + "=" + value);
  return {{"backend", backend},
          {"arch", request.arch},
          {"toolchain", fingerprint},
          {"source", source_digest},
          {"entry", request.entry},
          {"options", canonical_list(request.options)},
          {"defines", canonical_list(defines)},
          {"sanitize", request.sanitize ? "true" : "false"}};
}

std::vector<std::string> key_difference(const KeyParts& a, const KeyParts& b) {
  const auto find = [](const KeyParts& parts, const std::string& name) -> const std::string* {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return part.first == name; });
    return found == parts.end() ? nullptr : &found->second;
  };
  const auto shown = [](const std::string* value) { return value ? printable(*value, 400) : std::string("(none)"); };
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

}  // namespace xtune
