// A node without a driver: no device, and a reason that a person can act on. With one, devices make sense.
#include <doctest/doctest.h>

#include "backends/backend.hpp"
#include "core/device/backend_facts.hpp"
#include "xtune/error.hpp"

using namespace xtune::backend;
using namespace xtune::device;

using namespace xtune;

TEST_CASE("every GPU backend lists devices or says why not") {
  for (const std::string& name : backend_names()) {
    if (name == "host") continue;
    CAPTURE(name);
    auto backend = make_backend(name);
    CHECK(backend->name() == name);
    const DeviceList list = backend->list_devices();
    CHECK(list.devices.empty() != list.reason.empty());
    if (list.devices.empty()) {
      CHECK(list.reason.size() > 20);
      try {
        backend->open_device(0);
        FAIL("opened a device that is not listed");
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::unavailable);
      }
    }
    for (const int index : {-1, 1000}) CHECK_THROWS_AS(backend->open_device(index), Error);
    for (std::size_t i = 0; i < list.devices.size(); ++i) {
      CHECK(list.devices[i].backend == name);
      CHECK(list.devices[i].index == static_cast<int>(i));
      CHECK(list.devices[i].compute_units > 0);
    }
  }
}
