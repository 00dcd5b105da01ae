// The expression language: Python's results, and errors at their place.
#include "core/space/expression.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace xtune::space;

using namespace xtune;

namespace {

const Bindings names{{"M", std::int64_t{4096}},
                     {"ZERO", std::int64_t{0}},
                     {"HALF", 0.5},
                     {"ON", true},
                     {"KIND", std::string("row")},
                     {"device.warp_size", std::int64_t{32}}};

Value evaluate(const std::string& text) {
  return Expression::parse(text).evaluate([](std::string_view name) -> const Value* {
    const auto at = names.find(name);
    return at == names.end() ? nullptr : &at->second;
  });
}

// The result with its type: "int 4", "float 0.5", "bool true", "str row".
std::string result(const std::string& text) {
  const Value value = evaluate(text);
  constexpr const char* types[] = {"bool ", "int ", "float ", "str "};
  return types[value.index()] + to_text(value);
}

std::string failure(const std::string& text) {
  try {
    return "no error, but " + result(text);
  } catch (const ExpressionError& error) {
    return std::to_string(error.column) + ": " + error.what();
  }
}

}  // namespace

TEST_CASE("arithmetic is Python's") {
  // Left: the expression; right: what python3 prints for it.
  const std::pair<const char*, const char*> table[] = {
      {"-2**2", "int -4"},
      {"2**-1", "float 0.5"},
      {"1 if ON else 2", "int 1"},
      {"1 if not ON else 2 if ZERO else 3", "int 3"},
      {"M // ZERO if ZERO else 7", "int 7"},
      {"7 if ON else M // ZERO", "int 7"},
      {"(1 if ZERO or ON and M > 1 else 2) + 1", "int 2"},
      {"max(1 if ZERO else 5, 3 or 4 if ON else 9,)", "int 5"},
      {"(ZERO or 5 if ZERO < 1 < M else 6) * 2", "int 10"},
      {"1 if (2 if ZERO else 0) else (3 if ON and 0 < M else 4)", "int 3"},
      {"M > 1 if ON else M < 1", "bool true"},
      {"7//-2", "int -4"},
      {"-7 % 3", "int 2"},
      {"7 % -3", "int -2"},
      {"-7 // 2", "int -4"},
      {"7 / 2", "float 3.5"},
      {"4 / 2", "float 2.0"},
      {"2**3**2", "int 512"},
      {"(2**3)**2", "int 64"},
      {"2 ** -3 ** 2", "float 0.001953125"},
      {"1 - 2 - 3", "int -4"},
      {"100 // 7 // 2", "int 7"},
      {"2 + 3 * 4", "int 14"},
      {"-7.5 // 2", "float -4.0"},
      {"-7.5 % 2", "float 0.5"},
      {"7.5 % -2", "float -0.5"},
      {"5 % 0.3", "float 0.20000000000000018"},
      {"-0.0 % 5", "float 0.0"},
      {"6.0 // 3", "float 2.0"},
      {"1.0 // 0.1", "float 9.0"},
      {"0.5 ** 2", "float 0.25"},
      {"True + True", "int 2"},
      {"-True", "int -1"},
      {"+True", "int 1"},
      {"True * 0.5", "float 0.5"},
      {"--5", "int 5"},
      {"- -5 ** 2", "int 25"},
      {"10 ** 18", "int 1000000000000000000"},
      {"(-1) ** 1000000000001", "int -1"},
      {"0 ** 0", "int 1"},
      {"(-2) ** 63", "int -9223372036854775808"},
      {"9007199254740993 / 9007199254740993", "float 1.0"},
      {"8 / 727000957409990", "float 1.100411205578155e-14"},
      {"-12102250765 / -78504014", "float 154.16091672713705"},
      {"0 / -5", "float -0.0"},
      {"-9223372036854775808 / -1", "float 9223372036854775808.0"},
      {"9223372036854775807 // -1", "int -9223372036854775807"},
      {"-9223372036854775808 % -1", "int 0"},
      {"-9223372036854775808 // 3", "int -3074457345618258603"},
      {"(-8) ** (2 / 2)", "float -8.0"}};
  for (const auto& entry : table) {
    CAPTURE(entry.first);
    CHECK(result(entry.first) == entry.second);
  }
}

TEST_CASE("comparisons and logic are Python's") {
  const std::pair<const char*, const char*> table[] = {{"1 < 2 < 3", "bool true"},
                                                       {"1 < 3 < 2", "bool false"},
                                                       {"3 > 2 >= 2 != 1", "bool true"},
                                                       {"(3 > 2) > 1", "bool false"},
                                                       {"3 > 2 > 1", "bool true"},
                                                       {"\"a\" in [\"a\",\"b\"]", "bool true"},
                                                       {"'c' not in ['a', 'b']", "bool true"},
                                                       {"2 in []", "bool false"},
                                                       {"1 in [True]", "bool true"},
                                                       {"0 < 2 in [1, 2,]", "bool true"},
                                                       {"3 < 2 in [1, 2]", "bool false"},
                                                       {"1.0 in [1]", "bool true"},
                                                       {"not 1 == 2", "bool true"},
                                                       {"not not 0", "bool false"},
                                                       {"0 or 5", "int 5"},
                                                       {"0 and 5", "int 0"},
                                                       {"2 and 5", "int 5"},
                                                       {"'' or 'x'", "str x"},
                                                       {"1 or 0 and 0", "int 1"},
                                                       {"'a' == 1", "bool false"},
                                                       {"'a' != 1", "bool true"},
                                                       {"'a' < 'b'", "bool true"},
                                                       {"True == 1", "bool true"},
                                                       {"False < True", "bool true"},
                                                       {"9007199254740993 == 9007199254740992.0", "bool false"},
                                                       {"9007199254740993 > 9007199254740992.0", "bool true"},
                                                       {"9223372036854775807 < 9223372036854775808.0", "bool true"},
                                                       {"-1 < -0.5", "bool true"},
                                                       {"-1.5 < -1", "bool true"},
                                                       {"false or true", "bool true"},
                                                       {"not 'x' in ['x']", "bool false"}};
  for (const auto& entry : table) {
    CAPTURE(entry.first);
    CHECK(result(entry.first) == entry.second);
  }
}

TEST_CASE("functions and literals") {
  const std::pair<const char*, const char*> table[] = {{"min(3, 1, 2)", "int 1"},
                                                       {"max(1, 2.5)", "float 2.5"},
                                                       {"max(2, 2.0)", "int 2"},
                                                       {"min('b', 'a')", "str a"},
                                                       {"abs(-3)", "int 3"},
                                                       {"abs(-0.5)", "float 0.5"},
                                                       {"ceildiv(7, 2)", "int 4"},
                                                       {"ceildiv(-7, 2)", "int -3"},
                                                       {"ceildiv(9223372036854775807, 2)", "int 4611686018427387904"},
                                                       {"ceildiv(7.0, 2)", "float 4.0"},
                                                       {"ceildiv(-9223372036854775808, 1)", "int -9223372036854775808"},
                                                       {"pow2(0)", "int 1"},
                                                       {"pow2(5)", "int 8"},
                                                       {"pow2(64)", "int 64"},
                                                       {"log2(1)", "int 0"},
                                                       {"log2(4096)", "int 12"},
                                                       {"int(2.9)", "int 2"},
                                                       {"int(-2.9)", "int -2"},
                                                       {"int(True)", "int 1"},
                                                       {"float(2)", "float 2.0"},
                                                       {"float('-2.5')", "float -2.5"},
                                                       {"float('+1e3')", "float 1000.0"},
                                                       {"-float(\"inf\")", "float -inf"},
                                                       {"float('nan')", "float nan"},
                                                       {"0x1F", "int 31"},
                                                       {"0b101", "int 5"},
                                                       {"0o17", "int 15"},
                                                       {"1_000_000", "int 1000000"},
                                                       {"1e3", "float 1000.0"},
                                                       {".5", "float 0.5"},
                                                       {"5.", "float 5.0"},
                                                       {"1e-3", "float 0.001"},
                                                       {"9223372036854775807", "int 9223372036854775807"},
                                                       {"-9223372036854775808", "int -9223372036854775808"},
                                                       {"00", "int 0"},
                                                       {"'it\\'s'", "str it's"},
                                                       {"\"tab\\t\"", "str tab\t"},
                                                       {"  1\n + 2 ", "int 3"}};
  for (const auto& entry : table) {
    CAPTURE(entry.first);
    CHECK(result(entry.first) == entry.second);
  }
}

TEST_CASE("names, with dots too") {
  CHECK(result("M // device.warp_size") == "int 128");
  CHECK(result("HALF * 2") == "float 1.0");
  CHECK(result("KIND == 'row' and ON") == "bool true");
  const Expression expression = Expression::parse("M + device.arch + M");
  CHECK(expression.names().size() == 2);
  CHECK(expression.column_of("device.arch") == 4);
  CHECK(expression.column_of("M") == 0);
  CHECK(expression.text() == "M + device.arch + M");
}

TEST_CASE("subexpressions that are not evaluated cannot fail") {
  CHECK(result("ZERO != 0 and M // ZERO > 1") == "bool false");
  CHECK(result("ZERO == 0 or nowhere") == "bool true");
  CHECK(result("2 < 1 < M // ZERO") == "bool false");
}

TEST_CASE("failures of evaluation report their column") {
  CHECK(failure("M // ZERO") == "2: division by zero");
  CHECK(failure("1 + M % ZERO") == "6: division by zero");
  CHECK(failure("M / 0.0") == "2: division by zero");
  CHECK(failure("1.0 // 0") == "4: division by zero");
  CHECK(failure("0 ** -1").find("division by zero") != std::string::npos);
  CHECK(failure("ceildiv(M, ZERO)") == "0: division by zero");
  CHECK(failure("M + width") == "4: unknown name 'width'");
  CHECK(failure("9223372036854775807 + 1") == "20: the result of + does not fit a 64-bit integer");
  CHECK(failure("-9223372036854775808 // -1").find("does not fit") != std::string::npos);
  CHECK(failure("-(-9223372036854775808)").find("does not fit") != std::string::npos);
  CHECK(failure("abs(-9223372036854775808)").find("does not fit") != std::string::npos);
  CHECK(failure("-9223372036854775808 * -1").find("does not fit") != std::string::npos);
  CHECK(failure("2 ** 63").find("does not fit") != std::string::npos);
  CHECK(failure("10.0 ** 400").find("does not fit") != std::string::npos);
  CHECK(failure("int(1e300)").find("does not fit") != std::string::npos);
  CHECK(failure("pow2(4611686018427387905)").find("does not fit") != std::string::npos);
  CHECK(failure("(-8) ** 0.5").find("not real") != std::string::npos);
  CHECK(failure("log2(12)").find("power of two, got 12") != std::string::npos);
  CHECK(failure("log2(0)").find("power of two") != std::string::npos);
  CHECK(failure("pow2(1.5)").find("needs an integer") != std::string::npos);
  CHECK(failure("KIND + 1") == "5: cannot use + on a string and an integer");
  CHECK(failure("KIND < 1") == "5: cannot use < on a string and an integer");
  CHECK(failure("-KIND").find("string") != std::string::npos);
  CHECK(failure("max(1, KIND)").find("string") != std::string::npos);
  for (const char* text : {"", "1e999", "two", "1 ", "+-1", "0x10"}) {
    CAPTURE(text);
    CHECK(failure("float('" + std::string(text) + "')") ==
          "0: float of '" + std::string(text) + "', which is not a number, 'inf', '-inf' or 'nan'");
  }
}

TEST_CASE("failures of parsing report their column") {
  CHECK(failure("") == "0: the expression is empty");
  CHECK(failure("   ") == "0: the expression is empty");
  CHECK(failure("1 +") == "3: expected a value but the expression ends");
  CHECK(failure("(1 + 2") == "6: expected ')' but the expression ends");
  CHECK(failure("1 2") == "2: expected an operator or the end, got '2'");
  CHECK(failure("2M") == "0: bad number '2M'");
  CHECK(failure("M && 1") == "2: '&&' is written 'and' here");
  CHECK(failure("!M") == "0: '!' is written 'not' here");
  CHECK(failure("M = 1") == "2: '=' does not compare, write '=='");
  CHECK(failure("'abc") == "0: the string is not closed");
  CHECK(failure("'a\\q'") == "2: unknown escape '\\q' in a string");
  CHECK(failure("012") == "0: a decimal number has no leading zeros: '012'");
  CHECK(failure("9223372036854775808").find("does not fit") != std::string::npos);
  CHECK(failure("99999999999999999999999").find("does not fit") != std::string::npos);
  CHECK(failure("1__0").find("misplaced '_'") != std::string::npos);
  CHECK(failure("0x") == "0: bad number '0x'");
  CHECK(failure("1e") == "0: bad number '1e'");
  CHECK(failure("1e999").find("out of a float's range") != std::string::npos);
  CHECK(failure("cielidv(1, 2)") == "0: unknown function 'cielidv'");
  CHECK(failure("ceildv(1, 2)") == "0: unknown function 'ceildv' (did you mean 'ceildiv'?)");
  CHECK(failure("ceildiv(1)") == "0: ceildiv takes 2 arguments, got 1");
  std::string many = "min(0";
  for (int i = 0; i < 1000; ++i) many += ",0";
  CHECK(failure(many + ")") == "0: min takes at most 1000 arguments, got 1001");
  CHECK(failure("min(1)") == "0: min takes at least 2 arguments, got 1");
  CHECK(failure("M in 'abc'").find("a list in [..]") != std::string::npos);
  CHECK(failure("1 in [1] == True").find("parentheses") != std::string::npos);
  CHECK(failure("M not 1") == "6: expected 'in', got '1'");
  CHECK(failure("1 and") == "5: expected a value but the expression ends");
  CHECK(failure("1 < not 0").find("got 'not'") != std::string::npos);
  CHECK(failure("M\x01") == "1: unexpected byte 0x01");
  CHECK(failure("\xff") == "0: unexpected byte 0xff");
}

TEST_CASE("absurd expressions are errors, not crashes") {
  const auto repeat = [](const std::string& part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  CHECK(failure(repeat("(", 100000) + "1" + repeat(")", 100000)).find("64 KiB") != std::string::npos);
  CHECK(failure(repeat("(", 20000) + "1" + repeat(")", 20000)).find("nested deeper") != std::string::npos);
  CHECK(failure(repeat("-", 30000) + "1").find("nested deeper") != std::string::npos);
  CHECK(failure(repeat("not ", 10000) + "1").find("nested deeper") != std::string::npos);
  CHECK(failure("2" + repeat("**1", 10000)).find("nested deeper") != std::string::npos);
  CHECK(failure(repeat("max(1,", 5000) + "1").find("nested deeper") != std::string::npos);
  CHECK(result(repeat("(", 100) + "1" + repeat(")", 100)) == "int 1");
  CHECK(result("0" + repeat("+1", 20000)) == "int 20000");
  CHECK(result("1" + repeat(" and 1", 5000)) == "int 1");
  CHECK(result("0" + repeat("<1<2>0", 2000) + "<1") == "bool true");
  CHECK(result("7 in [" + repeat("1,", 5000) + "7]") == "bool true");
}

TEST_CASE("truth is Python's") {
  CHECK(truth(Value{std::int64_t{-1}}));
  CHECK_FALSE(truth(Value{std::int64_t{0}}));
  CHECK_FALSE(truth(Value{0.0}));
  CHECK(truth(Value{std::numeric_limits<double>::quiet_NaN()}));
  CHECK_FALSE(truth(Value{std::string()}));
  CHECK(truth(Value{std::string("0")}));
}
