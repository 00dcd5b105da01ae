// Loads a kernel from memory, after checking the image.
#include "backends/host/block/kernel_library.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <cstring>

namespace xtune::host {
namespace {

/// "const float*", of a compiler's "... T = const float *]".
std::string type_text(const XtuneParameter& parameter) {
  std::string text = parameter.text;
  const std::size_t begin = text.find("T = ");
  if (begin == std::string::npos) return "another type";
  text = text.substr(begin + 4, text.rfind(']') - begin - 4);
  if (const std::size_t blank = text.find(" *"); blank != std::string::npos) text.erase(blank, 1);
  return text;
}

bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::c64 || dtype == DType::c128;
}
bool is_short_float(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f8e4m3 || dtype == DType::f8e5m2;
}
/// Of what a buffer's elements consist of.
std::size_t part_bytes(DType dtype) {
  return dtype == DType::c64 || dtype == DType::c128 ? size_of(dtype) / 2 : size_of(dtype);
}

bool takes(const XtuneParameter& parameter, const measure::ArgumentType& argument) {
  const DType dtype = argument.dtype;
  switch (parameter.kind) {
    case 'f':
      return is_float(dtype) && parameter.bytes == part_bytes(dtype);
    case 'h':
      return dtype == DType::f16;
    case 'B':
      return dtype == DType::bf16;
    case '4':
      return dtype == DType::f8e4m3;
    case '5':
      return dtype == DType::f8e5m2;
    case 'b':
    case 'c':
      return argument.is_buffer || (size_of(dtype) == 1 && !is_short_float(dtype));
    case 'i':
    case 'u':
      if (!argument.is_buffer) return !is_float(dtype) && !is_short_float(dtype);
      if (is_float(dtype)) return parameter.kind == 'u' && parameter.bytes == part_bytes(dtype);
      return size_of(dtype) <= 2 ? parameter.bytes >= size_of(dtype) : parameter.bytes == size_of(dtype);
    default:
      return true;
  }
}

std::string signature_text(const XtuneKernel& kernel) {
  std::string text;
  for (int i = 0; i < kernel.argument_count; ++i) text += (i ? ", " : "") + type_text(kernel.parameters[i]);
  return text;
}

}  // namespace

KernelLibrary::KernelLibrary(const build::Artifact& artifact, const std::string& own_arch) {
  const auto marker = artifact.image.find(XTUNE_HOST_MARKER);
  const bool sanitized =
      marker != std::string::npos && artifact.image.compare(marker + std::strlen(XTUNE_HOST_MARKER), 1, "1") == 0;
  // Otherwise its initialisation would end the process.
  if (sanitized && !dlsym(RTLD_DEFAULT, "__asan_init"))
    cpu::refuse_image(
        "it was compiled with AddressSanitizer, whose library must be loaded when the process starts (LD_PRELOAD)");
  library_.emplace(artifact, XTUNE_HOST_MARKER, own_arch);
  entries_.push_back({static_cast<const XtuneKernel*>(library_->entry()), sanitized});
  for (std::size_t i = 1; i < artifact.entries.size(); ++i) {
    const void* const found = library_->find(artifact.entries[i].symbol);
    if (!found)
      cpu::refuse_image("its library has no kernel " + artifact.entries[i].symbol +
                        "; remove it from the artifact cache");
    entries_.push_back({static_cast<const XtuneKernel*>(found), sanitized});
  }
}

const XtuneVariable& KernelLibrary::variable(const std::string& symbol) const {
  const void* const found = library_->find(symbol);
  if (!found) cpu::refuse_image("its library has no variable " + symbol + "; remove it from the artifact cache");
  return *static_cast<const XtuneVariable*>(found);
}

void check_parameters(std::span<const measure::ArgumentType> arguments, const XtuneKernel& kernel) {
  const auto fail = [](const std::string& why) { throw build::CandidateFailure(Outcome::launch_failed, why); };
  if (arguments.size() != static_cast<std::size_t>(kernel.argument_count)) {
    std::string names;
    for (const measure::ArgumentType& argument : arguments) names += (names.empty() ? "" : ", ") + argument.name;
    fail(fmt::format("the kernel takes {} arguments ({}), and the spec has {} ({})", kernel.argument_count,
                     signature_text(kernel), arguments.size(), names));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const XtuneParameter& parameter = kernel.parameters[i];
    const measure::ArgumentType& argument = arguments[i];
    if (argument.is_tensor_map) {
      if (!kernel.argument_is_pointer[i] && kernel.argument_bytes[i] == sizeof(measure::EncodedTensorMap)) continue;
      fail(
          fmt::format("argument {}: the kernel takes {}, the spec's '{}' is a tensor map: declare the parameter as "
                      "const __grid_constant__ CUtensorMap",
                      i + 1, type_text(parameter), argument.name));
    }
    if (argument.value_bytes > 0) {
      if (!kernel.argument_is_pointer[i] && kernel.argument_bytes[i] == argument.value_bytes) continue;
      fail(
          fmt::format("argument {}: the kernel takes {}{}, the spec's '{}' is a value of {} bytes: give its fields "
                      "the types, order and padding of the declaration",
                      i + 1, type_text(parameter),
                      kernel.argument_is_pointer[i] ? "" : fmt::format(" of {} bytes", kernel.argument_bytes[i]),
                      argument.name, argument.value_bytes));
    }
    const bool fits = kernel.argument_is_pointer[i] == argument.is_buffer && takes(parameter, argument) &&
                      (argument.is_buffer || kernel.argument_bytes[i] == size_of(argument.dtype));
    if (fits) continue;
    const char* const form = kernel.argument_is_pointer[i] == argument.is_buffer ? ""
                             : argument.is_buffer                                ? "a buffer of "
                                                                                 : "a scalar of ";
    fail(fmt::format("argument {}: the kernel takes {}, the spec's '{}' is {}{}", i + 1, type_text(parameter),
                     argument.name, form, to_string(argument.dtype)));
  }
}

}  // namespace xtune::host
