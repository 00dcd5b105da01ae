// Kernel's calls with arrays: a solved call is remembered by the types, shapes and layouts of its arrays.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "core/resolve/resolve.hpp"
#include "dispatch/kernel_state.hpp"

namespace xtune {

namespace detail {
namespace {

/// What decides on a call, as numbers.
class SignatureOfArrays {
 public:
  static constexpr std::size_t most = 160;

  SignatureOfArrays(std::span<const Array* const> arrays) noexcept {
    for (const Array* array : arrays) {
      if (!array) {
        add(-1);
        continue;
      }
      add(static_cast<std::int64_t>(array->dtype) | static_cast<std::int64_t>(array->rank) << 8 |
          static_cast<std::int64_t>(dispatch::layout_of(*array)) << 16 |
          static_cast<std::int64_t>(array->is_writable) << 24);
      for (std::size_t i = 0; i < array->rank; ++i) add(array->shape[i]);
    }
  }
  bool fits() const noexcept { return count_ <= most; }
  bool operator==(const SignatureOfArrays& other) const noexcept {
    return count_ == other.count_ && std::equal(numbers_.begin(), numbers_.begin() + count_, other.numbers_.begin());
  }
  std::size_t hash() const noexcept {
    std::uint64_t hash = count_;
    for (std::size_t i = 0; i < count_; ++i)
      hash = (hash ^ static_cast<std::uint64_t>(numbers_[i])) * 0xff51afd7ed558ccdu;
    return hash >> 40;
  }
  std::vector<std::int64_t> numbers() const { return {numbers_.begin(), numbers_.begin() + count_}; }

 private:
  void add(std::int64_t number) noexcept {
    if (count_ < most) numbers_[count_] = number;
    ++count_;
  }
  std::size_t count_ = 0;
  std::array<std::int64_t, most> numbers_;
};

}  // namespace

std::uint64_t ArrayCalls::next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

const ArrayCall& ArrayCalls::find(std::span<const Array* const> arrays, const Bindings& words,
                                  const std::function<ArrayCall()>& make) {
  const SignatureOfArrays signature(arrays);
  struct Known {
    std::uint64_t owner = 0;
    std::optional<SignatureOfArrays> signature;
    const ArrayCall* call = nullptr;
  };
  constexpr std::size_t remembered = 16;
  thread_local std::array<Known, remembered> known;
  Known& last = known[(signature.hash() ^ id_) % remembered];
  const bool simple = words.empty() && signature.fits();
  if (simple && last.owner == id_ && last.signature == signature) return *last.call;
  if (!signature.fits()) throw Error(ErrorKind::unsupported, "a call with arrays has at most 160 extents and arrays");
  std::vector<std::int64_t> key = signature.numbers();
  for (const auto& [name, value] : words) {
    const std::string text = to_text(value);
    key.insert(key.end(), {-2, static_cast<std::int64_t>(value.index()), static_cast<std::int64_t>(name.size()),
                           static_cast<std::int64_t>(text.size())});
    key.insert(key.end(), name.begin(), name.end());
    key.insert(key.end(), text.begin(), text.end());
  }
  const auto found = [&]() -> const ArrayCall* {
    const std::lock_guard lock(mutex_);
    const auto at = calls_.find(key);
    return at == calls_.end() ? nullptr : at->second.get();
  };
  const ArrayCall* call = found();
  if (!call) {
    auto made = std::make_unique<const ArrayCall>(make());  // without the lock: it may load a kernel
    const std::lock_guard lock(mutex_);
    call = calls_.try_emplace(std::move(key), std::move(made)).first->second.get();
  }
  if (simple) last = {id_, signature, call};
  return *call;
}

ArrayCalls& KernelState::array_calls() {
  std::call_once(array_calls_.made, [&] { array_calls_.calls = std::make_unique<ArrayCalls>(parts_, plan_); });
  return *array_calls_.calls;
}

std::optional<Kernel> ArrayCalls::with_types(const Bindings& types) {
  const Bindings& own = parts_.spec.cases.front();
  const bool same =
      std::all_of(types.begin(), types.end(), [&](const auto& each) { return own.at(each.first) == each.second; });
  if (same || !parts_.with_types) return std::nullopt;
  const std::lock_guard lock(typed_mutex_);
  const auto known = typed_.find(types);
  return known != typed_.end() ? known->second : typed_.emplace(types, parts_.with_types(types)).first->second;
}

}  // namespace detail

namespace {

/// Named arguments, each in its place among Kernel::call_arguments().
struct Placed {
  std::vector<const Array*> arrays;
  std::vector<const Value*> values;
  Bindings words;

  Placed(const Kernel& kernel, std::span<const Named> passed) {
    const std::vector<CallArgument>& arguments = kernel.call_arguments();
    arrays.resize(arguments.size());
    values.resize(arguments.size());
    for (const Named& each : passed) {
      const auto found = std::find_if(arguments.begin(), arguments.end(),
                                      [&](const CallArgument& argument) { return argument.name == each.name; });
      const auto at = static_cast<std::size_t>(found - arguments.begin());
      if (const auto* array = std::get_if<Array>(&each.value)) {
        if (found == arguments.end() || !found->is_array)
          throw Error(ErrorKind::invalid_argument, fmt::format("{} takes no array '{}'", kernel.name(), each.name));
        arrays[at] = array;
        continue;
      }
      const Value& value = std::get<Value>(each.value);
      if (found == arguments.end()) {
        words.insert_or_assign(std::string(each.name), value);
        continue;
      }
      if (found->is_array)
        throw Error(ErrorKind::invalid_argument,
                    fmt::format("{}: '{}' is an array of {} and was given {}", kernel.name(), each.name,
                                to_string(found->dtype), to_text(value)));
      values[at] = &value;
    }
  }

  /// The scalars in their types, which the problem may decide on.
  std::vector<std::vector<std::byte>> scalars(const Kernel& kernel, const ArrayCall& call) const {
    std::vector<std::vector<std::byte>> bytes(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!values[i]) continue;
      auto encoded = spec::encode_scalar(Kernel::type_of(call, i), *values[i]);
      if (!encoded)
        throw Error(ErrorKind::invalid_argument, fmt::format("{}: '{}' is a scalar of {} and was given {}",
                                                             kernel.name(), kernel.call_arguments()[i].name,
                                                             to_string(Kernel::type_of(call, i)), to_text(*values[i])));
      bytes[i] = *std::move(encoded);
    }
    return bytes;
  }
};

}  // namespace

const std::vector<CallArgument>& Kernel::call_arguments() const { return state_->array_calls().plan.arguments(); }

std::vector<std::string> Kernel::problem_names() const { return state_->array_calls().plan.problem_names(); }

const std::vector<ArrayOutput>& Kernel::outputs(const ArrayCall& call) noexcept { return call.solved.outputs; }

DType Kernel::type_of(const ArrayCall& call, std::size_t argument) noexcept {
  return call.solved.types_of_arguments[argument];
}

const ArrayCall& Kernel::solve(std::span<const Array* const> arrays, const Bindings& words) const {
  detail::ArrayCalls& calls = state_->array_calls();
  if (arrays.size() != calls.plan.arguments().size())
    throw Error(ErrorKind::invalid_argument, fmt::format("{}: solve was given {} arrays for {} arguments", name(),
                                                         arrays.size(), calls.plan.arguments().size()));
  const auto solve_with = [&](const Bindings& sizes) -> const ArrayCall& {
    const auto make = [&]() -> ArrayCall {
      dispatch::SolvedCall solved = calls.plan.solve(arrays, sizes, device::device_facts(state_->runtime().device()));
      std::optional<Kernel> typed = calls.with_types(solved.types);
      if (typed) typed = typed->for_problem(solved.problem);
      auto binding = typed ? nullptr : state_->bind(solved.problem);
      return {std::move(solved), std::move(binding), std::move(typed)};
    };
    return calls.find(arrays, sizes, std::ref(make));  // a copy of it would be allocated at every call
  };
  if (binding_->given.empty()) return solve_with(words);
  Bindings sizes = binding_->given;
  for (const auto& [name, value] : words) sizes.insert_or_assign(name, value);
  return solve_with(sizes);
}

namespace {

/// What the kernel writes may be an input, in its place, but not lie across another array.
void require_apart(const Kernel& kernel, std::span<const Array* const> arrays) {
  const std::vector<CallArgument>& arguments = kernel.call_arguments();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!arrays[i] || !arguments[i].is_written) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(arrays[i]->data), end = begin + arrays[i]->bytes();
    for (std::size_t j = 0; j < arrays.size(); ++j) {
      if (!arrays[j] || i == j) continue;
      const auto other = reinterpret_cast<std::uintptr_t>(arrays[j]->data), other_end = other + arrays[j]->bytes();
      const bool is_empty = begin == end || other == other_end;
      if (is_empty || other >= end || begin >= other_end || (other == begin && other_end == end)) continue;
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{}: '{}', which the kernel writes, overlaps '{}' in memory: pass a copy of one of them",
                              kernel.name(), arguments[i].name, arguments[j].name));
    }
  }
}

/// Calls what may find no configuration for empty arrays.
template <class Call>
void with_empty_arrays(const Kernel& kernel, const ArrayCall& call, const Call& body) try {
  if (!call.solved.writes_nothing) body();
} catch (const Error& error) {
  if (error.kind() != ErrorKind::nothing_valid || call.solved.empty.empty()) throw;
  throw Error(ErrorKind::invalid_argument, fmt::format("{}: no configuration runs with an empty array, {}: {}",
                                                       kernel.name(), call.solved.empty, error.what()));
}

/// are_owned: what has the arrays keeps their memory; otherwise the driver is asked about it.
void launch_arrays(const Kernel& kernel, Stream stream, const ArrayCall& call, std::span<const Array* const> arrays,
                   std::span<const void* const> scalars, bool are_owned) {
  detail::KernelState& state = Access::state(kernel);
  if (state.is_checked()) require_apart(kernel, arrays);
  const void* values[dispatch::max_arguments];
  std::size_t bytes[dispatch::max_arguments];
  void* any = nullptr;
  for (const Array* array : arrays)
    if (array && !any) any = array->data;
  const std::vector<dispatch::ArgumentSource>& sources = call.solved.sources;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const dispatch::ArgumentSource& source = sources[i];
    const std::size_t at = source.call_argument;
    if (!source.value.empty()) {
      values[i] = at < scalars.size() && scalars[at] ? scalars[at] : source.value.data();
      bytes[i] = 0;
    } else if (source.is_absent) {  // the kernel gets an address, and does not use it
      values[i] = &any;
      bytes[i] = std::numeric_limits<std::size_t>::max();
    } else {
      const Array* const array = arrays[at];
      if (!array)
        throw Error(ErrorKind::invalid_argument,
                    fmt::format("{}: the output '{}' is missing", kernel.name(), kernel.call_arguments()[at].name));
      values[i] = &array->data;
      bytes[i] = array->bytes();
      if (!are_owned && state.is_checked())
        bytes[i] = state.runtime().accessible_bytes(array->data, bytes[i]).value_or(bytes[i]);
    }
  }
  const detail::Signature signature{nullptr, sources.size(), true};
  with_empty_arrays(kernel, call, [&] {
    if (call.typed)
      Access::state(*call.typed).call(Access::binding(*call.typed), stream.handle(), values, signature, bytes);
    else
      state.call(*call.binding, stream.handle(), values, signature, bytes);
  });
}

}  // namespace

void Kernel::launch(Stream stream, const ArrayCall& call, std::span<const Array* const> arrays,
                    std::span<const void* const> scalars) const {
  launch_arrays(*this, stream, call, arrays, scalars, true);
}

void Kernel::call_in_order(Stream stream, std::span<const Array* const> arrays) const {
  const std::vector<CallArgument>& arguments = call_arguments();
  std::vector<const Array*> placed(arguments.size());
  std::string names;
  std::size_t next = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_required && !arguments[i].is_output) continue;
    names += (names.empty() ? "" : ", ") + arguments[i].name;
    if (next < arrays.size()) placed[i] = arrays[next];
    ++next;
  }
  if (next != arrays.size())
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} takes the arrays {}, and was given {}; others go by name, with call()", name(), names,
                            arrays.size()));
  launch_arrays(*this, stream, solve(placed), placed, {}, false);
}

void Kernel::call(Stream stream, std::initializer_list<Named> passed) const {
  call(stream, std::span(passed.begin(), passed.size()));
}

void Kernel::call(Stream stream, std::span<const Named> passed) const {
  const Placed placed(*this, passed);
  const ArrayCall& solved = solve(placed.arrays, placed.words);
  const std::vector<std::vector<std::byte>> bytes = placed.scalars(*this, solved);
  std::vector<const void*> scalars;
  for (const std::vector<std::byte>& each : bytes) scalars.push_back(each.empty() ? nullptr : each.data());
  launch_arrays(*this, stream, solved, placed.arrays, scalars, false);
}

void Kernel::prepare_call(std::span<const Named> passed) const {
  const Placed placed(*this, passed);
  const ArrayCall& solved = solve(placed.arrays, placed.words);
  with_empty_arrays(*this, solved, [&] {
    if (solved.typed)
      solved.typed->prepare();
    else
      state_->prepare(*solved.binding, {});
  });
}

}  // namespace xtune
