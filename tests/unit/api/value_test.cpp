// The Value that applications write: any arithmetic type and any text.
#include "xtune/value.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

namespace xtune {
namespace {

static_assert(std::is_convertible_v<std::size_t, Value> && std::is_convertible_v<unsigned char, Value>);
static_assert(std::is_convertible_v<const char*, Value> && std::is_convertible_v<std::string_view, Value>);
static_assert(!std::is_constructible_v<Value, std::nullptr_t>, "a null pointer is not a text");
static_assert(!std::is_constructible_v<Value, float*>, "a pointer is not a boolean");
static_assert(std::is_nothrow_move_constructible_v<Value> && std::is_nothrow_move_assignable_v<Value>);

TEST_CASE("names are bound to numbers and texts of any type") {
  const std::size_t size = 4096;
  const std::string layout = "row";
  const Bindings problem{{"SIZE", size},
                         {"N", 4096},
                         {"SCALE", 0.5f},
                         {"FLAG", true},
                         {"TEXT", "row"},
                         {"LAYOUT", layout},
                         {"SHORT", static_cast<short>(-3)}};
  CHECK(std::get<std::int64_t>(problem.at("SIZE")) == 4096);
  CHECK(problem.at("SIZE") == problem.at("N"));
  CHECK(std::get<double>(problem.at("SCALE")) == 0.5);
  CHECK(std::get<bool>(problem.at("FLAG")));
  CHECK(problem.at("TEXT") == layout);
  CHECK(problem.at("LAYOUT") == "row");
  CHECK(problem.at("SHORT") == -3);
}

TEST_CASE("types are distinguished") {
  CHECK(Value(1) != Value(1.0));
  CHECK(Value(1) != Value(true));
  CHECK(Value("1") != Value(1));
  CHECK(Value(true) < Value(0));
  CHECK(std::set<Value>{1, 1u, 1.0, true, "1"}.size() == 4);
  CHECK(std::unordered_set<Value>{1, 1u, 1.0, true, "1"}.size() == 4);
}

TEST_CASE("a value is read as the variant that it is") {
  const Value value = 64;
  CHECK(std::holds_alternative<std::int64_t>(value));
  CHECK(*std::get_if<std::int64_t>(&value) == 64);
  CHECK(value.index() == 1);
  CHECK(std::visit([](const auto& held) { return sizeof held; }, value) == sizeof(std::int64_t));
  CHECK(value_as<unsigned char>(value) == 64);
  CHECK(value_as<float>(value) == 64.0f);
  CHECK_THROWS_WITH_AS(value_as<signed char>(Value(128)), "'128' is not an integer in the range of its C++ type",
                       Error);
  CHECK_THROWS_WITH_AS(value_as<std::string>(value), "'64' is not text", Error);
}

TEST_CASE("an unsigned integer above the 64-bit signed maximum is refused") {
  constexpr auto max = std::numeric_limits<std::int64_t>::max();
  CHECK(Value(static_cast<std::uint64_t>(max)) == Value(max));
  try {
    const Bindings problem{{"N", static_cast<std::uint64_t>(max) + 1}};
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::invalid_argument);
    CHECK(std::string(error.what()).find("9223372036854775808") != std::string::npos);
    CHECK(std::string(error.what()).find("at most 9223372036854775807") != std::string::npos);
  }
}

}  // namespace
}  // namespace xtune
