// Telling a machine's failure from a refusal of the source, by the words of compilers, assemblers and linkers.
#include "core/build/compiler_log.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>

#include "base/files.hpp"
#include "base/text.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune {
namespace {

bool has_any(std::string_view line, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return line.find(word) != std::string_view::npos; });
}

/// "k.cu:7:2: error: #error No space left on device", and the lines that show the source itself.
bool quotes_the_source(std::string_view line) {
  if (has_any(line, {" | ", "#"})) return true;
  for (const std::string_view kind : {": error: ", ": warning: ", ": note: "}) {
    const auto at = line.find(kind);
    if (at != std::string_view::npos && at > 0 && std::isdigit(static_cast<unsigned char>(line[at - 1]))) return true;
  }
  return false;
}

/// Where room is needed. A worker's own folder in it is nothing that a person knows.
std::string place_of_temporaries() {
  const std::filesystem::path folder = temporary_folder();
  const bool own = folder.filename().string().starts_with("xtune-");
  return (own ? folder.parent_path() : folder).string();
}

void judge(const std::string& compiler, std::string_view line, const std::string& log) {
  const std::string said = compiler + ": " + printable(line, 300);
  if (has_any(line, {"No space left on device", "Disk quota exceeded", "Read-only file system"}))
    throw Error(ErrorKind::io, said + "; make room in " + place_of_temporaries() +
                                   ", where the compiler keeps its files, or name another place in XTUNE_TMP_DIR");
  if (has_any(line, {"cannot execute", "error trying to exec", "cannot find 'ld'", "doesn't exist!",
                     "Resource temporarily unavailable"}))
    throw Error(ErrorKind::unavailable, said + "; a part of the compiler could not be started: is it installed whole?");
  // What clang cannot "execute" otherwise has died.
  if (has_any(line, {"out of memory", "memory exhausted", "Cannot allocate memory", "std::bad_alloc",
                     "signal terminated program", "unable to execute command", "failed to map segment"}))
    throw CandidateFailure(Outcome::crashed, said, log);
}

}  // namespace

void throw_if_not_the_source(const std::string& compiler, const std::string& log) {
  for (std::string_view rest = log; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!quotes_the_source(line)) judge(compiler, line, log);
  }
}

std::string first_error(const std::string& log) {
  const auto at = log.find("error:");
  if (at == std::string::npos) {
    // gcc's last words may follow an empty line.
    const auto first = std::min(log.find_first_not_of(" \n"), log.size());
    return printable(log.substr(first, log.find('\n', first) - first), 300);
  }
  const auto start = log.rfind('\n', at);
  const auto line = start == std::string::npos ? log.substr(0, log.find('\n', at))
                                               : log.substr(start + 1, log.find('\n', at) - start - 1);
  return printable(line, 300);
}

}  // namespace xtune
