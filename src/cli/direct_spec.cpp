// The text goes through the reader of spec files, so that a run is described in one way only.
#include "cli/direct_spec.hpp"

#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.hpp"
#include "cli/output.hpp"
#include "core/spec/document.hpp"
#include "system/files.hpp"
#include "system/shell_words.hpp"

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
  const std::string name = text.substr(0, equals);
  if (!RE2::FullMatch(name, "[A-Za-z_]\\w*"))
    throw bad_argument("{} '{}': '{}' is not a name, which has letters, digits and _ only. Write {}", option,
                       base::printable(text, 80), base::printable(name, 80), example);
  return {name, text.substr(equals + 1)};
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

constexpr const char* integer_form = R"([-+]?(?:0|[1-9][0-9]*))";
constexpr const char* number_form = R"([-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)";

bool all_are(const Words& words, const char* form) {
  return std::all_of(words.begin(), words.end(), [&](const std::string& word) { return RE2::FullMatch(word, form); });
}

/// Numbers and booleans as they are, if all are; else texts.
Words toml_values(Words words) {
  if (!all_are(words, number_form) && !all_are(words, "true|false"))
    for (std::string& word : words) word = spec::toml_string(word);
  else if (!all_are(words, integer_form))
    for (std::string& word : words)
      if (RE2::FullMatch(word, integer_form)) word += ".0";
  return words;
}

/// "1:8" or "0:1:0.1" as numbers; nullopt: another text. step is empty if there is none.
struct Range {
  std::string start, stop, step;
};
std::optional<Range> range_of(const std::string& name, const std::string& text) {
  static const RE2 range(fmt::format("({0}):({0})(?::({0}))?", number_form));
  Range found;
  if (RE2::FullMatch(text, range, &found.start, &found.stop, &found.step)) return found;
  if (RE2::FullMatch(text, R"([-+]?[0-9.]+(?:\.\.|-)[0-9.]+)") && !RE2::FullMatch(text, number_form))
    throw bad_argument("-p {}={}: a range has a colon. Write -p {}=1:8, or 1:8:2 for steps of 2", name, text, name);
  if (RE2::FullMatch(text, R"([-+.0-9eE]+(?::[-+.0-9eE]+){1,2})"))
    throw bad_argument("-p {}={}: this is not a range of numbers. Write -p {}=1:8, or 0.5:2:0.5 for steps of 0.5", name,
                       text, name);
  return std::nullopt;
}

/// The integers of a range, with both ends.
Words expanded(const std::string& name, const std::string& text, const Range& range) {
  constexpr std::int64_t max_values = 10000;
  std::int64_t start = 0, stop = 0, step = 1;
  if (!RE2::FullMatch(range.start, "(.*)", &start) || !RE2::FullMatch(range.stop, "(.*)", &stop) ||
      !(range.step.empty() || RE2::FullMatch(range.step, "(.*)", &step)))
    throw bad_argument("-p {}: '{}' is a range of fractions, and counts down or has other values beside it: list them",
                       name, text);
  if (step == 0 || (stop - start) / step < 0 || (stop != start && (stop > start) != (step > 0)))
    throw bad_argument("-p {}: the range {} is empty: it goes from {} to {} in steps of {}. {}", name, text, start,
                       stop, step, step == 0 ? "A step is not 0" : fmt::format("Write {}:{}:{}", start, stop, -step));
  if ((stop - start) / step >= max_values)
    throw bad_argument("-p {}: the range {} has more than {} values", name, text, max_values);
  Words values;
  for (std::int64_t value = start; step > 0 ? value <= stop : value >= stop; value += step)
    values.push_back(std::to_string(value));
  return values;
}

/// Values of -p in TOML, by name: "[64, 128]", "{ min = 1, max = 8 }". A name that is repeated gets more values.
Named parameters_of(const DirectOptions& options) {
  std::vector<std::pair<std::string, Words>> given;
  for (const std::string& text : options.parameters) {
    const auto [name, values] = split_named("-p", text, "-p NAME=64,128, or -p NAME=1:8 for a range");
    const auto known =
        std::find_if(given.begin(), given.end(), [&, &own = name](const auto& each) { return each.first == own; });
    Words& own = known == given.end() ? given.emplace_back(name, Words()).second : known->second;
    for (const std::string& word : base::split(values, ',')) own.emplace_back(base::trimmed(word));
  }
  Named parameters;
  for (const auto& [name, words] : given) {
    const auto is_number = [](const std::string& word) { return RE2::FullMatch(word, number_form); };
    const bool has_numbers = std::any_of(
        words.begin(), words.end(), [](const std::string& word) { return RE2::PartialMatch(word, "^[-+]?[0-9]"); });
    if ((has_numbers || words.size() == 1) && std::find(words.begin(), words.end(), "") != words.end())
      throw bad_argument("-p {}={}: a value is empty. Write -p {}=64,128", name, fmt::join(words, ","), name);
    Words values;
    for (const std::string& word : words) {
      const auto range = range_of(name, word);
      if (range && words.size() == 1 && std::stod(range->start) <= std::stod(range->stop) &&
          (range->step.empty() || std::stod(range->step) > 0)) {
        parameters.emplace_back(name, fmt::format("{{ min = {}, max = {}{} }}", range->start, range->stop,
                                                  range->step.empty() ? "" : ", step = " + range->step));
        break;
      }
      const Words more = range ? expanded(name, word, *range) : Words{word};
      values.insert(values.end(), more.begin(), more.end());
    }
    if (values.empty()) continue;
    if (const auto odd = std::find_if_not(values.begin(), values.end(), is_number);
        odd != values.end() && std::any_of(values.begin(), values.end(), is_number))
      tell("note: -p {}: '{}' is not a number, so all values of {} are texts\n", name, base::printable(*odd, 80), name);
    parameters.emplace_back(name, fmt::format("[{}]", fmt::join(toml_values(values), ", ")));
  }
  return parameters;
}

Named sizes_of(CommonOptions& common) {
  Named sizes;
  for (const std::string& define : std::exchange(common.defines, {})) {
    const auto [name, value] = split_named("-D", define, "-D NAME=value, for example -D N=8192");
    sizes.emplace_back(name, toml_values({std::string(base::trimmed(value))}).front());
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

/// Options of xtune among the words behind --, which are all the command's.
void refuse_options_behind(const Words& command, const DirectOptions& options) {
  const auto is_option = [&](const std::string& word) {
    return std::find(options.names.begin(), options.names.end(), word.substr(0, word.find('='))) != options.names.end();
  };
  const auto found = std::find_if(command.begin() + 1, command.end(), is_option);
  if (found == command.end()) return;
  if (options.parameters.empty())
    throw bad_argument(
        "{}: all words behind -- are the command, and no -p stands before it: this tunes nothing. Write\n"
        "  xtune run {} -- {}\nA command that has its own {} is one text behind --: 'COMMAND'",
        *found, system::command_line({found, command.end()}), system::command_line({command.begin(), found}), *found);
  tell("note: {} stands behind --, so the command gets it; options of xtune stand before the --\n", *found);
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

bool is_in(const Named& list, const std::string& name) {
  return std::any_of(list.begin(), list.end(), [&](const auto& each) { return each.first == name; });
}

/// Each placeholder has values, and each parameter is in a placeholder.
void require_placeholders(const std::string& whole, const Named& sizes, const Named& parameters) {
  std::string word;
  for (re2::StringPiece rest(whole); RE2::FindAndConsume(&rest, R"((?:^|[^{])\{([A-Za-z_]\w*)\})", &word);)
    if (word != "out" && word != "tmp" && !is_in(sizes, word) && !is_in(parameters, word))
      throw bad_argument("the command has {{{0}}}, and no -p gives its values: -p {0}=1,2", word);
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
  std::string word, missing;
  for (re2::StringPiece rest(whole); RE2::FindAndConsume(&rest, R"(([^\s'";&|<>()]+))", &word);)
    if (std::error_code ignored; RE2::FullMatch(word, source_ending) && fs::is_regular_file(word, ignored))
      sources.push_back(relative_to(word, base));
    else if (missing.empty() && RE2::FullMatch(word, source_ending) && word.find('{') == std::string::npos)
      missing = word;
  const Words outputs = outputs_of(whole, shell);
  if (RE2::PartialMatch(options.build, written_file, &word))
    throw bad_argument("--build: several builds run at once, and all would write {0}: write {{tmp}}/{0}",
                       base::printable(word, 80));
  if (options.time.empty() && options.build.empty() && !sources.empty() && !outputs.empty())
    tell("note: the time is that of the whole command, with its compiler; --build TEXT builds before it\n");
  std::string name = options.name;
  if (name.empty())
    name =
        fs::path(sources.empty() ? command.front().substr(0, command.front().find_first_of(" \t\n")) : sources.front())
            .stem()
            .string();
  if (name.starts_with('{') && !missing.empty()) throw bad_argument("{}: no such file", base::printable(missing, 80));
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
  std::string spec = "# Written by `xtune run`.\n[kernel]\nname = " + spec::toml_string(name) + "\n";
  const Named sizes = sizes_of(common), parameters = parameters_of(options);
  require_placeholders(whole, sizes, parameters);
  spec += table_text("problem", sizes);
  if (const Words constraints = std::exchange(common.filters, {}); !constraints.empty())
    spec += "\n[space]\nconstraints = " + list_text(constraints) + "\n";
  return spec + table_text("space.params", parameters) + table_text("process", process);
}

/// The option that says what a line of the spec says, with the name of what it is about.
std::string option_at(const std::string& text, std::int64_t line) {
  std::string section, key, name, dtype;
  for (const std::string_view each : base::split_lines(text)) {
    if (RE2::FullMatch(each, R"(\[+([\w.]+)\]+)", &section)) name.clear();
    RE2::PartialMatch(each, R"re(^dtype = "(\w+)")re", &dtype);
    RE2::PartialMatch(each, R"(^(\w+) = )", &key);
    if (section == "args") RE2::PartialMatch(each, R"re(^name = "(\w+)")re", &name);
    if (line-- <= 1 && each != "[[args]]") break;  // its name is on the next line
  }
  if (section == "problem") return "-D " + key;
  if (section == "space.params") return "-p " + key;
  const bool is_vector = RE2::FullMatch(dtype, R"(\w+x\d+)");
  if (section == "args")
    return key == "shape" ? "--shape " + name : key == "value" && !is_vector ? "-D " + name : "argument " + name;
  for (const auto& [option, keys] : {std::pair("--filter", "constraints"),
                                     {"the command", "run"},
                                     {"--build", "build"},
                                     {"--time", "time"},
                                     {"--grid", "grid"},
                                     {"--block", "block"},
                                     {"--name", "name"},
                                     {"--entry", "entry"}})
    if (key == keys) return option;
  return section == "validate" ? "the reference" : "the source";
}

/// A guess or a blank as the option that says it.
std::string as_option(const init::Draft& draft, const init::DraftLine& line) {
  const std::string option = option_at(draft.text, line.line);
  std::string value;
  const std::size_t colon = line.why.find(": ");
  const std::string why = colon == std::string::npos ? "" : "  # " + line.why.substr(colon + 2);
  if (RE2::FullMatch(line.text, R"(reference = \{ config = \{ (.*) \} \})", &value))
    return "the results of " + value + " count as right";
  if (!option.starts_with('-') || !RE2::FullMatch(line.text, R"re([\w-]+ = (.*))re", &value)) return line.shown() + why;
  if (option.starts_with("-p") && RE2::PartialMatch(value, R"(\[(.*)\])", &value))
    RE2::GlobalReplace(&value, "[ \"]", "");
  RE2::GlobalReplace(&value, R"re(^\["|^"|"\]$|"$)re", "");
  RE2::GlobalReplace(&value, R"re(", ")re", ", ");
  return fmt::format("{}{}{}{}", option, option.find(' ') == std::string::npos ? " " : "=",
                     value.find('?') == std::string::npos ? system::command_line({value}) : "...", why);
}

/// Names that the user has given and nothing uses are mistakes.
void require_use(const init::Draft& draft, const init::DraftRequest& request) {
  for (const auto& [name, value] : request.sizes)
    if (is_in(request.parameters, name))
      throw bad_argument("-D {0} and -p {0}: a size has one value, and a parameter several. Choose one", name);
    else if (std::find(draft.sizes.begin(), draft.sizes.end(), name) == draft.sizes.end())
      throw bad_argument("-D {}: neither the kernel nor another option uses this name{}; the kernel takes {}", name,
                         base::did_you_mean(name, draft.arguments), fmt::join(draft.arguments, ", "));
  for (const auto& [name, shape] : request.shapes)
    if (std::find(draft.arguments.begin(), draft.arguments.end(), name) == draft.arguments.end())
      throw bad_argument("--shape {}: the kernel has no argument of this name{}; it takes {}", name,
                         base::did_you_mean(name, draft.arguments), fmt::join(draft.arguments, ", "));
}

std::string kernel_spec(const std::string& source, const DirectOptions& options, const fs::path& place,
                        CommonOptions& common) {
  init::DraftRequest request;
  if (!options.entry.empty()) request.entries = split_list(options.entry);
  request.parameters = parameters_of(options);
  request.sizes = sizes_of(common);
  request.grid = split_expressions(options.grid);
  request.block = split_expressions(options.block);
  request.constraints = std::exchange(common.filters, {});
  for (const std::string& text : options.shapes) {
    const auto [argument, shape] = split_named("--shape", text, "--shape NAME=EXPR,..., for example --shape x=M,N");
    request.shapes[argument] = split_expressions(shape);
  }
  init::Draft draft = draft_at(source, place, options.project, request);
  require_use(draft, request);
  Words guesses, blanks;
  for (const init::DraftLine& line : draft.guesses) guesses.push_back(as_option(draft, line));
  for (const init::DraftLine& line : draft.blanks) blanks.push_back(as_option(draft, line));
  const std::string spec_writer = fmt::format("`xtune init {}{}` writes a spec to complete", base::printable(source),
                                              options.entry.empty() ? "" : " --entry " + options.entry);
  if (std::any_of(blanks.begin(), blanks.end(), [](const std::string& blank) { return !blank.starts_with('-'); }))
    throw bad_argument("{}: the source does not show all that a run needs, and only a spec can say it:\n  {}\n{}",
                       base::printable(source), fmt::join(blanks, "\n  "), spec_writer);
  if (!blanks.empty())
    throw bad_argument(
        "{}: the source does not show all that a run needs. Say it with these options:\n  {}\n"
        "{}",
        base::printable(source), fmt::join(blanks, "\n  "), spec_writer);
  if (!guesses.empty())
    tell("guessed from {}; an option replaces each guess:\n  {}\n", base::printable(source),
         fmt::join(guesses, "\n  "));
  return "# Written by `xtune run`. Lines with \"guess\" were read from the source.\n\n" + draft.text;
}

}  // namespace

init::Draft draft_at(const std::string& source, const fs::path& place, const ProjectFlags& flags,
                     init::DraftRequest request) {
  request.source = read_given([&] { return system::read_file(source); });
  const fs::path folder = fs::absolute(place).parent_path();
  request.source_path = relative_to(source, folder);
  request.project =
      read_given([&] { return init::project_options(source, flags.include_dirs, flags.compile_commands, folder); });
  return init::draft_file(source, folder, std::move(request), [](const std::string& line) { tell("{}\n", line); });
}

void add_project_options(const OptionGroup& group, ProjectFlags& flags) {
  group.list("-I,--include", flags.include_dirs, "DIR", "Search this directory for the headers of the source, too");
  group.value("--compile-commands", flags.compile_commands, "FILE",
              "Take include directories, -D and -std from this compile_commands.json, or from none; default: the "
              "nearest one above the source, or in build/ there");
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
  add_project_options(direct, options.project);
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

std::string in_options(const DirectSpec& spec, std::string message) {
  static const RE2 place(
      R"((?:\S*/)?command line:(\d+):\d+: (?:(?:launch|process)\.[\w.]+(?:: | )|parameter '\w+' )?)");
  std::size_t line = 0;
  while (RE2::PartialMatch(message, place, &line) && RE2::Replace(&message, place, option_at(spec.text, line) + ": "))
    RE2::Replace(&message, R"(\n  .*\n +\^)", "");
  RE2::Replace(&message, RE2::QuoteMeta(spec.place.string() + ": "), "");
  RE2::GlobalReplace(&message, "a name of \\[problem\\]", "a size of -D");
  RE2::GlobalReplace(&message, " of \\[process\\]", "");
  RE2::GlobalReplace(&message, R"((\[(?:measure|validate|search|process)\] \w+))", "\\1 of a spec (--write-spec FILE)");
  return message;
}

std::optional<DirectSpec> direct_spec(const Words& paths, const DirectOptions& options, CommonOptions& common) {
  Words command = words_behind_dashes();
  if (!command.empty() && command.front().find_first_of(" \t\n") != std::string::npos) command.resize(1);
  if (!command.empty()) refuse_options_behind(command, options);
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
                                        {"--entry", !options.entry.empty()},
                                        {"-I", !options.project.include_dirs.empty()},
                                        {"--compile-commands", !options.project.compile_commands.empty()}})
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
  if (!fs::is_directory(made.place.parent_path(), ignored))
    throw bad_argument("--write-spec {}: directory {} is missing. Create it, or name another file",
                       base::printable(options.write_spec),
                       base::printable(fs::path(options.write_spec).parent_path().string()));
  if (fs::exists(made.place, ignored) && system::read_file(made.place) != made.text)
    throw bad_argument("--write-spec {}: the file exists, with another text. Remove it, or name another",
                       base::printable(options.write_spec));
  system::write_output_file(made.place, made.text);
  return made;
}

}  // namespace xtune::cli
