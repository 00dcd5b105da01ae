// Frames: round trips, streams cut anywhere, garbage, hostile payloads, blocking reads over a pipe.
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/random.hpp"
#include "fakes/io_error.hpp"
#include "support/text.hpp"
#include "worker/ipc/protocol.hpp"
#include "xtune/error.hpp"

using namespace xtune::base;
using namespace xtune::worker;

using namespace xtune;
using namespace xtune::test;
using fakes::io_error;
using nlohmann::json;

namespace {

json sample() {
  json value{{"name", "gemm"},
             {"list", {1, -2, 3.5, true, nullptr}},
             {"nested", {{"empty", json::object()}, {"none", json::array()}}}};
  value["large"] = std::uint64_t(-1);
  value["text"] = std::string("\xff\x00 not UTF-8", 12);
  value["image"] = json::binary({0, 1, 255, 10});
  return value;
}

std::string framed(const std::string& payload) {
  std::string frame = "XTW1";
  for (int i = 0; i < 4; ++i) frame += static_cast<char>(payload.size() >> (8 * i));
  return frame + payload;
}

std::string decode_error(const std::string& bytes) {
  return io_error([&] {
    MessageDecoder decoder;
    decoder.feed(bytes);
    while (decoder.next()) {
    }
  });
}

struct Pipe {
  std::array<int, 2> fds{-1, -1};
  Pipe() { REQUIRE(pipe(fds.data()) == 0); }
  ~Pipe() {
    close(fds[0]);
    close_write();
  }
  int out() const { return fds[1]; }
  int in() const { return fds[0]; }
  void close_write() {
    if (fds[1] >= 0) close(fds[1]);
    fds[1] = -1;
  }
  void put(const std::string& bytes) {
    REQUIRE(write(out(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
};

}  // namespace

TEST_CASE("a message survives its frame, whole or byte by byte") {
  const json message = sample();
  const std::string frame = encode_message(message);
  MessageDecoder whole;
  whole.feed(frame);
  CHECK(whole.next() == message);
  CHECK(whole.pending_bytes() == 0);
  CHECK_FALSE(whole.next().has_value());
  MessageDecoder pieces;
  for (std::size_t i = 0; i + 1 < frame.size(); ++i) {
    pieces.feed(frame.substr(i, 1));
    CHECK_FALSE(pieces.next().has_value());
  }
  pieces.feed(frame.substr(frame.size() - 1));
  CHECK(pieces.next() == message);
}

TEST_CASE("a stream of messages cut at random places comes out in order") {
  std::string stream;
  std::vector<json> messages;
  for (int i = 0; i < 300; ++i) {
    messages.push_back({{"i", i}, {"fill", std::string(static_cast<std::size_t>(i * i % 977), 'x')}});
    stream += encode_message(messages.back());
  }
  Random random(11);
  MessageDecoder decoder;
  std::vector<json> received;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t length = 1 + random.below(5000);
    decoder.feed(std::string_view(stream).substr(at, length));
    at += length;
    while (auto message = decoder.next()) received.push_back(std::move(*message));
  }
  CHECK(received == messages);
  CHECK(decoder.pending_bytes() == 0);
}

TEST_CASE("other bytes are refused at the first that is wrong, and quoted") {
  CHECK(has(decode_error("hello from a kernel\n"), "found other bytes: \"hello from a kernel\n\""));
  CHECK(has(decode_error("h"), "found other bytes"));
  CHECK(has(decode_error("XTW2"), "found other bytes"));
  CHECK(decode_error("XTW") == "no error");
  CHECK(has(decode_error(encode_message(1) + "noise"), "found other bytes: \"noise\""));
  CHECK(decode_error("\x1b[31m" + std::string(100000, 'x')).size() < 400);
}

TEST_CASE("lengths above the limit are refused before memory is taken") {
  CHECK(has(decode_error(std::string("XTW1\xff\xff\xff\xff", 8)), "claims 4.0 GiB, more than the limit of 1 GiB"));
  CHECK(has(decode_error(std::string("XTW1\x01\x00\x00\x40", 8)), "more than the limit"));
  CHECK(decode_error(std::string("XTW1\x00\x00\x00\x40", 8)) == "no error");
}

TEST_CASE("payloads that are not one MessagePack value are refused") {
  for (const std::string& payload :
       {std::string(), std::string("\xc1"), std::string("\x92\x01"), std::string("\x01\x02"),
        std::string("\xdd\xff\xff\xff\xff"), std::string("\xc6\xff\xff\xff\xff"), std::string("\x81\x01\x02")}) {
    CAPTURE(payload);
    CHECK(has(decode_error(framed(payload)), "is not one MessagePack value"));
  }
}

TEST_CASE("a payload of nothing but opening brackets does not overflow the stack") {
  CHECK(has(decode_error(framed(std::string(4 << 20, '\x91'))), "is not one MessagePack value"));
  json deep = 1;
  for (int i = 0; i < 100; ++i) deep = json::array({deep});
  MessageDecoder decoder;
  decoder.feed(encode_message(deep));
  CHECK(decoder.next() == deep);
  CHECK(has(decode_error(encode_message(json::array({deep}))), "is not one MessagePack value"));
}

TEST_CASE("no mutation of a frame does worse than an Error") {
  const std::string frame = encode_message(sample());
  Random random(5);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = frame;
    for (std::uint64_t i = random.below(4); i < 4; ++i)
      damaged[random.below(damaged.size())] = static_cast<char>(random.next());
    if (decode_error(damaged) != "no error") ++refused;
  }
  CHECK(refused > 1000);
}

TEST_CASE("blocking reads and writes over a pipe, larger than the pipe") {
  Pipe pipe;
  const json large{{"data", json::binary(std::vector<std::uint8_t>(3 << 20, 7))}};
  std::thread writer([&] {
    write_message(pipe.out(), sample());
    write_message(pipe.out(), large);
    pipe.close_write();
  });
  CHECK(read_message(pipe.in()) == sample());
  CHECK(read_message(pipe.in()) == large);
  CHECK_FALSE(read_message(pipe.in()).has_value());
  writer.join();
}

TEST_CASE("a stream that ends inside a message says where") {
  const std::string frame = encode_message(std::string(5000, 'x'));
  const auto reading = [](const std::string& bytes) {
    return io_error([&] {
      Pipe pipe;
      pipe.put(bytes);
      pipe.close_write();
      read_message(pipe.in());
    });
  };
  CHECK(has(reading(frame.substr(0, 5)), "ends inside a message's header"));
  CHECK(has(reading(frame.substr(0, 100)), "ends inside a message: 92 B of 4.9 KiB"));
  CHECK(has(reading("junk"), "found other bytes"));
}

TEST_CASE("failing descriptors are errors, a gone reader too") {
  CHECK(has(io_error([] { read_message(-1); }), "cannot read a message: Bad file descriptor"));
  CHECK(has(io_error([] { write_message(-1, 1); }), "cannot write a message: Bad file descriptor"));
  Pipe pipe;
  close(pipe.fds[0]);
  pipe.fds[0] = dup(pipe.fds[1]);
  CHECK(has(io_error([&] { write_message(pipe.out(), 1); }), "Broken pipe"));
}
