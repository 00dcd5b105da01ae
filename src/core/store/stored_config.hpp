// What a StoreView keeps of one record.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/record/ranking.hpp"
#include "core/space/value.hpp"

namespace xtune {

/// 128 bits of a key, in the order of the keys: the first half of a SHA-256, or a hash of another text. Empty: of no
/// key.
class KeyDigest {
 public:
  KeyDigest() = default;
  explicit KeyDigest(std::string_view key);
  bool empty() const noexcept { return *this == KeyDigest(); }
  /// Lie in this object.
  std::string_view bytes() const noexcept { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  auto operator<=>(const KeyDigest&) const = default;

 private:
  std::array<unsigned char, 16> bytes_{};
};

struct KeyDigestHash {
  std::size_t operator()(const KeyDigest& key) const noexcept { return std::hash<std::string_view>()(key.bytes()); }
};

/// What a record of finals keeps besides. Its texts lie in the StoreView.
struct FinalsEvidence {
  std::string_view finals, finals_by;
  std::string_view samples_ms, usage;  ///< as JSON
};

/// One record as far as choosing goes. What it points to lies in the StoreView that gave it.
struct StoredConfig {
  KeyDigest key, artifact_key;
  std::string_view values;                  ///< of the parameters, as JSON texts with commas between; see names
  const std::string_view* names = nullptr;  ///< likewise, sorted; null: `values` is the record's JSON object
  const std::string_view* attempt = nullptr;
  const FinalsEvidence* finals = nullptr;  ///< null: not of finals
  double time_ms = 0;                      ///< of the statistic that ranks; infinite: it has none
  double median_ms = 0;
  std::int64_t unix_time_ms = 0;
  std::uint64_t offset = 0;               ///< of the whole record
  std::uint32_t bytes = 0, file = 0;      ///< likewise
  std::uint32_t problem = 0, device = 0;  ///< indices into the StoreView's
  Outcome outcome = Outcome::ok;
  bool tainted = false, drift = false, sanitized = false;
};

/// The configuration's bindings_text: "A=1 B=2", by name.
std::string config_text(const StoredConfig& config);
Bindings config_bindings(const StoredConfig& config);

}  // namespace xtune
