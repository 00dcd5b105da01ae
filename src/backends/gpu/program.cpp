// A loaded kernel with its launch: limits, arguments, and one timed run.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "backends/gpu/device.hpp"
#include "core/device/launch_limits.hpp"
#include "xtune/outcome.hpp"

namespace xtune::gpu {
namespace {

void reject_forbidden(const device::Launch& launch, const device::KernelNeeds& needs, const Session& session) {
  if (auto reason = device::forbidden(launch, needs, session.info()))
    throw build::CandidateFailure(Outcome::rejected, *reason);
}

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

class GpuProgram final : public measure::Program {
 public:
  GpuProgram(std::shared_ptr<Session> session, const build::Artifact& artifact, const device::Launch& launch)
      : session_(std::move(session)),
        module_(*session_, artifact.image),
        launch_(launch),
        name_(artifact.entry_symbol),
        variables_(artifact.variables) {
    const DriverApi& api = session_->api();
    session_->check_launch(api.find_function(&function_, module_.handle(), name_.c_str()),
                           fmt::format("finding kernel '{}'", name_).c_str());
    FunctionAttributes attributes;
    session_->check_launch(api.function_attributes(&attributes, function_), "asking for the kernel's attributes");
    reject_forbidden(launch, {attributes.registers, attributes.max_threads_per_block, attributes.static_shared_bytes},
                     *session_);
    const std::int64_t shared = attributes.static_shared_bytes + launch.shared_bytes;
    if (launch.shared_bytes > 0 && shared > session_->info().shared_per_block && api.allow_dynamic_shared)
      session_->check_launch(api.allow_dynamic_shared(function_, launch.shared_bytes),
                             "opting in to large dynamic shared memory");
    require_cluster(api, session_->info(), function_, launch);
    if (api.parameter_sizes) parameters_ = api.parameter_sizes(function_, artifact);
  }

  measure::Sample run(const measure::RunOptions& options) override {
    std::vector<Arguments> launches;
    launches.reserve(1 + options.more.size());
    launches.push_back(checked(options.arguments));
    for (const auto& arguments : options.more) launches.push_back(checked(arguments));
    const auto work = [&] {
      for (Arguments& arguments : launches)
        session_->check_launch(launch(arguments.pointers.data()), "launching the kernel");
    };
    if (options.timed) {
      const int count = static_cast<int>(launches.size());
      const measure::Sample sample = session_->timer().time(options.flush_bytes, count, launched_, work);
      launched_ = true;
      return sample;
    }
    if (options.flush_bytes > 0) session_->flush(options.flush_bytes);
    work();
    session_->check(session_->api().synchronize_stream(session_->stream()), "running the kernel");
    launched_ = true;
    return {};
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
  /// The values of one launch and the pointers to them that the driver takes.
  struct Arguments {
    explicit Arguments(std::span<const measure::KernelArgument> arguments)
        : addresses(arguments.size()), pointers(arguments.size()) {
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (auto* buffer = std::get_if<measure::Buffer*>(&arguments[i])) {
          addresses[i] = (*buffer)->address();
          pointers[i] = &addresses[i];
        } else {
          pointers[i] = const_cast<std::byte*>(measure::value_bytes(arguments[i]).data());
        }
      }
    }
    std::vector<void*> addresses;
    std::vector<void*> pointers;
  };

  Arguments checked(std::span<const measure::KernelArgument> arguments) const {
    if (parameters_) check_arguments(arguments);
    return Arguments(arguments);
  }

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
          fmt::format("kernel '{}' takes {} parameters of [{}] bytes, but the spec's args are {} of [{}] bytes", name_,
                      parameters_->size(), fmt::join(*parameters_, ", "), given.size(), fmt::join(given, ", ")));
  }

  bool has_cluster() const noexcept { return launch_.cluster[0] != 0; }
  Status launch(void** parameters) const {
    const auto& call = has_cluster() ? session_->api().launch_cluster : session_->api().launch;
    return call(function_, launch_, session_->stream(), parameters);
  }

  std::shared_ptr<Session> session_;
  LoadedModule module_;
  device::Launch launch_;
  std::string name_;
  std::vector<std::string> variables_;
  Function function_ = nullptr;
  std::optional<std::vector<std::size_t>> parameters_;
  bool launched_ = false;  ///< the driver has loaded everything
};

}  // namespace

std::unique_ptr<measure::Program> make_program(std::shared_ptr<Session> session, const build::Artifact& artifact,
                                               const device::Launch& launch) {
  const build::ResourceUsage& usage = artifact.usage;
  reject_forbidden(launch, {usage.registers, usage.max_threads_per_block, usage.static_shared_bytes.value_or(0)},
                   *session);
  return std::make_unique<GpuProgram>(std::move(session), artifact, launch);
}

}  // namespace xtune::gpu
