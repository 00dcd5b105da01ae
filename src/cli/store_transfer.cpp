// xtune store push, pull: copies of a store elsewhere, through rsync or rclone.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/store_commands.hpp"
#include "core/store/transfer.hpp"

namespace xtune::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TransferFlags {
  StoreOptions common;
  std::string place, via = "auto";
  bool dry_run = false;

  store::Via program() const {
    return via == "rsync" ? store::Via::rsync : via == "rclone" ? store::Via::rclone : store::Via::automatic;
  }
};

void print_files(const TransferFlags& flags, const store::TransferReport& report) {
  if (!flags.dry_run) return;
  for (const std::string& file : report.files) print_out("{}\n", base::printable(file));
}

std::string files_text(const store::TransferReport& report) {
  return fmt::format("{} ({} of records), {}", counted(report.files.size(), "file"), report.record_files,
                     base::human_bytes(report.bytes));
}

Json transfer_json(const TransferFlags& flags, const char* place, const store::TransferReport& report) {
  return Json{{"store", flags.common.path().string()},
              {place, flags.place},
              {"dry_run", flags.dry_run},
              {"files", report.files},
              {"record_files", report.record_files},
              {"bytes", report.bytes}};
}

int push(const TransferFlags& flags) {
  const auto remote = store::open_remote(flags.place, flags.program());
  const store::TransferReport report = store::push_store(flags.common.path(), *remote, flags.dry_run);
  tell_warnings(report.warnings);
  if (flags.common.json()) {
    Json json = transfer_json(flags, "destination", report);
    json["left_out"] = report.warnings;
    print_json(json);
    return done;
  }
  print_files(flags, report);
  print_out("{}: {} {}\n", base::printable(flags.place), flags.dry_run ? "would get" : "got", files_text(report));
  return done;
}

int pull(const TransferFlags& flags) {
  const auto remote = store::open_remote(flags.place, flags.program());
  const store::TransferReport report = store::pull_store(flags.common.path(), flags.place, *remote, flags.dry_run);
  const store::MergeReport& merge = report.merge;
  tell_warnings(report.warnings);
  tell_merge(merge);
  if (flags.common.json()) {
    Json json = transfer_json(flags, "source", report);
    json["records"] = merge.records;
    json["artifacts"] = merge.artifacts;
    std::vector<std::string> left_out = report.warnings;
    left_out.insert(left_out.end(), merge.warnings.begin(), merge.warnings.end());
    json["left_out"] = left_out;
    json["notes"] = merge.notes;
    print_json(json);
  } else {
    print_files(flags, report);
    print_out("{}: {} {}", base::printable(flags.common.path().string()), flags.dry_run ? "would fetch" : "fetched",
              files_text(report));
    if (!flags.dry_run)
      print_out("; added {} and {}", counted(merge.records, "record"), counted(merge.artifacts, "artifact"));
    print_out("\n");
  }
  return merge.refused > 0 || !merge.warnings.empty() ? own_failure : done;
}

void add_transfer_options(CLI::App& command, TransferFlags& flags, const std::string& name,
                          const std::string& summary) {
  command.add_option(name, flags.place, summary)->required()->type_name("PLACE");
  restrict_to(command.add_option("--via", flags.via,
                                 "Copy with this program; auto: rclone if it has a remote of that name, else rsync"),
              {"auto", "rsync", "rclone"})
      ->capture_default_str()
      ->group(option_group::store);
  command.add_flag("--dry-run", flags.dry_run, "List the files that would be copied, and copy nothing")
      ->group(option_group::output);
  add_store_options(command, flags.common);
}

}  // namespace

void add_store_push(CLI::App& store, Context& context) {
  CLI::App* command = store.add_subcommand(
      "push", "Copy what is new in the store to another place; no file there is replaced or removed");
  add_example(*command, "xtune store push login:/shared/xtune\n  xtune store push s3:bucket/xtune --via rclone");
  static TransferFlags flags;
  add_transfer_options(*command, flags, "destination",
                       "Copy to host:path (by ssh), a directory, or remote:path of rclone");
  command->callback([&context] { context.exit_code = push(flags); });
}

void add_store_pull(CLI::App& store, Context& context) {
  CLI::App* command =
      store.add_subcommand("pull", "Fetch what the store lacks from another place, check it, and add it");
  add_example(*command, "xtune store pull login:/shared/xtune --dry-run");
  static TransferFlags flags;
  add_transfer_options(*command, flags, "source",
                       "Fetch from host:path (by ssh), a directory, or remote:path of rclone");
  command->callback([&context] { context.exit_code = pull(flags); });
}

}  // namespace xtune::cli
