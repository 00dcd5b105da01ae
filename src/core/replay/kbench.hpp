// kbench's YAML, in which Mojo benchmarks list their parameters, as specs with [process].
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace xtune::replay {

struct KbenchOptions {
  std::vector<std::string> build_opts;  ///< words between `mojo build` and the -D of the parameters
  std::string device = "host";          ///< [process] device
};

/// One spec, for a kernel of that name, and the list of its configurations if they are not a plain product
/// (`stem`.configs.csv); else empty.
struct KbenchSpec {
  std::string stem, kernel, spec, configs;
};

/// text: name, file, params (a mapping, or a list of mappings: each is a product of its values, one after another) and
/// rules (Python expressions). A name with a $ is passed to the program when it runs, and is not a -D. Groups with the
/// same names are one spec; others get one each, stem-2 and so on. path: of the YAML file, for messages; the
/// benchmark's file is searched in its directory, then in the working directory, and $VARIABLES in it are expanded from
/// the environment. Throws Error(invalid_argument) that opens with path:line:column if the text has one.
std::vector<KbenchSpec> import_kbench(const std::string& text, const std::filesystem::path& path,
                                      const std::string& stem, const KbenchOptions& options);

}  // namespace xtune::replay
