// Clock, shared libraries and hashes of files.
#include <doctest/doctest.h>

#include <string>

#include "base/hash.hpp"
#include "system/clock.hpp"
#include "system/dynamic_library.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

using namespace xtune;
using namespace xtune::base;
using namespace xtune::system;

TEST_CASE("a file's SHA-256 is its contents', read in pieces") {
  const TemporaryDirectory folder;
  for (const std::size_t size : {0, 3, (1 << 20) - 1, 1 << 20, 3'000'000}) {
    write_file_atomically(folder.path() / "file", std::string(size, 'x'));
    CHECK(sha256_of_file(folder.path() / "file") == sha256(std::string(size, 'x')));
  }
  CHECK_THROWS_AS(sha256_of_file(folder.path()), Error);
  CHECK_THROWS_AS(sha256_of_file(folder.path() / "none"), Error);
}

TEST_CASE("the clock does not go back, and knows the year") {
  Clock& clock = system_clock();
  const auto before = clock.now_ns();
  CHECK(clock.now_ns() >= before);
  CHECK(clock.unix_time_ms() > 1700000000000);
  CHECK(&clock == &system_clock());
}

TEST_CASE("a library is opened by the first name that loads") {
  const DynamicLibrary library = DynamicLibrary::open({"libxtune-none.so.9", "libm.so.6"});
  CHECK(library);
  CHECK(library.name() == "libm.so.6");
  double (*cosine)(double) = nullptr;
  library.get("cos", cosine);
  CHECK(cosine(0) == 1);
  CHECK(library.find("no_such_symbol") == nullptr);
}

TEST_CASE("errors for missing libraries and symbols name them") {
  const auto message = [](auto function) {
    try {
      function();
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::unavailable);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string missing = message([] { DynamicLibrary::open({"libxtune-a.so", "libxtune-b.so"}); });
  CHECK(missing.find("cannot load libxtune-b.so: libxtune-b.so: cannot open shared object file") == 0);
  CHECK(message([] { DynamicLibrary::open({}); }) == "cannot load a library: no name given");
  const std::string symbol = message([] { DynamicLibrary::open({"libm.so.6"}).get("no_such_symbol"); });
  CHECK(symbol.find("libm.so.6 has no symbol no_such_symbol") == 0);
  CHECK(message([] { (void)DynamicLibrary().get("cos"); }).find("no library is open") == 0);
}

TEST_CASE("a library that the process has loaded is found by its name, and none is loaded for that") {
  CHECK(DynamicLibrary::loaded({"libxtune-none.so.9", "libc.so.6"}).name() == "libc.so.6");
  CHECK_FALSE(DynamicLibrary::loaded({"libxtune-none.so.9"}));
  CHECK_FALSE(DynamicLibrary::loaded({"libresolv-none.so", "libthread_db.so.1"}));  // the second is on the system
  CHECK_FALSE(DynamicLibrary::loaded({}));
  CHECK(loaded_file("libc.so").ends_with("/libc.so.6"));
  CHECK(loaded_file("libxtune-none.so").empty());
}

TEST_CASE("libraries move, and residents stay") {
  DynamicLibrary first = DynamicLibrary::open({"libm.so.6"});
  DynamicLibrary second = std::move(first);
  CHECK_FALSE(first);
  CHECK(second.find("sin") != nullptr);
  second.keep_resident();
  first = std::move(second);
  CHECK(first.find("sin") != nullptr);
  CHECK(first.name() == "libm.so.6");
}
