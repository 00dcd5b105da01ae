// A path may have bytes that are not UTF-8, which JSON cannot hold: such a path is stored as numbers.
#include "core/build/keyed_files_json.hpp"

#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace xtune::build {
namespace {

nlohmann::json bytes_to_json(const std::string& text) {
  if (base::is_utf8(text)) return text;
  return std::vector<unsigned char>(text.begin(), text.end());
}

std::string bytes_from_json(const nlohmann::json& json) {
  if (json.is_string()) return json;
  const auto bytes = json.get<std::vector<unsigned char>>();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

nlohmann::json to_json(const KeyedFiles& keyed) {
  nlohmann::json json = nlohmann::json::object();
  for (const KeyedFile& file : keyed.files)
    json["files"].push_back({bytes_to_json(file.path), file.state, file.sha256, file.recent});
  for (const std::string& path : keyed.absent) json["absent"].push_back(bytes_to_json(path));
  return json;
}

KeyedFiles keyed_files_from_json(const nlohmann::json& json) {
  KeyedFiles keyed;
  for (const nlohmann::json& file : json.value("files", nlohmann::json::array()))
    keyed.files.push_back({bytes_from_json(file.at(0)), file.at(1), file.at(2), file.at(3)});
  for (const nlohmann::json& path : json.value("absent", nlohmann::json::array()))
    keyed.absent.push_back(bytes_from_json(path));
  return keyed;
}

}  // namespace xtune::build
