// A page that is served on the loopback address.
#include "system/loopback_page.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>

#include "support/http.hpp"
#include "support/text.hpp"
#include "xtune/error.hpp"

using namespace xtune;
using namespace xtune::system;
using test::has;

namespace {

/// Runs the loop while another thread asks.
template <class Ask>
std::string served(EventLoop& loop, const Ask& ask) {
  std::atomic<bool> over{false};
  auto answer = std::async(std::launch::async, [&] {
    std::string text = ask();
    over = true;
    return text;
  });
  while (!over) {
    const auto wake = loop.call_after(5, [] {});
    loop.run_once();
  }
  return answer.get();
}

}  // namespace

TEST_CASE("Who knows the address gets the page, made again only after a change") {
  EventLoop loop;
  int made = 0;
  LoopbackPage page(loop, 0, [&] { return "state " + std::to_string(++made); });
  CHECK(page.address().starts_with("http://127.0.0.1:"));
  const std::string first = served(loop, [&] { return test::get(page.address()); });
  CHECK(first.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(first.ends_with("\r\n\r\nstate 1"));
  CHECK(has(first, "Content-Length: 7\r\n"));
  CHECK(has(first, "X-Frame-Options: DENY\r\n"));
  CHECK(served(loop, [&] { return test::get(page.address()); }).ends_with("state 1"));
  const std::size_t tag = first.find("ETag: ") + 6;
  const std::string known = "If-None-Match: " + first.substr(tag, first.find("\r\n", tag) - tag) + "\r\n";
  CHECK(served(loop, [&] { return test::get(page.address(), known); }).starts_with("HTTP/1.1 304"));
  page.changed();
  std::string next;
  do {  // a page that takes long to make, on a busy machine, is not made again at once
    next = served(loop, [&] { return test::get(page.address(), known); });
  } while (next.starts_with("HTTP/1.1 304"));
  CHECK(next.ends_with("state 2"));
}

TEST_CASE("Other paths, other methods and endless requests get nothing") {
  EventLoop loop;
  LoopbackPage page(loop, 0, [] { return std::string("secret"); });
  const int port = test::port_of(page.address());
  const std::string origin = page.address().substr(0, page.address().find('/', 10));
  for (const char* request :
       {"GET / HTTP/1.1\r\n\r\n", "GET /0/ HTTP/1.1\r\n\r\n", "POST / HTTP/1.1\r\n\r\n", "garbage\r\n\r\n"}) {
    CAPTURE(request);
    const std::string answer = served(loop, [&] { return test::exchange(port, request); });
    CHECK(answer.starts_with("HTTP/1.1 40"));
    CHECK_FALSE(has(answer, "secret"));
  }
  CHECK(served(loop, [&] { return test::exchange(port, std::string(64 << 10, 'x')); }).empty());
  CHECK(served(loop, [&] { return test::get(page.address()); }).ends_with("secret"));
}

TEST_CASE("A port that is taken is an error that names it, and an open page keeps no loop running") {
  EventLoop loop;
  LoopbackPage page(loop, 0, [] { return std::string(); });
  CHECK_FALSE(loop.run_ready());
  const int port = test::port_of(page.address());
  try {
    const LoopbackPage second(loop, port, [] { return std::string(); });
    FAIL("the port is taken");
  } catch (const Error& error) {
    CHECK(has(error.what(), "port " + std::to_string(port)));
  }
}

TEST_CASE("The end waits for a reader that follows the page, and for no other") {
  EventLoop loop;
  std::string state = "running";
  LoopbackPage page(loop, 0, [&] { return state; });
  page.finish(3'600'000);  // without a reader it returns at once
  served(loop, [&] { return test::get(page.address()); });
  state = "ended";
  auto last = std::async(std::launch::async, [&] { return test::get(page.address()); });
  page.finish(3'600'000);
  CHECK(last.get().ends_with("ended"));
}
