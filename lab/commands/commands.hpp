// What the commands of lab/ share.
#pragma once

#include "cli/cases.hpp"
#include "lab/formats.hpp"

namespace xtune::cli {

/// lab::read_recordings; an unreadable path is Error(invalid_argument), not a failure of xtune. Warnings about a
/// recording, and how much of it is damaged, are printed to stderr by warn_of().
std::vector<lab::Recording> read_given_recordings(const std::filesystem::path& path,
                                                  std::optional<spec::Statistic> ranking = std::nullopt,
                                                  bool by_time = false);
void warn_of(const lab::Recording& recording);

void add_score_command(CLI::App& app, Context& context);
/// `xtune import kernel-tuner`
void add_import_kernel_tuner(CLI::App& import, Context& context);
/// `xtune import kbench` and `xtune import vllm-moe`
void add_import_kbench(CLI::App& import, Context& context);
void add_import_vllm_moe(CLI::App& import, Context& context);

}  // namespace xtune::cli
