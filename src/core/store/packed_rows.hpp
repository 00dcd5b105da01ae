// Record lines as rows of an index.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/store/index.hpp"

namespace xtune::store {

constexpr std::uint64_t piece_bytes = 1u << 20;

/// Of PackedRow::flags.
enum Flag : unsigned { tainted = 1, drift = 2, explained = 8, sanitizer_report = 16, has_times = 32 };

enum class WarningKind : unsigned {
  line,  ///< about one line
  rest,  ///< stands for more than a line
  torn   ///< about the last line, which may be finished later
};

struct Warning {
  std::uint64_t line = 0;  ///< from 1; 0: about the whole source
  std::string text;
  WarningKind kind = WarningKind::line;
};

/// A row in a block's data.
struct PackedRow {
  KeyDigest key, artifact_key;
  std::int64_t unix_time_ms;
  double median, min, mean, inlier_mean, low, compile_cpu_s;
  std::uint32_t place, bytes, samples, values_bytes;
  std::uint32_t outcome, flags;
};
static_assert(std::is_trivially_copyable_v<PackedRow> && sizeof(PackedRow) == 112);

/// A block as it is inserted.
struct ParsedBlock {
  std::string problem, device, names, attempt, finals, finals_by;
  bool sanitized = false;
  std::uint32_t records = 0, answers = 0, ranks = 0;
  std::int64_t newest_unix_ms = 0;
  std::uint64_t offset = 0, bytes = 0;
  std::string rows, values;  ///< of all rows

  bool continues(const ParsedBlock& other) const {
    const auto tie = [](const ParsedBlock& block) {
      return std::tie(block.names, block.problem, block.attempt, block.finals, block.finals_by, block.sanitized,
                      block.device);
    };
    return tie(*this) == tie(other);
  }
};

/// Lines that begin in [begin, end) of a source.
struct Piece {
  Piece(std::size_t source_, std::uint64_t begin_, std::uint64_t end_) : source(source_), begin(begin_), end(end_) {}
  std::size_t source;
  std::uint64_t begin, end;
  std::vector<ParsedBlock> blocks;
  std::vector<Warning> warnings;  ///< lines are counted from the piece's begin
  std::uint64_t lines = 0, read_to = 0;
  bool has_header = false, ended = false, failed = false;
};

/// Parses the lines of a piece; an error becomes a warning.
void parse(const RecordSource& source, Piece& piece);

}  // namespace xtune::store
