// xtune space: the size of the search space, the time to construct it, and its configurations.

#include <chrono>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "cli/cases.hpp"
#include "core/record/record_json.hpp"
#include "core/search/permutation.hpp"
#include "report/run_report.hpp"

namespace xtune::cli {
namespace {

// This many take several hundred MB as JSON.
constexpr std::uint64_t max_samples = 1'000'000;

struct SpaceOptions {
  CommonOptions common;
  std::string path;
  std::uint64_t samples = 0;
  std::uint64_t seed = 1;
  bool effects = false;
};

/// A space-only spec needs neither a compiler nor a device unless its constraints use one.
target::Target target_of(const std::string& path, const CommonOptions& options) {
  try {
    return target_for(path, options, target::TargetNeed::device_or_named);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    target::Target target;
    target.present = false;
    const std::string arch = options.arch.empty() ? "sm_90" : options.arch;
    if (const auto device = device::known_device(arch)) target.device = *device;
    if (options.arch.empty()) tell("note: no device and no compiler here: device.* is taken from {}\n", arch);
    return target;
  }
}

/// Values by name, in the spec's order.
Json named(const space::Space& space, std::uint64_t index) {
  Json json;
  const space::Config config = space.at(index);
  for (std::size_t i = 0; i < config.size(); ++i) json[space.parameters()[i].name] = record::to_json(config[i]);
  return json;
}

Json describe(const SpaceOptions& options, const spec::Spec& spec, const Bindings& problem,
              const target::Target& target) {
  base::Clock& clock = base::system_clock();
  const std::int64_t start = clock.now_ns();
  const space::Space space = space_of(spec, problem, target);
  const double construct_ms = static_cast<double>(clock.now_ns() - start) * 1e-6;
  Json json;
  if (!problem.empty()) json["problem"] = report::bindings_json(problem);
  const double cartesian = space.cartesian_size();
  if (cartesian < 9e15)
    json["cartesian"] = static_cast<std::uint64_t>(cartesian);
  else
    json["cartesian"] = cartesian;
  json["valid"] = space.size();
  json["construct_ms"] = construct_ms;
  const std::uint64_t samples = std::min(options.samples, space.size());
  if (samples > max_samples) throw bad_argument("--samples {}: at most {} are printed", options.samples, max_samples);
  const search::Permutation order(space.size(), options.seed);
  for (std::uint64_t i = 0; i < samples; ++i) json["samples"].push_back(named(space, order(i)));
  if (options.effects)
    for (const space::ConstraintEffect& effect : space.constraint_effects())
      json["constraints"].push_back(
          {{"constraint", effect.text}, {"removed", effect.removed}, {"tested", effect.tested}});
  return json;
}

void print_text(const spec::Spec& spec, const Json& json) {
  if (json.contains("problem")) print_out("problem {}\n", json["problem"].dump());
  print_out("{}, {}: {} of {} configurations are valid, constructed in {:.2f} ms\n",
            counted(spec.parameters.size(), "parameter"), counted(spec.constraints.size(), "constraint"),
            json["valid"].dump(), json["cartesian"].dump(), json["construct_ms"].get<double>());
  if (json.contains("constraints")) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& effect : json["constraints"])
      rows.push_back({effect["removed"].dump(), effect["tested"].dump(),
                      base::printable(effect["constraint"].get<std::string>(), 300)});
    print_out("{}", report::render_table({"removes", "of", "constraint"}, rows));
  }
  if (json.contains("samples"))
    for (const auto& sample : json["samples"]) print_out("{}\n", sample.dump());
}

int print_space(const SpaceOptions& options) {
  const target::Target target = target_of(options.path, options.common);
  const spec::Spec spec = load_spec_for(options.path, options.common, target);
  Printer printer(options.common.format);
  for (const Bindings& problem : spec.cases)
    printer.add([&] { return describe(options, spec, problem, target); },
                [&] { print_text(spec, describe(options, spec, problem, target)); });
  printer.end();
  return done;
}

}  // namespace

void add_space_command(CLI::App& app, Context& context) {
  const auto [command, options] =
      add_command<SpaceOptions>(app, context, "space", "Print the size of the search space, and samples of it",
                                "xtune space configs/gemm.toml --samples 5 --constraints", print_space);
  add_spec_argument(command, options.path);
  const OptionGroup search(command, option_group::search);
  search.number("--samples", options.samples, 0, "Print N different configurations, drawn uniformly");
  search.number("--seed", options.seed, 0, "Seed the samples");
  search.flag("--constraints", options.effects, "Print how many configurations each constraint removes on its own");
  add_common_options(command, options.common);
}

}  // namespace xtune::cli
