// xtune store ls, verify, gc: the contents of a store, whether they are valid, and what can be removed.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "cli/store_commands.hpp"
#include "cli/terminal.hpp"
#include "core/store/gc.hpp"
#include "core/store/summary.hpp"
#include "core/store/verify.hpp"
#include "report/table.hpp"

namespace xtune::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string date_of(std::int64_t unix_ms) {
  if (unix_ms <= 0) return "-";
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)));
}

int list(const StoreOptions& options) {
  const store::StoreSummary summary = store::summary_of(options.path());
  tell_warnings(summary.warnings);
  if (options.json()) {
    Json json{{"store", options.path().string()}, {"kernels", Json::array()}};
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
  print_out("{}\n", base::printable(options.path().string()));
  report::FittedTable table;
  table.header = {"arch", "kernel", "records", "problems", "newest", "size"};
  table.texts = {{"measured on", {}}};
  for (const store::StorePart& part : summary.parts) {
    table.rows.push_back({base::printable(part.arch, 60), base::printable(part.kernel, 80),
                          std::to_string(part.records), std::to_string(part.answers), date_of(part.newest_unix_ms),
                          base::human_bytes(part.bytes)});
    table.texts.front().cells.push_back(base::printable(fmt::format("{}", fmt::join(part.devices, ", ")), 200));
  }
  if (!table.rows.empty()) print_out("{}", report::render_fitted(table, terminal_width(STDOUT_FILENO)));
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

int verify(const StoreOptions& options, bool repair) {
  const store::VerifyReport report = store::verify_store(options.path(), repair);
  if (options.json()) {
    Json json{{"store", options.path().string()},
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
    print_out(
        "{}: {} in {}, {}: {}\n", base::printable(options.path().string()), counted(report.records, "sound record"),
        counted(report.record_files, "file"), counted(report.artifacts, "artifact"),
        report.damage.empty() ? "nothing damaged"
        : report.sound()      ? fmt::format("{} moved aside", counted(report.damage.size(), "damaged piece"))
        : repair ? fmt::format("{}, of which {} could not be repaired", counted(report.damage.size(), "damaged piece"),
                               std::count_if(report.damage.begin(), report.damage.end(),
                                             [](const store::StoreDamage& one) { return !one.repaired; }))
                 : counted(report.damage.size(), "damaged piece") + repair_hint(report));
  }
  return report.sound() ? done : own_failure;
}

struct GcFlags {
  StoreOptions common;
  std::string older_than, max_size;
  bool records = false, dry_run = false;
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

int collect(const GcFlags& flags) {
  store::GcOptions options;
  if (!flags.older_than.empty()) options.older_than_ms = duration_ms("--older-than", flags.older_than);
  if (!flags.max_size.empty()) options.max_bytes = byte_count("--max-size", flags.max_size);
  options.records = flags.records;
  options.dry_run = flags.dry_run;
  const store::GcReport report =
      store::collect_garbage(flags.common.path(), options, base::system_clock().unix_time_ms());
  tell_warnings(report.warnings);
  if (flags.common.json()) {
    Json json{{"store", flags.common.path().string()}, {"dry_run", flags.dry_run}, {"removed", Json::array()}};
    for (const store::GcReport::Removed& removed : report.removed)
      json["removed"].push_back({{"path", removed.path.string()}, {"bytes", removed.bytes}, {"why", removed.why}});
    json["bytes"] = report.bytes;
    json["kept_bytes"] = report.kept_bytes;
    json["record_bytes"] = report.record_bytes;
    json["excess_bytes"] = report.excess_bytes;
    json["failed"] = report.failed;
    print_json(json);
  }
  if (flags.dry_run && !flags.common.json())
    for (const store::GcReport::Removed& removed : report.removed)
      print_out("{} ({}): {}\n", base::printable(removed.path.string()), base::human_bytes(removed.bytes), removed.why);
  if (!flags.common.json())
    print_out("{}: {} {}, {}; artifacts that stay: {}\n", base::printable(flags.common.path().string()),
              flags.dry_run ? "would remove" : "removed", counted(report.removed.size(), "file"),
              base::human_bytes(report.bytes), base::human_bytes(report.kept_bytes));
  return tell_missed_size(options, report) || report.failed > 0 || report.nothing_read ? own_failure : done;
}

}  // namespace

void add_store_ls(CLI::App& store, Context& context) {
  CLI::App* command = store.add_subcommand("ls", "List kernels and architectures, with the numbers of their records");
  add_example(*command, "xtune store ls --store /shared/store");
  static StoreOptions options;
  add_store_options(*command, options);
  command->callback([&context] { context.exit_code = list(options); });
}

void add_store_verify(CLI::App& store, Context& context) {
  CLI::App* command = store.add_subcommand(
      "verify", "Check every record and the hash of every artifact; exit with 1 if one is damaged");
  add_example(*command, "xtune store verify --repair");
  static StoreOptions options;
  static bool repair = false;
  add_store_options(*command, options);
  command
      ->add_flag("--repair", repair,
                 "Move damaged lines and artifacts into files beside their own that end in .damaged")
      ->group(option_group::store);
  command->callback([&context] { context.exit_code = verify(options, repair); });
}

void add_store_gc(CLI::App& store, Context& context) {
  CLI::App* command = store.add_subcommand(
      "gc", "Remove artifacts that no record names; with options also old artifacts, and old records");
  add_example(*command, "xtune store gc --older-than 30d --max-size 10G --dry-run");
  static GcFlags flags;
  add_store_options(*command, flags.common);
  command->add_option("--older-than", flags.older_than, "Remove artifacts that are older, such as 30d")
      ->type_name("AGE")
      ->group(option_group::store);
  command
      ->add_option("--max-size", flags.max_size,
                   "Remove artifacts until the others fit this size, such as 10G: the oldest first, those of the best "
                   "configurations last")
      ->type_name("SIZE")
      ->group(option_group::store);
  command
      ->add_flag("--records", flags.records, "Remove record files that are --older-than, too: their results are lost")
      ->group(option_group::store);
  command->add_flag("--dry-run", flags.dry_run, "List what would be removed, and remove nothing")
      ->group(option_group::output);
  command->callback([&context] { context.exit_code = collect(flags); });
}

}  // namespace xtune::cli
