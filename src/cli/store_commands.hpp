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

void add_store_export(CLI::App& store, Context& context);

}  // namespace xtune::cli
