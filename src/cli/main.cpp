// The xtune program: parses the command line, runs one command, turns errors into messages and exit codes.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>
#include <string_view>

#include "cli/direct_spec.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "xtune/version.hpp"

namespace {

/// Opens closed standard streams; otherwise the next file or pipe would get their numbers.
void open_standard_streams() {
  for (int fd = 0; fd <= 2; ++fd)
    if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd) return;
}

/// If the umask denied the owner, processes of a run could not read each other's files.
void let_owner_use_own_files() {
  const mode_t mask = umask(S_IRWXG | S_IRWXO);
  umask(mask & ~mode_t{S_IRWXU});
}

/// Whether standard output is a pipe whose reader has gone, as `head` does when it has its lines.
bool reader_is_gone() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

using namespace xtune;

// Searched without the parser, because a command line that cannot be parsed is answered in JSON too.
bool json_wanted(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--format=json" || (word == "--format" && i + 1 < argc && std::string_view(argv[i + 1]) == "json"))
      return true;
  }
  return false;
}

// With --format json standard output is never empty: {"error": {...}}, with a place if the message opens with one.
int report(const std::string& kind, const std::string& message, int exit_code, int argc, char** argv) {
  if (!json_wanted(argc, argv)) return exit_code;
  cli::Json json;
  if (argc > 1 && std::string_view(argv[1]) == "check") json["valid"] = false;
  json["error"] = cli::error_json(kind, message);
  cli::print_json(json);
  return exit_code;
}

int refuse(const CLI::App& app, const cli::Words& words, const std::string& why, int argc, char** argv) {
  cli::tell("xtune: {}\n", why);
  cli::tell("`{} --help` lists what it takes\n", cli::full_name(cli::chosen_command(app, words)));
  return report(to_string(ErrorKind::invalid_argument), why, cli::bad_arguments, argc, argv);
}

/// Answers words that could not be parsed, or that ask for help or the version.
int answer_parse_error(const CLI::App& app, const cli::Words& words, const CLI::ParseError& error, int argc,
                       char** argv) {
  if (error.get_exit_code() == 0) {
    app.exit(error);
    return cli::done;
  }
  const CLI::App& command = cli::chosen_command(app, words);
  if (command.get_require_subcommand_min() > 0 && app.remaining(true).empty()) {
    cli::tell("{}", command.help());
    return report(to_string(ErrorKind::invalid_argument), "the command is missing", cli::bad_arguments, argc, argv);
  }
  return refuse(app, words, cli::parse_error_text(app, words, error), argc, argv);
}

/// --help-all is only for commands with subcommands.
void drop_help_all(CLI::App& command) {
  const auto commands = command.get_subcommands([](CLI::App*) { return true; });
  for (CLI::App* const each : commands) drop_help_all(*each);
  if (commands.empty()) command.set_help_all_flag();
}

int run_program(int argc, char** argv) {
  cli::command_words().assign(argv, argv + argc);
  if (argc > 0) cli::command_words().front() = "xtune";
  const cli::Words words = cli::words_to_parse({argv + 1, argv + std::max(argc, 1)});
  cli::choose_colours(words);
  CLI::App app{"xtune finds the fastest configuration of a GPU kernel on the GPU you have, and remembers it.", "xtune"};
  app.formatter(std::make_shared<cli::HelpFormatter>());  // inherited by the commands, like the next setting
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("-V,--version", std::string("xtune ") + version, "Print the version");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Print the help of every command");
  app.footer("Example:\n  xtune run configs/gemm.toml\n\n`xtune help COMMAND` lists the options of a command.");
  cli::Context context;
#define COMMAND(add) cli::add(app, context);
#include "cli/commands.def"
#undef COMMAND
  cli::add_color_option(app);
  drop_help_all(app);
  try {
    if (const std::string why = cli::unknown_command(app, words); !why.empty())
      return refuse(app, words, why, argc, argv);
    app.parse(cli::Words(words.rbegin(), words.rend()));  // it expects them in reverse order
  } catch (const CLI::ParseError& error) {
    return answer_parse_error(app, words, error, argc, argv);
  } catch (const Error& error) {
    // Behind an unknown option, its value is taken for a spec.
    if (const cli::Words unknown = app.remaining(true); !unknown.empty())
      return answer_parse_error(app, words, CLI::ExtrasError(unknown), argc, argv);
    cli::tell("xtune: {}\n", error.what());
    return report(to_string(error.kind()), error.what(), cli::exit_code_of(error.kind()), argc, argv);
  } catch (const std::exception& error) {
    if (std::ferror(stdout)) return cli::own_failure;  // which main() reports
    cli::tell("xtune: {}\n", error.what());
    return report("internal", error.what(), cli::own_failure, argc, argv);
  }
  return context.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_streams();
  let_owner_use_own_files();
  // A closed reader and a file at its size limit are errors of the write.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int code = run_program(argc, argv);
    // A failure of an earlier flush is visible only in the stream's state.
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
      if (reader_is_gone()) {  // end as other filters do then: without a message
        std::signal(SIGPIPE, SIG_DFL);
        std::raise(SIGPIPE);
      }
      cli::tell("xtune: standard output cannot be written\n");
      return xtune::cli::own_failure;
    }
    return code;
  } catch (const std::exception& error) {
    cli::tell("xtune: {}\n", error.what());
    return xtune::cli::own_failure;
  }
}
