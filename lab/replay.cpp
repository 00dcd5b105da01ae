// Matching recordings with specs, the queue of simulated events, and answers from a recording.
#include "lab/replay.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "lab/formats.hpp"
#include "xtune/error.hpp"

namespace xtune::lab {
namespace {

std::string names_text(const std::vector<space::Parameter>& parameters) {
  std::string text;
  for (const space::Parameter& parameter : parameters) text += (text.empty() ? "" : ", ") + parameter.name;
  return text;
}

std::string problem_text(const Bindings& problem) {
  return problem.empty() ? "no problem sizes" : space::bindings_text(problem);
}

std::string digest_of(const Recording& recording) {
  std::string bytes;
  const auto add = [&](const auto& value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (std::uint64_t index = 0; index < recording.space.size(); ++index) {
    for (const Value& value : recording.space.at(index)) bytes += to_text(value) + ",";
    const RecordedConfig& config = recording.configs[index];
    bytes += to_string(config.outcome);
    for (const double sample : config.samples_ms) add(sample);
    for (const std::string& reason : config.tainted) bytes += reason + ",";
    add(config.compile_s);
    add(config.bench_s);
  }
  return base::sha256(bytes).substr(0, 16);
}

bool ends_before_running(const RecordedConfig& config) {
  return config.outcome == Outcome::compile_failed || config.stage == "compile" || config.stage == "space";
}

}  // namespace

const Recording& choose_recording(const std::vector<Recording>& recordings, const spec::Spec& spec,
                                  const Bindings& problem, const std::string& arch, int device) {
  std::vector<const Recording*> fitting;
  std::string held;
  for (const Recording& recording : recordings) {
    held += fmt::format("\n  {} of {} on {} ({})", kernel_name_of(recording, recording.name),
                        problem_text(recording.problem), recording.device.name, recording.device.arch);
    if (kernel_name_of(recording, recording.name) != spec.kernel.name) continue;
    if (recording.problem != problem) continue;
    if (arch.empty() || recording.device.arch == arch) fitting.push_back(&recording);
  }
  if (fitting.empty())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("nothing recorded of kernel {} for {}{}; the recording holds:{}", spec.kernel.name,
                            problem_text(problem), arch.empty() ? "" : " on " + arch, held));
  if (device < 0 || static_cast<std::size_t>(device) >= fitting.size())
    throw Error(ErrorKind::invalid_argument, fmt::format("--device {}: there are recordings of {} devices (0 to {})",
                                                         device, fitting.size(), fitting.size() - 1));
  return *fitting[static_cast<std::size_t>(device)];
}

run::Target target_of(const Recording& recording) {
  run::Target target;
  target.device = recording.device;
  target.device.backend = "replay";
  target.device.index = 0;
  target.arch = recording.device.arch;
  target.backend.name = "replay";
  target.backend.devices = {target.device};
  target.backend.toolchain = fmt::format("recording {} ({})", recording.name, digest_of(recording));
  target.backend.default_arch = target.arch;
  return target;
}

void prepare(spec::Spec& spec) {
  for (space::Parameter& parameter : spec.parameters) parameter.compile_time = true;
  spec.validate.reference = {};
  spec.process.reset();
  spec.measure.race = false;
  spec.measure.finals = 0;
}

std::uint64_t recorded_of(const space::Space& space, const Recording& recording) {
  const std::vector<search::Observation> known = map_observations(recording, space);
  if (known.empty())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} is a recording of another space: its parameters are {}; the spec's are {}",
                            recording.name, names_text(recording.space.parameters()), names_text(space.parameters())));
  return known.size();
}

void Simulation::after_s(double seconds, std::function<void()> event) {
  constexpr double longest_s = 1e9;  // about thirty years: a recording may contain any number
  const double delay_s = std::isfinite(seconds) ? std::clamp(seconds, 0.0, longest_s) : 0;
  events_.emplace(std::pair(now_ns_ + static_cast<std::int64_t>(std::llround(delay_s * 1e9)), asked_++),
                  std::move(event));
  if (stepping_) return;
  stepping_ = true;
  loop_.post([this] { step(); });
}

void Simulation::step() {
  auto first = events_.extract(events_.begin());
  now_ns_ = first.key().first;
  stepping_ = !events_.empty();
  if (stepping_) loop_.post([this] { step(); });
  first.mapped()();
}

RecordedAnswers::RecordedAnswers(const Recording& recording) : recording_(recording) {
  for (std::uint64_t index = 0; index < recording.space.size(); ++index) {
    build::CompileRequest request;
    const space::Config config = recording.space.at(index);
    for (std::size_t i = 0; i < config.size(); ++i)
      request.defines.emplace_back(recording.space.parameters()[i].name, space::to_define(config[i]));
    by_text_.emplace(text_of(request), index);
  }
}

// The recording's parameters in their order, without other defines of the kernel.
std::string RecordedAnswers::text_of(const build::CompileRequest& request) const {
  std::string text;
  for (const space::Parameter& parameter : recording_.space.parameters()) {
    const auto found = std::find_if(request.defines.begin(), request.defines.end(),
                                    [&](const auto& define) { return define.first == parameter.name; });
    if (found != request.defines.end()) text += found->second;
    text += '\n';
  }
  return text;
}

const RecordedConfig* RecordedAnswers::find(const std::string& key, const build::CompileRequest& request) {
  const auto found = by_text_.find(text_of(request));
  if (found == by_text_.end()) return nullptr;
  by_key_[key] = found->second;
  return &recording_.configs[found->second];
}

const RecordedConfig* RecordedAnswers::find(const std::string& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &recording_.configs[found->second];
}

void ReplayCompileService::compile(const run::CompileJob& job, double /*timeout_s*/, Callback callback) {
  Waiting waiting{job.key, job.request, std::move(callback), job.expected_s.value_or(HUGE_VAL)};
  if (running_ < jobs_)
    start(std::move(waiting));
  else
    waiting_.push_back(std::move(waiting));
}

void ReplayCompileService::start(Waiting waiting) {
  ++running_;
  const RecordedConfig* const config = answers_.find(waiting.key, waiting.request);
  run::CompileAnswer answer;
  answer.artifact.key = waiting.key;
  if (!config) {
    answer.outcome = Outcome::rejected;
    answer.message = "not in the recording " + answers_.recording().name;
  } else {
    answer.artifact.compile_s = answer.cpu_s = config->compile_s;
    if (ends_before_running(*config)) {
      answer.outcome = config->outcome;
      answer.message = config->message;
    }
  }
  simulation_.after_s(config ? config->compile_s : 0,
                      [this, asked_in = epoch_, answer = std::move(answer), callback = std::move(waiting.callback)] {
                        if (asked_in != epoch_) return;
                        --running_;
                        if (!waiting_.empty()) {
                          const auto longest = std::ranges::max_element(waiting_, {}, &Waiting::expected_s);
                          Waiting next = std::move(*longest);
                          waiting_.erase(longest);
                          start(std::move(next));
                        }
                        callback(answer);
                      });
}

void ReplayCompileService::cancel_all() {
  ++epoch_;
  running_ = 0;
  waiting_.clear();
}

void ReplayBenchService::bench(const run::BenchJob& job, double /*timeout_s*/, Callback callback) {
  const RecordedConfig* const config = answers_.find(job.artifact.key);
  run::BenchAnswer answer;
  if (!config) {
    answer.outcome = Outcome::rejected;
    answer.stage = "load";
    answer.message = "not in the recording " + answers_.recording().name;
  } else {
    answer.outcome = config->outcome;
    answer.stage = config->stage.empty() ? "run" : config->stage;
    answer.message = config->message;
    answer.samples_ms = config->samples_ms;
    answer.taints = config->tainted;
    answer.busy_s = config->bench_s;
  }
  simulation_.after_s(answer.busy_s, [this, asked_in = epoch_, answer, callback = std::move(callback)] {
    if (asked_in == epoch_) callback(answer);
  });
}

void ReplayBenchService::measure_rounds(const run::RoundsJob& job, double /*timeout_s*/, RoundsCallback callback) {
  run::RoundsAnswer answer;
  answer.samples_ms.resize(job.jobs.size());
  for (const std::vector<std::size_t>& round : job.rounds)
    for (const std::size_t index : round) {
      const RecordedConfig* const config = answers_.find(job.jobs[index].artifact.key);
      if (!config || config->samples_ms.empty()) continue;
      std::vector<double>& samples_ms = answer.samples_ms[index];
      samples_ms.push_back(config->samples_ms[samples_ms.size() % config->samples_ms.size()]);
      answer.busy_s += samples_ms.back() * 1e-3;
    }
  simulation_.after_s(answer.busy_s, [this, asked_in = epoch_, answer, callback = std::move(callback)] {
    if (asked_in == epoch_) callback(answer);
  });
}

}  // namespace xtune::lab
