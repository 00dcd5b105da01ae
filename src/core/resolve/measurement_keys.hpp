// Measurement keys of many configurations, one after the other.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "core/resolve/resolve.hpp"

namespace xtune::spec {
class CompiledText;
}  // namespace xtune::spec

namespace xtune::resolve {

/// key_of(measurement_key_parts) of a resolver, for many configurations. Parts that do not depend on the values that
/// changed since the configuration before are reused, so a million keys take about a second. For one thread; resolver
/// must outlive it.
class MeasurementKeys {
 public:
  explicit MeasurementKeys(const CandidateResolver& resolver);
  /// Calls visit(hash, as bytes) for the key with each artifact key that the configuration may have (resolve.hpp), the
  /// most likely one first, until it returns true. Returns the last result of visit.
  bool any(const space::Config& config, const std::function<bool(const base::Sha256&)>& visit);

 private:
  /// A text, and the parameters that it depends on.
  struct Piece {
    std::vector<std::size_t> parameters;
    std::vector<Value> values;  ///< of these parameters when the text was made
    std::string text = {};
    bool known = false;
  };
  /// An artifact's key whose only parameters are in its definitions: the text around those.
  struct Defines {
    bool only = false;  ///< whether it is such a key
    std::string before = {}, after = {};
    std::vector<std::pair<std::string, std::string>> fixed = {};
  };
  void add_named(const std::vector<spec::CompiledText>& texts, std::vector<bool>& used) const;
  static void set(Piece& piece, const std::vector<bool>& used);
  const std::string& text_of(Piece& piece, const space::Config& config, const std::function<std::string()>& make);
  std::string artifact_key(const space::Config& config);
  std::string defines_key(const space::Config& config);
  std::string runtime_text(const space::Config& config) const;

  const CandidateResolver& resolver_;
  Piece artifact_, runtime_, scalars_, launch_;
  /// Parameters of the part "runtime", by name: the text before the value, and the number.
  std::vector<std::pair<std::string, std::size_t>> runtime_items_;
  std::string base_;                    ///< the artifact's key of the configuration before, as of a request
  std::vector<std::string> artifacts_;  ///< which it may be
  int learned_ = 0;                     ///< with which these were made
  std::string end_;                     ///< the parts that are the same for all configurations
  int reference_changes_ = 0;           ///< with which `end_` was made
  Defines defines_;
  std::string buffer_;
};

}  // namespace xtune::resolve
