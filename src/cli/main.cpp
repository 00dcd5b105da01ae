// The xtune program: parses the command line, runs one command, turns errors into messages and exit codes.
#include <fcntl.h>
#include <fmt/core.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>

#include "cli/commands.hpp"
#include "xtune/version.hpp"

namespace {

/// A closed standard stream would give its number to the next file or pipe that is opened.
void open_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd) return;
}

int run(int argc, char** argv) {
  using namespace xtune;
  CLI::App app{"xtune finds the fastest configuration of a GPU kernel on the GPU you have, and remembers it."};
  app.set_version_flag("--version", std::string("xtune ") + version);
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Print the help of every command");
  app.footer(
      "Example:\n  xtune run configs/gemm.toml\n\nExit codes: 0 done; 1 xtune's own failure; 2 bad arguments or spec; "
      "3 nothing "
      "valid was found;\n4 device or backend unavailable; 130 interrupted, with everything measured so far kept.");
  cli::Context context;
#define COMMAND(add) cli::add(app, context);
#include "cli/commands.def"
#undef COMMAND
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version are "errors" with code 0.
    return app.exit(error) == 0 ? cli::done : cli::bad_arguments;
  } catch (const Error& error) {
    cli::tell("xtune: {}\n", error.what());
    return cli::exit_code_of(error.kind());
  }
  return context.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone is an error of the write
  try {
    const int code = run(argc, argv);
    // What was flushed earlier, and failed, shows in the stream's state alone.
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
      std::fputs("xtune: standard output cannot be written\n", stderr);
      return xtune::cli::own_failure;
    }
    return code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "xtune: %s\n", error.what());
    return xtune::cli::own_failure;
  }
}
