// Measurement keys of many configurations, one after the other.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "core/resolve/resolve.hpp"

namespace xtune::spec {
class CompiledText;
}  // namespace xtune::spec

namespace xtune::resolve {

/// What key_of says of a resolver's measurement_key_parts. What the values that differ from the configuration before
/// have no part in is not worked out again, so that a million keys take about a second. For one thread; resolver
/// outlives it.
class MeasurementKeys {
 public:
  explicit MeasurementKeys(const CandidateResolver& resolver);
  /// The hash that the key is, as bytes.
  base::Sha256 of(const space::Config& config);

 private:
  /// A text, and the parameters that have a part in it.
  struct Piece {
    std::vector<std::size_t> parameters;
    std::vector<Value> values;  ///< theirs when the text was made
    std::string text = {};
    bool known = false;
  };
  void add_named(const std::vector<spec::CompiledText>& texts, std::vector<bool>& used) const;
  static void set(Piece& piece, const std::vector<bool>& used);
  const std::string& text_of(Piece& piece, const space::Config& config, const std::function<std::string()>& make);
  std::string artifact_key(const space::Config& config);
  std::string defines_key(const space::Config& config);

  const CandidateResolver& resolver_;
  bool defines_only_ = false;  ///< of an artifact's key nothing but values of parameters in its definitions changes
  Piece artifact_, runtime_, scalars_, launch_;
  std::string end_;             ///< the parts that no configuration changes
  std::string before_defines_;  ///< of an artifact's key
  std::string after_defines_;
  std::vector<std::pair<std::string, std::string>> fixed_defines_;
  std::string buffer_;
};

}  // namespace xtune::resolve
