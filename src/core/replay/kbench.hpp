// kbench's YAML, in which Mojo benchmarks list their parameters, as specs with [process].
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace xtune::replay {

struct KbenchText {
  std::filesystem::path path;  ///< of the YAML file
  std::string text;
};

struct KbenchOptions {
  std::vector<std::string> build_opts;  ///< words between `mojo build` and the -D of the parameters
  std::string device = "host";          ///< [process] device
  std::vector<std::string> params;      ///< of --param (kbench_groups.hpp)
  std::vector<std::string> cases;       ///< names whose values become [[cases]]
  std::vector<KbenchText> shapes = {};  ///< files of --shapes: their configurations are the [[cases]], instead of cases
  std::vector<std::string> metrics = {};  ///< columns of the benchmark's table, "DataMovement (GB/s)"
};

/// One spec, for a kernel of that name, and the list of its configurations if they are not a plain product
/// (`stem`.configs.csv); else empty.
struct KbenchSpec {
  std::string stem, kernel, spec, configs;
};

/// texts: name, file, params (a mapping, or a list of mappings: each is a product of its values, and they follow each
/// other), rules (Python expressions). A name with a $ is passed to the program when it runs, and is not a -D. Groups
/// of the same names are one spec; others get one each, stem-2 and so on. Several texts are of one benchmark, and their
/// groups follow each other. Messages name a text's path, and the benchmark's file is looked for from its directory,
/// then from the working directory; $VARIABLES in it are those of the environment. Throws Error(invalid_argument) that
/// opens with path:line:column where the text has one.
std::vector<KbenchSpec> import_kbench(const std::vector<KbenchText>& texts, const std::string& stem,
                                      const KbenchOptions& options);

}  // namespace xtune::replay
