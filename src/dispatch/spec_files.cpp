// Follows includes as the artifact key does (core/build/source_closure.cpp), but keeps the files' locations. A spec's
// files are those that it names when it is read for each backend; reading the copy checks that they are complete.
#include "dispatch/spec_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "base/text.hpp"
#include "core/build/include_scan.hpp"
#include "core/build/named_files.hpp"
#include "core/build/source_closure.hpp"
#include "core/device/backend_facts.hpp"
#include "core/spec/document.hpp"
#include "core/spec/spec.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

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
    texts_[file] = text ? *text : system::read_file(file);
    root_ = root_.empty() ? file.parent_path() : common_root(root_, file.parent_path());
    waiting.push_back(file);
  };
  for (const spec::SourceText& source : sources) add(source.path, &source.text);
  for (; !waiting.empty(); waiting.pop_front()) {
    const fs::path file = waiting.front();
    for (const build::IncludeDirective& include : build::scan_source(texts_.at(file)).includes) {
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
  for (const auto& [file, text] : texts_) system::write_file_atomically(folder / relative(file), text);
}

namespace {

// The names for [on.<backend>]; empty: without an overlay.
std::vector<std::string> overlay_names() {
  std::vector<std::string> names = device::backends_of(device::SourceKind::cuda_cpp);
  names.emplace(names.begin());
  return names;
}

std::vector<spec::SourceText> sources_of(const spec::Spec& spec) {
  std::vector<spec::SourceText> sources;
  for (const fs::path& source : {spec.kernel.source, spec.validate.reference.source})
    if (!source.empty()) sources.push_back(spec::read_source(spec, source));
  return sources;
}

// Values of `configs` in any table: the list of configurations becomes part of the spec, without its path.
void add_lists(const spec::TomlNode& node, const fs::path& folder, std::set<fs::path>& files) {
  for (const spec::TomlEntry& entry : node.entries) {
    if (entry.key == "configs" && std::holds_alternative<std::string>(entry.node.value))
      files.insert(fs::weakly_canonical(folder / std::get<std::string>(entry.node.value)));
    add_lists(entry.node, folder, files);
  }
}

void add_files(const spec::Spec& spec, std::map<fs::path, std::string>& texts) {
  const SourceCopy copy(sources_of(spec), spec.kernel.include_dirs);
  texts.insert(copy.texts().begin(), copy.texts().end());
  // A directory from which nothing is included must exist nevertheless.
  for (const fs::path& include_dir : spec.kernel.include_dirs)
    texts.emplace(fs::weakly_canonical(include_dir) / ".keep", "");
  std::set<fs::path> files;
  for (const spec::ArgSpec& argument : spec.args)
    if (!argument.file.empty()) files.insert(fs::weakly_canonical(argument.file));
  if (!spec.validate.reference.file.empty()) files.insert(fs::weakly_canonical(spec.validate.reference.file));
  if (spec.text) add_lists(spec::Document(*spec.text, "").root(), spec.path.parent_path(), files);
  for (const fs::path& file : files) texts.emplace(file, system::read_file(file));
}

// The sources' part of an artifact's key, which does not depend on their location.
std::string closure_of(const spec::Spec& spec) {
  std::string text;
  for (const spec::SourceText& source : sources_of(spec)) {
    build::CompileRequest request;
    request.source_name = source.path.string();
    request.source = source.text;
    for (const fs::path& folder : spec.kernel.include_dirs) request.include_dirs.push_back(folder.string());
    text += build::source_closure(request).canonical_text;
  }
  return text;
}

/// Options come as they are, and their files would be missing elsewhere.
void require_no_files(const spec::Spec& spec, const std::string& backend) {
  std::vector<std::string> words;
  const auto add = [&](const std::vector<spec::Text>& options) {
    for (const spec::Text& option : options) words.push_back(option.text);
  };
  add(spec.kernel.options);
  if (const auto own = spec.kernel.backend_options.find(backend); own != spec.kernel.backend_options.end())
    add(own->second);
  std::string named;
  for (const fs::path& folder : {fs::current_path(), spec.path.parent_path(), spec.kernel.source.parent_path()})
    for (const build::NamedFile& file : build::named_files(words, folder)) named = file.name;
  for (const std::string& word : words)
    if (word.starts_with("-include") || word.starts_with("-imacros") || word.starts_with("@")) named = word;
  if (spec.kernel.controls && !spec.kernel.controls->text.empty())
    throw Error(ErrorKind::unsupported, base::printable(spec.path.string()) +
                                            ": a copy of the spec does not find the files of kernel.controls");
  if (!named.empty())
    throw Error(ErrorKind::unsupported, fmt::format("{}: [kernel] options name a file ({}), which a copy of the spec "
                                                    "does not find: #include it in the source",
                                                    base::printable(spec.path.string()), base::printable(named, 100)));
}

void require_whole(const store::BundledSpec& packed, const fs::path& path) {
  const system::TemporaryDirectory elsewhere;
  const fs::path copy = unpack_spec(packed, elsewhere.path());
  const fs::path root = fs::weakly_canonical(elsewhere.path());
  for (const std::string& backend : overlay_names()) {
    const spec::Spec own = spec::load_spec(path, {{}, backend}), copied = spec::load_spec(copy, {{}, backend});
    require_no_files(own, backend);
    std::vector<fs::path> places = copied.kernel.include_dirs;
    for (const spec::SourceText& source : sources_of(copied)) places.push_back(source.path);
    for (const fs::path& source : places)
      if (*fs::weakly_canonical(source).lexically_relative(root).begin() == "..")
        throw Error(ErrorKind::unsupported, base::printable(path.string()) + " names " +
                                                base::printable(source.string()) +
                                                " by an absolute path: a bundle takes specs whose paths are relative");
    if (closure_of(own) != closure_of(copied))
      throw Error(ErrorKind::unsupported,
                  base::printable(path.string()) +
                      " includes files that a copy of it does not find: name include directories by relative paths");
  }
}

}  // namespace

store::BundledSpec pack_spec(const fs::path& path) {
  const fs::path spec = fs::weakly_canonical(fs::absolute(path));
  std::map<fs::path, std::string> texts;
  store::BundledSpec packed;
  for (const std::string& backend : overlay_names()) {
    const spec::Spec read = spec::load_spec(spec, {{}, backend});
    packed.kernel = read.kernel.name;
    if (read.space_only())
      throw Error(ErrorKind::unsupported,
                  base::printable(path.string()) + " has no kernel source: nothing can be called");
    if (read.process)
      throw Error(ErrorKind::unsupported, base::printable(path.string()) +
                                              " runs a program, and only kernels are sent or bundled: a bundle without "
                                              "--spec holds the program's answers");
    add_files(read, texts);
  }
  texts[spec] = system::read_file(spec);
  fs::path root = spec.parent_path();
  for (const auto& [file, text] : texts)
    while (*file.lexically_relative(root).begin() == "..") root = root.parent_path();
  for (auto& [file, text] : texts) packed.files.emplace(file.lexically_relative(root).string(), std::move(text));
  packed.spec = spec.lexically_relative(root).string();
  require_whole(packed, spec);
  return packed;
}

fs::path unpack_spec(const store::BundledSpec& spec, const fs::path& folder) {
  for (const auto& [name, text] : spec.files) system::write_file_atomically(folder / name, text);
  return folder / spec.spec;
}

OpenedSpec open_bundled_spec(const std::filesystem::path& path, std::string kernel) {
  if (path.empty()) throw Error(ErrorKind::invalid_argument, "load_bundle: the path is empty: name a bundle's file");
  const store::Bundle bundle(path);
  const std::vector<std::string> kernels = bundle.specs();
  if (kernel.empty() && kernels.size() == 1) kernel = kernels.front();
  if (kernel.empty() && kernels.size() > 1) {
    std::string names;
    for (const std::string& each : kernels) names += (names.empty() ? "" : ", ") + base::printable(each, 80);
    throw Error(ErrorKind::invalid_argument,
                base::printable(path.string()) + " holds several kernels, name one of them: " + names);
  }
  const auto folder = std::make_shared<const system::TemporaryDirectory>();
  return {unpack_spec(bundle.spec(kernel), folder->path()), folder};
}

}  // namespace xtune::dispatch
