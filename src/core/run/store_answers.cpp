// Reads a run's part of the store, and decides which of its records can be used.
#include "core/run/store_answers.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/causes.hpp"
#include "base/text.hpp"
#include "core/measure/noise_guard.hpp"
#include "core/record/best.hpp"
#include "core/record/future_records.hpp"
#include "core/run/search_setup.hpp"
#include "core/run/stored_rows.hpp"
#include "core/run/time_limits.hpp"
#include "core/space/bindings_text.hpp"

namespace xtune::run {

StoreAnswers::StoreAnswers(const RunContext& run, RecordKeeper& keeper)
    : run_(run),
      records_(run.options.records ? *run.options.records
                                   : own_records_.emplace(run.options.store, run.target.device.arch,
                                                          run.spec.kernel.name, run.spec.measure.statistic)),
      busy_(run.options.busy) {
  std::vector<Row> rows = read(keeper);
  if (run.options.fresh && run.options.peers) rows.clear();
  stored_ = StoredResults(std::move(rows));
}

/// The rows of this problem on this kind of device.
std::vector<StoreAnswers::Row> StoreAnswers::read(RecordKeeper& keeper) {
  if (!run_.measures()) return {};
  records_.refresh();
  std::vector<Row> rows = records_.rows_of(run_.problem, run_.target.device);
  base::Causes causes;
  for (const std::string& warning : records_.warnings()) causes.add(warning);
  for (const base::Cause& cause : causes.all()) run_.observer.on_warning(cause.text());
  for (const Row& row : rows) keeper.learn(row.config->key, row.config->unix_time_ms);
  record::FutureRecords future(run_.clock.unix_time_ms());
  Row newest;
  const auto look_at = [&](const Row& row) {
    if (future.look_at(row.config->unix_time_ms, row.view->device_of(*row.config).backend)) newest = row;
  };
  if (learns_from_store(run_))
    records_.each_row(look_at);
  else
    std::for_each(rows.begin(), rows.end(), look_at);
  if (newest.config)
    if (const auto record = read_row(newest, run_.observer)) future.newest_of(record->host);
  if (const std::string text = future.text(); !text.empty())
    run_.observer.on_warning(text + ": a clock was wrong then, or is now; what this run measures counts as newer");
  // All peers must learn from the same records, whenever each of them begins; later records are news.
  std::erase_if(rows, [&](const Row& row) { return run_.of_today(row.config->unix_time_ms); });
  return rows;
}

/// Whether compilers get the same of both: 1, "1" and true are one definition.
bool StoreAnswers::means_the_same(const Bindings& a, const Bindings& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& one, const auto& other) {
    return one.first == other.first && space::to_define(one.second) == space::to_define(other.second);
  });
}

bool StoreAnswers::lacks_a_goal(const record::Record& record) const {
  if (run_.spec.validate.repeatable == spec::Repeatable::ignore) return false;
  const std::vector<double> goals = run_.objective.values(record);
  return std::any_of(goals.begin(), goals.end(), [](double goal) { return std::isnan(goal); });
}

std::optional<StoreAnswers::Answer> StoreAnswers::take(const store::KeyDigest& key, std::uint64_t index) {
  const StoredResults::Answer found = stored_.find(key);
  if (!found) return std::nullopt;
  const Bindings asked = run_.space.named(run_.space.at(index));
  const Bindings stored = found.record ? found.record->config : store::config_bindings(*found.row.config);
  const bool same = stored == asked;
  if (!same && !means_the_same(stored, asked)) {
    run_.observer.on_warning("a stored record names the configuration " +
                             base::printable(space::bindings_text(stored), 200) +
                             ", and its key is of another one: it is damaged and is ignored");
    return std::nullopt;
  }
  const bool of_today = run_.of_today(found.unix_time_ms);
  const Outcome outcome = found.outcome;
  if (run_.options.fresh && !of_today) return std::nullopt;
  if (run_.options.retry_failed && !of_today && (outcome == Outcome::crashed || outcome == Outcome::timed_out))
    return std::nullopt;
  if (outcome == Outcome::pruned && !run_.races()) return std::nullopt;
  if (!of_today && measure_again(found)) {
    stored_.take(key);  // neither is it a rival in the finals
    return std::nullopt;
  }
  Answer answer;
  answer.of_today = of_today;
  if (found.record)
    answer.whole = *found.record;
  else if (run_.reads_all() || run_.observer.wants_stored() || outcome == Outcome::timed_out || !same)
    answer.whole = read_row(found.row, run_.observer);
  // Only the whole record has the limit under which it timed out.
  if (outcome == Outcome::timed_out && !of_today && !(answer.whole && answers_under_limits(*answer.whole, run_.spec)))
    return std::nullopt;
  // A goal needs to know now whether launches repeat their bits; the record is from a run that did not compare them.
  if (outcome == Outcome::ok && answer.whole && !answer.whole->repeatable && lacks_a_goal(*answer.whole))
    return std::nullopt;
  if (answer.whole) answer.whole->config = asked;
  if (!found.record && !run_.reads_all() && same) answer.row = found.row;
  stored_.take(key);
  if (!answer.whole && !answer.row.config) return std::nullopt;
  return answer;
}

/// Whether it was measured while the machine or the device was disturbed, which it may not be now.
bool StoreAnswers::measure_again(const StoredResults::Answer& found) {
  const bool tainted = found.record ? !found.record->tainted.empty() : found.row.config->tainted;
  if (!tainted || run_.options.peers || (found.outcome != Outcome::ok && found.outcome != Outcome::pruned))
    return false;
  const auto whole = found.record ? std::optional(*found.record) : read_row(found.row, run_.observer);
  if (!whole || std::none_of(whole->tainted.begin(), whole->tainted.end(), measure::may_pass)) return false;
  tainted_ += busy_;
  return !busy_;
}

void StoreAnswers::tainted_now(const std::vector<std::string>& taints) {
  if (run_.target.backend.name == "replay") return;
  const auto passing = std::find_if(taints.begin(), taints.end(), measure::may_pass);
  if (passing == taints.end()) return;
  busy_ = true;
  if (std::exchange(warned_, true)) return;
  run_.observer.on_warning("a measurement was disturbed (" + passing->substr(0, passing->find(": ")) +
                           "); such results are marked as tainted, and a later run measures them again");
}

void StoreAnswers::finish() {
  if (tainted_ > 0)
    run_.observer.on_warning(fmt::format(
        "{} stored result{} disturbed when measured, and {} because the machine is busy now, too; a later run measures "
        "again",
        tainted_, tainted_ == 1 ? " was" : "s were", tainted_ == 1 ? "answers" : "answer"));
}

std::optional<record::Record> StoreAnswers::take_full(const store::KeyDigest& key) {
  const record::Record* const found = stored_.find(key).record;
  if (!found || found->outcome == Outcome::pruned) return std::nullopt;
  record::Record record = *found;
  stored_.take(key);
  return record;
}

/// Whether the configuration has this key today.
bool StoreAnswers::asked_today(const Bindings& config, const store::KeyDigest& key) const {
  const auto index = run_.space.index_of(config);
  return index && run_.key_at(*index) == key;
}

/// Reads the whole records among which the rivals are.
std::vector<const record::Record*> StoreAnswers::read_rivals(double reach) {
  std::vector<const record::Record*> others = stored_.ok_records(run_.target.device);
  std::vector<Row> rows = stored_.ok_rows(run_.target.device);
  rivals_.clear();
  const auto read_rival = [&](const Row& row) {
    auto whole = read_row(row, run_.observer);
    if (whole) others.push_back(&rivals_.emplace_back(std::move(*whole)));
  };
  if (run_.criterion.score) {
    std::for_each(rows.begin(), rows.end(), read_rival);
    return others;
  }
  // Computing a key takes time, so it is done only for rows that may be among the best.
  const auto after = [](const Row& a, const Row& b) { return ranks_before(b, a); };
  std::make_heap(rows.begin(), rows.end(), after);
  for (std::size_t taken = 0; taken < run_.max_finalists() && !rows.empty(); rows.pop_back()) {
    std::pop_heap(rows.begin(), rows.end(), after);
    const Row& row = rows.back();
    if (interval_begin(row) > reach) break;
    if (!std::isfinite(row.config->time_ms) || !asked_today(store::config_bindings(*row.config), row.config->key))
      continue;
    read_rival(row);
    ++taken;
  }
  return others;
}

std::vector<const record::Record*> StoreAnswers::rivals(double reach) {
  std::vector<const record::Record*> chosen;
  for (const record::Record* record : record::ranked(read_rivals(reach), run_.criterion)) {
    if (chosen.size() == run_.max_finalists() || run_.criterion.interval(*record).first > reach) break;
    if (asked_today(record->config, store::KeyDigest(record->key))) chosen.push_back(record);
  }
  return chosen;
}

std::vector<record::Record> StoreAnswers::finals_of_keys(const std::vector<std::string>& keys, record::Tainted tainted,
                                                         std::int64_t since_unix_ms) const {
  if (run_.options.fresh && !run_.options.peers) return {};
  std::vector<const record::Record*> stored;
  for (const record::Record& record : stored_.finals())
    if (record.unix_time_ms >= since_unix_ms && run_.criterion.decided_by(record)) stored.push_back(&record);
  const std::vector<std::string> ids = record::finals_of(stored, keys, tainted);
  std::vector<record::Record> records;
  if (ids.empty()) return records;
  for (const record::Record& record : stored_.finals())
    if (record.finals == ids.front()) records.push_back(record);
  return records;
}

}  // namespace xtune::run
