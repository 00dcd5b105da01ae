// The fake driver with a queue and a clock: spans are as long as the kernels, launches and events in them.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/gpu/queue_timer.hpp"
#include "fakes/fake_driver.hpp"

namespace xtune::fakes {

/// All in milliseconds. Work runs when it is queued, but for what stands behind a hold that the host has not released.
struct SimulatedGpu {
  std::shared_ptr<FakeDriver> driver = std::make_shared<FakeDriver>();
  double event_ms = 0.0015, launch_ms = 0.001;
  double graph_ms = 0.002, node_ms = 0.0002;  ///< what a graph adds to a span, and to each of its launches
  double flush_ms = 0.0005;                   ///< time that a fill before the first event adds to the span
  double mhz = 2000;
  std::map<std::string, double> kernels_ms = {{"kernel", 0.004}};
  int slow_host = 0;               ///< for this many holds from now on, the hold gives up before it is released
  std::string lazy;                ///< this kernel's first launch waits for the device: a held queue gives up
  bool deadlocked = false;         ///< something waited for the device behind a hold that could not be released
  std::vector<std::string> queue;  ///< queued in the stream since the last hold: names of kernels, "fill", "event"

  gpu::DriverApi api();

 private:
  double now_ = 0;
  bool after_fill_ = false, seen_lazy_ = false;
  alignas(8) std::uint32_t flags_[8] = {};
  std::uint32_t ticket_ = 0;
  /// A kernel, or a fill, that was captured, with the first bytes of its parameters; its graph has all that the capture
  /// had so far.
  struct Captured {
    std::string name;
    std::uint64_t first = 0;
  };
  std::map<gpu::Graph, std::vector<Captured>> graphs_;
  std::vector<Captured> captured_;
  bool held() const { return static_cast<std::int32_t>(flags_[0] - ticket_) < 0; }
  void run(const std::string& name, void** parameters);
  friend struct Access;
};

inline void SimulatedGpu::run(const std::string& name, void** parameters) {
  if (name == gpu::timing_kernel::hold) {
    queue.clear();
    std::memcpy(&ticket_, parameters[1], sizeof ticket_);
    if (slow_host > 0) --slow_host, flags_[1] = ticket_;
  }
  queue.push_back(name);
  now_ += launch_ms;
  std::uint64_t count = 0;
  if (name == gpu::timing_kernel::spin) {
    std::memcpy(&count, parameters[0], sizeof count);
    now_ += static_cast<double>(count) / (mhz * 1e3);
  } else if (name == gpu::timing_kernel::clock) {
    std::memcpy(&count, parameters[1], sizeof count);
    const std::uint64_t cycles = static_cast<std::uint64_t>(static_cast<double>(count) * mhz * 1e-3);
    void* out = nullptr;
    std::memcpy(&out, parameters[0], sizeof out);
    std::memcpy(out, &cycles, sizeof cycles);
    std::memcpy(static_cast<char*>(out) + 8, &count, sizeof count);
  } else if (name != gpu::timing_kernel::hold) {
    if (name == lazy && !seen_lazy_ && held()) flags_[1] = ticket_;
    seen_lazy_ = seen_lazy_ || name == lazy;
    now_ += kernels_ms.at(name);
  }
}

/// Borrows this object.
inline gpu::DriverApi SimulatedGpu::api() {
  using namespace gpu;
  DriverApi table = make_fake_driver(driver);
  driver->parameter_bytes.clear();
  static std::map<std::string, int> names;
  table.find_function = [this](Function* out, Module, const char* name) -> Status {
    *out = const_cast<std::string*>(&names.try_emplace(name).first->first);
    return driver->call("find_function");
  };
  table.launch = [this](Function function, const device::Launch&, Stream, void** parameters) -> Status {
    const Status status = driver->call("launch");
    if (driver->capturing) {
      Captured& launch = captured_.emplace_back(Captured{*static_cast<std::string*>(function)});
      if (launch.name == timing_kernel::spin) std::memcpy(&launch.first, parameters[0], sizeof launch.first);
      return status;
    }
    if (status == 0) run(*static_cast<std::string*>(function), parameters);
    return status;
  };
  table.fill = [this](void*, unsigned char, std::size_t bytes, Stream) -> Status {
    driver->filled_bytes = bytes;
    if (driver->capturing)
      captured_.push_back({"fill"});
    else
      after_fill_ = true, queue.emplace_back("fill");
    return driver->call("fill");
  };
  table.end_capture = [this, end = table.end_capture](Graph* graph, Stream stream) -> Status {
    const Status status = end(graph, stream);
    if (status == 0) graphs_[*graph] = std::exchange(captured_, {});
    return status;
  };
  table.launch_graph = [this](Graph graph, Stream) -> Status {
    queue.emplace_back("graph");
    now_ += graph_ms;
    for (Captured& launch : graphs_.at(graph)) {
      if (launch.name == "fill") {
        queue.push_back(launch.name);
        continue;
      }
      void* parameters[] = {&launch.first};
      run(launch.name, parameters);
      now_ += node_ms - launch_ms;
    }
    return driver->call("launch_graph");
  };
  static std::map<Event, double> at;
  table.record_event = [this](Event event, Stream) -> Status {
    queue.emplace_back("event");
    at[event] = now_;
    now_ += event_ms + (after_fill_ ? flush_ms : 0);
    after_fill_ = false;
    return driver->call("record_event");
  };
  const auto wait = [this](const char* name) -> Status {
    if (held() && flags_[1] != ticket_) deadlocked = true;
    return driver->call(name);
  };
  table.synchronize_event = [wait](Event) { return wait("synchronize_event"); };
  table.synchronize_stream = [wait](Stream) { return wait("synchronize_stream"); };
  table.elapsed_ms = [this](float* ms, Event start, Event stop) -> Status {
    *ms = static_cast<float>(at[stop] - at[start]);
    return driver->call("elapsed_ms");
  };
  table.allocate_mapped = [this](void** host, void** device, std::size_t bytes) -> Status {
    if (bytes > sizeof flags_) return FakeDriver::out_of_memory;
    const Status status = driver->call("allocate_mapped");
    if (status != 0) return status;
    *host = *device = flags_;
    ++driver->open_objects;
    return 0;
  };
  table.free_mapped = [this](void*) -> Status {
    --driver->open_objects;
    return driver->call("free_mapped");
  };
  table.timing_code = [] {
    build::Artifact code;
    code.image = "timing kernels";
    return code;
  };
  return table;
}

}  // namespace xtune::fakes
