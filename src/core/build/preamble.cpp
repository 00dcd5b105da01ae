// Walks over directives. Anything unclear ends the preamble, which costs time but never changes a program.
#include "core/build/preamble.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/hash.hpp"
#include "core/build/source_closure.hpp"
#include "core/build/tokens.hpp"
#include "xtune/error.hpp"

namespace xtune::build {
namespace {

/// Whether what stands behind a directive means the same wherever parameters are defined.
bool is_plain(const Directive& directive) {
  static const RE2 names("if|ifdef|ifndef|elif|else|endif|define|undef|include|");
  if (directive.name == "include" && directive.text.find_first_of("\"<") != 0) return false;
  if (directive.name == "pragma") return directive.text == "once";
  if (directive.name == "error" || directive.name == "warning") return directive.conditional;
  return RE2::FullMatch(directive.name, names) && directive.text.find("R\"") == std::string::npos;
}

}  // namespace

bool sets_a_header(std::string_view name) {
  constexpr std::string_view openings[] = {"_", "NDEBUG", "CCCL_", "CUB_", "CUDA_", "HIP_", "KOKKOS_", "THRUST_"};
  return std::any_of(std::begin(openings), std::end(openings),
                     [name](std::string_view opening) { return name.starts_with(opening); });
}

std::size_t preamble_length(std::string_view source) {
  const TokenizedSource read = tokenize(source);
  const std::size_t code = read.tokens.empty() ? source.size() : read.tokens.front().begin;
  std::size_t length = 0;
  bool included = false;
  int depth = 0;
  for (const Directive& each : read.directives) {
    if (each.end >= code || !is_plain(each)) break;
    depth += each.name.starts_with("if") ? 1 : each.name == "endif" ? -1 : 0;
    if (depth < 0 || (each.name.starts_with("el") && depth == 0)) break;
    included = included || each.name == "include";
    if (depth == 0 && std::exchange(included, false)) length = each.end + 1;
  }
  return length;
}

SplitSource split_source(const CompileRequest& request) {
  SplitSource split;
  split.before = request.defines;
  split.tail = request.source;
  split.head_line = split.tail_line = request.first_line;
  const std::size_t length = preamble_length(request.source);
  const IncludeOptions options = include_options(request.options);
  if (length == 0 || !options.forced.empty()) return split;

  CompileRequest head = request;
  head.source.resize(length);
  head.include_dirs.insert(head.include_dirs.end(), options.folders.begin(), options.folders.end());
  SourceClosure closure;
  try {
    closure = source_closure(head);
  } catch (const Error&) {
    return split;
  }
  if (std::any_of(closure.files.begin(), closure.files.end(),
                  [](const SourceScan& file) { return file.computes_names; }))
    return split;

  const auto mentioned = [&](const std::pair<std::string, std::string>& define) {
    const std::string name = define.first.substr(0, define.first.find('('));
    return sets_a_header(name) || std::any_of(closure.files.begin(), closure.files.end(),
                                              [&](const SourceScan& file) { return file.words.count(name) > 0; });
  };
  split.before.clear();
  std::partition_copy(request.defines.begin(), request.defines.end(), std::back_inserter(split.before),
                      std::back_inserter(split.between), mentioned);
  split.head = std::move(head.source);
  split.tail.erase(0, length);
  split.tail_line += static_cast<std::size_t>(std::count(split.head.begin(), split.head.end(), '\n'));
  split.digest = base::sha256(closure.canonical_text);
  for (const KeyedFile& file : closure.keyed.files) split.states += file.state + "\n";
  split.of_toolchain = !closure.missing.empty();
  return split;
}

}  // namespace xtune::build
