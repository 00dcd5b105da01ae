// Configurations are kept as their values; nearly all have the same names.
#include "core/store/stored_config.hpp"

#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "core/record/record_json.hpp"
#include "core/space/bindings_text.hpp"
#include "core/store/json_walk.hpp"
#include "core/store/plain_values.hpp"

namespace xtune {
namespace {

int digit_of(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

/// visit(name, JSON text of the value)
template <class Visit>
void each_value(const StoredConfig& config, const Visit& visit) {
  JsonWalk names(*config.names), values(config.values);
  std::string_view name, value;
  while (names.take_string(name) && values.take_value(value)) {
    visit(name, value);
    names.take(','), values.take(',');
  }
}

}  // namespace

KeyDigest::KeyDigest(std::string_view key) {
  constexpr std::size_t hash_length = 64;
  if (key.empty()) return;
  const auto decode = [&](std::string_view hex) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      const int high = digit_of(hex[2 * i]), low = digit_of(hex[2 * i + 1]);
      if (high < 0 || low < 0) return false;
      bytes_[i] = static_cast<unsigned char>(high << 4 | low);
    }
    return true;
  };
  if (key.size() != hash_length || !decode(key)) decode(sha256(key));
}

std::string config_text(const StoredConfig& config) {
  if (!config.names) return bindings_text(config_bindings(config));
  std::string text;
  each_value(config, [&](std::string_view name, std::string_view value) {
    if (!text.empty()) text += ' ';
    text.append(name).append("=");
    append_value_text(value, text);
  });
  return text;
}

Bindings config_bindings(const StoredConfig& config) {
  if (!config.names) return bindings_from_json(nlohmann::json::parse(config.values));
  Bindings bindings;
  each_value(config, [&](std::string_view name, std::string_view value) {
    bindings.emplace_hint(bindings.end(), name, *plain_value(value));
  });
  return bindings;
}

}  // namespace xtune
