// Processes that end, or are forked, while others of their threads tune.
#ifndef __SANITIZE_THREAD__  // which does not do threads after a fork
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <iostream>
#include <thread>

#include "unit/api/tune_fixture.hpp"

namespace xtune {
namespace {

using namespace api_test;

/// The child's exit status, which is the result of work().
int status_of_child(const std::function<int()>& work) {
  std::cout.flush();  // otherwise the child writes it once more
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(120);  // ends a process that hangs
    _exit(work());
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

TEST_CASE("a program may end while its threads tune and wait for their turn") {
  const TuneSettings settings = host_settings();
  const Tunable kernel = saxpy();
  CHECK(status_of_child([&] {
          auto* const began = new std::promise<void>;
          auto* const own = new TuneSettings(settings);  // both must outlive their use in the threads
          own->on_measurement = [began, first = true](const Measurement&, const std::string&) mutable {
            if (std::exchange(first, false)) began->set_value();
            std::this_thread::sleep_for(std::chrono::hours(1));  // as a run that takes its time
          };
          for (int i = 0; i < 2; ++i) std::thread([&kernel, own] { tune(kernel, *own); }).detach();
          began->get_future().wait();
          std::exit(0);
          return 1;
        }) == 0);
}

TEST_CASE("the child of a process that is tuning may tune") {
  TuneSettings settings = host_settings();
  const Tunable kernel = saxpy();
  std::promise<void> began, end;
  settings.on_measurement = [&, first = true](const Measurement&, const std::string&) mutable {
    if (!std::exchange(first, false)) return;
    began.set_value();
    end.get_future().wait();
  };
  std::jthread tuning([&] { CHECK(tune(kernel, settings).found()); });
  began.get_future().wait();
  const int status = status_of_child([&] { return tune(kernel, host_settings()).found() ? 0 : 1; });
  end.set_value();
  CHECK(status == 0);
}

}  // namespace
}  // namespace xtune
#endif
