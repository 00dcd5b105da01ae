// The differences between CUDA C++ with NVRTC, HIP C++ with hipRTC, and C++ on the host, as far as people meet them.
// Sources: docs/host-backend.md and docs/portable-kernels.md, whose tables are tested.
#include "core/build/compile_hint.hpp"

#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "core/build/preamble.hpp"
#include "core/build/source_closure.hpp"
#include "system/files.hpp"

namespace xtune::build {

namespace {

/// Words of an error, what they mean, and what all backends have instead.
struct Known {
  std::vector<std::string_view> words;
  std::string_view what, instead = {};
};

bool has_any_word(std::string_view line, const std::vector<std::string_view>& words) {
  for (const std::string_view word : words)
    if (line.find(word) != std::string_view::npos) return true;
  return false;
}

/// CUDA's functions of one number that the C library does not have, with and without the 'f' of float.
bool is_special_function(std::string_view name) {
  if (name.ends_with('f')) name.remove_suffix(1);
  constexpr std::string_view special[] = {"erfinv", "erfcinv", "erfcx", "normcdfinv", "cyl_bessel_i0", "cyl_bessel_i1"};
  return std::find(std::begin(special), std::end(special), name) != std::end(special);
}

/// The name of a function of a GPU that the compiler does not know: "use of undeclared identifier '__vadd4'",
/// "'__vadd4' was not declared in this scope", "no matching function for call to '__ldcs(int*)'".
std::string_view missing_function(std::string_view line) {
  if (!has_any_word(line, {"use of undeclared identifier '", "' was not declared in this scope",
                           "no matching function for call to '"}))
    return {};
  const std::size_t error = line.find("error: ");
  if (error == std::string_view::npos) return {};
  std::string_view name = quoted_name(line.substr(error));
  name = name.substr(0, name.find_first_of("(<"));
  return name.starts_with("__") || name.starts_with("atomic") || is_special_function(name) ? name : std::string_view();
}

/// What only NVIDIA GPUs have here, by the words of any compiler's error: its headers are read as empty where they are
/// missing, so that names are unknown.
const std::vector<Known>& only_of_nvidia() {
  static const std::vector<Known> known{
      {{"cub/", "'cub'", "'cub::"}, "CUB", "to reduce parts of a warp, use cooperative_groups/reduce.h"},
      {{"thrust/", "'thrust'", "'thrust::"}, "Thrust"},
      {{"mma.h", "nvcuda"}, "mma.h (warp matrix functions)", "use xtune/matrix.cuh"},
      {{"curand"}, "cuRAND"},
      {{"cuda/std/", "'cuda'", "'cuda::"}, "libcu++ (<cuda/...>)"},
      {{"cooperative_groups", "'coalesced_threads'", "'this_cluster'", "'coalesced_group'", "'this_thread_block_tile'",
        "'tiled_partition'"},
       "cooperative groups beyond grids, blocks and parts of a warp"},
      {{"must specify a single register", "invalid 'asm'", "impossible constraint", "no such instruction", " mnemonic",
        "invalid output constraint", "invalid input constraint", "bad register name", "invalid register name", "junk `",
        "couldn't allocate output register", "couldn't allocate input reg", "cannot compile inline asm",
        "'__cvta_generic_to_", "'__cvta_shared_to_"},
       "inline PTX"},
      {{"cudaTextureObject_t", "hipTextureObject_t", "tex1D", "tex2D", "tex3D", "texture_types"},
       "textures",
       "pass an array instead"},
      {{"cudaSurfaceObject_t", "surf1D", "surf2D", "surf3D"}, "surfaces"}};
  return known;
}

/// Whether the compiler's error proposes a name that begins alike, so that the name is a slip.
bool is_misspelt(std::string_view name, std::string_view line) {
  constexpr std::size_t alike = 3;
  constexpr std::string_view words = "did you mean ";
  const std::size_t at = line.find(words);
  return at != line.npos && quoted_name(line.substr(at)).substr(0, alike) == name.substr(0, alike);
}

/// The ways out are those of all backends, since most kernels are compiled for several.
std::string hint_of(KernelCompiler compiler, std::string_view line) {
  if (const std::string_view name = missing_header(line); !name.empty())
    return fmt::format("no directory that is searched has '{}': add its directory to [kernel] include_dirs", name);
  if (has_any_word(line, {"ptxas"}) && has_any_word(line, {"apply-controls"}))
    return "this ptxas takes no file of controls; CUDA documents them from 13.3 on";
  if (has_any_word(line, {"ptxas"}) && has_any_word(line, {"compiler controls file", "not in expected format"}))
    return "a file of controls is made for one release of ptxas";
  if (compiler == KernelCompiler::nvrtc || compiler == KernelCompiler::nvcc || compiler == KernelCompiler::cuda_clang)
    return {};
  const auto has_no = [&](std::string_view what, std::string_view instead) {
    const bool on_host = compiler == KernelCompiler::host;
    return fmt::format("{} has no {}; {}{}guard it with #ifdef XTUNE_CUDA (see docs/portable-kernels.md)",
                       on_host ? "the host backend" : "backend hip", what, instead, instead.empty() ? "" : ", or ");
  };
  for (const Known& one : only_of_nvidia())
    if (has_any_word(line, one.words)) return has_no(one.what, one.instead);
  if (has_any_word(line, {"call to '__"}) && line.ends_with("' is ambiguous"))
    return fmt::format("HIP declares '{}' for other types than CUDA; convert the argument to the type that CUDA names",
                       quoted_name(line.substr(line.find("call to '"))));
  const std::string_view name = missing_function(line);
  return name.empty() || is_misspelt(name, line) ? "" : has_no(fmt::format("'{}'", name), {});
}

/// The hint of an error that names what the unit omits: "error: identifier "foo" is undefined", "'foo' was not declared
/// in this scope". Empty: it does not.
std::string unit_hint(const std::map<std::string, std::size_t>& left_out, std::string_view line) {
  const std::size_t error = line.find("error");
  if (left_out.empty() || error == std::string_view::npos) return {};
  const std::string quoted(quoted_name(line.substr(error)));
  const auto found = left_out.find(quoted.substr(0, quoted.find_first_of("(<")));
  if (found == left_out.end()) return {};
  return fmt::format(
      "'{}' of line {} is not compiled, as it has no __device__ and no kernel seems to use it; mark it, or see what is "
      "compiled: `xtune show --unit`",
      found->first, found->second);
}

/// The hint of the first error that has one.
std::string hint_in(KernelCompiler compiler, std::string_view log, const std::map<std::string, std::size_t>& left_out) {
  for (const std::string_view line : base::split_lines(log)) {
    if (!states_an_error(line)) continue;
    if (std::string hint = unit_hint(left_out, line); !hint.empty()) return hint;
    if (std::string hint = hint_of(compiler, line); !hint.empty()) return hint;
  }
  return {};
}

/// Whether the source compiles where these names are constants instead of macros, or nothing at all.
bool compiles_without(const std::vector<std::string>& names, const CompileRequest& request, const Compile& compile) {
  CompileRequest other = request;
  other.files.reset();
  std::string constants;
  std::erase_if(other.defines, [&](const auto& define) {
    const bool removed = std::ranges::find(names, define.first) != names.end();
    if (removed) constants += fmt::format("constexpr auto {} = {};\n", define.first, define.second);
    return removed;
  });
  for (const std::string& instead : {constants, std::string()}) {
    other.source = request.source;
    other.source.insert(preamble_length(other.source), instead);
    try {
      compile(other);
      return true;
    } catch (const std::exception&) {  // the failure to report is the request's own
    }
  }
  return false;
}

/// The definitions because of which the source does not compile: their names mean something else in it.
std::vector<std::string> misread_names(const CompileRequest& request, const CandidateFailure& failure,
                                       const Compile& compile) {
  if (states_a_requirement(failure.what())) return {};  // says what is wrong
  const auto matches = [](std::string_view text, const std::string& pattern) {
    return RE2::PartialMatch({text.data(), text.size()}, RE2(pattern));
  };
  std::vector<std::string> names;
  for (const auto& [name, value] : request.defines)
    if (matches(failure.log().substr(0, 4000), "\\b" + name + "\\b") &&
        !matches(request.source, "(?m)^\\s*#\\s*(if|elif).*\\b" + name + "\\b"))
      names.push_back(name);
  if (names.empty() || !compiles_without(names, request, compile)) return {};
  for (const std::string& name : names)
    if (compiles_without({name}, request, compile)) return {name};
  return names;
}

/// Configurations fail alike, so the compiler is asked once for each message.
std::string macro_hint(const CompileRequest& request, const CandidateFailure& failure, const Compile& compile) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace(failure.what() + request.source);
  if (!is_new) return entry->second;
  const std::vector<std::string> names = misread_names(request, failure, compile);
  if (names.empty()) return {};
  const std::string entry_name = request.entry.substr(0, request.entry.find('<'));
  return entry->second = fmt::format(
             "{} {} here, as every parameter is, and the code has something else of that name; choose another name, or "
             "make it a template argument: compile_time = false and entry = \"{}<{{{}}}>\"",
             fmt::join(names, ", "), names.size() == 1 ? "is a macro" : "are macros", entry_name,
             fmt::join(names, "}, {"));
}

}  // namespace

bool states_a_requirement(std::string_view text) {
  return has_any_word(text, {"static assertion", "static_assert", "#error", "is negative", "negative size"});
}

std::string compile_hint(KernelCompiler compiler, std::string_view log) { return hint_in(compiler, log, {}); }

Artifact with_compile_hint(KernelCompiler compiler, const CompileRequest& request, const Compile& compile_files,
                           UnreadHeaders& unread) {
  const Compile compile = [&](const CompileRequest& each) { return compile_with_headers(each, compile_files); };
  constexpr double longest_to_repeat_s = 10;
  const auto start = std::chrono::steady_clock::now();
  try {
    Artifact artifact = compile(request);
    for (const std::string& name : unread.of(request.source_name).notable) artifact.unread.push_back(name);
    return artifact;
  } catch (CandidateFailure& failure) {
    if (failure.outcome() != Outcome::compile_failed) throw;
    if (unread.learn(request, failure, compile)) return with_compile_hint(compiler, request, compile_files, unread);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const UnreadHeaders::Names headers = unread.of(request.source_name);
    std::string hint = hint_in(compiler, failure.log(), request.left_out);
    if (hint.empty()) hint = missing_hint(request, headers);
    if (hint.empty() && took.count() < longest_to_repeat_s) hint = macro_hint(request, failure, compile);
    std::string message =
        error_in_header(failure.what(), failure.log(), system::temporary_folder().string()) + text_of(headers);
    if (!hint.empty()) message += fmt::format(" (hint: {})", hint);
    failure.set_message(message);
    throw;
  }
}

namespace {

std::string_view line_at(std::string_view log, std::size_t at) {
  const std::size_t newline = log.rfind('\n', at);
  const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
  return log.substr(start, std::min(log.find('\n', at), log.size()) - start);
}

/// What a line says about the place that led to an error: "k.cu:9"; empty: nothing. NVRTC: "... at line 9 of k.cu",
/// clang: "k.cu:9:30: note: in instantiation of ...".
std::string place_in_note(std::string_view line) {
  constexpr std::string_view line_word = " at line ", of_word = " of ";
  if (const auto at = line.rfind(line_word); at != std::string_view::npos) {
    const std::string_view place = line.substr(at + line_word.size());
    const auto of = place.find(of_word);
    if (of == std::string_view::npos) return {};
    return std::string(place.substr(of + of_word.size())) + ':' + std::string(place.substr(0, of));
  }
  const auto note = line.find(": note: in instantiation of ");
  return note == std::string_view::npos ? std::string() : std::string(line.substr(0, note));
}

/// The first place outside of a directory that the log names for the error at this position.
std::string origin(std::string_view log, std::size_t at, const std::string& directory) {
  // gcc: the line before the error is "k.cu:9:30:   required from here".
  const std::string_view before = at < 2 ? std::string_view() : line_at(log, at - 2);
  if (const auto end = before.find(":   required from "); end != std::string_view::npos)
    return std::string(before.substr(0, end));
  bool first = true;
  for (const std::string_view line : base::split_lines(log.substr(std::min(at, log.size())))) {
    if (!std::exchange(first, false) && line.find("error:") != std::string_view::npos) break;
    if (std::string place = place_in_note(line); !place.empty() && !place.starts_with(directory)) return place;
  }
  return {};
}

}  // namespace

std::string error_in_header(const std::string& message, std::string_view log, const std::string& directory) {
  if (directory.empty() || !message.starts_with(directory + "/xtune-")) return message;
  const std::size_t path_end = message.find_first_of(":(");
  constexpr std::string_view own = "/xtune/";
  std::size_t begin = message.rfind(own, path_end);
  begin = begin == std::string::npos ? message.rfind('/', path_end) + 1 : begin + 1;
  const std::size_t at = log.find(message.substr(0, message.find(' ')));
  const std::string place = at == std::string_view::npos ? std::string() : origin(log, at, directory);
  return message.substr(begin) + (place.empty() ? "" : " (from " + base::printable(place, 300) + ")");
}

std::string first_error_or_first_line(const std::string& log) {
  // GNU as writes "Error: " in its lines, below a heading "k.cu: Assembler messages:".
  const std::size_t at = std::min(log.find("error:"), log.find(": Error: "));
  if (at != std::string::npos) return base::printable(line_at(log, at), 300);
  // gcc's last message may follow an empty line.
  const auto first = std::min(log.find_first_not_of(" \n"), log.size());
  return base::printable(log.substr(first, log.find('\n', first) - first), 300);
}

}  // namespace xtune::build
