// Configurations are kept as their values; nearly all have the same names.
#include "core/store/stored_config.hpp"

#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "core/record/record_json.hpp"
#include "core/space/bindings_text.hpp"
#include "core/store/json_walk.hpp"
#include "core/store/plain_values.hpp"

namespace xtune::store {
namespace {

/// By character; 255: not a digit.
constexpr auto hex_digits = [] {
  std::array<unsigned char, 256> values{};
  values.fill(255);
  for (unsigned char i = 0; i < 10; ++i) values['0' + i] = i;
  for (unsigned char i = 0; i < 6; ++i) values['a' + i] = static_cast<unsigned char>(10 + i);
  return values;
}();

/// Calls visit(name, JSON text of the value).
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
    unsigned bad = 0;
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      const unsigned high = hex_digits[static_cast<unsigned char>(hex[2 * i])],
                     low = hex_digits[static_cast<unsigned char>(hex[2 * i + 1])];
      bad |= high | low;
      bytes_[i] = static_cast<unsigned char>(high << 4 | low);
    }
    return bad < 16;
  };
  if (key.size() != hash_length || !decode(key)) decode(base::sha256(key));
}

std::string KeyDigest::hex() const {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes_) text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

std::string config_text(const StoredConfig& config) {
  if (!config.names) return space::bindings_text(config_bindings(config));
  std::string text;
  each_value(config, [&](std::string_view name, std::string_view value) {
    if (!text.empty()) text += ' ';
    text.append(name).append("=");
    append_value_text(value, text);
  });
  return text;
}

Bindings config_bindings(const StoredConfig& config) {
  if (!config.names) return record::bindings_from_json(nlohmann::json::parse(config.values));
  Bindings bindings;
  each_value(config, [&](std::string_view name, std::string_view value) {
    bindings.emplace_hint(bindings.end(), name, *plain_value(value));
  });
  return bindings;
}

}  // namespace xtune::store
