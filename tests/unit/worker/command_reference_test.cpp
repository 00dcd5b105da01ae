// A reference computed by a program: its inputs, its outputs, and its possible errors.
#include "worker/command_reference.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "core/build/shortage.hpp"
#include "core/validate/npy.hpp"
#include "support/text.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

using namespace xtune::system;
using namespace xtune::validate;
using namespace xtune::worker;

using namespace xtune;
using namespace xtune::test;

namespace {

ArgumentLayout layout(const std::string& name, DType dtype, std::vector<std::uint64_t> shape) {
  ArgumentLayout made;
  made.name = name;
  made.dtype = dtype;
  made.shape = std::move(shape);
  return made;
}

struct Exchange {
  TemporaryDirectory folder;
  ArgumentLayout x = layout("x", DType::f32, {2, 3}), y = layout("y", DType::f32, {2, 3}),
                 z = layout("z", DType::i8, {1});
  std::vector<std::byte> data = std::vector<std::byte>(24, std::byte{0x3E});

  std::vector<std::vector<std::byte>> run(const std::string& script, double timeout_s = 60) const {
    return run_command_reference({call(script, timeout_s), {&y, &z}});
  }
  CommandCall call(const std::string& script, double timeout_s = 60) const {
    return {{"/bin/sh", "-c", script, "reference", "a b"},
            folder.path(),
            folder.path() / "exchange",
            timeout_s,
            {{&x, data}}};
  }
  /// The outcome of a check, its words, and what the machine may have lacked.
  struct Verdict {
    Outcome outcome = Outcome::ok;
    std::string message;
    build::Lack lack = build::Lack::none;
  };
  Verdict check(const CommandCall& how) const {
    try {
      run_command_check(how, {{&y, data}});
    } catch (const build::CandidateFailure& failure) {
      return {failure.outcome(), failure.what(), build::lack_of(failure)};
    }
    return {};
  }
  Verdict check(const std::string& script, double timeout_s = 60) const { return check(call(script, timeout_s)); }
  std::string complaint(const std::string& script, double timeout_s = 60,
                        ErrorKind kind = ErrorKind::invalid_spec) const {
    try {
      run(script, timeout_s);
    } catch (const Error& error) {
      CHECK(error.kind() == kind);
      return error.what();
    }
    return "accepted";
  }
};

}  // namespace

TEST_CASE("A check gets inputs and outputs as .npy files; 0 says that they are right") {
  const Exchange exchange;
  CHECK(exchange.check("cmp \"$XTUNE_INPUTS/x.npy\" \"$XTUNE_OUTPUTS/y.npy\"").outcome == Outcome::ok);
  const Exchange::Verdict wrong = exchange.check("echo first; echo element 3 differs; exit 4");
  CHECK(wrong.outcome == Outcome::wrong_result);
  CHECK(wrong.message == "the validator ended with exit code 4: element 3 differs");
  CHECK(wrong.lack == build::Lack::none);
  CHECK(exchange.check("echo out; echo said >&2; exit 1").message == "the validator ended with exit code 1: said");
  CHECK(exchange.check("exit 1").message == "the validator ended with exit code 1: it printed nothing");
  std::error_code ignored;
  CHECK_FALSE(std::filesystem::exists(exchange.folder.path() / "exchange", ignored));
}

TEST_CASE("A check that crashes, takes too long, is killed from outside or is missing") {
  const Exchange exchange;
  CHECK(has(exchange.check("kill -SEGV $$").message, "signal 11"));
  const Exchange::Verdict slow = exchange.check("sleep 60", 0.1);
  CHECK(slow.outcome == Outcome::timed_out);
  CHECK(has(slow.message, "larger [measure] timeout_s"));
  CHECK(exchange.check("kill -KILL $$").lack == build::Lack::killed);
  CHECK(exchange.check("no-such-program-here").lack == build::Lack::unclear);
  CommandCall missing = exchange.call("");
  missing.argv = {"./no-such-check"};
  const Exchange::Verdict none = exchange.check(missing);
  CHECK(none.outcome == Outcome::launch_failed);
  CHECK(none.lack != build::Lack::none);
  CHECK(has(none.message, "no-such-check"));
}

TEST_CASE("A command gets inputs as .npy files and leaves outputs; what it does not write is not compared") {
  const Exchange exchange;
  const auto outputs = exchange.run("cp \"$XTUNE_INPUTS/x.npy\" \"$XTUNE_OUTPUTS/y.npy\"; echo \"$1\" > words");
  REQUIRE(outputs.size() == 2);
  CHECK(outputs[0] == exchange.data);
  CHECK(outputs[1].empty());
  CHECK(read_file(exchange.folder.path() / "words") == "a b\n");
  CHECK_FALSE(std::filesystem::exists(exchange.folder.path() / "exchange"));
}

TEST_CASE("A command that fails is reported with its words") {
  const Exchange exchange;
  const std::string failed = exchange.complaint("echo the matrix is singular >&2; exit 3");
  CHECK(has(failed, "ended with exit code 3"));
  CHECK(has(failed, "the matrix is singular"));
  CHECK(has(exchange.complaint("kill -9 $$", 60, ErrorKind::io), "' was killed by signal 9 (killed)"));
  CHECK(has(exchange.complaint("kill -TERM $$", 60, ErrorKind::io), "signal 15"));
  CHECK(has(exchange.complaint("sh -c 'kill -HUP $$'; exit $?", 60, ErrorKind::io), "exit code 129"));
  CHECK(has(exchange.complaint("true"), "wrote no y.npy"));
  CHECK(has(exchange.complaint("sleep 60", 0.2), "took longer than"));
  CHECK(has(exchange.complaint("echo no > \"$XTUNE_OUTPUTS/y.npy\""), "not a .npy file"));
  CHECK(has(exchange.complaint("cp \"$XTUNE_INPUTS/x.npy\" \"$XTUNE_OUTPUTS/z.npy\""),
            "z.npy holds f32[2, 3], but argument 'z' is i8[1]"));
  CHECK_FALSE(std::filesystem::exists(exchange.folder.path() / "exchange"));
  try {
    run_command_reference(
        {{{"./missing"}, exchange.folder.path(), exchange.folder.path() / "e", 1, {}}, {&exchange.y}});
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(has(error.what(), "the reference command './missing' could not be started"));
  }
}
