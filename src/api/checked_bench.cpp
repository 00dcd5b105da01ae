// Passes outputs from the bench session to the application's check.
#include "api/checked_bench.hpp"

#include <exception>
#include <span>
#include <utility>

#include "api/interruption.hpp"
#include "base/files.hpp"
#include "ipc/protocol.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

HostArray view(const validate::ArgumentLayout& layout, std::span<const std::byte> bytes) {
  HostArray array;
  array.name = layout.name;
  array.dtype = layout.dtype;
  array.shape = layout.shape;
  array.bytes = bytes;
  return array;
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

CheckedBenchService::CheckedBenchService(ipc::BenchService& service, const OutputCheck& check,
                                         std::filesystem::path folder)
    : service_(service), check_(check), folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_);
}

void CheckedBenchService::set_problem(ipc::Problem problem) {
  problem.outputs = folder_;
  service_.set_problem(std::move(problem));
}

void CheckedBenchService::bench(const ipc::BenchJob& job, double timeout_s, Callback callback) {
  service_.bench(job, timeout_s, [this, job, callback = std::move(callback)](ipc::BenchAnswer answer) {
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

void CheckedBenchService::measure_rounds(const ipc::RoundsJob& job, double timeout_s, RoundsCallback callback) {
  service_.measure_rounds(job, timeout_s, [this, job, callback = std::move(callback)](ipc::RoundsAnswer answer) {
    for (std::size_t i = 0; answer.outcome == Outcome::ok && i < job.jobs.size(); ++i) {
      answer.message = late_complaint(job.jobs[i], ipc::launch_of_round(i));
      if (answer.message.empty()) continue;
      answer.outcome = Outcome::wrong_result;
      answer.failed = i;
    }
    callback(std::move(answer));
  });
}

std::string CheckedBenchService::late_complaint(const ipc::BenchJob& job, const std::string& launch) const {
  const std::string wrong = complaint(job, launch);
  return wrong.empty() ? wrong : wrong + "; the first launch was right, and one after the measured launches was not";
}

std::string CheckedBenchService::complaint(const ipc::BenchJob& job, const std::string& launch) const {
  Arguments arguments = inputs_of(check_.buffers, check_.problem);
  arguments.config = job.config;
  arguments.outputs.clear();
  std::vector<std::string> contents(check_.buffers.size());
  for (std::size_t i = 0; i < check_.buffers.size(); ++i) {
    const validate::ArgumentLayout& layout = check_.buffers[i].layout;
    if (layout.role == spec::ArgRole::in) continue;
    const std::filesystem::path path = ipc::output_path(folder_, launch, i);
    contents[i] = base::read_file(path, layout.bytes());
    if (contents[i].size() != layout.bytes())
      throw Error(ErrorKind::io, path.string() + " is not as long as the output; was it changed?");
    arguments.outputs.push_back(view(layout, std::as_bytes(std::span(std::as_const(contents[i])))));
  }
  try {
    return check_.holds(arguments) ? "" : "the check says that the outputs are wrong";
  } catch (const std::exception& error) {
    pass_interruption(error);
    return std::string("the check: ") + error.what();
  } catch (...) {
    return "the check threw something that is not a std::exception";
  }
}

}  // namespace xtune
