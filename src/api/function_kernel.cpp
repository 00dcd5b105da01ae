// Threads take tasks from a queue; the loop's thread delivers what they have done.
#include "api/function_kernel.hpp"

#include <fmt/core.h>
#include <uv.h>

#include <algorithm>
#include <exception>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "api/run_turn.hpp"
#include "core/build/cache.hpp"
#include "core/device/program_call.hpp"
#include "core/measure/statistics.hpp"
#include "core/space/space.hpp"
#include "system/clock.hpp"
#include "xtune/error.hpp"
#include "xtune/value.hpp"

namespace xtune {
namespace {

/// As a command has it.
std::string word_of(const Value& value) {
  const bool* const flag = std::get_if<bool>(&value);
  return flag ? std::to_string(*flag) : to_text(value);
}

/// words: anything, then NAME=VALUE for each parameter in its order, then anything. A word is compared with the texts
/// of the parameter's values, so that each value keeps its type. Throws Error(invalid_spec) for a word that is not a
/// value of its parameter.
Bindings config_of_words(const std::vector<std::string>& words, const std::vector<space::Parameter>& parameters) {
  Bindings config;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const space::Parameter& parameter = parameters[i];
    const std::string word = device::from_call_text(words.at(i + 1), {});
    const auto value = std::find_if(parameter.values.begin(), parameter.values.end(),
                                    [&](const Value& each) { return word == parameter.name + "=" + word_of(each); });
    if (value == parameter.values.end())
      throw Error(ErrorKind::invalid_spec, word + " is not a value of the parameter " + parameter.name);
    config.emplace(parameter.name, *value);
  }
  return config;
}

}  // namespace

struct FunctionCompiler::Wake {
  uv_async_t async;
  FunctionCompiler* owner;

  explicit Wake(FunctionCompiler& compiler) : owner(&compiler) {
    uv_async_init(compiler.loop_.raw(), &async, [](uv_async_t* handle) {
      FunctionCompiler* const target = static_cast<Wake*>(handle->data)->owner;
      if (target) target->loop_.guarded([target] { target->deliver(); });
    });
    async.data = this;
    keep_loop(false);
  }
  uv_handle_t* handle() noexcept { return reinterpret_cast<uv_handle_t*>(&async); }
  void keep_loop(bool keep) noexcept { keep ? uv_ref(handle()) : uv_unref(handle()); }
  void close() noexcept {
    owner = nullptr;
    uv_close(handle(), [](uv_handle_t* closed) { delete static_cast<Wake*>(closed->data); });
  }
};

FunctionCompiler::FunctionCompiler(system::EventLoop& loop, std::size_t jobs, std::vector<space::Parameter> parameters,
                                   Prepare prepare)
    : loop_(loop),
      jobs_(jobs),
      parameters_(std::move(parameters)),
      prepare_(std::move(prepare)),
      wake_(new Wake(*this)) {}

FunctionCompiler::~FunctionCompiler() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  wake_->close();
}

void FunctionCompiler::compile(const run::CompileJob& job, double /*timeout_s*/, Callback callback) {
  Task task;
  task.number = next_++;
  task.job = job;
  task.callback = std::move(callback);
  if (pending_++ == 0) wake_->keep_loop(true);
  task.answer.artifact.key = job.key;
  task.answer.artifact.backend = job.backend;
  task.answer.artifact.arch = job.request.arch;
  task.answer.artifact.format = "program";
  task.answer.cached = prepared_.contains(job.key);
  const std::lock_guard lock(mutex_);
  if (!prepare_ || task.answer.cached) {
    done_.push_back(std::move(task));
    uv_async_send(&wake_->async);
    return;
  }
  waiting_.push_back(std::move(task));
  if (threads_.size() < jobs_) try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& failure) {  // fewer threads do the work, too
      if (threads_.empty())
        throw Error(ErrorKind::unavailable,
                    std::string("no thread can be started to prepare configurations: ") + failure.what());
    }
  changed_.notify_one();
}

void FunctionCompiler::cancel_all() {
  first_wanted_ = next_;
  pending_ = 0;
  wake_->keep_loop(false);
  std::unique_lock lock(mutex_);
  waiting_.clear();
  idle_.wait(lock, [this] { return running_ == 0; });  // calls in progress would disturb what is timed next
  done_.clear();
}

void FunctionCompiler::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (ending_) return;
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    ++running_;
    lock.unlock();
    run(task);
    lock.lock();
    if (--running_ == 0) idle_.notify_all();
    done_.push_back(std::move(task));
    uv_async_send(&wake_->async);
  }
}

void FunctionCompiler::run(Task& task) const {
  const std::int64_t begin_ns = system::system_clock().now_ns();
  try {
    prepare_(config_of_words(task.job.request.options, parameters_));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) task.interruption = std::current_exception();
    task.answer.outcome = Outcome::compile_failed;
    task.answer.message = error.what();
  } catch (const std::exception& error) {
    task.answer.outcome = Outcome::compile_failed;
    task.answer.message = error.what();
  } catch (...) {
    task.answer.outcome = Outcome::compile_failed;
    task.answer.message = "it threw something that is not a std::exception";
  }
  task.answer.artifact.compile_s = static_cast<double>(system::system_clock().now_ns() - begin_ns) * 1e-9;
}

void FunctionCompiler::deliver() {
  std::vector<Task> done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
  }
  for (Task& task : done) {
    if (task.number < first_wanted_) continue;  // also one that a callback below has cancelled
    if (--pending_ == 0) wake_->keep_loop(false);
    if (task.interruption) std::rethrow_exception(task.interruption);
    if (task.answer.outcome == Outcome::ok && prepared_.insert(task.job.key).second)
      build::ArtifactCache(worker::scratch_cache(task.job.scratch)).insert(task.answer.artifact, task.job.request);
    task.callback(std::move(task.answer));
  }
}

namespace {

class FunctionProgram final : public measure::Program {
 public:
  FunctionProgram(const std::function<double(const Bindings&)>& timed, Bindings config)
      : timed_(timed), config_(std::move(config)) {}

  measure::Sample run(const measure::RunOptions& options) override {
    double total_ms = 0;
    for (std::size_t i = 0; i <= options.more.size(); ++i) total_ms += time();
    measure::Sample sample;
    sample.time_ms = total_ms / static_cast<double>(1 + options.more.size());
    return sample;
  }
  bool times_itself() const noexcept override { return true; }

 private:
  double time() {
    double time_ms = 0;
    try {
      time_ms = timed_(config_);
    } catch (const std::exception& error) {
      pass_interruption(error);
      throw build::CandidateFailure(Outcome::launch_failed, error.what());
    }
    if (!measure::is_time(time_ms))
      throw build::CandidateFailure(
          Outcome::launch_failed,
          fmt::format("the function returned {} as its time; times are {}", time_ms, measure::possible_times));
    return time_ms;
  }

  const std::function<double(const Bindings&)>& timed_;
  const Bindings config_;
};

class FunctionDevice final : public measure::Device {
 public:
  FunctionDevice(device::DeviceInfo info, std::vector<space::Parameter> parameters,
                 std::function<double(const Bindings&)> timed)
      : info_(std::move(info)), parameters_(std::move(parameters)), timed_(std::move(timed)) {}

  const device::DeviceInfo& info() const noexcept override { return info_; }
  std::unique_ptr<measure::Buffer> allocate(std::size_t /*bytes*/) override {
    throw Error(ErrorKind::unsupported, "a function has no xtune buffers");
  }
  std::unique_ptr<measure::Program> load(const build::Artifact& /*artifact*/,
                                         const device::LaunchPlan& launch) override {
    return std::make_unique<FunctionProgram>(timed_, config_of_words(launch.call.value().words, parameters_));
  }

 private:
  const device::DeviceInfo info_;
  const std::vector<space::Parameter> parameters_;
  const std::function<double(const Bindings&)> timed_;
};

}  // namespace

std::unique_ptr<measure::Device> make_function_device(device::DeviceInfo info, std::vector<space::Parameter> parameters,
                                                      std::function<double(const Bindings& config)> timed) {
  return std::make_unique<FunctionDevice>(std::move(info), std::move(parameters), std::move(timed));
}

}  // namespace xtune
