// The text goes through the reader of spec files, so that a run is described in one way only.
#include "cli/direct_spec.hpp"

#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.hpp"
#include "cli/output.hpp"
#include "core/spec/document.hpp"
#include "system/files.hpp"

namespace xtune::cli {

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using init::Named;

constexpr const char* source_ending = R"((?i).*\.(?:cu|cuh|hip|c|cc|cpp|cxx))";

/// "NAME=value" as its parts.
std::pair<std::string, std::string> split_named(const std::string& option, const std::string& text,
                                                const std::string& example) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw bad_argument("{} '{}': write {}", option, base::printable(text, 80), example);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The parts between commas outside of brackets.
Words split_expressions(const std::string& text) {
  Words parts;
  int depth = 0;
  for (const char c : text) {
    depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    if (parts.empty() || (c == ',' && depth == 0)) parts.emplace_back();
    if (c != ',' || depth != 0) parts.back() += c;
  }
  for (std::string& part : parts) part = base::trimmed(part);
  return parts;
}

bool all_are(const Words& words, const char* form) {
  return std::all_of(words.begin(), words.end(), [&](const std::string& word) { return RE2::FullMatch(word, form); });
}

/// Numbers and booleans as they are, if all are; else texts.
Words toml_values(Words words) {
  constexpr const char* integer = R"([-+]?(?:0|[1-9][0-9]*))";
  constexpr const char* number = R"([-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)";
  if (!all_are(words, number) && !all_are(words, "true|false"))
    for (std::string& word : words) word = spec::toml_string(word);
  else if (!all_are(words, integer))
    for (std::string& word : words)
      if (RE2::FullMatch(word, integer)) word += ".0";
  return words;
}

/// Values of -p in TOML, by name: "[64, 128]", "{ min = 1, max = 8 }". A name that is repeated gets more values.
Named parameters_of(const DirectOptions& options) {
  std::vector<std::pair<std::string, Words>> words;
  Named ranges;
  for (const std::string& text : options.parameters) {
    const auto [name, values] = split_named("-p", text, "-p NAME=64,128, or -p NAME=1:8 for a range");
    std::string min, max, step;
    if (RE2::FullMatch(values, R"((-?[0-9.]+):(-?[0-9.]+)(?::([0-9.]+))?)", &min, &max, &step)) {
      ranges.emplace_back(name,
                          fmt::format("{{ min = {}, max = {}{} }}", min, max, step.empty() ? "" : ", step = " + step));
      continue;
    }
    const auto known =
        std::find_if(words.begin(), words.end(), [&, &own = name](const auto& each) { return each.first == own; });
    Words& own = known == words.end() ? words.emplace_back(name, Words()).second : known->second;
    const Words more = base::split(values, ',');
    own.insert(own.end(), more.begin(), more.end());
  }
  for (auto& [name, values] : words)
    ranges.emplace_back(name, fmt::format("[{}]", fmt::join(toml_values(values), ", ")));
  return ranges;
}

Named sizes_of(CommonOptions& common) {
  Named sizes;
  for (const std::string& define : std::exchange(common.defines, {})) {
    const auto [name, value] = split_named("-D", define, "-D NAME=value, for example -D N=8192");
    sizes.emplace_back(name, toml_values({value}).front());
  }
  return sizes;
}

/// "json:PATH" and "csv:COLUMN", else a regular expression.
std::string time_text(const std::string& where) {
  for (const std::string form : {"json", "csv"})
    if (where.starts_with(form + ":"))
      return fmt::format("{{ {} = {} }}", form, spec::toml_string(where.substr(form.size() + 1)));
  return fmt::format("{{ regex = {} }}", spec::toml_string(where));
}

std::string list_text(const Words& words) {
  Words quoted;
  for (const std::string& word : words) quoted.push_back(spec::toml_string(word));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

std::string table_text(const char* name, const Named& entries) {
  std::string text = entries.empty() ? "" : fmt::format("\n[{}]\n", name);
  for (const auto& [key, value] : entries) text += key + " = " + value + "\n";
  return text;
}

std::string relative_to(const fs::path& file, const fs::path& directory) {
  const fs::path relative = fs::absolute(file).lexically_normal().lexically_relative(directory.lexically_normal());
  return relative.empty() ? fs::absolute(file).string() : relative.string();
}

/// Options that stand behind a command of several words are taken for its words.
const char* hint_of_order(const Words& command) {
  const bool has_option = std::any_of(command.begin(), command.end(), [](const std::string& word) {
    return word == "-p" || word == "--param" || word == "--build" || word == "--time";
  });
  return has_option ? " before the --, as all words behind it are the command" : "";
}

constexpr const char* written_file = R"((?:\s-o|>)\s*([^\s'";&|<>(){}]+))";

/// Files that the words of commands write.
Words outputs_of(const std::string& whole, bool shell) {
  Words outputs;
  std::string word;
  for (re2::StringPiece rest(whole); RE2::FindAndConsume(&rest, written_file, &word);) outputs.push_back(word);
  // What compilers write without -o; a command that begins with it runs what was there before.
  if (shell && RE2::PartialMatch(whole, R"([\s/]a\.out\b)") && !RE2::PartialMatch(whole, R"(^\s*(?:\./)?a\.out\b)"))
    outputs.emplace_back("a.out");
  return outputs;
}

/// Each placeholder has values, and each parameter is in a placeholder.
void require_placeholders(const Words& command, const std::string& whole, const Named& sizes, const Named& parameters) {
  const auto is_in = [](const Named& list, const std::string& name) {
    return std::any_of(list.begin(), list.end(), [&](const auto& each) { return each.first == name; });
  };
  std::string word;
  for (re2::StringPiece rest(whole); RE2::FindAndConsume(&rest, R"((?:^|[^{])\{([A-Za-z_]\w*)\})", &word);)
    if (word != "out" && word != "tmp" && !is_in(sizes, word) && !is_in(parameters, word))
      throw bad_argument("the command has {{{0}}}, and no -p gives its values: -p {0}=1,2{1}", word,
                         hint_of_order(command));
  for (const auto& [name, values] : parameters)
    if (!RE2::PartialMatch(whole, "\\{[^{}]*\\b" + RE2::QuoteMeta(name) + "\\b"))
      throw bad_argument("-p {0}: the command has no {{{0}}}", name);
}

/// A command of [process], whose words may be one text for a shell.
std::string command_spec(const Words& command, const DirectOptions& options, const fs::path& base,
                         CommonOptions& common) {
  const bool shell = command.front().find_first_of(" \t\n") != std::string::npos;
  const std::string whole = fmt::format("{} {}", options.build, fmt::join(command, " "));
  Words sources;
  std::string word;
  for (re2::StringPiece rest(whole); RE2::FindAndConsume(&rest, R"(([^\s'";&|<>()]+))", &word);)
    if (std::error_code ignored; RE2::FullMatch(word, source_ending) && fs::is_regular_file(word, ignored))
      sources.push_back(relative_to(word, base));
  const Words outputs = outputs_of(whole, shell);
  if (RE2::PartialMatch(options.build, written_file, &word))
    throw bad_argument("--build: several builds run at once, and all would write {0}: write {{tmp}}/{0}",
                       base::printable(word, 80));
  std::string name = options.name;
  if (name.empty())
    name =
        fs::path(sources.empty() ? command.front().substr(0, command.front().find_first_of(" \t\n")) : sources.front())
            .stem()
            .string();
  Named process;
  if (shell || !options.build.empty()) process.emplace_back("shell", "true");
  if (!options.build.empty()) process.emplace_back("build", spec::toml_string(options.build));
  const std::string text = shell ? command.front() : fmt::format("{}", fmt::join(command, " "));
  process.emplace_back("run", shell || !options.build.empty() ? spec::toml_string(text) : list_text(command));
  if (!options.time.empty()) process.emplace_back("time", time_text(options.time));
  if (!sources.empty()) process.emplace_back("sources", list_text(sources));
  if (!outputs.empty()) process.emplace_back("outputs", list_text(outputs));
  if (const std::string folder = relative_to(fs::current_path(), base); folder != ".")
    process.emplace_back("folder", spec::toml_string(folder));
  std::string spec =
      "# `xtune run` on this file tunes the command again.\n[kernel]\nname = " + spec::toml_string(name) + "\n";
  const Named sizes = sizes_of(common), parameters = parameters_of(options);
  require_placeholders(command, whole, sizes, parameters);
  spec += table_text("problem", sizes);
  if (const Words constraints = std::exchange(common.filters, {}); !constraints.empty())
    spec += "\n[space]\nconstraints = " + list_text(constraints) + "\n";
  return spec + table_text("space.params", parameters) + table_text("process", process);
}

/// What a draft guesses, one line each: `grid = ["ceildiv(n, BLOCK)"]`, `x: shape = ["n"]`.
Words guesses_of(const init::Draft& draft) {
  Words said;
  std::string argument;
  for (const std::string_view line : base::split_lines(draft.text)) {
    const std::size_t comment = line.find("  # guess");
    if (line.empty()) argument.clear();
    if (!argument.empty() && RE2::PartialMatch(line, "^(?:shape|value|role) = "))
      said.push_back(argument + ": " + std::string(line));
    else if (comment != std::string_view::npos && !RE2::PartialMatch(line, R"re(^name = "(\w+)")re", &argument))
      said.emplace_back(line.substr(0, comment));
  }
  return said;
}

/// Names that the user has given and nothing uses are mistakes.
void require_use(const init::Draft& draft, const init::DraftRequest& request) {
  const auto uses = [&](const std::string& name) {
    int count = 0;
    for (re2::StringPiece rest(draft.text); RE2::FindAndConsume(&rest, "\\b" + RE2::QuoteMeta(name) + "\\b");) ++count;
    return count;
  };
  for (const auto& [name, value] : request.sizes)
    if (uses(name) < 2) throw bad_argument("-D {}: neither the kernel nor another option uses this name", name);
  for (const auto& [name, shape] : request.shapes)
    if (draft.text.find("name = " + spec::toml_string(name)) == std::string::npos)
      throw bad_argument("--shape {}: the kernel has no argument of this name", base::printable(name, 80));
}

std::string kernel_spec(const std::string& source, const DirectOptions& options, const fs::path& place,
                        CommonOptions& common) {
  init::DraftRequest request;
  if (!options.entry.empty()) request.entries = base::split(options.entry, ',');
  request.parameters = parameters_of(options);
  request.sizes = sizes_of(common);
  request.grid = split_expressions(options.grid);
  request.block = split_expressions(options.block);
  request.constraints = std::exchange(common.filters, {});
  for (const std::string& text : options.shapes) {
    const auto [argument, shape] = split_named("--shape", text, "--shape NAME=EXPR,..., for example --shape x=M,N");
    request.shapes[argument] = split_expressions(shape);
  }
  const init::Draft draft = draft_at(source, place, request);
  require_use(draft, request);
  if (const Words guesses = guesses_of(draft); draft.blanks.empty() && !guesses.empty())
    tell("guessed from {}; -p, -D, --grid, --block and --shape say it:\n  {}\n", base::printable(source),
         fmt::join(guesses, "\n  "));
  if (draft.blanks.empty()) return draft.text;
  throw bad_argument(
      "{}: the source does not show all that a run needs:\n  {}\n-p, -D, --grid, --block and --shape say it here; "
      "`xtune init {}` writes a spec to complete",
      base::printable(source), fmt::join(draft.blanks, "\n  "), base::printable(source));
}

}  // namespace

init::Draft draft_at(const std::string& source, const fs::path& place, init::DraftRequest request) {
  request.source = read_given([&] { return system::read_file(source); });
  request.headers = init::header_texts(source, request.source);
  request.source_path = relative_to(source, fs::absolute(place).parent_path());
  request.spec_path = place.string();
  return init::draft_spec(request);
}

void add_direct_options(CLI::App& command, DirectOptions& options) {
  const OptionGroup direct(command, option_group::direct);
  direct.list("-p,--param", options.parameters, "NAME=VALUES",
              "Try these values of a parameter: 64,128, or 1:8 for a range");
  direct.value("--entry", options.entry, "NAME", "Choose a kernel of the source; default: the only one");
  direct.value("--grid", options.grid, "EXPR,...", "Launch a kernel with this many blocks: \"ceildiv(N, BLOCK)\"");
  direct.value("--block", options.block, "EXPR,...", "Launch a kernel with this many threads in each block");
  direct.list("--shape", options.shapes, "ARG=EXPR,...", "Give an argument of a kernel this shape: x=M,N");
  direct.value("--build", options.build, "TEXT",
               "Make the file {out} before the command runs: \"nvcc -DB={B} k.cu -o {out}\"");
  direct.value("--time", options.time, "REGEX",
               "Read the time of a command in its output, in ms unless a unit follows: a regular expression, json:PATH "
               "or csv:COLUMN; default: the wall clock");
  direct.value("--name", options.name, "NAME", "Store the results of a command under this name");
  direct.value("--write-spec", options.write_spec, "FILE",
               "Write the spec to a file, for best, report and other commands");
}

Words words_behind_dashes() {
  const Words& words = command_words();
  const auto dashes = std::find(words.begin(), words.end(), "--");
  return dashes == words.end() ? Words() : Words(dashes + 1, words.end());
}

Words words_to_parse(Words words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (words.empty() || dashes == words.end() || (words.front() != "submit" && words.front() != "run")) return words;
  const bool is_text =
      words.front() == "run" && dashes + 1 != words.end() && dashes[1].find_first_of(" \t\n") != std::string::npos;
  words.erase(dashes, is_text ? dashes + 2 : words.end());
  return words;
}

std::optional<DirectSpec> direct_spec(const Words& paths, const DirectOptions& options, CommonOptions& common) {
  Words command = words_behind_dashes();
  if (!command.empty() && command.front().find_first_of(" \t\n") != std::string::npos) command.resize(1);
  const bool is_kernel = command.empty() && paths.size() == 1 && RE2::FullMatch(paths.front(), source_ending);
  if (!command.empty() && !paths.empty())
    throw bad_argument("'{}' and the command behind --: name a spec, or give a command",
                       base::printable(paths.front(), 80));
  if (command.empty() && paths.empty())
    throw bad_argument("SPEC is missing: name a spec, or a kernel's source with -p, or write a command behind --");
  const auto refuse = [](const char* option, const std::string& why) { throw bad_argument("{}: {}", option, why); };
  for (const auto& [option, is_used] : {std::pair("--grid", !options.grid.empty()),
                                        {"--block", !options.block.empty()},
                                        {"--shape", !options.shapes.empty()},
                                        {"--entry", !options.entry.empty()}})
    if (is_used && !is_kernel) refuse(option, "it goes with a kernel's source: xtune run kernel.cu -p BLOCK=64,128");
  for (const auto& [option, is_used] : {std::pair("--time", !options.time.empty()),
                                        {"--build", !options.build.empty()},
                                        {"--name", !options.name.empty()}})
    if (is_used && command.empty())
      refuse(option, "it goes with a command: xtune run -- 'make B={B} && ./a.out' -p B=1,2");
  if (command.empty() && !is_kernel) {
    if (!options.parameters.empty())
      refuse("-p", base::printable(paths.front(), 80) +
                       " is taken for a spec, which has its parameters (-D NAME=value pins one); -p goes with one "
                       "kernel's source, or with a command behind --");
    if (!options.write_spec.empty()) refuse("--write-spec", paths.front() + " is a spec");
    return std::nullopt;
  }
  DirectSpec made;
  made.place = fs::absolute(options.write_spec.empty() ? "command line" : options.write_spec);
  made.text = is_kernel ? kernel_spec(paths.front(), options, made.place, common)
                        : command_spec(command, options, made.place.parent_path(), common);
  if (options.write_spec.empty()) return made;
  std::error_code ignored;
  if (fs::exists(made.place, ignored) && system::read_file(made.place) != made.text)
    throw bad_argument("--write-spec {}: the file exists, with another text. Remove it, or name another",
                       base::printable(options.write_spec));
  system::write_output_file(made.place, made.text);
  return made;
}

}  // namespace xtune::cli
