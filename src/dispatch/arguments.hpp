// Which arguments of a kernel its caller passes, which are filled in, and which determine the problem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device_info.hpp"
#include "core/device/launch.hpp"
#include "core/measure/device.hpp"
#include "core/spec/spec.hpp"
#include "xtune/kernel.hpp"

namespace xtune {

namespace detail {

/// A problem size that is read from a scalar, or field of a struct, of the call.
struct SizeSource {
  std::string name;
  std::uint16_t passed = 0;  ///< index among the passed arguments
  DType dtype = DType::i32;
  std::uint8_t bytes = 4;
  std::uint16_t at = 0;  ///< in the argument, if that is a struct

  const std::byte* in(const void* const* values) const noexcept {
    return static_cast<const std::byte*>(values[passed]) + at;
  }
};

/// A kernel's view of the problem: fixed sizes, and the sources of the others.
struct Binding {
  std::uint64_t id = 0;              ///< identifies the fixed sizes
  Bindings given;                    ///< the sizes that for_problem was given
  Bindings fixed;                    ///< these, and others that no call decides on
  std::vector<SizeSource> sources;   ///< of the other names, sorted
  std::vector<std::string> missing;  ///< names without a value or a source
  bool told_twice = false;           ///< some size has several sources, which must agree
};

}  // namespace detail

namespace dispatch {

inline constexpr std::size_t max_arguments = 64;
inline constexpr std::size_t max_sizes = 16;
inline constexpr std::size_t max_tensor_maps = 16;

/// Where an argument of a launch comes from.
struct Route {
  enum class Kind : std::uint8_t {
    passed,  ///< the caller's
    filled,  ///< a scalar that xtune adds
    map,     ///< a tensor map of a buffer that the caller passes
    none     ///< no kernel takes it
  };
  Kind kind = Kind::passed;
  std::uint16_t number = 0;  ///< among the arguments of this kind
};

/// A problem size converted to the type of the spec's `own`: unchanged, or an integer as a float; nullopt: it has
/// another type.
std::optional<Value> size_like(const Value& value, const Value& own);

/// Whether xtune fills it in: a value that depends on a tuning parameter, in the argument or in a step.
bool is_filled(const spec::Spec& spec, const spec::ArgSpec& argument);

/// Throws Error(unsupported), with advice, if the spec describes something that cannot be launched by a call: a
/// program, a Kokkos unit, recordings, only a space.
void require_kernel(const spec::Spec& spec);

/// A passed argument whose memory a call may leave to the library.
struct ScratchArgument {
  std::size_t passed = 0;  ///< its number among the passed arguments
  std::size_t number = 0;  ///< among the spec's scratch buffers
  bool zeroed = false;     ///< holds zeros before each call
};

/// Which of the passed arguments a call may leave to the library.
struct Omissible {
  std::vector<ScratchArgument> scratch;
  std::vector<std::uint16_t> others;  ///< the numbers of those that it may not
};

/// Immutable, shared by all threads. spec must outlive it.
class ArgumentPlan {
 public:
  /// Throws Error(unsupported) for an argument that cannot be passed by a call.
  explicit ArgumentPlan(const spec::Spec& spec);

  std::size_t passed_count() const noexcept { return passed_.size(); }
  const Omissible& omissible() const noexcept { return omissible_; }
  /// For each argument of the spec that is not a constant.
  const std::vector<Route>& routes() const noexcept { return routes_; }
  /// For each tensor map that a kernel takes, in the spec's order: the number of its buffer among the passed arguments.
  const std::vector<std::size_t>& mapped() const noexcept { return mapped_; }
  /// Whether the kernel takes exactly the caller's arguments.
  bool takes_as_passed(const device::Step& kernel) const;
  /// For each of mapped(): its number among the tensor maps of the spec.
  std::vector<std::size_t> map_numbers() const;
  /// The scalars whose values depend on the configuration, in the order of the spec, by their number among all scalars.
  const std::vector<std::size_t>& filled_scalars() const noexcept { return filled_; }
  /// Number of the spec's values, which those that steps take instead follow.
  std::size_t value_count() const noexcept { return values_; }
  const spec::ArgSpec& passed(std::size_t index) const { return *passed_[index]; }
  std::vector<KernelArgument> passed_arguments() const;
  /// Bytes of each argument of routes(), and of the values that steps take instead.
  std::vector<std::size_t> sizes(const std::vector<measure::ScalarArgument>& values) const;

  /// Throws Error(invalid_argument) for a name that is not a problem size and for a value of another type than the
  /// spec's.
  detail::Binding bind(const Bindings& fixed) const;
  /// The problem of a call. Throws Error(invalid_argument) if names are missing or a value is invalid.
  Bindings problem(const detail::Binding& binding, const void* const* values) const;

  /// Throws Error(invalid_argument) with the argument, and what was expected and found. A call has either all passed
  /// arguments, or omissible().others.
  void check_count(std::size_t count) const;
  void check_types(const detail::Signature& signature) const;
  /// Scalars that give the same size must agree, with each other and with the fixed size.
  void check_sizes(const detail::Binding& binding, const void* const* values) const;
  /// What each passed buffer holds at least; 0 for scalars. scratch_bytes: of the configuration's scratch buffers;
  /// empty: not known. Throws Error(invalid_argument) for a shape that is none.
  std::vector<std::uint64_t> buffer_bytes(const Bindings& problem, const device::DeviceInfo& device,
                                          const std::vector<std::uint64_t>& scratch_bytes) const;
  /// The Error(invalid_argument) for a buffer that no tensor map can describe.
  Error mapping_error(std::size_t map, const std::string& why) const;
  /// accessible: the runtime's answer for the address.
  void check_memory(std::size_t index, const void* address, std::uint64_t needed,
                    std::optional<std::size_t> accessible) const;

 private:
  Value size(const std::string& name, const Value& value) const;
  /// Names that decide on types have the spec's values. Throws Error(invalid_argument) where `fixed` has others that
  /// make another type.
  void fix_types(const Bindings& fixed, detail::Binding& binding) const;
  void add_passed(const std::vector<const spec::ArgSpec*>& taken);
  Route route_of(const spec::ArgSpec& argument);
  std::size_t passed_number_of(const std::string& argument) const;
  std::string place(std::size_t index) const;  ///< "gemm: argument 2, 'B'"

  const spec::Spec& spec_;
  std::vector<const spec::ArgSpec*> passed_, maps_;
  Omissible omissible_;
  std::vector<Route> routes_;
  std::vector<std::size_t> mapped_;
  std::vector<std::size_t> filled_;
  std::size_t values_ = 0;
  std::vector<std::string> filled_names_;
  std::vector<detail::SizeSource> sources_;  ///< all scalars that are exactly a size, in the order of the call
};

/// The bits of a scalar for a key; equal values have equal bits.
inline std::uint64_t word_of(const void* value, std::uint8_t bytes) noexcept {
  switch (bytes) {
    case 4: {
      std::uint32_t word;
      __builtin_memcpy(&word, value, sizeof word);
      return word;
    }
    case 8: {
      std::uint64_t word;
      __builtin_memcpy(&word, value, sizeof word);
      return word;
    }
    case 2: {
      std::uint16_t word;
      __builtin_memcpy(&word, value, sizeof word);
      return word;
    }
    default:
      return *static_cast<const unsigned char*>(value);
  }
}

}  // namespace dispatch
}  // namespace xtune
