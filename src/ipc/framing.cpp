// Frames of MessagePack: encoding, incremental decoding, and blocking reads and writes.
#include "ipc/framing.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "system/descriptor.hpp"
#include "xtune/error.hpp"

namespace xtune::ipc {
namespace {

using Json = nlohmann::json;

constexpr std::string_view magic = "XTW1";
constexpr std::size_t header_bytes = 8;
constexpr std::size_t deepest = 100;

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorKind::io, message); }

// Builds the value with a limit on its depth. The library's from_msgpack recurses as deep as the input, and a megabyte
// of nested arrays would overflow the driver's stack.
class MessageBuilder final : public nlohmann::json_sax<Json> {
 public:
  Json result;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(std::move(value)); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  template <class Value>
  bool add(Value&& value) {
    place(std::forward<Value>(value));
    return true;
  }
  template <class Value>
  Json* place(Value&& value) {
    if (open_.empty()) return &(result = std::forward<Value>(value));
    Json& parent = *open_.back();
    if (parent.is_object()) return &(parent[key_] = std::forward<Value>(value));
    parent.push_back(std::forward<Value>(value));
    return &parent.back();
  }
  bool open(Json value) {
    if (open_.size() == deepest) return false;
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Json*> open_;
  std::string key_;
};

Json decode_payload(std::string_view payload) {
  MessageBuilder builder;
  const auto* begin = reinterpret_cast<const std::uint8_t*>(payload.data());
  if (!Json::sax_parse(begin, begin + payload.size(), &builder, Json::input_format_t::msgpack))
    fail("a message of " + base::human_bytes(payload.size()) + " is not one MessagePack value");
  return std::move(builder.result);
}

// The payload's length from a header with at least one byte; 0xFFFFFFFF while it is incomplete.
constexpr std::uint64_t incomplete = 0xFFFFFFFF;
std::uint64_t payload_bytes(std::string_view header) {
  const std::string_view start = header.substr(0, magic.size());
  if (start != magic.substr(0, start.size()))
    fail("expected a message and found other bytes: \"" + base::printable(header.substr(0, 200)) + "\"");
  if (header.size() < header_bytes) return incomplete;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 4; ++i)
    length |= std::uint64_t{static_cast<unsigned char>(header[magic.size() + i])} << (8 * i);
  if (length > message_limit_bytes)
    fail("a message claims " + base::human_bytes(length) + ", more than the limit of " +
         base::human_bytes(message_limit_bytes));
  return length;
}

// Up to `wanted` bytes; fewer only at the end of the stream.
std::size_t read_up_to(int fd, char* into, std::size_t wanted) {
  std::size_t filled = 0;
  while (filled < wanted) {
    const ssize_t n = ::read(fd, into + filled, wanted - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(std::string("cannot read a message: ") + std::strerror(errno));
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  return filled;
}

}  // namespace

std::string encode_message(const Json& message) {
  std::string frame(header_bytes, '\0');
  Json::to_msgpack(message, frame);
  const std::size_t length = frame.size() - header_bytes;
  if (length > message_limit_bytes)
    fail("a message of " + base::human_bytes(length) + " is larger than the limit of " +
         base::human_bytes(message_limit_bytes));
  std::copy(magic.begin(), magic.end(), frame.begin());
  for (std::size_t i = 0; i < 4; ++i) frame[magic.size() + i] = static_cast<char>(length >> (8 * i));
  return frame;
}

void MessageDecoder::feed(std::string_view bytes) {
  // Returned data is dropped here, once it is larger than the rest: a stream of small messages is then moved a limited
  // number of times.
  if (offset_ > buffer_.size() / 2) {
    buffer_.erase(0, offset_);
    offset_ = 0;
  }
  buffer_.append(bytes);
}

std::optional<Json> MessageDecoder::next() {
  const std::string_view rest = std::string_view(buffer_).substr(offset_);
  if (rest.empty()) return std::nullopt;
  const std::uint64_t length = payload_bytes(rest);
  if (length == incomplete || rest.size() - header_bytes < length) return std::nullopt;
  Json message = decode_payload(rest.substr(header_bytes, length));
  offset_ += header_bytes + length;
  // A worker may run for days after one large answer.
  if (offset_ == buffer_.size()) {
    offset_ = 0;
    if (buffer_.capacity() > (std::size_t{1} << 20)) buffer_ = std::string();
    buffer_.clear();
  }
  return message;
}

std::optional<Json> read_message(int fd) {
  char header[header_bytes];
  std::size_t filled = read_up_to(fd, header, header_bytes);
  if (filled == 0) return std::nullopt;
  const std::uint64_t length = payload_bytes(std::string_view(header, filled));
  if (length == incomplete) fail("the stream ends inside a message's header");
  // Memory is allocated as bytes arrive, not by the length in a header, which may be damaged.
  std::string payload;
  for (filled = 0; filled < length;) {
    const std::size_t part =
        std::min<std::size_t>(length - filled, std::max<std::size_t>(filled, std::size_t{64} << 10));
    payload.resize(filled + part);
    const std::size_t n = read_up_to(fd, payload.data() + filled, part);
    filled += n;
    if (n < part)
      fail("the stream ends inside a message: " + base::human_bytes(filled) + " of " + base::human_bytes(length));
  }
  return decode_payload(payload);
}

void write_message(int fd, const Json& message) {
  const system::WriteSignals quiet;
  const std::string frame = encode_message(message);
  for (std::string_view rest = frame; !rest.empty();) {
    const ssize_t n = ::write(fd, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(std::string("cannot write a message: ") + std::strerror(errno));
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
}

Json worker_greeting() { return Json{{"xtune_worker", 1}}; }

}  // namespace xtune::ipc
