// Looks up the calls in the loaded libraries.
#include "backends/host/address_sanitizer.hpp"

#include <dlfcn.h>

#include <type_traits>

namespace xtune::host {
namespace {

AddressSanitizer look_up() {
  AddressSanitizer calls;
  const auto find = [](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(RTLD_DEFAULT, name));
  };
  find("__asan_poison_memory_region", calls.poison);
  find("__asan_unpoison_memory_region", calls.unpoison);
  find("__sanitizer_start_switch_fiber", calls.start_switch);
  find("__sanitizer_finish_switch_fiber", calls.finish_switch);
  // Other sanitizers also have some of these.
  return calls.poison && calls.unpoison && calls.start_switch && calls.finish_switch ? calls : AddressSanitizer{};
}

}  // namespace

const AddressSanitizer& address_sanitizer() {
  static const AddressSanitizer calls = look_up();
  return calls;
}

}  // namespace xtune::host
