// Finds records that are a reason not to use a configuration.
#include "dispatch/selection_query.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "core/record/objection.hpp"
#include "core/record/stored_shortage.hpp"
#include "core/space/bindings_text.hpp"

namespace xtune::dispatch {

namespace {

/// Whether a part of the key comes from an application's data, reference or check, or from the driver: a loaded kernel
/// has none of the former, and a failure with other data or another driver is a failure of the same code.
bool is_same_code(const std::string& difference) {
  return difference.starts_with("driver: ") || difference.starts_with("buffers: ") ||
         difference.starts_with("reference: given ") ||
         (difference.starts_with("check: ") && difference.ends_with(" -> (none)"));
}

}  // namespace

record::LookupRules SelectionQuery::rules() {
  record::LookupRules rules;
  rules.obstacle = [this](const record::Record& record) {
    std::string obstacle = today.obstacle(record);
    if (obstacle.empty() && !objection_to(record.config).empty()) obstacle = "that failed nearer by";
    return obstacle;
  };
  rules.differences = [this](const record::Record& record) { return today.differences(record); };
  rules.radius = spec.dispatch.radius;
  rules.fit_at_best = [this](const device::DeviceInfo& measured) { return record::fit_at_best(measured, device); };
  return rules;
}

const std::string& SelectionQuery::objection_to(const Bindings& config) {
  const auto known = objections_.find(config);
  return known != objections_.end() ? known->second : objections_.emplace(config, find_objection(config)).first->second;
}

std::vector<std::string> SelectionQuery::objections() const {
  std::vector<std::string> all;
  for (const auto& [config, text] : objections_)
    if (!text.empty()) all.push_back(text);
  return all;
}

std::string SelectionQuery::find_objection(const Bindings& config) {
  const std::string text = space::bindings_text(config);
  std::vector<record::PastLaunch> launches;
  std::vector<std::function<record::Record()>> records;
  for (const store::StoreView& view : stores_->views)
    for (const store::StoredConfig* row : view.suspect(text)) {
      const bool passed = row->outcome == Outcome::ok;
      if (!passed && !record::failed_when_run(row->outcome, "")) continue;
      launches.push_back({&view.problem_of(*row), &view.device_of(*row), passed, row->unix_time_ms});
      records.emplace_back([&view, row] { return view.record_of(*row); });
    }
  if (launches.empty()) return {};
  for (const record::Record& record : own_)
    if (record.config == config) {
      launches.push_back({&record.problem, &record.device, true, record.unix_time_ms});
      records.emplace_back([&record] { return record; });
    }
  const auto holds = [&](std::size_t i) {
    const record::Record record = records[i]();
    if (!launches[i].passed &&
        (!record::failed_when_run(record.outcome, record.stage) || record::is_stored_shortage(record)))
      return false;
    if (!today.obstacle(record).empty()) return false;
    const std::vector<std::string> differences = today.differences(record);
    return std::all_of(differences.begin(), differences.end(), is_same_code);
  };
  const std::optional<std::size_t> against = record::objection(launches, problem, device, holds);
  if (!against) return {};
  const record::Record record = records[*against]();
  return fmt::format("{} failed for {} ({}{}{})", space::shown_text(config), space::shown_text(record.problem),
                     to_string(record.outcome), record.message.empty() ? "" : ": ", record.message);
}

}  // namespace xtune::dispatch
