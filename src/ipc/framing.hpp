// Messages between the driver and its worker processes: framed MessagePack over pipes, both ends.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace xtune::ipc {

/// A frame is the four bytes "XTW1", the payload's length as a little-endian u32, and the payload as MessagePack.
/// Nothing larger is sent or accepted: a larger length is taken for garbage.
constexpr std::uint64_t message_limit_bytes = std::uint64_t{1} << 30;

/// One frame. Throws Error(io) when the message is larger than message_limit_bytes.
std::string encode_message(const nlohmann::json& message);

/// Messages out of a stream that arrives in arbitrary pieces. Both functions throw Error(io), saying what was found,
/// for bytes that are no frame, a length above the limit, or a payload that is not exactly one MessagePack value (at
/// most 100 levels deep); the stream is lost then.
class MessageDecoder {
 public:
  void feed(std::string_view bytes);
  /// The next whole message, or nullopt while one is incomplete.
  std::optional<nlohmann::json> next();
  /// Bytes that are fed and not yet part of a returned message.
  std::size_t pending_bytes() const noexcept { return buffer_.size() - offset_; }

 private:
  std::string buffer_;
  std::size_t offset_ = 0;
};

/// Blocks for one message. nullopt at the end of the stream between two messages; throws Error(io) as the decoder does,
/// for a stream that ends inside a message, and for a failing read.
std::optional<nlohmann::json> read_message(int fd);
/// Blocks until all is written. Throws Error(io); a reader that has gone is one ("broken pipe").
void write_message(int fd, const nlohmann::json& message);

/// What a worker writes before anything else, once it is ready to read requests: it tells a worker that cannot start
/// from one that its first request crashed.
nlohmann::json worker_greeting();

/// A worker that waits for a directory which another process holds says so before its answer, by a message with the
/// directory in this member; and by one with an empty text once it goes on.
inline constexpr const char* waits_member = "waits_for";

}  // namespace xtune::ipc
