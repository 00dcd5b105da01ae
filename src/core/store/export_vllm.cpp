// Tables of vLLM's fused mixture-of-experts kernel.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.hpp"
#include "core/space/bindings_text.hpp"
#include "core/store/export.hpp"
#include "xtune/error.hpp"

namespace xtune::store {
namespace {

using OrderedJson = nlohmann::ordered_json;

/// In the order of vLLM's own files.
constexpr const char* needed[] = {"BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K",
                                  "GROUP_SIZE_M", "num_warps",    "num_stages"};
constexpr const char* extras[] = {"SPLIT_K", "waves_per_eu", "matrix_instr_nonkdim", "kpack", "USE_TMA"};

class Names {
 public:
  explicit Names(const std::map<std::string, std::string>& given) : given_(given) {
    std::vector<std::string> known{"E", "N", "M"};
    known.insert(known.end(), std::begin(needed), std::end(needed));
    known.insert(known.end(), std::begin(extras), std::end(extras));
    for (const auto& [name, own] : given)
      if (std::find(known.begin(), known.end(), name) == known.end())
        throw Error(ErrorKind::invalid_argument, "--map " + base::printable(name, 80) + "=" + base::printable(own, 80) +
                                                     ": vLLM's tables have no such name" +
                                                     base::did_you_mean(name, known));
  }
  std::string own(const std::string& name) const {
    const auto found = given_.find(name);
    return found == given_.end() ? name : found->second;
  }

 private:
  const std::map<std::string, std::string>& given_;
};

std::string title(const Winner& winner) {
  return fmt::format("{} on {}, {}", base::printable(winner.kernel, 80), base::printable(winner.arch, 80),
                     space::shown_text(winner.record.problem));
}

std::int64_t integer(const Value& value, const std::string& name, const Winner& winner) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{}: '{}' is {}; vLLM's tables hold only whole numbers", title(winner),
                          base::printable(name, 80), base::printable(to_text(value), 80)));
}

std::int64_t required(const Bindings& bindings, const std::string& name, const Names& names, const char* what,
                      const Winner& winner) {
  const std::string own = names.own(name);
  const auto found = bindings.find(own);
  if (found != bindings.end()) return integer(found->second, own, winner);
  std::vector<std::string> known;
  for (const auto& [word, value] : bindings) known.push_back(word);
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{}: vLLM's table needs the {} '{}', which this kernel does not have{}; --map {}=NAME names "
                          "the kernel's own",
                          title(winner), what, base::printable(own, 80), base::did_you_mean(own, known), name));
}

OrderedJson config_json(const Winner& winner, const Names& names, std::set<std::string>& unused) {
  const Bindings& config = winner.record.config;
  OrderedJson json = OrderedJson::object();
  std::set<std::string> used;
  for (const char* name : needed) {
    json[name] = required(config, name, names, "parameter", winner);
    used.insert(names.own(name));
  }
  for (const char* name : extras) {
    const auto found = config.find(names.own(name));
    if (found == config.end()) continue;
    if (const auto* flag = std::get_if<bool>(&found->second))
      json[name] = *flag;
    else
      json[name] = integer(found->second, found->first, winner);
    used.insert(found->first);
  }
  for (const auto& [name, value] : config)
    if (!used.contains(name)) unused.insert(name);
  return json;
}

// As vLLM's get_config_file_name forms it.
std::string device_name(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '_');
  const std::vector<std::string> words = base::split(name, '_');
  if (std::find(words.begin(), words.end(), "H200") != words.end()) return "NVIDIA_H200";
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

std::string file_name(std::int64_t experts, std::int64_t width, const Winner& winner, const VllmOptions& options) {
  std::string name = fmt::format("E={},N={},device_name={}", experts, width, device_name(winner.record.device.name));
  if (!options.dtype.empty()) name += ",dtype=" + options.dtype;
  if (options.block_shape)
    name += fmt::format(",block_shape=[{},{}]", options.block_shape->first, options.block_shape->second);
  return name + ".json";
}

}  // namespace

std::map<std::string, OrderedJson> export_vllm_moe(const std::vector<Winner>& winners, const VllmOptions& options,
                                                   std::vector<std::string>& warnings) {
  const Names names(options.names);
  std::map<std::string, std::map<std::int64_t, const Winner*>> tables;
  std::set<std::string> unused;
  for (const Winner& winner : winners) {
    const Bindings& problem = winner.record.problem;
    const auto size = [&](const char* name) { return required(problem, name, names, "problem size", winner); };
    const std::string file = file_name(size("E"), size("N"), winner, options);
    const auto [place, is_new] = tables[file].emplace(size("M"), &winner);
    if (!is_new)
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("two winners belong to M = {} of {}: {} and {}. Select one with --kernel, --arch or -D",
                              place->first, base::printable(file, 200), title(*place->second), title(winner)));
  }
  if (tables.empty()) throw no_answers();
  std::map<std::string, OrderedJson> files;
  for (const auto& [file, rows] : tables) {
    OrderedJson& json = files[file] = OrderedJson::object();
    for (const auto& [batch, winner] : rows) json[std::to_string(batch)] = config_json(*winner, names, unused);
  }
  for (const std::string& name : unused)
    warnings.push_back("the parameter '" + base::printable(name, 80) + "' is not in the table: vLLM does not know it");
  return files;
}

}  // namespace xtune::store
