// Frames of MessagePack, and the JSON forms of the messages in them.
#include "worker/ipc/protocol.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json_fields.hpp"
#include "base/msgpack.hpp"
#include "base/text.hpp"
#include "core/build/artifact.hpp"
#include "core/build/keyed_files.hpp"
#include "core/spec/section.hpp"
#include "core/store/record.hpp"
#include "system/descriptor.hpp"

namespace xtune::worker {
namespace {

using Json = nlohmann::json;
namespace fields = base::fields;

constexpr std::string_view magic = "XTW1";
constexpr std::size_t header_bytes = 8;
constexpr std::size_t deepest = 100;

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorKind::io, message); }

Json decode_payload(std::string_view payload) {
  auto value = base::parse_msgpack(payload, deepest);
  if (!value) fail("a message of " + base::human_bytes(payload.size()) + " is not one MessagePack value");
  return std::move(*value);
}

// The payload's length from a header; 0xFFFFFFFF while it is incomplete.
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

/// Returns references to the members of a structure that its message has.
template <class T>
constexpr auto members = nullptr;
template <class T>
constexpr bool has_members = !std::is_same_v<const std::nullptr_t, decltype(members<T>)>;

using device::Launch, device::LaunchPlan, device::ProgramCall, device::ProgramValue, device::Step;
using validate::ArgumentLayout, validate::ToleranceRule;
template <>
constexpr auto members<ProgramValue> =
    [](auto& of) { return std::tie(of.name, of.form, of.where, of.file, of.unit, of.row); };
template <>
constexpr auto members<ProgramCall> = [](auto& of) {
  return std::tie(of.words, of.environment, of.folder, of.time, of.metrics, of.expect, of.check, of.outputs,
                  of.timeout_s, of.device, of.request, of.checks, of.start_timeout_s);
};
template <>
constexpr auto members<Launch> =
    [](auto& of) { return std::tie(of.grid, of.block, of.cluster, of.shared_bytes, of.cooperative); };
template <>
constexpr auto members<Step> = [](auto& of) { return std::tie(of.launch, of.kernel, of.arguments, of.name); };
template <>
constexpr auto members<LaunchPlan> = [](auto& of) { return std::tie(of.steps, of.call); };
template <>
constexpr auto members<measure::TensorMap> = [](auto& of) {
  return std::tie(of.dtype, of.tf32, of.shape, of.box, of.element_strides, of.strides, of.swizzle, of.l2_promotion,
                  of.interleave, of.nan_outside);
};
template <>
constexpr auto members<measure::ArgumentType> =
    [](auto& of) { return std::tie(of.name, of.dtype, of.is_buffer, of.is_tensor_map, of.value_bytes); };
template <>
constexpr auto members<measure::ScalarArgument::Pointer> =
    [](auto& of) { return std::tie(of.at, of.argument, of.offset); };
template <>
constexpr auto members<measure::ScalarArgument> =
    [](auto& of) { return std::tie(of.bytes, of.pointers, of.in_memory, of.replaces); };
template <>
constexpr auto members<measure::Incumbent> = [](auto& of) { return std::tie(of.median_ms, of.q3_ms); };
template <>
constexpr auto members<ArgumentLayout> = [](auto& of) {
  return std::tie(of.name, of.role, of.dtype, of.shape, of.fill, of.file, of.at, of.value, of.numbers, of.like,
                  of.permute, of.formula, of.names, of.sum_of);
};
template <>
constexpr auto members<ToleranceRule> = [](auto& of) {
  return std::tie(of.max_mismatched_ratio, of.outlier_factor, of.rtol, of.atol, of.reduction, of.accumulate);
};
template <>
constexpr auto members<build::KeyedFile> = [](auto& of) { return std::tie(of.path, of.state, of.sha256, of.recent); };
template <>
constexpr auto members<build::KeyedFiles> = [](auto& of) { return std::tie(of.files, of.absent, of.unknown); };
template <>
constexpr auto members<build::Manifest> = [](auto& of) { return std::tie(of.files, of.absent); };
using Request = build::CompileRequest;
template <>
constexpr auto members<Request> = [](auto& of) {
  return std::tie(of.source_name, of.source, of.first_line, of.include_dirs, of.entry, of.options, of.defines, of.arch,
                  of.sanitize, of.folder, of.toolchain, of.variables, of.more_entries, of.files, of.base_key,
                  of.known_manifests, of.headers, of.left_out, of.run);
};
template <>
constexpr auto members<run::CompileJob> = [](auto& of) {
  return std::tie(of.backend, of.cache, of.key, of.request, of.scratch, of.keep_in_scratch, of.expected_s);
};
template <>
constexpr auto members<run::CompileAnswer> = [](auto& of) {
  return std::tie(of.outcome, of.lack, of.message, of.log, of.warning, of.artifact, of.image_sha256, of.cached,
                  of.cpu_s, of.peak_bytes);
};
template <>
constexpr auto members<run::ArgumentPlan> = [](auto& of) { return std::tie(of.buffer, of.scratch, of.map_of); };
using Reference = run::ReferencePlan;
template <>
constexpr auto members<Reference> = [](auto& of) {
  return std::tie(of.artifact, of.launch, of.scalars, of.scratch, of.maps, of.constants, of.kind, of.at, of.name,
                  of.output, of.arrays, of.values, of.file, of.command, of.folder);
};
using run::OpenJob;
template <>
constexpr auto members<OpenJob> = [](auto& of) {
  return std::tie(of.backend, of.device, of.cache, of.scratch, of.seed, of.sanitize, of.arguments, of.constants,
                  of.types, of.reference, of.outputs, of.check_kernel, of.tolerances, of.check, of.check_at, of.folder,
                  of.repeats, of.must_repeat, of.measure, of.time_reference);
};
template <>
constexpr auto members<run::BenchJob> = [](auto& of) {
  return std::tie(of.artifact, of.launch, of.scalars, of.scratch, of.maps, of.constants, of.incumbent, of.config,
                  of.inputs_seed, of.validate_only);
};
using run::BenchAnswer;
template <>
constexpr auto members<BenchAnswer> = [](auto& of) {
  return std::tie(of.outcome, of.lack, of.stage, of.message, of.log, of.samples_ms, of.validation, of.repeatable,
                  of.reported, of.telemetry, of.taints, of.changed, of.busy_s);
};
template <>
constexpr auto members<run::RoundsJob> = [](auto& of) { return std::tie(of.jobs, of.rounds, of.time_reference); };
using run::RoundsAnswer;
template <>
constexpr auto members<RoundsAnswer> = [](auto& of) {
  return std::tie(of.outcome, of.lack, of.message, of.log, of.failed, of.samples_ms, of.reference_ms, of.reported,
                  of.taints, of.busy_s);
};

template <class T>
constexpr bool is_vector = false;
template <class T>
constexpr bool is_vector<std::vector<T>> = true;
template <class T>
constexpr bool is_pair = false;
template <class A, class B>
constexpr bool is_pair<std::pair<A, B>> = true;
template <class T>
constexpr bool is_pointer = false;
template <class T>
constexpr bool is_pointer<std::shared_ptr<const T>> = true;

Json binary(std::span<const std::byte> bytes) {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return Json::binary(std::vector<std::uint8_t>(begin, begin + bytes.size()));
}

std::span<const std::byte> bytes_of(const Json& json) {
  return std::as_bytes(std::span(static_cast<const std::vector<std::uint8_t>&>(json.get_binary())));
}

/// A value by its type: an enumerator is its number, and null is what is unset.
template <class T>
Json write(const T& value) {
  if constexpr (has_members<T>) {
    Json list = Json::array();
    std::apply([&](auto&... each) { (list.push_back(write(each)), ...); }, members<T>(value));
    return list;
  } else if constexpr (fields::is_optional<T> || is_pointer<T>) {
    return value ? write(*value) : Json();
  } else if constexpr (std::is_same_v<T, std::vector<std::byte>>) {
    return binary(value);
  } else if constexpr (is_vector<T>) {
    Json list = Json::array();
    for (const auto& each : value) list.push_back(write(each));
    return list;
  } else if constexpr (is_pair<T>) {
    Json list = Json::array();
    list.push_back(write(value.first));
    list.push_back(write(value.second));
    return list;
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return value.string();
  } else if constexpr (std::is_same_v<T, spec::MeasureSpec>) {
    return spec::measure_section.to_json(value);
  } else if constexpr (std::is_same_v<T, build::Artifact>) {
    return build::to_json(value);
  } else if constexpr (std::is_same_v<T, Bindings> || std::is_same_v<T, measure::Telemetry> ||
                       std::is_same_v<T, validate::Comparison> || std::is_same_v<T, validate::Repeatability>) {
    return store::to_json(value);
  } else {
    return value;
  }
}

void read(const Json& json, std::vector<std::byte>& bytes) {
  const std::span<const std::byte> from = bytes_of(json);
  bytes.assign(from.begin(), from.end());
}
void read(const Json& json, std::filesystem::path& path) { path = json.get<std::string>(); }
void read(const Json& json, spec::MeasureSpec& measure) { spec::measure_section.read(json, measure); }
void read(const Json& json, build::Artifact& artifact) { artifact = build::artifact_from_json(json); }
void read(const Json& json, Bindings& bindings) { bindings = store::bindings_from_json(json); }
void read(const Json& json, measure::Telemetry& telemetry) { telemetry = store::telemetry_from_json(json); }
void read(const Json& json, validate::Comparison& comparison) { comparison = store::comparison_from_json(json); }
void read(const Json& json, validate::Repeatability& of) { of = store::repeatability_from_json(json); }

template <class T>
void read(const Json& json, T& value) {
  if constexpr (has_members<T>) {
    std::size_t at = 0;
    std::apply([&](auto&... each) { (read(json.at(at++), each), ...); }, members<T>(value));
  } else if constexpr (fields::is_optional<T>) {
    value.reset();
    if (!json.is_null()) read(json, value.emplace());
  } else if constexpr (is_pointer<T>) {
    std::remove_const_t<typename T::element_type> held;
    if (!json.is_null()) read(json, held), value = std::make_shared<decltype(held)>(std::move(held));
  } else if constexpr (is_vector<T>) {
    value.clear();
    for (const Json& each : json.get_ref<const Json::array_t&>()) read(each, value.emplace_back());
  } else if constexpr (is_pair<T>) {
    read(json.at(0), value.first);
    read(json.at(1), value.second);
  } else {
    json.get_to(value);
    // A kernel may have damaged the worker that answers.
    if constexpr (std::is_same_v<T, Outcome> || std::is_same_v<T, build::Lack>)
      if (to_string(value) == std::string_view("unknown")) fail("a worker message has an outcome that does not exist");
  }
}

template <class Answer>
Json answer_to_json(const Answer& answer) {
  return {{"outcome", to_string(answer.outcome)}, {"lack", build::to_string(answer.lack)}, {"members", write(answer)}};
}
template <class Message>
Message from_json(const Json& json) {
  Message message;
  read(json.at("members"), message);
  return message;
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

std::size_t MessageDecoder::missing_bytes() const {
  const std::string_view rest = std::string_view(buffer_).substr(offset_);
  const std::uint64_t length = payload_bytes(rest);
  return header_bytes + (length == incomplete ? 0 : length) - rest.size();
}

// The decoder appends what arrives, so memory is not allocated by the length in a header, which may be damaged.
std::optional<Json> read_message(int fd) {
  MessageDecoder decoder;
  char bytes[std::size_t{64} << 10];
  for (;;) {
    const std::size_t wanted = std::min(decoder.missing_bytes(), sizeof bytes);
    const ssize_t n = ::read(fd, bytes, wanted);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(std::string("cannot read a message: ") + std::strerror(errno));
    if (n == 0 && decoder.pending_bytes() == 0) return std::nullopt;
    if (n == 0 && decoder.pending_bytes() < header_bytes) fail("the stream ends inside a message's header");
    if (n == 0) {
      const std::size_t found = decoder.pending_bytes() - header_bytes;
      fail("the stream ends inside a message: " + base::human_bytes(found) + " of " +
           base::human_bytes(found + decoder.missing_bytes()));
    }
    decoder.feed({bytes, static_cast<std::size_t>(n)});
    if (auto message = decoder.next()) return message;
  }
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

// The number changes with the messages.
Json worker_greeting() { return Json{{"xtune_worker", 3}}; }

Json to_json(const run::CompileJob& job) { return {{"members", write(job)}}; }
Json to_json(const run::OpenJob& job) { return {{"do", "open"}, {"members", write(job)}}; }
Json to_json(const run::BenchJob& job) {
  return {{"do", job.validate_only ? "validate" : "bench"}, {"members", write(job)}};
}
Json to_json(const run::RoundsJob& job) { return {{"do", "rounds"}, {"members", write(job)}}; }
Json to_json(const run::CompileAnswer& answer) { return answer_to_json(answer); }
Json to_json(const run::BenchAnswer& answer) { return answer_to_json(answer); }
Json to_json(const run::RoundsAnswer& answer) { return answer_to_json(answer); }

run::CompileJob compile_job_from_json(const Json& json) { return from_json<run::CompileJob>(json); }
run::OpenJob open_job_from_json(const Json& json) { return from_json<run::OpenJob>(json); }
run::BenchJob bench_job_from_json(const Json& json) { return from_json<run::BenchJob>(json); }
run::CompileAnswer compile_answer_from_json(const Json& json) { return from_json<run::CompileAnswer>(json); }
run::BenchAnswer bench_answer_from_json(const Json& json) { return from_json<run::BenchAnswer>(json); }
run::RoundsAnswer rounds_answer_from_json(const Json& json) { return from_json<run::RoundsAnswer>(json); }
run::RoundsJob rounds_job_from_json(const Json& json) {
  auto job = from_json<run::RoundsJob>(json);
  for (const auto& round : job.rounds)
    for (const std::size_t index : round)
      if (index >= job.jobs.size()) fail("a round of a worker message names a job it lacks");
  return job;
}

std::filesystem::path scratch_cache(const std::filesystem::path& scratch) { return scratch / "cache"; }

Json reference_request() { return {{"do", "reference"}}; }

Json error_to_json(ErrorKind kind, const std::string& message) {
  return {{"error", to_string(kind)}, {"message", message}};
}

Json error_to_json(const MissingArtifact& error) {
  Json json = error_to_json(error.kind(), error.what());
  json["missing_artifact"] = error.key();
  return json;
}

std::string too_slow_text(const run::OpenJob& problem) {
  return fmt::format("its launches and checks took longer than {:g} s ([measure] timeout_s; a larger one allows more)",
                     problem.measure.timeout_s);
}

std::string missing_artifact_in(const Json& answer) { return answer.value("missing_artifact", ""); }

MissingArtifact::MissingArtifact(std::string key, const std::filesystem::path& cache)
    : Error(ErrorKind::io, "artifact " + base::printable(key, 80) + " is missing from or damaged in " +
                               base::printable(cache.string()) + "; run again to compile it again"),
      key_(std::move(key)) {}

void throw_if_error(const Json& answer) {
  const auto error = answer.find("error");
  if (error == answer.end()) return;
  if (std::string key = missing_artifact_in(answer); !key.empty()) throw MissingArtifact(std::move(key), "the store");
  const std::string name = *error;
  for (const ErrorKind kind : {ErrorKind::invalid_spec, ErrorKind::invalid_argument, ErrorKind::unavailable,
                               ErrorKind::unsupported, ErrorKind::nothing_valid, ErrorKind::io, ErrorKind::interrupted})
    if (name == to_string(kind)) throw Error(kind, answer.at("message"));
  throw Error(ErrorKind::io, "a worker failed: " + answer.at("message").get<std::string>());
}

}  // namespace xtune::worker
