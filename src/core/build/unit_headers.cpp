// In the tree, each file has its own absolute path below the tree's root, so that includes relative to a file are
// found, and a message names the user's file once the root is removed from it.
#include "core/build/unit_headers.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>

#include "base/hash.hpp"
#include "core/build/keyed_files.hpp"
#include "core/build/keys.hpp"
#include "core/build/source_closure.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::build {

namespace {

namespace fs = std::filesystem;

class Tree {
 public:
  explicit Tree(const CompileRequest& request) {
    for (const auto& [path, text] : request.headers) {
      fs::create_directories(place(path).parent_path());
      if (!(std::ofstream(place(path), std::ios::binary) << text).flush())
        throw Error(ErrorKind::io, place(path).string() + ": cannot be written");
    }
    if (!request.files) return;
    for (const KeyedFile& file : request.files->files) {
      std::error_code failed;
      const fs::path path = fs::weakly_canonical(file.path, failed);
      fs::create_directories(place(path).parent_path(), failed);
      if (!request.headers.contains(path)) fs::create_symlink(path, place(path), failed);
    }
  }

  fs::path place(const fs::path& path) const { return root_.path() / path.relative_path(); }

  CompileRequest redirected(CompileRequest request) const {
    const auto inside = [&](const std::string& path) {
      std::error_code failed;
      return place(fs::weakly_canonical(path, failed));
    };
    std::vector<std::string> searched = request.include_dirs;
    const IncludeOptions options = include_options(request.options);
    searched.insert(searched.end(), options.folders.begin(), options.folders.end());
    std::vector<std::string> found;
    for (const std::string& directory : searched)
      if (fs::is_directory(inside(directory))) found.push_back(inside(directory).string());
    request.include_dirs.insert(request.include_dirs.begin(), found.begin(), found.end());
    const fs::path source = fs::absolute(request.source_name);
    fs::create_directories(inside(source.parent_path().string()));
    request.source_name = (inside(source.parent_path().string()) / source.filename()).string();
    request.headers.clear();
    return request;
  }

  std::string restored(std::string text) const {
    const std::string& root = root_.path().string();
    for (std::size_t at = text.find(root); at != std::string::npos; at = text.find(root, at))
      text.erase(at, root.size());
    return text;
  }
  void restore(FilesRead& read) const {
    for (auto* names : {&read.files, &read.absent}) {
      for (std::string& name : *names) name = restored(std::move(name));
      std::sort(names->begin(), names->end());
      names->erase(std::unique(names->begin(), names->end()), names->end());
    }
  }

 private:
  const system::TemporaryDirectory root_;
};

/// The same one for requests in succession, as compilers keep what they parsed by the names of directories.
std::shared_ptr<const Tree> tree_of(const CompileRequest& request) {
  static std::mutex mutex;
  static std::string last;
  static std::shared_ptr<const Tree> tree;
  std::vector<std::string> parts;
  for (const auto& [path, text] : request.headers) parts.insert(parts.end(), {path, base::sha256(text)});
  if (request.files)
    for (const KeyedFile& file : request.files->files) parts.push_back(file.path);
  const std::string key = canonical_list(parts);
  const std::lock_guard lock(mutex);
  if (!tree || key != last) {
    tree.reset();
    tree = std::make_shared<const Tree>(request);
    last = key;
  }
  return tree;
}

}  // namespace

Artifact compile_with_headers(const CompileRequest& request,
                              const std::function<Artifact(const CompileRequest&)>& compile) {
  if (request.headers.empty()) return compile(request);
  const std::shared_ptr<const Tree> tree = tree_of(request);
  try {
    Artifact artifact = compile(tree->redirected(request));
    artifact.log = tree->restored(std::move(artifact.log));
    if (artifact.files_read) tree->restore(*artifact.files_read);
    return artifact;
  } catch (CandidateFailure& failure) {
    failure.set_message(tree->restored(failure.what()));
    failure.set_log(tree->restored(failure.log()));
    if (failure.files_read) tree->restore(*failure.files_read);
    throw;
  }
}

}  // namespace xtune::build
