// Reads a source and the files that it includes, each once.
#include "core/build/source_closure.hpp"

#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "core/build/keys.hpp"

namespace xtune {
namespace {

namespace fs = std::filesystem;

class Reader {
 public:
  explicit Reader(const std::vector<std::string>& include_dirs) : include_dirs_(include_dirs) {}

  SourceClosure read(const CompileRequest& request) {
    add(request.source, fs::path(request.source_name).parent_path());
    while (!waiting_.empty()) {
      const auto [file, folder] = std::move(waiting_.front());
      waiting_.pop_front();
      // By index: what is mentioned is added to the same list.
      for (std::size_t i = 0; i < files_[file].includes.size(); ++i) {
        const IncludeDirective include = files_[file].includes[i];
        mention(include, folder);
      }
    }
    return {canonical_list(lines_), std::move(files_), of_toolchain_};
  }

 private:
  void add(const std::string& text, const fs::path& folder) {
    lines_.push_back("file " + sha256(text));
    waiting_.emplace_back(files_.size(), folder);
    files_.push_back(scan_source(text));
  }

  void mention(const IncludeDirective& include, const fs::path& folder) {
    lines_.push_back((include.quoted ? "quoted " : "angled ") + include.name);
    const auto path = resolve(include, folder);
    if (!path) {
      lines_.emplace_back("of the toolchain");
      of_toolchain_ = true;
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
  std::vector<SourceScan> files_;
  bool of_toolchain_ = false;
  std::deque<std::pair<std::size_t, fs::path>> waiting_;
  std::map<fs::path, std::size_t> seen_;
};

}  // namespace

SourceClosure source_closure(const CompileRequest& request) { return Reader(request.include_dirs).read(request); }

IncludeOptions include_options(const std::vector<std::string>& options) {
  IncludeOptions found;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const std::string& option = options[i];
    const auto value_of = [&](std::string_view flag) -> std::optional<std::string> {
      if (option == flag && i + 1 < options.size()) return options[i + 1];
      if (!option.starts_with(flag) || option.size() == flag.size()) return std::nullopt;
      return option.substr(flag.size() + (option[flag.size()] == '=' ? 1 : 0));
    };
    if (const auto pre = value_of("--pre-include"))
      found.forced.push_back(*pre);
    else if (const auto file = value_of("-include"))
      found.forced.push_back(*file);
    else if (const auto system = value_of("-isystem"))
      found.folders.push_back(*system);
    else if (const auto path = value_of("--include-path"))
      found.folders.push_back(*path);
    else if (const auto folder = value_of("-I"))
      found.folders.push_back(*folder);
  }
  return found;
}

}  // namespace xtune
