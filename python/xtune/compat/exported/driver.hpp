// Opening a driver's library at run time, and what CUDA's and HIP's backends share. Written by `xtune export`; yours to
// use and change under any licence.
#pragma once

#include <dlfcn.h>

#include <cstdlib>

#include "runtime.hpp"

namespace {

/// The calls of a library that the process opens; never closed.
class Library {
 public:
  explicit Library(std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (name && *name && !handle_) handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle_) {
      const char* const why = dlerror();
      fail(*(names.end() - 1), " cannot be opened (", why ? why : "unknown", ")");
    }
  }
  /// Null if it has none of that name.
  template <class Call>
  void find(Call*& call, const char* name) const {
    call = reinterpret_cast<Call*>(dlsym(handle_, name));
  }
  template <class Call>
  void get(Call*& call, const char* name) const {
    find(call, name);
    if (!call) fail("the driver has no ", name, ": it is too old");
  }

 private:
  void* handle_ = nullptr;
};

/// Modules and functions of each context, which stay loaded.
class GpuBackend : public Backend {
 public:
  void* load(const Image& image, const char* symbol, const Launch& launch) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    void*& module = modules_[{context(), image.data}];
    if (!module) module = load_module(image.data);
    Loaded& loaded = functions_[{module, symbol}];
    if (!loaded.function) loaded.function = find_function(module, symbol);
    prepare(loaded.function, launch, loaded.shared);
    loaded.shared = std::max(loaded.shared, launch.shared);
    return loaded.function;
  }

 protected:
  virtual void* load_module(const void* image) = 0;
  virtual void* find_function(void* module, const char* symbol) = 0;
  /// Lets a function use the shared memory and the cluster of a launch. allowed: the bytes so far.
  virtual void prepare(void* function, const Launch& launch, unsigned allowed) = 0;

 private:
  struct Loaded {
    void* function = nullptr;
    unsigned shared = 0;
  };
  std::mutex mutex_;
  std::map<std::pair<std::uintptr_t, const void*>, void*> modules_;
  std::map<std::pair<void*, std::string>, Loaded> functions_;
};

}  // namespace
