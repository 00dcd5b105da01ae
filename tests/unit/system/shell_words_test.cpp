// Words for a shell, and words as it cuts them.
#include "system/shell_words.hpp"

#include <doctest/doctest.h>

#include "fakes/environment_variable.hpp"
#include "system/files.hpp"

using namespace xtune::system;

using namespace xtune;
using Words = std::vector<std::string>;

TEST_CASE("Words quoted for a shell are split into the same words again") {
  const Words words{"g++", "-I", "a folder", "it's", "\"x\"", "a\\b", "$HOME;|<>"};
  CHECK(shell_words(command_line(words)) == words);
}

TEST_CASE("A line is cut at blanks and operators, and nothing is expanded") {
  CHECK(shell_words("cd sub && g++ -I\"an $X\" 'b c'd e\\ f>log;") ==
        Words{"cd", "sub", "g++", "-Ian $X", "b cd", "e f", "log"});
  CHECK(shell_words("").empty());
  CHECK(shell_words(" \t\n").empty());
}

TEST_CASE("The files that a line writes follow an arrow") {
  CHECK(shell_outputs("./p <in >out 2>> 'err log' && cat out") == Words{"out", "err log"});
  CHECK(shell_outputs("./p &> log; ./q >| x | ./r '>y' \\> z") == Words{"log", "x"});
  CHECK(shell_outputs("./p a b").empty());
}

TEST_CASE("Variables and patterns are expanded as far as can be told without running anything") {
  const TemporaryDirectory folder;
  for (const char* name : {"in.dat", "in.dax", "old.o"}) write_file_atomically(folder.path() / name, "1");
  const Variable home("HOME", "/home/u"), set("XTUNE_TEST_WORD", "in"), unset("XTUNE_TEST_NONE", "");
  const auto words = [&](std::string_view line) {
    Words texts;
    for (const ExpandedWord& word : expanded_shell_words(line, folder.path())) texts.push_back(word.text);
    return texts;
  };
  const std::string place = folder.path().string();
  CHECK(words("cat $HOME/a ~/b ${HOME}/c '$HOME/d' a~") ==
        Words{"cat", "/home/u/a", "/home/u/b", "/home/u/c", "$HOME/d", "a~"});
  CHECK(words("cat \"$PWD/in.dat\"") == Words{"cat", place + "/in.dat"});
  CHECK(words("cat $XTUNE_TEST_WORD.dat ${XTUNE_TEST_NONE:-x.y} $XTUNE_TEST_NONE $1") ==
        Words{"cat", "in.dat", "x.y", "$XTUNE_TEST_NONE", "$1"});
  CHECK(words("cat in.da? '*.o' [o]ld.*") == Words{"cat", "in.dat", "in.dax", "*.o", "old.o"});
  CHECK(words("./p `cat in.dat` \"$(sort 'in.dax')/x\" y") ==
        Words{"./p", "cat", "in.dat", "sort", "in.dax", "/x", "y"});
  CHECK(words("rm -f *.o; touch in.dat && (cat old.o)") == Words{"rm", "touch", "cat", "old.o"});
}
