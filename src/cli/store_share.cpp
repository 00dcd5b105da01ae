// xtune store merge, bundle: into another store, into one file.
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/store_commands.hpp"
#include "core/store/bundle.hpp"
#include "core/store/merge.hpp"
#include "dispatch/bundled_spec.hpp"

namespace xtune::cli {
namespace {

using Json = nlohmann::ordered_json;

int merge(const StoreOptions& options, const std::vector<std::string>& others) {
  store::MergeReport all;
  bool nothing_read = false;  // for the records of one of them
  for (const std::string& other : others) {
    const store::MergeReport one = store::merge_store(options.path(), other);
    all.records += one.records, all.artifacts += one.artifacts;
    all.known_records += one.known_records, all.known_artifacts += one.known_artifacts;
    all.refused += one.refused;
    nothing_read = nothing_read || (one.unread > 0 && one.records + one.known_records == 0);
    all.warnings.insert(all.warnings.end(), one.warnings.begin(), one.warnings.end());
    all.notes.insert(all.notes.end(), one.notes.begin(), one.notes.end());
  }
  tell_merge(all);
  if (options.json())
    print_json(Json{{"store", options.path().string()},
                    {"records", all.records},
                    {"known_records", all.known_records},
                    {"artifacts", all.artifacts},
                    {"known_artifacts", all.known_artifacts},
                    {"refused", all.refused},
                    {"left_out", all.warnings},
                    {"notes", all.notes}});
  else
    print_out("{}: added {} and {}; {} and {} were already there\n", base::printable(options.path().string()),
              counted(all.records, "record"), counted(all.artifacts, "artifact"), counted(all.known_records, "record"),
              counted(all.known_artifacts, "artifact"));
  return all.refused || nothing_read ? own_failure : done;
}

struct BundleFlags {
  StoreOptions common;
  std::string output;
  store::WinnerFilter filter;
  std::vector<std::string> specs;
};

int bundle(const BundleFlags& flags) {
  std::vector<store::BundledSpec> specs;
  for (const std::string& spec : flags.specs) specs.push_back(dispatch::pack_spec(spec));
  const store::BundleReport report = store::write_bundle(flags.common.path(), flags.output, flags.filter, specs);
  tell_warnings(report.warnings);
  if (flags.common.json())
    print_json(Json{{"bundle", flags.output},
                    {"records", report.records},
                    {"artifacts", report.artifacts},
                    {"bytes", report.bytes},
                    {"left_out", report.warnings}});
  else
    print_out("{}: {}, {}, {}\n", base::printable(flags.output), counted(report.records, "record"),
              counted(report.artifacts, "artifact"), base::human_bytes(report.bytes));
  return done;
}

}  // namespace

void add_store_merge(CLI::App& store, Context& context) {
  CLI::App* command = store.add_subcommand(
      "merge", "Add the records and artifacts of other stores and bundles, which stay as they are");
  add_example(*command, "xtune store merge node1/store node2/store gemm.xtune --store all");
  static StoreOptions options;
  static std::vector<std::string> others;
  command->add_option("other", others, "Stores and bundles to take from")->required()->type_name("FILE");
  add_store_options(*command, options);
  command->callback([&context] { context.exit_code = merge(options, others); });
}

void add_store_bundle(CLI::App& store, Context& context) {
  CLI::App* command = store.add_subcommand("bundle", "Pack the best configurations and their artifacts into one file");
  add_example(*command, "xtune store bundle -o gemm.xtune --arch sm_90 --arch gfx90a --kernel gemm --spec gemm.toml");
  static BundleFlags flags;
  command->add_option("-o,--output", flags.output, "Write this file")
      ->required()
      ->type_name("FILE")
      ->group(option_group::output);
  command->add_option("--spec", flags.specs, "Pack a spec with its sources, so that programs need only the bundle")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(option_group::output);
  add_store_options(*command, flags.common);
  add_filter_options(*command, flags.filter);
  command->callback([&context] { context.exit_code = bundle(flags); });
}

}  // namespace xtune::cli
