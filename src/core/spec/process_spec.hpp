// [process]: a program that is tuned instead of a kernel.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device/program_call.hpp"
#include "core/spec/template_text.hpp"

namespace xtune::spec {

struct ProcessCommand {
  std::vector<CommandWord> words;  ///< one for a shell's text
  bool shell = false;
  Location at;

  bool given() const noexcept { return !words.empty(); }
  /// Returns call texts. Throws TextError.
  std::vector<std::string> expand(const space::Lookup& lookup) const;
  /// The program that is started, as a call text; empty if it depends on the configuration.
  std::string program() const;
};

struct ProcessSpec {
  Location at;
  ProcessCommand build, run, check;                            ///< build and check are optional
  bool serves = false;                                         ///< run starts a server, which takes requests
  bool checks = false;                                         ///< the server checks its results
  ProcessCommand exec_prefix;                                  ///< words before those of run; without a shell
  std::filesystem::path folder;                                ///< absolute: working directory of all commands
  std::vector<std::filesystem::path> sources;                  ///< absolute: files on which the build depends
  std::vector<std::filesystem::path> outputs;                  ///< absolute: files that commands write; in no key
  std::vector<std::string> environment;                        ///< names of variables on which build and run depend
  std::vector<std::pair<std::string, CommandWord>> env;        ///< NAME: value for run and check
  std::vector<std::pair<std::string, CommandWord>> build_env;  ///< NAME: value for build
  device::ProgramValue time;
  std::vector<device::ProgramValue> metrics;
  std::vector<Location> metrics_at;
  std::string expect;
  std::string device = "host";   ///< backend whose device it runs on
  double timeout_s = 60;         ///< of one run, or of one request to a server
  double start_timeout_s = 120;  ///< of a server, until its first answer
};

}  // namespace xtune::spec
