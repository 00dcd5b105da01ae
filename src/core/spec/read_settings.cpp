// The short tables: measure, search, metrics, objective, candidates and dispatch.
#include <algorithm>

#include "core/spec/process_reader.hpp"
#include "core/spec/reader.hpp"

namespace xtune::spec {

namespace {

const TomlNode* section_of(const Reader& reader, const TomlNode& table, const std::string& name,
                           const std::vector<std::string>& keys) {
  const TomlNode* const node = table.find(name);
  if (node != nullptr) reader.check_keys(reader.table(*node, "[" + name + "]"), "[" + name + "]", keys);
  return node;
}

const TomlNode* section(const Reader& reader, const std::string& name, const std::vector<std::string>& keys) {
  return section_of(reader, reader.document.root(), name, keys);
}

// "Hot" means no flush at all, so the two keys set the same thing, and must not contradict each other.
void read_mode(Reader& reader, const TomlNode& node) {
  Flush& spec = reader.spec.measure.flush;
  const TomlNode* const flush = node.find("flush");
  if (flush != nullptr) spec = reader.word(*flush, "flush", flush_words);
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
void read_statistic(Reader& reader, const TomlNode& node) {
  MeasureSpec& spec = reader.spec.measure;
  if (const TomlNode* statistic = node.find("statistic"))
    spec.statistic = static_cast<Statistic>(reader.choice(*statistic, "statistic", {"median", "min", "mean"}));
  if (const TomlNode* outliers = node.find("outliers"))
    spec.drop_outliers = reader.choice(*outliers, "outliers", {"keep", "drop"}) == 1;
  if (spec.statistic == Statistic::mean || spec.statistic == Statistic::inlier_mean)
    spec.statistic = spec.drop_outliers ? Statistic::inlier_mean : Statistic::mean;
}

void read_measure(Reader& reader, const TomlNode& table) {
  const TomlNode* const node =
      section_of(reader, table, "measure",
                 {"warmup", "rep", "min_rep", "min_time_ms", "max_time_ms", "noise", "timeout_s", "wait_s", "energy_ms",
                  "mode", "flush", "launch", "statistic", "outliers", "race", "finals"});
  if (node == nullptr) return;
  MeasureSpec& spec = reader.spec.measure;
  const auto count = [&](const char* key, int& target, std::int64_t least) {
    if (const TomlNode* entry = node->find(key))
      target = static_cast<int>(reader.integer(*entry, key, least, 1'000'000));
  };
  const auto number = [&](const char* key, double& target, double least, double most) {
    if (const TomlNode* entry = node->find(key)) target = reader.number(*entry, key, least, most);
  };
  count("warmup", spec.warmup, 0);
  count("rep", spec.rep, 1);
  count("min_rep", spec.min_rep, 1);
  number("min_time_ms", spec.min_time_ms, 0, 1e9);
  number("max_time_ms", spec.max_time_ms, 0, 1e9);
  number("noise", spec.noise, 0, 1);
  number("timeout_s", spec.timeout_s, 0.001, 1e6);
  number("wait_s", spec.wait_s, 0, 3600);
  number("energy_ms", spec.energy_ms, 0, 1e6);
  read_mode(reader, *node);
  if (const TomlNode* launch = node->find("launch")) spec.launch = reader.word(*launch, "launch", launch_words);
  read_statistic(reader, *node);
  if (const TomlNode* race = node->find("race")) spec.race = reader.boolean(*race, "race");
  count("finals", spec.finals, 0);
  // If only rep is set, and below min_rep's default, few samples are wanted.
  if (spec.min_rep > spec.rep) {
    if (node->find("min_rep") != nullptr && node->find("rep") != nullptr)
      reader.fail(node->find("min_rep")->at,
                  "min_rep = " + std::to_string(spec.min_rep) + " is more than rep = " + std::to_string(spec.rep));
    (node->find("min_rep") != nullptr ? spec.rep : spec.min_rep) =
        node->find("min_rep") != nullptr ? spec.min_rep : spec.rep;
  }
}

void read_advisor(const Reader& reader, const TomlNode& search, SearchSpec& spec) {
  const TomlNode* const command = search.find("advisor");
  if (command == nullptr) {
    for (const char* key : {"advisor_share", "advisor_every", "advisor_timeout_s"})
      if (const TomlNode* node = search.find(key))
        reader.fail(node->key_at, std::string("search.") + key + " needs search.advisor, a command");
    return;
  }
  AdvisorSpec advisor;
  advisor.at = reader.document.at(command->at);
  if (command->is_array()) {
    for (const TomlNode& word : command->items) advisor.command.push_back(reader.text(word, "search.advisor"));
  } else {
    for (const Text& word : compiled(reader, [&] {
           return split_command(reader.placed_text(*command, "search.advisor"),
                                ", or give a list of words that begins with a shell: [\"sh\", \"-c\", ...]");
         }))
      advisor.command.push_back(word.text);
  }
  if (advisor.command.empty() || advisor.command.front().empty())
    reader.fail(command->at, "search.advisor is empty: give the words of a command");
  if (const TomlNode* share = search.find("advisor_share"))
    advisor.share = reader.number(*share, "search.advisor_share", 0.001, 1);
  if (const TomlNode* every = search.find("advisor_every"))
    advisor.every = static_cast<std::uint64_t>(reader.integer(*every, "search.advisor_every", 1));
  if (const TomlNode* timeout = search.find("advisor_timeout_s"))
    advisor.timeout_s = reader.number(*timeout, "search.advisor_timeout_s", 0.001, 1e6);
  spec.advisor = std::move(advisor);
}

void read_search(Reader& reader, const TomlNode& table) {
  const TomlNode* const node = section_of(
      reader, table, "search",
      {"strategy", "evals", "seconds", "seed", "advisor", "advisor_share", "advisor_every", "advisor_timeout_s"});
  if (node == nullptr) return;
  SearchSpec& spec = reader.spec.search;
  spec.at = reader.document.at(node->at);
  if (const TomlNode* strategy = node->find("strategy")) {
    spec.strategy = reader.text(*strategy, "strategy");
    spec.at = reader.document.at(strategy->at);
  }
  if (const TomlNode* evals = node->find("evals"))
    spec.evals = static_cast<std::uint64_t>(reader.integer(*evals, "evals", 1));
  if (const TomlNode* seconds = node->find("seconds")) spec.seconds = reader.number(*seconds, "seconds", 0.001, 1e9);
  if (const TomlNode* seed = node->find("seed"))
    spec.seed = static_cast<std::uint64_t>(reader.integer(*seed, "seed", 0));
  read_advisor(reader, *node, spec);
}

void read_candidates(Reader& reader) {
  const TomlNode* const node = section(reader, "candidates", {"template", "top_k", "rank", "dtype", "map"});
  if (node == nullptr) return;
  CandidatesSpec spec;
  spec.at = spec.map_at = reader.document.at(node->at);
  const TomlNode* const name = node->find("template");
  if (name == nullptr) reader.fail(node->at, "[candidates] has no template");
  spec.template_name = reader.text(*name, "template");
  spec.template_at = reader.document.at(name->at);
  if (const TomlNode* top_k = node->find("top_k"))
    spec.top_k = static_cast<int>(reader.integer(*top_k, "top_k", 1, 1'000'000));
  if (const TomlNode* rank = node->find("rank")) {
    reader.choice(*rank, "rank", {"model", "carver"});
    spec.rank = reader.text(*rank, "rank");
  }
  if (const TomlNode* dtype = node->find("dtype")) {
    spec.dtype = read_dtype(reader, *dtype, "candidates.dtype", spec.dtype_text);
  }
  if (const TomlNode* map = node->find("map")) {
    spec.map_at = reader.document.at(map->at);
    for (const auto& [field, value] : reader.table(*map, "candidates.map").entries)
      spec.map.push_back({field, reader.document.at(value.key_at), reader.expression(value, "candidates.map")});
  }
  reader.spec.candidates = std::move(spec);
}

void read_objective(Reader& reader) {
  const TomlNode* const node = section(reader, "objective", {"minimize", "maximize", "across"});
  if (node == nullptr) return;
  ObjectiveSpec& spec = reader.spec.objective;
  spec.at = reader.document.at(node->at);
  for (const auto& [key, value] : reader.table(*node, "[objective]").entries) {
    if (key == "across") {
      spec.across = static_cast<ObjectiveSpec::Across>(reader.choice(value, key, {"each", "geomean", "worst"}));
      continue;
    }
    const bool several = value.is_array();
    for (Text& text : several ? reader.expressions(value, key) : std::vector<Text>{reader.expression(value, key)})
      spec.goals.push_back({std::move(text), key == "maximize"});
  }
  if (spec.goals.size() > 2)
    reader.fail(node->at, "[objective] has " + std::to_string(spec.goals.size()) +
                              " goals; it takes one, or two that are weighed against each other");
}

void read_dispatch(Reader& reader) {
  const TomlNode* const node = section(reader, "dispatch", {"key", "radius", "default"});
  if (node == nullptr) return;
  DispatchSpec& spec = reader.spec.dispatch;
  if (const TomlNode* key = node->find("key")) spec.key = reader.expressions(*key, "dispatch.key");
  if (const TomlNode* radius = node->find("radius")) spec.radius = reader.number(*radius, "radius", 0);
  if (const TomlNode* config = node->find("default"))
    spec.default_config = read_configuration(reader, *config, "dispatch.default");
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
    const auto refuse = [&, &name = name](const std::string& why) {
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

}  // namespace xtune::spec
