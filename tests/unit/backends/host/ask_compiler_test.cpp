// A compiler is asked once, unless its answer may change.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "backends/compiler/identity.hpp"
#include "fakes/environment_variable.hpp"
#include "system/files.hpp"

using namespace xtune;
using compiler::ask_compiler;
using compiler::Question;

namespace {

/// Makes /bin/sh, an executable file, count its starts in a file.
struct Counted {
  system::TemporaryDirectory folder;
  std::string log = (folder.path() / "log").string();

  Question question(const std::string& more) const { return {{"-c", "echo start >> " + log + "; " + more}}; }
  long starts() const {
    const std::string text = system::read_if_there(log);
    return std::count(text.begin(), text.end(), '\n');
  }
};

}  // namespace

TEST_CASE("a compiler's answer is remembered for its state and the environment") {
  const Counted counted;
  const Question question = counted.question("echo yes; echo no >&2");
  for (int i = 0; i < 2; ++i) {
    const system::CommandResult answer = ask_compiler("/bin/sh", question);
    CHECK(answer.ok());
    CHECK(answer.stdout_text == "yes\n");
    CHECK(answer.stderr_text == "no\n");
  }
  CHECK(counted.starts() == 1);
  {
    const Variable other("CPATH", "/elsewhere");
    static_cast<void>(ask_compiler("/bin/sh", question));
    CHECK(counted.starts() == 2);
  }
  Question again = question;
  again.again = true;
  static_cast<void>(ask_compiler("/bin/sh", again));
  CHECK(counted.starts() == 3);
}

TEST_CASE("failures and scripts are asked each time") {
  const Counted counted;
  for (int i = 0; i < 2; ++i) CHECK_FALSE(ask_compiler("/bin/sh", counted.question("exit 1")).ok());
  CHECK(counted.starts() == 2);
  const std::string script = (counted.folder.path() / "script").string();
  std::ofstream(script) << "#!/bin/sh\necho start >> " << counted.log << "\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  for (int i = 0; i < 2; ++i) CHECK(ask_compiler(script, {}).ok());
  CHECK(counted.starts() == 4);
}

TEST_CASE("the place of temporary files has a fixed name in an answer") {
  const Counted counted;
  CHECK(ask_compiler("/bin/sh", counted.question("echo $TMPDIR/cc.o")).stdout_text ==
        std::string(compiler::temporary_place) + "/cc.o\n");
}

TEST_CASE("workers of a process share answers as files") {
  const Counted counted;
  const Variable shared("XTUNE_SHARED_DIR", counted.folder.path().string());
  static_cast<void>(ask_compiler("/bin/sh", counted.question("echo first")));
  std::vector<std::filesystem::path> answers;
  for (const auto& entry : std::filesystem::directory_iterator(counted.folder.path()))
    if (entry.path().filename().string().starts_with("answer-")) answers.push_back(entry.path());
  REQUIRE(answers.size() == 1);
  CHECK(system::read_file(answers[0]) == "6\nfirst\n");
}
