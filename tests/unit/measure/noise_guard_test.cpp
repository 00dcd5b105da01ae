// Reasons that taint a measurement, and waits, over scripted states of a device.
#include "core/measure/noise_guard.hpp"

#include <doctest/doctest.h>

#include <deque>

using namespace xtune::measure;

using namespace xtune;

namespace {

DeviceState quiet() {
  DeviceState state;
  state.max_clock_mhz = 2000;
  state.uncorrected_errors = 5;
  state.processes = {41};
  return state;
}
DeviceState crowded() {
  DeviceState state = quiet();
  state.processes.push_back(42);
  return state;
}
DeviceState hot() {
  DeviceState state = quiet();
  state.throttling = {"it is too hot"};
  return state;
}

/// States in order; the last one stays.
struct Script {
  std::deque<DeviceState> states;
  int looks = 0, pauses = 0;
  DeviceState look() {
    ++looks;
    const DeviceState state = states.front();
    if (states.size() > 1) states.pop_front();
    return state;
  }
  void settle(NoiseGuard& guard) {
    guard.settle([this] { return look(); },
                 [this](double seconds) {
                   CHECK(seconds > 0);
                   ++pauses;
                 });
  }
};

}  // namespace

TEST_CASE("A quiet device is looked at once and taints nothing") {
  NoiseGuard guard(1);
  Script script{{quiet()}};
  script.settle(guard);
  CHECK(script.looks == 1);
  CHECK(script.pauses == 0);
  CHECK(guard.taints(quiet(), 1990).empty());
  CHECK(guard.taints({}, 0).empty());
}

TEST_CASE("What passes within the bound is waited out and taints nothing") {
  NoiseGuard guard(1);
  Script script{{crowded(), hot(), crowded(), quiet()}};
  script.settle(guard);
  CHECK(script.pauses == 3);
  CHECK(guard.taints(quiet(), 2000).empty());
}

TEST_CASE("What does not pass taints, and is not waited for again until it was gone") {
  NoiseGuard guard(0.5);
  Script script{{crowded()}};
  script.settle(guard);
  CHECK(script.pauses == 10);
  CHECK(guard.taints(crowded(), 2000) == std::vector<std::string>{"other processes compute on the device"});
  script.settle(guard);
  CHECK(script.pauses == 10);
  CHECK(guard.taints(quiet(), 2000).size() == 1);  // it began disturbed

  DeviceState both = crowded();
  both.throttling = {"it is too hot"};
  script.states = {both};
  script.settle(guard);  // something new beside the old
  CHECK(script.pauses == 20);
  CHECK(guard.taints(both, 2000) ==
        std::vector<std::string>{"other processes compute on the device", "the device is slowed down: it is too hot"});
  script.states = {quiet()};
  script.settle(guard);
  script.states = {crowded()};
  script.settle(guard);
  CHECK(script.pauses == 30);
}

TEST_CASE("With no time to wait nothing pauses, and it taints all the same") {
  NoiseGuard guard(0);
  Script script{{hot()}};
  script.settle(guard);
  CHECK(script.pauses == 0);
  CHECK(guard.taints(quiet(), 2000) == std::vector<std::string>{"the device is slowed down: it is too hot"});
}

TEST_CASE("A disturbance that begins during the series taints it") {
  NoiseGuard guard(1);
  Script script{{quiet()}};
  script.settle(guard);
  CHECK(guard.taints(crowded(), 2000) == std::vector<std::string>{"other processes compute on the device"});
}

TEST_CASE("A slow clock taints below three quarters of the maximum") {
  NoiseGuard guard(1);
  Script script{{quiet()}};
  script.settle(guard);
  CHECK(guard.taints(quiet(), 1500).empty());
  CHECK(guard.taints(quiet(), 1499) == std::vector<std::string>{"the clock was 1499 MHz of 2000"});
  CHECK(guard.taints(quiet(), 0).empty());
  DeviceState silent = quiet();
  silent.max_clock_mhz.reset();
  CHECK(guard.taints(silent, 100).empty());
}

TEST_CASE("Stolen processor time taints above a tenth, and is not waited for") {
  NoiseGuard guard(1);
  DeviceState state;
  state.stolen_share = 0.3;
  Script script{{state}};
  script.settle(guard);
  CHECK(script.pauses == 0);
  CHECK(guard.taints(state, 0) == std::vector<std::string>{"other virtual machines took 30 % of the processors' time"});
  state.stolen_share = 0.1;
  CHECK(guard.taints(state, 0).empty());
}

TEST_CASE("A CPU kernel that waited for CPUs is tainted above a twentieth of its time, or if the user says so") {
  NoiseGuard guard(1);
  DeviceState state;
  state.lost_share = 0.34;
  Script script{{state}};
  script.settle(guard);
  CHECK(script.pauses == 0);
  CHECK(guard.taints(state, 0) ==
        std::vector<std::string>{"the CPUs were busy: the kernel waited for more than 5 % of its time"});
  state.lost_share = 0.05;
  CHECK(guard.taints(state, 0).empty());
  state.said_busy = true;
  CHECK(guard.taints(state, 0) == std::vector<std::string>{"the CPUs were busy: XTUNE_BUSY says so"});
}

TEST_CASE("New memory errors taint one series") {
  NoiseGuard guard(1);
  Script script{{quiet()}};
  script.settle(guard);
  DeviceState worse = quiet();
  worse.uncorrected_errors = 7;
  CHECK(guard.taints(worse, 2000) == std::vector<std::string>{"2 uncorrected memory errors"});
  script.states = {worse};
  script.settle(guard);
  CHECK(guard.taints(worse, 2000).empty());
}

TEST_CASE("A process list without this process is not a disturbance by itself") {
  DeviceState state;
  CHECK(disturbances(state).empty());
  state.processes = {123456};  // a container: this process under the host's number
  CHECK(disturbances(state).empty());
}
