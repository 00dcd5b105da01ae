// Records compared: one version or device with another, and the best of a problem with all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/store/best.hpp"
#include "core/store/record.hpp"

namespace xtune::store {

/// Records of one kernel, problem and kind of device. Points into the records that it was made from.
struct ComparedGroup {
  std::string kernel;
  Bindings problem;
  device::DeviceInfo device;
  std::vector<const Record*> records;  ///< by the time at which they ended
  std::filesystem::path store;         ///< whose artifacts tell what was compiled; may be empty
};

/// In the order of kernel, problem and device. Records of sanitized kernels are omitted.
std::vector<ComparedGroup> compared_groups(const std::vector<Record>& records, const std::filesystem::path& store);
/// The same by version, the oldest first: records whose source, compiler or driver differs are of different versions,
/// and so are two artifacts of one configuration.
std::vector<ComparedGroup> versions_of(const ComparedGroup& group);

enum class Change { same, faster, slower, lost, found };
const char* to_string(Change change) noexcept;

/// A time after over a time before, with the range that both 95 % intervals leave.
struct TimeRatio {
  double value = 1, low = 1, high = 1;
  Change change = Change::same;
};
/// noise: differences up to this share do not count as changes, whatever the intervals say; nor is a range that
/// includes 1.
TimeRatio time_ratio(const Record& before, const Record& after, double noise);

/// Whether something of it passed.
bool has_answer(const ComparedGroup& group);

/// One configuration that both have.
struct ConfigChange {
  const Record* before = nullptr;
  const Record* after = nullptr;
  TimeRatio ratio;
};

struct CaseComparison {
  ComparedGroup before, after;
  const Record* best_before = nullptr;  ///< the answers; null: none passed
  const Record* best_after = nullptr;
  TimeRatio ratio;                        ///< of the answers; lost or found where one is null
  std::optional<ConfigChange> same_best;  ///< the answer before, as it is after; unset: it is not, or did not pass
  std::size_t both = 0, same = 0;         ///< configurations; `same` of those with a time in both
  std::size_t only_before = 0, only_after = 0;
  std::vector<ConfigChange> timed;       ///< faster or slower, the largest change first
  std::vector<ConfigChange> outcomes;    ///< another outcome; ok and pruned are one
  std::vector<std::string> differences;  ///< of the keys, a line each: "source k.cu: changed"
};
CaseComparison compare(const ComparedGroup& before, const ComparedGroup& after, double noise);

struct Comparisons {
  std::vector<CaseComparison> cases;
  std::vector<ComparedGroup> only_before, only_after;  ///< kernels and problems that only one side has
};
/// Pairs groups of the same kernel and problem: on the same kind of device, or where each side has one device left.
Comparisons compare_all(std::vector<ComparedGroup> before, std::vector<ComparedGroup> after, double noise);

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
  std::vector<ValueCount> values;  ///< in the order of the parameters; of one, the most frequent first
};

/// records: of one problem on one kind of device. share: 0 .. 1; at least one configuration counts. Parameters of which
/// only one value was measured are omitted.
TopValues top_values(const std::vector<space::Parameter>& parameters, const std::vector<const Record*>& records,
                     const Criterion& criterion, double share);

/// Records as far as `xtune run --format json` prints them: configurations, outcomes, times and intervals, but no keys.
/// An answer's own time is its record's. Throws Error(invalid_argument), opening with `name`, for JSON that is not such
/// result.
std::vector<Record> records_of_result(const nlohmann::json& result, const std::string& name);

}  // namespace xtune::store
