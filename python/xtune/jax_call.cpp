// SPDX-License-Identifier: Apache-2.0
// The foreign function of XLA through which JAX's programs call kernels. xtune/jax.py compiles it with the headers of
// the jaxlib that is installed; the rest is in native/xla.cpp.
#include <string_view>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace {

namespace ffi = xla::ffi;

using Call = int (*)(const char* key, std::size_t key_size, void* stream, void* const* addresses, std::size_t count,
                     char* message, std::size_t message_size);
Call call = nullptr;

ffi::Error launch(void* stream, ffi::RemainingArgs inputs, ffi::RemainingRets outputs, std::string_view key) {
  std::vector<void*> addresses;
  for (std::size_t i = 0; i < inputs.size(); ++i) addresses.push_back(inputs.get<ffi::AnyBuffer>(i)->untyped_data());
  for (std::size_t i = 0; i < outputs.size(); ++i)
    addresses.push_back((*outputs.get<ffi::AnyBuffer>(i))->untyped_data());
  char message[2048] = "";
  if (call(key.data(), key.size(), stream, addresses.data(), addresses.size(), message, sizeof message) == 0)
    return ffi::Error::Success();
  return ffi::Error::InvalidArgument(message);
}

ffi::Error launch_on_host(ffi::RemainingArgs inputs, ffi::RemainingRets outputs, std::string_view key) {
  return launch(nullptr, inputs, outputs, key);
}

}  // namespace

extern "C" void xtune_set_call(Call given) { call = given; }

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    xtune_on_gpu, launch,
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().RemainingArgs().RemainingRets().Attr<std::string_view>("key"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(xtune_on_host, launch_on_host,
                              ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<std::string_view>("key"));
