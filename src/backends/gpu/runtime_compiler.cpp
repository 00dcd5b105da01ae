// Compiles one program through the calls of a run-time compiler, and parses ptxas' report.
#include "backends/gpu/runtime_compiler.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/text.hpp"
#include "core/build/shortage.hpp"
#include "core/build/unread_headers.hpp"
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

/// What the first group of a pattern finds in a line; nullopt: nothing, or a number beyond its type.
template <class T>
std::optional<T> found(std::string_view line, const RE2& pattern) {
  T value{};
  return RE2::PartialMatch({line.data(), line.size()}, pattern, &value) ? std::optional(std::move(value))
                                                                        : std::nullopt;
}

std::int64_t shared_bytes(std::string_view line) {
  static const RE2 shared("(\\d+) *bytes smem", RE2::Latin1);
  return found<std::int64_t>(line, shared).value_or(0);
}

std::optional<std::string> entry_in(std::string_view line) {
  static const RE2 entry("Compiling entry function '([^']+)'", RE2::Latin1);
  return found<std::string>(line, entry);
}

}  // namespace

CompiledProgram compile_program(const CompilerApi& api, const build::CompileRequest& request, const std::string& source,
                                const std::vector<std::string>& options) {
  if (source.find('\0') != std::string::npos)
    throw build::CandidateFailure(Outcome::compile_failed,
                                  request.source_name + " holds a NUL byte: it is not C++ source");
  const Handle program(api, source, request.source_name);
  CompiledProgram result;
  if (api.add_name_expression) add_names(api, program.get(), request);

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
    const std::string error(build::first_error(result.log));
    throw build::CandidateFailure(Outcome::compile_failed, error.empty() ? api.describe(status) : error, result.log);
  }

  if (api.lowered_name) read_names(api, program.get(), request, result);
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
  static const RE2 function("Function properties for '?([^' \\r]+)", RE2::Latin1);
  static const RE2 spills("(\\d+) *bytes spill stores", RE2::Latin1),
      registers("Used *(\\d{1,9}) *registers", RE2::Latin1);
  build::ResourceUsage usage;
  // "Used n registers" belongs to the entry being compiled; the stack and spill line to the function named just before,
  // which may be a device function that the entry calls.
  bool in_entry = false, in_function = false;
  for (const std::string_view line : base::split_lines(log)) {
    if (const auto name = entry_in(line)) {
      in_entry = in_function = *name == entry_symbol;
    } else if (const auto other = found<std::string>(line, function)) {
      in_function = *other == entry_symbol;
    } else if (line.find("bytes spill stores") != std::string_view::npos) {
      if (in_function) usage.spilled_bytes = found<std::int64_t>(line, spills);
    } else if (in_entry && line.find("Used ") != std::string_view::npos) {
      usage.registers = found<int>(line, registers);
      usage.static_shared_bytes = shared_bytes(line);
    }
  }
  return usage;
}

std::pair<std::int64_t, std::string> largest_static_shared(std::string_view log) {
  std::pair<std::int64_t, std::string> largest;
  std::string symbol;
  for (const std::string_view line : base::split_lines(log)) {
    symbol = entry_in(line).value_or(symbol);
    if (const std::int64_t bytes = shared_bytes(line); bytes > largest.first) largest = {bytes, symbol};
  }
  return largest;
}

}  // namespace xtune::gpu
