// The specs of a command: files, and the entries of suites.
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
    std::optional<Error> error;             ///< set if the spec is unusable; it was reported
  };
  std::vector<Item> items;
  bool several = false;  ///< a suite or several files: answers are a list of any length
};

/// The argument `spec...`.
void add_specs_argument(CLI::App& command, std::vector<std::string>& paths);
/// Throws Error(invalid_spec) for an invalid suite.
SpecList list_specs(const std::vector<std::string>& paths);
/// The options for one of them, which must outlive the result.
CommonOptions options_for(const SpecList::Item& item, const CommonOptions& options);

/// Reads and checks all specs of a list of several before anything runs, and reports their errors. Then throws the
/// Error of a file on the command line that is unusable; an unusable entry of a suite keeps its error and is skipped.
/// Does not look for devices and compilers.
void read_all(SpecList& list, const CommonOptions& options);

/// The exit code of several runs: the worst one.
int worse_code(int a, int b);
/// The answer for a spec that failed: {"spec", "error": {"kind", "message", "file", "line", "column"}}.
nlohmann::ordered_json failure_json(const std::string& path, const std::string& kind, const std::string& message);

/// Calls `work` for each: an error of one is reported, and the others still run. `work` appends to the answers and
/// returns an exit code; "spec" is added to its answers. If there is only one spec, its Error is thrown. Returns the
/// worst code.
int for_each_spec(
    const SpecList& list, const std::vector<std::size_t>& order,
    std::vector<std::vector<nlohmann::ordered_json>>& answers,
    const std::function<int(const SpecList::Item&, std::vector<nlohmann::ordered_json>&)>& work,
    const std::function<bool()>& stopped = [] { return false; });
/// The numbers 0, 1, 2 ... of the specs.
std::vector<std::size_t> in_order(const SpecList& list);
/// Prints the answers of all, in the form of print_json for one; csv: their tables as one.
void print_answers(const SpecList& list, const std::vector<std::vector<nlohmann::ordered_json>>& answers,
                   bool csv = false);

}  // namespace xtune::cli
