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

/// Where record lines are: in a whole file, or in `bytes` of it from `offset` on.
struct RecordSource {
  std::filesystem::path path;
  std::uint64_t offset = 0;
  std::uint64_t bytes = UINT64_MAX;  ///< maximum; the end of the file is a limit, too
  std::string name;                  ///< for warnings
};

/// Maximum length of a line in a record file.
constexpr std::uint64_t max_line_bytes = 256u << 20;

/// Why reading ended.
enum class LinesEnd {
  done,
  stopped,  ///< visit returned false
  torn,     ///< the last line has no newline
  too_long  ///< a line is longer than max_line_bytes; the rest of this range was not read
};

/// The text for torn and too_long: "the last line is torn ...".
std::string text_of(LinesEnd end);

/// Where the source begins and ends in its file. Throws Error(io) if it cannot be read, or is shorter than `bytes`.
std::pair<std::uint64_t, std::uint64_t> range_of(const RecordSource& source);

/// Calls visit(line without its newline, its position in the file) for each line that begins in [begin, end); such a
/// line may end beyond that. buffer: kept by the caller between calls. Throws Error(io).
LinesEnd each_line(const RecordSource& source, std::uint64_t begin, std::uint64_t end, std::vector<char>& buffer,
                   const std::function<bool(std::string_view line, std::uint64_t offset)>& visit);

}  // namespace xtune::record
