// Contents of arguments and expected outputs, as files that a worker reads; outputs, as files that a check reads.
#include "api/attachments.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <map>
#include <span>
#include <utility>

#include "api/run_turn.hpp"
#include "api/tunable_state.hpp"
#include "backends/backend.hpp"
#include "base/hash.hpp"
#include "base/named.hpp"
#include "base/text.hpp"
#include "core/resolve/resolve.hpp"
#include "core/validate/npy.hpp"
#include "dispatch/kernel_state.hpp"
#include "system/files.hpp"
#include "worker/ipc/protocol.hpp"
#include "xtune/error.hpp"

namespace xtune {

namespace {

HostArray view(const validate::ArgumentLayout& layout, std::span<const std::byte> bytes) {
  return {layout.name, layout.dtype, layout.shape, bytes};
}

}  // namespace

Arguments inputs_of(const std::vector<PreparedBuffer>& buffers, const Bindings& problem) {
  Arguments arguments;
  arguments.problem = problem;
  for (const PreparedBuffer& buffer : buffers) {
    if (buffer.layout.role != spec::ArgRole::out) arguments.inputs.push_back(view(buffer.layout, buffer.contents));
    if (buffer.layout.role != spec::ArgRole::in) arguments.outputs.push_back(view(buffer.layout, {}));
  }
  return arguments;
}

CheckedBenchService::CheckedBenchService(run::BenchService& service, const OutputCheck& check,
                                         std::filesystem::path folder)
    : service_(service), check_(check), folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_);
}

void CheckedBenchService::set_problem(run::Problem problem) {
  problem.outputs = folder_;
  service_.set_problem(std::move(problem));
}

void CheckedBenchService::bench(const run::BenchJob& job, double timeout_s, Callback callback) {
  service_.bench(job, timeout_s, [this, job, callback = std::move(callback)](run::BenchAnswer answer) {
    std::string wrong;
    if (answer.outcome == Outcome::ok || answer.outcome == Outcome::pruned) wrong = complaint(job, "first");
    if (wrong.empty() && answer.outcome == Outcome::ok) wrong = late_complaint(job, "last");
    if (!wrong.empty()) {
      answer.outcome = Outcome::wrong_result;
      answer.stage = "validate";
      answer.message = wrong;
      answer.samples_ms.clear();
    }
    callback(std::move(answer));
  });
}

void CheckedBenchService::measure_rounds(const run::RoundsJob& job, double timeout_s, RoundsCallback callback) {
  service_.measure_rounds(job, timeout_s, [this, job, callback = std::move(callback)](run::RoundsAnswer answer) {
    for (std::size_t i = 0; answer.outcome == Outcome::ok && i < job.jobs.size(); ++i) {
      answer.message = late_complaint(job.jobs[i], worker::launch_of_round(i));
      if (answer.message.empty()) continue;
      answer.outcome = Outcome::wrong_result;
      answer.failed = i;
    }
    callback(std::move(answer));
  });
}

std::string CheckedBenchService::late_complaint(const run::BenchJob& job, const std::string& launch) const {
  const std::string wrong = complaint(job, launch);
  return wrong.empty() ? wrong : wrong + "; the first launch was right, and one after the measured launches was not";
}

std::string CheckedBenchService::complaint(const run::BenchJob& job, const std::string& launch) const {
  Arguments arguments = inputs_of(check_.buffers, check_.problem);
  arguments.config = job.config;
  arguments.outputs.clear();
  std::vector<std::string> contents(check_.buffers.size());
  for (std::size_t i = 0; i < check_.buffers.size(); ++i) {
    const validate::ArgumentLayout& layout = check_.buffers[i].layout;
    if (layout.role == spec::ArgRole::in) continue;
    const std::filesystem::path path = worker::output_path(folder_, launch, i);
    contents[i] = system::read_file(path, layout.bytes());
    if (contents[i].size() != layout.bytes())
      throw Error(ErrorKind::io, path.string() + " is not as long as the output; was it changed?");
    arguments.outputs.push_back(view(layout, std::as_bytes(std::span(std::as_const(contents[i])))));
  }
  try {
    return check_.holds(arguments) ? "" : "the validator says that the outputs are wrong";
  } catch (const std::exception& error) {
    pass_interruption(error);
    return std::string("the validator: ") + error.what();
  } catch (...) {
    return "the validator threw something that is not a std::exception";
  }
}

namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Of the buffers, then of the constants. Shapes use only problem and device, so any configuration serves.
std::vector<validate::ArgumentLayout> layouts_of(const spec::Spec& spec, const Bindings& problem,
                                                 const run::Target& target) {
  const space::Space space =
      space::Space::listed(spec.parameters, {std::vector<std::uint32_t>(spec.parameters.size(), std::uint32_t{0})});
  const resolve::CandidateResolver resolver(spec, space, problem, target.device, target.arch, target.backend.toolchain,
                                            false);
  std::vector<validate::ArgumentLayout> layouts = resolver.layouts();
  for (validate::ArgumentLayout& constant : resolver.constants()) layouts.push_back(std::move(constant));
  return layouts;
}

void check_fits(const validate::ArgumentLayout& layout, std::size_t bytes, std::optional<DType> dtype,
                const char* what) {
  if (dtype && *dtype != layout.dtype)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} '{}' has elements of type {}, and the argument is {}", what, layout.name,
                            to_string(*dtype), validate::describe(layout.dtype, layout.shape)));
  if (bytes != layout.bytes())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} '{}' has {} bytes, and the argument {} takes {} for this problem", what, layout.name,
                            bytes, validate::describe(layout.dtype, layout.shape), layout.bytes()));
}

/// A copy of device memory (host backend: of this process's memory), after all work that is queued in its context has
/// ended. Throws Error(invalid_argument) with the argument for a pointer that does not belong to the backend and for
/// one with fewer bytes behind it; Error(unavailable) if the driver is missing.
std::vector<std::byte> read_application_memory(const std::string& backend, const std::string& argument,
                                               const void* pointer, std::size_t bytes) {
  std::vector<std::byte> copy(bytes);
  if (bytes == 0) return copy;
  try {
    backend::make_backend(backend)->open_runtime()->snapshot(copy.data(), pointer, bytes);
  } catch (const Error& error) {
    throw Error(error.kind(), "the data of '" + argument + "': " + error.what());
  }
  return copy;
}

/// The attached data of one argument; nullopt for a fill word or a file, which is part of the spec.
std::optional<std::vector<std::byte>> contents_of(const Data& data, const validate::ArgumentLayout& layout,
                                                  const Bindings& problem, const std::string& backend,
                                                  std::uint64_t seed) {
  switch (data.kind()) {
    case Data::Kind::host:
      check_fits(layout, data.host().size(), data.dtype(), "the data of");
      return std::vector<std::byte>(data.host().begin(), data.host().end());
    case Data::Kind::device:
      check_fits(layout, data.pointer_bytes(), std::nullopt, "the data of");
      return read_application_memory(backend, layout.name, data.pointer(), data.pointer_bytes());
    case Data::Kind::generator: {
      validate::layout_bytes(layout);
      std::vector<std::byte> bytes = data.generator()({layout.name, layout.dtype, layout.shape, problem, seed});
      check_fits(layout, bytes.size(), std::nullopt, "the data of");
      return bytes;
    }
    case Data::Kind::fill:
    case Data::Kind::file:
      break;
  }
  return std::nullopt;
}

void check_limit(const std::vector<std::pair<std::string, Data>>& all, std::uint64_t max_copy_bytes) {
  std::uint64_t total = 0;
  for (const auto& [name, data] : all)
    if (data.kind() == Data::Kind::device) total += data.pointer_bytes();
  if (total > max_copy_bytes)
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("{} behind device pointers would be copied for the worker process, and max_copy_bytes is {}: "
                    "raise it, let data be filled or generated, or tune with isolation = in_process",
                    base::human_bytes(total), base::human_bytes(max_copy_bytes)));
}

void attach(spec::Spec& spec, const std::string& name, const std::filesystem::path& file) {
  if (spec::ArgSpec* arg = base::find_named(spec.args, name)) arg->file = file;
}

void attach_data(const detail::TunableState& state, spec::Spec& spec,
                 const std::vector<validate::ArgumentLayout>& layouts, const Bindings& problem,
                 const std::string& backend, const std::filesystem::path& scratch) {
  for (const auto& [name, data] : state.data) {
    if (data.kind() == Data::Kind::file) {
      std::error_code ignored;
      if (!std::filesystem::is_regular_file(data.path(), ignored))
        throw Error(ErrorKind::invalid_argument,
                    fmt::format("the data of '{}': {} is not a file", name, data.path().string()));
      attach(spec, name, data.path());
    }
    for (const validate::ArgumentLayout& layout : layouts) {
      if (layout.name != name) continue;
      if (auto bytes = contents_of(data, layout, problem, backend, spec.search.seed)) {
        const std::filesystem::path file = scratch / ("data-" + name + ".npy");
        validate::write_npy(file, {validate::npy_storage(layout.dtype), layout.shape, std::move(*bytes)});
        attach(spec, name, file);
      }
    }
  }
}

std::vector<PreparedBuffer> fill_all(const std::vector<validate::ArgumentLayout>& layouts, std::uint64_t seed) {
  std::vector<PreparedBuffer> buffers;
  for (const validate::ArgumentLayout& layout : layouts) {
    PreparedBuffer buffer{layout, {}};
    validate::layout_bytes(layout);
    if (layout.role != spec::ArgRole::out) {
      buffer.contents.resize(layout.bytes());
      validate::fill_input(layout, seed, buffer.contents);
    }
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

Expected call_reference(const detail::TunableState& state, const Arguments& arguments) {
  try {
    return state.reference(arguments);
  } catch (const std::exception& error) {
    pass_interruption(error);
    throw Error(ErrorKind::invalid_argument, std::string("the reference in code failed: ") + error.what());
  } catch (...) {
    throw Error(ErrorKind::invalid_argument, "the reference in code threw something that is not a std::exception");
  }
}

/// The index of the output among the buffers.
std::size_t output_at(const std::vector<PreparedBuffer>& buffers, const std::string& name) {
  std::vector<std::string> names;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].layout.role == spec::ArgRole::in) continue;
    names.push_back(buffers[i].layout.name);
    places.push_back(i);
  }
  if (name.empty() && names.size() == 1) return places.front();
  const auto found = std::find(names.begin(), names.end(), name);
  if (name.empty() || found == names.end())
    throw Error(ErrorKind::invalid_argument,
                name.empty() ? "the reference in code does not say which output it describes: use Expected::set"
                             : "the reference in code describes '" + base::printable(name, 80) +
                                   "', which is not an output" + base::did_you_mean(name, names));
  return places[static_cast<std::size_t>(found - names.begin())];
}

/// Writes the expected outputs to the files that the worker reads; returns their digest, for keys.
std::string leave_expected(const Expected& expected, const std::vector<PreparedBuffer>& buffers,
                           const std::filesystem::path& scratch) {
  if (expected.outputs().empty()) throw Error(ErrorKind::invalid_argument, "the reference in code describes no output");
  std::map<std::size_t, const Data*> by_place;
  for (const auto& [name, data] : expected.outputs()) by_place[output_at(buffers, name)] = &data;
  std::string digests;
  for (const auto& [place, data] : by_place) {
    const validate::ArgumentLayout& layout = buffers[place].layout;
    check_fits(layout, data->host().size(), data->dtype(), "what the reference expects of");
    system::write_file_atomically(worker::expected_path(scratch, place), as_text(data->host()));
    digests += layout.name + " " + base::sha256(as_text(data->host())) + "\n";
  }
  system::write_file_atomically(worker::expected_complete_path(scratch), "");
  return base::sha256(digests);
}

}  // namespace

OutputCheck prepare_attachments(const Tunable& tunable, spec::Spec& spec, const Bindings& problem,
                                const run::Target& target, const std::filesystem::path& scratch,
                                std::uint64_t max_copy_bytes) {
  const detail::TunableState& state = Access::state(tunable);
  OutputCheck check;
  if (state.data.empty() && !state.reference && !state.check) return check;
  check_limit(state.data, max_copy_bytes);
  attach_data(state, spec, layouts_of(spec, problem, target), problem, target.backend.name, scratch);
  if (!state.reference && !state.check) return check;
  if (spec.validate.inputs == spec::Inputs::fresh)
    throw Error(ErrorKind::invalid_argument,
                spec.kernel.name +
                    ": [validate] inputs = \"fresh\" and a reference or a validator in code exclude "
                    "each other: code sees the inputs of the run's seed only");
  check.problem = problem;
  check.buffers = fill_all(layouts_of(spec, problem, target), spec.search.seed);
  check.holds = state.check;
  if (state.reference)
    spec.validate.reference.digest =
        leave_expected(call_reference(state, inputs_of(check.buffers, problem)), check.buffers, scratch);
  return check;
}

}  // namespace xtune
