// Spaces: valid configurations, their order, and the numbering in both directions.
#include "core/space/space.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/random.hpp"
#include "core/space/solver.hpp"
#include "xtune/error.hpp"

using namespace xtune::base;
using namespace xtune::space;

using namespace xtune;

namespace {

Parameter integers(const std::string& name, std::int64_t first, std::int64_t last) {
  Parameter parameter{name, {}, true};
  for (std::int64_t value = first; value <= last; ++value) parameter.values.emplace_back(value);
  return parameter;
}

std::vector<Expression> parse(const std::vector<std::string>& texts) {
  std::vector<Expression> expressions;
  for (const std::string& text : texts) expressions.push_back(Expression::parse(text));
  return expressions;
}

// The slow, plain way: every combination, every constraint.
std::vector<std::vector<std::uint32_t>> by_filter(const std::vector<Parameter>& parameters,
                                                  const std::vector<Expression>& constraints,
                                                  const Bindings& constants) {
  std::vector<std::vector<std::uint32_t>> valid;
  std::vector<std::uint32_t> digits(parameters.size(), 0);
  for (;;) {
    const auto lookup = [&](std::string_view name) -> const Value* {
      for (std::size_t i = 0; i < parameters.size(); ++i)
        if (parameters[i].name == name) return &parameters[i].values[digits[i]];
      const auto at = constants.find(name);
      return at == constants.end() ? nullptr : &at->second;
    };
    if (std::all_of(constraints.begin(), constraints.end(),
                    [&](const Expression& e) { return truth(e.evaluate(lookup)); }))
      valid.push_back(digits);
    std::size_t i = parameters.size();
    while (i > 0 && ++digits[i - 1] == parameters[i - 1].values.size()) digits[--i] = 0;
    if (i == 0) return valid;
  }
}

void check_numbering(const Space& space, const std::vector<std::vector<std::uint32_t>>& expected) {
  REQUIRE(space.size() == expected.size());
  for (std::uint64_t index = 0; index < expected.size(); ++index) {
    REQUIRE(space.value_indices(index) == expected[index]);
    REQUIRE(space.index_of(expected[index]) == index);
    REQUIRE(space.index_of(space.at(index)) == index);
  }
}

}  // namespace

TEST_CASE("a constraint compares integers and floats exactly, also where a double cannot") {
  for (const char* text : {"9007199254740993 == 9007199254740992.0 or B == 1", "A == 9007199254740992.0 or B == 1",
                           "9007199254740991 + A * 0 + 2 == 9007199254740992.0 or B == 1"}) {
    const std::vector<Parameter> parameters{integers("A", 9007199254740993, 9007199254740993), integers("B", 1, 3)};
    CAPTURE(text);
    check_numbering(Space(parameters, parse({text}), {}), by_filter(parameters, parse({text}), {}));
    CHECK(Space(parameters, parse({text}), {}).size() == 1);
  }
}

TEST_CASE("a space without constraints is arithmetic, however large") {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 12; ++i) parameters.push_back(integers("P" + std::to_string(i), 0, 9));
  const Space space(parameters, {}, {});
  CHECK(space.size() == 1'000'000'000'000);
  CHECK(space.cartesian_size() == 1e12);
  const std::uint64_t index = 123'456'789'012;
  CHECK(space.value_indices(index) == std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2});
  CHECK(space.index_of(space.at(index)) == index);
  CHECK(space.neighbours(index).size() == 12 * 9);
}

TEST_CASE("groups that interleave keep the order of the whole space") {
  const std::vector<Parameter> parameters{integers("A", 0, 3),    integers("B", 0, 2),   integers("C", 1, 4),
                                          integers("FREE", 0, 1), integers("ONE", 7, 7), integers("D", 0, 4)};
  const auto constraints = parse({"A < C", "(B + D) % LIMIT != 0", "ONE == 7", "device.warp_size > 1"});
  const Bindings constants{{"LIMIT", std::int64_t{3}}, {"device.warp_size", std::int64_t{32}}};
  check_numbering(Space(parameters, constraints, constants), by_filter(parameters, constraints, constants));
}

TEST_CASE("random spaces agree with plain filtering") {
  Random random(7);
  const std::vector<std::string> forms{"X % Y == 0",  "X * Y <= 6", "X != Y",   "X + Y > 3 or Z == 1",
                                       "X in [1, 3]", "X < Y < Z",  "not X > 2"};
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    std::vector<Parameter> parameters;
    const std::size_t count = 2 + random.below(4);
    for (std::size_t i = 0; i < count; ++i)
      parameters.push_back(
          integers(std::string(1, static_cast<char>('A' + i)), 1, 1 + static_cast<std::int64_t>(random.below(5))));
    std::vector<std::string> texts;
    for (std::uint64_t i = random.below(4); i > 0; --i) {
      std::string text = forms[random.below(forms.size())];
      for (char& c : text)
        if (c == 'X' || c == 'Y' || c == 'Z') c = static_cast<char>('A' + random.below(count));
      texts.push_back(text);
    }
    const auto constraints = parse(texts);
    check_numbering(Space(parameters, constraints, {}), by_filter(parameters, constraints, {}));
  }
}

TEST_CASE("random expressions of every operator are solved as they evaluate") {
  Random random(11);
  const auto pick = [&](std::initializer_list<const char*> words) {
    return std::string(*(words.begin() + random.below(words.size())));
  };
  std::function<std::string(int)> number = [&](int depth) -> std::string {
    if (depth == 0) return pick({"A", "B", "C", "D", "2", "-1", "3", "0.5"});
    switch (random.below(7)) {
      case 6:
        return pick({"(A", "(~B", "(D"}) + pick({" & ", " | ", " ^ ", " << ", " >> "}) + pick({"B)", "3)", "(D - 1))"});
      case 5:
        return "(" + number(depth - 1) + " if " + number(depth - 1) + pick({" < ", " == "}) + number(depth - 1) +
               " else " + number(depth - 1) + ")";
      case 0:
        return "(" + number(depth - 1) + pick({" // ", " % ", " / "}) + number(depth - 1) + ")";
      case 1:
        return pick({"min(", "max(", "ceildiv("}) + number(depth - 1) + ", " + number(depth - 1) + ")";
      case 2:
        return pick({"-", "abs", "+"}) + "(" + number(depth - 1) + ")";
      default:
        return "(" + number(depth - 1) + pick({" + ", " - ", " * "}) + number(depth - 1) + ")";
    }
  };
  std::function<std::string(int)> condition = [&](int depth) -> std::string {
    if (depth == 0) return "(" + number(2) + pick({" < ", " <= ", " == ", " != ", " >= ", " > "}) + number(1) + ")";
    switch (random.below(6)) {
      case 5:
        return "((A, " + number(1) + ")" + pick({" in ", " not in "}) + "[(1, 2), (D - 2, " + number(0) + ")])";
      case 4:
        return "(" + condition(depth - 1) + " if " + condition(0) + " else " + condition(depth - 1) + ")";
      case 0:
        return "(" + number(1) + pick({" < ", " >= "}) + number(1) + pick({" <= ", " != "}) + number(1) + ")";
      case 1:
        return "not " + condition(depth - 1);
      case 2:
        return "(" + number(1) + " in [1, 2, " + number(1) + "] or " + condition(depth - 1) + ")";
      default:
        return "(" + condition(depth - 1) + pick({" and ", " or "}) + condition(depth - 1) + ")";
    }
  };
  const std::vector<Parameter> parameters{
      integers("A", -2, 2), integers("B", 0, 3), {"C", {0.5, 1.0, 2.0}, true}, integers("D", 1, 4)};
  int compared = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::vector<std::string> texts{condition(2), condition(1)};
    CAPTURE(texts[0]);
    CAPTURE(texts[1]);
    const auto constraints = parse(texts);
    std::vector<std::vector<std::uint32_t>> expected;
    try {
      for (const Expression& constraint : constraints) by_filter(parameters, {constraint}, {});
      expected = by_filter(parameters, constraints, {});
    } catch (const ExpressionError&) {
      continue;  // a division by zero somewhere: whether it is reached depends on earlier pruning
    }
    check_numbering(Space(parameters, constraints, {}), expected);
    ++compared;
  }
  CHECK(compared > 500);
}

TEST_CASE("a space of 10^13 bound configurations is counted and sampled without listing it") {
  std::vector<Parameter> parameters;
  std::string sum;
  for (int i = 0; i < 13; ++i) {
    parameters.push_back(integers("P" + std::to_string(i), 1, 12));
    sum += (i ? " + P" : "P") + std::to_string(i);
  }
  const Space space(parameters, parse({sum + " <= 80", "P0 * P12 <= 100"}), {});
  std::vector<std::uint64_t> ways(81, 0);  // of eleven parameters to reach a sum
  ways[0] = 1;
  for (int i = 0; i < 11; ++i) {
    std::vector<std::uint64_t> next(81, 0);
    for (int total = 0; total <= 80; ++total)
      for (int value = 1; value <= 12 && total + value <= 80; ++value)
        next[static_cast<std::size_t>(total + value)] += ways[static_cast<std::size_t>(total)];
    ways = next;
  }
  std::uint64_t expected = 0;
  for (int a = 1; a <= 12; ++a)
    for (int b = 1; b <= 12; ++b)
      for (int rest = 0; a * b <= 100 && rest <= 80 - a - b; ++rest) expected += ways[static_cast<std::size_t>(rest)];
  CHECK(expected > 10'000'000'000'000);
  REQUIRE(space.size() == expected);
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t index = random.below(space.size());
    const auto digits = space.value_indices(index);
    REQUIRE(std::accumulate(digits.begin(), digits.end(), std::size_t{0}) + digits.size() <= 80);
    REQUIRE((digits.front() + 1) * (digits.back() + 1) <= 100);
    REQUIRE(space.index_of(digits) == index);
  }
}

TEST_CASE("an order of the parameters in which little stays open is found where their own order explodes") {
  // All firsts before all seconds: in that order every combination of the firsts stays open.
  std::vector<Parameter> parameters;
  std::vector<std::string> constraints;
  std::string sum;
  for (int i = 0; i < 10; ++i) parameters.push_back(integers("A" + std::to_string(i), 0, 9));
  for (int i = 0; i < 10; ++i) parameters.push_back(integers("B" + std::to_string(i), 0, 9));
  for (int i = 0; i < 10; ++i) {
    const std::string number = std::to_string(i);
    constraints.push_back("(A" + number + " * 7 + B" + number + " * 3) % 10 == 5");
    if (i > 0) constraints.push_back("B" + std::to_string(i - 1) + " != B" + number);
  }
  const Space space(parameters, parse(constraints), {});
  // A is fixed by B; B takes ten values, then nine each.
  CHECK(space.size() == std::uint64_t{10} * 387'420'489);
  const std::uint64_t index = 1'234'567'890;
  const auto digits = space.value_indices(index);
  for (std::size_t i = 0; i < 10; ++i) CHECK((digits[i] * 7 + digits[10 + i] * 3) % 10 == 5);
  CHECK(space.index_of(digits) == index);
}

TEST_CASE("solving a large space can be given up") {
  std::vector<Parameter> parameters;
  std::string product;
  for (int i = 0; i < 9; ++i) {
    parameters.push_back(integers("P" + std::to_string(i), 1, 20));
    product += (i ? " * P" : "P") + std::to_string(i);
  }
  struct Enough {};
  int polls = 0;
  const auto poll = [&] {
    if (++polls == 3) throw Enough{};
  };
  CHECK_THROWS_AS(Space(parameters, parse({product + " <= 1000000000"}), {}, poll), Enough);
  CHECK(polls == 3);
}

TEST_CASE("a space that takes more steps than there is patience is refused before they are spent") {
  for (const auto& [constraint, most] : {std::pair<std::string, int>{"A % B == 0", 100'000},
                                         {"(A * 7919 + B * 104729) % 1000003 == 5", 1'000'000},
                                         {"A + B <= 500000", 1'000'000}}) {
    CAPTURE(constraint);
    int polls = 0;  // one in 100,000 steps
    const auto poll = [&] { ++polls; };
    CHECK_THROWS_WITH_AS(Space({integers("A", 1, most), integers("B", 1, most)}, parse({constraint}), {}, poll),
                         doctest::Contains("more combinations than can be tested"), Error);
    CHECK(polls <= 100);
  }
}

TEST_CASE("a space whose states take more than the memory for them is refused with what is open") {
  std::vector<Parameter> parameters;
  std::vector<std::uint32_t> members;
  std::vector<expr::Scalar> values;
  for (std::uint32_t i = 0; i < 64; ++i) {
    parameters.push_back(integers("P" + std::to_string(i), 1, 10));
    members.push_back(i);
    values.push_back(expr::Scalar::of(std::int64_t{1}));
  }
  Random random(1);
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i)
    texts.push_back("P" + std::to_string(random.below(64)) + " + P" + std::to_string(random.below(64)) + " < 20 - P" +
                    std::to_string(random.below(64)));
  const auto constraints = parse(texts);
  std::vector<BoundConstraint> bound;
  for (std::size_t i = 0; i < constraints.size(); ++i) bound.emplace_back(i, constraints[i], parameters, Bindings());
  std::vector<const BoundConstraint*> all;
  for (const BoundConstraint& each : bound) all.push_back(&each);
  constexpr std::uint64_t megabytes = 2'000'000;
  std::string message;
  try {
    solve(parameters, members, all, values, {}, megabytes);
  } catch (const Error& error) {
    message = error.what();
  }
  CAPTURE(message);
  CHECK(message.find("the space is too large: the parameters P") == 0);
  CHECK(message.find("than can be tested or told apart in 2 MB. Open at once: 'P") != std::string::npos);
  CHECK(message.size() < 800);
}

TEST_CASE("neighbours differ in one parameter, ascending, and are all of them") {
  const std::vector<Parameter> parameters{integers("A", 0, 4), integers("B", 0, 4), integers("C", 0, 2)};
  const Space space(parameters, parse({"A + B <= 5", "B != 2"}), {});
  for (std::uint64_t index = 0; index < space.size(); ++index) {
    const auto own = space.value_indices(index);
    std::vector<std::uint64_t> expected;
    for (std::uint64_t other = 0; other < space.size(); ++other) {
      const auto digits = space.value_indices(other);
      int different = 0;
      for (std::size_t i = 0; i < own.size(); ++i) different += own[i] != digits[i];
      if (different == 1) expected.push_back(other);
    }
    REQUIRE(space.neighbours(index) == expected);
  }
}

TEST_CASE("values of every type, and configurations that are not in the space") {
  const std::vector<Parameter> parameters{{"LAYOUT", {std::string("row"), std::string("column")}, true},
                                          {"FAST", {false, true}, true},
                                          {"SCALE", {0.5, 1.0}, true},
                                          {"N", {std::int64_t{1}, std::int64_t{2}}, true}};
  const Space space(parameters, parse({"LAYOUT == 'row' or FAST", "SCALE * N <= 1"}), {});
  CHECK(space.size() == 3 * 3);
  CHECK(space.at(0) == Config{std::string("row"), false, 0.5, std::int64_t{1}});
  CHECK(space.index_of(Config{std::string("row"), false, 0.5, 1.0}) == 0);
  CHECK(space.index_of(Config{std::string("row"), false, std::int64_t{1}, std::int64_t{1}}) == 2);
  CHECK_FALSE(space.index_of(Config{std::string("row"), std::int64_t{0}, 0.5, std::int64_t{1}}));
  CHECK_FALSE(space.index_of(Config{std::string("column"), false, 0.5, std::int64_t{1}}));
  CHECK_FALSE(space.index_of(Config{std::string("diagonal"), false, 0.5, std::int64_t{1}}));
  CHECK_FALSE(space.index_of(Config{std::string("row")}));
  CHECK_FALSE(space.index_of(std::vector<std::uint32_t>{0, 0, 9, 0}));
  CHECK_THROWS_AS(space.at(space.size()), std::out_of_range);
  CHECK(space.named(space.at(0)) ==
        Bindings{{"LAYOUT", std::string("row")}, {"FAST", false}, {"SCALE", 0.5}, {"N", std::int64_t{1}}});
  CHECK(space.ordered(space.named(space.at(5))) == space.at(5));
  CHECK_THROWS_AS(space.named(Config{std::string("row")}), std::out_of_range);
}

TEST_CASE("a space that nothing meets is empty, and each constraint's share is known") {
  const std::vector<Parameter> parameters{integers("A", 1, 10), integers("B", 1, 10)};
  const Space space(parameters, parse({"A > 8", "A * B < 9", "B // (A - 1) >= 0", "1 > 2"}), {});
  CHECK(space.size() == 0);
  CHECK_FALSE(space.index_of(std::vector<std::uint32_t>{0, 0}));
  const auto effects = space.constraint_effects();
  REQUIRE(effects.size() == 4);
  CHECK(effects[0].text == "A > 8");
  CHECK(effects[0].removed == 80);
  CHECK(effects[0].tested == 100);
  CHECK(effects[1].removed == 100 - 20);
  CHECK(effects[2].removed == 10);  // where it divides by zero
  CHECK(effects[3].removed == 100);
}

TEST_CASE("effects of a constraint over many combinations are sampled") {
  const std::vector<Parameter> parameters{integers("A", 1, 2000), integers("B", 1, 2000)};
  const auto effects = Space(parameters, parse({"A > 1000 or B > 5000", "A < 1"}), {}).constraint_effects();
  CHECK(effects[0].tested == 1 << 20);
  CHECK(static_cast<double>(effects[0].removed) / static_cast<double>(effects[0].tested) ==
        doctest::Approx(0.5).epsilon(0.01));
  CHECK(effects[1].removed == effects[1].tested);
}

TEST_CASE("a constraint that fails is reported with its number and the values") {
  const std::vector<Parameter> parameters{integers("A", 0, 3), integers("B", 1, 2)};
  try {
    Space(parameters, parse({"B > 0", "B % A == 0"}), {});
    FAIL("no error");
  } catch (const ConstraintError& error) {
    CHECK(error.constraint == 1);
    CHECK(error.column == 2);
    CHECK(std::string(error.what()) == "division by zero (B = 1, A = 0)");
  }
  CHECK(Space(parameters, parse({"A > 0", "B % A == 0"}), {}).size() == 3);  // an earlier constraint guards a later one
  CHECK_THROWS_AS(Space(parameters, parse({"A < WIDTH"}), {}), ConstraintError);
}

TEST_CASE("ten million combinations are solved") {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 7; ++i) parameters.push_back(integers("P" + std::to_string(i), 1, 10));
  const Space space(parameters, parse({"P0 * P1 * P2 * P3 * P4 * P5 * P6 <= 100", "P0 + P6 > 3"}), {});
  CHECK(space.cartesian_size() == 1e7);
  std::uint64_t expected = 0;
  for (int product = 1; product <= 100; ++product) {  // ordered factorisations into seven factors of up to ten
    const auto count = [&](auto&& self, int rest, int left, int first) -> std::uint64_t {
      if (left == 0) return rest == 1 ? 1 : 0;
      std::uint64_t sum = 0;
      for (int factor = 1; factor <= 10; ++factor) {
        if (rest % factor != 0) continue;
        if (left == 7) first = factor;
        if (left == 1 && first + factor <= 3) continue;
        sum += self(self, rest / factor, left - 1, first);
      }
      return sum;
    };
    expected += count(count, product, 7, 0);
  }
  CHECK(space.size() == expected);
}

TEST_CASE("spaces beyond all bounds are refused with advice") {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 20; ++i) parameters.push_back(integers("P" + std::to_string(i), 0, 9));
  try {
    Space(parameters, {}, {});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unsupported);
    CHECK(std::string(error.what()).find("fewer values") != std::string::npos);
  }
  CHECK_THROWS_AS(Space({Parameter{"EMPTY", {}, true}}, {}, {}), Error);
}

TEST_CASE("a group wider than 64 bits") {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 30; ++i) {
    parameters.push_back(integers("P" + std::to_string(i), 0, 9));
  }
  std::vector<std::string> constraints;
  for (int i = 1; i < 30; ++i) constraints.push_back("P0 == P" + std::to_string(i));
  const Space space(parameters, parse(constraints), {});
  REQUIRE(space.size() == 10);
  CHECK(space.value_indices(7) == std::vector<std::uint32_t>(30, 7));
  CHECK(space.index_of(std::vector<std::uint32_t>(30, 9)) == 9);
  CHECK(space.neighbours(3).empty());
}

TEST_CASE("a listed space has exactly its rows, in lexicographic order") {
  const std::vector<Parameter> parameters{integers("A", 0, 3), integers("FIXED", 7, 7), integers("B", 0, 40),
                                          integers("C", 0, 2)};
  std::vector<std::vector<std::uint32_t>> rows;
  for (std::uint32_t a = 0; a < 4; ++a)
    for (std::uint32_t b = 0; b < 41; ++b)
      for (std::uint32_t c = 0; c < 3; ++c)
        if ((a * 7 + b * 5 + c) % 3 == 0) rows.push_back({a, 0, b, c});
  auto shuffled = rows;
  Random random(5);
  for (std::size_t i = shuffled.size(); i > 1; --i) std::swap(shuffled[i - 1], shuffled[random.below(i)]);
  const Space space = Space::listed(parameters, shuffled);
  check_numbering(space, rows);
  CHECK(space.cartesian_size() == 4 * 41 * 3);
  CHECK(space.constraint_effects().empty());
  CHECK(!space.index_of(std::vector<std::uint32_t>{0, 0, 0, 1}));
  CHECK(!space.index_of(std::vector<std::uint32_t>{0, 1, 0, 0}));
  for (const std::uint64_t neighbour : space.neighbours(17)) {
    const auto a = space.value_indices(17), b = space.value_indices(neighbour);
    CHECK(std::inner_product(a.begin(), a.end(), b.begin(), 0, std::plus<>(), std::not_equal_to<>()) == 1);
  }
}

TEST_CASE("listed spaces of no, one, and only fixed parameters") {
  const std::vector<Parameter> parameters{integers("A", 0, 3), integers("B", 0, 3)};
  CHECK(Space::listed(parameters, {}).size() == 0);
  CHECK(!Space::listed(parameters, {}).index_of(std::vector<std::uint32_t>{0, 0}));
  check_numbering(Space::listed(parameters, {{3, 1}}), {{3, 1}});
  check_numbering(Space::listed({integers("A", 5, 5), integers("B", 6, 6)}, {{0, 0}}), {{0, 0}});
}

TEST_CASE("a listed space refuses rows that cannot be") {
  const std::vector<Parameter> parameters{integers("A", 0, 3), integers("B", 0, 3)};
  CHECK_THROWS_WITH_AS(Space::listed(parameters, {{1}}),
                       "a listed configuration has 1 values: give one for each of the 2 parameters", Error);
  CHECK_THROWS_WITH_AS(Space::listed(parameters, {{1, 4}}), "a listed configuration names value 4 of B, which has 4",
                       Error);
  CHECK_THROWS_WITH_AS(Space::listed(parameters, {{1, 2}, {0, 0}, {1, 2}}),
                       "a configuration is listed twice: list each once", Error);
  CHECK_THROWS_AS(Space::listed({Parameter{"A", {}, true}}, {}), Error);
}
