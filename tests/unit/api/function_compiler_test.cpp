// Preparations on threads, and their end.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "api/function_kernel.hpp"

namespace xtune {
namespace {

TEST_CASE("what is cancelled has ended: it runs beside nothing that is timed next") {
  system::EventLoop loop;
  std::atomic<bool> begun{false}, ended{false};
  FunctionCompiler compiler(loop, 1, {}, [&](const Bindings&) {
    begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ended = true;
  });
  bool called = false;
  const auto call = [&](run::CompileAnswer) { called = true; };
  compiler.compile({}, 0, call);
  compiler.compile({}, 0, call);
  while (!begun) std::this_thread::yield();
  ended = false;  // the second call does not come
  begun = false;
  compiler.cancel_all();
  CHECK(ended);
  CHECK_FALSE(begun);
  loop.run_ready();
  CHECK_FALSE(called);
}

}  // namespace
}  // namespace xtune
