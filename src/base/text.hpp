// Small text tools: numbers and colours for people to read, the nearest word for a misspelt one, and matches in lines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xtune::base {

/// The candidate that a word was meant to be: the shortest that begins with it (from three letters on), else the
/// nearest by edit distance; empty when none is near (distance > max(2, length / 3)). Letter case does not count.
std::string nearest_word(std::string_view word, const std::vector<std::string>& candidates);
/// " (did you mean 'BLOCK_M'?)", or empty.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);
/// ASCII letters in lower case; the rest as it is.
std::string lower_case(std::string_view text);
/// Replaces control characters and invalid UTF-8, so that the text can be printed and stored as JSON.
std::string printable(std::string_view text, std::size_t limit = std::size_t(-1));
/// The same for a text of several lines, whose line ends are kept.
std::string printable_lines(std::string_view text, std::size_t limit = std::size_t(-1));
/// printable on one line: line ends and tabs are escaped too.
std::string one_line(std::string_view text);
/// Whether the text is valid UTF-8.
bool is_utf8(std::string_view text) noexcept;
/// The text itself if it is valid UTF-8, which JSON can hold; else printable(text).
std::string utf8_text(std::string_view text);
/// JSON for a terminal: the control characters that JSON allows in strings (DEL, U+0080 to U+009F) are escaped.
std::string printable_json(std::string json);
/// The end of a text, at most `bytes` long, as whole lines if possible.
std::string end_of(std::string_view text, std::size_t bytes);
/// Up to the first newline.
std::string first_line(std::string_view text);
/// The last line before trailing blanks and blank lines, printable.
std::string last_line(std::string_view text, std::size_t limit = 300);
/// The parts between the separators; one more than there are separators.
std::vector<std::string> split(std::string_view text, char separator);
/// The lines without their newlines; a newline at the end begins no line.
std::vector<std::string_view> split_lines(std::string_view text);
std::vector<std::string_view> split_lines(std::string&& text) = delete;  // whose lines would be gone
/// Appends the item if the list does not contain it.
void add_once(std::vector<std::string>& list, const std::string& item);
std::string counted(std::uint64_t count, std::string_view noun);  ///< "1 parameter", "2 parameters", "2 passes"
std::string human_bytes(std::uint64_t bytes);                     ///< "96 KiB"; "at least 16 EiB" for 2^64 - 1
std::string human_seconds(double seconds);                        ///< "850 ms", "12.3 s", "4 min 10 s"
std::string human_time_ms(double ms);  ///< three significant digits with unit: "12.3 us", "1.25 ms"

/// The text without these characters at either end. Refers to the given text.
inline std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\n\v\f\r") noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  text.remove_suffix(text.size() - (text.find_last_not_of(blanks) + 1));
  return text;
}

enum class Style { best, error, warning, dim };

/// The text between marks: noncharacters of Unicode (U+FDD0 to U+FDEF), which are valid UTF-8 and do not occur in text
/// that is meant for exchange.
std::string styled(Style style, std::string_view text);

/// The text with its marks replaced by the codes of a terminal, or removed. The end of the text has no style.
std::string painted(std::string_view text, bool colours);

struct LineMatch {
  std::string before;  ///< the line up to text
  std::string text;    ///< the first group, or the whole match
  std::string after;   ///< the rest of the line
};

/// The match in the last line of which any part matches; nullopt: none. The expression has RE2's syntax and matches
/// bytes, in time linear in the text. Throws Error(invalid_argument) with the reason for one that is not valid.
std::optional<LineMatch> last_match(const std::string& expression, const std::string& text);

}  // namespace xtune::base
