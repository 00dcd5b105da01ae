// Files that the words of commands name, with a configuration's values in them.
#include <algorithm>
#include <set>

#include "base/hash.hpp"
#include "core/build/tool_files.hpp"
#include "core/resolve/resolve_state.hpp"
#include "core/spec/process_spec.hpp"

namespace xtune::resolve {

namespace {

namespace fs = std::filesystem;

// Replaces {out} and {tmp}, whose paths are in no key: no files are below it.
constexpr const char* nowhere = "/dev/null/";

bool is_written(const build::NamedFile& file, const spec::ProcessSpec& process) {
  const fs::path path = file.path.lexically_normal();
  const auto holds = [&](const device::ProgramValue& value) {
    return !value.file.empty() &&
           path == (process.folder / device::from_call_text(value.file, {nowhere, nowhere})).lexically_normal();
  };
  return holds(process.time) || std::any_of(process.metrics.begin(), process.metrics.end(), holds) ||
         std::find(process.outputs.begin(), process.outputs.end(), path) != process.outputs.end();
}

}  // namespace

std::vector<build::NamedFile> CandidateResolver::State::files_of_call(const std::vector<std::string>& call_texts) {
  const auto was_there = [this](const fs::path& path) {
    const auto [known, first] = contents.there.try_emplace(path);
    std::error_code failed;
    // The key of the artifact describes the sources and the build's program.
    if (first)
      known->second = build::is_readable_file(path) && !program.paths.contains(fs::weakly_canonical(path, failed));
    return known->second;
  };
  const auto find_in_path = [this](const std::string& name) -> const std::string& {
    const auto [known, first] = contents.in_path.try_emplace(name);
    if (first) known->second = build::search_path(name);
    return known->second;
  };
  std::vector<build::NamedFile> files = build::named_files(device::from_call_texts(call_texts, {nowhere, nowhere}),
                                                           spec.process->folder, was_there, find_in_path);
  std::erase_if(files, [&](const build::NamedFile& file) { return is_written(file, *spec.process); });
  return files;
}

std::string CandidateResolver::State::digest_of(const fs::path& path, FileKind kind) {
  std::string& digest = contents.digests[path];
  if (digest.empty()) {
    // Libraries are large, and change rarely.
    if (kind == FileKind::library)
      build::key_remembered_file(path, data_files);
    else
      build::key_file(path, data_files);
    digest = "sha256:" + data_files.files.back().sha256.substr(0, 32);
  }
  return digest;
}

std::string CandidateResolver::State::call_files_text(const device::ProgramCall& call) {
  const std::lock_guard lock(mutex);
  system::Environment for_loader;
  std::string told;
  for (const auto& [name, text] : call.environment) {
    if (!name.starts_with("LD_")) continue;
    for_loader.emplace_back(name, device::from_call_text(text, {nowhere, nowhere}));
    told += "\n" + name + "=" + for_loader.back().second;
  }
  std::vector<std::string> items;
  std::set<std::string> libraries;
  for (const std::vector<std::string>* command : {&call.words, &call.check})
    for (const build::NamedFile& file : files_of_call(*command)) {
      items.push_back(file.name + " " + digest_of(file.path));
      const auto [known, first] = contents.libraries.try_emplace(file.path.string() + told);
      if (first) known->second = build::libraries_of(file.path, for_loader, spec.process->folder);
      for (const std::string& library : known->second)
        libraries.insert(fs::path(library).filename().string() + " " + digest_of(library, FileKind::library));
    }
  if (items.empty()) return {};
  return " files " + build::canonical_list(items) +
         (libraries.empty() ? "" : " libraries " + build::canonical_list({libraries.begin(), libraries.end()}));
}

/// The words, each followed by the contents of the files that it names.
std::string CandidateResolver::State::command_text(const std::vector<spec::Text>& texts) {
  std::vector<std::string> words;
  for (const spec::Text& text : texts) try {
      words.push_back(spec::expand(text, [this](std::string_view name) { return constant(name); }));
    } catch (const spec::TextError&) {  // the run reports what is wrong
      words.push_back(text.text);
    }
  const std::vector<build::NamedFile> files = build::named_files(words, spec.path.parent_path());
  std::vector<std::string> items;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    items.push_back(texts[i].text);
    for (const build::NamedFile& file : files)
      if (file.word == i) items.push_back(digest_of(file.path));
  }
  return "command " + build::canonical_list(items);
}

std::vector<std::string> CandidateResolver::check_command() const {
  std::vector<std::string> words;
  for (const spec::Text& word : state_->spec.validate.check)
    words.push_back(spec::expand(word, [this](std::string_view name) { return state_->constant(name); }));
  return words;
}

}  // namespace xtune::resolve
