// xtune check: everything that can be told of a spec without compiling.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "report/run_report.hpp"

namespace xtune::cli {
namespace {

int check(const std::string& path, const CommonOptions& options) {
  // Every backend's overlay must be sound, not only that of the device at hand.
  std::vector<std::string> backends{"", "cuda", "hip", "host"};
  if (options.backend != "auto") backends = {options.backend};
  Spec spec;
  for (const std::string& backend : backends) spec = read_spec(path, options, backend);
  if (options.json()) {
    nlohmann::ordered_json json{{"spec", spec.path.string()}, {"kernel", spec.kernel.name}, {"valid", true}};
    json["parameters"] = spec.parameters.size();
    json["constraints"] = spec.constraints.size();
    if (spec.configs) json["configs"] = spec.configs->size();
    json["cases"] = spec.cases.size();
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{}: kernel '{}' is sound: {} parameters, {} constraints, {} case{}, {} arguments{}\n", path,
               spec.kernel.name, spec.parameters.size(), spec.constraints.size(), spec.cases.size(),
               spec.cases.size() == 1 ? "" : "s", spec.args.size(),
               spec.replays()      ? " (a replay: nothing to compile)"
               : spec.space_only() ? " (a space alone: nothing to compile)"
                                   : "");
    if (spec.configs) fmt::print("  {} configurations are listed as valid\n", spec.configs->size());
  }
  return done;
}

}  // namespace

void add_check_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("check", "checks a spec without compiling anything");
  add_example(*command, "xtune check configs/gemm.toml");
  static CommonOptions options;
  static std::string path;
  add_spec_argument(*command, path);
  add_common_options(*command, options);
  command->get_option("--backend")
      ->description("cuda, hip or host: with this backend's overlay; auto: with each in turn");
  command->callback([&context] { context.exit_code = check(path, options); });
}

}  // namespace xtune::cli
