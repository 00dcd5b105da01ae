// What keys describe of files: a kernel's source with its headers, a program's sources, and the files that words name.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include "base/hash.hpp"
#include "core/build/cache.hpp"
#include "core/build/keyed_files.hpp"
#include "core/build/source_closure.hpp"
#include "core/build/system_headers.hpp"
#include "core/device/backend_facts.hpp"
#include "core/device/program_call.hpp"
#include "core/resolve/resolve_state.hpp"
#include "core/spec/process_spec.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"
#include "xtune/error.hpp"

namespace xtune::resolve {

namespace {

namespace fs = std::filesystem;

// Placeholder for text that depends on the configuration: no command contains a zero byte.
constexpr char unknown = '\0';

// Files that GCC and Clang preprocess: "Overall Options" of GCC's manual, Clang's types::lookupTypeForExtension; and
// usual names of included files.
constexpr std::string_view preprocessed_endings[] = {
    ".C",    ".CPP", ".F",   ".F03", ".F08", ".F90", ".F95", ".FOR", ".FPP",  ".FTN", ".H",   ".HPP", ".M",
    ".S",    ".c",   ".c++", ".cc",  ".ccm", ".cl",  ".cp",  ".cpp", ".cppm", ".cu",  ".cuh", ".cxx", ".c++m",
    ".cxxm", ".fpp", ".h",   ".h++", ".hh",  ".hip", ".hp",  ".hpp", ".hxx",  ".i",   ".ii",  ".inc", ".inl",
    ".ipp",  ".ixx", ".m",   ".mi",  ".mii", ".mm",  ".sx",  ".tcc", ".tpp",  ".txx"};

bool is_preprocessed(const fs::path& path) {
  const std::string ending = path.extension().string();
  return std::find(std::begin(preprocessed_endings), std::end(preprocessed_endings), ending) !=
         std::end(preprocessed_endings);
}

std::string known_text(const spec::CommandWord& word) {
  std::string text;
  for (const spec::CompiledText::Part& part : word.text().parts()) {
    text += part.before;
    if (!part.expression.empty()) text += unknown;
  }
  return text;
}

/// The words of the build command that do not depend on the configuration.
std::vector<std::string> known_words(const spec::ProcessSpec& process) {
  std::vector<std::string> words;
  for (const spec::CommandWord& word : process.build.words) words.push_back(known_text(word));
  if (process.build.shell) words = system::shell_words(words.front());
  return words;
}

/// Directories, resolved in the one in which the build is started.
build::IncludeOptions include_paths(const spec::ProcessSpec& process) {
  build::IncludeOptions found = build::include_options_here(known_words(process));
  for (std::vector<std::string>* paths : {&found.folders, &found.quoted, &found.forced, &found.macros})
    std::erase_if(*paths, [](const std::string& path) { return path.empty() || path.find(unknown) != path.npos; });
  for (std::vector<std::string>* folders : {&found.folders, &found.quoted})
    for (std::string& folder : *folders) folder = (process.folder / folder).string();
  if (!found.forced.empty()) found.quoted.push_back(process.folder.string());
  return found;
}

/// The file that the build command starts; empty if it depends on the configuration, or does not exist.
std::string build_program(const spec::ProcessSpec& process) {
  const std::string text = process.build.program();
  if (text.empty() || text.find("{out}") != text.npos || text.find("{tmp}") != text.npos) return {};
  return system::find_program(device::from_call_text(text, {}), process.folder);
}

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

/// The files below a directory that a command names, sorted; none where they do not belong to the command: in the
/// directory in which it starts or one around it, in those of the system and of temporary files, and in one with more
/// than can be read again for each record.
std::vector<fs::path> files_in(const fs::path& folder, const fs::path& start) {
  constexpr std::size_t max_files = 1000;
  constexpr std::uintmax_t max_bytes = std::uintmax_t{64} << 20;
  constexpr std::string_view of_system[] = {"/bin", "/dev", "/etc", "/lib", "/opt", "/proc", "/run", "/sys", "/usr"};
  std::error_code failed;
  const fs::path path = fs::weakly_canonical(folder, failed);
  const auto is_in = [](const fs::path& inner, const fs::path& outer) {
    return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
  };
  for (const fs::path& other : {fs::weakly_canonical(start, failed), system::temporary_folder(), fs::path("/tmp")})
    if (is_in(other, path)) return {};
  for (const std::string_view other : of_system)
    if (is_in(path, other)) return {};
  std::vector<fs::path> files;
  std::uintmax_t bytes = 0;
  for (fs::recursive_directory_iterator entry(path, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (!build::is_readable_file(entry->path())) continue;
    bytes += entry->file_size(failed);
    files.push_back(folder / entry->path().lexically_relative(path));
    if (files.size() > max_files || bytes > max_bytes) return {};
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The manifest of a program's sources has been read already. This adds the files that its options include by force, and
// other files that its words name.
build::SourceClosure program_closure(const build::CompileRequest& request, const std::vector<build::NamedFile>& named) {
  const build::IncludeOptions extra = build::include_options(request.options);
  build::CompileRequest whole;
  whole.source_name = request.source_name;
  whole.source = request.source;
  whole.include_dirs = request.include_dirs;
  whole.include_dirs.insert(whole.include_dirs.end(), extra.folders.begin(), extra.folders.end());
  for (const std::string& file : extra.forced) whole.source += "\n#include \"" + file + "\"\n";
  build::SourceClosure closure = build::source_closure(whole);
  std::set<std::filesystem::path> known;
  std::error_code failed;
  for (const build::KeyedFile& file : closure.keyed.files)
    known.insert(std::filesystem::weakly_canonical(file.path, failed));
  std::vector<std::string> lines;
  for (const build::NamedFile& file : named) {
    if (!known.insert(std::filesystem::weakly_canonical(file.path, failed)).second) continue;
    build::key_file(file.path, closure.keyed);
    lines.push_back("named file " + closure.keyed.files.back().sha256);
  }
  if (!lines.empty()) closure.canonical_text += build::canonical_list(lines);
  return closure;
}

/// The macros ("NAME body", "NAME(x) body") that have one of these names.
std::string definitions_of(const std::set<std::string>& names, const std::vector<std::string>& macros) {
  std::string text;
  for (const std::string& macro : macros)
    if (names.contains(build::any_name) || names.contains(macro.substr(0, macro.find_first_of(" ("))))
      text += "\n" + macro;
  return text;
}

/// Directories that the compiler searches by default.
std::vector<std::string> system_dirs(const device::DeviceInfo& device) {
  const bool searched =
      has_compiler(device, device::CompilerKind::program) || has_compiler(device, device::CompilerKind::clang_library);
  return searched ? build::shared_header_folders() : std::vector<std::string>();
}

}  // namespace

bool has_compiler(const device::DeviceInfo& device, device::CompilerKind kind) {
  const device::BackendFacts* const facts = device::find_backend_facts(device.backend);
  return facts && facts->compiler == kind && facts->source != device::SourceKind::program;
}

/// "name digest" of each source, with the files that those of C and C++ include, as far as their own directories and
/// the include paths of the build show: a readable manifest for the store, and the sources' part in the artifact's key.
std::string source_manifest(const spec::ProcessSpec& process, build::KeyedFiles& files) {
  const build::IncludeOptions paths = include_paths(process);
  build::ScannedFiles read;
  std::string manifest;
  // The fingerprint has its content; this notices a compiler that is replaced during the run.
  if (const std::string program = build_program(process); !program.empty()) build::key_file(program, files);
  for (const fs::path& path : process.sources) {
    std::string digest;
    if (!is_preprocessed(path)) {
      build::key_file(path, files);
      digest = files.files.back().sha256;
    } else {
      build::CompileRequest request;
      request.source_name = path.string();
      request.source = build::read_keyed(path, files);
      for (const std::string& file : paths.forced) request.source += "\n#include \"" + file + "\"\n";
      request.include_dirs = paths.folders;
      for (const std::string& macro : paths.macros) request.defines.emplace_back(macro, "");
      request.include_dirs.push_back(path.parent_path().string());
      build::SourceClosure closure = build::source_closure(request, paths.quoted, read);
      digest = base::sha256(closure.canonical_text);
      files.add(closure.keyed);
    }
    const bool executes = ::access(path.c_str(), X_OK) == 0;
    manifest +=
        path.lexically_relative(process.folder).string() + " sha256:" + digest + (executes ? " executable\n" : "\n");
  }
  return manifest;
}

std::vector<build::NamedFile> CandidateResolver::State::files_of_call(const std::vector<std::string>& call_texts,
                                                                      Named kinds) {
  const auto was_there = [this, kinds](const fs::path& path) {
    const auto [known, first] = contents.there.try_emplace(path);
    std::error_code failed;
    // The key of the artifact describes the sources and the build's program.
    if (first)
      known->second = fs::is_directory(path, failed) ? !files_in(path, spec.process->folder).empty()
                                                     : build::is_readable_file(path) &&
                                                           !program.paths.contains(fs::weakly_canonical(path, failed));
    return known->second && (kinds == Named::directories || !fs::is_directory(path, failed));
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

std::string CandidateResolver::State::digest_of(const fs::path& path) {
  std::string& digest = contents.digests[path];
  std::error_code failed;
  if (!digest.empty()) return digest;
  if (!fs::is_directory(path, failed)) {
    build::key_remembered_file(path, data_files);
    return digest = "sha256:" + data_files.files.back().sha256.substr(0, 32);
  }
  std::vector<std::string> lines;
  for (const fs::path& file : files_in(path, spec.process->folder)) {
    build::key_file(file, data_files);
    lines.push_back(file.lexically_relative(path).string() + " " + data_files.files.back().sha256);
  }
  return digest = "sha256:" + base::sha256(build::canonical_list(lines)).substr(0, 32);
}

std::string CandidateResolver::State::call_files_text(const device::ProgramCall& call) {
  const std::lock_guard lock(mutex);
  system::Environment for_loader;
  std::string told;
  std::vector<std::string> settings;
  for (const auto& [name, text] : call.environment) {
    if (!name.starts_with("LD_")) {
      settings.push_back(name + "=" + text);
      continue;
    }
    for_loader.emplace_back(name, device::from_call_text(text, {nowhere, nowhere}));
    told += "\n" + name + "=" + for_loader.back().second;
  }
  std::vector<std::string> items;
  std::set<std::string> libraries;
  std::vector<build::NamedFile> named;
  for (const std::vector<std::string>* command : {&call.words, &call.check})
    for (build::NamedFile& file : files_of_call(*command, Named::directories)) named.push_back(std::move(file));
  for (build::NamedFile& file : files_of_call(settings)) named.push_back(std::move(file));
  for (const build::NamedFile& file : named) {
    items.push_back(file.name + " " + digest_of(file.path));
    const auto [known, first] = contents.libraries.try_emplace(file.path.string() + told);
    if (first) known->second = build::libraries_of(file.path, for_loader, spec.process->folder);
    for (const std::string& library : known->second)
      libraries.insert(fs::path(library).filename().string() + " " + digest_of(library));
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

CandidateResolver::State::ReadSource CandidateResolver::State::read(const build::CompileRequest& request) {
  const build::IncludeOptions paths = build::include_options(request.options);
  std::string id = request.source_name + "\n";
  for (const auto& each : {paths.folders, paths.quoted, paths.forced}) id += build::canonical_list(each);
  // Any option may name a file.
  if (!spec.process)
    for (const std::string& option : request.options)
      if (option.find_first_of("/@=,") != std::string::npos || !option.starts_with("-")) id += "\n" + option;
  std::vector<std::string> macros = paths.macros;
  for (const auto& [name, value] : request.defines) macros.push_back(name + " " + value);
  const std::lock_guard lock(mutex);
  std::vector<build::NamedFile> named;
  if (spec.process) named = files_of_call(request.options);
  for (const build::NamedFile& file : named) id += "\n" + file.path.string();
  const auto whole_id = [&] {
    const auto names = computing.find(id);
    return names == computing.end() ? id : id + definitions_of(names->second, macros);
  };
  if (const auto known = read_sources.find(whole_id()); known != read_sources.end()) return known->second;
  build::SourceClosure closure =
      spec.process ? program_closure(request, named)
                   : build::compile_closure(
                         request, {system_dirs(device), has_compiler(device, device::CompilerKind::program)}, scanned);
  ReadSource found{base::sha256(closure.canonical_text),
                   std::make_shared<const build::KeyedFiles>(std::move(closure.keyed))};
  // A definition may use names that had no effect before: files found through it depend on those names as well.
  if (closure.computes) computing[id].merge(closure.computed_by);
  return read_sources[whole_id()] = std::move(found);
}

build::CompileRequest CandidateResolver::State::keyed(build::CompileRequest request) {
  static const std::string this_run = std::to_string(std::random_device()()) + std::to_string(std::random_device()());
  request.files = read(request).files;
  // A program's build is described by its spec, which workers do not have.
  if (spec.process) {
    build::KeyedFiles all = *program.keyed;
    all.add(*request.files);
    request.files = std::make_shared<const build::KeyedFiles>(std::move(all));
    return request;
  }
  request.toolchain = toolchain;
  request.base_key = build::key_of(build::artifact_key_parts(request, device.backend, toolchain, read(request).digest));
  request.run = this_run;
  const std::lock_guard lock(mutex);
  for (const build::ManifestNow& known : manifests.of(device.backend, request.source_name))
    request.known_manifests.push_back(known.manifest);
  return request;
}

std::vector<build::ManifestNow>& KnownManifests::of(const std::string& backend, const std::string& source_name) {
  const auto [found, is_new] = by_source.try_emplace(source_name);
  if (is_new && !store.empty())
    for (const build::Manifest& manifest : build::stored_manifests(store, backend, source_name))
      found->second.push_back(build::contents_of(manifest, source_name));
  return found->second;
}

std::string KnownManifests::digest_of_stored(const build::CompileRequest& request) {
  const std::vector<build::ManifestNow>& known = by_source[request.source_name];
  const auto is_there = [this, &request](const std::string& digest) {
    std::error_code failed;
    const std::string key = build::key_with_reads(request.base_key, digest);
    return build::is_artifact_key(key) &&
           std::filesystem::exists(build::ArtifactCache(store).entry_path(key, "json"), failed);
  };
  if (known.empty()) return {};
  for (const build::ManifestNow& each : known)
    if (is_there(each.digest)) return each.digest;
  return is_there("") ? "" : known.front().digest;
}

std::vector<std::string> CandidateResolver::artifact_keys(const build::CompileRequest& request) const {
  const std::string base = build::key_of(
      build::artifact_key_parts(request, state_->device.backend, state_->toolchain, state_->read(request).digest));
  const std::lock_guard lock(state_->mutex);
  return build::possible_keys(base, state_->manifests.of(state_->device.backend, request.source_name));
}

void CandidateResolver::learn(const std::string& source_name, const build::Manifest& manifest,
                              bool of_reference) const {
  const std::lock_guard lock(state_->mutex);
  std::vector<build::ManifestNow>& known = state_->manifests.of(state_->device.backend, source_name);
  build::ManifestNow now = build::contents_of(manifest, source_name);
  if (of_reference) {
    state_->of_reference.set_reads(now.digest, state_->constant_parts);
  }
  if (manifest.empty()) return;
  std::erase_if(known, [&](const build::ManifestNow& each) { return each.manifest == manifest; });
  known.insert(known.begin(), std::move(now));
  ++state_->manifests.learned;
  if (known.size() > build::max_manifests) known.pop_back();
}

bool CandidateResolver::reference_changed() const {
  const std::lock_guard lock(state_->mutex);
  return state_->of_reference.changes > 0;
}

void CandidateResolver::throw_if_data_changed() const {
  const std::lock_guard lock(state_->mutex);
  try {
    build::settle(state_->data_files);
  } catch (const Error& error) {
    if (!state_->spec.process || error.kind() != ErrorKind::io) throw;
    throw Error(error.kind(),
                std::string(error.what()) +
                    ". A file that the program or its validator writes is to be listed in [process] outputs, "
                    "or named with {tmp}");
  }
}

}  // namespace xtune::resolve
