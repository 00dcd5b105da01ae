// Misspelt words, printable text and numbers for people.
#include "base/text.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace xtune::base;

using namespace xtune;

TEST_CASE("An item that a list contains is not added again") {
  std::vector<std::string> list;
  for (const char* item : {"a", "b", "a"}) add_once(list, item);
  CHECK(list == std::vector<std::string>{"a", "b"});
}

TEST_CASE("lower case is of ASCII letters only") { CHECK(lower_case("MI300X \xC3\x84_z") == "mi300x \xC3\x84_z"); }

TEST_CASE("a text's lines") {
  using Lines = std::vector<std::string_view>;
  CHECK(split_lines(std::string_view("a\n\nb")) == Lines{"a", "", "b"});
  CHECK(split_lines(std::string_view("a\r\n")) == Lines{"a\r"});  // which has one end
  CHECK(split_lines(std::string_view("\n")) == Lines{""});
  CHECK(split_lines(std::string_view()).empty());
  CHECK(first_line("a\nb") == "a");
  CHECK(first_line("\nb").empty());
  CHECK(first_line("a") == "a");
}

TEST_CASE("the nearest word is the one meant") {
  const std::vector<std::string> names{"BLOCK_M", "BLOCK_N", "THREADS", "STAGES"};
  CHECK(nearest_word("BLOCK_MM", names) == "BLOCK_M");
  CHECK(nearest_word("block_m", names) == "BLOCK_M");
  CHECK(nearest_word("THREDS", names) == "THREADS");
  CHECK(nearest_word("STAGE", names) == "STAGES");
  CHECK(nearest_word("zebra", names) == "");
  CHECK(nearest_word("BLOCK_M", {}) == "");
  CHECK(nearest_word("", names) == "");
  CHECK(nearest_word("x", {"ab", "y"}) == "");
  CHECK(nearest_word("teh", {"the"}) == "the");
  CHECK(nearest_word(std::string(10000000, 'x'), names) == "");
  CHECK(did_you_mean("THREDS", names) == " (did you mean 'THREADS'?)");
  CHECK(did_you_mean("zebra", names) == "");
  CHECK(did_you_mean("bayes", {"forest", "bayesian_long", "bayesian"}) == " (did you mean 'bayesian'?)");
  CHECK(did_you_mean("ba", {"bayesian"}) == "");
  // The beginning of a word before one that is near.
  CHECK(nearest_word("max_threads", {"max_reads", "max_threads_per_block"}) == "max_threads_per_block");
  CHECK(nearest_word("sm_9", {"sm_89", "sm_90", "sm_103"}) == "sm_90");
  CHECK(nearest_word("BLOCK", {"LOCK", "block_m"}) == "block_m");
  CHECK(nearest_word("STAGES", names) == "STAGES");
}

TEST_CASE("printable text keeps what is text") {
  CHECK(printable("plain, tab\t, line\n, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x99\x82") ==
        "plain, tab\t, line\n, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x99\x82");
  CHECK(printable("") == "");
}

TEST_CASE("printable text shows bytes that are none") {
  CHECK(printable(std::string("\0\x1b[31m\x7f", 7)) == "\\x00\\x1b[31m\\x7f");
  CHECK(printable("\xff\xC3(\x80") == "\\xff\\xc3(\\x80");
  CHECK(printable("\xC0\xAF") == "\\xc0\\xaf");  // overlong
  CHECK(printable("\xE0\x80\xAF") == "\\xe0\\x80\\xaf");
  CHECK(printable("\xED\xA0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(printable("\xF4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  CHECK(printable("\xE2\x82") == "\\xe2\\x82");                    // cut off
  CHECK(printable("\xC2\x9B") == "?");                             // a control character of two bytes
}

TEST_CASE("text on one line has its line ends and tabs escaped") {
  CHECK(one_line("rm\n\t\x1b[31m") == "rm\\n\\t\\x1b[31m");
  CHECK(one_line("plain \xC3\xA9") == "plain \xC3\xA9");
}

TEST_CASE("valid UTF-8 is kept, with any characters") {
  const std::string controls("\0\x1b\t\n\x7f\xC2\x9B\xC3\xA9", 9);
  CHECK(is_utf8(controls));
  CHECK(utf8_text(controls) == controls);
  CHECK_FALSE(is_utf8("a\xff"));
  CHECK_FALSE(is_utf8("\xE2\x82"));
  CHECK(utf8_text("a\xff") == "a\\xff");
}

TEST_CASE("JSON for a terminal has no control character, and says the same") {
  CHECK(printable_json("[\"a\x7f\xC2\x9B\xC2\xA9\xC3\x9B\"]") == "[\"a\\u007f\\u009b\xC2\xA9\xC3\x9B\"]");
  CHECK(printable_json("{}") == "{}");
}

TEST_CASE("a limit cuts between characters") {
  CHECK(printable("abcdef", 3) == "abc...");
  CHECK(printable("abc", 3) == "abc");
  CHECK(printable("a\xE2\x82\xAC", 2) == "a...");
  CHECK(printable("abc", 0) == "...");
}

TEST_CASE("bytes for people") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1024) == "1 KiB");
  CHECK(human_bytes(96 * 1024) == "96 KiB");
  CHECK(human_bytes(1536) == "1.5 KiB");
  CHECK(human_bytes((std::uint64_t{1} << 20) - 1) == "1.0 MiB");
  CHECK(human_bytes(std::uint64_t(-1)) == "at least 16 EiB");
}

TEST_CASE("seconds for people") {
  CHECK(human_seconds(0) == "0 ms");
  CHECK(human_seconds(0.85) == "850 ms");
  CHECK(human_seconds(0.9996) == "1.0 s");
  CHECK(human_seconds(12.34) == "12.3 s");
  CHECK(human_seconds(59.96) == "1 min 0 s");
  CHECK(human_seconds(250) == "4 min 10 s");
  CHECK(human_seconds(7260) == "2 h 1 min");
  CHECK(human_seconds(-2) == "-2.0 s");
  CHECK(human_seconds(std::numeric_limits<double>::infinity()) == "forever");
  CHECK(human_seconds(std::nan("")) == "unknown");
}

TEST_CASE("times of kernels have three digits") {
  CHECK(human_time_ms(0.0123) == "12.3 us");
  CHECK(human_time_ms(1.25) == "1.25 ms");
  CHECK(human_time_ms(125.4) == "125 ms");
  CHECK(human_time_ms(2500) == "2.50 s");
  CHECK(human_time_ms(0.0009996) == "1.00 us");
  CHECK(human_time_ms(0.9999) == "1.00 ms");
  CHECK(human_time_ms(9.999) == "10.0 ms");
  CHECK(human_time_ms(1e-6) == "1.00 ns");
  CHECK(human_time_ms(0) == "0 ms");
  CHECK(human_time_ms(std::nan("")) == "unknown");
}

TEST_CASE("marks of styles become a terminal's codes, or nothing") {
  const std::string text = "a " + styled(Style::best, "b") + styled(Style::error, "c") + styled(Style::warning, "d") +
                           styled(Style::dim, "e") + " f";
  CHECK(is_utf8(text));
  CHECK(printable(text) == text);
  CHECK(painted(text, false) == "a bcde f");
  CHECK(painted(text, true) == "a \x1b[1;32mb\x1b[0m\x1b[1;31mc\x1b[0m\x1b[33md\x1b[0m\x1b[2me\x1b[0m f");
  // Other characters with the same first bytes stay; an open style is closed.
  CHECK(painted("\xEF\xB7\xBA \xEF\xB7", true) == "\xEF\xB7\xBA \xEF\xB7");
  CHECK(painted("\xEF\xB7\x91"
                "red",
                true) == "\x1b[1;31mred\x1b[0m");
  CHECK(painted("\xEF\xB7\xA0"
                "none\xEF\xB7\xAF",
                true) == "none");
}
