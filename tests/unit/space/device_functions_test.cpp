// device.max_active_clusters: what it computes, what it names, and its errors.
#include <doctest/doctest.h>

#include "core/space/expression.hpp"

using namespace xtune;
using namespace xtune::space;

namespace {

/// Facts of an H200.
Bindings h200_facts() {
  return {{"device.compute_units", Value(132)},
          {"device.warp_size", Value(32)},
          {"device.max_threads_per_compute_unit", Value(2048)},
          {"device.shared_per_compute_unit", Value(233472)},
          {"device.max_cluster_blocks", Value(16)},
          {"BLOCKS", Value(2)}};
}

std::int64_t clusters(const std::string& arguments, const Bindings& names = h200_facts()) {
  const Value value =
      Expression::parse("device.max_active_clusters(" + arguments + ")").evaluate([&](std::string_view name) {
        return find_value(names, name);
      });
  return std::get<std::int64_t>(value);
}

std::string function_failure(const std::string& text) {
  const Bindings names = h200_facts();
  try {
    Expression::parse(text).evaluate([&](std::string_view name) { return find_value(names, name); });
  } catch (const ExpressionError& error) {
    return std::to_string(error.column) + ": " + error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("the clusters that fit at once follow from threads and shared memory") {
  CHECK(clusters("BLOCKS, 384, 200 * 1024") == 66);  // one block for each unit
  CHECK(clusters("1, 1024, 0") == 264);
  CHECK(clusters("4, 1024, 0") == 66);
  CHECK(clusters("16, 128, 232448") == 8);
  CHECK(clusters("1, 128, 115000") == 264);  // with the kilobyte that the system takes of each, two
  CHECK(clusters("1, 128, 116000") == 132);
  CHECK(clusters("1, 1, 0") == 132 * 64);  // a warp is the least
  CHECK(clusters("2, 4096, 0") == 0);
  CHECK(clusters("2, 128, 300000") == 0);
  CHECK(clusters("17, 128, 0") == 0);
}

TEST_CASE("what is not known of a device limits nothing") {
  Bindings cpu = h200_facts();
  cpu["device.max_threads_per_compute_unit"] = Value(0);
  cpu["device.shared_per_compute_unit"] = Value(0);
  CHECK(clusters("2, 384, 200000", cpu) == 66);
  cpu["device.shared_per_compute_unit"] = Value(232448);
  CHECK(clusters("2, 384, 232448", cpu) == 66);
  CHECK(clusters("2, 384, 232449", cpu) == 0);
  cpu["device.max_cluster_blocks"] = Value(0);
  CHECK(clusters("1, 384, 0", cpu) == 0);
}

TEST_CASE("the function names the facts that it uses, also through a derived name") {
  const Expression expression = Expression::parse("min(4, device.max_active_clusters(BLOCKS, 32, 0))");
  CHECK(expression.names().contains("device.compute_units"));
  CHECK(expression.names().contains("device.max_cluster_blocks"));
  CHECK_FALSE(expression.names().contains("device.max_active_clusters"));
  const Expression::Derived derived{{"ACTIVE", Expression::parse("device.max_active_clusters(BLOCKS, 384, 204800)")}};
  const Bindings names = h200_facts();
  const Value value = Expression::parse("ACTIVE * BLOCKS", &derived).evaluate([&](std::string_view name) {
    return find_value(names, name);
  });
  CHECK(value == Value(132));
}

TEST_CASE("errors of the function have its column") {
  CHECK(function_failure("1 + device.max_active_clusters(2, 128)") ==
        "4: device.max_active_clusters takes 3 arguments, got 2");
  CHECK(function_failure("device.max_active_cluster(2, 128, 0)") ==
        "0: unknown function 'device.max_active_cluster' (did you mean 'device.max_active_clusters'?)");
  CHECK(function_failure("device.max_active_clusters(0, 128, 0)") ==
        "0: device.max_active_clusters: the cluster's size must be at least 1, got 0");
  CHECK(function_failure("device.max_active_clusters(1, 0, 0)") ==
        "0: device.max_active_clusters: the number of threads must be at least 1, got 0");
  CHECK(function_failure("device.max_active_clusters(1, 1, -1)") ==
        "0: device.max_active_clusters: the shared memory must be at least 0, got -1");
  CHECK(function_failure("device.max_active_clusters(1.5, 1, 0)") ==
        "0: device.max_active_clusters needs an integer, got a float");
}
