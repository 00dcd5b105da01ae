// Makes rows from the lines of one piece of a record file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/store/row_reader.hpp"
#include "core/store/text_table.hpp"

namespace xtune::record {
struct Record;
}  // namespace xtune::record

namespace xtune::store {

struct ScannedRecord;
struct FailureFacts;

/// The contents of a piece. Problems and devices are numbered within it.
struct PieceRows {
  std::vector<StoredConfig> rows;
  TextTable problem_json, device_json;  ///< their texts are in `texts`; numbers as in `problems` and `devices`
  std::vector<NamedProblem> problems;
  std::vector<device::DeviceInfo> devices;
  std::unique_ptr<TextArena> texts;
  std::uint64_t records = 0, sanitized = 0, lines = 0;
  std::int64_t newest_unix_ms = 0;
  std::vector<std::pair<std::uint64_t, std::string>> warnings;  ///< line from 1 in the piece; 0: about the file
  bool unread = false;  ///< the last warning is about the rest of the piece, or of the source
  bool ended = false;   ///< at a header of a newer version: the source's later pieces do not count
};

class PieceReader {
 public:
  /// source: the number for the rows; is_first: whether the piece is the first of its source. options and rows must
  /// outlive it.
  PieceReader(std::uint32_t source, bool is_first, const RowOptions& options, PieceRows& rows);

  /// Reads a line without its newline, and its offset. False: reading is over.
  bool line(std::string_view line, std::uint64_t offset);

 private:
  bool plain_record(std::string_view line);
  bool unusual_line(std::string_view line, bool& header);
  void add(const record::Record& record, std::string_view line);
  bool resolve(const ScannedRecord& from);
  void add_row(const ScannedRecord& from, const FailureFacts& failure, std::string_view line);
  bool is_consistent(const ScannedRecord& record);
  bool find_problem(std::string_view json);
  bool find_device(std::string_view json);
  void keep_config(StoredConfig& row);
  const FinalsEvidence* evidence_of(const ScannedRecord& from);
  std::string_view keep(std::string_view text);
  const std::string_view* keep_shared(const std::string_view* last, std::string_view text);

  const std::uint32_t source_;
  const bool is_first_;
  const RowOptions& options_;
  PieceRows& rows_;
  std::string names_text_, values_text_;                   ///< of the line's configuration
  const std::string_view* names_ = nullptr;                ///< of the last row
  const std::string_view* attempt_ = nullptr;              ///< of the last row
  std::vector<double> samples_;                            ///< of the last record that needed them
  std::vector<std::string> problem_parts_, device_parts_;  ///< by number, as JSON; empty: not computed yet
  std::string_view last_problem_, last_device_;            ///< as JSON
  std::uint32_t problem_ = 0, device_ = 0;                 ///< their numbers
  std::uint64_t offset_ = 0;
};

}  // namespace xtune::store
