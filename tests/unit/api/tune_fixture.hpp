// Runs on the host backend: one store for all of them, so that each kernel is compiled once.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "support/text.hpp"
#include "system/files.hpp"
#include "unit/api/saxpy.hpp"
#include "xtune/tune.hpp"

namespace xtune::api_test {

using test::has;

inline const std::filesystem::path& shared_store() {
  static const system::TemporaryDirectory folder;
  static const bool set = setenv("XTUNE_CACHE_DIR", folder.path().c_str(), 1) == 0;
  REQUIRE(set);
  return folder.path();
}

/// Ignores stored results, so that tests do not depend on their order.
inline TuneSettings host_settings() {
  TuneSettings settings;
  settings.backend = "host";
  settings.store = shared_store();
  settings.jobs = 2;
  settings.fresh = true;
  return settings;
}

inline Bindings config(int block, int unroll) { return {{"BLOCK", Value(block)}, {"UNROLL", Value(unroll)}}; }

/// What saxpy does.
inline Expected saxpy_reference(const Arguments& arguments) {
  const auto x = arguments.input("x").as<float>(), y = arguments.input("y").as<float>();
  std::vector<float> result;
  for (std::size_t i = 0; i < x.size(); ++i) result.push_back(2.0f * x[i] + y[i]);
  return result;
}

inline std::string refused(ErrorKind kind, const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    INFO(std::string(error.what()));
    CHECK(std::string(to_string(error.kind())) == to_string(kind));
    return error.what();
  }
  FAIL_CHECK("nothing was refused");
  return {};
}

}  // namespace xtune::api_test
