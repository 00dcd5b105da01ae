// xtune space: the size of the search space, the time to construct it, and its configurations. xtune candidates: which
// of them the model of the hardware rates best, and why; needs no device.

#include <fmt/ranges.h>

#include <chrono>

#include "base/text.hpp"
#include "cli/cases.hpp"
#include "core/device/backend_facts.hpp"
#include "core/model/rank.hpp"
#include "core/search/samples.hpp"
#include "core/store/record.hpp"
#include "report/text/run_report.hpp"
#include "system/clock.hpp"

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
run::Target target_of(const std::string& path, const CommonOptions& options) {
  try {
    return target_for(path, options, worker::TargetNeed::device_or_named);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    run::Target target;
    target.present = false;
    const std::string arch = options.arch.empty() ? "sm_90" : options.arch;
    if (const auto device = device::known_device(arch)) target.device = *device;
    if (options.arch.empty()) tell("note: no device and no compiler here: device.* is taken from {}\n", arch);
    return target;
  }
}

Json describe(const SpaceOptions& options, const spec::Spec& spec, const Bindings& problem, const run::Target& target) {
  system::Clock& clock = system::system_clock();
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
  if (samples > max_samples) throw bad_argument("--rows {}: at most {} are printed", options.samples, max_samples);
  const search::Permutation order(space.size(), options.seed);
  for (std::uint64_t i = 0; i < samples; ++i)
    json["samples"].push_back(report::bindings_json(space.named(space.at(order(i)))));
  if (options.effects)
    for (const space::ConstraintEffect& effect : space.constraint_effects())
      json["constraints"].push_back(
          {{"constraint", effect.text}, {"removed", effect.removed}, {"tested", effect.tested}});
  return json;
}

void print_text(const spec::Spec& spec, const Json& json) {
  const auto values = [](const Json& bindings) { return space::bindings_from_json(nlohmann::json(bindings)); };
  if (json.contains("problem")) print_out("problem: {}\n", space::shown_text(values(json["problem"])));
  print_out("{}, {}: {} of {} configurations are valid, constructed in {:.2f} ms\n",
            counted(spec.parameters.size(), "parameter"), counted(spec.constraints.size(), "constraint"),
            json["valid"].dump(), json["cartesian"].dump(), json["construct_ms"].get<double>());
  if (json.contains("constraints")) {
    report::FittedTable table{{{"removes"}, {"of"}, {"constraint", report::FittedTable::Kind::text}}};
    for (const auto& effect : json["constraints"])
      table.rows.push_back({effect["removed"].dump(), effect["tested"].dump(),
                            base::printable(effect["constraint"].get<std::string>(), 300)});
    print_table(table);
  }
  if (json.contains("samples"))
    for (const auto& sample : json["samples"]) print_out("{}\n", report::config_text(spec, values(sample)));
}

int print_space(const SpaceOptions& options) {
  const run::Target target = target_of(options.path, options.common);
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
                                "xtune space configs/gemm.toml --rows 5 --constraints", print_space);
  add_spec_argument(command, options.path);
  const OptionGroup search(command, option_group::search);
  search.number("--rows,--samples", options.samples, 0, "Print N different configurations, drawn uniformly");
  search.number("--seed", options.seed, 0, "Seed the samples");
  search.flag("--constraints", options.effects, "Print how many configurations each constraint removes on its own");
  add_common_options(command, options.common);
}

namespace {

struct CandidatesOptions {
  CommonOptions common;
  std::string path, template_name, dtype, product, rank;
  int top = 0;  ///< 0: as in the spec
  std::uint64_t seed = 1;
};

device::DeviceInfo known_or_error(const std::optional<device::DeviceInfo>& device, const char* option,
                                  const std::string& word, const std::string& hint,
                                  const std::vector<std::string>& known) {
  if (device) return *device;
  throw bad_argument("{} '{}' is unknown{}; known: {}", option, base::printable(word, 80), hint,
                     fmt::join(known, ", "));
}

device::DeviceInfo product_or_error(const std::string& name) {
  if (const auto device = device::known_product(name)) return *device;
  const std::vector<std::string> known = device::known_products();
  if (const auto called = device::products_called(name); !called.empty())
    throw bad_argument("--product {}: there are several: {}; give a full name", name, fmt::join(called, ", "));
  std::vector<std::string> alike;
  for (const std::string& product : known)
    if (!name.empty() && base::lower_case(product).find(base::lower_case(name)) != std::string::npos)
      alike.push_back(product);
  if (alike.empty()) return known_or_error(std::nullopt, "--product", name, base::did_you_mean(name, known), known);
  throw bad_argument("--product {}: unknown; similar names: {}", name, fmt::join(alike, ", "));
}

/// The cost model supports only GPUs.
std::optional<device::DeviceInfo> gpu_of(const std::string& arch) {
  std::optional<device::DeviceInfo> device = device::known_device(arch);
  if (device && device::is_cpu(*device)) device.reset();
  return device;
}

std::vector<std::string> gpu_archs() {
  std::vector<std::string> archs = device::known_archs();
  std::erase_if(archs, [](const std::string& arch) { return !gpu_of(arch); });
  return archs;
}

/// A product, an architecture, or the device of this machine.
device::DeviceInfo device_for(const CandidatesOptions& options) {
  if (!options.product.empty()) {
    device::DeviceInfo device = product_or_error(options.product);
    if (!options.common.arch.empty() && device::base_arch(options.common.arch) != device::base_arch(device.arch))
      throw bad_argument("--product {} is {}, not --arch {}", device.name, device.arch, options.common.arch);
    return device;
  }
  if (const auto named = device::known_device(options.common.arch); named && device::is_cpu(*named))
    throw bad_argument("--arch {}: the cost model covers GPUs, and this is a CPU", options.common.arch);
  if (!options.common.arch.empty())
    return known_or_error(gpu_of(options.common.arch), "--arch", options.common.arch,
                          device::did_you_mean_arch(options.common.arch), gpu_archs());
  run::Target target;
  try {
    target = worker::choose_target(options.common.target_options(worker::TargetNeed::device));
  } catch (const Error& error) {
    throw Error(error.kind(), std::string(error.what()) + "\nname a device that is not here with --arch or --product");
  }
  if (device::is_cpu(target.device))
    throw bad_argument("the cost model covers GPUs, and there is none here: name one with --arch or --product");
  return target.device;
}

[[noreturn]] void no_section(const std::string& path) {
  throw Error(
      ErrorKind::invalid_spec,
      path +
          ": the spec has no table [candidates], which maps the cost model's fields to parameters. For a matrix "
          "multiplication, add for instance:\n"
          "  [candidates]\n"
          "  template = \"matmul\"\n"
          "  [candidates.map]\n"
          "  block_m = \"BLOCK_M\"\n"
          "  block_n = \"BLOCK_N\"\n"
          "docs/candidates.md lists the templates and their fields");
}

Json part_json(const model::Estimate& estimate) {
  return {{"time_ms", estimate.time_ms},
          {"bound", estimate.bound},
          {"residency", estimate.residency},
          {"blocks_per_unit", estimate.blocks_per_unit},
          {"occupancy", estimate.occupancy},
          {"waves", estimate.waves},
          {"registers", estimate.registers},
          {"spilled", estimate.spilled},
          {"traffic_bytes", estimate.memory_bytes},
          {"compute_ms", estimate.compute_ms},
          {"shared_ms", estimate.shared_ms},
          {"cache_ms", estimate.cache_ms},
          {"l2_ms", estimate.l2_ms},
          {"memory_ms", estimate.memory_ms},
          {"latency_ms", estimate.latency_ms}};
}

Json ranking_json(const spec::Spec& spec, const space::Space& space, const Bindings& problem,
                  const device::DeviceModel& device, const model::RankOptions& options, const model::Ranking& ranking) {
  Json json;
  json["device"] = {{"name", device.info.name}, {"arch", device.info.arch}};
  json["template"] = spec.candidates->template_name;
  json["rank"] = options.mode == model::RankMode::carver ? "carver" : "model";
  if (!problem.empty()) json["problem"] = report::bindings_json(problem);
  json["space"] = {
      {"valid", space.size()}, {"scored", ranking.scored}, {"unfit", ranking.unfit}, {"whole", ranking.whole}};
  json["candidates"] = Json::array();
  for (const model::RankedConfig& config : ranking.configs) {
    Json entry{{"index", config.index},
               {"config", report::bindings_json(space.named(space.at(config.index)))},
               {"cost", config.cost},
               {"reason", config.reason}};
    if (config.estimate) entry["estimate"] = part_json(*config.estimate);
    json["candidates"].push_back(std::move(entry));
  }
  return json;
}

void print_ranking(const space::Space& space, const Bindings& problem, const device::DeviceModel& device,
                   const model::RankOptions& options, const model::Ranking& ranking) {
  if (!problem.empty()) print_out("problem: {}\n", space::shown_text(problem));
  print_out("device: {} ({}); {} of {} configurations scored{}, {} of them do not fit\n\n", device.info.name,
            device.info.arch, ranking.scored, space.size(), ranking.whole ? "" : " (a sample, improved)",
            ranking.unfit);
  const bool model = options.mode == model::RankMode::model;
  using Kind = report::FittedTable::Kind;
  report::FittedTable table{{{"#"}, {model ? "estimate" : "cost"}}};
  for (const space::Parameter& parameter : space.parameters())
    table.columns.push_back({parameter.name, Kind::parameter});
  table.columns.push_back({"why", Kind::text});
  for (const model::RankedConfig& config : ranking.configs) {
    std::vector<std::string> row{std::to_string(table.rows.size() + 1),
                                 model ? base::human_time_ms(config.cost) : fmt::format("{:.3e}", config.cost)};
    for (const Value& value : space.at(config.index)) row.push_back(to_text(value));
    row.push_back(config.reason);
    table.rows.push_back(std::move(row));
  }
  print_table(table);
}

/// The sizes of a template without a spec: -D M=4096.
Bindings sizes(const std::vector<std::string>& defines) {
  Bindings problem;
  for (const std::string& define : defines) {
    const auto [name, text] = name_and_value("-D", define, "-D NAME=INTEGER");
    const auto value = number_in<std::int64_t>(text);
    if (!value) throw bad_argument("-D {}: a size is NAME=<integer>", define);
    problem[name] = *value;
  }
  return problem;
}

int print_candidates(const CandidatesOptions& options) {
  if (options.path.empty() == options.template_name.empty())
    throw bad_argument("give a spec, or --template with its sizes as -D NAME=value");
  const device::DeviceModel device = device::device_model(device_for(options));
  const Bindings facts = device::device_facts(device.info);
  spec::Spec spec;
  if (options.template_name.empty()) {
    const std::string backend = device::backend_of_vendor(device.info.vendor);
    spec = read_spec(options.path, options.common, backend);
    tell_notes(spec);
    if (!spec.candidates) no_section(options.path);
  } else {
    spec = model::template_spec(options.template_name, options.dtype.empty() ? "f32" : options.dtype,
                                sizes(options.common.defines), device);
  }
  if (!options.rank.empty()) spec.candidates->rank = options.rank;
  if (!options.dtype.empty()) {
    spec.candidates->dtype_text.reset();
    spec.candidates->dtype = dtype_from_string(options.dtype);
    if (!spec.candidates->dtype)
      throw bad_argument("--dtype '{}' is not an element type{}", base::printable(options.dtype, 80),
                         spec::did_you_mean_dtype(options.dtype));
  }
  if (options.top > 0) spec.candidates->top_k = options.top;
  model::RankOptions rank = model::rank_options(*spec.candidates);
  rank.seed = options.seed;
  model::check_candidates(spec);
  Printer printer(options.common.format);
  for (const Bindings& problem : spec.cases) {
    const space::Space space = spec::make_space(spec, problem, facts);
    const model::Ranking ranking = model::rank_candidates(spec, space, problem, device, rank);
    printer.add([&] { return ranking_json(spec, space, problem, device, rank, ranking); },
                [&] { print_ranking(space, problem, device, rank, ranking); });
  }
  printer.end();
  return done;
}

}  // namespace

void add_candidates_command(CLI::App& app, Context& context) {
  const auto [command, options] = add_command<CandidatesOptions>(
      app, context, "candidates", "List what a model of the hardware rates best, and why",
      "xtune candidates configs/gemm.toml --arch gfx942 --rows 10\n"
      "  xtune candidates --template matmul -D M=4096 -D N=4096 -D K=4096 --dtype f16 --arch sm_90",
      print_candidates);
  add_spec_argument(command, options.path)->required(false);
  const OptionGroup search(command, option_group::search), problem(command, option_group::problem);
  search.number("--rows,--top", options.top, 1, "List this many, instead of the spec's top_k", 1'000'000);
  search.words("--rank", options.rank, {"model", "carver"}, "Rank by this, instead of the spec's rank");
  search.number("--seed", options.seed, 0, "Seed the sample that stands for a huge space");
  problem.value("--template", options.template_name, "NAME",
                "Rank the space of a template, with its sizes by -D, instead of a spec's");
  add_problem_options(command, options.common);
  problem.value("--dtype", options.dtype, "TYPE", "Set the element type of the inputs, instead of the spec's");
  add_arch_option(command, options.common,
                  "Choose an architecture, such as sm_90 or gfx942; default: this machine's GPU");
  OptionGroup(command, option_group::device)
      .value("--product", options.product, "NAME", "Choose a product of an architecture, such as \"RTX 2080 Ti\"");
  add_backend_option(command, options.common, "Take the device of this backend");
  add_device_option(command, options.common);
  add_format_option(command, options.common.format);
}

}  // namespace xtune::cli
