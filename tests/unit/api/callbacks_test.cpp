// Every callback of a run may throw, stop the run, or ask the library for something else.
#include <doctest/doctest.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "unit/api/tune_fixture.hpp"

namespace xtune {
namespace {

using namespace api_test;

struct Mine {};

/// One callback of a run, and its action.
struct Place {
  const char* name;
  std::function<void(Tunable&, TuneSettings&, const std::function<void()>& act)> put;
};

const std::vector<Place>& places() {
  static const std::vector<Place> list{
      {"predicate",
       [](Tunable& tunable, TuneSettings&, const std::function<void()>& act) {
         tunable.constraint({"BLOCK"}, [act](int) { return act(), true; });
       }},
      {"generator",
       [](Tunable& tunable, TuneSettings&, const std::function<void()>& act) {
         tunable.data("x", Data::generate([act](const Bindings&) { return act(), std::vector<std::byte>(4096); }));
       }},
      {"reference",
       [](Tunable& tunable, TuneSettings&, const std::function<void()>& act) {
         tunable.reference([act](const Arguments& arguments) { return act(), saxpy_reference(arguments); });
       }},
      {"check",
       [](Tunable& tunable, TuneSettings&, const std::function<void()>& act) {
         tunable.validator([act](const Arguments&) { return act(), true; });
       }},
      {"configs_of",
       [](Tunable&, TuneSettings& settings, const std::function<void()>& act) {
         settings.configs_of = [act](const Bindings&) { return act(), std::vector<Bindings>{config(32, 1)}; };
       }},
      {"on_progress",
       [](Tunable&, TuneSettings& settings, const std::function<void()>& act) {
         settings.on_progress = [act](const TuneProgress&) { act(); };
       }},
      {"poll", [](Tunable&, TuneSettings& settings, const std::function<void()>& act) { settings.poll = act; }},
      {"on_measurement",
       [](Tunable&, TuneSettings& settings, const std::function<void()>& act) {
         settings.on_measurement = [act](const Measurement&, const std::string&) { act(); };
       }},
      {"on_log",
       [](Tunable&, TuneSettings& settings, const std::function<void()>& act) {
         settings.configs = {config(32, 1), config(63, 1)};  // the second one is warned of
         settings.on_log = [act](const std::string&) { act(); };
       }},
  };
  return list;
}

TEST_CASE("what any callback throws ends the run and comes out as it is, but for references and checks") {
  for (const Isolation isolation : {Isolation::process, Isolation::in_process})
    for (const Place& place : places()) {
      CAPTURE(place.name);
      Tunable tunable = saxpy();
      TuneSettings settings = host_settings();
      settings.isolation = isolation;
      const std::string name = place.name;
      place.put(tunable, settings, [] { throw Mine(); });
      if (name == "check") {
        const Result result = tune(tunable, settings);
        CHECK(result.counts == std::map<Outcome, std::uint64_t>{{Outcome::wrong_result, 4}});
      } else if (name == "reference") {
        refused(ErrorKind::invalid_argument, [&] { tune(tunable, settings); });
      } else {
        CHECK_THROWS_AS(tune(tunable, settings), Mine);
      }
    }
  CHECK(tune(saxpy(), host_settings()).found());
}

TEST_CASE("an Error of the application's own is not taken for a stop") {
  TuneSettings settings = host_settings();
  settings.on_progress = [](const TuneProgress&) { throw Error(ErrorKind::interrupted, "mine"); };
  CHECK_THROWS_WITH_AS(tune(saxpy(), settings), "mine", Error);
  CHECK_THROWS_WITH_AS(tune_cases(saxpy(), settings), "mine", Error);
}

TEST_CASE("a reference and a check can end the run, too") {
  const auto give_up = [] { throw Error(ErrorKind::interrupted, "given up"); };
  for (const Place& place : places()) {
    Tunable tunable = saxpy();
    TuneSettings settings = host_settings();
    place.put(tunable, settings, give_up);
    CAPTURE(place.name);
    CHECK_THROWS_WITH_AS(tune(tunable, settings), "given up", Error);
  }
}

TEST_CASE("a stop from any callback ends the run soon") {
  for (const Place& place : places()) {
    CAPTURE(place.name);
    Tunable tunable = saxpy();
    TuneSettings settings = host_settings();
    std::stop_source source;
    settings.stop = source.get_token();
    place.put(tunable, settings, [&] { source.request_stop(); });
    const Result result = tune(tunable, settings);
    CHECK(result.interrupted);
    CHECK(result.kernel_name == "saxpy");
    CHECK(result.measurements.size() <= 1);
  }
}

TEST_CASE("callbacks may ask for configurations and stored kernels, but for no other run") {
  Tunable tunable = saxpy();
  TuneSettings settings = host_settings();
  CompileSettings listing;
  listing.backend = "host";
  listing.store = settings.store;
  settings.configs_of = [&](const Bindings&) {
    std::vector<Bindings> all = all_configs(tunable, listing);
    all.resize(2);
    return all;
  };
  std::string message;
  settings.on_measurement = [&](const Measurement&, const std::string&) {
    message = refused(ErrorKind::invalid_argument, [&] { compile_all(tunable, {config(32, 1)}, listing); });
  };
  CHECK(tune(tunable, settings).measurements.size() == 2);
  CHECK(has(message, "callback"));
}

TEST_CASE("poll is called while a run waits for another one, and while configurations are compiled") {
  TuneSettings first = host_settings();
  std::promise<void> began, end;
  first.on_measurement = [&, once = true](const Measurement&, const std::string&) mutable {
    if (!std::exchange(once, false)) return;
    began.set_value();
    end.get_future().wait();
  };
  std::jthread tuning([&] { CHECK(tune(saxpy(), first).found()); });
  began.get_future().wait();
  TuneSettings second = host_settings();
  second.poll = [] { throw Mine(); };
  CHECK_THROWS_AS(tune(saxpy(), second), Mine);
  CompileSettings compile;
  compile.backend = "host";
  compile.store = shared_store();
  compile.poll = second.poll;
  CHECK_THROWS_AS(compile_all(saxpy(), {config(32, 1)}, compile), Mine);
  end.set_value();
}

TEST_CASE("compiling and listing heed a stop, also while the space is made") {
  Tunable tunable = saxpy();
  std::stop_source source;
  CompileSettings settings;
  settings.backend = "host";
  settings.store = shared_store();
  settings.stop = source.get_token();
  std::size_t asked = 0;
  tunable.constraint({"BLOCK"}, [&](int) {
    source.request_stop();
    return ++asked, true;
  });
  CHECK(compile_all(tunable, {config(32, 1)}, settings).empty());
  CHECK(asked > 0);
  refused(ErrorKind::interrupted, [&] { all_configs(tunable, settings); });
  settings = {};
  settings.jobs = 5000;
  CHECK(has(refused(ErrorKind::invalid_argument, [&] { compile_all(saxpy(), {}, settings); }), "jobs is 5000"));
}

}  // namespace
}  // namespace xtune
