// The arguments of a call say what a draft would guess: contents, sizes, and what is written.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/init/drafting.hpp"
#include "core/init/signature.hpp"
#include "core/space/expression.hpp"
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

class ArgumentCheck {
 public:
  ArgumentCheck(const Work& work, std::size_t number)
      : work_(work),
        number_(number),
        declared_(work.kernel->arguments[number]),
        passed_((*work.request.passed)[number]),
        type_(work.types.element_type(declared_.type)) {}

  void run() const {
    if (declared_.pointers > 1 || is_tensor_map(declared_))
      fail("is a table or a tensor map, which goes by name: declare the arguments of a Tunable");
    if (declared_.pointers == 1)
      check_array();
    else if (passed_.kind == Kind::array)
      fail("is a value and was given an array");
    else if (passed_.kind == Kind::scalar)
      check_number();
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    init::fail(work_, fmt::format("argument {}, '{}', of {} {}", number_ + 1, declared_.name, signature(work_), why));
  }

  void check_array() const {
    if (passed_.kind != Kind::array) fail("is a pointer and was given a value: pass an array");
    if (passed_.role == "in" && !declared_.is_const)
      fail("points to what the kernel may write, and was passed as an input: pass it as inout or as out");
    if (passed_.role != "in" && declared_.is_const)
      fail(fmt::format("points to const, so the kernel cannot write it, and was passed as {}: pass it as an input",
                       passed_.role));
    if (!type_) return;
    if (passed_.dtype ? !fits(type_->type, *passed_.dtype, true) : passed_.bytes % size_of(type_->type) != 0)
      fail(fmt::format("has elements of {}, and was given an array of {}", to_string(type_->type),
                       passed_.dtype ? to_string(*passed_.dtype) : base::counted(passed_.bytes, "byte") + " each"));
  }

  void check_number() const {
    if (!type_) return;
    if (type_->lanes > 1) fail(fmt::format("is a {} and was given a number", declared_.type));
    const bool is_fraction = passed_.dtype && !is_integer(*passed_.dtype) && *passed_.dtype != DType::boolean;
    if (is_fraction && is_integer(type_->type) && !work_.types.is_enum(declared_.type))
      fail(fmt::format("is an integer and was given {}", passed_.value));
  }

  const Work& work_;
  const std::size_t number_;
  const FunctionArgument& declared_;
  const PassedArgument& passed_;
  const std::optional<ElementType> type_;
};

/// The product of extents, in the sizes that are known; nullopt: it has other names.
std::optional<std::int64_t> elements(const Work& work, const Texts& extents) try {
  const auto known = [&](std::string_view name) -> const Value* {
    thread_local Value value;
    const std::string* const text = given(work.request.sizes, std::string(name));
    if (!text || !is_whole(*text)) return nullptr;
    value = Value(std::stoll(*text));
    return &value;
  };
  const Value value = space::Expression::parse(product(extents)).evaluate(known);
  const auto* const number = std::get_if<std::int64_t>(&value);
  return number ? std::optional(*number) : std::nullopt;
} catch (const space::ExpressionError&) {
  return std::nullopt;
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
  for (std::size_t i = 0; i < declared; ++i) ArgumentCheck(work, i).run();
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
  const auto is_number = [](const std::string& extent) { return is_whole(extent); };
  drafted.shape = passed.shape.empty() ? Texts{"1"} : passed.shape;
  if (!std::ranges::all_of(drafted.shape, is_number))
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
