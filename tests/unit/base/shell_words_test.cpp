// Words for a shell, and words as it cuts them.
#include "base/shell_words.hpp"

#include <doctest/doctest.h>

using namespace xtune::base;

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

TEST_CASE("What a line writes is what follows an arrow") {
  CHECK(shell_outputs("./p <in >out 2>> 'err log' && cat out") == Words{"out", "err log"});
  CHECK(shell_outputs("./p &> log; ./q >| x | ./r '>y' \\> z") == Words{"log", "x"});
  CHECK(shell_outputs("./p a b").empty());
}
