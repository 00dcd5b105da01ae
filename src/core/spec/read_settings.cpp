// The short tables: measure, search, metrics, objective, candidates and dispatch.
#include <algorithm>

#include "base/named.hpp"
#include "core/spec/reader.hpp"
#include "core/spec/section.hpp"

namespace xtune::spec {

namespace {

// "Hot" means no flush at all, so the two keys set the same thing, and must not contradict each other.
void read_mode(Reader& reader, const TomlNode& node) {
  Flush& spec = reader.spec.measure.flush;
  const TomlNode* const flush = node.find("flush");
  const TomlNode* const mode = node.find("mode");
  if (mode == nullptr) return;
  const bool hot = reader.choice(*mode, "mode", {"cold", "hot"}) == 1;
  if (flush != nullptr && hot != (spec == Flush::none))
    reader.fail(mode->at,
                hot ? "mode = \"hot\" measures with warm caches, and flush empties them: remove one of the two"
                    : "mode = \"cold\" measures with empty caches, and flush = \"none\" leaves them warm: remove "
                      "one of the two");
  if (hot) spec = Flush::none;
}

// Either key may come from another table than the other: an entry of a suite changes one of them.
void name_statistic(MeasureSpec& spec) {
  if (spec.statistic == Statistic::mean || spec.statistic == Statistic::inlier_mean)
    spec.statistic = spec.drop_outliers ? Statistic::inlier_mean : Statistic::mean;
}

void read_measure(Reader& reader, const TomlNode& table) {
  const TomlNode* const node = table.find("measure");
  if (node == nullptr) return;
  MeasureSpec& spec = reader.spec.measure;
  measure_section.read_toml(reader, *node, "", spec);
  read_mode(reader, *node);
  name_statistic(spec);
  // If only rep is set, and below min_rep's default, few samples are wanted.
  if (spec.min_rep > spec.rep) {
    const TomlNode* const min_rep = node->find("min_rep");
    if (min_rep != nullptr && node->find("rep") != nullptr)
      reader.fail(min_rep->at,
                  "min_rep = " + std::to_string(spec.min_rep) + " is more than rep = " + std::to_string(spec.rep));
    (min_rep != nullptr ? spec.rep : spec.min_rep) = min_rep != nullptr ? spec.min_rep : spec.rep;
  }
}

void read_advisor(const Reader& reader, const TomlNode& command, SearchSpec& search) {
  AdvisorSpec advisor;
  advisor.at = reader.document.at(command.at);
  for (const Text& word : read_words(reader, command, "search.advisor",
                                     ", or give a list of words that begins with a shell: [\"sh\", \"-c\", ...]"))
    advisor.command.push_back(word.text);
  search.advisor = std::move(advisor);
}

constexpr auto search_section = section<SearchSpec>(
    "[search]", key("strategy", &SearchSpec::strategy), key("evals", &SearchSpec::evals, forms::Integer{1}),
    key("seconds", &SearchSpec::seconds, forms::Number{0.001, 1e9}), key("seed", &SearchSpec::seed, forms::Integer{0}),
    read_by("advisor", &read_advisor),
    key(
        "advisor_share", [](auto& of) -> auto& { return of.advisor->share; }, forms::Number{0.001, 1}),
    key(
        "advisor_every", [](auto& of) -> auto& { return of.advisor->every; }, forms::Integer{1}),
    key(
        "advisor_timeout_s", [](auto& of) -> auto& { return of.advisor->timeout_s; }, forms::Number{0.001, 1e6}));

void read_search(Reader& reader, const TomlNode& table) {
  const TomlNode* const node = table.find("search");
  if (node == nullptr) return;
  SearchSpec& spec = reader.spec.search;
  const TomlNode* const strategy = search_section.checked(reader, *node, search_section.title).find("strategy");
  spec.at = reader.document.at(strategy != nullptr ? strategy->at : node->at);
  if (node->find("advisor") == nullptr)
    for (const auto& [key, entry] : node->entries)
      if (key.starts_with("advisor_")) reader.fail(entry.key_at, "search." + key + " needs search.advisor, a command");
  search_section.read_keys(reader, *node, "", spec);
}

std::vector<std::string> rank_words() { return {"model", "carver"}; }

void read_candidates_dtype(const Reader& reader, const TomlNode& node, CandidatesSpec& spec) {
  spec.dtype = read_dtype(reader, node, "candidates.dtype", spec.dtype_text);
}

void read_map(const Reader& reader, const TomlNode& node, CandidatesSpec& spec) {
  spec.map_at = reader.document.at(node.at);
  for (const auto& [field, value] : reader.table(node, "candidates.map").entries)
    spec.map.push_back({field, reader.document.at(value.key_at), reader.expression(value, "candidates.map")});
}

constexpr auto candidates_section = section<CandidatesSpec>(
    "[candidates]", required("template", &CandidatesSpec::template_name, "[candidates] has no template"),
    key("top_k", &CandidatesSpec::top_k, forms::Integer{1, 1'000'000}),
    key("rank", &CandidatesSpec::rank, forms::Choice{&rank_words}), read_by("dtype", &read_candidates_dtype),
    read_by("map", &read_map));

void read_candidates(Reader& reader) {
  const TomlNode* const node = reader.document.root().find("candidates");
  if (node == nullptr) return;
  CandidatesSpec spec;
  spec.at = spec.map_at = reader.document.at(node->at);
  candidates_section.read_toml(reader, *node, "", spec);
  spec.template_at = reader.document.at(node->find("template")->at);
  reader.spec.candidates = std::move(spec);
}

constexpr auto across_words = base::enum_words<ObjectiveSpec::Across>("each", "geomean", "worst");
constexpr auto objective_section =
    section<ObjectiveSpec>("[objective]", read_apart("minimize"), read_apart("maximize"),
                           key("across", &ObjectiveSpec::across, forms::Word{across_words}));

void read_objective(Reader& reader) {
  const TomlNode* const node = reader.document.root().find("objective");
  if (node == nullptr) return;
  ObjectiveSpec& spec = reader.spec.objective;
  spec.at = reader.document.at(node->at);
  objective_section.read_toml(reader, *node, "", spec);
  for (const auto& [key, value] : node->entries) {
    if (key != "minimize" && key != "maximize") continue;
    const bool several = value.is_array();
    for (Text& text : several ? reader.expressions(value, key) : std::vector<Text>{reader.expression(value, key)})
      spec.goals.push_back({std::move(text), key == "maximize"});
  }
  if (spec.goals.size() > 2)
    reader.fail(node->at, "[objective] has " + std::to_string(spec.goals.size()) +
                              " goals; it takes one, or two that are weighed against each other");
}

void read_default(const Reader& reader, const TomlNode& node, DispatchSpec& spec) {
  spec.default_config = read_configuration(reader, node, "dispatch.default");
}

constexpr auto dispatch_section =
    section<DispatchSpec>("[dispatch]", key("key", &DispatchSpec::key),
                          key("radius", &DispatchSpec::radius, forms::Number{0}), read_by("default", &read_default));

void read_dispatch(Reader& reader) {
  if (const TomlNode* const node = reader.document.root().find("dispatch"))
    dispatch_section.read_toml(reader, *node, "dispatch.", reader.spec.dispatch);
}

}  // namespace

const std::vector<std::string>& quantity_names() {
  static const std::vector<std::string> names{"energy_j", "registers", "repeatable", "shared_bytes", "spilled_bytes"};
  return names;
}

void read_budget(Reader& reader, const TomlNode& table) {
  read_measure(reader, table);
  read_search(reader, table);
}

bool names_input(const Spec& spec, const std::string& name) {
  return spec.cases.front().contains(name) || base::find_named(spec.parameters, name);
}

void read_metrics(Reader& reader) {
  const TomlNode* const metrics = reader.document.root().find("metrics");
  if (metrics == nullptr) return;
  const std::vector<std::string> reported = reported_names(reader.spec);
  for (auto& [name, text] : reader.named_texts(*metrics, "metrics")) {
    const auto refuse = [&](const std::string& why) {
      reader.fail(metrics->find(name)->key_at, "the metric '" + name + "' " + why + ": choose another name");
    };
    if (std::find(reported.begin(), reported.end(), name) != reported.end()) refuse("is in [process.metrics] as well");
    if (name == "time_ms" || name == "time_s") refuse("would stand beside the measured time of that name");
    if (names_input(reader.spec, name)) refuse("is a parameter or a name of [problem] as well");
    reader.spec.metrics.push_back({name, std::move(text)});
  }
}

void read_settings(Reader& reader) {
  read_budget(reader, reader.document.root());
  read_metrics(reader);
  read_objective(reader);
  read_candidates(reader);
  read_dispatch(reader);
}

SectionKeys keys_of_settings() {
  return {measure_section.titled(), search_section.titled(), objective_section.titled(), candidates_section.titled(),
          dispatch_section.titled()};
}

SectionKeys keys_of_sections() {
  SectionKeys all;
  for (const auto& of : {keys_of_kernel(), keys_of_args(), keys_of_validate(), keys_of_process(), keys_of_settings()})
    all.insert(all.end(), of.begin(), of.end());
  return all;
}

}  // namespace xtune::spec
