// AddressSanitizer's calls, if it is loaded into this process.
#pragma once

#include <cstddef>

namespace xtune::host {

/// Each is nullptr if AddressSanitizer is not loaded. Source: sanitizer/asan_interface.h,
/// sanitizer/common_interface_defs.h.
struct AddressSanitizer {
  void (*poison)(const volatile void* memory, std::size_t bytes) = nullptr;
  void (*unpoison)(const volatile void* memory, std::size_t bytes) = nullptr;
  void (*start_switch)(void** fake_stack, const void* bottom, std::size_t bytes) = nullptr;
  void (*finish_switch)(void* fake_stack, const void** old_bottom, std::size_t* old_bytes) = nullptr;
};

/// Looked up once.
const AddressSanitizer& address_sanitizer();

}  // namespace xtune::host
