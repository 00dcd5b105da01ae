// SPDX-License-Identifier: Apache-2.0
#include "xla.hpp"

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "module.hpp"

namespace xtune::python {
namespace {

/// A call but for the addresses of its arrays, which come first in `all`. XLA compiles a program for one shape and type
/// of each array, so these never change.
struct XlaCall {
  Kernel kernel;
  std::vector<std::string> names;
  std::vector<Named> all;
  std::size_t arrays;
};

/// Compiled programs refer to calls by key, because they may outlive the process in a cache.
struct XlaCalls {
  std::shared_mutex mutex;
  std::map<std::string, std::shared_ptr<const XlaCall>, std::less<>> by_key;
};

XlaCalls& calls() {
  static auto* const all = new XlaCalls;  // threads of XLA may outlive static objects
  return *all;
}

void launch(std::string_view key, void* stream, void* const* addresses, std::size_t count) {
  std::shared_ptr<const XlaCall> call;
  {
    const std::shared_lock lock(calls().mutex);
    if (const auto found = calls().by_key.find(key); found != calls().by_key.end()) call = found->second;
  }
  if (!call) throw Error(ErrorKind::invalid_argument, "this process did not make the operator: " + std::string(key));
  if (count < call->arrays)
    throw Error(ErrorKind::invalid_argument, call->kernel.name() + ": fewer arrays than when the call was compiled");
  std::vector<Named> all = call->all;
  for (std::size_t i = 0; i < call->arrays; ++i) std::get<Array>(all[i].value).data = addresses[i];
  call->kernel.call(static_cast<CUstream_st*>(stream), std::span<const Named>(all));
}

/// What jax_call.cpp calls. Returns 0, or another number after it has written a message with a final zero.
int xla_call(const char* key, std::size_t key_size, void* stream, void* const* addresses, std::size_t count,
             char* message, std::size_t message_size) noexcept try {
  launch({key, key_size}, stream, addresses, count);
  return 0;
} catch (const std::exception& error) {
  std::snprintf(message, message_size, "%s", error.what());
  return 1;
}

}  // namespace

Array described_array(const Kernel& kernel, const std::string& name, DType dtype,
                      const std::vector<std::int64_t>& shape) {
  if (shape.size() > Array::max_rank)
    throw Error(ErrorKind::invalid_argument, kernel.name() + ": '" + name + "' has over 8 dimensions");
  Array array;
  array.dtype = dtype;
  array.rank = shape.size();
  std::copy(shape.begin(), shape.end(), array.shape.begin());
  array.lay_in_order();
  return array;
}

void register_xla_call(const Kernel& kernel, const std::string& key, const XlaArrays& arrays, const Bindings& named) {
  const auto call = std::make_shared<XlaCall>(XlaCall{kernel, {}, {}, arrays.size()});
  call->names.reserve(arrays.size() + named.size());  // `all` refers to them
  for (const auto& [name, dtype, shape] : arrays)
    call->all.push_back({call->names.emplace_back(name), described_array(kernel, name, dtype, shape)});
  for (const auto& [name, value] : named) call->all.push_back({call->names.emplace_back(name), value});
  const std::unique_lock lock(calls().mutex);
  calls().by_key.emplace(key, call);
}

void define_xla(PyObject* module) {
  const Object address = object_of(reinterpret_cast<std::uintptr_t>(&xla_call));
  if (PyObject_SetAttrString(module, "_xla_call", address.get()) != 0) throw ErrorSet();
}

}  // namespace xtune::python
