// xtune devices: the usable devices and compilers of this machine, and why others are not usable.

#include "base/text.hpp"
#include "cli/cases.hpp"
#include "core/device/backend_facts.hpp"
#include "core/store/record.hpp"

namespace xtune::cli {
namespace {

struct DevicesOptions : CommonOptions {
  bool verbose = false;
};

std::vector<run::BackendState> states_of(const std::string& backend) {
  std::vector<run::BackendState> states;
  const std::vector<std::string> listed = device::backends_for(backend);  // refuses an unknown name
  // Programs use the devices of other backends.
  for (const device::BackendFacts& facts : device::all_backends())
    if (facts.source != device::SourceKind::program &&
        (backend == "auto" || std::find(listed.begin(), listed.end(), facts.name) != listed.end()))
      states.push_back(worker::find_backend(facts.name, true));
  return states;
}

void print_searches(const run::BackendState& state) {
  for (const system::Search& search : state.searches) {
    print_out("{}: {}: {}\n", state.name, search.what, search.taken.empty() ? "not found" : search.taken);
    for (const system::Search::Place& place : search.places) {
      const std::string path = place.path.empty() ? "the loader's path (LD_LIBRARY_PATH, ldconfig)" : place.path;
      print_out("  {} {}{}{}\n", place.reason.empty() ? "not in" : "refused", path, place.reason.empty() ? "" : ": ",
                place.reason);
    }
  }
}

void print_text(const std::vector<run::BackendState>& states) {
  using enum report::FittedTable::Kind;
  report::FittedTable table{{{"backend"},
                             {"device"},
                             {"arch"},
                             {"compute units"},
                             {"memory"},
                             {"shared/block"},
                             {"name", text},
                             {"driver", text}}};
  for (const run::BackendState& state : states)
    for (const device::DeviceInfo& device : state.devices)
      table.rows.push_back(
          {state.name, std::to_string(device.index), device.arch, std::to_string(device.compute_units),
           device.memory_bytes ? base::human_bytes(static_cast<std::uint64_t>(device.memory_bytes)) : "-",
           base::human_bytes(static_cast<std::uint64_t>(device.shared_per_block_optin)), device.name, device.driver});
  if (!table.rows.empty()) print_table(table);
  print_out("\n");
  for (const run::BackendState& state : states) {
    if (state.devices.empty() && state.toolchain.empty() && state.device_reason == state.toolchain_reason) {
      print_out("{}: no device and no compiler: {}\n", state.name, state.device_reason);
      continue;
    }
    if (state.devices.empty()) print_out("{}: no device: {}\n", state.name, state.device_reason);
    std::vector<run::CompilerState> compilers = state.compilers;
    if (compilers.empty()) {
      compilers.emplace_back().toolchain = state.toolchain;
      compilers.back().reason = state.toolchain_reason;
    }
    for (const run::CompilerState& compiler : compilers)
      print_out("{}: compiler{}{}: {}\n", state.name, compiler.name.empty() ? "" : " ", compiler.name,
                compiler.toolchain.empty() ? "none: " + compiler.reason : device::compiler_name(compiler.toolchain));
  }
}

int list_devices(const DevicesOptions& options) {
  std::vector<run::BackendState> states = states_of(options.backend);
  for (run::BackendState& state : states)
    if (!options.verbose) state.searches.clear();
  const auto make_json = [&] {
    Json json{{"backends", Json::array()}};
    for (const run::BackendState& state : states) json["backends"].emplace_back(worker::to_json(state));
    return json;
  };
  print_answer(options.format, make_json, [&] {
    print_text(states);
    for (const run::BackendState& state : states) print_searches(state);
  });
  const auto has_devices = [](const run::BackendState& state) { return !state.devices.empty(); };
  return std::any_of(states.begin(), states.end(), has_devices) ? done : unavailable;
}

}  // namespace

void add_devices_command(CLI::App& app, Context& context) {
  const auto [command, options] = add_command<DevicesOptions>(
      app, context, "devices", "List devices and compilers that work, and why others do not",
      "xtune devices --format json", list_devices);
  add_backend_option(command, options, "List only this backend, or those of GPUs; auto lists all");
  add_format_option(command, options.format);
  command.add_flag("-v,--verbose", options.verbose, "Also list where each library was searched, and the one taken");
}

}  // namespace xtune::cli
