// Compares and copies arguments.
#include "backends/host/kernel_arguments.hpp"

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

std::string value_text(const measure::KernelArgument& argument) {
  if (std::holds_alternative<measure::EncodedTensorMap>(argument)) return "a tensor map";
  return fmt::format("a scalar of {} bytes", measure::value_bytes(argument).size());
}

std::string signature_text(const XtuneKernel& kernel) {
  std::string text;
  for (int i = 0; i < kernel.argument_count; ++i) text += (i ? ", " : "") + type_text(kernel.parameters[i]);
  return text;
}

}  // namespace

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

void check_arguments(std::span<const measure::KernelArgument> arguments, const ArgumentTypes& types) {
  const auto fail = [](const std::string& why) { throw build::CandidateFailure(Outcome::launch_failed, why); };
  if (arguments.size() != static_cast<std::size_t>(types.count))
    fail(fmt::format("the kernel takes {} arguments and was given {}", types.count, arguments.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_buffer = std::holds_alternative<measure::Buffer*>(arguments[i]);
    const std::size_t bytes = measure::value_bytes(arguments[i]).size();
    if (types.is_pointer[i] && !is_buffer)
      fail(fmt::format("argument {} of the kernel is a pointer and was given {}", i + 1, value_text(arguments[i])));
    if (!types.is_pointer[i] && is_buffer)
      fail(fmt::format("argument {} of the kernel is a value of {} bytes and was given a buffer", i + 1,
                       types.bytes[i]));
    if (!is_buffer && bytes != types.bytes[i])
      fail(fmt::format("argument {} of the kernel is {} bytes large and was given {}", i + 1, types.bytes[i],
                       value_text(arguments[i])));
  }
}

void add_buffers(const measure::RunOptions& options, std::vector<std::span<const std::byte>>& memory) {
  const auto add = [&](std::span<const measure::KernelArgument> arguments) {
    for (const measure::KernelArgument& argument : arguments)
      if (measure::Buffer* const* buffer = std::get_if<measure::Buffer*>(&argument))
        memory.emplace_back(static_cast<const std::byte*>((*buffer)->address()), (*buffer)->size());
  };
  add(options.arguments);
  for (const auto& arguments : options.more) add(arguments);
}

ArgumentAddresses::ArgumentAddresses(std::span<const measure::KernelArgument> arguments)
    : values_(arguments.begin(), arguments.end()) {
  for (measure::KernelArgument& value : values_) {
    if (measure::Buffer* const* buffer = std::get_if<measure::Buffer*>(&value)) {
      void* const address = (*buffer)->address();
      measure::ScalarArgument pointer{{}, sizeof address};
      std::memcpy(pointer.bytes.data(), &address, sizeof address);
      value = pointer;
    }
    addresses_.push_back(const_cast<std::byte*>(measure::value_bytes(value).data()));
  }
}

}  // namespace xtune::host
