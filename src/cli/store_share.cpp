// xtune store merge, export, bundle: into another store, other formats, one file.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/text.hpp"
#include "cli/store_commands.hpp"
#include "core/store/bundle.hpp"
#include "core/store/export.hpp"
#include "core/store/measurements.hpp"
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
  }
  tell_warnings(all.warnings);
  if (options.json())
    print_json(Json{{"store", options.path().string()},
                    {"records", all.records},
                    {"known_records", all.known_records},
                    {"artifacts", all.artifacts},
                    {"known_artifacts", all.known_artifacts},
                    {"refused", all.refused},
                    {"left_out", all.warnings}});
  else
    print_out("{}: added {} and {}; {} and {} were already there\n", base::printable(options.path().string()),
              counted(all.records, "record"), counted(all.artifacts, "artifact"), counted(all.known_records, "record"),
              counted(all.known_artifacts, "artifact"));
  return all.refused || nothing_read ? own_failure : done;
}

struct ShipFlags {
  StoreOptions common;
  std::string output, form = "json";
  store::WinnerFilter filter;
  std::vector<std::string> defines, specs;  ///< defines: -D of export
};

void add_filter(CLI::App& command, ShipFlags& flags) {
  command.add_option("--arch", flags.filter.archs, "Take only records of this architecture")
      ->type_name("ARCH")
      ->allow_extra_args(false)
      ->group(option_group::store);
  command.add_option("--kernel", flags.filter.kernels, "Take only records of this kernel")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->group(option_group::store);
}

std::map<std::string, std::string> problem_of(const std::vector<std::string>& defines) {
  std::map<std::string, std::string> problem;
  for (const std::string& define : defines) {
    const std::size_t equals = define.find('=');
    if (equals == std::string::npos || equals == 0)
      throw Error(ErrorKind::invalid_argument, "-D " + define + ": write -D NAME=value, for example -D M=8192");
    problem[define.substr(0, equals)] = define.substr(equals + 1);
  }
  return problem;
}

int export_store(const ShipFlags& flags) {
  store::WinnerFilter filter = flags.filter;
  filter.problem = problem_of(flags.defines);
  std::vector<std::string> warnings;
  std::string text;
  if (flags.form == "csv") {
    text = store::export_csv(store::measurements_of(flags.common.path(), filter, warnings));
  } else if (flags.form == "kbench") {
    text = store::export_kbench(store::measurements_of(flags.common.path(), filter, warnings));
  } else if (flags.form == "kernel-tuner") {
    text = base::printable_json(store::export_kernel_tuner(flags.common.path(), filter, warnings).dump(1)) + "\n";
  } else {
    const std::vector<store::Winner> winners = store::winners_of(flags.common.path(), filter, warnings);
    text = flags.form == "json" ? base::printable_json(store::export_json(winners).dump(2)) + "\n"
                                : store::export_header(winners, warnings);
  }
  tell_warnings(warnings);
  if (flags.output.empty())
    fmt::print("{}", text);
  else
    base::write_output_file(flags.output, text);
  return done;
}

int bundle(const ShipFlags& flags) {
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

void add_store_export(CLI::App& store, Context& context) {
  CLI::App* command =
      store.add_subcommand("export", "Write the best configurations in a format that other programs read");
  add_example(*command,
              "xtune store export --format header --kernel gemm -o gemm_best.hpp\n"
              "  xtune store export --format kernel-tuner --kernel gemm --arch sm_90 -D M=4096 -o gemm.T4.json");
  static ShipFlags flags;
  command->add_option("-D", flags.defines, "Take only problems with this size")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->group(option_group::problem);
  restrict_to(command->add_option("--format", flags.form,
                                  "Write a JSON list of winners, a header with C++ constants and a choice among them, "
                                  "all measurements of one kernel, device and problem as Kernel Tuner's T4 results, "
                                  "the measurements that passed as kbench's output.csv, or a line of CSV for each "
                                  "record, pruned and failed ones too, in the order of time"),
              {"json", "header", "kernel-tuner", "kbench", "csv"})
      ->capture_default_str()
      ->group(option_group::output);
  command->add_option("-o,--output", flags.output, "Write to a file; default: standard output")
      ->type_name("FILE")
      ->group(option_group::output);
  add_store_option(*command, flags.common.store);
  add_filter(*command, flags);
  command->callback([&context] { context.exit_code = export_store(flags); });
}

void add_store_bundle(CLI::App& store, Context& context) {
  CLI::App* command = store.add_subcommand("bundle", "Pack the best configurations and their artifacts into one file");
  add_example(*command, "xtune store bundle -o gemm.xtune --arch sm_90 --arch gfx90a --kernel gemm --spec gemm.toml");
  static ShipFlags flags;
  command->add_option("-o,--output", flags.output, "Write this file")
      ->required()
      ->type_name("FILE")
      ->group(option_group::output);
  command->add_option("--spec", flags.specs, "Pack a spec with its sources, so that programs need only the bundle")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->group(option_group::output);
  add_store_options(*command, flags.common);
  add_filter(*command, flags);
  command->callback([&context] { context.exit_code = bundle(flags); });
}

}  // namespace xtune::cli
