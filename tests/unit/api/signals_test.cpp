// The library does not change the application's actions for signals.
#include <doctest/doctest.h>

#include <csignal>

#include "unit/api/tune_fixture.hpp"

namespace xtune {
namespace {

using namespace api_test;

struct Handlers {
  struct sigaction of[3];
  static constexpr int signals[3] = {SIGPIPE, SIGXFSZ, SIGCHLD};
  static Handlers now() {
    Handlers handlers{};
    for (int i = 0; i < 3; ++i) sigaction(signals[i], nullptr, &handlers.of[i]);
    return handlers;
  }
  bool same(const Handlers& other, int i) const { return of[i].sa_handler == other.of[i].sa_handler; }
};

TEST_CASE("a run does not change the application's signal handlers and mask") {
  Handlers original{};
  struct sigaction own {};
  own.sa_handler = [](int) {};
  own.sa_flags = SA_RESTART;
  for (int i = 0; i < 3; ++i) sigaction(Handlers::signals[i], &own, &original.of[i]);
  const Handlers before = Handlers::now();
  sigset_t mask_before, mask_after;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask_before);
  TuneSettings settings = host_settings();
  std::size_t looked = 0;
  settings.on_measurement = [&](const Measurement&, const std::string&) {
    ++looked;
    const Handlers during = Handlers::now();
    CHECK(during.same(before, 0));
    CHECK(during.same(before, 1));
  };
  CHECK(tune(saxpy(), settings).found());
  CHECK(looked == 4);
  const Handlers after = Handlers::now();
  for (int i = 0; i < 3; ++i) CHECK(after.same(before, i));
  pthread_sigmask(SIG_BLOCK, nullptr, &mask_after);
  for (const int signum : Handlers::signals)
    CHECK(sigismember(&mask_after, signum) == sigismember(&mask_before, signum));
  for (int i = 0; i < 3; ++i) sigaction(Handlers::signals[i], &original.of[i], nullptr);
}

}  // namespace
}  // namespace xtune
