// Words for a shell, and words as it cuts them.
#include "base/shell_words.hpp"

#include <doctest/doctest.h>

using namespace xtune;
using Words = std::vector<std::string>;

TEST_CASE("What is quoted for a shell is cut into the same words again") {
  const Words words{"g++", "-I", "a folder", "it's", "\"x\"", "a\\b", "$HOME;|<>"};
  CHECK(shell_words(command_line(words)) == words);
}

TEST_CASE("A line is cut at blanks and operators, and nothing is expanded") {
  CHECK(shell_words("cd sub && g++ -I\"an $X\" 'b c'd e\\ f>log;") ==
        Words{"cd", "sub", "g++", "-Ian $X", "b cd", "e f", "log"});
  CHECK(shell_words("").empty());
  CHECK(shell_words(" \t\n").empty());
}
