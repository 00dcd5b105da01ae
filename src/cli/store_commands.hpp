// What the subcommands of `xtune store` share.
#pragma once

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "core/store/bundle.hpp"

namespace xtune::cli {

/// --format and --store.
void add_store_options(CLI::App& command, CommonOptions& options);
/// --arch and --kernel.
void add_filter_options(CLI::App& command, store::WinnerFilter& filter);

/// The records of --arch, the kernels and the problem sizes of -D.
store::WinnerFilter winner_filter(const CommonOptions& options, const std::vector<std::string>& kernels);
/// Whether a list of an option has the word; an empty list has every word.
bool is_chosen(const std::vector<std::string>& list, const std::string& word);

/// The decision tree of `store export --format tree-json` for a spec's kernel on an architecture; null: nothing was
/// measured.
Json stored_tree(const std::string& spec, const std::filesystem::path& store, const std::string& arch,
                 std::size_t max_configs, double within, std::vector<std::string>& warnings);
void add_store_export(CLI::App& store, Context& context);

}  // namespace xtune::cli
