// Answers from a recording.
#include "backends/replay/services.hpp"

#include <algorithm>

namespace xtune::replay {
namespace {

bool ends_before_running(const RecordedConfig& config) {
  return config.outcome == Outcome::compile_failed || config.stage == "compile" || config.stage == "space";
}

}  // namespace

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

void ReplayCompileService::compile(const ipc::CompileJob& job, double /*timeout_s*/, Callback callback) {
  Waiting waiting{job.key, job.request, std::move(callback)};
  if (running_ < jobs_)
    start(std::move(waiting));
  else
    waiting_.push_back(std::move(waiting));
}

void ReplayCompileService::start(Waiting waiting) {
  ++running_;
  const RecordedConfig* const config = answers_.find(waiting.key, waiting.request);
  ipc::CompileAnswer answer;
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
                          Waiting next = std::move(waiting_.front());
                          waiting_.pop_front();
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

void ReplayBenchService::bench(const ipc::BenchJob& job, double /*timeout_s*/, Callback callback) {
  const RecordedConfig* const config = answers_.find(job.artifact.key);
  ipc::BenchAnswer answer;
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

void ReplayBenchService::measure_rounds(const ipc::RoundsJob& job, double /*timeout_s*/, RoundsCallback callback) {
  ipc::RoundsAnswer answer;
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

}  // namespace xtune::replay
