// A driver without a device: stores memory on the host, records every call, and fails where a test wants it.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backends/gpu/driver_api.hpp"

namespace xtune::fakes {

/// Shared with the table it fills, so that a test can look at it after the device is gone.
struct FakeDriver {
  static constexpr gpu::Status refused = 1, out_of_memory = 2, fault = 700;  // only fault is sticky

  std::vector<std::string> calls;               ///< in order: "fill", "launch", ...
  std::map<std::string, gpu::Status> failures;  ///< what these calls answer from now on
  bool dead = false;                            ///< after a fault every call answers it
  int open_objects = 0;                         ///< streams, events, modules, allocations not yet released
  bool closed = false;
  bool capturing = false;  ///< launches become a graph
  gpu::FunctionAttributes attributes{1024, 32, 0};
  std::vector<std::size_t> parameter_bytes{8, 4};
  float ms = 1.5F;
  int clusters = 1;                          ///< that run at once
  int resident = 4;                          ///< blocks that a compute unit runs at once
  std::uint32_t opted_in = 0;                ///< bytes of dynamic shared memory
  std::size_t filled_bytes = 0;              ///< by the last fill
  std::vector<std::string> launched_values;  ///< the bytes of each parameter of the last launch
  std::string loaded_image;
  measure::TensorMap encoded;                          ///< the last one
  std::string looked_for;                              ///< the symbol of the last variable that was
  std::vector<char> variable = std::vector<char>(16);  ///< the memory of every variable

  gpu::Status call(const std::string& name) {
    calls.push_back((capturing && name.starts_with("launch") ? "captured " : "") + name);
    if (dead) return fault;
    const auto failure = failures.find(name);
    if (failure == failures.end()) return 0;
    if (failure->second == fault) dead = true;
    return failure->second;
  }
  /// The calls of these names, in order.
  std::vector<std::string> only(const std::set<std::string>& names) const {
    std::vector<std::string> kept;
    std::copy_if(calls.begin(), calls.end(), std::back_inserter(kept),
                 [&](const auto& name) { return names.count(name) > 0; });
    return kept;
  }
};

inline gpu::DriverApi make_fake_driver(const std::shared_ptr<FakeDriver>& d) {
  using namespace gpu;
  DriverApi api;
  const auto create = [d](const char* name, void** out) -> Status {
    const Status status = d->call(name);
    if (status == 0) *out = reinterpret_cast<void*>(static_cast<std::uintptr_t>(0x1000 + ++d->open_objects));
    return status;
  };
  const auto destroy = [d](const char* name) -> Status {
    --d->open_objects;
    return d->call(name);
  };
  api.describe = [](Status status) {
    return status == FakeDriver::fault ? std::string("FAKE_FAULT: illegal address") : "FAKE_" + std::to_string(status);
  };
  api.is_sticky = [](Status status) { return status == FakeDriver::fault; };
  api.lack = [](Status status) {
    return status == FakeDriver::out_of_memory ? build::Lack::memory : build::Lack::none;
  };
  api.allocate = [d](void** address, std::size_t bytes) -> Status {
    const Status status = d->call("allocate");
    if (status != 0) return status;
    *address = std::malloc(bytes);
    ++d->open_objects;
    return 0;
  };
  api.free = [d](void* address) -> Status {
    std::free(address);
    --d->open_objects;
    return d->call("free");
  };
  api.copy_to_device = [d](void* to, const void* from, std::size_t bytes) -> Status {
    const Status status = d->call("copy_to_device");
    if (status == 0) std::memcpy(to, from, bytes);
    return status;
  };
  api.copy_to_host = [d](void* to, const void* from, std::size_t bytes) -> Status {
    const Status status = d->call("copy_to_host");
    if (status == 0) std::memcpy(to, from, bytes);
    return status;
  };
  api.fill = [d](void* to, unsigned char value, std::size_t bytes, Stream) -> Status {
    const Status status = d->call("fill");
    if (status == 0) std::memset(to, value, bytes);
    d->filled_bytes = bytes;
    return status;
  };
  api.create_stream = [create](Stream* out) { return create("create_stream", out); };
  api.destroy_stream = [destroy](Stream) { return destroy("destroy_stream"); };
  api.synchronize_stream = [d](Stream) { return d->call("synchronize_stream"); };
  api.create_event = [create](Event* out) { return create("create_event", out); };
  api.destroy_event = [destroy](Event) { return destroy("destroy_event"); };
  api.record_event = [d](Event, Stream) { return d->call("record_event"); };
  api.synchronize_event = [d](Event) { return d->call("synchronize_event"); };
  api.elapsed_ms = [d](float* ms, Event, Event) -> Status {
    *ms = d->ms;
    return d->call("elapsed_ms");
  };
  api.load_module = [d, create](Module* out, const std::string& image) -> Status {
    d->loaded_image = image;
    return create("load_module", out);
  };
  api.unload_module = [destroy](Module) { return destroy("unload_module"); };
  api.find_function = [d](Function* out, Module, const char*) -> Status {
    *out = d.get();
    return d->call("find_function");
  };
  api.find_variable = [d](void** address, std::size_t* bytes, Module, const char* symbol) -> Status {
    d->looked_for = symbol;
    *address = d->variable.data();
    *bytes = d->variable.size();
    return d->call("find_variable");
  };
  api.function_attributes = [d](FunctionAttributes* out, Function) -> Status {
    *out = d->attributes;
    return d->call("function_attributes");
  };
  api.allow_dynamic_shared = [d](Function, std::uint32_t bytes) -> Status {
    d->opted_in = bytes;
    return d->call("allow_dynamic_shared");
  };
  api.parameter_sizes = [d](Function, const build::Artifact&, const std::string&) {
    return std::optional(d->parameter_bytes);
  };
  const auto launch = [d](const char* name, void** parameters) -> Status {
    d->launched_values.clear();
    for (std::size_t i = 0; i < d->parameter_bytes.size(); ++i)
      d->launched_values.emplace_back(static_cast<const char*>(parameters[i]), d->parameter_bytes[i]);
    return d->call(name);
  };
  api.launch = [launch](Function, const device::Launch& shape, Stream, void** parameters) {
    return launch(shape.cluster[0] != 0 ? "launch_cluster"
                  : shape.cooperative   ? "launch_cooperative"
                                        : "launch",
                  parameters);
  };
  api.resident_blocks = [d](int* count, Function, const device::Launch&) {
    *count = d->resident;
    return d->call("resident_blocks");
  };
  api.active_clusters = [d](int* count, Function, const device::Launch&) {
    *count = d->clusters;
    return d->call("active_clusters");
  };
  api.begin_capture = [d](Stream) {
    const Status status = d->call("begin_capture");
    d->capturing = status == 0;
    return status;
  };
  api.end_capture = [d, create](Graph* out, Stream) {
    d->capturing = false;
    return create("end_capture", out);
  };
  api.launch_graph = [d](Graph, Stream) { return d->call("launch_graph"); };
  api.destroy_graph = [destroy](Graph) { return destroy("destroy_graph"); };
  api.encode_tensor_map = [d](measure::EncodedTensorMap* encoded, const measure::TensorMap& map, void* address) {
    std::memcpy(encoded->bytes.data(), &address, sizeof address);
    d->encoded = map;
    return d->call("encode_tensor_map");
  };
  api.close = [d] { d->closed = true; };
  return api;
}

}  // namespace xtune::fakes
