// Lines are parsed in several threads, a few pieces at a time, and inserted in order by this one. All of it is one
// transaction: other processes see the index before it or after it.
#include "core/store/index.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/hash.hpp"
#include "base/parallel.hpp"
#include "core/record/record_json.hpp"
#include "core/record/record_log.hpp"
#include "core/record/stored_shortage.hpp"
#include "core/space/bindings_text.hpp"
#include "core/store/database.hpp"
#include "xtune/version.hpp"

namespace xtune::store {
namespace {

namespace fs = std::filesystem;
using record::RecordSource;

/// Smaller sources are parsed faster than a file is opened and synced.
constexpr std::uint64_t min_indexed_bytes = 256u << 10;
constexpr std::uint64_t piece_bytes = 1u << 20;
/// An index that was not opened for so long is removed: its store has probably gone.
constexpr auto max_unused = std::chrono::hours(24 * 30);

/// Texts are stored once, and numbered. A row's numbers are named as in StoredConfig.
constexpr const char* schema = R"(
CREATE TABLE source(id INTEGER PRIMARY KEY, path, offset, device, inode, changed_ns, bytes, print, read_to, lines, ended);
CREATE TABLE warning(source, line, text, kind);
CREATE TABLE text(id INTEGER PRIMARY KEY, bytes UNIQUE);
CREATE TABLE row(source, offset, bytes, problem, device, names, config, key, artifact, attempt, finals, finals_by,
                 outcome, flags, samples, median, min, mean, inlier_mean, low, unix_time_ms);
CREATE INDEX row_source ON row(source);
)";

std::int64_t schema_version() {
  return base::crc32c(std::string(schema) + version + std::to_string(record::Record::schema)) & 0x7FFFFFFF;
}

enum Flag : unsigned { tainted = 1, drift = 2, sanitized = 4, explained = 8, sanitizer_report = 16, has_times = 32 };

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

/// The state of a source when it was read; what is appended afterwards is not.
struct Known {
  std::int64_t id = 0, device = 0, inode = 0, changed_ns = 0, bytes = 0, print = 0, read_to = 0, lines = 0, ended = 0;
  bool same_file(const Known& other) const { return std::tie(device, inode) == std::tie(other.device, other.inode); }
  bool unchanged(const Known& other) const {
    return same_file(other) && std::tie(changed_ns, bytes) == std::tie(other.changed_ns, other.bytes);
  }
};

/// A row as it is inserted.
struct ParsedRow {
  std::uint64_t offset = 0, bytes = 0;
  std::string problem, device, names, config, attempt, finals, finals_by;
  KeyDigest key, artifact_key;
  Outcome outcome = Outcome::ok;
  unsigned flags = 0;
  std::size_t samples = 0;
  measure::Summary time_ms;
  std::int64_t unix_time_ms = 0;
};

/// Lines that begin in [begin, end) of a source.
struct Piece {
  Piece(std::size_t source_, std::uint64_t begin_, std::uint64_t end_) : source(source_), begin(begin_), end(end_) {}
  std::size_t source;
  std::uint64_t begin, end;
  std::vector<ParsedRow> rows;
  std::vector<Warning> warnings;  ///< lines are counted from the piece's begin
  std::uint64_t lines = 0, read_to = 0;
  bool has_header = false, ended = false, failed = false;
};

/// The device's JSON. Those of one file are nearly always the same, and a line contains it as it is.
const std::string& device_json(const device::DeviceInfo& device, std::string_view line) {
  thread_local std::string member = "\"device\":", json;
  if (json.empty() || line.find(member) == line.npos) {
    json = record::to_json(device).dump();
    member = "\"device\":" + json;
  }
  return json;
}

ParsedRow parsed_row(const record::Record& record, std::string_view line, std::uint64_t offset) {
  ParsedRow row;
  row.offset = offset, row.bytes = line.size();
  std::string names, sizes;
  encode_bindings(record.problem, names, sizes);
  row.problem = std::to_string(names.size()) + ':' + names + sizes;
  encode_bindings(record.config, row.names, row.config);
  row.device = device_json(record.device, line);
  row.attempt = record.attempt, row.finals = record.finals, row.finals_by = record.finals_by;
  row.key = KeyDigest(record.key), row.artifact_key = KeyDigest(record.artifact_key);
  row.outcome = record.outcome;
  const auto flag = [&](bool is, Flag bit) { row.flags |= is ? bit : 0U; };
  flag(!record.tainted.empty(), tainted), flag(record.drift, drift), flag(record::is_sanitized(record), sanitized);
  flag(!record.message.empty(), explained), flag(record::is_sanitizer_report(record.message), sanitizer_report);
  flag(record.time_ms.count != 0, has_times);
  row.time_ms = record.time_ms;
  if (record.outcome == Outcome::pruned) row.time_ms.low = record.time_ms.min, row.samples = record.samples_ms.size();
  row.unix_time_ms = record.unix_time_ms;
  return row;
}

void parse(const RecordSource& source, Piece& piece) try {
  thread_local std::vector<char> buffer;
  const auto visit = [&](std::string_view line, std::uint64_t offset) {
    ++piece.lines;
    record::RecordLine read = record::read_record_line(line);
    if (read.kind == record::RecordLine::Kind::newer) {
      piece.warnings.push_back({0, read.why + "; not read", WarningKind::rest});
      return !(piece.ended = true);
    }
    piece.has_header = piece.has_header || (piece.lines == 1 && read.kind == record::RecordLine::Kind::header);
    if (read.kind == record::RecordLine::Kind::damaged)
      piece.warnings.push_back({piece.lines, "skipped: " + read.why, WarningKind::line});
    if (read.record && !record::is_stored_shortage(*read.record))
      piece.rows.push_back(parsed_row(*read.record, line, offset));
    piece.read_to = offset + line.size() + 1;
    return true;
  };
  const record::LinesEnd end = record::each_line(source, piece.begin, piece.end, buffer, visit);
  if (const std::string text = record::text_of(end); !text.empty())
    piece.warnings.push_back(
        {piece.lines + 1, text, end == record::LinesEnd::torn ? WarningKind::torn : WarningKind::rest});
  if (buffer.size() > 4 * piece_bytes) std::vector<char>().swap(buffer);  // from a long line
} catch (const std::exception& error) {                                   // Error, or no memory left
  piece.warnings.push_back({0, error.what(), WarningKind::rest});
  piece.failed = true;
}

/// Of the first and last bytes that were read: the same file has them still.
std::int64_t print_of(const RecordSource& source, std::uint64_t read_to) {
  constexpr std::uint64_t max_bytes = 1024;
  const auto sum = [&](std::uint64_t begin) {
    std::string bytes(std::min(max_bytes, read_to - begin), '\0');
    const int file = ::open(source.path.c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t got = ::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(begin));
    if (file >= 0) ::close(file);
    return got == std::ssize(bytes) ? base::crc32c(bytes) : 0;
  };
  if (read_to <= source.offset) return 0;
  return std::int64_t{sum(source.offset)} << 31 ^ sum(std::max(source.offset, read_to - std::min(read_to, max_bytes)));
}

class Index {
 public:
  /// file: empty: in memory.
  Index(const fs::path& file, std::vector<RecordSource> sources, const RowOptions& options)
      : database_(file), options_(options) {
    set_.sources = std::move(sources);
  }

  RowSet read() {
    database_.run("BEGIN");
    if (!is_ready() || !is_current()) {
      // Another process may have done it meanwhile.
      database_.run("ROLLBACK; BEGIN IMMEDIATE");
      if (!is_ready()) {
        database_.run(schema);
        database_.run(fmt::format("PRAGMA user_version = {}", schema_version()).c_str());
      }
      if (!is_current()) update();
    }
    read_sources();
    read_texts();
    read_rows();
    database_.run("COMMIT");
    return std::move(set_);
  }

 private:
  /// False: it is new. Throws DatabaseError if it is of another version.
  bool is_ready() {
    Statement statement = database_.prepare("PRAGMA user_version");
    statement.next();
    const std::int64_t found = statement.integer(0);
    if (found == schema_version()) return true;
    Statement tables = database_.prepare("SELECT 1 FROM sqlite_schema");
    if (found != 0 || tables.next()) throw DatabaseError("it is of another version", true);
    return false;
  }

  /// Finds out what is to be read. True: nothing.
  bool is_current() {
    const std::vector<RecordSource>& sources = set_.sources;
    known_.assign(sources.size(), {});
    unreadable_.assign(sources.size(), {});
    to_read_.clear();
    Statement statement = database_.prepare("SELECT * FROM source WHERE path = ? AND offset = ?");
    for (std::size_t i = 0; i < sources.size(); ++i) {
      Known now, &known = known_[i];
      try {
        record::range_of(sources[i]);
      } catch (const Error& error) {
        unreadable_[i] = error.what();
        continue;
      }
      struct stat info {};
      if (::stat(sources[i].path.c_str(), &info) == 0) {
        now.device = static_cast<std::int64_t>(info.st_dev), now.inode = static_cast<std::int64_t>(info.st_ino);
        now.changed_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
        now.bytes = info.st_size;
      }
      if (statement.with(sources[i].path.native(), sources[i].offset).next()) {
        std::int64_t* const members[] = {&known.device, &known.inode,   &known.changed_ns, &known.bytes,
                                         &known.print,  &known.read_to, &known.lines,      &known.ended};
        known.id = statement.integer(0);
        for (int column = 0; column < 8; ++column) *members[column] = statement.integer(column + 3);
        if (known.unchanged(now)) continue;
        const bool grown = known.same_file(now) && now.bytes > known.bytes && known.bytes >= 0 &&
                           known.print == print_of(sources[i], static_cast<std::uint64_t>(known.read_to));
        if (grown)
          now.print = known.print, now.read_to = known.read_to, now.lines = known.lines, now.ended = known.ended;
        now.id = known.id;
      }
      if (now.read_to == 0) now.read_to = static_cast<std::int64_t>(sources[i].offset), now.lines = 0;
      known = now;
      to_read_.push_back(i);
    }
    return to_read_.empty();
  }

  void update() {
    forget_removed();
    Statement add_source = database_.prepare("INSERT INTO source(path, offset) VALUES(?, ?)");
    std::deque<Piece> pieces;
    for (const std::size_t i : to_read_) {
      Known& known = known_[i];
      const RecordSource& source = set_.sources[i];
      if (known.id == 0) add_source.with(source.path.native(), source.offset).run(), known.id = database_.last_id();
      const bool whole = known.lines == 0;
      if (whole) remove("DELETE FROM row WHERE source = ?", known.id);
      remove(whole ? "DELETE FROM warning WHERE source = ?" : "DELETE FROM warning WHERE kind = 2 AND source = ?",
             known.id);
      if (known.ended) continue;
      const std::uint64_t end =
          std::min(static_cast<std::uint64_t>(known.bytes),
                   source.bytes > UINT64_MAX - source.offset ? UINT64_MAX : source.offset + source.bytes);
      for (auto at = static_cast<std::uint64_t>(known.read_to); at < end; at += piece_bytes)
        pieces.emplace_back(i, at, std::min(at + piece_bytes, end));
    }
    learn_texts();
    insert(pieces);
    Statement put = database_.prepare(
        "UPDATE source SET device = ?, inode = ?, changed_ns = ?, bytes = ?, print = ?, read_to = ?, lines = ?, "
        "ended = ? WHERE id = ?");
    for (const std::size_t i : to_read_) {
      Known& known = known_[i];
      known.print = print_of(set_.sources[i], static_cast<std::uint64_t>(known.read_to));
      put.with(known.device, known.inode, known.changed_ns, known.bytes, known.print, known.read_to, known.lines,
               known.ended, known.id)
          .run();
    }
  }

  void remove(const char* statement, std::int64_t id) { database_.prepare(statement).with(id).run(); }

  void forget_removed() {
    std::vector<std::int64_t> gone;
    Statement all = database_.prepare("SELECT id, path FROM source");
    while (all.next())
      if (struct stat info{}; ::stat(std::string(all.bytes(1)).c_str(), &info) != 0 && errno == ENOENT)
        gone.push_back(all.integer(0));
    for (const std::int64_t id : gone)
      for (const char* statement : {"DELETE FROM row WHERE source = ?", "DELETE FROM warning WHERE source = ?",
                                    "DELETE FROM source WHERE id = ?"})
        remove(statement, id);
  }

  void learn_texts() {
    Statement all = database_.prepare("SELECT id, bytes FROM text");
    while (all.next()) text_ids_.emplace(all.bytes(1), all.integer(0));
  }

  std::int64_t id_of(const std::string& text) {
    const auto [place, is_new] = text_ids_.try_emplace(text, 0);
    if (is_new) {
      add_text_->with(std::string_view(text)).run();
      place->second = database_.last_id();
    }
    return place->second;
  }

  /// Each piece begins at its predecessor's end, but for the first of a source.
  void insert(std::deque<Piece>& pieces) {
    constexpr std::size_t at_once = 16;
    Statement add_text = database_.prepare("INSERT INTO text(bytes) VALUES(?)");
    Statement add_row = database_.prepare("INSERT INTO row VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    Statement add_warning = database_.prepare("INSERT INTO warning VALUES(?, ?, ?, ?)");
    add_text_ = &add_text;
    while (!pieces.empty()) {
      const std::size_t count = std::min(at_once, pieces.size());
      base::for_each_index(count, options_.threads,
                           [&](std::size_t i) { parse(set_.sources[pieces[i].source], pieces[i]); });
      for (std::size_t i = 0; i < count; ++i) {
        insert(pieces.front(), add_row, add_warning);
        pieces.pop_front();
      }
    }
  }

  void insert(const Piece& piece, Statement& add_row, Statement& add_warning) {
    Known& known = known_[piece.source];
    if (known.ended) return;
    for (const ParsedRow& row : piece.rows) {
      const measure::Summary& time = row.time_ms;
      add_row
          .with(known.id, row.offset, row.bytes, id_of(row.problem), id_of(row.device), id_of(row.names),
                std::string_view(row.config), row.key.bytes(), row.artifact_key.bytes(), id_of(row.attempt),
                id_of(row.finals), id_of(row.finals_by), static_cast<int>(row.outcome), row.flags, row.samples,
                time.median, time.min, time.mean, time.inlier_mean, time.low, row.unix_time_ms)
          .run();
    }
    const auto warn = [&](const Warning& warning, std::uint64_t line) {
      add_warning.with(known.id, line, std::string_view(warning.text), static_cast<int>(warning.kind)).run();
    };
    const bool no_header = known.lines == 0 && piece.lines > 0 && !piece.has_header && !piece.ended;
    bool said = !no_header;
    const auto say = [&] {
      if (!std::exchange(said, true)) warn({0, "it has no header line", WarningKind::line}, 0);
    };
    for (const Warning& warning : piece.warnings) {
      if (warning.line != 1) say();
      warn(warning, warning.line ? static_cast<std::uint64_t>(known.lines) + warning.line : 0);
    }
    say();
    known.lines += static_cast<std::int64_t>(piece.lines);
    known.read_to = std::max(known.read_to, static_cast<std::int64_t>(piece.read_to));
    known.ended = piece.ended;
    if (piece.failed) known.bytes = -1;  // it is read again next time
  }

  void read_sources() {
    Statement warnings = database_.prepare("SELECT line, text, kind FROM warning WHERE source = ? ORDER BY rowid");
    std::int64_t last = 0;
    for (const Known& known : known_) last = std::max(last, known.id);
    files_.assign(static_cast<std::size_t>(last) + 1, no_file);
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const auto warn = [&](std::string text, bool rest) {
        if (rest) set_.unread.push_back(text);
        set_.warnings.push_back(std::move(text));
      };
      if (!unreadable_[i].empty()) {
        ++set_.unreadable;
        warn(unreadable_[i], true);
        continue;
      }
      files_[static_cast<std::size_t>(known_[i].id)] = static_cast<std::uint32_t>(i);
      for (warnings.with(known_[i].id); warnings.next();) {
        const std::string& name = set_.sources[i].name;
        const bool rest = warnings.integer(2) == static_cast<int>(WarningKind::rest);
        warn(warnings.integer(0) ? fmt::format("{}:{}: {}", name, warnings.integer(0), warnings.bytes(1))
                                 : fmt::format("{}: {}", name, warnings.bytes(1)),
             rest);
      }
    }
  }

  std::uint32_t file_of(std::int64_t source) const {
    return source < std::ssize(files_) ? files_[static_cast<std::size_t>(source)] : no_file;
  }

  std::string_view keep(std::string_view text) {
    if (text.empty()) return {};
    auto* const place = static_cast<char*>(set_.arena->allocate(text.size(), 1));
    std::memcpy(place, text.data(), text.size());
    return {place, text.size()};
  }

  void read_texts() {
    set_.arena = std::make_unique<TextArena>(64u << 10);
    Statement all = database_.prepare("SELECT id, bytes FROM text ORDER BY id");
    while (all.next()) {
      set_.texts.resize(static_cast<std::size_t>(all.integer(0)) + 1);
      set_.texts.back() = keep(all.bytes(1));
    }
    problems_.assign(set_.texts.size(), no_file);
    devices_ = problems_;
  }

  std::uint32_t problem_of(std::size_t text) {
    if (problems_[text] == no_file) {
      const std::string_view bytes = set_.texts[text];
      const std::size_t begin = bytes.find(':') + 1, names = std::strtoul(bytes.data(), nullptr, 10);
      Bindings sizes = decode_bindings(bytes.substr(begin, names), bytes.substr(std::min(begin + names, bytes.size())));
      const std::string_view name = keep(space::bindings_text(sizes));
      problems_[text] = static_cast<std::uint32_t>(set_.problems.size());
      set_.problems.push_back({std::move(sizes), name});
    }
    return problems_[text];
  }

  std::uint32_t device_of(std::size_t text) {
    if (devices_[text] == no_file) {
      devices_[text] = static_cast<std::uint32_t>(set_.devices.size());
      set_.devices.push_back(record::device_info_from_json(nlohmann::json::parse(set_.texts[text])));
    }
    return devices_[text];
  }

  void read_rows() {
    set_.pieces.resize(set_.sources.size());
    Statement counts = database_.prepare("SELECT source, count(*) FROM row GROUP BY source");
    while (counts.next())
      if (const std::uint32_t file = file_of(counts.integer(0)); file != no_file)
        set_.pieces[file].reserve(static_cast<std::size_t>(counts.integer(1)));
    Statement known = database_.prepare("SELECT count(*) FROM source");
    known.next();
    if (known.integer(0) == std::ssize(set_.sources)) {
      Statement all = database_.prepare("SELECT * FROM row");
      while (all.next()) add_row(all);
      return;
    }
    Statement own = database_.prepare("SELECT * FROM row WHERE source = ?");
    for (const Known& source : known_)
      for (own.with(source.id); own.next();) add_row(own);
  }

  void add_row(const Statement& from) {
    const auto text = [&](int column) -> const std::string_view* {
      const auto id = static_cast<std::size_t>(from.integer(column));
      if (id >= set_.texts.size()) throw DatabaseError("a text is missing", true);
      return &set_.texts[id];
    };
    StoredConfig row;
    row.file = file_of(from.integer(0));
    if (row.file == no_file) return;
    row.offset = static_cast<std::uint64_t>(from.integer(1)), row.bytes = static_cast<std::uint32_t>(from.integer(2));
    row.problem = problem_of(static_cast<std::size_t>(text(3) - set_.texts.data()));
    row.device = device_of(static_cast<std::size_t>(text(4) - set_.texts.data()));
    ++set_.records;
    row.unix_time_ms = from.integer(20);
    set_.newest_unix_ms = std::max(set_.newest_unix_ms, row.unix_time_ms);
    row.outcome = static_cast<Outcome>(from.integer(12));
    if (from.integer(12) < 0 || row.outcome > Outcome::pruned) throw DatabaseError("an outcome is unknown", true);
    const auto flags = static_cast<unsigned>(from.integer(13));
    row.tainted = flags & tainted, row.drift = flags & drift, row.sanitized = flags & sanitized;
    row.explained = flags & explained, row.sanitizer_report = flags & sanitizer_report;
    if (!options_.all && (row.outcome == Outcome::pruned || row.drift || row.sanitized)) return;
    row.source = &set_.sources[row.file];
    row.names = text(5);
    row.values = keep(from.bytes(6));
    row.key = KeyDigest::of_bytes(from.bytes(7)), row.artifact_key = KeyDigest::of_bytes(from.bytes(8));
    row.attempt = text(9);
    if (const std::string_view* const finals = text(10); !finals->empty())
      row.finals = finals, row.finals_by = text(11);
    row.samples = static_cast<std::uint32_t>(from.integer(14));
    static_assert(static_cast<int>(measure::Statistic::inlier_mean) == 3, "the columns have the order of Statistic");
    row.time_ms = flags & has_times ? from.number(15 + static_cast<int>(options_.statistic)) : HUGE_VAL;
    row.median_ms = from.number(15), row.low_ms = from.number(19);
    set_.pieces[row.file].push_back(row);
  }

  static constexpr std::uint32_t no_file = UINT32_MAX;

  Database database_;
  const RowOptions options_;
  RowSet set_;
  std::vector<Known> known_;             ///< by source
  std::vector<std::string> unreadable_;  ///< by source: why it cannot be read; empty: it can
  std::vector<std::size_t> to_read_;     ///< sources
  std::unordered_map<std::string, std::int64_t> text_ids_;
  Statement* add_text_ = nullptr;
  std::vector<std::uint32_t> files_;               ///< by the index's number of a source
  std::vector<std::uint32_t> problems_, devices_;  ///< by text
};

/// Empty: none is to be kept.
fs::path index_file(const RecordSource& source) {
  const fs::path folder = index_folder();
  if (folder.empty()) return {};
  const bool whole = source.offset == 0 && source.bytes == UINT64_MAX;
  const std::string name =
      whole ? source.path.parent_path().string() : fmt::format("{}\n{}", source.path.string(), source.offset);
  return folder / (base::sha256(name).substr(0, 32) + ".sqlite");
}

void remove_unused(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator file(folder, error); !error && file != fs::directory_iterator(); file.increment(error)) {
    std::error_code ignored;
    const auto opened = file->last_write_time(ignored);
    if (!ignored && opened < fs::file_time_type::clock::now() - max_unused) fs::remove(file->path(), ignored);
  }
}

std::uint64_t bytes_of(const std::vector<RecordSource>& sources) {
  std::uint64_t bytes = 0;
  for (const RecordSource& source : sources) {
    std::error_code error;
    const std::uint64_t size = fs::file_size(source.path, error);
    if (!error && size > source.offset) bytes += std::min(size - source.offset, source.bytes);
  }
  return bytes;
}

}  // namespace

RowSet read_rows(std::vector<RecordSource> sources, const RowOptions& options) {
  const fs::path file = bytes_of(sources) < min_indexed_bytes ? fs::path() : index_file(sources.front());
  std::error_code ignored;
  if (!file.empty() && fs::exists(file, ignored))
    fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
  else if (!file.empty())
    remove_unused(file.parent_path());
  for (int tries = 2; !file.empty() && tries > 0; --tries) {
    try {
      return Index(file, sources, options).read();
    } catch (const DatabaseError& error) {
      if (!error.damaged) break;
      remove_database(file);
    } catch (const nlohmann::json::exception&) {  // in a text of the index
      remove_database(file);
    }
  }
  return Index({}, std::move(sources), options).read();
}

void discard_index(const RecordSource& source) {
  if (const fs::path file = index_file(source); !file.empty()) remove_database(file);
}

}  // namespace xtune::store
