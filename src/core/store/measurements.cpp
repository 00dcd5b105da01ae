// Reads whole record files.
#include "core/store/measurements.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "base/files.hpp"
#include "base/text.hpp"
#include "core/record/record_log.hpp"
#include "core/space/bindings_text.hpp"
#include "core/store/layout.hpp"
#include "xtune/error.hpp"

namespace xtune::store {
namespace {

bool wanted(const std::vector<std::string>& names, const std::string& component) {
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return record::path_component(name) == component;
         });
}

void require_all(const std::vector<std::string>& names, const std::set<std::string>& found, const char* what,
                 const std::filesystem::path& store) {
  for (const std::string& name : names)
    if (!found.contains(record::path_component(name))) {
      std::vector<std::string> known;
      for (const std::string& component : found)
        known.push_back(record::name_of_component(component).value_or(component));
      throw Error(ErrorKind::invalid_argument, "the store " + base::printable(store.string()) +
                                                   " has no records of the " + what + " '" + base::printable(name, 80) +
                                                   "'" + base::did_you_mean(name, known) +
                                                   "; `xtune store ls` lists what it has");
    }
}

constexpr std::uint64_t any_size = UINT64_MAX;

}  // namespace

void FilteredParts::require_something(const std::filesystem::path& store,
                                      const std::vector<std::string>& warnings) const {
  if (unreadable > 0)
    throw Error(ErrorKind::io, "nothing of the store " + base::printable(store.string()) +
                                   " that is asked for could be read: " + warnings.front());
}

FilteredParts filtered_parts(const std::filesystem::path& store, const WinnerFilter& filter,
                             std::vector<std::string>& warnings) {
  require_store(store);
  const StoreLayout layout = layout_of(store);
  for (const record::Unreadable& one : layout.unreadable) warnings.push_back(one.text());
  FilteredParts found;
  found.unreadable = layout.unreadable_records;
  std::set<std::string> archs, kernels;
  for (const RecordFile& file : layout.records) {
    archs.insert(file.arch);
    kernels.insert(file.kernel);
    if (wanted(filter.archs, file.arch) && wanted(filter.kernels, file.kernel))
      found.parts[{file.kernel, file.arch}].push_back({file.path, 0, UINT64_MAX, base::printable(file.path.string())});
  }
  if (found.parts.empty()) found.require_something(store, warnings);
  require_all(filter.archs, archs, "architecture", store);
  require_all(filter.kernels, kernels, "kernel", store);
  return found;
}

void require_problem(const WinnerFilter& filter, const std::set<std::string>& sizes, bool found) {
  for (const auto& [name, value] : filter.problem)
    if (!sizes.contains(name))
      throw Error(ErrorKind::invalid_argument, "-D " + base::printable(name, 80) + "=" + base::printable(value, 80) +
                                                   ": no stored problem has such a size" +
                                                   base::did_you_mean(name, {sizes.begin(), sizes.end()}));
  if (!filter.problem.empty() && !found)
    throw Error(
        ErrorKind::nothing_valid,
        "the store has no winner of the problem that -D asks for; `xtune store export` without -D lists all of them");
}

std::vector<StoredMeasurements> measurements_of(const std::filesystem::path& store, const WinnerFilter& filter,
                                                std::vector<std::string>& warnings) {
  FilteredParts found = filtered_parts(store, filter, warnings);
  std::vector<StoredMeasurements> all;
  std::set<std::string> sizes;
  std::uint64_t records = 0;
  for (const auto& [part, sources] : found.parts) {
    StoredMeasurements one;
    for (const record::RecordSource& source : sources) {
      record::RecordSet set;
      try {
        set = record::parse_records(source.name, base::read_file(source.path, any_size));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::io) throw;
        warnings.emplace_back(error.what());
        ++found.unreadable;
      }
      warnings.insert(warnings.end(), set.warnings.begin(), set.warnings.end());
      records += set.records.size();
      for (record::Record& record : set.records) {
        for (const auto& [name, value] : record.problem) sizes.insert(name);
        if (filter.takes(record.problem)) one.records.push_back(std::move(record));
      }
    }
    if (one.records.empty()) continue;
    std::stable_sort(one.records.begin(), one.records.end(), record::is_earlier);
    one.kernel = one.records.front().kernel;
    one.arch = one.records.front().device.arch;
    all.push_back(std::move(one));
  }
  if (records == 0) found.require_something(store, warnings);
  require_problem(filter, sizes, !all.empty());
  return all;
}

std::string group_of(const record::Record& record) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", record.kernel, space::bindings_text(record.problem),
                     record.device.backend, record.device.arch, record.device.name, record.device.compute_units);
}

}  // namespace xtune::store
