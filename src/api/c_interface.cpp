// The C interface: calls of the C++ one, whose exceptions become codes and texts.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "xtune/kernel.hpp"
#include "xtune/xtune.h"

struct xtune_kernel {
  xtune::Kernel kernel;
};

namespace xtune {
namespace {

thread_local std::string last_error;

int failed(int code, const char* text) noexcept {
  try {
    last_error = text;
  } catch (const std::exception&) {
    last_error.clear();
  }
  return code;
}

constexpr int code_of(ErrorKind kind) noexcept { return static_cast<int>(kind) + 1; }
static_assert(code_of(ErrorKind::invalid_spec) == XTUNE_INVALID_SPEC);
static_assert(code_of(ErrorKind::unsupported) == XTUNE_UNSUPPORTED);
static_assert(code_of(ErrorKind::interrupted) == XTUNE_INTERRUPTED);

/// Runs the body of a C function; nothing that it throws leaves it.
template <class Body>
int guarded(const Body& body) noexcept try {
  body();
  return XTUNE_OK;
} catch (const Error& error) {
  return failed(code_of(error.kind()), error.what());
} catch (const std::exception& error) {
  return failed(XTUNE_INTERNAL, error.what());
} catch (...) {
  return failed(XTUNE_INTERNAL, "an unknown exception");
}

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::invalid_argument, why); }

void require(const void* pointer, const char* function, const char* argument) {
  if (!pointer) refuse(fmt::format("{}: '{}' is a null pointer", function, argument));
}

/// In the order of xtune_type, from 1 on.
constexpr std::array c_types{DType::f8e4m3, DType::f8e5m2, DType::f16,     DType::bf16, DType::f32, DType::f64,
                             DType::i8,     DType::i16,    DType::i32,     DType::i64,  DType::u8,  DType::u16,
                             DType::u32,    DType::u64,    DType::boolean, DType::c64,  DType::c128};
static_assert(c_types.size() == XTUNE_C128 && c_types[XTUNE_F32 - 1] == DType::f32);

Array array_of(const xtune_argument& from) {
  if (from.rank < 1 || from.rank > XTUNE_MAX_RANK)
    refuse(fmt::format("'{}' has {} dimensions, and an array has 1 to {}", from.name, from.rank, XTUNE_MAX_RANK));
  if (from.type < 1 || from.type > static_cast<std::int32_t>(c_types.size()))
    refuse(fmt::format("'{}' has the type {}, which is not an xtune_type", from.name, from.type));
  Array array;
  array.data = from.data;
  array.dtype = c_types[static_cast<std::size_t>(from.type) - 1];
  array.is_writable = from.is_read_only == 0;
  array.rank = static_cast<std::size_t>(from.rank);
  std::copy_n(from.shape, array.rank, array.shape.begin());
  for (const std::int64_t extent : array.shape)
    if (extent < 0) refuse(fmt::format("'{}' has the negative extent {}", from.name, extent));
  std::copy_n(from.strides, array.rank, array.strides.begin());
  if (std::ranges::all_of(array.strides, [](std::int64_t stride) { return stride == 0; })) array.lay_in_order();
  return array;
}

Value value_of(const xtune_argument& from) {
  switch (from.kind) {
    case XTUNE_INTEGER:
      return from.integer;
    case XTUNE_REAL:
      return from.real;
    case XTUNE_BOOLEAN:
      return from.integer != 0;
    case XTUNE_TEXT:
      if (!from.text) refuse(fmt::format("'{}' is a text that is a null pointer", from.name));
      return from.text;
  }
  refuse(fmt::format("'{}' has the kind {}, which is not that of a value", from.name, from.kind));
}

std::vector<Named> named(const char* function, const xtune_argument* arguments, std::size_t count) {
  if (count != 0) require(arguments, function, "arguments");
  std::vector<Named> all;
  all.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const xtune_argument& from = arguments[i];
    if (!from.name) refuse(fmt::format("{}: the name of argument {} is a null pointer", function, i));
    if (from.kind == XTUNE_ARRAY)
      all.push_back({from.name, array_of(from)});
    else
      all.push_back({from.name, value_of(from)});
  }
  return all;
}

/// given: may be of a program that was compiled with fewer or more members.
LoadSettings settings_of(const xtune_settings* given) {
  LoadSettings settings;
  if (!given) return settings;
  if (given->size < offsetof(xtune_settings, backend) + sizeof given->backend)
    refuse("settings: 'size' is not set: begin with XTUNE_SETTINGS");
  if (given->size > sizeof(xtune_settings))
    throw Error(ErrorKind::unsupported,
                fmt::format("settings: the program was compiled for a later version of the C interface than the "
                            "library's, {}",
                            XTUNE_C_VERSION));
  xtune_settings from{};
  std::memcpy(&from, given, given->size);
  if (from.backend) settings.backend = from.backend;
  if (from.compiler) settings.compiler = from.compiler;
  if (from.arch) settings.arch = from.arch;
  if (from.store) settings.store = from.store;
  if (from.bundle) settings.bundle = from.bundle;
  if (from.define_count != 0) require(from.defines, "settings", "defines");
  for (std::size_t i = 0; i < from.define_count; ++i) {
    require(from.defines[i].name, "settings", "defines.name");
    settings.defines[from.defines[i].name] = value_of(from.defines[i]);
  }
  if (from.policy < XTUNE_LOOKUP || from.policy > XTUNE_TUNE_IN_BACKGROUND)
    refuse(fmt::format("settings: the policy {} is not an xtune_policy", from.policy));
  constexpr std::array policies{Policy::lookup, Policy::tune_once, Policy::tune_in_background};
  settings.policy = policies[static_cast<std::size_t>(from.policy)];
  settings.frozen = from.is_frozen != 0;
  settings.checked = from.is_unchecked == 0;
  settings.compile = from.never_compiles == 0;
  if (from.tune_seconds != 0) settings.tuning.seconds = from.tune_seconds;
  if (from.on_message)
    settings.on_message = [call = from.on_message, data = from.on_message_data](const std::string& text) {
      call(text.c_str(), data);
    };
  return settings;
}

}  // namespace
}  // namespace xtune

int xtune_c_version(void) { return XTUNE_C_VERSION; }

const char* xtune_error(void) { return xtune::last_error.c_str(); }

int xtune_load(xtune_kernel** kernel, const char* spec, const xtune_settings* settings) {
  return xtune::guarded([&] {
    xtune::require(kernel, "xtune_load", "kernel");
    *kernel = nullptr;
    xtune::require(spec, "xtune_load", "spec");
    *kernel = new xtune_kernel{xtune::load(spec, xtune::settings_of(settings))};
  });
}

int xtune_load_bundle(xtune_kernel** kernel, const char* bundle, const char* name, const xtune_settings* settings) {
  return xtune::guarded([&] {
    xtune::require(kernel, "xtune_load_bundle", "kernel");
    *kernel = nullptr;
    xtune::require(bundle, "xtune_load_bundle", "bundle");
    *kernel = new xtune_kernel{xtune::load_bundle(bundle, name ? name : "", xtune::settings_of(settings))};
  });
}

void xtune_free(xtune_kernel* kernel) { delete kernel; }

int xtune_call(const xtune_kernel* kernel, void* stream, const xtune_argument* arguments, size_t count) {
  return xtune::guarded([&] {
    xtune::require(kernel, "xtune_call", "kernel");
    const std::vector<xtune::Named> named = xtune::named("xtune_call", arguments, count);
    kernel->kernel.call(static_cast<CUstream_st*>(stream), std::span(named));
  });
}

int xtune_prepare(const xtune_kernel* kernel, const xtune_argument* arguments, size_t count) {
  return xtune::guarded([&] {
    xtune::require(kernel, "xtune_prepare", "kernel");
    kernel->kernel.prepare_call(xtune::named("xtune_prepare", arguments, count));
  });
}

int xtune_argument_count(const xtune_kernel* kernel, size_t* count) {
  return xtune::guarded([&] {
    xtune::require(kernel, "xtune_argument_count", "kernel");
    xtune::require(count, "xtune_argument_count", "count");
    *count = kernel->kernel.call_arguments().size();
  });
}

int xtune_describe_argument(const xtune_kernel* kernel, size_t number, xtune_argument_info* info) {
  return xtune::guarded([&] {
    xtune::require(kernel, "xtune_describe_argument", "kernel");
    xtune::require(info, "xtune_describe_argument", "info");
    if (info->size < sizeof info->size) xtune::refuse("xtune_describe_argument: 'size' of the info is not set");
    const std::vector<xtune::CallArgument>& all = kernel->kernel.call_arguments();
    if (number >= all.size())
      xtune::refuse(fmt::format("{} has {} arguments, and no argument {}", kernel->kernel.name(), all.size(), number));
    const xtune::CallArgument& of = all[number];
    const auto type = std::ranges::find(xtune::c_types, of.dtype) - xtune::c_types.begin() + 1;
    const xtune_argument_info answer{info->size,    of.name.c_str(), of.is_array,   static_cast<std::int32_t>(type),
                                     of.is_written, of.is_output,    of.is_required};
    std::memcpy(info, &answer, std::min(info->size, sizeof answer));
  });
}
