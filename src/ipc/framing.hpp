// Messages between the driver and its worker processes: framed MessagePack over pipes, both ends.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace xtune::ipc {

/// A frame is the four bytes "XTW1", the payload's length as a little-endian u32, and the payload as MessagePack.
/// Larger frames are neither sent nor accepted: a larger length counts as garbage.
constexpr std::uint64_t message_limit_bytes = std::uint64_t{1} << 30;

/// Returns one frame. Throws Error(io) if the message is larger than message_limit_bytes.
std::string encode_message(const nlohmann::json& message);

/// Decodes messages from a stream that arrives in arbitrary pieces. Both functions throw Error(io) with a description
/// for bytes that are not a frame, a length above the limit, or a payload that is not exactly one MessagePack value (up
/// to 100 levels deep); the stream cannot be used afterwards.
class MessageDecoder {
 public:
  void feed(std::string_view bytes);
  /// The next complete message, or nullopt while it is incomplete.
  std::optional<nlohmann::json> next();
  /// Number of bytes that were fed and are not yet part of a returned message.
  std::size_t pending_bytes() const noexcept { return buffer_.size() - offset_; }

 private:
  std::string buffer_;
  std::size_t offset_ = 0;
};

/// Blocks for one message. nullopt at the end of the stream between two messages; throws Error(io) as the decoder does,
/// for a stream that ends inside a message, and for a failing read.
std::optional<nlohmann::json> read_message(int fd);
/// Blocks until everything is written. Throws Error(io), also if the reader has closed the pipe ("broken pipe").
void write_message(int fd, const nlohmann::json& message);

/// The first message of a worker, once it is ready to read requests: it distinguishes a worker that cannot start from
/// one that its first request crashed.
nlohmann::json worker_greeting();

/// The member with which a worker reports, before its answer, that it waits for a directory which another process
/// holds: the member is the directory, and an empty text once the wait is over.
inline constexpr const char* waits_member = "waits_for";

}  // namespace xtune::ipc
