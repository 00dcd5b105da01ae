// xtune why: why the store answers for a configuration, or why it does not.

#include <map>
#include <unordered_map>

#include "cli/cases.hpp"
#include "core/build/manifest.hpp"
#include "core/resolve/measurement_keys.hpp"
#include "core/space/value.hpp"
#include "core/store/record_log.hpp"
#include "report/text/run_report.hpp"

namespace xtune::cli {
namespace {

// Maximum number of configurations of all cases together: comparing more takes seconds and does not help.
constexpr std::uint64_t max_configs = 20'000;
constexpr std::uint64_t min_configs = 20;  ///< for each case, for any number of cases

struct Verdicts {
  std::uint64_t asked = 0, stored = 0, never = 0;
  std::map<std::string, std::uint64_t> differing;  ///< differing parts of the key -> number of configurations
  std::vector<std::string> example;                ///< all differences of the first miss
  std::string example_config;
};

/// Finds the stored records of a configuration, for any problem.
class MeasuredConfigs {
 public:
  explicit MeasuredConfigs(const store::StoreView& view) {
    rows_.reserve(view.records());
    view.each_row([&](const store::StoredConfig& row) { rows_.emplace(hash(row.names(), row.values()), &row); });
  }

  bool has(const Bindings& config) const { return rows_.contains(hash(config)); }

  struct Nearest {
    std::vector<std::string> differences;  ///< stored -> today, one line each; empty: none
    std::string artifact_key;              ///< of the record
  };
  /// The stored record of the configuration whose key differs in the fewest parts. Of many records only the newest few
  /// are compared, those of this problem and device before others.
  Nearest nearest(const Bindings& config, const build::KeyParts& parts, const Bindings& problem,
                  const device::DeviceInfo& device) const {
    const std::string key = build::key_of(parts);
    std::optional<Nearest> best;
    const auto add = [&](const store::Record& record) {
      std::vector<std::string> differences = build::key_difference(record.key_parts, parts);
      if (store::same_driver(record.device, device))
        std::erase_if(differences, [](const std::string& line) { return line.starts_with("driver: "); });
      if (record.key == key) differences.clear();
      if (!best || differences.size() < best->differences.size())
        best = Nearest{std::move(differences), record.artifact_key};
    };
    for (const store::StoredConfig* row : nearest_rows(config, problem, device)) add(store::read_record(*row));
    return *std::move(best);
  }

 private:
  static std::size_t hash(std::string_view names, std::string_view values) {
    return std::hash<std::string_view>()(names) * 31 + std::hash<std::string_view>()(values);
  }

  static std::size_t hash(const Bindings& config) {
    std::string names, values;
    store::encode_bindings(config, names, values);
    return hash(names, values);
  }

  std::vector<const store::StoredConfig*> nearest_rows(const Bindings& config, const Bindings& problem,
                                                       const device::DeviceInfo& device) const {
    constexpr std::ptrdiff_t max_rows = 8;
    const auto [begin, end] = rows_.equal_range(hash(config));
    std::vector<const store::StoredConfig*> rows;
    for (auto row = begin; row != end; ++row) rows.push_back(row->second);
    const auto rank = [&](const store::StoredConfig* row) {
      const bool own = row->problem() == problem && store::same_device(row->device(), device);
      return std::tuple(!own, -row->unix_time_ms, row->block->file, row->offset());
    };
    const auto last = rows.begin() + std::min(max_rows, std::ssize(rows));
    std::partial_sort(rows.begin(), last, rows.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
    rows.erase(last, rows.end());
    return rows;
  }

  std::unordered_multimap<std::size_t, const store::StoredConfig*> rows_;  ///< by the hash of the configuration
};

/// Which of the first configurations have a stored result for this problem on this kind of device.
std::vector<bool> stored_of(std::uint64_t count, const space::Space& space, const resolve::CandidateResolver& resolver,
                            const store::StoreView& stored, const Bindings& problem, const device::DeviceInfo& device) {
  std::unordered_multimap<store::KeyDigest, std::uint64_t, store::KeyDigestHash> wanted;
  resolve::MeasurementKeys keys(resolver);
  for (std::uint64_t i = 0; i < count; ++i)
    keys.any(space.at(i), [&](const base::Sha256& key) { return wanted.emplace(key, i), false; });
  std::vector<bool> found(count);
  const store::HeldRows members = stored.read_members(problem, device, false);
  for (const store::StoredConfig* row : members.rows)
    for (auto [one, end] = wanted.equal_range(row->key); one != end; ++one) found[one->second] = true;
  return found;
}

/// The sources of today's configurations: most have the same source and files, which are read once.
class SourcesOfToday {
 public:
  const build::ArtifactSources& of(const build::CompileRequest& request) {
    if (request.source != source_ || request.files != files_) {
      sources_ = store::sources_now(request);
      source_ = request.source;
      files_ = request.files;
    }
    sources_.settings = build::settings_of(request);
    return sources_;
  }

 private:
  std::string source_;
  std::shared_ptr<const build::KeyedFiles> files_;
  build::ArtifactSources sources_ = {};
};

Verdicts judge(const spec::Spec& spec, const space::Space& space, const resolve::CandidateResolver& resolver,
               const Bindings& problem, const device::DeviceInfo& device, const run::StoredAnswers& stored,
               std::optional<MeasuredConfigs>& measured, const std::filesystem::path& store) {
  Verdicts verdicts;
  verdicts.asked = std::min(space.size(), std::max(max_configs / spec.cases.size(), min_configs));
  const std::vector<bool> found = stored_of(verdicts.asked, space, resolver, stored.view(), problem, device);
  SourcesOfToday today;
  for (std::uint64_t i = 0; i < verdicts.asked; ++i) {
    if (found[i]) {
      ++verdicts.stored;
      continue;
    }
    const space::Config config = space.at(i);
    if (!measured) measured.emplace(stored.view());
    const Bindings named = space.named(config);
    if (!measured->has(named)) {
      ++verdicts.never;
      continue;
    }
    const build::CompileRequest request = resolver.compile_request(config);
    const build::KeyParts parts = resolver.measurement_key_parts(config, resolver.artifact_key(request));
    MeasuredConfigs::Nearest nearest = measured->nearest(named, parts, problem, device);
    const std::vector<std::string> difference =
        store::with_changes_named(std::move(nearest.differences), store, nearest.artifact_key, today.of(request));
    if (difference.empty()) {
      ++verdicts.stored;
      continue;
    }
    ++verdicts.differing[build::part_names(difference)];
    if (verdicts.example.empty()) {
      verdicts.example = difference;
      verdicts.example_config = report::config_text(spec, named);
    }
  }
  return verdicts;
}

Json verdicts_json(const Bindings& problem, const Verdicts& verdicts, const store::LookupResult& lookup) {
  Json json{{"problem", report::bindings_json(problem)},
            {"configurations", verdicts.asked},
            {"stored", verdicts.stored},
            {"never_measured", verdicts.never}};
  json["differing"] = Json::object();
  for (const auto& [parts, count] : verdicts.differing) json["differing"][parts] = count;
  json["example"] = {{"config", verdicts.example_config}, {"differences", verdicts.example}};
  json["lookup"] = {{"match", store::to_string(lookup.match)}, {"reasons", lookup.reasons}};
  return json;
}

void print_text(const Bindings& problem, const Verdicts& verdicts, const store::LookupResult& lookup) {
  if (!problem.empty()) print_out("problem: {}\n", space::shown_text(problem));
  print_out("{} configurations: {} stored, {} never measured here\n", verdicts.asked, verdicts.stored, verdicts.never);
  for (const auto& [parts, count] : verdicts.differing) {
    const bool of_problem = (", " + parts + ",").find(", problem,") != std::string::npos;
    print_out("  {} measured {}; what differs: {}\n", count, of_problem ? "for other problems" : "under another key",
              parts);
  }
  if (!verdicts.example.empty()) {
    print_out("  for example {} (stored -> now):\n", verdicts.example_config);
    for (const std::string& difference : verdicts.example) print_out("    {}\n", difference);
  }
  print_out("lookup: {}\n", store::to_string(lookup.match));
  for (const std::string& reason : lookup.reasons) print_out("  {}\n", reason);
}

struct WhyOptions : CommonOptions {
  std::string path;
};

int explain(const WhyOptions& options) {
  const run::Target target = target_for(options.path, options, worker::TargetNeed::device_or_named);
  const spec::Spec spec = load_spec_for(options.path, options, target);
  const run::StoredAnswers stored = stored_answers(spec, options, target);
  if (stored.view().records() == 0)
    for (const std::string& arch : store::recorded_archs(options.store_path(), spec.kernel.name))
      if (arch != target.device.arch)
        tell("note: {} has records of this kernel for {}, which never answer for {}\n", options.store_path().string(),
             arch, target.device.arch);
  std::optional<MeasuredConfigs> measured;  // only if a key is not stored
  Printer printer(options.format);
  for (const Bindings& problem : spec.cases) {
    const space::Space space = space_of(spec, problem, target);
    const resolve::CandidateResolver resolver = resolver_of(spec, space, problem, target, options.store_path());
    const Verdicts verdicts =
        judge(spec, space, resolver, problem, target.device, stored, measured, options.store_path());
    store::SpecFit fit = fit_of(spec, problem, target, options.store_path());
    const store::LookupResult lookup = stored.look_up(problem, fit);
    printer.add([&] { return verdicts_json(problem, verdicts, lookup); },
                [&] { print_text(problem, verdicts, lookup); });
  }
  printer.end();
  return done;
}

}  // namespace

// Also a subcommand of `store`, where a user who inspects a store looks for it.
void add_why_command(CLI::App& app, Context& context) {
  const auto [command, options] = add_command<WhyOptions>(
      app, context, "why", "Explain why the store answers, or what differs",
      (app.get_name() == "store" ? "xtune store why" : "xtune why") + std::string(" configs/gemm.toml -D BLOCK_M=64"),
      explain);
  add_spec_argument(command, options.path);
  add_common_options(command, options);
  add_store_option(command, options.store);
}

}  // namespace xtune::cli
