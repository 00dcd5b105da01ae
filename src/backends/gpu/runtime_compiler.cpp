// Compiles one program through the calls of a run-time compiler, and parses ptxas' report.
#include "backends/gpu/runtime_compiler.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <string_view>

#include "base/text.hpp"
#include "core/build/shortage.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::gpu {
namespace {

/// Owns a program of the compiler.
class Handle {
 public:
  Handle(const CompilerApi& api, const std::string& source, const std::string& source_name) : api_(api) {
    const int status = api.create(&program_, source.c_str(), source_name.c_str());
    if (status != 0 && status == api.out_of_memory)
      throw build::ShortageFailure(build::Lack::memory, Outcome::crashed,
                                   fmt::format("{} ran out of memory", api.name));
    if (status != 0)
      throw Error(ErrorKind::unavailable,
                  fmt::format("{} cannot start on '{}': {}", api.name, source_name, api.describe(status)));
  }
  ~Handle() {
    try {
      api_.destroy(&program_);
    } catch (...) {  // a destructor never throws
    }
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  CompilerApi::Program get() const noexcept { return program_; }

 private:
  const CompilerApi& api_;
  CompilerApi::Program program_ = nullptr;
};

std::string read_log(const CompilerApi& api, CompilerApi::Program program) {
  std::size_t size = 0;
  if (api.log_size(program, &size) != 0 || size == 0) return {};
  std::string log(size, '\0');
  if (api.log(program, log.data()) != 0) return {};
  log.resize(log.find('\0') == std::string::npos ? log.size() : log.find('\0'));
  return log;
}

/// As a name expression: of a variable it is the address.
std::string expression_of(const std::string& variable) { return "&" + variable; }

void add_names(const CompilerApi& api, CompilerApi::Program program, const build::CompileRequest& request) {
  const auto add = [&](const char* what, const std::string& name, const std::string& expression) {
    if (const int status = api.add_name_expression(program, expression.c_str()); status != 0)
      throw build::CandidateFailure(Outcome::compile_failed,
                                    fmt::format("{} '{}': {}", what, name, api.describe(status)));
  };
  for (const std::string& entry : build::entries_of(request)) add("entry", entry, entry);
  for (const std::string& variable : request.variables) add("constant", variable, expression_of(variable));
}

void read_names(const CompilerApi& api, CompilerApi::Program program, const build::CompileRequest& request,
                CompiledProgram& result) {
  const auto lowered = [&](const char* what, const std::string& name, const char* kind, const std::string& expression) {
    const char* symbol = nullptr;
    if (const int found = api.lowered_name(program, expression.c_str(), &symbol); found != 0 || !symbol)
      throw build::CandidateFailure(
          Outcome::compile_failed,
          fmt::format("{} '{}' names no {} of {}: {}", what, name, kind, request.source_name, api.describe(found)),
          result.log);
    return std::string(symbol);
  };
  for (const std::string& entry : build::entries_of(request))
    result.entry_symbols.push_back(lowered("entry", entry, "kernel", entry));
  for (const std::string& variable : request.variables)
    result.variables.push_back(lowered("constant", variable, "variable", expression_of(variable)));
}

/// The number before `words` in a line, such as 1404 before "bytes spill stores".
std::optional<std::int64_t> number_before(std::string_view line, std::string_view words) {
  const auto at = line.find(words);
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  auto end = line.find_last_not_of(' ', at - 1);
  if (end == std::string_view::npos) return std::nullopt;
  auto begin = line.find_last_not_of("0123456789", end);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  std::int64_t number = 0;
  const auto [last, error] = std::from_chars(line.data() + begin, line.data() + end + 1, number);
  if (error != std::errc() || last != line.data() + end + 1 || begin > end) return std::nullopt;
  return number;
}

/// The text between `words` and `stop` (or the end of the line): the name in "Function properties for NAME".
std::string_view text_after(std::string_view line, std::string_view words, char stop) {
  const auto at = line.find(words);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + words.size());
  line = line.substr(0, line.find(stop));
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

std::optional<int> as_int(std::optional<std::int64_t> number) {
  if (!number || *number > 1'000'000'000) return std::nullopt;
  return static_cast<int>(*number);
}

}  // namespace

CompiledProgram compile_program(const CompilerApi& api, const build::CompileRequest& request, const std::string& source,
                                const std::vector<std::string>& options) {
  if (source.find('\0') != std::string::npos)
    throw build::CandidateFailure(Outcome::compile_failed,
                                  request.source_name + " holds a NUL byte: it is not C++ source");
  const Handle program(api, source, request.source_name);
  CompiledProgram result;
  add_names(api, program.get(), request);

  std::vector<const char*> arguments;
  for (const std::string& option : options) arguments.push_back(option.c_str());
  const auto begin = std::chrono::steady_clock::now();
  const int status = api.compile(program.get(), static_cast<int>(arguments.size()), arguments.data());
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.log = read_log(api, program.get());
  if (status != 0) {
    if (status == api.out_of_memory)
      throw build::ShortageFailure(build::Lack::memory, Outcome::crashed, fmt::format("{} ran out of memory", api.name),
                                   result.log);
    build::throw_if_not_the_source({api.name, result.log});
    const std::string error = first_error(result.log);
    throw build::CandidateFailure(Outcome::compile_failed, error.empty() ? api.describe(status) : error, result.log);
  }

  read_names(api, program.get(), request, result);
  std::size_t size = 0;
  int read = api.code_size(program.get(), &size);
  result.image.resize(size);
  if (read == 0 && size > 0) read = api.code(program.get(), result.image.data());
  if (read != 0 || size == 0)
    throw build::CandidateFailure(Outcome::compile_failed,
                                  fmt::format("{} gave no code for '{}': {}", api.name,
                                              fmt::join(build::entries_of(request), "', '"), api.describe(read)),
                                  result.log);
  return result;
}

std::string first_error(const std::string& log) {
  for (const std::string_view line : base::split_lines(log)) {
    // "k.cu(3): error: ...", "ptxas fatal   : ...", "ptxas application ptx input, line 38; error   : ..."
    for (const std::string_view word : {"error", "Error", "ERROR", "fatal"}) {
      for (auto at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
        const auto after = line.find_first_not_of(' ', at + word.size());
        const bool states = after != std::string_view::npos && (line[after] == ':' || line[after] == '#');
        const bool opens = at == 0 || !std::isalnum(static_cast<unsigned char>(line[at - 1]));
        if (states && opens) return std::string(line.substr(std::min(line.find_first_not_of(" \t"), line.size())));
      }
    }
  }
  return {};
}

std::string define_lines(const build::SplitSource::Defines& defines) {
  std::string text;
  for (const auto& [name, value] : defines) text += "#define " + name + " " + value + "\n";
  return text;
}

std::string line_directive(std::size_t line, const std::string& source_name) {
  std::string quoted;
  for (const char c : source_name) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c != '\n') quoted += c;
  }
  return "#line " + std::to_string(line) + " \"" + quoted + "\"\n";
}

std::string with_defines(const build::CompileRequest& request) {
  return with_defines(request, build::split_source(request));
}

std::string with_defines(const build::CompileRequest& request, const build::SplitSource& split) {
  std::string text = define_lines(split.before) + line_directive(split.head_line, request.source_name) + split.head;
  if (!split.between.empty())
    text += define_lines(split.between) + line_directive(split.tail_line, request.source_name);
  return text + split.tail;
}

build::ResourceUsage parse_ptxas_log(std::string_view log, std::string_view entry_symbol) {
  build::ResourceUsage usage;
  // "Used n registers" belongs to the entry being compiled; the stack and spill line to the function named just before,
  // which may be a device function that the entry calls.
  bool in_entry = false, in_function = false;
  for (const std::string_view line : base::split_lines(log)) {
    if (const auto name = text_after(line, "Compiling entry function '", '\''); !name.empty()) {
      in_entry = in_function = name == entry_symbol;
    } else if (const auto function = text_after(line, "Function properties for ", '\n'); !function.empty()) {
      in_function = function == entry_symbol || function == "'" + std::string(entry_symbol) + "'";
    } else if (line.find("bytes spill stores") != std::string_view::npos) {
      if (in_function) usage.spilled_bytes = number_before(line, "bytes spill stores");
    } else if (in_entry && line.find("Used ") != std::string_view::npos) {
      usage.registers = as_int(number_before(line, "registers"));
      usage.static_shared_bytes = number_before(line, "bytes smem").value_or(0);
    }
  }
  return usage;
}

std::int64_t largest_static_shared(std::string_view log) {
  std::int64_t largest = 0;
  for (const std::string_view line : base::split_lines(log))
    largest = std::max(largest, number_before(line, "bytes smem").value_or(0));
  return largest;
}

}  // namespace xtune::gpu
