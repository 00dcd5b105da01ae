// Queries over records: the best configuration, ties, lookup, and why a lookup hits or misses.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/record.hpp"

namespace xtune {

/// What ranks records: a statistic of their time ("median", "min", "mean"), or a score made of it. A plain name will
/// do.
struct Criterion {
  Criterion(const char* name = "median") : statistic(name) {}  // NOLINT(google-explicit-constructor)
  Criterion(std::string name) : statistic(std::move(name)) {}  // NOLINT(google-explicit-constructor)
  std::string statistic;
  /// Less is better; NaN or infinite: the record cannot be ranked. Empty: the time itself.
  std::function<double(const Record&, double time_ms)> score = {};
  double of(const Record& record) const;
};

/// The best ok record and those that cannot be told from it. Points into the records it was made from.
struct Best {
  const Record* record = nullptr;
  /// Those that tied with it in finals, and others whose interval (of the time, or of what the score makes of it)
  /// overlaps its own; in the order of their ranks.
  std::vector<const Record*> ties;
};

/// The ok records, best first: clean ones before tainted ones, by the criterion, equal ones by the configuration's
/// text, so that the same records give the same order. Duplicates of a measurement key count once (the newest; pruned
/// ones never). Who took part in finals stands, among the places of those that did, as FinalsResult says; their winner
/// goes before all that was measured until then (where time alone decides). Points into the records.
std::vector<const Record*> ranked(const std::vector<Record>& records, const Criterion& criterion = {});
std::vector<const Record*> ranked(const std::vector<const Record*>& records, const Criterion& criterion = {});
std::vector<const Record*> ranked(std::vector<Record>&& records, const Criterion& criterion = {}) = delete;
/// The first of them with its ties; nullopt without any ok record. A tainted best ties with tainted records alone.
std::optional<Best> best_of(const std::vector<Record>& records, const Criterion& criterion = {});
std::optional<Best> best_of(const std::vector<const Record*>& records, const Criterion& criterion = {});
std::optional<Best> best_of(std::vector<Record>&& records,
                            const Criterion& criterion = {}) = delete;  // the pointers would outlive the records

/// The same kind of device through the same backend, whichever one of them: what records must agree in to answer
/// exactly.
bool same_device(const DeviceInfo& a, const DeviceInfo& b);

enum class Match { exact, bucket, nearest, none };
const char* to_string(Match match) noexcept;

/// Whether its kernel was built with --sanitize: its times are not the kernel's.
bool is_sanitized(const Record& record);

/// Sum of |log2(a / b)| over the dimensions of two problems; nullopt where they are of different kinds: other names,
/// other words, sizes of zero or below that differ.
std::optional<double> shape_distance(const Bindings& a, const Bindings& b);

/// What is asked of each record before it may answer; each may be empty. SpecFit makes them from a spec.
struct LookupRules {
  /// Why a record may not answer ("whose parameters are not this spec's"), or empty.
  std::function<std::string(const Record&)> obstacle;
  /// How its key differs from the one that its configuration would have today, as key_difference tells; empty: not at
  /// all. A record whose key still holds goes before a faster one whose key does not.
  std::function<std::vector<std::string>(const Record&)> differences;
  /// The bucket of a problem, as the spec's dispatch key has it; empty: none. Records of the same bucket go before
  /// nearer ones of another.
  std::function<std::string(const Bindings& problem)> bucket;
};

/// Answers "which configuration for this problem on this device", from records of one architecture.
struct LookupResult {
  Match match = Match::none;
  std::optional<Record> record;
  double distance = 0;                   ///< bucket, nearest: shape_distance
  std::vector<std::string> differences;  ///< how the record's key differs from today's, a line each
  std::vector<std::string> reasons;      ///< what was considered and why it was taken or not, a line each
};

/// exact (this problem, this device) > the nearest problem of its bucket > the nearest problem by shape on the same
/// architecture > none. Records of sanitized
/// kernels never answer: their times are not the kernel's.
LookupResult look_up(const std::vector<Record>& records, const Bindings& problem, const DeviceInfo& device,
                     const Criterion& criterion = {}, const LookupRules& rules = {});

}  // namespace xtune
