// Texts of values.
#include "core/space/value.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace xtune::space;

using namespace xtune;

TEST_CASE("a value's text reads back as the same value of the same type") {
  CHECK(to_text(Value{true}) == "true");
  CHECK(to_text(Value{std::int64_t{-64}}) == "-64");
  CHECK(to_text(Value{0.1}) == "0.1");
  CHECK(to_text(Value{1.0}) == "1.0");
  CHECK(to_text(Value{-0.0}) == "-0.0");
  CHECK(to_text(Value{1e22}) == "1e+22");
  CHECK(to_text(Value{1024.0}) == "1024.0");
  CHECK(to_text(Value{100000.0}) == "1e+05");
  CHECK(to_text(Value{std::numeric_limits<double>::infinity()}) == "inf");
  CHECK(to_text(Value{-std::numeric_limits<double>::infinity()}) == "-inf");
  CHECK(to_text(Value{std::numeric_limits<double>::quiet_NaN()}) == "nan");
  CHECK(to_text(Value{std::string("row")}) == "row");
}

TEST_CASE("a define's text is what a C compiler reads") {
  CHECK(to_define(Value{true}) == "1");
  CHECK(to_define(Value{false}) == "0");
  CHECK(to_define(Value{2.0}) == "2.0");
  CHECK(to_define(Value{std::string("float4")}) == "float4");
}

TEST_CASE("type names") {
  CHECK(std::string(type_name(Value{true})) == "boolean");
  CHECK(std::string(type_name(Value{std::int64_t{1}})) == "integer");
  CHECK(std::string(type_name(Value{1.0})) == "float");
  CHECK(std::string(type_name(Value{std::string()})) == "string");
}
