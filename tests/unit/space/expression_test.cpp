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

TEST_CASE("expressions have Python's values") {
  const std::pair<const char*, const char*> table[] = {
#include "expressions.def"
  };
  for (const auto& entry : table) {
    CAPTURE(entry.first);
    // A Value has no integer above 2^63 - 1, so such a one leaves as text.
    const std::string expected = entry.second;
    CHECK(result(entry.first) == (expected.starts_with("large ") ? "str " + expected.substr(6) : expected));
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
  CHECK(failure("2 ** 64 + 1") == "8: the result of + does not fit a 64-bit integer");
  for (const char* text : {"-9223372036854775808 - 1", "-(2 ** 64 - 1)", "-9223372036854775808 * 3", "2 ** 65",
                           "(2 ** 64) ** 2", "1 << 65", "1 << 1000", "-1 << 64", "~(2 ** 64)"}) {
    CAPTURE(text);
    CHECK(failure(text).find("does not fit a 64-bit integer") != std::string::npos);
  }
  CHECK(failure("1 << -1") == "2: negative shift count");
  CHECK(failure("1.5 & 1") == "4: cannot use & on a float and an integer");
  CHECK(failure("KIND << 1") == "5: cannot use << on a string and an integer");
  CHECK(failure("~HALF") == "0: cannot use ~ on a float");
  CHECK(failure("10.0 ** 400").find("does not fit") != std::string::npos);
  CHECK(failure("int(1e300)").find("does not fit") != std::string::npos);
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
  CHECK(failure("18446744073709551616").find("does not fit") != std::string::npos);
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
  CHECK(failure("M in (4)") == "5: a list of one value is written '[..]' or '(..,)'");
  CHECK(failure("(M, 1)") == "6: expected 'in' after a tuple in (..) but the expression ends");
  CHECK(failure("(M,)").find("expected a value") != std::string::npos);
  CHECK(failure("2 * (M, 1) in [(1, 2)]") == "4: a tuple in (..) stands before 'in', or in the list behind it");
  CHECK(failure("1 == (M, 1) in [(1, 2)]") == "5: a tuple in (..) cannot be compared: use 'in'");
  CHECK(failure("(M, 1) in [(1, 2), (1, 2, 3)]") == "19: expected a tuple of 2 values");
  CHECK(failure("(M, 1) in [1]") == "11: expected '(', got '1'");
  CHECK(failure("M in [(1, 2)]").find("expected 'in' after a tuple") != std::string::npos);
  CHECK(failure("M || 1") == "2: '||' is written 'or' here");
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
