// Follows includes as the artifact key does (core/build/source_closure.cpp), but keeps the files' locations.
#include "dispatch/capture_sources.hpp"

#include <algorithm>
#include <deque>

#include "base/files.hpp"
#include "core/build/include_scan.hpp"

namespace xtune::dispatch {
namespace {

namespace fs = std::filesystem;

fs::path common_root(const fs::path& a, const fs::path& b) {
  fs::path root;
  for (auto left = a.begin(), right = b.begin(); left != a.end() && right != b.end() && *left == *right;
       ++left, ++right)
    root /= *left;
  return root;
}

}  // namespace

SourceCopy::SourceCopy(const std::vector<spec::SourceText>& sources, const std::vector<fs::path>& folders) {
  std::deque<fs::path> waiting;
  const auto add = [&](const fs::path& path, const std::string* text) {
    const fs::path file = fs::weakly_canonical(path);
    if (texts_.contains(file)) return;
    texts_[file] = text ? *text : base::read_file(file);
    root_ = root_.empty() ? file.parent_path() : common_root(root_, file.parent_path());
    waiting.push_back(file);
  };
  for (const spec::SourceText& source : sources) add(source.path, &source.text);
  for (; !waiting.empty(); waiting.pop_front()) {
    const fs::path file = waiting.front();
    for (const build::IncludeDirective& include : build::scan_includes(texts_.at(file))) {
      std::vector<fs::path> searched;
      if (include.quoted) searched.push_back(file.parent_path());
      searched.insert(searched.end(), folders.begin(), folders.end());
      for (const fs::path& folder : searched) {
        std::error_code error;
        if (!fs::is_regular_file(folder / include.name, error)) continue;
        add(folder / include.name, nullptr);
        const fs::path used = fs::weakly_canonical(folder);
        if (folder == file.parent_path() || std::count(folders_.begin(), folders_.end(), used)) break;
        folders_.push_back(used);
        root_ = common_root(root_, used);
        break;
      }
    }
  }
}

std::string SourceCopy::relative(const fs::path& path) const {
  return (fs::path("source") / fs::weakly_canonical(path).lexically_relative(root_)).lexically_normal().string();
}

std::string SourceCopy::place_of(const fs::path& source) const { return relative(source); }

std::vector<std::string> SourceCopy::folders() const {
  std::vector<std::string> places;
  for (const fs::path& folder : folders_) places.push_back(relative(folder));
  return places;
}

void SourceCopy::write(const fs::path& folder) const {
  for (const auto& [file, text] : texts_) base::write_file_atomically(folder / relative(file), text);
}

}  // namespace xtune::dispatch
