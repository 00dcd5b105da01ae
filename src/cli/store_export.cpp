// xtune store export: winners, measurements and decision trees in formats for other programs.
#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/csv.hpp"
#include "base/text.hpp"
#include "cli/cases.hpp"
#include "cli/script.hpp"
#include "cli/store_commands.hpp"
#include "core/store/export.hpp"
#include "core/store/lookup.hpp"
#include "core/store/objective.hpp"
#include "dispatch/selector.hpp"
#include "system/chosen_store.hpp"
#include "system/files.hpp"

namespace xtune::cli {
namespace {

/// Whether records are of a spec as it is now: their configuration is allowed, and their key is the one that their own
/// compiler and driver would give it today. Neither has to be here.
class PresentSpec {
 public:
  PresentSpec(std::string path, std::filesystem::path store) : path_(std::move(path)), store_(std::move(store)) {}

  const spec::Spec& of(const std::string& backend) {
    const auto known = specs_.find(backend);
    return known != specs_.end() ? known->second
                                 : specs_.emplace(backend, read_spec(path_, CommonOptions(), backend)).first->second;
  }
  bool has(const store::Record& record) {
    try {
      const std::vector<std::string> archs = dispatch::compiled_archs(record.device, "");
      return std::any_of(archs.begin(), archs.end(), [&](const std::string& arch) { return fits(record, arch); });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::nothing_valid) throw;
      return false;  // the space of its problem is empty
    }
  }
  store::Criterion criterion(const store::Record& record) {
    return store::Objective(of(record.device.backend)).criterion(record.problem, record.device);
  }
  /// The filter that selects its records, and ranks them by its objective. This object must outlive it.
  void select(store::WinnerFilter& filter) {
    filter.kernels = {of("").kernel.name};
    filter.is_present = [this](const store::Record& record) { return has(record); };
    filter.criterion = [this](const store::Record& record) { return criterion(record); };
  }
  /// Adds the constraints of all backends that records were asked of, and the expressions that they may name.
  void add_constraints(nlohmann::ordered_json& request) const {
    std::vector<std::string> constraints;
    request["derived"] = nlohmann::ordered_json::object();
    for (const auto& [backend, spec] : specs_) {
      if (backend.empty()) continue;
      for (const spec::Text& text : spec.constraints) base::add_once(constraints, text.text);
      if (spec.derived)
        for (const auto& [name, expression] : *spec.derived) request["derived"][name] = expression.text();
    }
    request["constraints"] = constraints;
  }

 private:
  bool fits(const store::Record& record, const std::string& arch) {
    const device::DeviceInfo& device = record.device;
    auto& fit = fits_[fmt::format("{}\n{}\n{}\n{}", store::group_of(record), device.driver, record.toolchain, arch)];
    if (!fit)
      fit =
          std::make_unique<store::SpecFit>(of(device.backend), record.problem, device, arch, record.toolchain, store_);
    return fit->obstacle(record).empty() && fit->differences(record).empty();
  }

  const std::string path_;
  const std::filesystem::path store_;
  std::map<std::string, spec::Spec> specs_;                      ///< by backend
  std::map<std::string, std::unique_ptr<store::SpecFit>> fits_;  ///< by problem, device, compiler
};

struct ExportFlags {
  std::string spec, store, output, form = "json";
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

void write_with(const ExportFlags& flags, const std::function<void(const system::Sink&)>& write) {
  if (!flags.output.empty()) return system::write_output_file(flags.output, write);
  write([](std::string_view text) { fmt::print("{}", text); });
}

void write_text(const ExportFlags& flags, const std::string& text) {
  write_with(flags, [&](const system::Sink& sink) { sink(text); });
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

/// What the script `tables` makes of records. spec: its objective is theirs, if it has one.
nlohmann::ordered_json tables_of(const std::string& form, const std::vector<store::Record>& records,
                                 const spec::Spec& spec, std::vector<std::string>& warnings) {
  nlohmann::ordered_json request{{"format", form}, {"records", nlohmann::ordered_json::array()}};
  const store::Objective objective(spec);
  for (const store::Record& record : records) {
    nlohmann::ordered_json& json = request["records"].emplace_back(store::to_json(record));
    if (spec.objective.goals.empty()) continue;
    const std::vector<double> values = objective.values(record);
    for (std::size_t i = 0; i < values.size(); ++i) json["goals"][objective.names()[i]] = values[i];
  }
  return script_answer("tables", std::move(request), warnings);
}

/// All measurements of one kernel, problem and device, as Kernel Tuner's T4 results.
std::string t4_text(const ExportFlags& flags, PresentSpec& present, std::vector<std::string>& warnings) {
  const std::vector<store::Record> records = store::records_of_task(flags.path(), flags.filter, warnings);
  const spec::Spec spec = flags.spec.empty() ? spec::Spec() : present.of(records.front().device.backend);
  return json_text(tables_of(flags.form, records, spec, warnings), 1);
}

/// The measurements of searches that passed, as kbench's output.csv: name, met (ms), iters, the metrics, spec.
std::string kbench_table(const ExportFlags& flags, std::vector<std::string>& warnings) {
  std::vector<store::Record> passed;
  store::Measurements(flags.path(), flags.filter, warnings).each([&](store::Record record, double) {
    if (record.outcome == Outcome::ok && record.finals.empty()) passed.push_back(std::move(record));
  });
  return base::csv_text(tables_of("kbench", passed, {}, warnings).get<std::vector<nlohmann::ordered_json>>());
}

/// What the script of that name makes of the winners, or of the measured cases.
nlohmann::ordered_json scripted(const ExportFlags& flags, const PresentSpec& present, double within, const char* script,
                                nlohmann::ordered_json request, std::vector<std::string>& warnings) {
  constexpr std::size_t choices =
      16;  // of a problem in a header, for others for which the spec does not allow the first
  const bool trees = flags.form.starts_with("tree-"), chooses = flags.form == "header" && !flags.spec.empty();
  request.update({{"format", flags.form}, {"within", within}, {"max_depth", flags.max_depth}});
  const auto winners = store::winners_of(flags.path(), flags.filter, warnings,
                                         trees     ? SIZE_MAX
                                         : chooses ? choices
                                                   : 1);
  if (trees)
    request["groups"] = store::tree_groups(winners, flags.max_configs, within, warnings);
  else
    request["winners"] = store::export_json(winners);
  if (!flags.spec.empty()) present.add_constraints(request);
  nlohmann::ordered_json answer = script_answer(script, std::move(request), warnings);  // which checks the options
  if (winners.empty()) throw store::no_answers();
  return answer;
}

int export_store(ExportFlags& flags) {
  flags.filter.problem = pairs_of("-D", flags.defines, "-D NAME=value, for example -D M=8192");
  const double within = share_of("--within", flags.within);
  std::vector<std::string> warnings;
  PresentSpec present(flags.spec, flags.path());
  if (!flags.spec.empty()) {
    if (!flags.filter.kernels.empty()) throw bad_argument("--kernel chooses among a store's kernels; a spec has one");
    present.select(flags.filter);
    if (present.of("").objective.across != spec::ObjectiveSpec::Across::each)
      warnings.emplace_back("each problem has its own answer: [objective] across, one for all, is what `best` prints");
    const bool chooses = flags.form == "header" || flags.form.starts_with("tree-");
    if (chooses && !present.of("").dispatch.key.empty())
      warnings.emplace_back(
          "[dispatch] key stays behind: what is exported takes the nearest measured problem's answer, not its "
          "bucket's");
  }
  if (flags.form == "vllm-moe") {
    const auto names = pairs_of("--map", flags.names, "--map VLLM_NAME=NAME, for example --map BLOCK_SIZE_M=BM");
    const auto tables =
        scripted(flags, present, within, "vllm",
                 {{"map", names}, {"dtype", flags.dtype}, {"block_shape", flags.block_shape}}, warnings);
    tell_warnings(warnings);
    write_tables(flags, tables);
    return done;
  }
  if (flags.form == "csv") {
    const store::Measurements all(flags.path(), flags.filter, warnings);
    tell_warnings(warnings);
    write_with(flags, [&](const system::Sink& sink) { store::write_csv(all, sink); });
    return done;
  }
  std::string text;
  if (flags.form == "kbench")
    text = kbench_table(flags, warnings);
  else if (flags.form == "kernel-tuner")
    text = t4_text(flags, present, warnings);
  else if (flags.form == "tree-json")
    text = json_text(scripted(flags, present, within, "headers", {}, warnings), 2);
  else if (flags.form == "json")
    text = json_text(store::export_json(store::winners_of(flags.path(), flags.filter, warnings)), 2);
  else
    text = scripted(flags, present, within, "headers", {}, warnings);
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

Json stored_tree(const std::string& spec, const std::filesystem::path& store, const std::string& arch,
                 std::size_t max_configs, double within, std::vector<std::string>& warnings) {
  ExportFlags flags;
  flags.spec = spec;
  flags.store = store.string();
  flags.form = "tree-json";
  flags.max_configs = max_configs;
  PresentSpec present(spec, store);
  flags.filter.archs = {arch};
  present.select(flags.filter);
  try {
    return scripted(flags, present, within, "headers", {}, warnings)["trees"].at(0);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::invalid_argument && error.kind() != ErrorKind::nothing_valid) throw;
    return nullptr;  // no store, or nothing of the kernel on this architecture
  }
}

void add_store_export(CLI::App& store, Context& context) {
  const auto [command, flags] = add_command<ExportFlags>(
      store, context, "export", "Write the best configurations in a format that other programs read",
      "xtune store export gemm.toml --format header -o gemm_best.hpp\n"
      "  xtune store export gemm.toml --format tree-header --max-configs 4 --within 5% -o gemm_tree.hpp\n"
      "  xtune store export --format kernel-tuner --kernel gemm --arch sm_90 -D M=4096 -o gemm.T4.json\n"
      "  xtune store export --format vllm-moe --kernel moe --arch sm_90 --dtype fp8_w8a8 -o configs",
      export_store);
  add_argument(command, "spec", flags.spec, "SPEC",
               "Take only what was measured of this spec's kernel as it is now, with its present source")
      ->required(false)
      ->transform(spec_named);
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
