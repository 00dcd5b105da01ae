// Divides record files into pieces at line ends, reads the pieces in several threads, and joins the results in order.
#include "core/store/row_reader.hpp"

#include <fmt/format.h>

#include "base/parallel.hpp"
#include "core/store/piece_reader.hpp"
#include "xtune/error.hpp"

namespace xtune::store {
namespace {

constexpr std::uint64_t piece_bytes = 4u << 20;

/// Lines that begin in [begin, end) of a source.
struct Piece {
  std::uint32_t source = 0;
  std::uint64_t begin = 0, end = 0;
  bool first = false;  ///< of its source
};

void read_piece(const record::RecordSource& source, const Piece& piece, const RowOptions& options,
                std::vector<char>& buffer, PieceRows& rows) {
  PieceReader reader(piece.source, piece.first, options, rows);
  const record::LinesEnd ended =
      record::each_line(source, piece.begin, piece.end, buffer,
                        [&](std::string_view line, std::uint64_t offset) { return reader.line(line, offset); });
  if (const std::string text = record::text_of(ended); !text.empty()) rows.warnings.emplace_back(rows.lines + 1, text);
  rows.unread = rows.unread || ended == record::LinesEnd::too_long;
}

// One warning for each source that cannot be read.
std::vector<Piece> pieces_of(const std::vector<record::RecordSource>& sources, std::vector<std::string>& warnings) {
  std::vector<Piece> pieces;
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    try {
      const auto [begin, end] = record::range_of(sources[i]);
      for (std::uint64_t at = begin; at < end; at += piece_bytes)
        pieces.push_back({i, at, std::min(at + piece_bytes, end), at == begin});
    } catch (const Error& error) {
      warnings.emplace_back(error.what());
    }
  }
  return pieces;
}

/// Maps the values of one piece to their numbers among those of all pieces; new values are added.
template <class Value>
std::vector<std::uint32_t> merge(TextTable& known, std::vector<Value>& all, const TextTable& own,
                                 std::vector<Value>& values) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(own.next());
  for (std::uint32_t i = 0; i < own.next(); ++i) {
    const TextTable::Entry& entry = own.entries()[i];
    const std::uint32_t number = known.find(entry.text, entry.hash);
    if (number == known.next()) {
      known.add(entry.text, entry.hash);
      all.push_back(std::move(values[i]));
    }
    numbers.push_back(number);
  }
  return numbers;
}

RowSet joined(const std::vector<record::RecordSource>& sources, const std::vector<Piece>& pieces,
              std::vector<PieceRows>& parts, unsigned threads) {
  struct Numbers {
    std::vector<std::uint32_t> problems, devices;
  };
  RowSet whole;
  TextTable problems, devices;
  std::size_t count = 0;
  for (const PieceRows& part : parts) count += part.problems.size();
  problems.reserve(count);
  whole.problems.reserve(count);
  std::vector<Numbers> numbers;
  std::uint64_t lines = 0;
  bool ended = false;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const record::RecordSource& source = sources[pieces[i].source];
    if (pieces[i].first) lines = 0, ended = false;
    if (ended) continue;
    PieceRows& part = parts[i];
    for (const auto& [line, text] : part.warnings)
      whole.warnings.push_back(line ? fmt::format("{}:{}: {}", source.name, lines + line, text)
                                    : fmt::format("{}: {}", source.name, text));
    if (part.unread) whole.unread.push_back(whole.warnings.back());
    lines += part.lines;
    ended = part.ended;
    whole.records += part.records;
    whole.sanitized += part.sanitized;
    whole.newest_unix_ms = std::max(whole.newest_unix_ms, part.newest_unix_ms);
    numbers.push_back({merge(problems, whole.problems, part.problem_json, part.problems),
                       merge(devices, whole.devices, part.device_json, part.devices)});
    whole.pieces.push_back(std::move(part.rows));
    whole.texts.push_back(std::move(part.texts));
  }
  base::for_each_index(whole.pieces.size(), threads, [&](std::size_t i) {
    for (StoredConfig& row : whole.pieces[i]) {
      row.problem = numbers[i].problems[row.problem];
      row.device = numbers[i].devices[row.device];
    }
  });
  return whole;
}

}  // namespace

RowSet read_rows(const std::vector<record::RecordSource>& sources, const RowOptions& options) {
  std::vector<std::string> warnings;
  const std::vector<Piece> pieces = pieces_of(sources, warnings);
  std::vector<PieceRows> parts(pieces.size());
  base::for_each_index(pieces.size(), options.threads, [&](std::size_t i) {
    thread_local std::vector<char> buffer;
    try {
      read_piece(sources[pieces[i].source], pieces[i], options, buffer, parts[i]);
      parts[i].rows.shrink_to_fit();
    } catch (const std::exception& error) {  // Error, or no memory left
      parts[i].warnings.emplace_back(0, error.what());
      parts[i].unread = true;
    }
    if (buffer.size() > piece_bytes) std::vector<char>().swap(buffer);  // from a long line
  });
  RowSet whole = joined(sources, pieces, parts, options.threads);
  whole.unreadable = warnings.size();
  whole.warnings.insert(whole.warnings.begin(), warnings.begin(), warnings.end());
  whole.unread.insert(whole.unread.begin(), warnings.begin(), warnings.end());
  return whole;
}

}  // namespace xtune::store
