// xtune import kbench: a list of a Mojo benchmark's parameters as specs.
#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "cli/commands.hpp"
#include "cli/import_commands.hpp"
#include "core/import/kbench.hpp"
#include "core/spec/command_text.hpp"

namespace xtune::cli {
namespace {

struct KbenchCommand {
  std::string path, folder = ".", name, build_opts, device = "host", format = "text";
};

int import_file(const KbenchCommand& command) {
  KbenchOptions options;
  options.device = command.device;
  for (const Text& word : split_command({command.build_opts, Location{"--build-opts", 0, 0}}))
    options.build_opts.push_back(word.text);
  std::string text;
  try {
    text = read_file(command.path, std::uint64_t{16} << 20);
  } catch (const Error& error) {
    throw Error(ErrorKind::invalid_argument, error.what());
  }
  const std::filesystem::path folder = command.folder;
  const std::string stem =
      file_stem(command.name.empty() ? std::filesystem::path(command.path).stem().string() : command.name);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const KbenchSpec& each : import_kbench(text, command.path, stem, options)) {
    if (!each.configs.empty()) write_file_atomically(folder / (each.stem + ".configs.csv"), each.configs);
    const std::filesystem::path path = folder / (each.stem + ".toml");
    // Last, and only when it is sound: a spec that is there is one that works.
    const Spec spec = parse_spec(each.spec, path.string(), folder);
    write_file_atomically(path, each.spec);
    const std::uint64_t configs = make_space(spec, spec.cases.front(), {}).size();
    list.push_back({{"spec", path.string()}, {"kernel", spec.kernel.name}, {"configs", configs}});
    if (command.format == "text")
      fmt::print("{}: {} of {}; `xtune run {}` tunes it\n", path.string(), counted(configs, "configuration"),
                 spec.kernel.name, path.string());
  }
  if (command.format == "json") print_json(list);
  return done;
}

}  // namespace

void add_import_kbench(CLI::App& import, Context& context) {
  CLI::App* command =
      import.add_subcommand("kbench", "a YAML file of kbench, which lists parameters of a Mojo benchmark");
  add_example(*command, "xtune import kbench gemm.yaml -o tuned && xtune run tuned/gemm.toml");
  static KbenchCommand options;
  command->add_option("file", options.path, "the YAML file")->required();
  command->add_option("-o,--output", options.folder, "folder to write the spec into, made where it is missing")
      ->capture_default_str();
  command->add_option("--name", options.name, "of the written files; default: the YAML file's");
  command->add_option("--build-opts", options.build_opts,
                      "words for `mojo build`, such as \"-O3 --target-accelerator sm_90\"");
  command->add_option("--device", options.device, "what the benchmark runs on: host, cuda or hip")
      ->check(CLI::IsMember({"host", "cuda", "hip"}))
      ->capture_default_str();
  command->add_option("--format", options.format, "text, or json: JSON alone on standard output")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->callback([&context] { context.exit_code = import_file(options); });
}

}  // namespace xtune::cli
