// xtune import kernel-tuner: recordings of other tuners as a spec and records.
#include <fmt/core.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/space/value.hpp"
#include "core/store/record_log.hpp"
#include "lab/commands/commands.hpp"
#include "report/text/run_report.hpp"
#include "system/files.hpp"

namespace xtune::cli {
namespace {

struct ImportOptions {
  std::string path;
  std::string folder, store, name, objective;
  std::string format = "text";
  bool force = false;
};

std::string stem_of(const ImportOptions& options) {
  return file_stem(options.name.empty() ? lab::recording_name(options.path) : options.name);
}

/// The store's file for records of this kernel and architecture. A cache that is imported again gets the same file, so
/// the newer import replaces the older one.
std::filesystem::path stored_file(const std::filesystem::path& store, const lab::Recording& recording,
                                  const std::string& stem) {
  const std::string kernel = lab::kernel_name_of(recording, stem);
  const std::string what =
      stem + "\n" + kernel + "\n" + recording.device.name + "\n" + space::bindings_text(recording.problem);
  return std::filesystem::absolute(store) / "records" / store::path_component(recording.device.arch) /
         store::path_component(kernel) / ("kernel-tuner-" + base::sha256(what).substr(0, 16) + ".jsonl");
}

int import_kernel_tuner(const ImportOptions& options) {
  const std::vector<lab::Recording> read =
      read_given_recordings(options.path, std::nullopt, options.objective == "time");
  const lab::Recording& recording = read.front();
  if (recording.source != "Kernel Tuner" || read.size() != 1)
    throw Error(ErrorKind::invalid_argument,
                options.path + ": xtune's own records need no import; `xtune run --recording` replays them");
  warn_of(recording);
  const std::string stem = stem_of(options);
  const lab::ImportedTexts texts =
      lab::import_texts(recording, stem, std::filesystem::path(options.path).filename().string());
  std::filesystem::path spec, stored;
  const std::filesystem::path folder = options.folder.empty() ? "." : options.folder;
  const auto written = [&](const char* ending) { return folder / (stem + ending); };
  if (options.store.empty() || !options.folder.empty()) {
    spec = written(".toml");
    require_new_files({spec, written(".configs.csv"), written(".jsonl")}, options.force, other_files);
  }
  if (!options.store.empty()) {
    stored = stored_file(options.store, recording, stem);
    system::write_file_atomically(stored, texts.records);
  }
  if (!spec.empty()) {
    system::write_output_file(written(".configs.csv"), texts.configs);
    system::write_output_file(written(".jsonl"), texts.records);
    // Written last, and only if it is valid: an existing spec always works.
    spec::parse_spec(texts.spec, spec.string(), folder);
    system::write_output_file(spec, texts.spec);
  }

  std::map<Outcome, std::uint64_t> counts;
  for (const lab::RecordedConfig& config : recording.configs) ++counts[config.outcome];
  if (options.format == "json") {
    nlohmann::ordered_json json;
    if (!spec.empty()) json["spec"] = spec.string();
    if (!stored.empty()) json["stored"] = stored.string();
    json["kernel"] = lab::kernel_name_of(recording, stem);
    json["device"] = recording.device.name;
    json["arch"] = recording.device.arch;
    json["configs"] = recording.space.size();
    json["counts"] = report::counts_json(counts);
    json["damaged"] = recording.damage.count;
    print_json(json);
    return done;
  }
  print_out("{}: {} configurations of {} on {} ({})\n", options.path, recording.space.size(),
            lab::kernel_name_of(recording, stem), recording.device.name, report::counts_text(counts));
  if (!spec.empty()) print_out("  {}, {}.configs.csv and {}.jsonl beside it\n", spec.string(), stem, stem);
  if (!stored.empty())
    print_out("  {}: records of the architecture {} in the store\n", stored.string(), recording.device.arch);
  return done;
}

}  // namespace

void add_import_kernel_tuner(CLI::App& import, Context& context) {
  add_example(import, "xtune import kernel-tuner gemm_cache.json.gz -o recorded\n  xtune run recorded/gemm_cache.toml");
  const auto [command, options] = add_command<ImportOptions>(
      import, context, "kernel-tuner", "Turn a Kernel Tuner cache into a spec and records, which `xtune run` replays",
      "xtune import kernel-tuner gemm_cache.json.gz -o recorded", import_kernel_tuner);
  add_argument(command, "file", options.path, "FILE", "Cache file, .json or .json.gz");
  OptionGroup(command, option_group::problem)
      .words("--objective", options.objective, {"time"},
             "Rank by the times of a file with another objective, which is refused without this option");
  const OptionGroup output(command, option_group::output);
  output.value("-o,--output", options.folder, "DIR",
               "Write a spec and its records into this directory, which is created; default: the current one, and "
               "with --store none");
  output.value("--name", options.name, "NAME", "Name the written files; default: as the cache file");
  add_force_option(command, options.force);
  add_format_option(command, options.format);
  OptionGroup(command, option_group::store)
      .value("--store", options.store, "DIR",
             "Add the records to this store, where they guide searches for the same kernel");
}

}  // namespace xtune::cli
