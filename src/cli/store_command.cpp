// xtune store: inspect and maintain a store. ls, verify, gc: its contents, whether they are valid, and what can be
// removed; rm: all of a kernel. merge, bundle: into another store, into one file. push, pull: copies elsewhere, through
// rsync or rclone.
#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <charconv>

#include "base/text.hpp"
#include "cli/store_commands.hpp"
#include "core/store/bundle.hpp"
#include "core/store/transfer.hpp"
#include "core/store/upkeep.hpp"
#include "dispatch/spec_files.hpp"
#include "system/clock.hpp"

namespace xtune::cli {
namespace {

// The number at the start of a text, multiplied by the unit of its last character.
std::uint64_t scaled(const std::string& option, const std::string& text, const std::string& units,
                     const std::vector<std::uint64_t>& factors, const std::string& expected) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  const std::size_t which = unit.size() == 1 ? units.find(unit) : unit.empty() ? units.find(' ') : std::string::npos;
  if (error != std::errc() || which == std::string::npos || number > INT64_MAX / factors[which])
    throw bad_argument("{} '{}': write {}", option, base::printable(text, 80), expected);
  return number * factors[which];
}

/// "30d", "12h", "90m", "45s" in milliseconds. Throws Error(invalid_argument) that names the option.
std::int64_t duration_ms(const std::string& option, const std::string& text) {
  return static_cast<std::int64_t>(
      scaled(option, text, "smhd", {1'000, 60'000, 3'600'000, 86'400'000}, "a number and s, m, h or d, such as 30d"));
}

/// "10G", "512M", "4K", "100" in bytes, by 1024. Throws Error(invalid_argument) that names the option.
std::uint64_t byte_count(const std::string& option, const std::string& text) {
  return scaled(option, text, " KMGT", {1, 1u << 10, 1u << 20, 1u << 30, std::uint64_t{1} << 40},
                "a number of bytes, or one with K, M, G or T, such as 10G");
}

/// Prints a merge's warnings and notes to standard error.
void tell_merge(const store::MergeReport& report) {
  tell_warnings(report.warnings);
  for (const std::string& note : report.notes) tell("note: {}\n", note);
}

std::string date_of(std::int64_t unix_ms) {
  if (unix_ms <= 0) return "-";
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)));
}

int list(const CommonOptions& options) {
  const store::StoreSummary summary = store::summary_of(options.store_path());
  tell_warnings(summary.warnings);
  if (options.json()) {
    Json json{{"store", options.store_path().string()}, {"kernels", Json::array()}};
    for (const store::StorePart& part : summary.parts)
      json["kernels"].push_back({{"arch", part.arch},
                                 {"kernel", part.kernel},
                                 {"records", part.records},
                                 {"answers", part.answers},
                                 {"devices", part.devices},
                                 {"newest_unix_ms", part.newest_unix_ms},
                                 {"files", part.files},
                                 {"bytes", part.bytes}});
    json["artifacts"] = {{"count", summary.artifacts}, {"bytes", summary.artifact_bytes}};
    json["unreadable"] = summary.unreadable;
    print_json(json);
    return summary.nothing_read() ? own_failure : done;
  }
  print_out("{}\n", base::printable(options.store_path().string()));
  report::FittedTable table{{{"arch"},
                             {"kernel"},
                             {"records"},
                             {"problems"},
                             {"newest"},
                             {"size"},
                             {"measured on", report::FittedTable::Kind::text}}};
  for (const store::StorePart& part : summary.parts)
    table.rows.push_back({base::printable(part.arch, 60), base::printable(part.kernel, 80),
                          std::to_string(part.records), std::to_string(part.answers), date_of(part.newest_unix_ms),
                          base::human_bytes(part.bytes),
                          base::printable(fmt::format("{}", fmt::join(part.devices, ", ")), 200)});
  if (!table.rows.empty()) print_table(table);
  if (summary.parts.empty()) print_out("no records{}\n", summary.unreadable ? " that can be read" : "");
  print_out("{}, {} with {}\n", counted(summary.artifacts, "artifact"), base::human_bytes(summary.artifact_bytes),
            summary.artifacts == 1 ? "its source" : "their sources");
  return summary.nothing_read() ? own_failure : done;
}

std::string repair_hint(const store::VerifyReport& report) {
  const auto movable = static_cast<std::size_t>(std::count_if(
      report.damage.begin(), report.damage.end(), [](const store::StoreDamage& one) { return one.movable; }));
  if (movable == 0) return "; --repair cannot move any of it aside: check the files yourself";
  if (movable < report.damage.size()) return fmt::format("; --repair can move {} of them aside", movable);
  return "; --repair moves them aside";
}

struct VerifyFlags : CommonOptions {
  bool repair = false;
};

int verify(const VerifyFlags& options) {
  const store::VerifyReport report = store::verify_store(options.store_path(), options.repair);
  if (options.json()) {
    Json json{{"store", options.store_path().string()},
              {"sound", report.sound()},
              {"record_files", report.record_files},
              {"records", report.records},
              {"artifacts", report.artifacts},
              {"damage", Json::array()},
              {"notes", report.notes},
              {"not_repaired", report.not_repaired}};
    for (const store::StoreDamage& damage : report.damage)
      json["damage"].push_back({{"where", damage.where}, {"what", damage.what}, {"repaired", damage.repaired}});
    print_json(json);
  } else {
    for (const store::StoreDamage& damage : report.damage)
      print_out("{}: {}{}\n", damage.where, damage.what, damage.repaired ? " (moved aside)" : "");
    for (const std::string& note : report.notes) print_out("note: {}\n", note);
    tell_warnings(report.not_repaired);
    print_out("{}: {} in {}, {}: {}\n", base::printable(options.store_path().string()),
              counted(report.records, "sound record"), counted(report.record_files, "file"),
              counted(report.artifacts, "artifact"),
              report.damage.empty() ? "nothing damaged"
              : report.sound()      ? fmt::format("{} moved aside", counted(report.damage.size(), "damaged piece"))
              : options.repair
                  ? fmt::format("{}, of which {} could not be repaired", counted(report.damage.size(), "damaged piece"),
                                std::count_if(report.damage.begin(), report.damage.end(),
                                              [](const store::StoreDamage& one) { return !one.repaired; }))
                  : counted(report.damage.size(), "damaged piece") + repair_hint(report));
  }
  return report.sound() ? done : own_failure;
}

struct GcFlags : CommonOptions {
  std::string older_than, max_size;
  store::GcOptions what;
};

// Returns whether artifacts remain above --max-size; also prints the size of records, which that does not count.
bool tell_missed_size(const store::GcOptions& options, const store::GcReport& report) {
  if (!options.max_bytes) return false;
  if (report.excess_bytes > 0)
    tell(
        "warning: the artifacts that stay are {} beyond --max-size: they could not be removed, or are just being "
        "written; run it again where and when they can be\n",
        base::human_bytes(report.excess_bytes));
  if (const std::uint64_t all = report.kept_bytes + report.record_bytes;
      all > *options.max_bytes && report.record_bytes)
    tell(
        "note: with its records, {}, the store is {} beyond --max-size, which counts only artifacts; old records go "
        "with --records --older-than 365d, and what they hold with them\n",
        base::human_bytes(report.record_bytes), base::human_bytes(all - *options.max_bytes));
  return report.excess_bytes > 0;
}

void print_removed(const CommonOptions& options, const store::GcReport& report, bool dry_run) {
  if (options.json()) {
    Json json{{"store", options.store_path().string()}, {"dry_run", dry_run}, {"removed", Json::array()}};
    for (const store::GcReport::Removed& removed : report.removed)
      json["removed"].push_back({{"path", removed.path.string()}, {"bytes", removed.bytes}, {"why", removed.why}});
    json["bytes"] = report.bytes;
    json["kept_bytes"] = report.kept_bytes;
    json["record_bytes"] = report.record_bytes;
    json["excess_bytes"] = report.excess_bytes;
    json["failed"] = report.failed;
    return print_json(json);
  }
  if (dry_run)
    for (const store::GcReport::Removed& removed : report.removed)
      print_out("{} ({}): {}\n", base::printable(removed.path.string()), base::human_bytes(removed.bytes), removed.why);
  print_out("{}: {} {}, {}", base::printable(options.store_path().string()), dry_run ? "would remove" : "removed",
            counted(report.removed.size(), "file"), base::human_bytes(report.bytes));
}

int collect(const GcFlags& options) {
  store::GcOptions what = options.what;
  if (!options.older_than.empty()) what.older_than_ms = duration_ms("--older-than", options.older_than);
  if (!options.max_size.empty()) what.max_bytes = byte_count("--max-size", options.max_size);
  const store::GcReport report =
      store::collect_garbage(options.store_path(), what, system::system_clock().unix_time_ms());
  tell_warnings(report.warnings);
  print_removed(options, report, what.dry_run);
  if (!options.json()) print_out("; artifacts that stay: {}\n", base::human_bytes(report.kept_bytes));
  return tell_missed_size(what, report) || report.failed > 0 || report.nothing_read ? own_failure : done;
}

struct RemoveFlags : CommonOptions {
  std::vector<std::string> kernels, archs;
  bool force = false;
};

int remove(const RemoveFlags& options) {
  store::WinnerFilter filter;
  filter.kernels = options.kernels, filter.archs = options.archs;
  const store::GcReport report =
      store::remove_kernels(options.store_path(), filter, !options.force, system::system_clock().unix_time_ms());
  tell_warnings(report.warnings);
  print_removed(options, report, !options.force);
  if (!options.json()) print_out("{}\n", options.force || report.removed.empty() ? "" : "; --force removes them");
  return report.failed > 0 ? own_failure : done;
}

struct MergeFlags : CommonOptions {
  std::vector<std::string> others;
};

int merge(const MergeFlags& options) {
  store::MergeReport all;
  bool nothing_read = false;  // for the records of one of them
  for (const std::string& other : options.others) {
    const store::MergeReport one = store::merge_store(options.store_path(), other);
    all.records += one.records, all.artifacts += one.artifacts;
    all.known_records += one.known_records, all.known_artifacts += one.known_artifacts;
    all.refused += one.refused;
    nothing_read = nothing_read || (one.unread > 0 && one.records + one.known_records == 0);
    all.warnings.insert(all.warnings.end(), one.warnings.begin(), one.warnings.end());
    all.notes.insert(all.notes.end(), one.notes.begin(), one.notes.end());
  }
  tell_merge(all);
  if (options.json())
    print_json(Json{{"store", options.store_path().string()},
                    {"records", all.records},
                    {"known_records", all.known_records},
                    {"artifacts", all.artifacts},
                    {"known_artifacts", all.known_artifacts},
                    {"refused", all.refused},
                    {"left_out", all.warnings},
                    {"notes", all.notes}});
  else
    print_out("{}: added {} and {}; {} and {} were already there\n", base::printable(options.store_path().string()),
              counted(all.records, "record"), counted(all.artifacts, "artifact"), counted(all.known_records, "record"),
              counted(all.known_artifacts, "artifact"));
  return all.refused || nothing_read ? own_failure : done;
}

struct BundleFlags : CommonOptions {
  std::string output;
  store::WinnerFilter filter;
  std::vector<std::string> specs;
};

int bundle(const BundleFlags& options) {
  std::vector<store::BundledSpec> specs;
  for (const std::string& spec : options.specs) specs.push_back(dispatch::pack_spec(spec));
  const store::BundleReport report = store::write_bundle(options.store_path(), options.output, options.filter, specs);
  tell_warnings(report.warnings);
  if (options.json())
    print_json(Json{{"bundle", options.output},
                    {"records", report.records},
                    {"artifacts", report.artifacts},
                    {"bytes", report.bytes},
                    {"left_out", report.warnings}});
  else
    print_out("{}: {}, {}, {}\n", base::printable(options.output), counted(report.records, "record"),
              counted(report.artifacts, "artifact"), base::human_bytes(report.bytes));
  return done;
}

struct TransferFlags : CommonOptions {
  std::string place, via = "auto";
  bool dry_run = false;

  store::Via program() const {
    return via == "rsync" ? store::Via::rsync : via == "rclone" ? store::Via::rclone : store::Via::automatic;
  }
};

void print_files(const TransferFlags& options, const store::TransferReport& report) {
  if (!options.dry_run) return;
  for (const std::string& file : report.files) print_out("{}\n", base::printable(file));
}

std::string files_text(const store::TransferReport& report) {
  return fmt::format("{} ({} of records), {}", counted(report.files.size(), "file"), report.record_files,
                     base::human_bytes(report.bytes));
}

Json transfer_json(const TransferFlags& options, const char* place, const store::TransferReport& report) {
  return Json{{"store", options.store_path().string()},
              {place, options.place},
              {"dry_run", options.dry_run},
              {"files", report.files},
              {"record_files", report.record_files},
              {"bytes", report.bytes}};
}

int push(const TransferFlags& options) {
  const auto remote = store::open_remote(options.place, options.program());
  const store::TransferReport report = store::push_store(options.store_path(), *remote, options.dry_run);
  tell_warnings(report.warnings);
  if (options.json()) {
    Json json = transfer_json(options, "destination", report);
    json["left_out"] = report.warnings;
    print_json(json);
    return done;
  }
  print_files(options, report);
  print_out("{}: {} {}\n", base::printable(options.place), options.dry_run ? "would get" : "got", files_text(report));
  return done;
}

int pull(const TransferFlags& options) {
  const auto remote = store::open_remote(options.place, options.program());
  const store::TransferReport report = store::pull_store(options.store_path(), options.place, *remote, options.dry_run);
  const store::MergeReport& merge = report.merge;
  tell_warnings(report.warnings);
  tell_merge(merge);
  if (options.json()) {
    Json json = transfer_json(options, "source", report);
    json["records"] = merge.records;
    json["artifacts"] = merge.artifacts;
    std::vector<std::string> left_out = report.warnings;
    left_out.insert(left_out.end(), merge.warnings.begin(), merge.warnings.end());
    json["left_out"] = left_out;
    json["notes"] = merge.notes;
    print_json(json);
  } else {
    print_files(options, report);
    print_out("{}: {} {}", base::printable(options.store_path().string()), options.dry_run ? "would fetch" : "fetched",
              files_text(report));
    if (!options.dry_run)
      print_out("; added {} and {}", counted(merge.records, "record"), counted(merge.artifacts, "artifact"));
    print_out("\n");
  }
  return merge.refused > 0 || !merge.warnings.empty() ? own_failure : done;
}

void add_transfer_options(CLI::App& command, TransferFlags& options, const char* name, const std::string& summary) {
  add_argument(command, name, options.place, "PLACE", summary);
  OptionGroup(command, option_group::store)
      .words("--via", options.via, {"auto", "rsync", "rclone"},
             "Copy with this program; auto: rclone if it has a remote of that name, else rsync");
  OptionGroup(command, option_group::output)
      .flag("--dry-run", options.dry_run, "List the files that would be copied, and copy nothing");
  add_store_options(command, options);
}

void add_inspection(CLI::App& store, Context& context) {
  const auto ls = add_command<CommonOptions>(store, context, "ls",
                                             "List kernels and architectures, with the numbers of their records",
                                             "xtune store ls --store /shared/store", list);
  add_store_options(ls.command, ls.options);
  const auto check = add_command<VerifyFlags>(
      store, context, "verify", "Check every record and the hash of every artifact; exit with 1 if one is damaged",
      "xtune store verify --repair", verify);
  add_store_options(check.command, check.options);
  OptionGroup(check.command, option_group::store)
      .flag("--repair", check.options.repair,
            "Move damaged lines and artifacts into files beside their own that end in .damaged");
}

void add_gc(CLI::App& store, Context& context) {
  const auto [command, options] = add_command<GcFlags>(
      store, context, "gc", "Remove artifacts that no record names; with options also old artifacts, and old records",
      "xtune store gc --older-than 30d --max-size 10G --dry-run", collect);
  add_store_options(command, options);
  const OptionGroup group(command, option_group::store);
  group.value("--older-than", options.older_than, "AGE", "Remove artifacts that are older, such as 30d");
  group.value("--max-size", options.max_size, "SIZE",
              "Remove artifacts until the others fit this size, such as 10G: the oldest first, those of the best "
              "configurations last");
  group.flag("--records", options.what.records,
             "Remove record files that are --older-than, too: their results are lost");
  OptionGroup(command, option_group::output)
      .flag("--dry-run", options.what.dry_run, "List what would be removed, and remove nothing");
}

void add_rm(CLI::App& store, Context& context) {
  const auto [command, options] = add_command<RemoveFlags>(
      store, context, "rm",
      "List what would be removed of a kernel: its records, and the artifacts that only they name",
      "xtune store rm gemm\n  xtune store rm gemm --arch sm_90 --force", remove);
  add_argument(command, "kernel", options.kernels, "NAME", "Kernels to remove");
  add_store_options(command, options);
  const OptionGroup group(command, option_group::store);
  group.list("--arch", options.archs, "ARCH", "Take only records of this architecture");
  group.flag("--force", options.force, "Remove it: the results are lost");
}

void add_merge(CLI::App& store, Context& context) {
  const auto [command, options] = add_command<MergeFlags>(
      store, context, "merge", "Add the records and artifacts of other stores and bundles, which stay as they are",
      "xtune store merge node1/store node2/store gemm.xtune --store all", merge);
  add_argument(command, "other", options.others, "FILE", "Stores and bundles to take from");
  add_store_options(command, options);
}

void add_bundle(CLI::App& store, Context& context) {
  const auto [command, options] = add_command<BundleFlags>(
      store, context, "bundle", "Pack the best configurations and their artifacts into one file",
      "xtune store bundle -o gemm.xtune --arch sm_90 --arch gfx90a --kernel gemm --spec gemm.toml", bundle);
  const OptionGroup output(command, option_group::output);
  output.value("-o,--output", options.output, "FILE", "Write this file")->required();
  output.list("--spec", options.specs, "FILE", "Pack a spec with its sources, so that programs need only the bundle")
      ->transform(spec_named);
  add_store_options(command, options);
  add_filter_options(command, options.filter);
}

void add_transfers(CLI::App& store, Context& context) {
  const auto to = add_command<TransferFlags>(
      store, context, "push", "Copy what is new in the store to another place; no file there is replaced or removed",
      "xtune store push login:/shared/xtune\n  xtune store push s3:bucket/xtune --via rclone", push);
  add_transfer_options(to.command, to.options, "destination",
                       "Copy to host:path (by ssh), a directory, or remote:path of rclone");
  const auto from = add_command<TransferFlags>(store, context, "pull",
                                               "Fetch what the store lacks from another place, check it, and add it",
                                               "xtune store pull login:/shared/xtune --dry-run", pull);
  add_transfer_options(from.command, from.options, "source",
                       "Fetch from host:path (by ssh), a directory, or remote:path of rclone");
}

}  // namespace

void add_store_options(CLI::App& command, CommonOptions& options) {
  add_format_option(command, options.format);
  add_store_option(command, options.store);
}

void add_filter_options(CLI::App& command, store::WinnerFilter& filter) {
  const OptionGroup group(command, option_group::store);
  group.list("--arch", filter.archs, "ARCH", "Take only records of this architecture");
  group.list("--kernel", filter.kernels, "NAME", "Take only records of this kernel");
}

store::WinnerFilter winner_filter(const CommonOptions& options, const std::vector<std::string>& kernels) {
  store::WinnerFilter filter;
  if (!options.arch.empty()) filter.archs = {options.arch};
  filter.kernels = kernels;
  for (const auto& [name, value] : options.spec_options("").defines) filter.problem[name] = value;
  return filter;
}

bool is_chosen(const std::vector<std::string>& list, const std::string& word) {
  return list.empty() || std::find(list.begin(), list.end(), word) != list.end();
}

void add_store_command(CLI::App& app, Context& context) {
  CLI::App& command = *app.add_subcommand("store", "List, verify, clean up, merge, copy and export what was measured");
  command.require_subcommand(1);
  add_example(command, "xtune store ls\n  xtune store bundle -o gemm.xtune --arch sm_90 --kernel gemm");
  add_inspection(command, context);
  add_gc(command, context);
  add_rm(command, context);
  add_merge(command, context);
  add_store_export(command, context);
  add_bundle(command, context);
  add_transfers(command, context);
  add_why_command(command, context);
}

}  // namespace xtune::cli
