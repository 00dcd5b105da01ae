// The GPU: its stream, its events and memory, the outcomes of failing driver calls, and loaded kernels with their
// launches: limits, arguments, and one timed run.
#include "backends/gpu/device.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "backends/gpu/queue_timer.hpp"
#include "base/text.hpp"
#include "core/build/shortage.hpp"
#include "core/build/step_limits.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::gpu {
namespace {

class GpuBuffer final : public measure::Buffer {
 public:
  GpuBuffer(std::shared_ptr<Session> session, std::size_t bytes)
      : session_(std::move(session)), size_(bytes), address_(session_->allocate(bytes, "a buffer")), owned_(true) {}
  GpuBuffer(std::shared_ptr<Session> session, void* address, std::size_t bytes)
      : session_(std::move(session)), size_(bytes), address_(address), owned_(false) {}
  ~GpuBuffer() override {
    if (!owned_) return;
    try {
      session_->api().free(address_);
    } catch (...) {  // a destructor never throws
    }
  }
  GpuBuffer(const GpuBuffer&) = delete;
  GpuBuffer& operator=(const GpuBuffer&) = delete;

  std::size_t size() const noexcept override { return size_; }
  void* address() noexcept override { return address_; }

  void write(std::size_t offset, std::span<const std::byte> bytes) override {
    check_range(offset, bytes.size());
    if (bytes.empty()) return;
    session_->check(session_->api().copy_to_device(at(offset), bytes.data(), bytes.size()), "copying to the device");
  }

  void read(std::size_t offset, std::span<std::byte> bytes) override {
    check_range(offset, bytes.size());
    if (bytes.empty()) return;
    session_->check(session_->api().copy_to_host(bytes.data(), at(offset), bytes.size()), "copying from the device");
  }

  void fill(std::size_t offset, std::size_t size, std::byte value) override {
    check_range(offset, size);
    if (size == 0) return;
    const DriverApi& api = session_->api();
    session_->check(api.fill(at(offset), std::to_integer<unsigned char>(value), size, session_->stream()),
                    "filling device memory");
    session_->check(api.synchronize_stream(session_->stream()), "filling device memory");
  }

 private:
  void* at(std::size_t offset) const noexcept { return static_cast<std::byte*>(address_) + offset; }
  void check_range(std::size_t offset, std::size_t size) const {
    if (offset > size_ || size > size_ - offset)
      throw std::out_of_range(fmt::format("bytes [{}, +{}) lie outside a buffer of {} bytes", offset, size, size_));
  }

  std::shared_ptr<Session> session_;
  std::size_t size_;
  void* address_;
  bool owned_;
};

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
      if (measure::Buffer* const buffer = measure::buffer_of(values[i])) {
        addresses[i] = buffer->address();
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
      const bool is_buffer = measure::buffer_of(values[i]) != nullptr;
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
      require_resident(api, session_->info(), function_, step_.launch);
    } catch (build::CandidateFailure& failure) {
      failure.set_message(step_.named(failure.what()));
      throw;
    }
  }

  /// Those of the configuration's arguments that this kernel takes.
  Arguments arguments(std::span<const measure::KernelArgument> all) const {
    const std::vector<measure::KernelArgument> own = step_.chosen(all);
    if (parameters_) check_arguments(own);
    return Arguments(own);
  }

  void launch(Arguments& arguments) const {
    session_->check_launch(
        session_->api().launch(function_, step_.launch, session_->stream(), arguments.pointers.data()), doing_.c_str());
  }
  const device::Step& step() const noexcept { return step_; }

 private:
  /// The driver reads as many pointers as the kernel has parameters, so a missing one would crash this process.
  void check_arguments(std::span<const measure::KernelArgument> arguments) const {
    std::vector<std::size_t> given;
    for (const measure::KernelArgument& argument : arguments) {
      const bool is_buffer = measure::buffer_of(argument) != nullptr;
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
      for (std::size_t i = 0; i < launches.size(); ++i) {
        if (i % steps_.size() == 0) zero(options.zeroed);
        steps_[i % steps_.size()].launch(launches[i]);
      }
    };
    LaunchGraph* const graph = options.graph && launched_ ? &graph_of(launches, options.zeroed, work) : nullptr;
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
  } catch (build::CandidateFailure& failure) {
    // The device reports a fault after all steps are queued, without the kernel that caused it.
    if (steps_.size() < 2 || failure.outcome() != Outcome::crashed || build::lack_of(failure) != build::Lack::none)
      throw;
    std::string names;
    for (const LoadedStep& step : steps_) names += (names.empty() ? "" : ", ") + step.step().name;
    failure.set_message(fmt::format("{} (in one of {})", failure.what(), names));
    throw;
  }

  std::unique_ptr<measure::Buffer> variable(std::size_t number) override {
    const std::string& symbol = variables_.at(number);
    void* address = nullptr;
    std::size_t bytes = 0;
    session_->check_launch(session_->api().find_variable(&address, &bytes, module_.handle(), symbol.c_str()),
                           fmt::format("finding variable '{}'", symbol).c_str());
    return std::make_unique<GpuBuffer>(session_, address, bytes);
  }

 private:
  /// Queues it.
  void zero(std::span<measure::Buffer* const> buffers) const {
    for (measure::Buffer* const buffer : buffers)
      session_->check_launch(session_->api().fill(buffer->address(), 0, buffer->size(), session_->stream()),
                             "zeroing a buffer");
  }
  /// Kernels that are served from graphs launch one graph repeatedly, so graphs are kept. Those of rotating sets
  /// of buffers differ in their arguments.
  LaunchGraph& graph_of(const std::vector<Arguments>& launches, std::span<measure::Buffer* const> zeroed,
                        const std::function<void()>& work) {
    constexpr std::size_t max_graphs = 64;
    std::string key = std::to_string(launches.size()) + ":";  // kernels without arguments differ only in this
    for (measure::Buffer* const buffer : zeroed) key += fmt::format("{}+{}:", buffer->address(), buffer->size());
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

Session::Session(DriverApi api, device::DeviceInfo info) : api_(std::move(api)), info_(std::move(info)) {
  Status status = api_.create_stream(&stream_);
  if (status == 0) status = api_.create_event(&start_);
  if (status == 0) status = api_.create_event(&stop_);
  if (status == 0) return;
  const std::string reason = api_.describe(status);
  release();
  throw Error(ErrorKind::unavailable,
              fmt::format("device {} ({}) does not answer: {}", info_.index, info_.name, reason));
}

Session::~Session() { release(); }

void Session::release() noexcept {
  // After a fault every call fails; the process that owns the device is about to end, so results are ignored.
  timer_.reset();
  try {
    if (flush_) api_.free(flush_);
    if (stop_) api_.destroy_event(stop_);
    if (start_) api_.destroy_event(start_);
    if (stream_) api_.destroy_stream(stream_);
    if (api_.close) api_.close();
  } catch (...) {
  }
}

void Session::fail(Status status, Outcome outcome, const char* doing) const {
  const std::string message = fmt::format("{}: {}", doing, api_.describe(status));
  // Another process may hold the memory that a kernel's stacks or static arrays need.
  if (const build::Lack lack = api_.lack(status); lack != build::Lack::none)
    throw build::ShortageFailure(lack, outcome, message);
  throw build::CandidateFailure(outcome, message);
}

void Session::check(Status status, const char* doing) const {
  if (status != 0) fail(status, Outcome::crashed, doing);
}

void Session::check_launch(Status status, const char* doing) const {
  if (status != 0) fail(status, api_.is_sticky(status) ? Outcome::crashed : Outcome::launch_failed, doing);
}

void* Session::allocate(std::size_t bytes, const char* what) {
  void* address = nullptr;
  // The driver refuses an empty allocation, and an empty buffer is a valid argument.
  const Status status = api_.allocate(&address, bytes ? bytes : 1);
  if (status == 0) return address;
  if (api_.is_sticky(status)) check(status, "allocating device memory");
  std::string hint;
  if (api_.lack(status) == build::Lack::memory) hint = "; use a smaller problem, or a device with more free memory";
  throw Error(ErrorKind::unavailable, fmt::format("cannot allocate {} for {} on {}: {}{}", base::human_bytes(bytes),
                                                  what, info_.name, api_.describe(status), hint));
}

QueueTimer& Session::timer() {
  if (!timer_) timer_ = std::make_unique<QueueTimer>(*this);
  return *timer_;
}

void* Session::flush_memory(std::size_t bytes) {
  if (bytes <= flush_bytes_) return flush_;
  if (flush_) {
    api_.free(flush_);
    flush_ = nullptr;
    flush_bytes_ = 0;
  }
  flush_ = allocate(bytes, "flushing the L2 cache");
  flush_bytes_ = bytes;
  return flush_;
}

void Session::flush(std::size_t bytes) {
  check(api_.fill(flush_memory(bytes), 0, bytes, stream_), "flushing the L2 cache");
}

namespace {

class GpuDevice final : public measure::Device {
 public:
  GpuDevice(DriverApi api, device::DeviceInfo info)
      : session_(std::make_shared<Session>(std::move(api), std::move(info))) {}
  const device::DeviceInfo& info() const noexcept override { return session_->info(); }
  std::unique_ptr<measure::Buffer> allocate(std::size_t bytes) override {
    return std::make_unique<GpuBuffer>(session_, bytes);
  }
  void name_memory(const void* address, std::size_t bytes, const std::string& name) override {
    if (session_->api().name_memory) session_->api().name_memory(address, bytes, name);
  }
  std::unique_ptr<measure::Program> load(const build::Artifact& artifact, const device::LaunchPlan& launch) override {
    build::reject_forbidden(launch, artifact, session_->info());
    return std::make_unique<GpuProgram>(session_, artifact, launch);
  }
  measure::EncodedTensorMap encode(const measure::TensorMap& map, void* address) override {
    return encoded(session_->api(), session_->info(), map, address);
  }
  measure::TimerInfo timer() override { return session_->timer().info(); }
  std::string lack_of_graphs() const override {
    const DriverApi& api = session_->api();
    return api.begin_capture
               ? ""
               : fmt::format("the driver of {} has no graphs; they need {}", info().name, api.graphs_need);
  }
  measure::DeviceState state() override {
    return session_->api().state ? session_->api().state() : measure::DeviceState();
  }

 private:
  std::shared_ptr<Session> session_;
};

}  // namespace

namespace {

std::uint64_t volume(const std::array<std::uint32_t, 3>& extents) {
  return std::uint64_t{extents[0]} * extents[1] * extents[2];
}

[[noreturn]] void reject(const std::string& why) { throw build::CandidateFailure(Outcome::rejected, why); }

/// Returns how many clusters run at once.
std::uint64_t active_clusters(const DriverApi& api, const device::DeviceInfo& info, Function function,
                              const device::Launch& launch) {
  if (!api.active_clusters)
    reject(fmt::format("{} ({}) has no thread block clusters; they need sm_90 and a driver for CUDA 11.8", info.name,
                       info.arch));
  const std::string cluster =
      fmt::format("a cluster of {} blocks, each with {} threads and {} bytes of dynamic shared memory",
                  volume(launch.cluster), volume(launch.block), launch.shared_bytes);
  int count = 0;
  if (const Status status = api.active_clusters(&count, function, launch); status != 0)
    reject(fmt::format("the driver refuses {}: {}", cluster, api.describe(status)));
  if (count < 1)
    reject(fmt::format("{} ({}) cannot run {}: the driver counts 0 at once", info.name, info.arch, cluster));
  return static_cast<std::uint64_t>(count);
}

}  // namespace

void require_resident(const DriverApi& api, const device::DeviceInfo& info, Function function,
                      const device::Launch& launch) {
  const bool in_clusters = launch.cluster[0] != 0;
  const std::uint64_t clusters = in_clusters ? active_clusters(api, info, function, launch) : 0;
  if (!launch.cooperative) return;
  if (!api.resident_blocks) reject(fmt::format("{} ({}) has no cooperative launches", info.name, info.arch));
  if (in_clusters && launch.blocks() > clusters * volume(launch.cluster))
    reject(fmt::format("a cooperative launch of {} blocks exceeds the {} that are resident at once ({} clusters)",
                       launch.blocks(), clusters * volume(launch.cluster), clusters));
  if (in_clusters) return;
  int each = 0;
  if (const Status status = api.resident_blocks(&each, function, launch); status != 0)
    reject(fmt::format("the driver does not count the blocks that are resident at once: {}", api.describe(status)));
  if (const auto reason = device::exceeds_resident(launch, each, info)) reject(*reason);
}

measure::EncodedTensorMap encoded(const DriverApi& api, const device::DeviceInfo& info, const measure::TensorMap& map,
                                  void* address) {
  if (const auto lack = measure::lack_of_tensor_maps(info)) reject(*lack);
  if (!api.encode_tensor_map)
    reject(fmt::format("{} ({}): the driver has no tensor maps; they need one for CUDA 12", info.name, info.arch));
  if (const auto complaint = measure::forbidden_address(map, address)) reject(*complaint);
  measure::EncodedTensorMap result;
  if (const Status status = api.encode_tensor_map(&result, map, address); status != 0)
    reject(fmt::format("the driver refuses the tensor map {}: {}", measure::to_string(map), api.describe(status)));
  return result;
}

std::unique_ptr<measure::Device> make_device(DriverApi api, device::DeviceInfo info) {
  return std::make_unique<GpuDevice>(std::move(api), std::move(info));
}

}  // namespace xtune::gpu
