// The subcommands of `xtune store`.
#pragma once

#include <string>

#include "cli/commands.hpp"
#include "core/store/bundle.hpp"
#include "core/store/merge.hpp"

namespace xtune::cli {

/// Options of all subcommands of `store`.
struct StoreOptions {
  std::string store, format = "text";
  bool json() const { return format == "json"; }
  std::filesystem::path path() const;
};
void add_store_options(CLI::App& command, StoreOptions& options);
/// --arch and --kernel.
void add_filter_options(CLI::App& command, store::WinnerFilter& filter);
/// Prints a merge's warnings and notes to standard error.
void tell_merge(const store::MergeReport& report);

void add_store_ls(CLI::App& store, Context& context);
void add_store_verify(CLI::App& store, Context& context);
void add_store_gc(CLI::App& store, Context& context);
void add_store_merge(CLI::App& store, Context& context);
void add_store_export(CLI::App& store, Context& context);
void add_store_bundle(CLI::App& store, Context& context);
void add_store_push(CLI::App& store, Context& context);
void add_store_pull(CLI::App& store, Context& context);

/// "30d", "12h", "90m", "45s" in milliseconds; "10G", "512M", "4K", "100" in bytes, by 1024. Throws
/// Error(invalid_argument) that names the option.
std::int64_t duration_ms(const std::string& option, const std::string& text);
std::uint64_t byte_count(const std::string& option, const std::string& text);

}  // namespace xtune::cli
