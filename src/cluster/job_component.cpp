// Reads components of jobs.
#include "cluster/job_component.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::cluster {
namespace {

int count_of(const std::string& key, const std::string& text, int least) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < least)
    throw Error(ErrorKind::invalid_argument, fmt::format("--arch-component: {}='{}' is not a count of at least {}", key,
                                                         base::printable(text, 40), least));
  return value;
}

/// A value that #SBATCH lines accept without quoting.
std::string plain_value(const std::string& key, const std::string& text) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:=&|*()[]+/@";
  if (text.empty() || text.find_first_not_of(allowed) != std::string::npos)
    throw Error(ErrorKind::invalid_argument, fmt::format("--arch-component: {}='{}': letters, digits and {} only", key,
                                                         base::printable(text, 80), "_-.:=&|*()[]+/@"));
  return text;
}

}  // namespace

JobComponent parse_component(const std::string& text) {
  JobComponent component;
  std::string rest = text;
  // "sm_90a:nodes=2": a colon before the first '='.
  const std::size_t equals = std::min(rest.find('='), rest.size());
  if (const std::size_t colon = rest.find(':'); colon < equals || equals == rest.size()) {
    component.arch = plain_value("arch", rest.substr(0, colon));
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  const std::vector<std::string> keys{"nodes", "gpus-per-node", "gres", "constraint", "partition"};
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string part = rest.substr(0, comma);
    rest = rest.substr(std::min(comma + 1, rest.size()));
    const std::size_t at = std::min(part.find('='), part.size());
    const std::string key = part.substr(0, at), value = part.substr(std::min(at + 1, part.size()));
    if (key == "nodes")
      component.nodes = count_of(key, value, 1);
    else if (key == "gpus-per-node")
      component.gpus_per_node = count_of(key, value, 0);
    else if (key == "gres")
      component.gres = plain_value(key, value);
    else if (key == "constraint")
      component.constraint = plain_value(key, value);
    else if (key == "partition")
      component.partition = plain_value(key, value);
    else
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("--arch-component '{}': unknown key '{}'{}; write "
                              "[ARCH:]nodes=N,gpus-per-node=N,gres=...,constraint=...,partition=...",
                              base::printable(text, 200), base::printable(key, 40), base::did_you_mean(key, keys)));
  }
  return component;
}

}  // namespace xtune::cluster
