// Outputs on their way from the bench session to the application's check.
#include "api/checked_bench.hpp"

#include <exception>
#include <span>
#include <utility>

#include "base/files.hpp"
#include "core/run/expected_files.hpp"
#include "xtune/error.hpp"

namespace xtune {
namespace {

HostArray view(const ArgumentLayout& layout, std::span<const std::byte> bytes) {
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
  for (const PreparedBuffer& buffer : buffers)
    if (buffer.layout.role != ArgRole::out) arguments.inputs.push_back(view(buffer.layout, buffer.contents));
  return arguments;
}

CheckedBenchService::CheckedBenchService(BenchService& service, const OutputCheck& check, std::filesystem::path folder)
    : service_(service), check_(check), folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_);
}

void CheckedBenchService::set_problem(OpenJob job) {
  job.outputs = folder_;
  service_.set_problem(std::move(job));
}

void CheckedBenchService::bench(const BenchJob& job, double timeout_s, Callback callback) {
  service_.bench(job, timeout_s, [this, job, callback = std::move(callback)](BenchAnswer answer) {
    if (answer.outcome == Outcome::ok || answer.outcome == Outcome::pruned) judge(job, answer);
    callback(std::move(answer));
  });
}

void CheckedBenchService::measure_rounds(const RoundsJob& job, double timeout_s, RoundsCallback callback) {
  service_.measure_rounds(job, timeout_s, std::move(callback));
}

void CheckedBenchService::judge(const BenchJob& job, BenchAnswer& answer) const {
  Arguments arguments = inputs_of(check_.buffers, check_.problem);
  arguments.config = job.config;
  std::vector<std::string> contents(check_.buffers.size());
  for (std::size_t i = 0; i < check_.buffers.size(); ++i) {
    const ArgumentLayout& layout = check_.buffers[i].layout;
    if (layout.role == ArgRole::in) continue;
    contents[i] = read_file(output_path(folder_, i), layout.bytes());
    if (contents[i].size() != layout.bytes())
      throw Error(ErrorKind::io, output_path(folder_, i).string() + " is not as long as the output; was it changed?");
    arguments.outputs.push_back(view(layout, std::as_bytes(std::span(std::as_const(contents[i])))));
  }
  std::string complaint;
  try {
    if (check_.holds(arguments)) return;
    complaint = "the check says that the outputs are wrong";
  } catch (const std::exception& error) {
    complaint = std::string("the check: ") + error.what();
  } catch (...) {
    complaint = "the check threw what is no std::exception";
  }
  answer.outcome = Outcome::wrong_result;
  answer.stage = "validate";
  answer.message = complaint;
  answer.samples_ms.clear();
}

}  // namespace xtune
