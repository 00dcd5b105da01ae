// What a StoreView keeps of one record.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/hash.hpp"
#include "core/record/ranking.hpp"
#include "core/space/value.hpp"

namespace xtune::store {

/// 128 bits of a key, in the order of the keys: the first half of a SHA-256, or a hash of another text. Empty: of no
/// key.
class KeyDigest {
 public:
  KeyDigest() = default;
  explicit KeyDigest(std::string_view key);
  /// Of the SHA-256 that a key is.
  explicit KeyDigest(const base::Sha256& hash) { std::memcpy(&bytes_, &hash, 16); }
  bool empty() const noexcept { return *this == KeyDigest(); }
  std::string hex() const;
  /// Lie in this object.
  std::string_view bytes() const noexcept { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  auto operator<=>(const KeyDigest&) const = default;
  bool operator==(const KeyDigest& other) const noexcept { return std::memcmp(&bytes_, &other.bytes_, 16) == 0; }

 private:
  std::array<unsigned char, 16> bytes_{};
};

struct KeyDigestHash {
  std::size_t operator()(const KeyDigest& key) const noexcept {
    std::size_t hash = 0;  // its bytes are a hash's
    std::memcpy(&hash, key.bytes().data(), sizeof hash);
    return hash;
  }
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
  double low_ms = 0;  ///< lower end of the median's interval; of a pruned record its least sample
  std::int64_t unix_time_ms = 0;
  std::uint64_t offset = 0;               ///< of the whole record
  std::uint32_t bytes = 0, file = 0;      ///< likewise
  std::uint32_t problem = 0, device = 0;  ///< indices into the StoreView's
  std::uint32_t samples = 0;              ///< of a pruned record: how many samples it has
  Outcome outcome = Outcome::ok;
  bool tainted = false, drift = false, sanitized = false;
  bool explained = false, sanitizer_report = false;  ///< of a failure: its message says something; is such a report
};

/// The configuration's bindings_text: "A=1 B=2", by name.
std::string config_text(const StoredConfig& config);
Bindings config_bindings(const StoredConfig& config);

}  // namespace xtune::store
