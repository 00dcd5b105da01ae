// xtune worker: the processes that xtune starts for itself.
#include <unistd.h>

#include "cli/commands.hpp"
#include "worker/worker.hpp"

namespace xtune::cli {
namespace {

/// Binary messages are not readable, and a user who starts a worker by hand would wait forever.
void require_driver(const std::string& name) {
  if (isatty(STDIN_FILENO) == 1 || isatty(STDOUT_FILENO) == 1)
    throw Error(ErrorKind::invalid_argument,
                "`xtune worker " + name +
                    "` is internal: xtune starts it for itself and speaks to it in binary messages; "
                    "`xtune --help` lists the commands for people");
}

}  // namespace

void add_worker_command(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("worker", "Run a process that xtune starts for itself: internal")->group("");
  command->require_subcommand(1);
  add_example(*command, "xtune worker probe --backend host");

  CLI::App* compile = command->add_subcommand("compile", "Compile what the driver asks for");
  static std::uint64_t memory_limit = 0;
  compile->add_option("--memory-limit", memory_limit, "Limit the address space, in bytes; 0: no limit");
  compile->callback([&context] {
    require_driver("compile");
    context.exit_code = worker::compile_worker_main(STDIN_FILENO, STDOUT_FILENO, memory_limit);
  });

  CLI::App* bench = command->add_subcommand("bench", "Run and measure what the driver asks for");
  static bool sanitize = false;
  bench->add_flag("--sanitize", sanitize, "Load the sanitizers' run-time libraries");
  bench->callback([&context] {
    require_driver("bench");
    context.exit_code = worker::bench_worker_main(STDIN_FILENO, STDOUT_FILENO, sanitize);
  });

  CLI::App* clocks = command->add_subcommand("clocks", "Fix clocks until the end of the input");
  static std::string clocks_backend;
  static std::vector<int> devices;
  static int mhz = 0;
  clocks->add_option("--backend", clocks_backend, "Name the backend")->required();
  clocks->add_option("--devices", devices, "Number the devices")->delimiter(',')->required();
  clocks->add_option("--mhz", mhz, "Choose the clock; 0: the devices' own choice");
  clocks->callback([&context] {
    require_driver("clocks");
    context.exit_code = worker::clocks_worker_main(clocks_backend, devices, mhz);
  });

  CLI::App* probe = command->add_subcommand("probe", "Print what one backend finds on this machine, as JSON");
  static std::string backend;
  static bool devices_only = false;
  probe->add_option("--backend", backend, "Name the backend")->required();
  probe->add_flag("--devices-only", devices_only, "Do not search for compilers");
  probe->callback([&context] {
    context.exit_code = worker::probe_worker_main(backend, devices_only ? target::Probe::devices : target::Probe::all);
  });
}

}  // namespace xtune::cli
