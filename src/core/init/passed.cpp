// The arguments of a call say what a draft would guess: contents, sizes, and what is written.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.hpp"
#include "core/init/drafting.hpp"
#include "core/init/signature.hpp"
#include "core/spec/document.hpp"
#include "xtune/error.hpp"

namespace xtune::init {
namespace {

using Kind = PassedArgument::Kind;

/// "saxpy.cu:3: saxpy(const float* x, int n)"
std::string signature(const Work& work) {
  Texts arguments;
  for (const FunctionArgument& each : work.kernel->arguments) arguments.push_back(text_of(each));
  return fmt::format("{}({})", work.kernel->name, fmt::join(arguments, ", "));
}

[[noreturn]] void fail(const Work& work, const std::string& why) {
  throw Error(ErrorKind::invalid_argument, fmt::format("{}:{}: {}", work.request.source_path, work.kernel->line, why));
}

void check_argument(const Work& work, std::size_t number) {
  const FunctionArgument& declared = work.kernel->arguments[number];
  const PassedArgument& passed = (*work.request.passed)[number];
  const auto type = work.types.element_type(declared.type);
  const auto refuse = [&](const std::string& why) {
    fail(work, fmt::format("argument {}, '{}', of {} {}", number + 1, declared.name, signature(work), why));
  };
  if (declared.pointers > 1 || is_tensor_map(declared))
    refuse("is a table or a tensor map, which goes by name: declare the arguments of a Tunable");
  if (declared.pointers == 1) {
    if (passed.kind != Kind::array) refuse("is a pointer and was given a value: pass an array");
    if (passed.role == "in" && !declared.is_const)
      refuse("points to what the kernel may write, and was passed as an input: pass it as inout or as out");
    if (passed.role != "in" && declared.is_const)
      refuse(fmt::format("points to const, so the kernel cannot write it, and was passed as {}: pass it as an input",
                         passed.role));
    if (type && (passed.dtype ? !fits(type->type, *passed.dtype, true) : passed.bytes % size_of(type->type) != 0))
      refuse(fmt::format("has elements of {}, and was given an array of {}", to_string(type->type),
                         passed.dtype ? to_string(*passed.dtype) : base::counted(passed.bytes, "byte") + " each"));
  } else if (passed.kind == Kind::array) {
    refuse("is a value and was given an array");
  } else if (passed.kind == Kind::scalar && type) {
    if (type->lanes > 1) refuse(fmt::format("is a {} and was given a number", declared.type));
    const bool is_fraction = passed.dtype && !is_integer(*passed.dtype) && *passed.dtype != DType::boolean;
    if (is_fraction && is_integer(type->type) && !work.types.is_enum(declared.type))
      refuse(fmt::format("is an integer and was given {}", passed.value));
  }
}

/// The product of extents, in the sizes that are known; nullopt: it has other names.
std::optional<double> elements(const Work& work, const Texts& extents) {
  std::map<std::string, std::int64_t> values;
  for (const auto& [name, text] : work.request.sizes)
    if (is_whole(text)) values.try_emplace(name, std::stoll(text));
  return computed(spec_tokens(product(extents)), values);
}

/// Whether the extents that the source shows are those of the array.
bool is_same(const Work& work, const Texts& proven, const Texts& passed) {
  if (passed.size() == 1) return elements(work, proven) == elements(work, passed);
  return std::ranges::equal(proven, passed, [&](const std::string& a, const std::string& b) {
    return elements(work, {a}) == elements(work, {b});
  });
}

}  // namespace

const PassedArgument* passed_argument(const Work& work, std::size_t argument) {
  return work.request.passed ? &(*work.request.passed)[argument] : nullptr;
}

void check_passed(const Work& work) {
  const std::size_t declared = work.kernel->arguments.size(), passed = work.request.passed->size();
  if (declared != passed)
    fail(work, fmt::format("{} takes {}, and was given {}: {}", work.kernel->name, base::counted(declared, "argument"),
                           passed, signature(work)));
  for (std::size_t i = 0; i < declared; ++i) check_argument(work, i);
}

std::string passed_type(const Work& work, const std::string& parameter) {
  const std::vector<FunctionArgument>& arguments = work.kernel->arguments;
  for (std::size_t i = 0; work.request.passed && i < std::min(arguments.size(), work.request.passed->size()); ++i)
    if (const auto dtype = (*work.request.passed)[i].dtype; dtype && arguments[i].type == parameter)
      return cxx_name(*dtype);
  return {};
}

void add_passed_buffer(Work& work, const PassedArgument& passed, const std::optional<ElementType>& type,
                       const std::optional<Texts>& proven, DraftArgument& drafted) {
  drafted.role = passed.role;
  drafted.shape = passed.shape.empty() ? Texts{"1"} : passed.shape;
  if (!std::ranges::all_of(drafted.shape, is_whole))
    use_sizes_in(work, drafted.shape);
  else if (Texts shape = proven.value_or(Texts()); proven) {
    if (type && type->lanes > 1 && passed.dtype) shape.push_back(std::to_string(type->lanes));
    if (is_same(work, shape, drafted.shape)) {
      use_sizes_in(work, shape);
      drafted.shape = std::move(shape);
    }
  }
  // Integers hold the bits of narrow floats where C++ or NumPy has no type for these.
  const bool is_bits = type && passed.dtype && is_integer(*passed.dtype) && !is_integer(type->type) &&
                       size_of(*passed.dtype) == size_of(type->type);
  if (passed.dtype && !is_bits) drafted.dtype = to_string(*passed.dtype);
  if (passed.dtype) return;
  if (!type) drafted.dtype = to_string(DType::u8);
  if (const std::size_t numbers = passed.bytes / (type ? size_of(type->type) : 1); numbers > 1)
    drafted.shape.push_back(std::to_string(numbers));
}

void add_passed_scalar(Work& work, const PassedArgument& passed, const FunctionArgument& argument,
                       DraftArgument& drafted) {
  const std::string* const size = given(work.sizes, argument.name);
  if (drafted.dtype == "?" && passed.dtype) drafted.dtype = to_string(*passed.dtype);
  if (size && is_whole(passed.value)) {
    use_size(work, *size, "");
    drafted.value = spec::toml_string(*size);
  } else {
    const bool is_flag = drafted.dtype == to_string(DType::boolean);
    drafted.value = spec::toml_string(is_flag || passed.dtype != DType::boolean ? passed.value
                                      : passed.value == "true"                  ? "1"
                                                                                : "0");
  }
}

}  // namespace xtune::init
