// Lines are parsed in several threads, a few pieces at a time, and their blocks are inserted in order by this one. All
// of it is one transaction: other processes see the index before it or after it. A block never changes, and numbers of
// blocks are not used again. So rows can be read at any time later; if a block has gone by then, its lines are parsed.
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
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/hash.hpp"
#include "core/space/value.hpp"
#include "core/store/database.hpp"
#include "core/store/record.hpp"
#include "core/store/record_check.hpp"
#include "core/store/record_log.hpp"
#include "system/files.hpp"
#include "system/parallel.hpp"
#include "xtune/version.hpp"

namespace xtune::store {

// Configurations are kept as their values; nearly all have the same names. Bytes have the order of this machine.

namespace {

/// By character; 255: not a digit.
constexpr auto hex_digits = [] {
  std::array<unsigned char, 256> values{};
  values.fill(255);
  for (unsigned char i = 0; i < 10; ++i) values['0' + i] = i;
  for (unsigned char i = 0; i < 6; ++i) values['a' + i] = static_cast<unsigned char>(10 + i);
  return values;
}();

template <class Number>
void append_number(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <class Number>
Number take_number(std::string_view& bytes) {
  Number number{};
  if (bytes.size() < sizeof number) throw RecordsChanged(ErrorKind::io, "an index of records is damaged");
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

void append_text(std::string& bytes, std::string_view text) {
  append_number(bytes, static_cast<std::uint32_t>(text.size()));
  bytes += text;
}

std::string_view take_text(std::string_view& bytes) {
  const auto size = take_number<std::uint32_t>(bytes);
  const std::string_view text = bytes.substr(0, size);
  bytes.remove_prefix(text.size());
  return text;
}

}  // namespace

KeyDigest::KeyDigest(std::string_view key) {
  constexpr std::size_t hash_length = 64;
  if (key.empty()) return;
  const auto decode = [&](std::string_view hex) {
    unsigned bad = 0;
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      const unsigned high = hex_digits[static_cast<unsigned char>(hex[2 * i])],
                     low = hex_digits[static_cast<unsigned char>(hex[2 * i + 1])];
      bad |= high | low;
      bytes_[i] = static_cast<unsigned char>(high << 4 | low);
    }
    return bad < 16;
  };
  if (key.size() != hash_length || !decode(key)) decode(base::sha256(key));
}

std::string KeyDigest::hex() const {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes_) text += {digits[byte >> 4], digits[byte & 15]};
  return text;
}

KeyDigest KeyDigest::of_bytes(std::string_view bytes) {
  KeyDigest key;
  std::memcpy(&key.bytes_, bytes.data(), std::min(bytes.size(), key.bytes_.size()));
  return key;
}

void encode_bindings(const Bindings& bindings, std::string& names, std::string& values) {
  names.clear(), values.clear();
  for (const auto& [name, value] : bindings) {
    append_text(names, name);
    values += static_cast<char>(value.index());
    if (const auto* const text = std::get_if<std::string>(&value))
      append_text(values, *text);
    else if (const auto* const integer = std::get_if<std::int64_t>(&value))
      append_number(values, *integer);
    else if (const auto* const number = std::get_if<double>(&value))
      append_number(values, *number);
    else
      values += static_cast<char>(std::get<bool>(value));
  }
}

Bindings decode_bindings(std::string_view names, std::string_view values) {
  const auto value = [&]() -> Value {
    switch (take_number<char>(values)) {
      case 0:
        return take_number<char>(values) != 0;
      case 1:
        return take_number<std::int64_t>(values);
      case 2:
        return take_number<double>(values);
      default:
        return take_text(values);
    }
  };
  Bindings bindings;
  while (!names.empty()) {
    const std::string_view name = take_text(names);
    bindings.emplace_hint(bindings.end(), name, value());
  }
  return bindings;
}

std::string config_text(const StoredConfig& config) { return space::bindings_text(config_bindings(config)); }

Bindings config_bindings(const StoredConfig& config) { return decode_bindings(config.names(), config.values()); }

Record read_record(const StoredConfig& config) try {
  const std::string line = system::read_file_part(config.block->source->path, config.offset(), config.bytes);
  RecordLine read = read_record_line(line);
  if (read.kind != RecordLine::Kind::record || KeyDigest(read.record->key) != config.key) {
    discard_index(*config.block->source);
    throw Error(ErrorKind::io, config.block->source->name + ": it has changed since it was read; load it again");
  }
  return std::move(*read.record);
} catch (const Error& error) {
  throw RecordsChanged(error.kind(), error.what());
}

namespace {

namespace fs = std::filesystem;

/// Smaller sources are parsed faster than a file is opened and synced.
constexpr std::uint64_t min_indexed_bytes = 256u << 10;
constexpr std::uint64_t piece_bytes = 1u << 20;
/// An index that was not opened for so long is removed: its store has probably gone.
constexpr auto max_unused = std::chrono::hours(24 * 30);

/// Texts are stored once, and numbered; the numbers of a block are named as in RowBlock. Its data is packed_rows().
constexpr const char* schema = R"(
CREATE TABLE source(id INTEGER PRIMARY KEY, path, offset, device, inode, changed_ns, bytes, print, read_to, lines, ended);
CREATE TABLE warning(source, line, text, kind);
CREATE TABLE text(id INTEGER PRIMARY KEY, bytes UNIQUE);
CREATE TABLE block(id INTEGER PRIMARY KEY AUTOINCREMENT, source, offset, bytes, problem, device, names, attempt, finals,
                   finals_by, sanitized, records, answers, ranks, newest, sum, data);
CREATE INDEX block_source ON block(source);
)";

std::int64_t schema_version() {
  return base::crc32c(std::string(schema) + version + std::to_string(Record::schema)) & 0x7FFFFFFF;
}

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

/// The state of a source when it was read; what is appended afterwards is not.
struct Known {
  std::int64_t id = 0, device = 0, inode = 0, changed_ns = 0, bytes = 0, print = 0, read_to = 0, lines = 0, ended = 0;
  bool same_file(const Known& other) const { return std::tie(device, inode) == std::tie(other.device, other.inode); }
  bool unchanged(const Known& other) const {
    return same_file(other) && std::tie(changed_ns, bytes) == std::tie(other.changed_ns, other.bytes);
  }
};

/// A row in a block's data.
struct PackedRow {
  KeyDigest key, artifact_key;
  std::int64_t unix_time_ms;
  double median, min, mean, inlier_mean, low;
  std::uint32_t place, bytes, samples, values_bytes;
  std::uint32_t outcome, flags;
};
static_assert(std::is_trivially_copyable_v<PackedRow> && sizeof(PackedRow) == 104);

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

/// Members of which a row of a configuration that passed has nothing.
constexpr std::string_view bulky[] = {"samples_ms", "key_parts", "validation", "telemetry", "usage",          "steps",
                                      "reference",  "reported",  "toolchain",  "log",       "artifact_sha256"};

/// Where the value that begins at `at` ends: at a comma, or the end of the object.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  for (int depth = 0; at < text.size(); ++at) switch (text[at]) {
      case '"':
        while (++at < text.size() && text[at] != '"') at += text[at] == '\\';
        break;
      case '[':
      case '{':
        ++depth;
        break;
      case ']':
      case '}':
        if (depth-- == 0) return at;
        break;
      case ',':
        if (depth == 0) return at;
        break;
      default:
        break;
    }
  return text.npos;
}

/// Calls visit(name, value) with the texts of each member of an object as xtune writes it; false: it is not one.
template <class Visit>
bool each_member(std::string_view object, const Visit& visit) {
  for (std::size_t at = 0; at < object.size() && object[at] == (at == 0 ? '{' : ',');) {
    const std::size_t name = at + 2, name_end = object.find('"', name);
    if (object.substr(at + 1, 1) != "\"" || name_end == object.npos || object.substr(name_end, 2) != "\":")
      return false;
    at = end_of_value(object, name_end + 2);
    if (at == object.npos) return false;
    visit(object.substr(name, name_end - name), object.substr(name_end + 2, at - name_end - 2));
    if (object[at] == '}') return at + 1 == object.size();
  }
  return false;
}

/// Parses records, and packs what a row needs of them. Most of a line's text are samples and parts of its key; they are
/// parsed only if a row depends on them, or if the line's own checksum does not prove that they are sound.
class LineParser {
 public:
  RecordLine read(std::string_view line) {
    shortened_ = false;
    RecordLine read = read_record_line(line, [&](std::string_view whole) { return shorten(whole); });
    const measure::Summary* const time = read.record ? &read.record->time_ms : nullptr;
    // Their mean follows from the samples.
    if (shortened_ && time && (measure::is_outlier(time->min, *time) || measure::is_outlier(time->max, *time)))
      shortened_ = false, read = read_record_line(line);
    return read;
  }

  /// The record that was read last.
  void add_to(std::vector<ParsedBlock>& blocks, const Record& record, std::string_view line, std::uint64_t offset) {
    ParsedBlock block;
    std::string names, sizes, config;
    encode_bindings(record.problem, names, sizes);
    block.problem = std::to_string(names.size()) + ':' + names + sizes;
    encode_bindings(record.config, block.names, config);
    block.device = shortened_ ? device_ : to_json(record.device).dump();
    block.attempt = record.attempt, block.finals = record.finals, block.finals_by = record.finals_by;
    block.sanitized = is_sanitized(record);
    block.offset = offset;
    if (blocks.empty() || !blocks.back().continues(block)) blocks.push_back(std::move(block));
    append(blocks.back(), record, config, line.size(), offset);
  }

 private:
  static void append(ParsedBlock& block, const Record& record, std::string_view config, std::size_t bytes,
                     std::uint64_t offset) {
    unsigned flags = 0;
    const auto flag = [&](bool is, Flag bit) { flags |= is ? bit : 0U; };
    const bool has_time = record.time_ms.count != 0, pruned = record.outcome == Outcome::pruned;
    flag(!record.tainted.empty(), tainted), flag(record.drift, drift), flag(!record.message.empty(), explained);
    flag(is_sanitizer_report(record.message), sanitizer_report), flag(has_time, has_times);
    const measure::Summary& time = record.time_ms;
    const PackedRow row{KeyDigest(record.key),
                        KeyDigest(record.artifact_key),
                        record.unix_time_ms,
                        time.median,
                        time.min,
                        time.mean,
                        time.inlier_mean,
                        pruned ? time.min : time.low,
                        static_cast<std::uint32_t>(offset - block.offset),
                        static_cast<std::uint32_t>(bytes),
                        static_cast<std::uint32_t>(pruned ? time.count : 0),
                        static_cast<std::uint32_t>(config.size()),
                        static_cast<std::uint32_t>(record.outcome),
                        flags};
    block.rows.append(reinterpret_cast<const char*>(&row), sizeof row);
    block.values += config;
    block.bytes = offset + bytes - block.offset;
    ++block.records;
    const bool answers = !pruned && !record.drift;
    block.answers += answers, block.ranks += answers && record.outcome == Outcome::ok && has_time;
    block.newest_unix_ms = std::max(block.newest_unix_ms, record.unix_time_ms);
  }

  std::string_view shorten(std::string_view line) {
    text_.clear();
    std::string_view outcome, key_parts, device;
    const bool is_object = each_member(line, [&](std::string_view name, std::string_view value) {
      if (name == "outcome") outcome = value;
      if (name == "key_parts") key_parts = value;
      if (name == "device") device = value, value = device_text_.empty() ? value : "{}";
      if (std::find(std::begin(bulky), std::end(bulky), name) != std::end(bulky)) return;
      text_.append(text_.empty() ? "{\"" : ",\"").append(name).append("\":").append(value);
    });
    const auto has = [](std::string_view text, std::string_view part) { return text.find(part) != text.npos; };
    if (!is_object || device.empty() || (outcome != "\"ok\"" && outcome != "\"pruned\"")) return line;
    // Without the part the driver is added to the key.
    if (has(key_parts, "[\"sanitize\",") || (has(device, "\"driver\":") && !has(key_parts, "[\"driver\",")))
      return line;
    if (device != device_text_) {
      device_text_.clear();
      try {
        device_ = to_json(device_info_from_json(nlohmann::json::parse(device))).dump();
      } catch (const std::exception&) {
        return line;
      }
      device_text_ = device;
      return shorten(line);
    }
    shortened_ = true;
    return text_ += '}';
  }

  std::string text_;
  std::string device_text_, device_;  ///< of the last device: in its line, and as in the index
  bool shortened_ = false;
};

void parse(const RecordSource& source, Piece& piece) try {
  thread_local std::vector<char> buffer;
  LineParser parser;
  const auto visit = [&](std::string_view line, std::uint64_t offset) {
    ++piece.lines;
    RecordLine read = parser.read(line);
    if (read.kind == RecordLine::Kind::newer) {
      piece.warnings.push_back({0, read.why + "; not read", WarningKind::rest});
      return !(piece.ended = true);
    }
    piece.has_header = piece.has_header || (piece.lines == 1 && read.kind == RecordLine::Kind::header);
    if (read.kind == RecordLine::Kind::damaged)
      piece.warnings.push_back({piece.lines, "skipped: " + read.why, WarningKind::line});
    if (read.record && !is_stored_shortage(*read.record)) parser.add_to(piece.blocks, *read.record, line, offset);
    piece.read_to = offset + line.size() + 1;
    return true;
  };
  const LinesEnd end = each_line(source, piece.begin, piece.end, buffer, visit);
  if (const std::string text = text_of(end); !text.empty())
    piece.warnings.push_back({piece.lines + 1, text, end == LinesEnd::torn ? WarningKind::torn : WarningKind::rest});
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

std::uint32_t sum_of(std::string_view data) { return base::crc32c(data); }

}  // namespace

/// Makes rows of the data of blocks.
class RowReader {
 public:
  RowReader(const RowOptions& options, fs::path file) : options_(options), file_(std::move(file)) {}

  static std::string packed_rows(const ParsedBlock& block) { return block.rows + block.values; }

  std::shared_ptr<const BlockRows> rows_of(const RowBlock& block, bool keep) {
    const std::lock_guard lock(mutex_);
    if (block.rows) return block.rows;
    std::shared_ptr<const BlockRows> rows;
    try {
      if (!database_) database_.emplace(file_);
      rows = stored(block, *database_);
    } catch (const DatabaseError& error) {
      if (error.damaged) remove_database(file_);
      rows = parsed(block);
    }
    if (keep) block.rows = rows;
    return rows;
  }

  std::shared_ptr<const BlockRows> stored(const RowBlock& block, Database& database) const {
    Statement data = database.prepare("SELECT sum, data FROM block WHERE id = ?");
    if (!data.with(block.id).next()) throw DatabaseError("a block has been removed", false);
    if (data.integer(0) != sum_of(data.bytes(1))) throw DatabaseError("a block is damaged", true);
    return unpacked(block, data.bytes(1));
  }

 private:
  /// The block has gone from the index, or cannot be read.
  std::shared_ptr<const BlockRows> parsed(const RowBlock& block) const {
    Piece piece(0, block.offset, block.offset + block.bytes);
    parse(*block.source, piece);
    if (piece.blocks.size() != 1 || piece.blocks.front().records != block.records)
      throw RecordsChanged(ErrorKind::io, block.source->name + ": it has changed since it was read; load it again");
    return unpacked(block, packed_rows(piece.blocks.front()));
  }

  std::shared_ptr<const BlockRows> unpacked(const RowBlock& block, std::string_view data) const {
    auto result = std::make_shared<BlockRows>();
    const std::size_t rows_bytes = sizeof(PackedRow) * block.records;
    if (data.size() < rows_bytes) throw DatabaseError("a block is too short", true);
    result->values = data.substr(rows_bytes);
    result->rows.reserve(options_.all ? block.records : block.answers);
    std::size_t values_at = 0;
    for (std::size_t i = 0; i < block.records; ++i) {
      PackedRow packed;
      std::memcpy(static_cast<void*>(&packed), data.data() + i * sizeof packed, sizeof packed);
      const char* const values = result->values.data() + values_at;
      values_at += packed.values_bytes;
      if (values_at > result->values.size() || packed.outcome > static_cast<unsigned>(Outcome::pruned))
        throw DatabaseError("a row is damaged", true);
      const auto has = [&](Flag flag) { return (packed.flags & flag) != 0; };
      const auto outcome = static_cast<Outcome>(packed.outcome);
      if (!options_.all && (outcome == Outcome::pruned || has(drift))) continue;
      const double times[] = {packed.median, packed.min, packed.mean, packed.inlier_mean};
      static_assert(static_cast<int>(measure::Statistic::inlier_mean) == 3, "the times have the order of Statistic");
      StoredConfig& row = result->rows.emplace_back();
      row.key = packed.key, row.artifact_key = packed.artifact_key;
      row.block = &block;
      row.values_begin = values, row.values_bytes = packed.values_bytes;
      row.time_ms = has(has_times) ? times[static_cast<std::size_t>(options_.statistic)] : HUGE_VAL;
      row.median_ms = packed.median, row.low_ms = packed.low;
      row.unix_time_ms = packed.unix_time_ms;
      row.place = packed.place, row.bytes = packed.bytes, row.samples = packed.samples;
      row.outcome = outcome;
      row.tainted = has(tainted), row.drift = has(drift);
      row.explained = has(explained), row.sanitizer_report = has(sanitizer_report);
    }
    return result;
  }

  const RowOptions options_;
  const fs::path file_;
  std::mutex mutex_;
  std::optional<Database> database_;  ///< opened at first use
};

std::shared_ptr<const BlockRows> RowSet::rows_of(const RowBlock& block, bool keep) const {
  return reader ? reader->rows_of(block, keep) : block.rows;
}

namespace {

class Index {
 public:
  /// file: empty: in memory.
  Index(const fs::path& file, std::vector<RecordSource> sources, const RowOptions& options)
      : database_(file), file_(file), options_(options), reads_later_(options.all && !file.empty()) {
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
    read_blocks();
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
        range_of(sources[i]);
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
      if (whole) remove("DELETE FROM block WHERE source = ?", known.id);
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
      for (const char* statement : {"DELETE FROM block WHERE source = ?", "DELETE FROM warning WHERE source = ?",
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
    Statement add_block = database_.prepare(
        "INSERT INTO block(source, offset, bytes, problem, device, names, attempt, finals, finals_by, sanitized, "
        "records, "
        "answers, ranks, newest, sum, data) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    Statement add_warning = database_.prepare("INSERT INTO warning VALUES(?, ?, ?, ?)");
    add_text_ = &add_text;
    while (!pieces.empty()) {
      const std::size_t count = std::min(at_once, pieces.size());
      system::for_each_index(count, options_.threads,
                             [&](std::size_t i) { parse(set_.sources[pieces[i].source], pieces[i]); });
      for (std::size_t i = 0; i < count; ++i) {
        insert(pieces.front(), add_block, add_warning);
        pieces.pop_front();
      }
    }
  }

  void insert(const Piece& piece, Statement& add_block, Statement& add_warning) {
    Known& known = known_[piece.source];
    if (known.ended) return;
    for (const ParsedBlock& block : piece.blocks) {
      const std::string data = RowReader::packed_rows(block);
      add_block
          .with(known.id, block.offset, block.bytes, id_of(block.problem), id_of(block.device), id_of(block.names),
                id_of(block.attempt), id_of(block.finals), id_of(block.finals_by), block.sanitized, block.records,
                block.answers, block.ranks, block.newest_unix_ms, sum_of(data), std::string_view(data))
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
      set_.devices.push_back(device_info_from_json(nlohmann::json::parse(set_.texts[text])));
    }
    return devices_[text];
  }

  void read_blocks() {
    // Without the rows themselves, which are most of the index.
    Statement own = database_.prepare(
        "SELECT id, source, offset, bytes, problem, device, names, attempt, finals, finals_by, sanitized, records, "
        "answers, ranks, newest FROM block WHERE source = ? ORDER BY id");
    for (const Known& source : known_)
      for (own.with(source.id); own.next();) add_block(own);
    for (RowBlock& block : set_.blocks) {
      set_.records += block.records;
      set_.newest_unix_ms = std::max(set_.newest_unix_ms, block.newest_unix_ms);
    }
    if (!options_.all) std::erase_if(set_.blocks, [](const RowBlock& block) { return block.sanitized; });
    auto reader = std::make_shared<RowReader>(options_, file_);
    if (reads_later_)
      set_.reader = std::move(reader);
    else
      for (const RowBlock& block : set_.blocks) block.rows = reader->stored(block, database_);
  }

  void add_block(const Statement& from) {
    const auto number = [&](int column) { return static_cast<std::uint32_t>(from.integer(column)); };
    const auto text = [&](int column) {
      const auto id = static_cast<std::size_t>(from.integer(column));
      if (id >= set_.texts.size()) throw DatabaseError("a text is missing", true);
      return id;
    };
    RowBlock block;
    block.file = file_of(from.integer(1));
    if (block.file == no_file) return;
    block.source = &set_.sources[block.file];
    block.id = from.integer(0);
    block.offset = static_cast<std::uint64_t>(from.integer(2)),
    block.bytes = static_cast<std::uint64_t>(from.integer(3));
    block.problem = problem_of(text(4)), block.device = device_of(text(5));
    block.names = set_.texts[text(6)], block.attempt = set_.texts[text(7)];
    block.finals = set_.texts[text(8)], block.finals_by = set_.texts[text(9)];
    block.sanitized = from.integer(10) != 0;
    block.records = number(11), block.answers = number(12), block.ranks = number(13);
    block.newest_unix_ms = from.integer(14);
    set_.blocks.push_back(std::move(block));
  }

  static constexpr std::uint32_t no_file = UINT32_MAX;

  Database database_;
  const fs::path file_;
  const RowOptions options_;
  const bool reads_later_;
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
