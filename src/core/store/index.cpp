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
#include <unordered_map>
#include <utility>

#include "base/hash.hpp"
#include "core/space/value.hpp"
#include "core/store/database.hpp"
#include "core/store/packed_rows.hpp"
#include "system/parallel.hpp"
#include "xtune/version.hpp"

namespace xtune::store {

namespace {

namespace fs = std::filesystem;

/// Smaller sources are parsed faster than a file is opened and synced.
constexpr std::uint64_t min_indexed_bytes = 256u << 10;
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
  const std::string rows = std::to_string(sizeof(PackedRow));
  return base::crc32c(std::string(schema) + rows + version + std::to_string(Record::schema)) & 0x7FFFFFFF;
}

/// The state of a source when it was read; what is appended afterwards is not.
struct Known {
  std::int64_t id = 0, device = 0, inode = 0, changed_ns = 0, bytes = 0, print = 0, read_to = 0, lines = 0, ended = 0;
  bool same_file(const Known& other) const { return std::tie(device, inode) == std::tie(other.device, other.inode); }
  bool unchanged(const Known& other) const {
    return same_file(other) && std::tie(changed_ns, bytes) == std::tie(other.changed_ns, other.bytes);
  }
};

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

std::string packed_rows(const ParsedBlock& block) { return block.rows + block.values; }

}  // namespace

/// An index: finds what is new in sources, and makes rows of the data of blocks.
class RowIndex {
 public:
  /// file: empty: in memory.
  RowIndex(const fs::path& file, const RowOptions& options) : database_(file), file_(file), options_(options) {}

  /// Adds the blocks that the set lacks. False: some that it has are out of date.
  bool read(RowSet& set) {
    const std::lock_guard lock(mutex_);
    database_.run("BEGIN");
    if (!is_ready() || !is_current(set)) {
      // Another process may have done it meanwhile.
      database_.run("ROLLBACK; BEGIN IMMEDIATE");
      if (!is_ready()) {
        database_.run(schema);
        database_.run(fmt::format("PRAGMA user_version = {}", schema_version()).c_str());
      }
      if (!is_current(set)) update(set);
    }
    const bool holds = has_blocks_of(set);
    if (holds) read_sources(set), read_texts(set), read_blocks(set);
    database_.run("COMMIT");
    return holds;
  }

  std::shared_ptr<const BlockRows> rows_of(const RowBlock& block, bool keep) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const BlockRows> rows = block.rows;
    if (!rows) try {
        rows = stored(block);
      } catch (const DatabaseError& error) {
        data_.reset();
        if (error.damaged) remove_database(file_);
        rows = parsed(block);
      }
    if (keep) block.rows = rows;
    return rows;
  }

  void forget_rows(const RowSet& set) {
    const std::lock_guard lock(mutex_);
    for (const RowBlock& block : set.blocks) block.rows.reset();
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
  bool is_current(const RowSet& set) {
    const std::deque<RecordSource>& sources = set.sources;
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

  void update(const RowSet& set) {
    forget_removed();
    Statement add_source = database_.prepare("INSERT INTO source(path, offset) VALUES(?, ?)");
    std::deque<Piece> pieces;
    for (const std::size_t i : to_read_) {
      Known& known = known_[i];
      const RecordSource& source = set.sources[i];
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
    insert(pieces, set);
    Statement put = database_.prepare(
        "UPDATE source SET device = ?, inode = ?, changed_ns = ?, bytes = ?, print = ?, read_to = ?, lines = ?, "
        "ended = ? WHERE id = ?");
    for (const std::size_t i : to_read_) {
      Known& known = known_[i];
      known.print = print_of(set.sources[i], static_cast<std::uint64_t>(known.read_to));
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
  void insert(std::deque<Piece>& pieces, const RowSet& set) {
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
      system::for_each_index(count, 0, [&](std::size_t i) { parse(set.sources[pieces[i].source], pieces[i]); });
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
      const std::string data = packed_rows(block);
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

  /// Blocks never change: those that the set has are up to date if as many are left.
  bool has_blocks_of(const RowSet& set) {
    std::vector<std::int64_t> counts(set.sources.size());
    for (const RowBlock& block : set.blocks) ++counts[block.file];
    Statement count = database_.prepare("SELECT count(*) FROM block WHERE source = ? AND id <= ?");
    for (std::size_t i = 0; i < counts.size() && last_block_ > 0; ++i)
      if (!count.with(known_[i].id, last_block_).next() || count.integer(0) != counts[i]) return false;
    return true;
  }

  void read_sources(RowSet& set) {
    set.unreadable = 0, set.warnings.clear(), set.unread.clear();
    Statement warnings = database_.prepare("SELECT line, text, kind FROM warning WHERE source = ? ORDER BY rowid");
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const auto warn = [&](std::string text, bool rest) {
        if (rest) set.unread.push_back(text);
        set.warnings.push_back(std::move(text));
      };
      if (!unreadable_[i].empty()) {
        ++set.unreadable;
        warn(unreadable_[i], true);
        continue;
      }
      for (warnings.with(known_[i].id); warnings.next();) {
        const std::string& name = set.sources[i].name;
        const bool rest = warnings.integer(2) == static_cast<int>(WarningKind::rest);
        warn(warnings.integer(0) ? fmt::format("{}:{}: {}", name, warnings.integer(0), warnings.bytes(1))
                                 : fmt::format("{}: {}", name, warnings.bytes(1)),
             rest);
      }
    }
  }

  static std::string_view keep(RowSet& set, std::string_view text) {
    if (text.empty()) return {};
    auto* const place = static_cast<char*>(set.arena->allocate(text.size(), 1));
    std::memcpy(place, text.data(), text.size());
    return {place, text.size()};
  }

  void read_texts(RowSet& set) {
    if (!set.arena) set.arena = std::make_unique<TextArena>(64u << 10);
    Statement all = database_.prepare("SELECT id, bytes FROM text WHERE id >= ? ORDER BY id");
    for (all.with(set.texts.size()); all.next();) {
      set.texts.resize(static_cast<std::size_t>(all.integer(0)) + 1);
      set.texts.back() = keep(set, all.bytes(1));
    }
    problems_.resize(set.texts.size(), none);
    devices_.resize(set.texts.size(), none);
  }

  std::uint32_t problem_of(RowSet& set, std::size_t text) {
    if (problems_[text] == none) {
      const std::string_view bytes = set.texts[text];
      const std::size_t begin = bytes.find(':') + 1, names = std::strtoul(bytes.data(), nullptr, 10);
      Bindings sizes = decode_bindings(bytes.substr(begin, names), bytes.substr(std::min(begin + names, bytes.size())));
      const std::string_view name = keep(set, space::bindings_text(sizes));
      problems_[text] = static_cast<std::uint32_t>(set.problems.size());
      set.problems.push_back({std::move(sizes), name});
    }
    return problems_[text];
  }

  std::uint32_t device_of(RowSet& set, std::size_t text) {
    if (devices_[text] == none) {
      devices_[text] = static_cast<std::uint32_t>(set.devices.size());
      set.devices.push_back(device_info_from_json(nlohmann::json::parse(set.texts[text])));
    }
    return devices_[text];
  }

  void read_blocks(RowSet& set) {
    // Without the rows themselves, which are most of the index.
    Statement own = database_.prepare(
        "SELECT id, offset, bytes, problem, device, names, attempt, finals, finals_by, sanitized, records, answers, "
        "ranks, newest FROM block WHERE source = ? AND id > ? ORDER BY id");
    const std::int64_t after = last_block_;
    for (std::size_t file = 0; file < known_.size(); ++file)
      for (own.with(known_[file].id, after); own.next();) add_block(set, file, own);
    if (options_.all) return;
    std::erase_if(set.blocks, [](const RowBlock& block) { return block.sanitized; });
    const auto is_doubtful = [](const StoredConfig& row) { return row.tainted && row.outcome == Outcome::ok; };
    for (const RowBlock& block : set.blocks) {
      block.rows = stored(block, false);
      set.disturbed = set.disturbed || std::any_of(block.rows->rows.begin(), block.rows->rows.end(), is_doubtful);
    }
    for (const RowBlock& block : set.blocks)
      if (set.disturbed) block.rows = stored(block, true);
  }

  void add_block(RowSet& set, std::size_t file, const Statement& from) {
    const auto number = [&](int column) { return static_cast<std::uint32_t>(from.integer(column)); };
    const auto text = [&](int column) {
      const auto id = static_cast<std::size_t>(from.integer(column));
      if (id >= set.texts.size()) throw DatabaseError("a text is missing", true);
      return id;
    };
    RowBlock block;
    block.file = static_cast<std::uint32_t>(file);
    block.source = &set.sources[file];
    block.id = from.integer(0);
    block.offset = static_cast<std::uint64_t>(from.integer(1));
    block.bytes = static_cast<std::uint64_t>(from.integer(2));
    block.problem = problem_of(set, text(3)), block.device = device_of(set, text(4));
    block.sizes = &set.problems[block.problem].sizes, block.measured_on = &set.devices[block.device];
    block.names = set.texts[text(5)], block.attempt = set.texts[text(6)];
    block.finals = set.texts[text(7)], block.finals_by = set.texts[text(8)];
    block.sanitized = from.integer(9) != 0;
    block.records = number(10), block.answers = number(11), block.ranks = number(12);
    block.newest_unix_ms = from.integer(13);
    last_block_ = std::max(last_block_, block.id);
    set.records += block.records;
    set.newest_unix_ms = std::max(set.newest_unix_ms, block.newest_unix_ms);
    set.blocks.push_back(std::move(block));
  }

  /// pruned: whether also rows of these, without RowOptions::all.
  std::shared_ptr<const BlockRows> stored(const RowBlock& block, bool pruned = true) {
    if (!data_) data_.reset(new Statement(database_.prepare("SELECT sum, data FROM block WHERE id = ?")));
    Statement& data = *data_;
    if (!data.with(block.id).next()) throw DatabaseError("a block has been removed", false);
    if (data.integer(0) != sum_of(data.bytes(1))) throw DatabaseError("a block is damaged", true);
    auto rows = unpacked(block, data.bytes(1), pruned);
    data.run();  // a statement that has not ended holds a transaction
    return rows;
  }

  /// The block has gone from the index, or cannot be read.
  std::shared_ptr<const BlockRows> parsed(const RowBlock& block) const {
    Piece piece(0, block.offset, block.offset + block.bytes);
    parse(*block.source, piece);
    if (piece.blocks.size() != 1 || piece.blocks.front().records != block.records)
      throw RecordsChanged(ErrorKind::io, block.source->name + ": it has changed since it was read; load it again");
    return unpacked(block, packed_rows(piece.blocks.front()), true);
  }

  std::shared_ptr<const BlockRows> unpacked(const RowBlock& block, std::string_view data, bool pruned) const {
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
      if (!options_.all && (has(drift) || (outcome == Outcome::pruned && !pruned))) continue;
      const double times[] = {packed.median, packed.min, packed.mean, packed.inlier_mean};
      static_assert(static_cast<int>(measure::Statistic::inlier_mean) == 3, "the times have the order of Statistic");
      StoredConfig& row = result->rows.emplace_back();
      row.key = packed.key, row.artifact_key = packed.artifact_key;
      row.block = &block;
      row.values_begin = values, row.values_bytes = packed.values_bytes;
      row.time_ms = has(has_times) ? times[static_cast<std::size_t>(options_.statistic)] : HUGE_VAL;
      row.median_ms = packed.median, row.low_ms = packed.low;
      row.compile_cpu_s = packed.compile_cpu_s;
      row.unix_time_ms = packed.unix_time_ms;
      row.place = packed.place, row.bytes = packed.bytes, row.samples = packed.samples;
      row.outcome = outcome;
      row.tainted = has(tainted), row.drift = has(drift);
      row.explained = has(explained), row.sanitizer_report = has(sanitizer_report);
    }
    return result;
  }

  static constexpr std::uint32_t none = UINT32_MAX;

  std::mutex mutex_;
  Database database_;
  std::unique_ptr<Statement> data_;  ///< that reads a block's data
  const fs::path file_;
  const RowOptions options_;
  std::int64_t last_block_ = 0;          ///< that was read
  std::vector<Known> known_;             ///< by source
  std::vector<std::string> unreadable_;  ///< by source: why it cannot be read; empty: it can
  std::vector<std::size_t> to_read_;     ///< sources
  std::unordered_map<std::string, std::int64_t> text_ids_;
  Statement* add_text_ = nullptr;
  std::vector<std::uint32_t> problems_, devices_;  ///< by text
};

std::shared_ptr<const BlockRows> RowSet::rows_of(const RowBlock& block, bool keep) const {
  return index ? index->rows_of(block, keep) : block.rows;
}

void RowSet::forget_rows() const {
  if (index) index->forget_rows(*this);
}

namespace {

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
  const auto read_with = [&](const fs::path& place) {
    const auto index = std::make_shared<RowIndex>(place, options);
    RowSet set;
    set.sources.assign(sources.begin(), sources.end());
    index->read(set);
    if (options.all) set.index = index;
    return set;
  };
  std::error_code ignored;
  if (!file.empty() && fs::exists(file, ignored))
    fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);
  else if (!file.empty())
    remove_unused(file.parent_path());
  for (int tries = 2; !file.empty() && tries > 0; --tries) {
    try {
      return read_with(file);
    } catch (const DatabaseError& error) {
      if (!error.damaged) break;
      remove_database(file);
    } catch (const nlohmann::json::exception&) {  // in a text of the index
      remove_database(file);
    }
  }
  return read_with({});
}

bool read_more(RowSet& set, const std::vector<RecordSource>& further) try {
  set.sources.insert(set.sources.end(), further.begin(), further.end());
  return set.index && set.index->read(set);
} catch (const DatabaseError&) {
  return false;
} catch (const nlohmann::json::exception&) {
  return false;
}

void discard_index(const RecordSource& source) {
  if (const fs::path file = index_file(source); !file.empty()) remove_database(file);
}

}  // namespace xtune::store
