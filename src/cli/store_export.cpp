// xtune store export: winners, measurements and decision trees in formats for other programs.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/script.hpp"
#include "cli/store_commands.hpp"
#include "core/store/export.hpp"
#include "system/chosen_store.hpp"
#include "system/files.hpp"

namespace xtune::cli {
namespace {

struct ExportFlags {
  std::string store, output, form = "json";
  store::WinnerFilter filter;
  std::vector<std::string> defines;
  std::size_t max_configs = 8, max_depth = 16;  ///< of trees
  std::string within = "5%";
  std::vector<std::string> names;  ///< --map
  std::string dtype, block_shape;

  std::filesystem::path path() const { return system::chosen_store(store); }
};

/// "NAME=VALUE" texts of an option.
std::map<std::string, std::string> pairs_of(const std::string& option, const std::vector<std::string>& texts,
                                            const std::string& expected) {
  std::map<std::string, std::string> pairs;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      throw Error(ErrorKind::invalid_argument, option + " " + base::printable(text, 80) + ": write " + expected);
    pairs[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return pairs;
}

void write_text(const ExportFlags& flags, const std::string& text) {
  if (flags.output.empty())
    fmt::print("{}", text);
  else
    system::write_output_file(flags.output, text);
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  return base::printable_json(json.dump(indent)) + "\n";
}

/// Into a directory under vLLM's names; or one table to a file or to standard output.
void write_tables(const ExportFlags& flags, const nlohmann::ordered_json& tables) {
  const std::filesystem::path output = flags.output;
  if (std::error_code ignored; std::filesystem::is_directory(output, ignored)) {
    for (const auto& [name, table] : tables.items()) {
      system::write_output_file(output / name, json_text(table, 4));
      tell("{}\n", (output / name).string());
    }
    return;
  }
  if (tables.size() > 1) {
    std::string names;
    for (const auto& [name, table] : tables.items()) names += "\n  " + base::printable(name, 200);
    throw Error(ErrorKind::invalid_argument,
                fmt::format("the store has {} tables: name an existing directory with -o, or select one with "
                            "--arch and -D:{}",
                            tables.size(), names));
  }
  write_text(flags, json_text(*tables.begin(), 4));
  tell("vLLM looks for this table under the name {}\n", tables.begin().key());
}

/// What the script of that name makes of the winners, or of the measured cases.
nlohmann::ordered_json scripted(const ExportFlags& flags, double within, const char* script,
                                nlohmann::ordered_json request, std::vector<std::string>& warnings) {
  const bool trees = flags.form.starts_with("tree-");
  request.update({{"format", flags.form}, {"within", within}, {"max_depth", flags.max_depth}});
  bool empty = false;
  if (trees) {
    const auto cases = store::measured_cases(flags.path(), flags.filter, warnings);
    empty = cases.empty();
    request["groups"] = store::tree_groups(cases, flags.max_configs, within, warnings);
  } else {
    const auto winners = store::winners_of(flags.path(), flags.filter, warnings);
    empty = winners.empty();
    request["winners"] = store::export_json(winners);
  }
  nlohmann::ordered_json answer = script_answer(script, std::move(request), warnings);  // which checks the options
  if (empty) throw store::no_answers();
  return answer;
}

int export_store(ExportFlags& flags) {
  flags.filter.problem = pairs_of("-D", flags.defines, "-D NAME=value, for example -D M=8192");
  const double within = share_of("--within", flags.within);
  std::vector<std::string> warnings;
  if (flags.form == "vllm-moe") {
    const auto names = pairs_of("--map", flags.names, "--map VLLM_NAME=NAME, for example --map BLOCK_SIZE_M=BM");
    const auto tables = scripted(
        flags, within, "vllm", {{"map", names}, {"dtype", flags.dtype}, {"block_shape", flags.block_shape}}, warnings);
    tell_warnings(warnings);
    write_tables(flags, tables);
    return done;
  }
  std::string text;
  if (flags.form == "csv")
    text = store::export_csv(store::measurements_of(flags.path(), flags.filter, warnings));
  else if (flags.form == "kbench")
    text = store::export_kbench(store::measurements_of(flags.path(), flags.filter, warnings));
  else if (flags.form == "kernel-tuner")
    text = json_text(store::export_kernel_tuner(flags.path(), flags.filter, warnings), 1);
  else if (flags.form == "tree-json")
    text = json_text(scripted(flags, within, "headers", {}, warnings), 2);
  else if (flags.form == "json")
    text = json_text(store::export_json(store::winners_of(flags.path(), flags.filter, warnings)), 2);
  else
    text = scripted(flags, within, "headers", {}, warnings);
  tell_warnings(warnings);
  write_text(flags, text);
  return done;
}

void add_tree_options(const OptionGroup& output, ExportFlags& flags) {
  output.number("--max-configs", flags.max_configs, 1, "For trees: choose among at most N configurations");
  output.value("--within", flags.within, "SHARE",
               "For trees: accept this much more time than the best of a case: 5% or 0.05");
  output.number("--max-depth", flags.max_depth, 0, "For trees: ask at most N questions on the way to a leaf", 64);
}

void add_vllm_options(const OptionGroup& output, ExportFlags& flags) {
  output.list("--map", flags.names, "VLLM_NAME=NAME",
              "For vllm-moe: take vLLM's size or parameter from the kernel's one with another name");
  output.value("--dtype", flags.dtype, "WORD", "For vllm-moe: put this data type into the file's name: fp8_w8a8");
  output.value("--block-shape", flags.block_shape, "N,K",
               "For vllm-moe: put this block shape of the quantisation into the file's name: 128,128");
}

}  // namespace

void add_store_export(CLI::App& store, Context& context) {
  const auto [command, flags] = add_command<ExportFlags>(
      store, context, "export", "Write the best configurations in a format that other programs read",
      "xtune store export --format header --kernel gemm -o gemm_best.hpp\n"
      "  xtune store export --format tree-header --kernel gemm --max-configs 4 --within 5% -o gemm_tree.hpp\n"
      "  xtune store export --format kernel-tuner --kernel gemm --arch sm_90 -D M=4096 -o gemm.T4.json\n"
      "  xtune store export --format vllm-moe --kernel moe --arch sm_90 --dtype fp8_w8a8 -o configs",
      export_store);
  OptionGroup(command, option_group::problem)
      .list("-D", flags.defines, "NAME=VALUE", "Take only problems with this size");
  const OptionGroup output(command, option_group::output);
  output.words("--format", flags.form,
               {"json", "header", "tree-json", "tree-header", "vllm-moe", "kernel-tuner", "kbench", "csv"},
               "Write a JSON list of winners, a header with C++ constants and a choice among them, a "
               "decision tree over the problem sizes as JSON or as such a header, vLLM's tables for its "
               "fused mixture-of-experts kernel, all measurements of one kernel, device and problem as "
               "Kernel Tuner's T4 results, the measurements that passed as kbench's output.csv, or a line of "
               "CSV for each record, pruned and failed ones too, in the order of time");
  output.value("-o,--output", flags.output, "FILE",
               "Write to a file, for vllm-moe also into a directory; default: standard output");
  add_store_option(command, flags.store);
  add_filter_options(command, flags.filter);
  add_tree_options(output, flags);
  add_vllm_options(output, flags);
}

}  // namespace xtune::cli
