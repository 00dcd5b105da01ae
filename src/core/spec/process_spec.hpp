// [process]: a program that is tuned, in place of a kernel.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/device/program_call.hpp"
#include "core/spec/command_text.hpp"

namespace xtune::spec {

/// One command: its words, or the text that /bin/sh reads.
struct ProcessCommand {
  std::vector<CommandWord> words;
  std::optional<ShellText> shell;
  Location at;

  bool given() const noexcept { return !words.empty() || shell; }
  /// Call texts. Throws TextError.
  std::vector<std::string> expand(const space::Lookup& lookup) const;
  /// Of both forms.
  std::vector<const CommandWord*> texts() const;
  /// What is started, where that is the same whatever the configuration; else empty. A call text.
  std::string program() const;
};

struct ProcessSpec {
  Location at;
  ProcessCommand build, run, check;                            ///< build and check may not be given
  ProcessCommand exec_prefix;                                  ///< words before those of run; no shell
  std::filesystem::path folder;                                ///< absolute: where all of them are started
  std::vector<std::filesystem::path> sources;                  ///< absolute: whose contents the build depends on
  std::vector<std::filesystem::path> outputs;                  ///< absolute: what commands write, in no key
  std::vector<std::string> environment;                        ///< names of variables that build and run depend on
  std::vector<std::pair<std::string, CommandWord>> env;        ///< NAME: what run and check find there
  std::vector<std::pair<std::string, CommandWord>> build_env;  ///< NAME: what build finds there
  device::ProgramValue time;
  std::vector<device::ProgramValue> metrics;
  std::vector<Location> metrics_at;
  std::string expect;
  std::string device = "host";  ///< what it runs on: a backend's name
  double timeout_s = 60;        ///< of one run
};

}  // namespace xtune::spec
