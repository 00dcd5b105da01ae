// Tests of what warnings have in common.
#include "base/causes.hpp"

#include <doctest/doctest.h>

using namespace xtune::base;

using namespace xtune;

TEST_CASE("Warnings have one cause regardless of place and numbers") {
  CHECK(cause_of("records/a/b.jsonl:12: skipped: no JSON") == cause_of("records/a/c.jsonl:7: skipped: no JSON"));
  CHECK(cause_of("records/a/b.jsonl:12: skipped: no JSON") != cause_of("records/a/b.jsonl:12: skipped: no key"));
  CHECK(cause_of("a.jsonl: torn") == cause_of("b.jsonl: torn"));
  CHECK(cause_of("artifact " + std::string(64, 'a') + " is damaged") ==
        cause_of("artifact " + std::string(64, 'b') + " is damaged"));
  CHECK(cause_of("12 of 30 runs are hot") == cause_of("1 of 2 runs are hot"));
  CHECK(cause_of("gemm: too hot") != cause_of("saxpy: too hot"));
  CHECK(cause_of("cannot read /a/b: Not a directory") == cause_of("cannot read /c: Not a directory"));
  CHECK(cause_of("cannot read /a/b: Not a directory") != cause_of("cannot make the directory of /a: Not a directory"));
  CHECK(cause_of("") == "");
  CHECK(cause_of("two  spaces ") != cause_of("two spaces"));
}

TEST_CASE("Each cause is reported by its first warning, with a count") {
  Causes causes;
  CHECK(causes.add("/s/a:1: torn"));
  CHECK_FALSE(causes.add("/s/b:2: torn"));
  CHECK(causes.add("/s/b:2: cut"));
  REQUIRE(causes.all().size() == 2);
  CHECK(causes.all().front().text() == "/s/a:1: torn (2 times)");
  CHECK(causes.all().back().text() == "/s/b:2: cut");
}
