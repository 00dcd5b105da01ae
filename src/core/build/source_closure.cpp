// Reads a source and the files that it includes, each once.
#include "core/build/source_closure.hpp"

#include <deque>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "core/build/keys.hpp"

namespace xtune {
namespace {

namespace fs = std::filesystem;

class ClosureReader {
 public:
  ClosureReader(const CompileRequest& request, const std::vector<std::string>& quoted_dirs, ScannedFiles& known)
      : include_dirs_(request.include_dirs),
        quoted_dirs_(quoted_dirs),
        known_(known),
        source_(scanned(request.source)) {
    add(source_, fs::path(request.source_name).parent_path());
    while (!waiting_.empty()) {
      const auto [file, folder] = std::move(waiting_.front());
      waiting_.pop_front();
      for (const IncludeDirective& include : file->includes) mention(include, folder);
    }
  }

  std::string text() const { return canonical_list(lines_); }
  std::vector<SourceScan> files() const {
    std::vector<SourceScan> files;
    for (const SourceScan* file : files_) files.push_back(*file);
    return files;
  }
  bool of_toolchain() const noexcept { return of_toolchain_; }

 private:
  static ScannedFile scanned(const std::string& text) { return {sha256(text), scan_source(text)}; }

  void add(const ScannedFile& file, const fs::path& folder) {
    lines_.push_back("file " + file.digest);
    waiting_.emplace_back(&file.scan, folder);
    files_.push_back(&file.scan);
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
    if (!is_new) return;
    auto file = known_.find(*path);
    if (file == known_.end()) file = known_.emplace(*path, scanned(read_file(*path))).first;
    add(file->second, path->parent_path());
  }

  std::optional<fs::path> resolve(const IncludeDirective& include, const fs::path& folder) const {
    std::vector<fs::path> folders;
    if (include.quoted) {
      folders.push_back(folder);
      folders.insert(folders.end(), quoted_dirs_.begin(), quoted_dirs_.end());
    }
    folders.insert(folders.end(), include_dirs_.begin(), include_dirs_.end());
    for (const fs::path& candidate : folders) {
      std::error_code error;
      const fs::path path = fs::canonical(candidate / include.name, error);
      if (!error && fs::is_regular_file(path, error)) return path;
    }
    return std::nullopt;
  }

  const std::vector<std::string>&include_dirs_, &quoted_dirs_;
  ScannedFiles& known_;
  const ScannedFile source_;
  std::vector<std::string> lines_;
  std::vector<const SourceScan*> files_;
  bool of_toolchain_ = false;
  std::deque<std::pair<const SourceScan*, fs::path>> waiting_;
  std::map<fs::path, std::size_t> seen_;
};

}  // namespace

SourceClosure source_closure(const CompileRequest& request) {
  ScannedFiles known;
  const std::vector<std::string> none;
  const ClosureReader reader(request, none, known);
  return {reader.text(), reader.files(), reader.of_toolchain()};
}

std::string source_closure_text(const CompileRequest& request, const std::vector<std::string>& quoted_dirs,
                                ScannedFiles& read) {
  return ClosureReader(request, quoted_dirs, read).text();
}

IncludeOptions include_options(const std::vector<std::string>& options) {
  IncludeOptions found;
  std::vector<std::string> system_folders;  // searched last, wherever they stand
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
      system_folders.push_back(*system);
    else if (const auto quoted = value_of("-iquote"))
      found.quoted.push_back(*quoted);
    else if (const auto path = value_of("--include-path"))
      found.folders.push_back(*path);
    else if (const auto folder = value_of("-I"))
      found.folders.push_back(*folder);
  }
  found.folders.insert(found.folders.end(), system_folders.begin(), system_folders.end());
  return found;
}

}  // namespace xtune
