// Kernel Tuner's cache files: Python's JSON dialect, closing brackets that were left open, and entry by entry.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "core/device/program_call.hpp"
#include "core/measure/statistics.hpp"
#include "lab/formats.hpp"
#include "xtune/error.hpp"

namespace xtune::lab {
namespace {

using Json = nlohmann::json;

constexpr std::size_t deepest =
    64;  // an entry of a cache nests two or three deep; the parser recurses not, its tree does

/// The result of a walk over the text: words of the dialect are replaced, and the end of the last complete entry is
/// known.
struct Walk {
  std::string text;
  std::size_t depth = 0, max_depth = 0;
  std::size_t last_entry_end = 0;  ///< in text: after the brace that closed an object at depth 2; 0: none
  bool in_string = false;
};

Walk walk(std::string_view source) {
  Walk result;
  result.text.reserve(source.size() + 2);
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (result.in_string) {
      result.text += c;
      if (c == '\\' && i + 1 < source.size())
        result.text += source[++i];
      else if (c == '"')
        result.in_string = false;
      continue;
    }
    const auto word = [&](std::string_view name) {
      if (source.substr(i, name.size()) != name) return false;
      result.text += "null";
      i += name.size() - 1;
      return true;
    };
    if (word("NaN") || word("-Infinity") || word("Infinity")) continue;
    result.text += c;
    if (c == '"') {
      result.in_string = true;
    } else if (c == '{' || c == '[') {
      result.max_depth = std::max(result.max_depth, ++result.depth);
    } else if ((c == '}' || c == ']') && result.depth > 0) {
      if (--result.depth == 2 && c == '}') result.last_entry_end = result.text.size();
    }
  }
  return result;
}

/// Parses the text. NaN and infinities, which Python's json writes although JSON does not have them, are read as null.
/// Text that ends within the entries is closed after the last complete one, with a warning if something was cut off.
Json parse_cache_text(const std::string& text, const std::string& name, std::vector<std::string>& warnings) {
  const auto fail = [&](const std::string& why) -> Json {
    throw Error(ErrorKind::invalid_argument, name + ": not a Kernel Tuner cache: " + why);
  };
  Walk found = walk(text);
  if (found.max_depth > deepest) return fail("its JSON nests too deep");
  const bool open = found.depth > 0 || found.in_string;
  if (open && found.text.find("\"cache\"") != std::string::npos) {
    if (found.last_entry_end > 0) {
      const std::string_view rest = std::string_view(found.text).substr(found.last_entry_end);
      if (rest.find_first_not_of(", \t\r\n}") != std::string_view::npos)
        warnings.push_back(name + ": the file was not finished; its torn last entry is dropped");
      found.text.resize(found.last_entry_end);
      found.text += "}}";
    } else {
      // So far there is only the opening of "cache".
      const std::size_t brace = found.text.rfind('{');
      found.text.resize(brace + 1);
      found.text += "}}";
    }
  }
  try {
    Json json = Json::parse(found.text);
    if (!json.is_object()) return fail("its JSON is not an object");
    return json;
  } catch (const Json::exception& error) {
    return fail(base::json_error_text(error));
  }
}

constexpr double failed_time_ms = 1e19;  // versions before 0.4.2 wrote 1e20 for failures

struct CacheReader {
  const std::string& name;

  [[noreturn]] void fail(const std::string& why) const { throw Error(ErrorKind::invalid_argument, name + ": " + why); }

  Value value(const Json& json, const std::string& where) const {
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number_integer() &&
        (!json.is_number_unsigned() || json.get<std::uint64_t>() <= std::uint64_t{INT64_MAX}))
      return json.get<std::int64_t>();
    if (json.is_number()) return json.get<double>();
    if (json.is_string()) return json.get<std::string>();
    fail(where + ": expected a number, a string or a boolean, got " + base::printable(json.dump(), 60));
  }
};

const Json* member(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found == json.end() ? nullptr : &*found;
}

/// Durations in ms, as seconds; an invalid one counts as 0 and is added to `damage`. NaN is read as null.
struct CostReader {
  const Json& entry;
  const std::string& where;
  RecordingDamage& damage;

  double seconds(const char* name) const {
    const Json* const found = member(entry, name);
    if (!found) return 0;
    const double cost_s = found->is_number() ? found->get<double>() * 1e-3 : std::nan("");
    if (is_cost(cost_s)) return cost_s;
    damage.add(where + ": " + name + " is " + base::printable(found->dump(), 40));
    return 0;
  }
};

/// Words that Kernel Tuner writes instead of a time; timeouts come from other tuners with its format.
bool is_failure_word(std::string_view word) {
  return word == "InvalidConfig" || word == "CompilationFailedConfig" || word == "RuntimeFailedConfig" ||
         word.find("imeout") != std::string_view::npos;
}

/// The words of caches, then those of T4 results.
void set_failed(RecordedConfig& result, std::string_view word) {
  result.outcome = Outcome::launch_failed;
  result.stage = "run";
  if (word == "InvalidConfig" || word == "constraints") {
    result.outcome = Outcome::rejected;
    result.stage = "space";
  } else if (word == "CompilationFailedConfig" || word == "compile") {
    result.outcome = Outcome::compile_failed;
    result.stage = "compile";
  } else if (word == "correctness") {
    result.outcome = Outcome::wrong_result;
    result.stage = "validate";
  } else if (word.find("imeout") != std::string_view::npos) {
    result.outcome = Outcome::timed_out;
  }
  result.message = "Kernel Tuner recorded " + base::printable(word, 200);
}

/// Empty, or why the times of an entry are invalid.
std::string read_times(const Json& entry, RecordedConfig& result) {
  const Json* const time = member(entry, "time");
  if (!time) return "it has no time";
  if (!time->is_number()) return "time is " + base::printable(time->dump(), 40) + ", no number";
  result.time_ms = time->get<double>();
  if (!measure::is_time(result.time_ms)) return fmt::format("time is {}", result.time_ms);
  if (const Json* const times = member(entry, "times"); times && times->is_array())
    for (const Json& sample : *times) {
      const double sample_ms = sample.is_number() ? sample.get<double>() : std::nan("");
      if (!measure::is_time(sample_ms)) return "a sample in times is " + base::printable(sample.dump(), 40);
      result.samples_ms.push_back(sample_ms);
    }
  if (result.samples_ms.empty()) result.samples_ms.push_back(result.time_ms);
  return {};
}

/// Problems of the entries that a summary names.
struct Notes {
  RecordingDamage damage, costs, repeats, contradictions, mismatches;
};

/// The statistic of "times" that "time" is: the mean in Kernel Tuner's files, the median in xtune's exports. Where it
/// is another one, "time" is what was ranked, and the samples are dropped.
measure::Statistic settle_times(std::vector<RecordedRow>& rows, const std::vector<std::string>& wheres,
                                RecordingDamage& contradictions) {
  const auto of_samples = [](const RecordedRow& row, measure::Statistic which) {
    return measure::statistic(measure::summarize(row.result.samples_ms), which);
  };
  const auto contradicts = [&](const RecordedRow& row, measure::Statistic which) {
    if (row.result.outcome != Outcome::ok) return false;
    return std::abs(of_samples(row, which) - row.result.time_ms) > 1e-6 * row.result.time_ms;
  };
  const auto settles = [&](measure::Statistic which) {
    return std::ranges::none_of(rows, [&](const RecordedRow& row) { return contradicts(row, which); });
  };
  const bool medians = !settles(measure::Statistic::mean) && settles(measure::Statistic::median);
  const measure::Statistic which = medians ? measure::Statistic::median : measure::Statistic::mean;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!contradicts(rows[i], which)) continue;
    contradictions.add(fmt::format("{}: time is {} ms, the mean of times {} ms", wheres[i], rows[i].result.time_ms,
                                   of_samples(rows[i], which)));
    rows[i].result.samples_ms = {rows[i].result.time_ms};
  }
  return which;
}

RecordedConfig read_result(const Json& entry, const std::string& where, Notes& notes) {
  RecordedConfig result;
  const CostReader cost{entry, where, notes.costs};
  result.compile_s = cost.seconds("compile_time");
  result.bench_s = cost.seconds("benchmark_time") + cost.seconds("verification_time");
  result.overhead_s = cost.seconds("framework_time");
  if (const Json* const timestamp = member(entry, "timestamp"); timestamp && timestamp->is_string())
    result.unix_time_ms = unix_time_ms_of(timestamp->get_ref<const std::string&>()).value_or(0);
  for (const char* name : {"__error__", "time"})
    if (const Json* const word = member(entry, name); word && word->is_string()) {
      const auto& text = word->get_ref<const std::string&>();
      if (name == std::string_view("time") && !is_failure_word(text)) break;  // damaged, see read_times
      set_failed(result, text);
      return result;
    }
  if (const Json* const time = member(entry, "time");
      time && time->is_number() && time->get<double>() >= failed_time_ms) {
    set_failed(result, base::printable(time->dump(), 40));
    return result;
  }
  if (const std::string why = read_times(entry, result); !why.empty()) {
    notes.damage.add(where + ": " + why);
    result.set_damaged(why);
  }
  return result;
}

using Names = std::vector<std::string>;

/// The names under "objective" or "objectives"; none: the file does not state them.
Names objectives_of(const Json& holder, const char* name) {
  Names names;
  const Json* const found = member(holder, name);
  if (!found || found->is_null()) return names;
  const Json list = found->is_array() ? *found : Json::array({*found});
  for (const Json& each : list)
    names.push_back(base::printable(each.is_string() ? each.get<std::string>() : each.dump(), 60));
  return names;
}

[[noreturn]] void refuse_ranking(const CacheReader& reader, const Names& objectives, const std::string& why = {}) {
  reader.fail(fmt::format(
      "its configurations are ranked by {} '{}'{}, and xtune replays times only. `xtune import kernel-tuner "
      "--objective time` ranks them by time instead",
      objectives.size() == 1 ? "the objective" : "the objectives", fmt::join(objectives, "', '"), why));
}

enum class Better { unknown, smaller, greater };

/// What is better of an objective, by the file, else by Kernel Tuner's names for objectives and others like them.
Better better_of(const Json& cache, const std::string& objective) {
  const Json* higher = member(cache, "objective_higher_is_better");
  if (higher && higher->is_array() && higher->size() == 1) higher = &higher->front();
  if (higher && higher->is_boolean()) return higher->get<bool>() ? Better::greater : Better::smaller;
  static const RE2 greater(R"((?i).*(/s|/W|/J|flops)|fitness)");
  static const RE2 smaller(R"((?i).*(time|latency|duration)(_?[mun]?s)?|(nvml_)?energy(_m?j)?|cost|loss)");
  if (RE2::FullMatch(objective, greater)) return Better::greater;
  return RE2::FullMatch(objective, smaller) ? Better::smaller : Better::unknown;
}

/// Whether a value is in every configuration that has one the time but for a constant factor, or its inverse, if
/// greater ones are better: then both rank alike.
bool ranks_as_time(const Json& entries, const std::string& objective, Better better) {
  double low = HUGE_VAL, high = 0;
  for (const Json& entry : entries) {
    if (!entry.is_object() || member(entry, "__error__")) continue;
    const Json* const time = member(entry, "time");
    const bool timed = time && time->is_number() && measure::is_time(time->get<double>());
    const Json* const value = member(entry, objective.c_str());
    const bool valued =
        value && value->is_number() && value->get<double>() > 0 && value->get<double>() < failed_time_ms;
    if (!timed && !valued) continue;
    if (!timed || !valued) return false;
    const double time_ms = time->get<double>(), number = value->get<double>();
    const double factor = better == Better::smaller ? number / time_ms : number * time_ms;
    low = std::min(low, factor);
    high = std::max(high, factor);
  }
  return high > 0 && high <= low * (1 + 1e-4);
}

/// xtune replays and ranks times. What the file ranks by something else would get another winner.
void require_time(const CacheReader& reader, const Json& cache) {
  Names objectives = objectives_of(cache, "objective");
  const Names others = objectives_of(cache, "objectives");
  if (!objectives.empty() && !others.empty() && objectives != others)
    reader.fail(
        fmt::format("its objective '{}' contradicts its objectives '{}'. `xtune import kernel-tuner --objective "
                    "time` ranks its configurations by time",
                    fmt::join(objectives, "', '"), fmt::join(others, "', '")));
  if (objectives.empty()) objectives = others.empty() ? Names{"time"} : others;
  if (objectives.size() > 1) refuse_ranking(reader, objectives);
  const Better better = better_of(cache, objectives[0]);
  if (better == Better::unknown)
    refuse_ranking(reader, objectives,
                   ", of which neither its name nor objective_higher_is_better says whether less is better");
  const bool is_time = objectives[0] == "time" && better == Better::smaller;
  if (!is_time && !ranks_as_time(cache.at("cache"), objectives[0], better))
    refuse_ranking(reader, objectives, better == Better::greater ? ", of which more is better" : "");
}

std::vector<std::string> parameter_names(const CacheReader& reader, const Json& cache) {
  const Json* const keys = member(cache, "tune_params_keys");
  if (!keys || !keys->is_array() || !member(cache, "cache") || !member(cache, "cache")->is_object())
    reader.fail("not a Kernel Tuner cache: it has no tune_params_keys or no cache");
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Json& key : *keys) {
    if (!key.is_string()) reader.fail("tune_params_keys: expected strings, got " + base::printable(key.dump(), 60));
    names.push_back(base::printable(key.get<std::string>()));
    if (!seen.insert(names.back()).second) reader.fail("tune_params_keys names '" + names.back() + "' twice");
  }
  if (names.empty()) reader.fail("tune_params_keys is empty: there is nothing to tune");
  return names;
}

/// tune_params lists the values; for files without it they come from the entries.
std::vector<space::Parameter> read_parameters(const CacheReader& reader, const Json& cache,
                                              const std::vector<std::string>& names) {
  const Json* const lists = member(cache, "tune_params");
  std::vector<space::Parameter> parameters;
  for (const std::string& name : names) {
    std::vector<Value> values;
    const Json* const list = lists && lists->is_object() ? member(*lists, name.c_str()) : nullptr;
    if (list && list->is_array())
      for (const Json& item : *list) values.push_back(reader.value(item, "tune_params." + name));
    if (values.empty())
      for (const auto& [key, entry] : cache.at("cache").items())
        if (const Json* const item = entry.is_object() ? member(entry, name.c_str()) : nullptr)
          values.push_back(reader.value(*item, "entry '" + base::printable(key, 80) + "': " + name));
    if (values.empty()) reader.fail("the parameter " + name + " has no values, in tune_params or in an entry");
    parameters.push_back({name, unified_values(std::move(values)), true});
  }
  return parameters;
}

void read_problem(const CacheReader& reader, const Json& cache, Bindings& problem) {
  const Json* const size = member(cache, "problem_size");
  if (!size || size->is_null()) return;
  if (!size->is_array()) {
    problem["problem_size"] = reader.value(size->is_object() ? Json(size->dump()) : *size, "problem_size");
    return;
  }
  constexpr const char* axes[] = {"problem_size_x", "problem_size_y", "problem_size_z"};
  for (std::size_t i = 0; i < size->size() && i < 3; ++i) problem[axes[i]] = reader.value((*size)[i], axes[i]);
}

std::string text_member(const Json& cache, const char* name) {
  const Json* const found = member(cache, name);
  return found && found->is_string() ? base::printable(found->get<std::string>(), 200) : "";
}

device::DeviceInfo read_device(const Json& cache) {
  device::DeviceInfo device;
  device.backend = "kernel-tuner";
  device.name = text_member(cache, "device_name");
  device.vendor = device.name.starts_with("NVIDIA") || device.name.starts_with("Tesla") ? "nvidia"
                  : device.name.starts_with("AMD") || device.name.starts_with("Radeon") ? "amd"
                                                                                        : "unknown";
  if (device.name.empty()) device.name = "unknown";
  device.arch = "unknown";
  if (const auto known = device::product_of_device(device.name))
    device.arch = known->arch, device.vendor = known->vendor;
  return device;
}

/// Milliseconds in the unit of a measurement, 1 without one; other units than those of time only for other
/// measurements.
double scale_of(const CacheReader& reader, const Json& measured, const std::string& where) {
  const Json* const unit = member(measured, "unit");
  if (!unit || unit->is_null() || *unit == "") return 1;
  const double unit_ms = unit->is_string() ? device::milliseconds_in(unit->get_ref<const std::string&>()) : 0;
  if (unit_ms == 0 && measured.at("name") == "time")
    reader.fail(where + ": the unit of its time is " + base::printable(unit->dump(), 40) +
                ": expected a unit of time (s, ms, us, ns)");
  return unit_ms == 0 ? 1 : unit_ms;
}

Json scaled(const Json& value, double scale) {
  if (scale == 1) return value;
  if (value.is_number()) return value.get<double>() * scale;
  if (!value.is_array()) return value;
  Json list = Json::array();
  for (const Json& each : value) list.push_back(scaled(each, scale));
  return list;
}

/// What the validation of a result found: 1 or true if its outputs are correct.
bool is_wrong(const Json& result) {
  const Json* const correctness = member(result, "correctness");
  if (!correctness) return false;
  if (correctness->is_boolean()) return !correctness->get<bool>();
  return correctness->is_number() && correctness->get<double>() < 1;
}

/// Converts one result of a T4 file to an equivalent entry of a cache. unit_ms: of the members of "times".
Json cache_entry_of(const CacheReader& reader, const Json& result, const std::string& where, double unit_ms) {
  const Json* const config = result.is_object() ? member(result, "configuration") : nullptr;
  if (!config || !config->is_object()) reader.fail(where + ": expected an object with a configuration");
  Json entry = *config;
  const Json* const invalidity = member(result, "invalidity");
  if (invalidity && invalidity->is_string() && *invalidity != "correct")
    entry["__error__"] = *invalidity;
  else if (is_wrong(result))
    entry["__error__"] = "correctness";
  if (const Json* const stamp = member(result, "timestamp")) entry["timestamp"] = *stamp;
  if (const Json* const times = member(result, "times"); times && times->is_object()) {
    if (const Json* const found = member(*times, "runtimes")) entry["times"] = scaled(*found, unit_ms);
    for (const auto& [own, foreign] :
         {std::pair("compile_time", "compilation_time"), std::pair("framework_time", "framework"),
          std::pair("verification_time", "validation")})
      if (const Json* const found = member(*times, foreign)) entry[own] = scaled(*found, unit_ms);
  }
  const Json* const measurements = member(result, "measurements");
  if (measurements && measurements->is_array())
    for (const Json& measured : *measurements)
      if (const Json name = measured.is_object() ? measured.value("name", Json()) : Json();
          name.is_string() && member(measured, "value") && !entry.contains(name.get<std::string>()))
        entry[name.get<std::string>()] = scaled(measured["value"], scale_of(reader, measured, where));
  // A measurement that was given up early has samples, but no time.
  if (const Json* const samples = member(entry, "times");
      !entry.contains("time") && samples && samples->is_array() && !samples->empty()) {
    double sum = 0;
    for (const Json& sample : *samples) sum += sample.is_number() ? sample.get<double>() : std::nan("");
    entry["time"] = sum / static_cast<double>(samples->size());
  }
  return entry;
}

/// A T4 results file as the cache of the same run: the parameters are those of its first configuration, and their
/// values those that occur. It contains no kernel, device or problem. For a configuration that was measured repeatedly,
/// the last measurement counts. by_time: whatever the objectives are.
Json cache_of_t4(const CacheReader& reader, const Json& file, bool by_time) {
  Json cache{{"tune_params_keys", Json::array()}, {"cache", Json::object()}};
  const Json* const metadata = member(file, "metadata");
  const Json timeunit = metadata && metadata->is_object() ? metadata->value("timeunit", Json()) : Json();
  double unit_ms = timeunit.is_string() ? device::milliseconds_in(timeunit.get<std::string>()) : 0;
  if (unit_ms == 0) unit_ms = 1;  // Kernel Tuner writes "miliseconds"
  Names objectives;
  std::size_t number = 0;
  for (const Json& result : file.at("results")) {
    const std::string where = fmt::format("results[{}]", number++);
    Json entry = cache_entry_of(reader, result, where, unit_ms);
    if (number == 1)
      for (const auto& [name, value] : result.at("configuration").items()) cache["tune_params_keys"].push_back(name);
    const Names own = objectives_of(result, "objectives");
    if (objectives.empty()) objectives = own;
    if (!by_time && !own.empty() && own != objectives)
      reader.fail(
          fmt::format("{} is ranked by '{}', and results before it by '{}': their winners cannot be compared. "
                      "`xtune import kernel-tuner --objective time` ranks all by time",
                      where, fmt::join(own, "', '"), fmt::join(objectives, "', '")));
    Json& known = cache["cache"][result.at("configuration").dump()];
    if (!known.contains("time") || entry.contains("time")) known = std::move(entry);
  }
  cache["objectives"] = objectives;
  return cache;
}

/// Whether a part of an entry's key, Python's text of a value, is this value.
bool is_text_of(const std::string& text, const Value& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return text == (*boolean ? "True" : "False");
  if (const auto* word = std::get_if<std::string>(&value)) return text == *word;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number == space::number_of(value);
}

/// The configuration that the key of an entry names, by the indices of its values: "128,1". nullopt: the key does not
/// list values of the parameters.
std::optional<std::vector<std::uint32_t>> values_of_key(const std::string& key,
                                                        const std::vector<space::Parameter>& parameters) {
  const std::vector<std::string> parts = base::split(key, ',');
  if (parts.size() != parameters.size()) return std::nullopt;
  std::vector<std::uint32_t> indices;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::vector<Value>& values = parameters[i].values;
    const auto found = std::ranges::find_if(values, [&](const Value& value) { return is_text_of(parts[i], value); });
    if (found == values.end()) return std::nullopt;
    indices.push_back(static_cast<std::uint32_t>(found - values.begin()));
  }
  return indices;
}

void add_warnings(const Notes& notes, const std::string& name, std::size_t entries,
                  std::vector<std::string>& warnings) {
  if (notes.mismatches.count > 0)
    warnings.push_back(
        fmt::format("{}: the keys of {} of {} entries name other configurations than their values, and "
                    "these entries are skipped, first {}",
                    name, notes.mismatches.count, entries, notes.mismatches.first));
  if (notes.repeats.count > 0)
    warnings.push_back(
        fmt::format("{}: {} of {} entries repeat a configuration and are skipped, first {}; many of them "
                    "mean that tune_params_keys misses a parameter",
                    name, notes.repeats.count, entries, notes.repeats.first));
  if (notes.costs.count > 0)
    warnings.push_back(fmt::format("{}: {} times of compiling or measuring are invalid and count as 0, first {}", name,
                                   notes.costs.count, notes.costs.first));
  if (notes.contradictions.count > 0)
    warnings.push_back(
        fmt::format("{}: in {} of {} entries 'time' contradicts 'times'; 'time' counts, as in Kernel Tuner, and the "
                    "samples are dropped, first {}",
                    name, notes.contradictions.count, entries, notes.contradictions.first));
}

}  // namespace

// ISO 8601, as far as Python's isoformat and str write it.
std::optional<std::int64_t> unix_time_ms_of(std::string_view text) {
  static const RE2 format(R"((\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d*))?(?:Z|([+-]\d\d):?(\d\d))?)");
  int year = 0, hour = 0, minute = 0, second = 0;
  unsigned month = 0, day = 0;
  std::string fraction, offset_h, offset_min;
  if (!RE2::FullMatch({text.data(), text.size()}, format, &year, &month, &day, &hour, &minute, &second, &fraction,
                      &offset_h, &offset_min))
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const int east_min = offset_h.empty() ? 0 : std::stoi(offset_h) * 60 + std::stoi(offset_h.substr(0, 1) + offset_min);
  fraction.resize(3, '0');
  const std::int64_t ms = (((days * 24 + hour) * 60 + minute - east_min) * 60 + second) * 1000 + std::stoi(fraction);
  return ms < 0 ? std::nullopt : std::optional(ms);  // records have no negative times
}

Recording read_kernel_tuner(const std::string& text, const std::string& name, bool by_time) {
  std::vector<std::string> warnings;
  Json cache = parse_cache_text(text, name, warnings);
  const CacheReader reader{name};
  if (const Json* const results = member(cache, "results"); results && results->is_array() && !member(cache, "cache")) {
    if (results->empty()) throw Error(ErrorKind::nothing_valid, name + ": the list of T4 results is empty");
    cache = cache_of_t4(reader, cache, by_time);
  }
  const std::vector<std::string> names = parameter_names(reader, cache);
  if (cache.at("cache").empty()) throw Error(ErrorKind::nothing_valid, name + ": the cache has no entries");
  if (!by_time) require_time(reader, cache);
  std::vector<space::Parameter> parameters = read_parameters(reader, cache, names);
  std::vector<RecordedRow> rows;
  std::vector<std::string> wheres;  // by row
  std::set<std::vector<std::uint32_t>> seen;
  Notes notes;
  for (const auto& [key, entry] : cache.at("cache").items()) {
    const std::string where = "entry '" + base::printable(key, 120) + "'";
    if (!entry.is_object()) reader.fail(where + ": expected an object, got " + base::printable(entry.dump(), 60));
    RecordedRow row;
    for (const space::Parameter& parameter : parameters) {
      const Json* const item = member(entry, parameter.name.c_str());
      if (!item) reader.fail(where + " has no value for " + parameter.name + ": a cache of another space");
      const Value value = reader.value(*item, where + ": " + parameter.name);
      const auto index = index_among(parameter.values, value);
      if (!index)
        reader.fail(where + ": " + parameter.name + " = " + to_text(value) +
                    " is not among its values in tune_params: a cache of another space");
      row.values.push_back(*index);
    }
    if (const auto named = values_of_key(key, parameters); named && *named != row.values) {
      notes.mismatches.add(where);
      continue;
    }
    if (!seen.insert(row.values).second) {
      notes.repeats.add(where);
      continue;
    }
    row.result = read_result(entry, where, notes);
    rows.push_back(std::move(row));
    wheres.push_back(where);
  }
  if (rows.empty())
    throw Error(ErrorKind::nothing_valid,
                name + ": the keys of all entries name other configurations than their values");
  const measure::Statistic statistic = settle_times(rows, wheres, notes.contradictions);
  add_warnings(notes, name, cache.at("cache").size(), warnings);
  Recording recording = make_recording(std::move(parameters), std::move(rows));
  recording.source = "Kernel Tuner";
  recording.statistic = statistic;
  recording.kernel = text_member(cache, "kernel_name");
  read_problem(reader, cache, recording.problem);
  recording.device = read_device(cache);
  recording.damage = notes.damage;
  recording.warnings = std::move(warnings);
  return recording;
}

}  // namespace xtune::lab
