// Walks the reply's files: index, codemodel, target.
#include "backends/kokkos/cmake_reply.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "backends/runtime_files.hpp"
#include "base/json_text.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

namespace xtune::kokkos {
namespace {

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

void write_query(const std::filesystem::path& build_folder) {
  const std::filesystem::path folder = build_folder / ".cmake/api/v1/query";
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  backend::write_scratch_file(folder / "codemodel-v2", "");
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

}  // namespace xtune::kokkos
