// xtune store: inspect and maintain a store. Common parts of its subcommands.
#include <charconv>

#include "base/chosen_store.hpp"
#include "base/text.hpp"
#include "cli/store_commands.hpp"

namespace xtune::cli {
namespace {

// The number at the start of a text, multiplied by the unit of its last character.
std::uint64_t scaled(const std::string& option, const std::string& text, const std::string& units,
                     const std::vector<std::uint64_t>& factors, const std::string& expected) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  const std::size_t which = unit.size() == 1 ? units.find(unit) : unit.empty() ? units.find(' ') : std::string::npos;
  if (error != std::errc() || which == std::string::npos || number > INT64_MAX / factors[which])
    throw Error(ErrorKind::invalid_argument, option + " '" + base::printable(text, 80) + "': write " + expected);
  return number * factors[which];
}

}  // namespace

std::int64_t duration_ms(const std::string& option, const std::string& text) {
  return static_cast<std::int64_t>(
      scaled(option, text, "smhd", {1'000, 60'000, 3'600'000, 86'400'000}, "a number and s, m, h or d, such as 30d"));
}

std::uint64_t byte_count(const std::string& option, const std::string& text) {
  return scaled(option, text, " KMGT", {1, 1u << 10, 1u << 20, 1u << 30, std::uint64_t{1} << 40},
                "a number of bytes, or one with K, M, G or T, such as 10G");
}

std::filesystem::path StoreOptions::path() const { return base::chosen_store(store); }

void add_store_options(CLI::App& command, StoreOptions& options) {
  add_format_option(command, options.format);
  add_store_option(command, options.store);
}

void add_filter_options(CLI::App& command, store::WinnerFilter& filter) {
  command.add_option("--arch", filter.archs, "Take only records of this architecture")
      ->type_name("ARCH")
      ->allow_extra_args(false)
      ->group(option_group::store);
  command.add_option("--kernel", filter.kernels, "Take only records of this kernel")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->group(option_group::store);
}

void tell_merge(const store::MergeReport& report) {
  tell_warnings(report.warnings);
  for (const std::string& note : report.notes) tell("note: {}\n", note);
}

void add_store_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("store", "List, verify, clean up, merge, copy and export what was measured");
  command->require_subcommand(1);
  add_example(*command, "xtune store ls\n  xtune store bundle -o gemm.xtune --arch sm_90 --kernel gemm");
  add_store_ls(*command, context);
  add_store_verify(*command, context);
  add_store_gc(*command, context);
  add_store_merge(*command, context);
  add_store_export(*command, context);
  add_store_bundle(*command, context);
  add_store_push(*command, context);
  add_store_pull(*command, context);
  add_why_command(*command, context);
}

}  // namespace xtune::cli
