// Reads a run's part of the store, and decides which of its records can be used.
#include "core/run/stored_results.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/causes.hpp"
#include "base/text.hpp"
#include "core/measure/noise_guard.hpp"
#include "core/run/search_path.hpp"
#include "core/space/value.hpp"
#include "core/store/lookup.hpp"
#include "core/store/record_check.hpp"
#include "xtune/error.hpp"

namespace xtune::run {
namespace {

/// The rank of a result of the race: a full and clean one has the highest, a disturbed one that was dropped the lowest.
int weight_of(Outcome outcome, bool tainted) { return (outcome == Outcome::ok) + !tainted; }

bool is_timed(Outcome outcome) { return outcome == Outcome::ok || outcome == Outcome::pruned; }

// Finals and measurements of the device's drift are not first measurements. Wrong results concern the configuration
// itself, and no earlier record of it outweighs them.
bool answers(const store::StoredConfig& row) {
  return (!row.drift && !row.is_of_finals()) || row.outcome == Outcome::wrong_result;
}

/// Whether compilers get the same of both: 1, "1" and true are one definition.
bool compile_to_the_same(const Bindings& a, const Bindings& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return one.first == other.first && space::to_define(one.second) == space::to_define(other.second);
  });
}

/// Whether a goal has no value because the record does not say whether launches repeat their bits.
bool has_unknown_goal(const RunContext& run, const store::Record& record) {
  if (run.spec.validate.repeatable == spec::Repeatable::ignore) return false;
  const std::vector<double> goals = run.objective.values(record);
  return std::any_of(goals.begin(), goals.end(), [](double goal) { return std::isnan(goal); });
}

/// Whether the configuration has this key in this run.
bool has_key(const RunContext& run, const Bindings& config, const store::KeyDigest& key) {
  const auto index = run.space.index_of(config);
  return index && run.any_key(run.space.at(*index), [&](const store::KeyDigest& own) { return own == key; });
}

}  // namespace

std::optional<store::Record> read_row(Row row, TuneObserver& observer) {
  try {
    return store::read_record(*row);
  } catch (const Error& error) {
    observer.on_warning(error.what());
    return std::nullopt;
  }
}

bool ranks_before(Row a, Row b) {
  const store::StoredConfig &left = *a, &right = *b;
  if (left.tainted != right.tainted) return right.tainted;
  if (left.time_ms != right.time_ms) return left.time_ms < right.time_ms;
  return std::tuple(store::config_text(left), left.key) < std::tuple(store::config_text(right), right.key);
}

double interval_begin(Row row) { return std::min(row->low_ms, row->time_ms); }

store::Record shown_of(Row row) {
  const store::StoredConfig& config = *row;
  store::Record record;
  record.key = config.key.hex();
  record.problem = config.problem();
  record.config = store::config_bindings(config);
  record.outcome = config.outcome;
  measure::Summary& time = record.time_ms;
  time.count = 1;
  time.min = time.q1 = time.mean = time.inlier_mean = time.q3 = time.max = time.high = config.time_ms;
  time.median = config.median_ms, time.low = config.low_ms;
  if (config.tainted) record.tainted = {""};
  record.unix_time_ms = config.unix_time_ms;
  return record;
}

StoredResults::Facts StoredResults::facts_of(const Known& known) {
  if (const store::Record* const record = known.record.get())
    return {record->outcome, !record->tainted.empty(), record->unix_time_ms};
  return {known.row->outcome, known.row->tainted, known.row->unix_time_ms};
}

bool StoredResults::supersedes(const Facts& later, const Facts& earlier) {
  const int weight = weight_of(later.outcome, later.tainted), other = weight_of(earlier.outcome, earlier.tainted);
  if (is_timed(later.outcome) && is_timed(earlier.outcome) && weight != other) return weight > other;
  return earlier.unix_time_ms <= later.unix_time_ms;
}

StoredResults::StoredResults(const RunContext& run, RecordKeeper& keeper)
    : run_(run),
      form_(run.space.parameters()),
      records_(run.options.records ? *run.options.records
                                   : own_records_.emplace(run.options.store, run.target.device.arch,
                                                          run.spec.kernel.name, run.spec.measure.statistic)),
      busy_(run.options.busy) {
  const store::ConfigOrder rows = read(keeper);
  if (run.options.fresh && run.options.peers) return;
  known_.reserve(rows.size());
  numbers_.reserve(rows.size());
  for (Row row : rows) add(row);
}

void StoredResults::add(Row row) {
  if (row->is_of_finals()) {
    try {
      finals_.push_back(store::read_record(*row));
    } catch (const Error&) {  // its file was repaired or removed meanwhile
      return;
    }
  }
  if (!answers(*row)) return;
  put({row->key, row});
}

std::uint32_t& StoredResults::number_of(const store::KeyDigest& key) {
  return numbers_.of(key, known_.size(), [this](std::uint32_t i) { return known_[i].key; });
}

StoredResults::Known* StoredResults::find(const store::KeyDigest& key) {
  const std::uint32_t number = number_of(key);
  return number > 0 && known_[number - 1].is_left() ? &known_[number - 1] : nullptr;
}

void StoredResults::put(Known known) {
  std::uint32_t& number = number_of(known.key);
  if (number == 0) {
    known_.push_back(std::move(known));
    number = static_cast<std::uint32_t>(known_.size());
    ++left_;
    return;
  }
  Known& other = known_[number - 1];
  const bool is_left = other.is_left();
  left_ += !is_left;
  if (!is_left || supersedes(facts_of(known), facts_of(other))) other = std::move(known);
}

/// Neither is it a rival in the finals.
void StoredResults::drop(Known& known) {
  known.record.reset(), known.row = nullptr;
  --left_;
}

void StoredResults::add(store::Record record) {
  if (store::is_stored_shortage(record)) return;
  if (!record.finals.empty()) finals_.push_back(record);
  if (!store::is_first(record) && record.outcome != Outcome::wrong_result) return;
  const store::KeyDigest key(record.key);
  put({key, nullptr, std::make_unique<store::Record>(std::move(record))});
}

std::optional<store::Record> StoredResults::whole(const Known& known) const {
  return known.record ? std::optional(*known.record) : read_row(known.row, run_.observer);
}

/// The rows of this problem on this kind of device.
store::ConfigOrder StoredResults::read(RecordKeeper& keeper) {
  if (!run_.measures()) return {};
  records_.refresh();
  store::ConfigOrder rows = records_.rows_of(run_.problem, run_.target.device);
  base::Causes causes;
  for (const std::string& warning : records_.warnings()) causes.add(warning);
  for (const base::Cause& cause : causes.all()) run_.observer.on_warning(cause.text());
  for (Row row : rows) keeper.learn(row->key, row->unix_time_ms);
  store::FutureRecords future(run_.services.clock.unix_time_ms());
  Row newest = nullptr;
  const auto look_at = [&](Row row) {
    if (future.look_at(row->unix_time_ms, row->device().backend)) newest = row;
  };
  if (learns_from_store(run_))
    records_.each_row(look_at);
  else
    std::for_each(rows.begin(), rows.end(), look_at);
  if (newest)
    if (const auto record = read_row(newest, run_.observer)) future.newest_of(record->host);
  if (const std::string text = future.text(); !text.empty())
    run_.observer.on_warning(text + ": a clock was wrong then, or is now; what this run measures counts as newer");
  // All peers must learn from the same records, whenever each of them begins; later records are news.
  std::erase_if(rows, [&](Row row) { return run_.is_of_job(row->unix_time_ms); });
  return rows;
}

std::optional<StoredResults::Answer> StoredResults::take(const store::KeyDigest& key, const space::Config& config) {
  Known* const place = find(key);
  if (!place) return std::nullopt;
  const Known& found = *place;
  const bool same = found.record ? found.record->config == run_.space.named(config)
                                 : found.row->names() == form_.names() && found.row->values() == form_.encode(config);
  if (!same) {
    const Bindings stored = found.record ? found.record->config : store::config_bindings(*found.row);
    if (!compile_to_the_same(stored, run_.space.named(config))) {
      run_.observer.on_warning("a stored record names the configuration " +
                               base::printable(space::bindings_text(stored), 200) +
                               ", and its key is of another one: it is damaged and is ignored");
      return std::nullopt;
    }
  }
  const auto [outcome, tainted, unix_time_ms] = facts_of(found);
  const bool of_job = run_.is_of_job(unix_time_ms);
  if (run_.options.fresh && !of_job) return std::nullopt;
  if (run_.options.retry_failed && !of_job && (outcome == Outcome::crashed || outcome == Outcome::timed_out))
    return std::nullopt;
  if (outcome == Outcome::pruned && !run_.races()) return std::nullopt;
  if (!of_job && measure_again(found)) {
    drop(*place);
    return std::nullopt;
  }
  Answer answer;
  answer.from_peers = of_job;
  if (found.record || run_.reads_all() || run_.observer.wants_stored() || outcome == Outcome::timed_out || !same)
    answer.whole = whole(found);
  // Only the whole record has the limit under which it timed out.
  if (outcome == Outcome::timed_out && !of_job && !(answer.whole && answers_under_limits(*answer.whole, run_.spec)))
    return std::nullopt;
  // A goal needs to know now whether launches repeat their bits; the record is from a run that did not compare them.
  if (outcome == Outcome::ok && answer.whole && !answer.whole->repeatable && has_unknown_goal(run_, *answer.whole))
    return std::nullopt;
  if (answer.whole) answer.whole->config = run_.space.named(config);
  if (!found.record && !run_.reads_all() && same) answer.row = found.row;
  drop(*place);
  if (!answer.whole && !answer.row) return std::nullopt;
  return answer;
}

/// Whether it was measured while the machine or the device was disturbed, which it may not be now.
bool StoredResults::measure_again(const Known& known) {
  const Facts facts = facts_of(known);
  if (!facts.tainted || run_.options.peers || !is_timed(facts.outcome)) return false;
  const std::optional<store::Record> record = whole(known);
  if (!record || record->tainted.empty()) return false;
  tainted_ += busy_;
  return !busy_;
}

void StoredResults::note_taints(const std::vector<std::string>& taints) {
  if (run_.target.backend.name == "replay") return;
  if (taints.empty()) return;
  busy_ = true;
  if (std::exchange(warned_, true)) return;
  run_.observer.on_warning("a measurement was disturbed (" + taints.front().substr(0, taints.front().find(": ")) +
                           "); such results are marked as tainted, and a later run measures them again");
}

void StoredResults::finish() {
  if (tainted_ > 0)
    run_.observer.on_warning(fmt::format(
        "{} stored result{} disturbed when measured, and {} because the machine is busy now, too; a later run measures "
        "again",
        tainted_, tainted_ == 1 ? " was" : "s were", tainted_ == 1 ? "answers" : "answer"));
}

std::optional<store::Record> StoredResults::take_full(const store::KeyDigest& key) {
  Known* const found = find(key);
  if (!found || !found->record || found->record->outcome == Outcome::pruned) return std::nullopt;
  store::Record record = std::move(*found->record);
  drop(*found);
  return record;
}

std::optional<store::Record> StoredResults::failed_compile(const std::vector<std::string>& artifact_keys) {
  if (run_.options.fresh || !run_.measures()) return std::nullopt;
  if (!failed_) {
    failed_.emplace();
    records_.each_row([this](Row row) {
      if (row->outcome == Outcome::compile_failed) failed_->insert_or_assign(row->artifact_key, row);
    });
  }
  for (const std::string& key : artifact_keys)
    if (const auto found = failed_->find(store::KeyDigest(key)); found != failed_->end())
      if (auto record = read_row(found->second, run_.observer); record && !store::is_stored_shortage(*record))
        return record;
  return std::nullopt;
}

/// Reads the whole records among which the rivals are.
std::vector<const store::Record*> StoredResults::read_rivals(double reach) {
  std::vector<const store::Record*> others;
  store::ConfigOrder rows;
  const device::DeviceInfo& own = run_.target.device;
  for (const Known& known : known_) {
    if (!known.is_left() || facts_of(known).outcome != Outcome::ok) continue;
    if (!known.record && store::same_driver(known.row->device(), own))
      rows.push_back(known.row);
    else if (known.record && store::same_device(known.record->device, own) &&
             store::same_driver(known.record->device, own))
      others.push_back(known.record.get());
  }
  rivals_.clear();
  const auto read_whole = [&](Row row) {
    auto whole = read_row(row, run_.observer);
    if (whole) others.push_back(&rivals_.emplace_back(std::move(*whole)));
  };
  if (run_.criterion.score) {
    std::for_each(rows.begin(), rows.end(), read_whole);
    return others;
  }
  // Computing a key takes time, so it is done only for rows that may be among the best.
  const auto after = [](Row a, Row b) { return ranks_before(b, a); };
  std::make_heap(rows.begin(), rows.end(), after);
  for (std::size_t taken = 0; taken < run_.max_finalists() && !rows.empty(); rows.pop_back()) {
    std::pop_heap(rows.begin(), rows.end(), after);
    const Row row = rows.back();
    if (interval_begin(row) > reach) break;
    if (!std::isfinite(row->time_ms) || !has_key(run_, store::config_bindings(*row), row->key)) continue;
    read_whole(row);
    ++taken;
  }
  return others;
}

std::vector<const store::Record*> StoredResults::rivals(double reach) {
  std::vector<const store::Record*> chosen;
  for (const store::Record* record : store::ranked(read_rivals(reach), run_.criterion)) {
    if (chosen.size() == run_.max_finalists() || run_.criterion.interval(*record).first > reach) break;
    if (has_key(run_, record->config, store::KeyDigest(record->key))) chosen.push_back(record);
  }
  return chosen;
}

/// Whether one of the finalists has met others since these finals, in finals that are as clean: what it found there, at
/// another speed of the device, does not show how they compare. The default meets others all the time.
bool StoredResults::have_parted(const std::vector<const store::Record*>& finals, const std::vector<std::string>& keys,
                                const std::string& id) const {
  const bool clean = std::all_of(finals.begin(), finals.end(), [&](const store::Record* record) {
    return record->finals != id || record->tainted.empty();
  });
  std::map<std::string_view, const store::Record*> newest;
  for (const store::Record* const record : finals) {
    if (std::find(keys.begin(), keys.end(), record->key) == keys.end()) continue;
    if (clean && !record->tainted.empty()) continue;
    if (const auto index = run_.space.index_of(record->config); index && index == run_.suggested.default_index)
      continue;
    const store::Record*& known = newest[record->key];
    if (!known || known->unix_time_ms < record->unix_time_ms) known = record;
  }
  return std::any_of(newest.begin(), newest.end(), [&](const auto& one) { return one.second->finals != id; });
}

std::vector<store::Record> StoredResults::finals_of_keys(const std::vector<std::string>& keys, store::Tainted tainted,
                                                         std::int64_t since_unix_ms) const {
  if (run_.options.fresh && !run_.options.peers) return {};
  std::vector<const store::Record*> stored;
  for (const store::Record& record : finals_)
    if (record.unix_time_ms >= since_unix_ms && run_.criterion.decided_by(record)) stored.push_back(&record);
  const std::vector<std::string> ids = store::finals_of(stored, keys, tainted);
  std::vector<store::Record> records;
  if (ids.empty() || have_parted(stored, keys, ids.front())) return records;
  for (const store::Record& record : finals_)
    if (record.finals == ids.front()) records.push_back(record);
  return records;
}

}  // namespace xtune::run
