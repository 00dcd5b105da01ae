// The part of a record that a StoreView keeps.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/hash.hpp"
#include "core/record/line_reader.hpp"
#include "core/record/record.hpp"
#include "core/space/value.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

/// 128 bits of a key, in the order of the keys: the first half of a SHA-256, or a hash of another text. Empty: no key.
class KeyDigest {
 public:
  KeyDigest() = default;
  explicit KeyDigest(std::string_view key);
  /// From the SHA-256 of a key.
  explicit KeyDigest(const base::Sha256& hash) { std::memcpy(&bytes_, &hash, 16); }
  static KeyDigest of_bytes(std::string_view bytes);  ///< as from bytes()
  bool empty() const noexcept { return *this == KeyDigest(); }
  std::string hex() const;
  /// Refers to this object.
  std::string_view bytes() const noexcept { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  auto operator<=>(const KeyDigest&) const = default;
  bool operator==(const KeyDigest& other) const noexcept { return std::memcmp(&bytes_, &other.bytes_, 16) == 0; }

 private:
  std::array<unsigned char, 16> bytes_{};
};

struct KeyDigestHash {
  std::size_t operator()(const KeyDigest& key) const noexcept {
    std::size_t hash = 0;  // the bytes are already a hash
    std::memcpy(&hash, key.bytes().data(), sizeof hash);
    return hash;
  }
};

/// The parts of one record that are needed for choosing. Its pointers refer to the StoreView it came from.
struct StoredConfig {
  KeyDigest key, artifact_key;
  std::string_view values;                  ///< of the parameters, by encode_bindings
  const std::string_view* names = nullptr;  ///< likewise; equal texts may be at several places
  const std::string_view* attempt = nullptr;
  const std::string_view* finals = nullptr;     ///< id of the finals; null: not from finals
  const std::string_view* finals_by = nullptr;  ///< of these finals
  const record::RecordSource* source = nullptr;
  double time_ms = 0;  ///< of the ranking statistic; infinite: none
  double median_ms = 0;
  double low_ms = 0;  ///< lower end of the median's interval; for a pruned record its minimum sample
  std::int64_t unix_time_ms = 0;
  std::uint64_t offset = 0;               ///< position of the whole record
  std::uint32_t bytes = 0, file = 0;      ///< size of the whole record; number of the source
  std::uint32_t problem = 0, device = 0;  ///< indices in the StoreView
  std::uint32_t samples = 0;              ///< for a pruned record: number of samples
  Outcome outcome = Outcome::ok;
  bool tainted = false, drift = false, sanitized = false;
  bool explained = false, sanitizer_report = false;  ///< for a failure: its message is not empty; it is such a report
};

/// Error(io): a file that a row was read from was removed or changed.
struct RecordsChanged : Error {
  using Error::Error;
};

/// The whole record, from its file. Throws RecordsChanged.
record::Record read_record(const StoredConfig& config);

/// Names and values as bytes: equal ones for equal bindings, and different ones for others.
void encode_bindings(const Bindings& bindings, std::string& names, std::string& values);
Bindings decode_bindings(std::string_view names, std::string_view values);

/// The configuration's bindings_text: "A=1 B=2", by name.
std::string config_text(const StoredConfig& config);
Bindings config_bindings(const StoredConfig& config);

}  // namespace xtune::store
