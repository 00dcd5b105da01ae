// Most of a line's text is not parsed: a row needs few members.
#include "core/store/packed_rows.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/store/record_check.hpp"

namespace xtune::store {

namespace {

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
                        record.compile_cpu_s,
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
    if (!is_object || device.empty() || (outcome != "\"ok\"" && outcome != "\"pruned\"")) return line;
    if (key_parts.find("[\"sanitize\",") != key_parts.npos) return line;
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

}  // namespace

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

}  // namespace xtune::store
