// xtune diff: two stores, results, devices or versions compared.
#include <fmt/ranges.h>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "cli/store_commands.hpp"
#include "core/store/export.hpp"
#include "core/store/record_log.hpp"
#include "report/text/comparison_text.hpp"
#include "system/files.hpp"

namespace xtune::cli {
namespace {

namespace fs = std::filesystem;

struct DiffOptions : CommonOptions {
  std::string before, after, devices;
  std::vector<std::string> kernels;
  std::string noise = "5%", fail_if_slower;
  std::size_t rows = 5;
};

/// Keeps the records that groups point into.
struct Side {
  std::vector<store::Record> records;
  std::vector<store::ComparedGroup> groups;
};

std::vector<store::Record> records_of_store(const std::string& path, const store::WinnerFilter& filter) {
  std::vector<std::string> warnings;
  std::vector<store::Record> records;
  store::Measurements(path, filter, warnings).each([&](store::Record record, double) {
    records.push_back(std::move(record));
  });
  tell_warnings(warnings);
  return records;
}

std::vector<store::Record> records_of_file(const std::string& path, const store::WinnerFilter& filter) {
  const std::string text = read_given([&] { return system::read_file_gunzipped(path); });
  const nlohmann::json json = base::read_json(text);
  std::vector<store::Record> records;
  if (!json.is_discarded() && !(json.is_object() && json.contains("xtune_records"))) {
    records = store::records_of_result(json, path);
  } else {
    store::RecordSet set = store::parse_records(base::printable(path), text);
    if (set.records.empty() && json.is_discarded())
      throw bad_argument(
          "{}: it has no results (found neither JSON nor a line of a record). Name the directory of a store, a record "
          "file (.jsonl), or a file with what `xtune run --format json` printed; a store's results of one kernel are "
          "`xtune diff STORE --kernel NAME`",
          base::printable(path));
    tell_warnings(set.warnings);
    records = std::move(set.records);
  }
  std::erase_if(records, [&](const store::Record& record) {
    return !is_chosen(filter.kernels, record.kernel) || !is_chosen(filter.archs, record.device.arch) ||
           !filter.takes(record.problem);
  });
  return records;
}

Side side_of(const std::string& path, const store::WinnerFilter& filter) {
  std::error_code ignored;
  const bool is_store = fs::is_directory(path, ignored);
  Side side;
  side.records = is_store ? records_of_store(path, filter) : records_of_file(path, filter);
  if (side.records.empty())
    throw Error(ErrorKind::nothing_valid, base::printable(path) + ": it has no records of what is asked for");
  side.groups = store::compared_groups(side.records, is_store ? fs::path(path) : fs::path());
  return side;
}

/// Of each group the version that was measured last.
std::vector<store::ComparedGroup> newest(const std::vector<store::ComparedGroup>& groups) {
  std::vector<store::ComparedGroup> list;
  for (const store::ComparedGroup& group : groups) list.push_back(store::versions_of(group).back());
  return list;
}

store::Comparisons compare_versions(const Side& side, double noise) {
  store::Comparisons all;
  for (const store::ComparedGroup& group : side.groups) {
    std::vector<store::ComparedGroup> versions = store::versions_of(group);
    if (versions.size() > 1)
      all.cases.push_back(store::compare(versions[versions.size() - 2], versions.back(), noise));
    else
      all.only_after.push_back(versions.back());
  }
  if (all.cases.empty())
    throw Error(ErrorKind::nothing_valid,
                "every problem was measured with one version of source, compiler and driver; name a second store or "
                "result to compare with, or two devices with --devices");
  return all;
}

/// Groups of the device whose name, architecture or backend has this text in it.
std::vector<store::ComparedGroup> of_device(const Side& side, const std::string& word) {
  std::vector<store::ComparedGroup> list;
  std::vector<std::string> known;
  for (const store::ComparedGroup& group : newest(side.groups)) {
    const std::string device = fmt::format("{} {} {}", group.device.name, group.device.arch, group.device.backend);
    base::add_once(known, fmt::format("{} ({})", group.device.name, group.device.arch));
    if (base::lower_case(device).find(base::lower_case(word)) != std::string::npos) list.push_back(group);
  }
  if (list.empty())
    throw bad_argument("--devices: no record is of a device '{}'; there are {}", base::printable(word, 80),
                       fmt::join(known, ", "));
  return list;
}

store::Comparisons compare_devices(const Side& side, const std::string& devices, double noise) {
  const std::vector<std::string> words = base::split(devices, ',');
  if (words.size() != 2 || words[0].empty() || words[1].empty())
    throw bad_argument("--devices '{}': write parts of two devices' names or architectures: H100,H200",
                       base::printable(devices, 80));
  return store::compare_all(of_device(side, words[0]), of_device(side, words[1]), noise);
}

/// Whether an answer became slower than allowed, or was lost.
bool is_worse(const store::CaseComparison& pair, double share) {
  if (pair.ratio.change == store::Change::lost) return true;
  return pair.ratio.change == store::Change::slower && pair.ratio.value > 1 + share;
}

int print(const store::Comparisons& comparisons, const DiffOptions& options) {
  const double share = options.fail_if_slower.empty() ? 0 : share_of("--fail-if-slower", options.fail_if_slower);
  const auto worse = std::count_if(comparisons.cases.begin(), comparisons.cases.end(),
                                   [&](const auto& pair) { return is_worse(pair, share); }) +
                     std::count_if(comparisons.only_before.begin(), comparisons.only_before.end(), store::has_answer);
  const bool fails = !options.fail_if_slower.empty() && worse > 0;
  if (options.csv()) {
    print_csv(report::comparison_rows(comparisons));
  } else if (options.json()) {
    Json json = report::comparison_json(comparisons, options.rows);
    json["noise"] = share_of("--noise", options.noise);
    json["failed"] = fails;
    print_json(json);
  } else {
    print_out("{}", report::comparison_text(comparisons, options.rows));
  }
  if (fails)
    tell("{} slower by more than {}, or lost (--fail-if-slower)\n",
         counted(static_cast<std::uint64_t>(worse), "answer"), options.fail_if_slower);
  return fails ? regressed : done;
}

int diff(const DiffOptions& options) {
  const double noise = share_of("--noise", options.noise);
  if (!options.fail_if_slower.empty()) share_of("--fail-if-slower", options.fail_if_slower);
  if (!options.devices.empty() && !options.after.empty())
    throw bad_argument("--devices compares two devices of one store: remove the second path");
  const store::WinnerFilter filter = winner_filter(options, options.kernels);
  const Side before = side_of(options.before, filter);
  if (options.after.empty())
    return print(
        options.devices.empty() ? compare_versions(before, noise) : compare_devices(before, options.devices, noise),
        options);
  const Side after = side_of(options.after, filter);
  const store::Comparisons comparisons = store::compare_all(newest(before.groups), newest(after.groups), noise);
  if (comparisons.cases.empty())
    throw Error(ErrorKind::nothing_valid,
                "the two have no problem of a kernel in common; `xtune store ls` lists what "
                "a store has");
  return print(comparisons, options);
}

}  // namespace

void add_diff_command(CLI::App& app, Context& context) {
  const auto [command, options] = add_command<DiffOptions>(
      app, context, "diff", "Compare two stores, results, devices or versions: faster, slower, why",
      "xtune diff baseline.json now.json --fail-if-slower 5%\n  xtune diff ~/.cache/xtune --devices H100,H200", diff);
  add_argument(command, "before", options.before, "STORE|FILE",
               "The directory of a store, a record file (.jsonl), or what `run --format json` printed");
  add_argument(command, "after", options.after, "STORE|FILE",
               "What to compare with it; without it, the last two versions of source and compiler in the first")
      ->required(false);
  const OptionGroup device(command, option_group::device), problem(command, option_group::problem),
      search(command, option_group::search), output(command, option_group::output);
  device.value("--devices", options.devices, "A,B",
               "Compare two devices of one store by parts of their names: H100,H200");
  device.value("--arch", options.arch, "ARCH", "Compare only records of this architecture");
  problem.list("--kernel", options.kernels, "NAME", "Compare only this kernel");
  problem.list("-D", options.defines, "NAME=VALUE", "Compare only problems of this size");
  search.value("--noise", options.noise, "SHARE", "Count a difference up to this share as noise: 5% or 0.05");
  search.value("--fail-if-slower", options.fail_if_slower, "SHARE",
               "Exit with code 5 if an answer is lost, or slower by more than this share and beyond the noise");
  output.number("--rows", options.rows, 0, "List this many configurations of each problem");
  add_format_option(command, options.format, "Print text, or only JSON or CSV on standard output", true);
}

}  // namespace xtune::cli
