// What type_names.py must find and what it must let through, together with output.hpp and worker.cpp.
#pragma once

#include <string>

#define OPENS_A_BRACE {
namespace fixture {

struct Damage;  // a declaration defines nothing

/// Defined in output.hpp too, with other members.
struct Damage {
  unsigned long count = 0;
  std::string first = R"x({ "struct Text {" )x";
};

template <class T>
struct Wrapped {
  T value;
};
template <>
struct Wrapped<int> {
  int value = 1'000;
};

namespace inner {
struct Local {};  // fixture::inner::Local is not fixture::Local
}  // namespace inner

#ifdef FIXTURE_OPENS_TWO_WAYS
inline int twice(int x) {
#else
inline long twice(long x) {
#endif
  struct Local {  // of a function
    long x;
  };
  return 2 * Local{x}.x;
}

}  // namespace fixture
