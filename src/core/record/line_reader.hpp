// Reads the lines of a file, or of a part of it, through a buffer: files of any size in little memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace xtune::record {

/// Where record lines lie: all of a file, or `bytes` of it from `offset` on.
struct RecordSource {
  std::filesystem::path path;
  std::uint64_t offset = 0;
  std::uint64_t bytes = UINT64_MAX;  ///< at most; the end of the file ends it too
  std::string name;                  ///< in warnings
};

/// No line of a record file may be longer.
constexpr std::uint64_t max_line_bytes = 256u << 20;

/// Why reading ended.
enum class LinesEnd {
  done,
  stopped,  ///< visit returned false
  torn,     ///< the last line has no newline
  too_long  ///< a line is longer than max_line_bytes; what follows it in this range was not read
};

/// In words, for torn and too_long: "the last line is torn ...".
std::string text_of(LinesEnd end);

/// Where the source begins and ends in its file. Throws Error(io) where it cannot be read, or is shorter than `bytes`.
std::pair<std::uint64_t, std::uint64_t> range_of(const RecordSource& source);

/// visit(line without its newline, its place in the file) each line that begins in [begin, end); such a line may end
/// beyond that. buffer: kept by the caller between calls. Throws Error(io).
LinesEnd each_line(const RecordSource& source, std::uint64_t begin, std::uint64_t end, std::vector<char>& buffer,
                   const std::function<bool(std::string_view line, std::uint64_t offset)>& visit);

}  // namespace xtune::record
