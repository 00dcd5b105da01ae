// What a StoreView keeps of one record.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/record/ranking.hpp"

namespace xtune {

/// One record as far as choosing goes. Its texts lie in the StoreView that gave it.
struct StoredConfig {
  std::string_view config;       ///< "A=1 B=2", by name; StoreView::config_of gives the values
  std::string_view config_json;  ///< as the record has it
  std::string_view key;          ///< of the measurement
  std::string_view artifact_key;
  std::string_view attempt, finals, finals_by;
  std::string_view samples_ms, usage;  ///< as JSON; of records of finals alone
  Outcome outcome = Outcome::ok;
  bool tainted = false;
  std::uint64_t count = 0;  ///< of samples
  double min_ms = 0, median_ms = 0, mean_ms = 0;
  double low_ms = 0, high_ms = 0;  ///< 95 % confidence interval of the median
  std::int64_t unix_time_ms = 0;
  std::uint32_t problem = 0, device = 0;  ///< indices into the StoreView's
  std::uint32_t file = 0;                 ///< where the whole record is
  std::uint64_t offset = 0, bytes = 0;
};

}  // namespace xtune
