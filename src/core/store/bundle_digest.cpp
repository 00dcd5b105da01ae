// What a bundle contains, and what is taken from it, as one hash each.
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/record/record_json.hpp"
#include "core/store/bundle.hpp"
#include "xtune/error.hpp"

namespace xtune::store {
namespace {

/// The hash of a text's lines in any order.
std::string hash_of_lines(const std::string& text) {
  std::vector<std::string> lines = base::split(text, '\n');
  std::sort(lines.begin(), lines.end());
  std::string sorted;
  for (const std::string& line : lines) sorted.append(line).append("\n");
  return base::sha256(sorted);
}

}  // namespace

std::string Bundle::digest() const {
  const auto fail = [&](const std::string& why) {
    return Error(ErrorKind::io, base::printable(path_.string()) + ": it has no digest: " + why);
  };
  const std::uint64_t index_begin = header_.size() + 1;
  if (base::read_file_part(path_, 0, index_begin) != header_ + "\n") throw fail("it has changed since it was opened");
  const nlohmann::json header = nlohmann::json::parse(header_);
  if (header.dump() != header_ || header.size() != 4 || !header.contains("xtune"))
    throw fail("its first line is not as xtune writes it");
  if (header.at("index_sha256") != base::sha256(base::read_file_part(path_, index_begin, data_ - index_begin)))
    throw fail("it has changed since it was opened");
  std::vector<Place> places;
  nlohmann::json contents = {{"xtune_bundle", header.at("xtune_bundle")}, {"xtune", header.at("xtune")}};
  for (const Part& part : parts_) {
    places.push_back(records_.at({part.arch, part.kernel}));
    contents["records"][part.arch][part.kernel] = hash_of_lines(records(part));
  }
  for (const auto& [key, packed] : artifacts_) {
    places.push_back(packed.place);
    contents["artifacts"][key] = {base::sha256(packed.metadata), base::sha256(artifact(key).value().image)};
  }
  for (const auto& [kernel, packed] : specs_) {
    nlohmann::json& files = contents["specs"][kernel] = {{"spec", packed.spec}};
    for (const auto& [name, text] : spec(kernel).files) files["files"][name] = base::sha256(text);
    for (const auto& [name, file] : packed.files) places.push_back(file.place);
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.offset < b.offset; });
  std::uint64_t end = data_;
  for (const Place& place : places) {
    if (place.bytes > 0 && place.offset != end) throw fail("some of its bytes belong to no part, or to two");
    end += place.bytes;
  }
  struct stat info {};
  if (::stat(path_.c_str(), &info) != 0 || static_cast<std::uint64_t>(info.st_size) != end)
    throw fail("some of its bytes belong to no part");
  return base::sha256(contents.dump());
}

std::string choices_digest(const std::string& bundle_digest, const std::string& kernel,
                           const std::vector<ProblemChoice>& choices) {
  nlohmann::json json = {{"bundle", bundle_digest}, {"kernel", base::utf8_text(kernel)}};
  json["choices"] = nlohmann::json::array();
  for (const auto& [problem, config] : choices)
    json["choices"].push_back({record::to_json(problem), config ? record::to_json(*config) : nlohmann::json(nullptr)});
  return base::sha256(json.dump());
}

}  // namespace xtune::store
