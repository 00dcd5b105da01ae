// Cuts record files into pieces at line ends, reads the pieces in several threads, and joins what they gave in order.
#include "core/store/row_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/parallel.hpp"
#include "core/build/artifact_json.hpp"
#include "core/record/finals.hpp"
#include "core/record/lookup.hpp"
#include "core/record/record_json.hpp"
#include "core/record/record_log.hpp"
#include "core/space/bindings_text.hpp"
#include "core/store/json_walk.hpp"
#include "core/store/record_scan.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t piece_bytes = 4u << 20;
constexpr std::size_t read_bytes = 512u << 10;  // stays in the processor's cache

/// Lines that begin in [begin, end) of a source.
struct Piece {
  std::uint32_t source = 0;
  std::uint64_t begin = 0, end = 0;
  bool first = false;  ///< of its source
};

struct PieceRows {
  RowSet set;
  std::uint64_t lines = 0;
  std::vector<std::pair<std::uint64_t, std::string>> warnings;  ///< line from 1 within the piece; 0: of the file
  bool ended = false;  ///< by a header of a newer version: the source's later pieces do not count
};

class PieceReader {
 public:
  PieceReader(const Piece& piece, PieceRows& rows) : piece_(piece), rows_(rows) {
    rows_.set.texts.push_back(std::make_unique<std::pmr::monotonic_buffer_resource>(64u << 10));
  }

  /// False: reading is over.
  bool line(std::string_view line, std::uint64_t offset) {
    ++rows_.lines;
    offset_ = offset;
    bool header = false;
    if (!plain_record(line) && !unusual_line(line, header)) return false;
    if (rows_.lines == 1 && piece_.first && !header) rows_.warnings.emplace_back(0, "it has no header line");
    return true;
  }

 private:
  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    auto* const place = static_cast<char*>(rows_.set.texts.front()->allocate(text.size(), 1));
    std::memcpy(place, text.data(), text.size());
    return {place, text.size()};
  }

  template <class T, class Parse>
  std::optional<std::uint32_t> intern(Interned<T>& known, std::string_view& last, std::uint32_t& last_index,
                                      std::string_view text, const Parse& parse) {
    if (!last.empty() && text == last) return last_index;
    auto found = known.by_text.find(text);
    if (found == known.by_text.end()) {
      try {
        known.values.push_back(parse(Json::parse(text)));
      } catch (const std::exception&) {  // Json's, or Error: the reader of whole records tells what is wrong
        return std::nullopt;
      }
      found = known.by_text.emplace(text, static_cast<std::uint32_t>(known.values.size() - 1)).first;
    }
    last = found->first;
    return last_index = found->second;
  }

  /// "A=1 B=2" into text_; false where it takes a JSON reader, or members are not sorted by name.
  bool config_text(std::string_view config) {
    text_.clear();
    std::string_view before;
    return visit_members(config, [&](std::string_view name, std::string_view value, bool is_text) {
      if (!text_.empty() && !(before < name)) return false;
      before = name;
      if (!text_.empty()) text_ += ' ';
      text_.append(name).append("=");
      std::int64_t integer = 0;
      double number = 0;
      if (is_text || value == "true" || value == "false")
        text_ += value;
      else if (scan_number(value, integer) && std::to_string(integer) == value)
        text_ += value;
      else if (value.find_first_of(".eE") != std::string_view::npos && scan_number(value, number) &&
               Json::accept(value))
        text_ += to_text(number);
      else
        return false;
      return true;
    });
  }

  /// Whether what finals are judged by can be read.
  static bool is_sound(const ScannedRecord& from) {
    try {
      if (!from.samples_ms.empty())
        for (const Json& sample : Json::parse(from.samples_ms)) number_from_json(sample);
      if (!from.usage.empty()) resource_usage_from_json(Json::parse(from.usage));
    } catch (const std::exception&) {
      return false;
    }
    return true;
  }

  bool add(const ScannedRecord& from, std::string_view line) {
    const auto problem = intern(rows_.set.problems, last_problem_, last_problem_index_, from.problem,
                                [](const Json& json) { return bindings_from_json(json); });
    const auto device = intern(rows_.set.devices, last_device_, last_device_index_, from.device,
                               [](const Json& json) { return device_info_from_json(json); });
    if (!problem || !device || !config_text(from.config)) return false;
    if (!from.finals.empty() && !is_sound(from)) return false;
    rows_.set.sanitized += from.sanitized;
    if (from.outcome == Outcome::pruned || from.drift || from.sanitized) return true;
    StoredConfig row;
    row.outcome = from.outcome;
    row.tainted = from.tainted;
    row.count = from.count;
    row.min_ms = from.min_ms, row.median_ms = from.median_ms, row.mean_ms = from.mean_ms;
    row.low_ms = from.low_ms, row.high_ms = from.high_ms;
    row.unix_time_ms = from.unix_time_ms;
    row.problem = *problem, row.device = *device;
    row.key = keep(from.key);
    row.attempt = keep(from.attempt);
    row.finals = keep(from.finals), row.finals_by = keep(from.finals_by);
    row.config = keep(text_);
    row.config_json = keep(from.config);
    row.artifact_key = keep(from.artifact_key);
    if (!from.finals.empty()) row.samples_ms = keep(from.samples_ms), row.usage = keep(from.usage);
    row.file = piece_.source;
    row.offset = offset_, row.bytes = line.size();
    rows_.set.rows.push_back(row);
    return true;
  }

  bool plain_record(std::string_view line) {
    ScannedRecord record;
    if (!scan_record(line, record, last_device_) || !add(record, line)) return false;
    ++rows_.set.records;
    return true;
  }

  bool unusual_line(std::string_view line, bool& header) {
    const RecordLine read = read_record_line(line);
    switch (read.kind) {
      case RecordLine::Kind::newer:
        rows_.warnings.emplace_back(0, read.why + "; not read");
        rows_.ended = true;
        return false;
      case RecordLine::Kind::header:
        return header = true;
      case RecordLine::Kind::damaged:
        rows_.warnings.emplace_back(rows_.lines, "skipped: " + read.why);
        return true;
      case RecordLine::Kind::record:
        add(*read.record, line);
        return true;
    }
    return true;
  }

  /// A sound record whose line is not plain.
  void add(const Record& record, std::string_view line) {
    const Json json = to_json(record);
    const auto dumped = [&](const char* name) { return json.contains(name) ? json[name].dump() : std::string(); };
    const std::string problem = dumped("problem"), device = dumped("device"), config = dumped("config"),
                      samples = dumped("samples_ms"), usage = dumped("usage");
    ++rows_.set.records;
    ScannedRecord plain;
    plain.problem = problem, plain.device = device, plain.config = config;
    plain.samples_ms = samples, plain.usage = usage;
    plain.key = record.key, plain.artifact_key = record.artifact_key;
    plain.attempt = record.attempt, plain.finals = record.finals, plain.finals_by = record.finals_by;
    plain.outcome = record.outcome;
    plain.tainted = !record.tainted.empty(), plain.drift = record.drift;
    plain.sanitized = is_sanitized(record);
    const Summary& time = record.time_ms;
    plain.count = time.count;
    plain.min_ms = time.min, plain.median_ms = time.median, plain.mean_ms = time.mean;
    plain.low_ms = time.low, plain.high_ms = time.high;
    plain.unix_time_ms = record.unix_time_ms;
    if (add(plain, line)) return;
    // Its configuration needs more than a scan; the text is all that the row lacks.
    plain.config = "{}";
    const std::size_t rows = rows_.set.rows.size();
    if (!add(plain, line) || rows_.set.rows.size() == rows) return;
    rows_.set.rows.back().config = keep(bindings_text(record.config));
    rows_.set.rows.back().config_json = keep(config);
  }

  const Piece& piece_;
  PieceRows& rows_;
  std::string text_;
  std::string_view last_problem_, last_device_;
  std::uint32_t last_problem_index_ = 0, last_device_index_ = 0;
  std::uint64_t offset_ = 0;
};

class File {
 public:
  explicit File(const RecordSource& source)
      : fd_(::open(source.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)), name_(source.name) {
    if (fd_ < 0) fail(errno);
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::uint64_t size() const {
    struct stat info {};
    if (::fstat(fd_, &info) != 0) fail(errno);
    return static_cast<std::uint64_t>(info.st_size);
  }
  std::size_t read(char* to, std::size_t bytes, std::uint64_t offset) const {
    for (;;) {
      const ssize_t n = ::pread(fd_, to, bytes, static_cast<off_t>(offset));
      if (n >= 0) return static_cast<std::size_t>(n);
      if (errno != EINTR) fail(errno);
    }
  }

 private:
  [[noreturn]] void fail(int reason) const {
    throw Error(ErrorKind::io, "cannot read " + name_ + ": " + std::strerror(reason));
  }
  int fd_;
  std::string name_;
};

void read_piece(const RecordSource& source, const Piece& piece, std::vector<char>& buffer, PieceRows& rows) {
  const File file(source);
  PieceReader reader(piece, rows);
  const std::uint64_t source_end =
      source.bytes > UINT64_MAX - source.offset ? UINT64_MAX : source.offset + source.bytes;
  // A piece begins with the first line that starts in it: what is before the newline is the last piece's.
  std::uint64_t position = piece.first ? piece.begin : piece.begin - 1;
  bool skipping = !piece.first;
  std::size_t filled = 0;
  for (;;) {
    if (buffer.size() - filled < read_bytes / 2) buffer.resize(buffer.size() + read_bytes);
    const std::uint64_t next = position + filled;
    const std::size_t wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size() - filled, source_end - next));
    const std::size_t got = wanted ? file.read(buffer.data() + filled, wanted, next) : 0;
    const char* const end = buffer.data() + filled + got;
    const char* line = buffer.data();
    const char* search = line + filled;
    while (const auto* newline =
               static_cast<const char*>(std::memchr(search, '\n', static_cast<std::size_t>(end - search)))) {
      const std::uint64_t offset = position + static_cast<std::uint64_t>(line - buffer.data());
      if (!skipping && offset >= piece.end) return;
      if (!skipping && !reader.line({line, static_cast<std::size_t>(newline - line)}, offset)) return;
      skipping = false;
      line = search = newline + 1;
    }
    const std::uint64_t offset = position + static_cast<std::uint64_t>(line - buffer.data());
    if (!skipping && offset >= piece.end) return;
    filled = static_cast<std::size_t>(end - line);
    if (got == 0) {
      if (filled && !skipping)
        rows.warnings.emplace_back(rows.lines + 1, "the last line is torn (its writer was stopped); dropped");
      return;
    }
    std::memmove(buffer.data(), line, filled);
    position = offset;
  }
}

std::vector<Piece> pieces_of(const std::vector<RecordSource>& sources, std::vector<std::string>& warnings) {
  std::vector<Piece> pieces;
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    try {
      const std::uint64_t size = File(sources[i]).size(), begin = std::min(sources[i].offset, size),
                          end = begin + std::min(sources[i].bytes, size - begin);
      for (std::uint64_t at = begin; at < end; at += piece_bytes)
        pieces.push_back({i, at, std::min(at + piece_bytes, end), at == begin});
    } catch (const Error& error) {
      warnings.emplace_back(error.what());
    }
  }
  return pieces;
}

template <class T>
std::vector<std::uint32_t> merge(Interned<T>& into, Interned<T>& from) {
  std::vector<std::uint32_t> places(from.values.size());
  for (const auto& [text, index] : from.by_text) {
    const auto [place, is_new] = into.by_text.emplace(text, static_cast<std::uint32_t>(into.values.size()));
    if (is_new) into.values.push_back(std::move(from.values[index]));
    places[index] = place->second;
  }
  return places;
}

void join(RowSet& whole, PieceRows& piece) {
  const std::vector<std::uint32_t> problems = merge(whole.problems, piece.set.problems),
                                   devices = merge(whole.devices, piece.set.devices);
  for (StoredConfig& row : piece.set.rows) {
    row.problem = problems[row.problem];
    row.device = devices[row.device];
    whole.rows.push_back(row);
  }
  whole.records += piece.set.records;
  whole.sanitized += piece.set.sanitized;
  for (auto& texts : piece.set.texts) whole.texts.push_back(std::move(texts));
}

RowSet joined(const std::vector<RecordSource>& sources, const std::vector<Piece>& pieces,
              std::vector<PieceRows>& parts) {
  RowSet whole;
  std::size_t count = 0;
  for (const PieceRows& part : parts) count += part.set.rows.size();
  whole.rows.reserve(count);
  std::uint64_t lines = 0;
  bool ended = false;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const RecordSource& source = sources[pieces[i].source];
    if (pieces[i].first) lines = 0, ended = false;
    if (ended) continue;
    PieceRows& part = parts[i];
    const auto warn = [&](std::uint64_t line, const std::string& text) {
      whole.warnings.push_back(line ? fmt::format("{}:{}: {}", source.name, lines + line, text)
                                    : fmt::format("{}: {}", source.name, text));
    };
    for (const auto& [line, text] : part.warnings) warn(line, text);
    lines += part.lines;
    ended = part.ended;
    join(whole, part);
  }
  return whole;
}

}  // namespace

RowSet read_rows(const std::vector<RecordSource>& sources, unsigned threads) {
  std::vector<std::string> warnings;
  const std::vector<Piece> pieces = pieces_of(sources, warnings);
  std::vector<PieceRows> parts(pieces.size());
  for_each_index(pieces.size(), threads, [&](std::size_t i) {
    try {
      std::vector<char> buffer;
      read_piece(sources[pieces[i].source], pieces[i], buffer, parts[i]);
    } catch (const std::exception& error) {  // Error, or no memory left
      parts[i].warnings.emplace_back(0, error.what());
    }
  });
  RowSet whole = joined(sources, pieces, parts);
  whole.warnings.insert(whole.warnings.begin(), warnings.begin(), warnings.end());
  return whole;
}

}  // namespace xtune
