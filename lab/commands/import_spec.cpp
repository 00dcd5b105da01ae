// xtune import kbench and vllm-moe: files of other tuners as specs, by a script.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/options.hpp"
#include "cli/script.hpp"
#include "core/device/backend_facts.hpp"
#include "core/spec/template_text.hpp"
#include "lab/commands/commands.hpp"
#include "system/files.hpp"

namespace xtune::cli {
namespace {

namespace fs = std::filesystem;

struct ImportCommand {
  std::vector<std::string> paths, params, cases, shapes, metrics, names;
  std::string folder = ".", name, build_opts, device = "host", format = "text";
  bool force = false;
};

nlohmann::ordered_json texts_of(const std::vector<std::string>& paths) {
  nlohmann::ordered_json texts = nlohmann::ordered_json::array();
  for (const std::string& path : paths) {
    const std::string text = read_given([&] { return system::read_file(path, std::uint64_t{16} << 20); });
    texts.push_back({{"path", path}, {"text", text}, {"utf8", base::is_utf8(text)}});
  }
  return texts;
}

/// One spec, and the list of its configurations if they are not a plain product; else empty.
struct ImportedSpec {
  std::string stem, kernel, spec, configs;
};

/// The answer of the script to the command's files.
std::vector<ImportedSpec> specs_of(const ImportCommand& command, const char* script, nlohmann::ordered_json request) {
  request["files"] = texts_of(command.paths);
  request["stem"] = file_stem(command.name.empty() ? fs::path(command.paths.front()).stem().string() : command.name);
  std::vector<ImportedSpec> specs;
  std::vector<std::string> warnings;
  for (const auto& each : script_answer(script, request, warnings))
    specs.push_back({each["stem"], each["kernel"], each["spec"], each["configs"]});
  for (const std::string& warning : warnings) tell("warning: {}\n", warning);
  return specs;
}

/// The list of configurations beside a spec that has one.
fs::path list_of(const ImportedSpec& each, const fs::path& folder) { return folder / (each.stem + ".configs.csv"); }

std::vector<fs::path> files_of(const std::vector<ImportedSpec>& specs, const fs::path& folder) {
  std::vector<fs::path> files;
  for (const ImportedSpec& each : specs) {
    files.push_back(folder / (each.stem + ".toml"));
    if (!each.configs.empty()) files.push_back(list_of(each, folder));
  }
  return files;
}

/// The numbers of configurations of the spec's cases; its list is in the directory. This also checks that the written
/// spec is valid.
std::vector<std::uint64_t> counted_configs(const ImportCommand& command, const ImportedSpec& each,
                                           const fs::path& folder) {
  try {
    if (!each.configs.empty()) system::write_file_atomically(list_of(each, folder), each.configs);
    const spec::Spec spec = spec::parse_spec(each.spec, each.stem + ".toml", folder);
    std::vector<std::uint64_t> counts;
    for (const Bindings& problem : spec.cases) try {
        counts.push_back(spec::make_space(spec, problem, {}).size());
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::nothing_valid || spec.cases.size() == 1) throw;
        counts.push_back(0);
      }
    if (std::ranges::max(counts) == 0) throw Error(ErrorKind::nothing_valid, "");
    return counts;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::io) throw;
    if (error.kind() == ErrorKind::nothing_valid)
      throw Error(error.kind(), command.paths.front() + ": the rules leave no configuration");
    throw Error(error.kind(), command.paths.front() + ": the resulting spec would be invalid: " + error.what());
  }
}

/// next: what to do with a SPEC.
int write_specs(const ImportCommand& command, const std::vector<ImportedSpec>& specs, const char* next) {
  std::vector<std::vector<std::uint64_t>> configs;
  const system::TemporaryDirectory trial;
  for (const ImportedSpec& each : specs) configs.push_back(counted_configs(command, each, trial.path()));
  const fs::path folder = command.folder;
  require_new_files(files_of(specs, folder), command.force, other_files);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const ImportedSpec& each = specs[i];
    const fs::path path = folder / (each.stem + ".toml");
    if (!each.configs.empty()) system::write_output_file(list_of(each, folder), each.configs);
    system::write_output_file(path, each.spec);
    const auto [fewest, most] = std::ranges::minmax(configs[i]);
    list.push_back({{"spec", path.string()}, {"kernel", each.kernel}, {"configs", most}});
    std::string words = next;
    words.replace(words.find("SPEC"), 4, path.string());
    if (command.format == "text")
      print_out("{}: {}{} of {}{}; {}\n", path.string(), fewest < most ? fmt::format("{} to ", fewest) : "",
                counted(most, "configuration"), each.kernel,
                configs[i].size() > 1 ? fmt::format(" in each of {} cases", configs[i].size()) : "", words);
  }
  if (command.format == "json") print_json(list);
  return done;
}

int import_kbench(const ImportCommand& command) {
  nlohmann::ordered_json request{{"params", command.params},
                                 {"cases", command.cases},
                                 {"metrics", command.metrics},
                                 {"device", command.device},
                                 {"build_opts", nlohmann::json::array()}};
  request["shapes"] = texts_of(command.shapes);
  for (const spec::Text& word : spec::split_command({command.build_opts, spec::Location{"--build-opts", 0, 0}}))
    request["build_opts"].push_back(word.text);
  return write_specs(command, specs_of(command, "kbench", std::move(request)), "`xtune run SPEC` tunes it");
}

int import_vllm_moe(const ImportCommand& command) {
  return write_specs(command, specs_of(command, "vllm", {{"map", command.names}}),
                     "add the kernel to it, and `xtune run SPEC` measures them");
}

void add_written_files(CLI::App& command, const OptionGroup& output, ImportCommand& options, const char* whose) {
  output.value("-o,--output", options.folder, "DIR", "Write the spec into this directory, which is created");
  output.value("--name", options.name, "NAME", fmt::format("Name the written files; default: as the {} file", whose));
  add_force_option(command, options.force);
  add_format_option(command, options.format);
}

}  // namespace

void add_import_kbench(CLI::App& import, Context& context) {
  const auto [command, options] = add_command<ImportCommand>(
      import, context, "kbench",
      "Turn a YAML file of kbench, which lists parameters of a Mojo benchmark, into a spec that tunes it",
      "xtune import kbench gemm.yaml -o tuned && xtune run tuned/gemm.toml", import_kbench);
  add_argument(command, "files", options.paths, "FILE", "YAML files of one benchmark, whose groups follow each other");
  const OptionGroup problem(command, option_group::problem), output(command, option_group::output);
  problem.list("--param", options.params, "NAME:VALUES",
               "Set a parameter's values in every group: NAME:VALUE or NAME:[VALUE, VALUE]");
  problem
      .list("--cases", options.cases, "NAMES",
            "Turn these parameters, such as M,N,K, into [[cases]], each of which is tuned on its own")
      ->delimiter(',');
  problem.list("--shapes", options.shapes, "FILE",
               "Read shapes from a YAML file, and turn each into one of the [[cases]]");
  output.list("--metric", options.metrics, "COLUMN",
              "Read a metric from this column of the benchmark's table, such as \"DataMovement (GB/s)\"");
  const OptionGroup run(command, option_group::device);
  run.value("--build-opts", options.build_opts, "WORDS",
            "Pass words to `mojo build`, such as \"-O3 --target-accelerator sm_90\"");
  run.words("--device", options.device, device::backends_of(device::SourceKind::cuda_cpp),
            "Run the benchmark on devices of this backend");
  add_written_files(command, output, options, "YAML");
}

void add_import_vllm_moe(CLI::App& import, Context& context) {
  const auto [command, options] = add_command<ImportCommand>(
      import, context, "vllm-moe",
      "Turn tables that vLLM tuned for its mixture-of-experts kernel into a spec, whose configurations they are",
      "xtune import vllm-moe 'E=8,N=7168,device_name=NVIDIA_H200.json' --name moe", import_vllm_moe);
  add_argument(command, "files", options.paths, "FILE", "Tables of one kernel, by the names that vLLM gives them");
  OptionGroup(command, option_group::problem)
      .list("--map", options.names, "VLLM_NAME=NAME", "Give vLLM's size or parameter another name in the spec");
  add_written_files(command, OptionGroup(command, option_group::output), options, "first");
}

}  // namespace xtune::cli
