// Several specs in one command.
#include "cli/spec_list.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/text.hpp"
#include "report/answer_rows.hpp"

namespace xtune::cli {

using Json = nlohmann::ordered_json;

void add_specs_argument(CLI::App& command, std::vector<std::string>& paths) {
  command.add_option("spec", paths, "Spec files, or suites that list them (TOML)")->required()->type_name("SPEC");
}

SpecList list_specs(const std::vector<std::string>& paths) {
  SpecList list;
  list.several = paths.size() > 1;
  for (const std::string& path : paths) {
    const std::optional<spec::Suite> suite = spec::load_suite(path);
    if (!suite) {
      list.items.push_back({path, std::nullopt, std::nullopt});
      continue;
    }
    list.several = true;
    for (const spec::SuiteEntry& entry : suite->entries)
      list.items.push_back({entry.spec.string(), entry, std::nullopt});
  }
  return list;
}

CommonOptions options_for(const SpecList::Item& item, const CommonOptions& options) {
  CommonOptions own = options;
  own.suite = item.entry ? &*item.entry : nullptr;
  return own;
}

namespace {

/// The message with the spec's name in front, unless it has it already.
std::string with_path(const std::string& path, const std::string& message) {
  const std::string name = base::printable(path);
  const bool named = message.starts_with(path) || message.starts_with("cannot read " + name + ":");
  return named ? message : name + ": " + message;
}

}  // namespace

void read_all(SpecList& list, const CommonOptions& options) {
  if (!list.several) return;
  const Error* first = nullptr;
  for (SpecList::Item& item : list.items) {
    try {
      // This also reads the overlays of all backends, so the backend of the run does not matter.
      read_spec(item.path, options_for(item, options), "");
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) throw;
      item.error = error;
      if (!item.entry && !first) {
        first = &*item.error;
        continue;  // printed where it is caught
      }
      tell("xtune: {}\n", with_path(item.path, error.what()));
    }
  }
  if (first) throw Error(*first);
}

int worse_code(int a, int b) {
  // From problems that a user cannot fix to complete answers.
  constexpr int order[] = {interrupted, own_failure, bad_arguments, unavailable, nothing_valid, done};
  for (const int code : order)
    if (a == code || b == code) return code;
  return std::max(a, b);
}

Json failure_json(const std::string& path, const std::string& kind, const std::string& message) {
  const Place place = place_in(message);
  Json json{{"spec", path}, {"error", {{"kind", kind}, {"message", message}}}};
  json["error"]["file"] = place.line > 0 ? Json(place.file) : Json();
  json["error"]["line"] = place.line > 0 ? Json(place.line) : Json();
  json["error"]["column"] = place.line > 0 ? Json(place.column) : Json();
  return json;
}

std::vector<std::size_t> in_order(const SpecList& list) {
  std::vector<std::size_t> order(list.items.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

int for_each_spec(const SpecList& list, const std::vector<std::size_t>& order, std::vector<std::vector<Json>>& answers,
                  const std::function<int(const SpecList::Item&, std::vector<Json>&)>& work,
                  const std::function<bool()>& stopped) {
  int code = done;
  answers.resize(list.items.size());
  for (const std::size_t number : order) {
    if (stopped()) break;
    const SpecList::Item& item = list.items[number];
    std::vector<Json>& own = answers[number];
    if (!list.several) return work(item, own);
    const auto fail = [&](int with, const char* kind, const std::string& message) {
      if (!item.error) tell("xtune: {}\n", with_path(item.path, message));
      own.push_back(failure_json(item.path, kind, message));
      code = worse_code(code, with);
    };
    try {
      if (item.error) throw Error(*item.error);
      code = worse_code(code, work(item, own));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) throw;
      fail(exit_code_of(error.kind()), to_string(error.kind()), error.what());
    } catch (const std::exception& error) {
      fail(own_failure, "internal", error.what());
    }
    for (Json& answer : own)
      if (!answer.contains("spec")) {
        Json named{{"spec", item.path}};
        named.update(answer);
        answer = std::move(named);
      }
  }
  return code;
}

void print_answers(const SpecList& list, const std::vector<std::vector<Json>>& answers, bool csv) {
  std::vector<Json> all;
  for (const std::vector<Json>& each : answers) all.insert(all.end(), each.begin(), each.end());
  if (csv)
    print_csv(report::run_rows(all));
  else if (list.several)
    print_json(Json(all));
  else
    print_json(all);
}

}  // namespace xtune::cli
