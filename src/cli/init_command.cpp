// xtune init: a first spec for a kernel, from its source.

#include "cli/cases.hpp"
#include "core/outline/draft.hpp"

namespace xtune::cli {
namespace {

namespace fs = std::filesystem;

struct InitOptions {
  std::string source, entry, output, format = "text";
  bool force = false;
};

/// The path of a file relative to the directory of another one.
std::string relative_to(const fs::path& file, const fs::path& other) {
  const fs::path folder = fs::absolute(other).parent_path();
  const fs::path relative = fs::absolute(file).lexically_normal().lexically_relative(folder.lexically_normal());
  return relative.empty() ? fs::absolute(file).string() : relative.string();
}

/// Why xtune would not read the draft; empty: it does.
std::string objection(const std::string& text, const fs::path& path) {
  try {
    spec::parse_spec(text, path.filename().string(), fs::absolute(path).parent_path());
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

int init(const InitOptions& options) {
  const bool to_stdout = options.output == "-";
  if (to_stdout && options.format == "json")
    throw bad_argument("-o - prints the spec, and --format json prints JSON: choose one of them");
  const fs::path path = options.output.empty() || to_stdout ? fs::path(options.source).replace_extension(".toml")
                                                            : fs::path(options.output);
  if (!to_stdout) require_new_files({path}, options.force, "-o names another");
  outline::DraftRequest request;
  request.source = read_given([&] { return base::read_file(options.source); });
  request.headers = outline::header_texts(options.source, request.source);
  request.source_path = relative_to(options.source, path);
  request.spec_path = to_stdout ? path.filename().string() : path.string();
  request.entry = options.entry;
  const outline::Draft draft = outline::draft_spec(request);
  const std::string wrong = objection(draft.text, path);
  if (to_stdout)
    print_out("{}", draft.text);
  else
    base::write_output_file(path, draft.text);
  if (!wrong.empty()) tell("warning: the draft needs a change before it can be used: {}\n", wrong);
  if (options.format == "json")
    print_json(Json{{"spec", path.string()},
                    {"kernel", draft.kernel},
                    {"entry", draft.entry},
                    {"parameters", draft.parameters},
                    {"guesses", draft.guesses},
                    {"valid", wrong.empty()}});
  else if (!to_stdout)
    print_out(
        "{}: a draft for {} with {}; {} marked \"guess\"\n  `xtune check {}` checks it, `xtune run {}` tunes it\n",
        path.string(), draft.entry, counted(draft.parameters.size(), "parameter"),
        counted(draft.guesses.size(), "line"), path.string(), path.string());
  return done;
}

}  // namespace

void add_init_command(CLI::App& app, Context& context) {
  const auto [command, options] =
      add_command<InitOptions>(app, context, "init", "Write a first spec for a kernel, from its source",
                               "xtune init row_sum.cu && xtune run row_sum.toml", init);
  add_argument(command, "source", options.source, "FILE", "Source file with a __global__ function");
  OptionGroup(command, option_group::problem)
      .value("--entry", options.entry, "NAME", "Choose a kernel of the source; default: the only one");
  OptionGroup(command, option_group::output)
      .value("-o,--output", options.output, "FILE",
             "Write to this file, or to standard output for -; default: the source's name with .toml");
  add_force_option(command, options.force);
  add_format_option(command, options.format);
}

}  // namespace xtune::cli
