// A store's records of one kernel on one architecture, read for choosing among them: fast to load, faster to ask.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/record/lookup.hpp"
#include "core/store/config_groups.hpp"
#include "core/store/row_reader.hpp"
#include "xtune/error.hpp"

namespace xtune::store {

struct StoreViewOptions {
  measure::Statistic statistic = measure::Statistic::median;  ///< what ranks
  /// The bucket of a problem, see bucket_function; empty: there are none. Called while loading and by find, which may
  /// be in several threads.
  std::function<std::string(const Bindings& problem)> bucket = {};
  unsigned threads = 0;  ///< that read; 0: as the machine has, 8 at most
  bool all = false;      ///< with pruned, drift and sanitized records, for look_up and each_row
};

/// Error(io): a file that a row was read from has gone or changed.
struct RecordsChanged : Error {
  using Error::Error;
};

/// Immutable once made; any number of threads may ask it at once. What it hands out lives as long as it does.
class StoreView {
 public:
  using Options = StoreViewOptions;

  /// A missing store or kernel is an empty view; damage and newer versions are warnings, as of read_records.
  static StoreView load(const std::filesystem::path& store, const std::string& arch, const std::string& kernel,
                        const Options& options = {});
  /// The same of record lines wherever they lie.
  static StoreView load(std::vector<record::RecordSource> sources, const Options& options = {});
  StoreView(StoreView&&) noexcept;
  StoreView& operator=(StoreView&&) noexcept;
  ~StoreView();

  /// The configurations of one problem on one kind of device: at least one that may answer, or with Options::all any.
  using Group = ConfigGroup;
  const std::vector<Group>& groups() const noexcept;  ///< by the problem's text, then the device's name
  /// Best first, as ranked() has them; empty only with Options::all. They are ranked when they are first asked for,
  /// here or by find.
  const ConfigOrder& order(const Group& group) const;
  void rank_all() const;  ///< for who wants all groups' orders: in several threads

  struct Found {
    record::Match match = record::Match::none;
    const StoredConfig* config = nullptr;
    std::shared_ptr<record::Record> record;      ///< null unless the rules ask for differences
    double distance = 0;                         ///< shape_distance to the problem it was measured for
    bool exact_device = false;                   ///< measured on this kind of device, not merely on its architecture
    record::KeyFit fit = record::KeyFit::holds;  ///< as the rule says; holds without one
    std::size_t passed_over = 0;                 ///< faster ones whose key does not hold
  };
  /// Answers as look_up does: exact > the nearest of the problem's bucket > nearest by shape, on the device's backend
  /// and architecture alone. Without rules an exact problem is found in constant time, the nearest in about the
  /// logarithm of how many problems there are; but the first answer that is measured for some problem costs what
  /// ranking that problem's configurations costs. Where an obstacle turns the first away, all without one are ranked
  /// anew. obstacle as in look_up below, but on this thread; the bucket is the options'. Throws RecordsChanged where
  /// the rules ask for differences.
  Found find(const Bindings& problem, const device::DeviceInfo& device) const;
  Found find(const Bindings& problem, const device::DeviceInfo& device, const record::LookupRules& rules) const;
  /// One sentence of what was chosen and why, for people.
  std::string explain(const Found& found, const Bindings& problem, const device::DeviceInfo& device) const;

  /// What look_up answers of all these records, with its reasons; needs Options::all. The criterion is the options'
  /// statistic. obstacle gets a record of which nothing but the configuration is set.
  record::LookupResult look_up(const Bindings& problem, const device::DeviceInfo& device,
                               const record::LookupRules& rules) const;
  /// The rows of this very problem on this kind of device, without those that have an obstacle (as in LookupRules), in
  /// the order of files and lines.
  ConfigOrder members(const Bindings& problem, const device::DeviceInfo& device,
                      const std::function<std::string(const record::Record&)>& obstacle) const;
  /// Of all records, nearly always each once.
  const std::vector<NamedProblem>& problems() const noexcept;
  /// visit(const StoredConfig&) each row, in the order of files and lines.
  template <class Visit>
  void each_row(const Visit& visit) const {
    for (const auto& piece : rows()) std::for_each(piece.begin(), piece.end(), visit);
  }
  /// The rows of a group, in the same order.
  std::span<const StoredConfig* const> members(const Group& group) const;

  /// All measurements that count of a configuration (its bindings_text), of any problem and device, where one of them
  /// may have failed when it ran (failed_when_run, which knows the stage); else none. The first call goes over all
  /// rows.
  const ConfigOrder& suspect(std::string_view config) const;

  const Bindings& problem_of(const StoredConfig& config) const;
  const device::DeviceInfo& device_of(const StoredConfig& config) const;
  Bindings config_of(const StoredConfig& config) const;
  /// The whole record, from its file. Throws RecordsChanged.
  record::Record record_of(const StoredConfig& config) const;

  std::uint64_t records() const noexcept;        ///< all that were read, also those that never answer
  std::int64_t newest_unix_ms() const noexcept;  ///< of the same
  std::uint64_t unreadable() const noexcept;     ///< files that could not be read; warnings() says why
  const std::vector<std::string>& warnings() const noexcept;
  /// The warnings that stand for a file that was not read, or not to its end.
  const std::vector<std::string>& unread() const noexcept;

 private:
  const std::vector<std::vector<StoredConfig>>& rows() const noexcept;
  struct Place;
  bool answer(const Place& place, const record::LookupRules& rules, Found& found) const;
  struct State;
  explicit StoreView(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace xtune::store
