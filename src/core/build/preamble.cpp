// Walks over directives. Anything unclear ends the preamble, which costs time but never changes a program.
#include "core/build/preamble.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/hash.hpp"
#include "core/build/source_closure.hpp"
#include "core/build/source_cursor.hpp"
#include "xtune/error.hpp"

namespace xtune::build {
namespace {

class Walker : SourceCursor {
 public:
  using SourceCursor::SourceCursor;

  std::size_t run() {
    while (true) {
      skip_blanks();
      if (peek() == '\n') {
        ++at_;
      } else if (at_end() || !take_hash() || !directive()) {
        return length_;
      } else if (depth_ == 0 && std::exchange(included_, false)) {
        length_ = at_;
      }
    }
  }

 private:
  bool directive() {
    skip_blanks();
    const std::string name = word();
    skip_blanks();
    if (name == "if" || name == "ifdef" || name == "ifndef") {
      ++depth_;
    } else if (name == "elif" || name == "else") {
      if (depth_ == 0) return false;
    } else if (name == "endif") {
      if (depth_-- == 0) return false;
    } else if (name == "include") {
      if (peek() != '"' && peek() != '<') return false;
      included_ = true;
    } else if (name == "error" || name == "warning") {
      if (depth_ == 0) return false;
    } else if (name == "pragma") {
      if (word() != "once") return false;
    } else if (name != "define" && name != "undef" && !name.empty()) {
      return false;
    }
    return skip_rest();
  }

  bool skip_rest() {
    while (!at_end() && peek() != '\n') {
      if (skip_splice() || skip_comment()) continue;
      if (peek() == 'R' && peek(1) == '"') return false;
      if (peek() == '"' || peek() == '\'')
        skip_quoted(peek());
      else
        ++at_;
    }
    if (at_end()) return false;  // end of the text
    ++at_;
    return true;
  }

  int depth_ = 0;
  bool included_ = false;
  std::size_t length_ = 0;
};

}  // namespace

bool sets_a_header(std::string_view name) {
  constexpr std::string_view openings[] = {"_", "NDEBUG", "CCCL_", "CUB_", "CUDA_", "HIP_", "KOKKOS_", "THRUST_"};
  return std::any_of(std::begin(openings), std::end(openings),
                     [name](std::string_view opening) { return name.starts_with(opening); });
}

std::size_t preamble_length(std::string_view source) { return Walker(source).run(); }

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
