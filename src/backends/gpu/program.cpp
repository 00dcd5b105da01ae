// Loaded kernels with their launches: limits, arguments, and one timed run.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/gpu/device.hpp"
#include "backends/gpu/graph.hpp"
#include "core/build/shortage.hpp"
#include "core/build/step_limits.hpp"
#include "xtune/outcome.hpp"

namespace xtune::gpu {
namespace {

/// Owns a module of the driver.
class LoadedModule {
 public:
  LoadedModule(Session& session, const std::string& image) : session_(session) {
    session.check_launch(session.api().load_module(&handle_, image), "loading the kernel");
  }
  ~LoadedModule() {
    try {
      session_.api().unload_module(handle_);
    } catch (...) {  // a destructor never throws
    }
  }
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  Module handle() const noexcept { return handle_; }

 private:
  Session& session_;
  Module handle_ = nullptr;
};

/// The values of one kernel launch and the pointers to them that the driver takes.
struct Arguments {
  explicit Arguments(std::span<const measure::KernelArgument> arguments)
      : addresses(arguments.size()), values(arguments.begin(), arguments.end()), pointers(arguments.size()) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (auto* buffer = std::get_if<measure::Buffer*>(&values[i])) {
        addresses[i] = (*buffer)->address();
        pointers[i] = &addresses[i];
      } else {
        pointers[i] = const_cast<std::byte*>(measure::value_bytes(values[i]).data());
      }
    }
  }
  /// The bytes that the kernel gets.
  std::string bytes() const {
    std::string all;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const bool is_buffer = std::holds_alternative<measure::Buffer*>(values[i]);
      all.append(static_cast<const char*>(pointers[i]),
                 is_buffer ? sizeof(void*) : measure::value_bytes(values[i]).size());
    }
    return all;
  }
  std::vector<void*> addresses;
  std::vector<measure::KernelArgument> values;
  std::vector<void*> pointers;
};

/// One kernel of a loaded module, with its launch. The module must outlive it.
class LoadedStep {
 public:
  LoadedStep(Session& session, Module module, const build::Artifact& artifact, device::Step step)
      : session_(&session), step_(std::move(step)), symbol_(build::entry_of(artifact, step_.kernel).symbol) {
    const DriverApi& api = session.api();
    session.check_launch(api.find_function(&function_, module, symbol_.c_str()),
                         step_.named(fmt::format("finding kernel '{}'", symbol_)).c_str());
    session.check_launch(api.function_attributes(&attributes_, function_),
                         step_.named("asking for the kernel's attributes").c_str());
    if (const auto reason = device::forbidden(
            step_.launch, {attributes_.registers, attributes_.max_threads_per_block, attributes_.static_shared_bytes},
            session.info()))
      throw build::CandidateFailure(Outcome::rejected, step_.named(*reason));
    if (api.parameter_sizes) parameters_ = api.parameter_sizes(function_, artifact, symbol_);
  }

  /// Before the first launch. max_shared_bytes: of all steps with this kernel, since a smaller allowance would replace
  /// a larger one.
  void allow(std::uint32_t max_shared_bytes) const {
    const DriverApi& api = session_->api();
    const std::int64_t shared = attributes_.static_shared_bytes + max_shared_bytes;
    if (max_shared_bytes > 0 && shared > session_->info().shared_per_block && api.allow_dynamic_shared)
      session_->check_launch(api.allow_dynamic_shared(function_, max_shared_bytes),
                             step_.named("opting in to large dynamic shared memory").c_str());
    try {
      require_cluster(api, session_->info(), function_, step_.launch);
    } catch (const build::CandidateFailure& failure) {
      throw build::CandidateFailure(failure.outcome(), step_.named(failure.what()));
    }
  }

  /// Those of the configuration's arguments that this kernel takes.
  Arguments arguments(std::span<const measure::KernelArgument> all) const {
    const std::vector<measure::KernelArgument> own = step_.chosen(all);
    if (parameters_) check_arguments(own);
    return Arguments(own);
  }

  void launch(Arguments& arguments) const {
    const auto& call = has_cluster() ? session_->api().launch_cluster : session_->api().launch;
    session_->check_launch(call(function_, step_.launch, session_->stream(), arguments.pointers.data()),
                           doing_.c_str());
  }
  const device::Step& step() const noexcept { return step_; }

 private:
  /// The driver reads as many pointers as the kernel has parameters, so a missing one would crash this process.
  void check_arguments(std::span<const measure::KernelArgument> arguments) const {
    std::vector<std::size_t> given;
    for (const measure::KernelArgument& argument : arguments) {
      const bool is_buffer = std::holds_alternative<measure::Buffer*>(argument);
      given.push_back(is_buffer ? sizeof(void*) : measure::value_bytes(argument).size());
    }
    if (given != *parameters_)
      throw build::CandidateFailure(
          Outcome::launch_failed,
          step_.named(fmt::format("kernel '{}' takes {} parameters of [{}] bytes, but {} args are {} of [{}] bytes",
                                  symbol_, parameters_->size(), fmt::join(*parameters_, ", "),
                                  step_.name.empty() ? "the spec's" : "the step's", given.size(),
                                  fmt::join(given, ", "))));
  }

  bool has_cluster() const noexcept { return step_.launch.cluster[0] != 0; }

  Session* session_;
  device::Step step_;
  std::string symbol_;
  std::string doing_ = step_.name.empty() ? "launching the kernel" : "launching " + step_.name;
  Function function_ = nullptr;
  FunctionAttributes attributes_;
  std::optional<std::vector<std::size_t>> parameters_;
};

class GpuProgram final : public measure::Program {
 public:
  GpuProgram(std::shared_ptr<Session> session, const build::Artifact& artifact, const device::LaunchPlan& plan)
      : session_(std::move(session)), module_(*session_, artifact.image), variables_(artifact.variables) {
    for (const device::Step& step : plan.steps) steps_.emplace_back(*session_, module_.handle(), artifact, step);
    for (const LoadedStep& step : steps_) {
      std::uint32_t most = 0;
      for (const device::Step& other : plan.steps)
        if (other.kernel == step.step().kernel) most = std::max(most, other.launch.shared_bytes);
      step.allow(most);
    }
  }

  measure::Sample run(const measure::RunOptions& options) override try {
    std::vector<Arguments> launches;
    const auto add = [&](std::span<const measure::KernelArgument> arguments) {
      for (const LoadedStep& step : steps_) launches.push_back(step.arguments(arguments));
    };
    add(options.arguments);
    for (const auto& arguments : options.more) add(arguments);
    const auto work = [&] {
      for (std::size_t i = 0; i < launches.size(); ++i) steps_[i % steps_.size()].launch(launches[i]);
    };
    LaunchGraph* const graph = options.graph && launched_ ? &graph_of(launches, work) : nullptr;
    if (options.timed) {
      const auto count = static_cast<int>(1 + options.more.size());
      QueueTimer& timer = session_->timer();
      const measure::Sample sample = graph ? timer.time(options.flush_bytes, count, *graph)
                                           : timer.time(options.flush_bytes, count, launched_, work);
      launched_ = true;
      return sample;
    }
    if (options.flush_bytes > 0) session_->flush(options.flush_bytes);
    graph ? graph->launch() : work();
    session_->check(session_->api().synchronize_stream(session_->stream()), "running the kernel");
    launched_ = true;
    return {};
  } catch (const build::CandidateFailure& failure) {
    // The device reports a fault after all steps are queued, without the kernel that caused it.
    if (steps_.size() < 2 || failure.outcome() != Outcome::crashed || build::lack_of(failure) != build::Lack::none)
      throw;
    std::string names;
    for (const LoadedStep& step : steps_) names += (names.empty() ? "" : ", ") + step.step().name;
    throw build::CandidateFailure(failure.outcome(), fmt::format("{} (in one of {})", failure.what(), names),
                                  failure.log());
  }

  std::unique_ptr<measure::Buffer> variable(std::size_t number) override {
    const std::string& symbol = variables_.at(number);
    void* address = nullptr;
    std::size_t bytes = 0;
    session_->check_launch(session_->api().find_variable(&address, &bytes, module_.handle(), symbol.c_str()),
                           fmt::format("finding variable '{}'", symbol).c_str());
    return make_view(session_, address, bytes);
  }

 private:
  /// Kernels that are served from graphs launch one graph repeatedly, so graphs are kept. Those of rotating sets
  /// of buffers differ in their arguments.
  LaunchGraph& graph_of(const std::vector<Arguments>& launches, const std::function<void()>& work) {
    constexpr std::size_t max_graphs = 64;
    std::string key = std::to_string(launches.size()) + ":";  // kernels without arguments differ only in this
    for (const Arguments& arguments : launches) key += arguments.bytes();
    std::unique_ptr<LaunchGraph>* known = &graphs_[key];
    if (!*known && graphs_.size() > max_graphs) {
      graphs_.clear();
      known = &graphs_[key];
    }
    if (!*known) *known = std::make_unique<LaunchGraph>(*session_, work);
    return **known;
  }

  std::shared_ptr<Session> session_;
  LoadedModule module_;
  std::vector<LoadedStep> steps_;
  std::vector<std::string> variables_;
  bool launched_ = false;                                       ///< the driver has loaded everything
  std::map<std::string, std::unique_ptr<LaunchGraph>> graphs_;  ///< by the arguments of their launches
};

}  // namespace

std::unique_ptr<measure::Program> make_program(std::shared_ptr<Session> session, const build::Artifact& artifact,
                                               const device::LaunchPlan& plan) {
  build::reject_forbidden(plan, artifact, session->info());
  return std::make_unique<GpuProgram>(std::move(session), artifact, plan);
}

}  // namespace xtune::gpu
