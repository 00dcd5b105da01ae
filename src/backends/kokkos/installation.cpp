// Runs CMake in a scratch directory, reads the reply of its file API (index, codemodel, target), and caches the result.
#include "backends/kokkos/installation.hpp"

#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backends/compiler/identity.hpp"
#include "backends/cpu/cpu.hpp"
#include "backends/kokkos/unit_headers.hpp"
#include "base/hash.hpp"
#include "base/json_fields.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "core/build/artifact.hpp"
#include "system/chosen_store.hpp"
#include "system/files.hpp"
#include "system/subprocess.hpp"
#include "system/trust.hpp"
#include "xtune/error.hpp"

namespace xtune::kokkos {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::uint64_t largest_reply = std::uint64_t{16} << 20;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::unavailable, "CMake's description of Kokkos cannot be read: " + why);
}

void add_words(std::vector<std::string>& to, const std::string& fragment) {
  for (std::string& word : split_words(fragment)) to.push_back(std::move(word));
}

std::filesystem::path index_of(const std::filesystem::path& reply) {
  std::filesystem::path newest;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(reply, failed))
    // According to the file API, the last one by name is the current one.
    if (entry.path().filename().string().starts_with("index-")) newest = std::max(newest, entry.path());
  if (newest.empty()) refuse(reply.string() + " has no index: CMake 3.14 or later is needed");
  return newest;
}

}  // namespace

std::vector<std::string> split_words(std::string_view fragment) {
  std::vector<std::string> words;
  bool inside = false;
  char quote = 0;
  for (std::size_t i = 0; i < fragment.size(); ++i) {
    const char c = fragment[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < fragment.size()) {
      words.back() += fragment[++i];
    } else {
      words.back() += c;
    }
  }
  return words;
}

BuildFlags flags_of_target(const std::string& json_text) {
  BuildFlags flags;
  try {
    const Json target = Json::parse(json_text);
    const Json& group = target.at("compileGroups").at(0);
    for (const Json& part : group.value("compileCommandFragments", Json::array()))
      add_words(flags.compile, part.at("fragment"));
    for (const Json& part : group.value("defines", Json::array()))
      flags.compile.push_back("-D" + part.at("define").get<std::string>());
    for (const Json& part : group.value("includes", Json::array())) {
      flags.compile.push_back(part.value("isSystem", false) ? "-isystem" : "-I");
      flags.compile.push_back(part.at("path"));
    }
    for (const Json& part : target.value("link", Json::object()).value("commandFragments", Json::array()))
      add_words(flags.link, part.at("fragment"));
  } catch (const Json::exception& error) {
    refuse(base::json_error_text(error));
  }
  return flags;
}

BuildFlags read_reply(const std::filesystem::path& build_folder, const std::string& target) {
  const std::filesystem::path reply = build_folder / ".cmake/api/v1/reply";
  const auto read = [&](const std::string& name) { return system::read_file(reply / name, largest_reply); };
  try {
    const Json index = Json::parse(system::read_file(index_of(reply), largest_reply));
    const Json model = Json::parse(read(index.at("reply").at("codemodel-v2").at("jsonFile")));
    for (const Json& entry : model.at("configurations").at(0).at("targets"))
      if (entry.at("name") == target) return flags_of_target(read(entry.at("jsonFile")));
  } catch (const Json::exception& error) {
    refuse(base::json_error_text(error));
  }
  refuse("there is no target " + target);
}

namespace {

constexpr std::uint64_t cmake_timeout_ms = 120'000;
constexpr const char* how_to_get_it =
    "point Kokkos_ROOT at the directory where it was installed (Debian's is in libtrilinos-kokkos-dev)";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Kokkos_ROOT, or empty. CMake would resolve a relative path in the directory of the generated project.
std::string root() {
  const std::string given = variable("Kokkos_ROOT");
  return given.empty() ? given : fs::absolute(given).string();
}

/// The settings that determine which Kokkos is found, and with which compiler.
std::string question() {
  std::string text = runtime_digest() + "\n" + root();
  for (const char* name : {"Kokkos_DIR", "CMAKE_PREFIX_PATH", "CXXFLAGS", "LDFLAGS", "PATH", "XTUNE_KOKKOS_CXX",
                           "XTUNE_HOST_CXX", "NVCC_WRAPPER_DEFAULT_COMPILER", "CUDA_ROOT", "CUDA_PATH", "ROCM_PATH"})
    text += fmt::format("\n{}={}", name, variable(name));
  return base::sha256(text).substr(0, 16);
}

bool is_of_package(const std::string& name) { return name.ends_with(".cmake"); }
bool is_header(const std::string& name) { return name.starts_with("Kokkos"); }

using Takes = bool (*)(const std::string& name);

/// The files below a directory whose names it accepts, and all directories.
struct Below {
  std::vector<fs::path> files, folders;
};
Below below(const fs::path& folder, Takes takes) {
  Below found{{}, {folder}};
  std::error_code failed;
  for (auto entry = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, failed);
       !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed))
    if (entry->is_directory(failed))
      found.folders.push_back(entry->path());
    else if (entry->is_regular_file(failed) && takes(entry->path().filename().string()))
      found.files.push_back(entry->path());
  std::sort(found.files.begin(), found.files.end());
  return found;
}

std::string digest_below(const fs::path& folder, Takes takes) {
  std::string texts;
  for (const fs::path& file : below(folder, takes).files)
    texts +=
        file.lexically_relative(folder).string() + '\0' + base::sha256(system::read_if_there(file, 1 << 24)) + '\n';
  return base::sha256(texts).substr(0, 12);
}

/// The directory with Kokkos' headers.
fs::path headers_of(const BuildFlags& flags) {
  std::error_code failed;
  for (const std::string& flag : flags.compile) {
    const fs::path folder = flag.starts_with("-I") ? flag.substr(2) : flag;
    if (fs::exists(folder / "Kokkos_Core.hpp", failed)) return folder;
  }
  return {};
}

/// The state by contents.
std::string state_of(const Installation& kokkos) {
  std::error_code failed;
  return fmt::format("{} {} {} {}", digest_below(fs::path(kokkos.config).parent_path(), is_of_package),
                     digest_below(headers_of(kokkos.flags), is_header), fs::file_size(kokkos.compiler, failed),
                     fs::last_write_time(kokkos.compiler, failed).time_since_epoch().count());
}

/// Whether it is unchanged, without reading contents: a new or removed file changes the state of a directory.
build::KeyedFiles look_at_files(const Installation& kokkos) {
  build::KeyedFiles looked;
  for (const auto& [folder, takes] : {std::pair<fs::path, Takes>{fs::path(kokkos.config).parent_path(), is_of_package},
                                      {headers_of(kokkos.flags), is_header}}) {
    const Below found = below(folder, takes);
    for (const auto* paths : {&found.folders, &found.files})
      for (const fs::path& path : *paths) looked.files.push_back(build::look_at(path));
  }
  looked.files.push_back(build::look_at(kokkos.compiler));
  return looked;
}

namespace fields = base::fields;
using fields::required;

template <auto member>
constexpr auto of_flags = [](auto& kokkos) -> auto& {
  return kokkos.flags.*member;
};
constexpr auto installation_form = fields::object<Installation>(
    required("version", &Installation::version), required("version_number", &Installation::version_number),
    required("devices", &Installation::devices), required("config", &Installation::config),
    required("compiler", &Installation::compiler), required("compiler_version", &Installation::compiler_version),
    required("compiler_is_clang", &Installation::compiler_is_clang),
    required("headers_digest", &Installation::headers_digest), required("compile", of_flags<&BuildFlags::compile>),
    required("link", of_flags<&BuildFlags::link>),
    required("files", &Installation::files,
             fields::Through{[](const build::KeyedFiles& files) { return build::to_json(files); },
                             build::keyed_files_from_json}));

void remember(const fs::path& memory, const Installation& kokkos, const std::string& state) {
  Json json = installation_form.to_json(kokkos);
  json["state"] = state;
  system::remember(memory, json.dump(2));
}

/// nullopt: nothing is cached, or it is out of date.
std::optional<Installation> remembered(const fs::path& memory) {
  try {
    const Json json = Json::parse(system::read_trusted_file(memory));
    Installation kokkos = installation_form.from_json(json);
    if (build::are_untouched(kokkos.files)) return kokkos;
    kokkos.files = look_at_files(kokkos);
    if (const std::string state = state_of(kokkos); json.at("state") == state) {
      remember(memory, kokkos, state);
      return kokkos;
    }
  } catch (const std::exception&) {  // missing, damaged, not trusted, or of another version
  }
  return std::nullopt;
}

/// CMake's error message, without the advice that follows.
std::string complaint(const system::CommandResult& result) {
  if (result.timed_out) return "it did not end within 120 s";
  const std::string& text = result.stderr_text;
  std::istringstream words(text.substr(std::min(text.find("CMake Error"), text.size())));
  // CMake wraps lines.
  std::string said;
  for (std::string word; words >> word;) said += (said.empty() ? "" : " ") + word;
  return base::printable(said.empty() ? text : said, 600);
}

void require_below_root(const std::string& config) {
  if (root().empty()) return;
  std::error_code failed;
  const std::string real_root = fs::weakly_canonical(root(), failed).string();
  if (fs::weakly_canonical(config, failed).string().starts_with(real_root + "/")) return;
  throw Error(ErrorKind::unavailable,
              fmt::format("Kokkos_ROOT={} holds no Kokkos; CMake took the one of {} instead: correct Kokkos_ROOT, or "
                          "unset it to have that one",
                          base::printable(root(), 300), config));
}

/// In the form of KOKKOS_VERSION, 30401. From its definition, since packages may have other numbers; else from the
/// package's number.
int version_number_of(const fs::path& headers, const std::string& package_version) {
  const std::string text = system::read_if_there(headers / "KokkosCore_config.h");
  int number = 0, major = 0, minor = 0, patch = 0;
  if (RE2::PartialMatch(text, "#define +KOKKOS_VERSION +([0-9]{5,6})[^0-9]", &number)) return number;
  if (!RE2::PartialMatch(package_version, R"(^([0-9]{1,2})\.([0-9]{1,2}))", &major, &minor)) return 0;
  RE2::PartialMatch(package_version, R"(^[0-9]+\.[0-9]{1,2}\.([0-9]{1,2}))", &patch);
  return major * 10000 + minor * 100 + patch;
}

Installation ask_cmake() {
  const system::TemporaryDirectory work;
  for (const char* folder : {"project", "build"}) fs::create_directory(work.path() / folder);
  write_runtime_file("CMakeLists.txt", work.path() / "project/CMakeLists.txt");
  backend::write_scratch_file(work.path() / "project/unit.cpp", "");
  const fs::path query = work.path() / "build/.cmake/api/v1/query";
  fs::create_directories(query);
  backend::write_scratch_file(query / "codemodel-v2", "");
  std::vector<std::string> command{"cmake",
                                   "-S",
                                   (work.path() / "project").string(),
                                   "-B",
                                   (work.path() / "build").string(),
                                   "-DCMAKE_BUILD_TYPE=Release",
                                   "-DXTUNE_CXX=" + variable("XTUNE_KOKKOS_CXX")};
  try {
    command.push_back("-DXTUNE_HOST_CXX=" + cpu::find_compiler());
  } catch (const Error&) {  // a Kokkos for GPUs has its own
  }
  system::CommandOptions options;
  options.own_group = false;
  options.timeout_ms = cmake_timeout_ms;
  options.env = {{"LC_ALL", "C"}};
  if (!root().empty()) options.env.emplace_back("Kokkos_ROOT", root());
  system::CommandResult result;
  try {
    result = system::run_command(command, options);
  } catch (const Error&) {
    throw Error(
        ErrorKind::unavailable,
        "cmake is not in PATH (Debian: cmake): Kokkos is found, and its flags are learnt, by CMake 3.16 or later");
  }
  const std::string said = complaint(result);
  if (!result.ok() && said.find("\"Kokkos\"") != std::string::npos && said.find("Could not find") != std::string::npos)
    throw Error(ErrorKind::unavailable, std::string("CMake finds no Kokkos: ") + how_to_get_it);
  if (!result.ok())
    throw Error(ErrorKind::unavailable, fmt::format("CMake cannot use Kokkos: {}; {}", said, how_to_get_it));

  Installation kokkos;
  std::istringstream answer(system::read_file(work.path() / "build/kokkos.txt"));
  std::string devices;
  for (std::string* line : {&kokkos.version, &devices, &kokkos.config, &kokkos.compiler}) std::getline(answer, *line);
  require_below_root(kokkos.config);
  std::istringstream list(devices);
  for (std::string device; std::getline(list, device, ';');) kokkos.devices.push_back(device);
  kokkos.flags = read_reply(work.path() / "build", "unit");
  return kokkos;
}

}  // namespace

Installation find_installation() {
  const auto memory = system::cache_disabled()
                          ? std::nullopt
                          : system::place_in_default_store(fs::path("kokkos") / (question() + ".json"));
  if (auto known = memory ? remembered(*memory) : std::nullopt) return *known;
  Installation kokkos = ask_cmake();
  const fs::path headers = headers_of(kokkos.flags);
  if (headers.empty())
    throw Error(ErrorKind::unavailable,
                fmt::format("the Kokkos of {} names no directory with Kokkos_Core.hpp: is it installed completely? {}",
                            kokkos.config, how_to_get_it));
  const int number = kokkos.version_number = version_number_of(headers, kokkos.version);
  if (number > 0) kokkos.version = fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
  if (kokkos.version_number < 30400)
    throw Error(ErrorKind::unavailable, fmt::format("Kokkos {} ({}) is too old: xtune works with 3.4 and later",
                                                    kokkos.version, kokkos.config));
  const compiler::Compiler compiler = compiler::identify_compiler(kokkos.compiler);
  kokkos.compiler_version = compiler.version;
  kokkos.compiler_is_clang = compiler.is_clang;
  kokkos.files = look_at_files(kokkos);
  const std::string state = state_of(kokkos);
  kokkos.headers_digest = state.substr(state.find(' ') + 1, 12);
  if (memory) remember(*memory, kokkos, state);
  return kokkos;
}

}  // namespace xtune::kokkos
