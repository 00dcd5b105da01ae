// The messages between the driver and its worker processes: framed MessagePack over pipes, the JSON form of jobs and
// answers, and the files beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/run/services.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {

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
  /// Number of bytes that the next message lacks, as far as it is known: at least 1.
  std::size_t missing_bytes() const;

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

/// The cache in a scratch directory.
std::filesystem::path scratch_cache(const std::filesystem::path& scratch);

/// Driver to bench worker, after OpenJob if there is a reference: compute it, or read the result of an earlier worker.
/// A separate request, so that a reference kernel that hangs or crashes can be distinguished from other failures.
nlohmann::json reference_request();
/// In the answer to it: texts for the user about the reference.
inline constexpr const char* warnings_member = "warnings";
/// In the answer to it: the samples of the reference kernel, in ms; empty: it was not timed.
inline constexpr const char* reference_times_member = "reference_ms";

/// An answer of a bench worker has this member, true, if the worker must be replaced: kernels have left too much memory
/// allocated in it or threads running, or have changed it (worker/process_state.hpp).
inline constexpr const char* worn_member = "worn";
/// An answer has this member, true, if a kernel failed that others may have harmed, since they ran in the same process
/// before.
inline constexpr const char* doubtful_member = "doubtful";

/// A message is an object: "do" of a job for a bench worker, "outcome" and "lack" of an answer, and the structure's
/// members in a list, by position. Driver and worker are the same version (worker_greeting).
nlohmann::json to_json(const run::CompileJob& job);
nlohmann::json to_json(const run::CompileAnswer& answer);
nlohmann::json to_json(const run::OpenJob& job);
nlohmann::json to_json(const run::BenchJob& job);
nlohmann::json to_json(const run::BenchAnswer& answer);
nlohmann::json to_json(const run::RoundsJob& job);
nlohmann::json to_json(const run::RoundsAnswer& answer);
/// Each throws nlohmann's exception for a message of another structure.
run::CompileJob compile_job_from_json(const nlohmann::json& json);
run::CompileAnswer compile_answer_from_json(const nlohmann::json& json);
run::OpenJob open_job_from_json(const nlohmann::json& json);
run::BenchJob bench_job_from_json(const nlohmann::json& json);
run::BenchAnswer bench_answer_from_json(const nlohmann::json& json);
run::RoundsJob rounds_job_from_json(const nlohmann::json& json);
run::RoundsAnswer rounds_answer_from_json(const nlohmann::json& json);

/// A compiled artifact is neither in the cache nor in the scratch directory, or it is damaged. The job that needs it is
/// not at fault. Its kind is io.
class MissingArtifact : public Error {
 public:
  MissingArtifact(std::string key, const std::filesystem::path& cache);
  const std::string& key() const noexcept { return key_; }

 private:
  std::string key_;
};
/// "its launches and checks took longer than 30 s ...": the message for a configuration beyond [measure] timeout_s.
std::string too_slow_text(const run::OpenJob& problem);

/// The key, if a worker's answer reports a missing artifact; else empty.
std::string missing_artifact_in(const nlohmann::json& answer);

/// An Error is sent as {"error": kind, "message": text}; throw_if_error throws it in the receiver.
nlohmann::json error_to_json(ErrorKind kind, const std::string& message);
nlohmann::json error_to_json(const MissingArtifact& error);
void throw_if_error(const nlohmann::json& answer);

/// The expected contents of a buffer argument, by its number among the buffers, raw bytes. Arguments without a file are
/// not compared.
inline std::filesystem::path expected_path(const std::filesystem::path& scratch, std::size_t buffer) {
  return scratch / ("expected-" + std::to_string(buffer));
}
/// Exists once all the others do.
inline std::filesystem::path expected_complete_path(const std::filesystem::path& scratch) {
  return scratch / "expected-complete";
}
/// An output of a validating launch: "first" and "last" for a single configuration, "round-N" for job N of rounds.
inline std::filesystem::path output_path(const std::filesystem::path& folder, const std::string& launch,
                                         std::size_t buffer) {
  return folder / (launch + "-" + std::to_string(buffer));
}
inline std::string launch_of_round(std::size_t job) { return "round-" + std::to_string(job); }

}  // namespace xtune::worker
