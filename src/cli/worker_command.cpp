// xtune worker: the processes that xtune starts for itself.
#include <unistd.h>

#include "cli/options.hpp"
#include "cli/output.hpp"
#include "worker/worker.hpp"

namespace xtune::cli {
namespace {

/// Binary messages are not readable, and a user who starts a worker by hand would wait forever.
void require_driver(const std::string& name) {
  if (isatty(STDIN_FILENO) == 1 || isatty(STDOUT_FILENO) == 1)
    throw bad_argument(
        "`xtune worker {}` is internal: xtune starts it for itself and speaks to it in binary messages; `xtune --help` "
        "lists the commands for people",
        name);
}

struct WorkerOptions {
  std::uint64_t memory_limit = 0;
  bool sanitize = false, devices_only = false;
  std::string backend;
  std::vector<int> devices;
  int mhz = 0;
};

int compile_for_driver(const WorkerOptions& options) {
  require_driver("compile");
  return worker::compile_worker_main(STDIN_FILENO, STDOUT_FILENO, options.memory_limit);
}

int bench_for_driver(const WorkerOptions& options) {
  require_driver("bench");
  return worker::bench_worker_main(STDIN_FILENO, STDOUT_FILENO, options.sanitize);
}

int fix_clocks(const WorkerOptions& options) {
  require_driver("clocks");
  return worker::clocks_worker_main(options.backend, options.devices, options.mhz);
}

int probe(const WorkerOptions& options) {
  return worker::probe_worker_main(options.backend, options.devices_only ? worker::Probe::devices : worker::Probe::all);
}

}  // namespace

void add_worker_command(CLI::App& app, Context& context) {
  CLI::App& workers = *app.add_subcommand("worker", "Run a process that xtune starts for itself: internal")->group("");
  workers.require_subcommand(1);
  add_example(workers, "xtune worker probe --backend host");
  const auto add = [&](const char* name, const char* summary, int (*run)(const WorkerOptions&)) {
    return add_command<WorkerOptions>(workers, context, name, summary, "", run);
  };
  const auto compile = add("compile", "Compile what the driver asks for", compile_for_driver);
  compile.command.add_option("--memory-limit", compile.options.memory_limit,
                             "Limit the address space, in bytes; 0: no limit");
  const auto bench = add("bench", "Run and measure what the driver asks for", bench_for_driver);
  bench.command.add_flag("--sanitize", bench.options.sanitize, "Load the sanitizers' run-time libraries");
  const auto clocks = add("clocks", "Fix clocks until the end of the input", fix_clocks);
  clocks.command.add_option("--backend", clocks.options.backend, "Name the backend")->required();
  clocks.command.add_option("--devices", clocks.options.devices, "Number the devices")->delimiter(',')->required();
  clocks.command.add_option("--mhz", clocks.options.mhz, "Choose the clock; 0: the devices' own choice");
  const auto found = add("probe", "Print what one backend finds on this machine, as JSON", probe);
  found.command.add_option("--backend", found.options.backend, "Name the backend")->required();
  found.command.add_flag("--devices-only", found.options.devices_only, "Do not search for compilers");
}

}  // namespace xtune::cli
