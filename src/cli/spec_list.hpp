// The specs that a command works on: files, and what suites list.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "core/spec/suite.hpp"

namespace xtune::cli {

struct SpecList {
  struct Item {
    std::string path;
    std::optional<spec::SuiteEntry> entry;  ///< of a suite
    std::optional<Error> error;             ///< the spec is unusable; was reported
  };
  std::vector<Item> items;
  bool several = false;  ///< a suite or several files: answers are a list, whatever its length
};

/// The argument `spec...`.
void add_specs_argument(CLI::App& command, std::vector<std::string>& paths);
/// Throws Error(invalid_spec) for a suite that cannot be read as one.
SpecList list_specs(const std::vector<std::string>& paths);
/// The options as they are for one of them, which outlives the result.
CommonOptions options_for(const SpecList::Item& item, const CommonOptions& options);

/// Reads and checks the specs of a list of several, before anything runs, and reports what is wrong with all of them. A
/// file of the command line that is unusable then throws its Error; an entry of a suite keeps it, and costs only its
/// own turn. Devices and compilers that are missing are not looked for.
void read_all(SpecList& list, const CommonOptions& options);

/// How several runs end together: the worst of what their ends say.
int worse_code(int a, int b);
/// What became of a spec instead of an answer: {"spec", "error": {"kind", "message", "file", "line", "column"}}.
nlohmann::ordered_json failure_json(const std::string& path, const std::string& kind, const std::string& message);

/// Works through them: an error of one is told, and keeps none of the others from their turn. `work` appends to the
/// answers and returns an exit code; what it appends gets "spec". Where there is one spec alone its Error comes out.
/// Returns the worst code.
int for_each_spec(
    const SpecList& list, const std::vector<std::size_t>& order,
    std::vector<std::vector<nlohmann::ordered_json>>& answers,
    const std::function<int(const SpecList::Item&, std::vector<nlohmann::ordered_json>&)>& work,
    const std::function<bool()>& stopped = [] { return false; });
/// 0, 1, 2 ... of them.
std::vector<std::size_t> in_order(const SpecList& list);
/// The answers of all, as print_json prints those of one; csv: their tables as one.
void print_answers(const SpecList& list, const std::vector<std::vector<nlohmann::ordered_json>>& answers,
                   bool csv = false);

}  // namespace xtune::cli
