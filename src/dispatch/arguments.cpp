// Reads a spec's arguments from a caller's view, and compares a call with them.
#include "dispatch/arguments.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "base/named.hpp"
#include "base/text.hpp"
#include "core/measure/tensor_map.hpp"
#include "core/space/expression.hpp"
#include "core/space/value.hpp"
#include "core/spec/template_text.hpp"

namespace xtune::dispatch {
namespace {

using detail::ArgumentType;

const char* words_of(ArgumentType::Class number) {
  switch (number) {
    case ArgumentType::Class::boolean:
      return "a bool";
    case ArgumentType::Class::integer:
      return "an integer";
    case ArgumentType::Class::floating:
      return "a floating-point number";
    case ArgumentType::Class::other:
      return "a value";
  }
  return "a value";
}

/// Whether a C++ number may be passed for a dtype of the same size. C++ code stores f16, bf16 and f8 in narrow
/// integers.
bool fits(ArgumentType::Class number, DType dtype) {
  const bool has_cxx_float = dtype == DType::f32 || dtype == DType::f64;
  if (number == ArgumentType::Class::floating) return has_cxx_float;
  if (number == ArgumentType::Class::integer) return !has_cxx_float && !spec::is_complex(dtype);
  if (number == ArgumentType::Class::boolean) return dtype == DType::boolean;
  return true;
}

Value value_of(DType dtype, const void* bytes) {
  const auto* const element = static_cast<const std::byte*>(bytes);
  switch (dtype) {
    case DType::boolean:
      return *static_cast<const unsigned char*>(bytes) != 0;
    case DType::i64: {
      std::int64_t value = 0;
      std::memcpy(&value, bytes, sizeof value);
      return value;
    }
    case DType::u64: {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes, sizeof value);
      return Value(value);
    }
    default:
      break;
  }
  const double value = spec::decode(dtype, element);
  if (spec::is_floating(dtype)) return value;
  return static_cast<std::int64_t>(value);
}

}  // namespace

bool is_filled(const spec::Spec& spec, const spec::ArgSpec& argument) {
  if (argument.kind != spec::ArgKind::scalar && argument.kind != spec::ArgKind::structure) return false;
  for (const spec::StepSpec& step : spec.steps)
    for (const auto& [name, value] : step.with)
      if (name == argument.name) return true;
  const auto names = spec::names_in(argument);
  return std::any_of(spec.parameters.begin(), spec.parameters.end(),
                     [&](const space::Parameter& parameter) { return names.contains(parameter.name); });
}

namespace {
[[noreturn]] void refuse_calls(const spec::Spec& spec, const std::string& why) {
  throw Error(ErrorKind::unsupported, spec.kernel.name + " cannot be called from a program: " + why);
}
}  // namespace

void require_kernel(const spec::Spec& spec) {
  const std::string file = spec.path.empty() ? "SPEC" : base::printable(spec.path.filename().string());
  if (spec.process)
    refuse_calls(spec, "its spec describes a whole program ([process]); tune it by `xtune run " + file +
                           "` and start it with the values that `xtune best " + file + "` prints");
  if (spec.for_kokkos())
    refuse_calls(spec, "it is a Kokkos unit ([kernel] backend = \"kokkos\"); tune it by `xtune run " + file +
                           "`, and compile it into the program with the values that `xtune best " + file + "` prints");
  if (spec.replays())
    refuse_calls(spec, "its spec replays recordings ([kernel] backend = \"replay\") and has no kernel to run");
  if (spec.space_only()) refuse_calls(spec, "its spec describes only a space ([kernel] source is missing)");
}

ArgumentPlan::ArgumentPlan(const spec::Spec& spec) : spec_(spec) {
  require_kernel(spec);
  if (spec.args.size() > max_arguments)
    refuse_calls(spec, fmt::format("it takes {} arguments, and a call at most {}", spec.args.size(), max_arguments));
  for (const spec::StepSpec& step : steps_of(spec))
    if (step.args && step.args->size() > max_arguments)
      refuse_calls(
          spec, fmt::format("its {} '{}' takes {} arguments, and a call at most {}",
                            spec.steps.empty() ? "kernel" : "step", step.entry.text, step.args->size(), max_arguments));
  if (spec.cases.front().size() > max_sizes)
    refuse_calls(spec,
                 fmt::format("its problem has {} sizes, and a call at most {}", spec.cases.front().size(), max_sizes));
  // A call of several steps takes all arguments, but for buffers that they only reach through addresses in others.
  std::vector<const spec::ArgSpec*> taken = arguments_of(spec, spec.kernel.args);
  std::set<std::string> addressed;
  if (!spec.steps.empty())
    for (const spec::ArgSpec* argument : taken)
      if (!argument->map)
        for (const std::string& buffer : buffers_in(*argument)) addressed.insert(buffer);
  for (const spec::StepSpec& step : spec.steps)
    for (const spec::ArgSpec* argument : arguments_of(spec, step.args)) addressed.erase(argument->name);
  std::erase_if(taken, [&](const spec::ArgSpec* argument) { return addressed.contains(argument->name); });
  add_passed(taken);
  for (const spec::ArgSpec* argument : arguments_of(spec, std::nullopt))
    routes_.push_back(std::find(taken.begin(), taken.end(), argument) != taken.end() ? route_of(*argument)
                                                                                     : Route{Route::Kind::none, 0});
  if (maps_.size() > max_tensor_maps)
    refuse_calls(spec, fmt::format("it takes {} tensor maps, and a call at most {}", maps_.size(), max_tensor_maps));
}

void ArgumentPlan::add_passed(const std::vector<const spec::ArgSpec*>& taken) {
  for (const spec::ArgSpec& argument : spec_.args) {
    if (argument.map || argument.kind == spec::ArgKind::constant) continue;
    const std::size_t number = values_;
    values_ += has_value(argument.kind) ? 1 : 0;
    // Arguments of the reference kernel only are not the caller's.
    const auto uses = [&](const spec::ArgSpec* each) {
      return each == &argument || (each->map && each->map->of == argument.name);
    };
    if (std::none_of(taken.begin(), taken.end(), uses)) continue;
    if (is_filled(spec_, argument)) {
      if (!buffers_in(argument).empty())
        refuse_calls(spec_, "the struct '" + argument.name +
                                "' holds addresses of buffers and values of tuning parameters: let the kernel take "
                                "the latter as scalars of their own");
      filled_.push_back(number);
      filled_names_.push_back(argument.name);
      continue;
    }
    const auto add_source = [&](const spec::Text& text, DType dtype, std::size_t at) {
      const std::string name(base::trimmed(text.text, " \t"));
      if (!spec::is_complex(dtype) && spec_.cases.front().contains(name))
        sources_.push_back({name, static_cast<std::uint16_t>(passed_.size()), dtype,
                            static_cast<std::uint8_t>(size_of(dtype)), static_cast<std::uint16_t>(at)});
    };
    if (argument.kind == spec::ArgKind::scalar) add_source(*argument.value, argument.dtype, 0);
    for (const spec::FieldSpec& field : argument.fields)
      for (std::size_t i = 0; i < field.value.size(); ++i)
        add_source(field.value[i], field.dtype, field.at_byte + i * size_of(field.dtype));
    if (argument.role == spec::ArgRole::scratch) {
      const auto is_scratch = [](const spec::ArgSpec& each) { return each.role == spec::ArgRole::scratch; };
      const auto before = std::count_if(spec_.args.data(), &argument, is_scratch);
      omissible_.scratch.push_back({passed_.size(), static_cast<std::size_t>(before), argument.fill == Fill::zero});
    } else {
      omissible_.others.push_back(static_cast<std::uint16_t>(passed_.size()));
    }
    passed_.push_back(&argument);
  }
}

Route ArgumentPlan::route_of(const spec::ArgSpec& argument) {
  if (argument.map) {
    const auto number = static_cast<std::uint16_t>(maps_.size());
    mapped_.push_back(passed_number_of(argument.map->of));
    maps_.push_back(&argument);
    return {Route::Kind::map, number};
  }
  const auto filled = std::find(filled_names_.begin(), filled_names_.end(), argument.name);
  if (filled != filled_names_.end())
    return {Route::Kind::filled, static_cast<std::uint16_t>(filled - filled_names_.begin())};
  return {Route::Kind::passed, static_cast<std::uint16_t>(passed_number_of(argument.name))};
}

std::size_t ArgumentPlan::passed_number_of(const std::string& argument) const {
  for (std::size_t i = 0; i < passed_.size(); ++i)
    if (passed_[i]->name == argument) return i;
  throw Error(ErrorKind::invalid_spec, spec_.kernel.name + ": a tensor map describes '" + argument +
                                           "', which is not a buffer that a call passes");
}

bool ArgumentPlan::takes_as_passed(const device::Step& kernel) const {
  const std::vector<Route> taken = kernel.chosen<Route>(routes_);
  if (taken.size() != passed_.size()) return false;
  for (std::size_t i = 0; i < taken.size(); ++i)
    if (taken[i].kind != Route::Kind::passed || taken[i].number != i) return false;
  return true;
}

std::vector<std::size_t> ArgumentPlan::map_numbers() const {
  std::vector<std::size_t> numbers;
  for (const spec::ArgSpec* map : maps_)
    numbers.push_back(static_cast<std::size_t>(
        std::count_if(spec_.args.data(), map, [](const spec::ArgSpec& before) { return before.map.has_value(); })));
  return numbers;
}

std::vector<KernelArgument> ArgumentPlan::passed_arguments() const {
  std::vector<KernelArgument> arguments;
  for (const spec::ArgSpec* from : passed_) {
    KernelArgument& argument = arguments.emplace_back();
    argument.name = from->name;
    argument.is_buffer = from->kind == spec::ArgKind::buffer || from->kind == spec::ArgKind::table;
    argument.dtype = from->dtype;
    argument.is_written = argument.is_buffer && from->role != spec::ArgRole::in;
    argument.is_scratch = from->role == spec::ArgRole::scratch;
    if (from->kind == spec::ArgKind::structure) argument.struct_bytes = from->value_bytes;
    for (const spec::Text& extent : from->shape) argument.shape.push_back(extent.text);
  }
  for (const detail::SizeSource& source : sources_) arguments[source.passed].size = source.name;
  return arguments;
}

Error ArgumentPlan::mapping_error(std::size_t map, const std::string& why) const {
  return {ErrorKind::invalid_argument, fmt::format("{}, cannot be read through the tensor map '{}': {}",
                                                   place(mapped_[map]), maps_[map]->name, why)};
}

std::vector<std::size_t> ArgumentPlan::sizes(const std::vector<measure::ScalarArgument>& values) const {
  std::vector<std::size_t> sizes;
  for (const spec::ArgSpec* argument : arguments_of(spec_, std::nullopt))
    sizes.push_back(argument->map ? sizeof(measure::EncodedTensorMap)
                    : argument->kind == spec::ArgKind::scalar || argument->kind == spec::ArgKind::structure
                        ? argument->bytes_by_value()
                        : sizeof(void*));
  for (std::size_t i = values_; i < values.size(); ++i) sizes.push_back(values[i].bytes.size());
  return sizes;
}

std::optional<Value> size_like(const Value& value, const Value& own) {
  if (value.index() == own.index()) return value;
  if (std::holds_alternative<double>(own) && std::holds_alternative<std::int64_t>(value))
    return static_cast<double>(std::get<std::int64_t>(value));
  return std::nullopt;
}

Value ArgumentPlan::size(const std::string& name, const Value& value) const {
  const Value& own = spec_.cases.front().at(name);
  space::require_utf8(spec_.kernel.name + ": the problem size '" + name + "'", value);
  if (auto like = size_like(value, own)) return std::move(*like);
  const std::string takes = space::type_name(own);
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{}: the problem size '{}' is the {} '{}', and the spec has {} {}", spec_.kernel.name, name,
                          space::type_name(value), base::printable(to_text(value), 80), takes == "integer" ? "an" : "a",
                          takes));
}

void ArgumentPlan::fix_types(const Bindings& fixed, detail::Binding& binding) const {
  const Bindings& own = spec_.cases.front();
  Bindings problem = own;
  for (const auto& [name, value] : fixed)
    if (problem.contains(name)) problem[name] = size(name, value);
  for (const spec::ArgSpec& argument : spec_.args) {
    if (!argument.dtype_text) continue;
    for (const std::string& name : spec::CompiledText::template_text(*argument.dtype_text).names()) {
      const Value& value = own.at(name);
      const bool only = std::all_of(spec_.cases.begin(), spec_.cases.end(),
                                    [&](const Bindings& each) { return each.at(name) == value; });
      if (only) binding.fixed.insert_or_assign(name, value);
      if (const DType type = dtype_of(argument, problem); type != argument.dtype)
        throw Error(
            ErrorKind::invalid_argument,
            fmt::format("{}: for {} = {} the argument '{}' is of {}, and the kernel was loaded with {}: load it "
                        "with this {} among its defines",
                        spec_.kernel.name, name, space::shown_text(problem.at(name)), argument.name, to_string(type),
                        to_string(argument.dtype), name));
    }
  }
}

detail::Binding ArgumentPlan::bind(const Bindings& fixed) const {
  const Bindings& names = spec_.cases.front();
  std::vector<std::string> known;
  for (const auto& [name, value] : names) known.push_back(name);
  detail::Binding binding;
  fix_types(fixed, binding);
  for (const auto& [name, value] : fixed) {
    if (!names.contains(name))
      throw Error(ErrorKind::invalid_argument, spec_.kernel.name + " has no problem size '" +
                                                   base::printable(name, 80) + "'" + base::did_you_mean(name, known));
    binding.given.insert_or_assign(name, size(name, value));
    binding.fixed.insert_or_assign(name, size(name, value));
  }
  for (const std::string& name : known) {
    if (binding.fixed.contains(name)) continue;
    if (const auto* source = base::find_named(sources_, name))
      binding.sources.push_back(*source);
    else
      binding.missing.push_back(name);
  }
  binding.told_twice = sources_.size() > binding.sources.size();
  return binding;
}

Bindings ArgumentPlan::problem(const detail::Binding& binding, const void* const* values) const {
  if (!binding.missing.empty())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{}: no scalar argument gives the problem size '{}': call what for_problem returns for it",
                            spec_.kernel.name, binding.missing.front()));
  Bindings problem = binding.fixed;
  for (const detail::SizeSource& source : binding.sources)
    problem.insert_or_assign(source.name, value_of(source.dtype, source.in(values)));
  return problem;
}

std::string ArgumentPlan::place(std::size_t index) const {
  const auto found = std::lower_bound(omissible_.others.begin(), omissible_.others.end(), index);
  if (found == omissible_.others.end() || *found != index)
    return fmt::format("{}: scratch '{}'", spec_.kernel.name, passed_[index]->name);
  return fmt::format("{}: argument {}, '{}'", spec_.kernel.name, found - omissible_.others.begin() + 1,
                     passed_[index]->name);
}

void ArgumentPlan::check_count(std::size_t count) const {
  if (count == omissible_.others.size() || count == passed_.size()) return;
  std::string names;
  for (const std::size_t each : omissible_.others) names += (names.empty() ? "" : ", ") + passed_[each]->name;
  const std::string more =
      omissible_.scratch.empty() ? "" : fmt::format(", or {} with its own scratch", passed_.size());
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{} takes {} ({}){} and was given {}", spec_.kernel.name,
                          base::counted(omissible_.others.size(), "argument"), names, more, count));
}

void ArgumentPlan::check_types(const detail::Signature& signature) const {
  check_count(signature.count);
  for (std::size_t at = 0; at < signature.count; ++at) {
    const std::size_t i = signature.count == passed_.size() ? at : omissible_.others[at];
    const spec::ArgSpec& takes = *passed_[i];
    const ArgumentType& got = signature.types[at];
    const auto fail = [&](const std::string& why) { throw Error(ErrorKind::invalid_argument, place(i) + ", " + why); };
    const std::string dtype = to_string(takes.dtype);
    const std::size_t bytes = size_of(takes.dtype);
    const std::string number = fmt::format("{} of {}", words_of(got.number), base::counted(got.bytes, "byte"));
    if (takes.kind == spec::ArgKind::structure) {
      if (got.is_pointer || got.bytes != takes.value_bytes)
        fail(fmt::format("is a struct or vector of {} by value and was given {}",
                         base::counted(takes.value_bytes, "byte"), got.is_pointer ? "a pointer" : number));
      continue;
    }
    if (takes.kind == spec::ArgKind::scalar) {
      if (got.is_pointer) fail("is a scalar of " + dtype + " and was given a pointer");
      if (got.bytes != bytes || !fits(got.number, takes.dtype))
        fail(fmt::format("is a scalar of {} ({}) and was given {}", dtype, base::counted(bytes, "byte"), number));
      continue;
    }
    if (!got.is_pointer) fail("is a buffer of " + dtype + " and was given " + number + ": pass a device pointer");
    if (got.bytes != 0 && (got.bytes != bytes || !fits(got.number, takes.dtype)))
      fail(fmt::format("is a buffer of {} ({} an element) and was given a pointer to {}", dtype,
                       base::counted(bytes, "byte"), number));
    if (!got.writable && takes.role != spec::ArgRole::in)
      fail("is written by the kernel and was given a pointer to const");
  }
}

void ArgumentPlan::check_sizes(const detail::Binding& binding, const void* const* values) const {
  for (const detail::SizeSource& source : sources_) {
    const auto differs = [&](const Value& other, const std::string& where) {
      const Value value = value_of(source.dtype, source.in(values));
      if (value != other)
        throw Error(ErrorKind::invalid_argument, fmt::format("{}, says {} = {}, and {} says {}", place(source.passed),
                                                             source.name, to_text(value), where, to_text(other)));
    };
    if (const auto fixed = binding.fixed.find(source.name); fixed != binding.fixed.end()) {
      differs(fixed->second, "the problem of this kernel");
      continue;
    }
    for (const detail::SizeSource& read : binding.sources)
      if (read.name == source.name && (read.passed != source.passed || read.at != source.at))
        differs(value_of(read.dtype, read.in(values)), "'" + passed_[read.passed]->name + "'");
  }
}

std::vector<std::uint64_t> ArgumentPlan::buffer_bytes(const Bindings& problem, const device::DeviceInfo& device,
                                                      const std::vector<std::uint64_t>& scratch_bytes) const {
  const Bindings facts = device::device_facts(device);
  const space::Lookup names = spec::lookup_names(problem, facts);
  std::vector<std::uint64_t> bytes;
  const auto is_scratch = [](const spec::ArgSpec& each) { return each.role == spec::ArgRole::scratch; };
  for (const spec::ArgSpec* argument : passed_) {
    if (is_scratch(*argument)) {
      const auto number = static_cast<std::size_t>(std::count_if(spec_.args.data(), argument, is_scratch));
      bytes.push_back(number < scratch_bytes.size() ? scratch_bytes[number] : 0);
      continue;
    }
    std::uint64_t total = argument->kind == spec::ArgKind::buffer ? size_of(argument->dtype) : 0;
    // How many more entries a call's table has is not known here.
    if (argument->kind == spec::ArgKind::table) total = sizeof(void*) * argument->fields.size();
    for (const spec::Text& text : argument->shape) {
      const std::int64_t extent = spec::evaluate_integer(text, names);
      if (extent < 0 || __builtin_mul_overflow(total, static_cast<std::uint64_t>(extent), &total))
        throw Error(ErrorKind::invalid_argument, fmt::format("{}: '{}' has no such shape: its extent {} is {}",
                                                             spec_.kernel.name, argument->name, text.text, extent));
    }
    bytes.push_back(total);
  }
  return bytes;
}

void ArgumentPlan::check_memory(std::size_t index, const void* address, std::uint64_t needed,
                                std::optional<std::size_t> accessible) const {
  if (needed == 0) return;
  const DType dtype = passed_[index]->dtype;
  // A complex number has the alignment of its parts.
  const std::size_t alignment = spec::is_complex(dtype) ? size_of(dtype) / 2 : size_of(dtype);
  if (const auto off = reinterpret_cast<std::uintptr_t>(address) % alignment; off != 0)
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("{}, was given a pointer that is {} beyond a multiple of {}: elements of {} cannot lie there",
                    place(index), base::counted(off, "byte"), alignment, to_string(dtype)));
  if (!accessible || *accessible >= needed) return;
  const std::string why = !address ? "was given a null pointer"
                          : *accessible == 0
                              ? "was given a pointer to memory that the device cannot reach: pass a "
                                "device pointer"
                              : fmt::format("has {} bytes, and this problem needs {}", *accessible, needed);
  throw Error(ErrorKind::invalid_argument, place(index) + ", " + why);
}

}  // namespace xtune::dispatch
