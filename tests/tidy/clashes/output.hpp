// See recording.hpp.
#pragma once

#include <functional>
#include <string>

namespace fixture {

class Service {
 public:
  enum class Local : char { brace = '{' };
  virtual ~Service() = default;
};

struct Damage final : std::hash<int> {
  std::string argument;
  const char* where;
};

struct Local {};
Local make(struct Damage* damage);

}  // namespace fixture
