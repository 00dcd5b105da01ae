// Cuts record files into pieces at line ends, reads the pieces in several threads, and joins what they gave in order.
#include "core/store/row_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/parallel.hpp"
#include "base/text.hpp"
#include "core/store/piece_reader.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

constexpr std::uint64_t piece_bytes = 4u << 20;
constexpr std::size_t read_bytes = 512u << 10;  // stays in the processor's cache
constexpr std::size_t longest_line = 256u << 20;
constexpr std::uint64_t longest_file = std::uint64_t{1} << 32;  // as read_records has it

/// Lines that begin in [begin, end) of a source.
struct Piece {
  std::uint32_t source = 0;
  std::uint64_t begin = 0, end = 0;
  bool first = false;  ///< of its source
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
  PieceReader reader(piece.source, piece.first, rows);
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
    if (skipping) {
      // No line has begun yet, and what another piece's line goes on with is not kept.
      position = next + got, filled = 0;
      if (got == 0 || position >= piece.end) return;
      continue;
    }
    const std::uint64_t offset = position + static_cast<std::uint64_t>(line - buffer.data());
    if (offset >= piece.end) return;
    filled = static_cast<std::size_t>(end - line);
    if (got == 0) {
      if (filled) rows.warnings.emplace_back(rows.lines + 1, "the last line is torn (its writer was stopped); dropped");
      return;
    }
    if (filled > longest_line) {
      rows.warnings.emplace_back(rows.lines + 1, "skipped: the line is longer than " + human_bytes(longest_line));
      return;
    }
    std::memmove(buffer.data(), line, filled);
    position = offset;
  }
}

// One warning for each source that cannot be read.
std::vector<Piece> pieces_of(const std::vector<RecordSource>& sources, std::vector<std::string>& warnings) {
  std::vector<Piece> pieces;
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    try {
      const std::uint64_t size = File(sources[i]).size(), begin = std::min(sources[i].offset, size),
                          end = begin + std::min(sources[i].bytes, size - begin);
      if (sources[i].bytes != UINT64_MAX && end - begin < sources[i].bytes)
        throw Error(ErrorKind::io, "cannot read " + sources[i].name + ": it is shorter than it was");
      if (end - begin > longest_file)
        throw Error(ErrorKind::io,
                    "cannot read " + sources[i].name + ": it is larger than the limit of " + human_bytes(longest_file));
      for (std::uint64_t at = begin; at < end; at += piece_bytes)
        pieces.push_back({i, at, std::min(at + piece_bytes, end), at == begin});
    } catch (const Error& error) {
      warnings.emplace_back(error.what());
    }
  }
  return pieces;
}

/// The numbers that one piece's values have among those of all pieces, which get what is new.
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

RowSet joined(const std::vector<RecordSource>& sources, const std::vector<Piece>& pieces, std::vector<PieceRows>& parts,
              unsigned threads) {
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
    const RecordSource& source = sources[pieces[i].source];
    if (pieces[i].first) lines = 0, ended = false;
    if (ended) continue;
    PieceRows& part = parts[i];
    for (const auto& [line, text] : part.warnings)
      whole.warnings.push_back(line ? fmt::format("{}:{}: {}", source.name, lines + line, text)
                                    : fmt::format("{}: {}", source.name, text));
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
  for_each_index(whole.pieces.size(), threads, [&](std::size_t i) {
    for (StoredConfig& row : whole.pieces[i]) {
      row.problem = numbers[i].problems[row.problem];
      row.device = numbers[i].devices[row.device];
    }
  });
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
  RowSet whole = joined(sources, pieces, parts, threads);
  whole.unreadable = warnings.size();
  whole.warnings.insert(whole.warnings.begin(), warnings.begin(), warnings.end());
  return whole;
}

}  // namespace xtune
