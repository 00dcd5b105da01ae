// Which parameter values the best configurations have.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/record/criterion.hpp"
#include "core/record/record.hpp"
#include "core/spec/spec.hpp"

namespace xtune::report {

/// A value of a parameter, and how many configurations have it.
struct ValueCount {
  std::string parameter;
  Value value;
  std::size_t best = 0, measured = 0;  ///< among the best, among all
};

struct TopValues {
  double share = 0;                ///< of the measured configurations that count as the best
  std::size_t measured = 0;        ///< configurations that passed, pruned ones too
  std::size_t best = 0;            ///< fewer than `share` of them if too few were measured in full
  std::vector<ValueCount> values;  ///< in the spec's order of parameters; of one, the most frequent first
};

/// records: of one problem on one kind of device. share: 0 .. 1; at least one configuration counts. Parameters of which
/// only one value was measured are omitted.
TopValues top_values(const spec::Spec& spec, const std::vector<const record::Record*>& records,
                     const record::Criterion& criterion, double share);

/// A table of the values that occur among the best.
std::string top_values_text(const TopValues& top);
/// {"share", "measured", "best", "parameters": {NAME: [{"value", "best", "measured"}, ...]}}: shares of the best, and
/// of all that were measured.
nlohmann::ordered_json top_values_json(const TopValues& top);

}  // namespace xtune::report
