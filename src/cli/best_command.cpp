// xtune best: the best stored configuration for a problem, and how well it fits.
#include <fmt/ranges.h>

#include <deque>

#include "base/text.hpp"
#include "cli/cases.hpp"
#include "core/store/compare.hpp"
#include "core/store/objective.hpp"
#include "dispatch/selector.hpp"
#include "report/text/comparison_text.hpp"
#include "report/text/run_report.hpp"
#include "system/chosen_store.hpp"

namespace xtune::cli {
namespace {

/// What is stored for a problem, and what a call runs.
struct Answered {
  store::LookupResult found;
  run::FirstAnswer first;
  std::optional<ExpectedTime> expected;  ///< of the latter
  bool preferred() const { return found.record && first.config != found.record->config; }
};

Json answer_json(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device,
                 const Answered& answered) {
  const store::LookupResult& found = answered.found;
  Json json{{"kernel", spec.kernel.name},
            {"problem", report::bindings_json(problem)},
            {"match", store::to_string(found.match)}};
  json["best"] = nullptr;
  if (found.record) {
    json["best"] = report::measured_json(spec, *found.record);
    json["measured_for"] = report::bindings_json(found.record->problem);
    json["measured_on"] = found.record->device.name;
    json["differences"] = found.differences;
    json["failed_elsewhere"] = Json::array();
    for (const store::Record& failure : found.failed_elsewhere)
      json["failed_elsewhere"].push_back({{"problem", report::bindings_json(failure.problem)},
                                          {"outcome", to_string(failure.outcome)},
                                          {"message", failure.message}});
    json["stale"] = nullptr;
    if (found.stale) json["stale"] = {{"driver", {{"measured", found.record->device.driver}, {"now", device.driver}}}};
  }
  json["reasons"] = found.reasons;
  const Json runs = report::bindings_json(answered.first.config);
  if (!found.record) json["default"] = runs;
  json["preferred"] = answered.preferred() ? runs : Json();
  json["source"] = answered.first.origin;
  json["expected"] = report::expected_json(answered.expected);
  return json;
}

/// The configuration that answers, its time, and what speaks against it.
std::string found_text(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device,
                       const store::LookupResult& found) {
  const store::Record& record = *found.record;
  std::string text =
      fmt::format("{}: {}\n  {} on {}", store::to_string(found.match), report::config_text(spec, record.config),
                  base::human_time_ms(measure::statistic(record.time_ms, spec.measure.statistic)), record.device.name);
  if (record.problem != problem) text += ", measured for " + space::shown_text(record.problem);
  if (const std::string metrics = report::metrics_text(spec, record); !metrics.empty()) text += " (" + metrics + ")";
  text += "\n";
  if (!spec.objective.goals.empty()) text += "  " + report::objective_text(spec, record) + "\n";
  if (device::is_emulated(record.device)) text += fmt::format("  emulated: {}\n", device::simulated_times);
  if (!record.tainted.empty()) text += fmt::format("  tainted: {}\n", fmt::join(record.tainted, "; "));
  if (found.stale)
    text += fmt::format("  stale: {}; `xtune run` measures again\n", store::driver_change(record.device, device));
  else if (!found.differences.empty())
    text += fmt::format("  measured before a change ({}); `xtune run` measures again\n",
                        store::changes_text(found.differences));
  if (!found.failed_elsewhere.empty())
    text += fmt::format(
        "  suspect: the same configuration failed for {} ({}); `xtune run` measures it for this problem\n",
        space::shown_text(found.failed_elsewhere.front().problem), to_string(found.failed_elsewhere.front().outcome));
  return text;
}

void print_text(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device,
                const Answered& answered) {
  const auto& [found, first, expected] = answered;
  if (!problem.empty()) print_out("problem: {}\n", space::shown_text(problem));
  if (found.record)
    print_out("{}", found_text(spec, problem, device, found));
  else if (found.beyond)
    print_out("none: the nearest measured problem has distance {:.3g}, {}; run `xtune run SPEC`\n", *found.beyond,
              store::outside_radius(spec.dispatch.radius));
  else
    print_out("none: nothing stored for this problem; run `xtune run SPEC`\n");
  for (const std::string& reason : found.reasons) print_out("  {}\n", reason);
  const std::string config = report::config_text(spec, first.config);
  if (!found.record) print_out("  default: {}\n", config);
  if (answered.preferred()) print_out("  a loaded kernel runs {}: {}\n", config, first.instead);
  if (expected) print_out("  {}\n", report::expected_text(*expected));
}

Answered answer_of(const spec::Spec& spec, const Bindings& problem, const device::DeviceInfo& device,
                   const run::StoredAnswers& stored, store::SpecFit& fit, bool frozen) {
  Answered answered{stored.look_up(problem, fit), {}, {}};
  const run::Measured measured = run::measured_of(answered.found);
  run::Question asked{spec, problem, device};
  answered.first = frozen && answered.found.record ? run::FirstAnswer{measured.config, measured.origin}
                                                   : run::first_answer(asked, measured);
  if (measured.match != store::Match::exact)
    answered.expected = run::expected_time(asked, answered.first.config, {&stored.view(), 1});
  return answered;
}

/// [objective] across: the stored configuration for all cases together.
class AcrossAnswer {
 public:
  AcrossAnswer(const spec::Spec& spec, const run::Target& target, const store::StoreView& stored,
               const std::filesystem::path& store)
      : spec_(spec) {
    std::vector<std::unique_ptr<store::SpecFit>> fits;
    for (const Bindings& problem : spec.cases)
      fits.push_back(
          std::make_unique<store::SpecFit>(spec, problem, target.device, target.arch, target.backend.toolchain, store));
    // First the key that this spec has today; if nothing is stored for it, earlier keys, and how they differ.
    for (const store::KeyFit worst : {store::KeyFit::holds, store::KeyFit::stale, store::KeyFit::differs}) {
      std::vector<store::CaseRecords> cases;
      records_.clear();
      for (std::size_t i = 0; i < fits.size(); ++i) {
        records_.push_back(answering(stored, spec.cases[i], target.device, fits[i]->rules(), worst));
        cases.push_back({spec.cases[i], target.device, store::RecordPointers(records_.back())});
      }
      choice_ = store::choose_across(store::Objective(spec), spec.objective.across, cases);
      if (choice_) break;
    }
    for (std::size_t i = 0; choice_ && i < fits.size(); ++i)
      differences_.push_back(fits[i]->named(*choice_->records[i], fits[i]->differences(*choice_->records[i])));
  }

  bool found() const { return choice_.has_value(); }
  std::optional<Bindings> config() const { return choice_ ? std::optional(choice_->config) : std::nullopt; }
  std::string text() const {
    std::string text = report::across_text(spec_, choice_);
    if (!choice_) return text + "      `xtune run` measures what the store lacks\n";
    for (std::size_t i = 0; i < differences_.size(); ++i)
      if (!differences_[i].empty())
        text += fmt::format("      {}: measured before a change ({})\n", space::shown_text(spec_.cases[i]),
                            store::changes_text(differences_[i]));
    return text;
  }
  Json json(std::size_t index) const {
    Json json = report::across_json(spec_, choice_, index);
    if (choice_) json["differences"] = differences_[index];
    return json;
  }

 private:
  const spec::Spec& spec_;
  std::deque<std::vector<store::Record>> records_;  ///< by case
  std::optional<store::AcrossChoice> choice_;
  std::vector<std::vector<std::string>> differences_;  ///< by case, for the choice
};

/// The values of the best share of the stored configurations for exactly this problem: of today's key if there are any,
/// else of earlier ones.
store::TopValues top_values_of(const spec::Spec& spec, const Bindings& problem, const run::Target& target,
                               const run::StoredAnswers& stored, store::SpecFit& fit, double share) {
  const store::Criterion criterion = stored.criterion(problem);
  store::TopValues top;
  for (const store::KeyFit worst : {store::KeyFit::holds, store::KeyFit::stale, store::KeyFit::differs}) {
    const auto records = answering(stored.view(), problem, target.device, fit.rules(), worst);
    top = store::top_values(spec.parameters, store::RecordPointers(records), criterion, share);
    if (top.best > 0) break;
  }
  return top;
}

struct BestOptions {
  CommonOptions common;
  std::string path, top, frozen;
  std::optional<double> share;  ///< of --top
};

void read_share(BestOptions& options) {
  if (options.top.empty()) return;
  options.share = share_of("--top", options.top);
  if (!(*options.share > 0 && *options.share <= 1))
    throw bad_argument("--top '{}': write more than 0% and at most 100%", options.top);
  if (options.common.csv()) throw bad_argument("--top prints text or JSON, not CSV");
}

int print_best(BestOptions& given) {
  read_share(given);
  const CommonOptions& options = given.common;
  const std::string& path = given.path;
  const system::RememberNothing writes_nothing(!given.frozen.empty());
  const run::Target target = target_for(path, options, worker::TargetNeed::device_or_named);
  const spec::Spec spec = load_spec_for(path, options, target);
  const bool across = spec.objective.across != spec::ObjectiveSpec::Across::each && spec.cases.size() > 1;
  const std::shared_ptr<const store::Bundle> bundle = dispatch::open_bundle(given.frozen, spec.kernel.name);
  const run::StoredAnswers stored = stored_answers(spec, options, target, bundle.get());
  const std::string contents = bundle ? bundle->digest() : "";
  std::vector<store::ProblemChoice> choices;
  Printer printer(options.format);
  bool all = true;
  for (const Bindings& problem : spec.cases) {
    const std::filesystem::path store = bundle ? std::filesystem::path() : options.store_path();
    store::SpecFit fit = fit_of(spec, problem, target, store, [&](const std::string& key) {
      return dispatch::manifest_of(key, store, bundle.get());
    });
    const Answered answered = answer_of(spec, problem, target.device, stored, fit, bundle != nullptr);
    const std::optional<store::Record>& record = answered.found.record;
    all = all && record;
    choices.emplace_back(problem, record ? std::optional(record->config) : std::nullopt);
    printer.add([&] { return answer_json(spec, problem, target.device, answered); },
                [&] { print_text(spec, problem, target.device, answered); });
    if (!given.share) continue;
    const store::TopValues top = top_values_of(spec, problem, target, stored, fit, *given.share);
    if (options.json()) printer.answers().back()["top_values"] = report::top_values_json(top);
    if (options.text()) print_out("{}", report::top_values_text(top));
  }
  if (across) {
    const AcrossAnswer answer(spec, target, stored.view(), options.store_path());
    all = all && answer.found();
    choices.emplace_back(Bindings(), answer.config());
    for (std::size_t i = 0; Json & each : printer.answers()) each["across"] = answer.json(i++);
    if (options.text()) print_out("{}", answer.text());
  }
  if (bundle) {
    const std::string digest = store::choices_digest(contents, spec.kernel.name, choices);
    for (Json& answer : printer.answers()) answer["bundle_digest"] = contents, answer["digest"] = digest;
    if (options.text()) print_out("digest: {}\n", digest);
  }
  printer.end(report::best_rows);
  return all ? done : nothing_valid;
}

}  // namespace

void add_best_command(CLI::App& app, Context& context) {
  const auto [command, options] =
      add_command<BestOptions>(app, context, "best", "Print the best stored configuration for a problem",
                               "xtune best configs/gemm.toml -D M=8192 --arch sm_90\n"
                               "  xtune best configs/gemm.toml --frozen gemm.xtune --format json",
                               print_best);
  add_spec_argument(command, options.path);
  OptionGroup(command, option_group::output)
      .value("--top", options.top, "SHARE",
             "Print which parameter values the best configurations have, of this share of all that were measured: 5%")
      ->check(not_empty());
  add_common_options(command, options.common, true);
  add_store_option(command, options.common.store);
  OptionGroup(command, option_group::store)
      .value("--frozen", options.frozen, "BUNDLE",
             "Answer only from this bundle, and print a digest of its contents and of the answers, which processes can "
             "compare")
      ->excludes("--store");
}

}  // namespace xtune::cli
