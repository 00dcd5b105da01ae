// Which arguments of a kernel its caller passes, which are filled in, and which tell the problem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device_info.hpp"
#include "core/spec/spec.hpp"
#include "xtune/kernel.hpp"

namespace xtune {

namespace detail {

/// A problem size that is read from a scalar of the call.
struct SizeSource {
  std::string name;
  std::uint16_t passed = 0;  ///< which of the passed arguments
  DType dtype = DType::i32;
  std::uint8_t bytes = 4;
};

/// A kernel's view of the problem: what is fixed, and where the rest is read from.
struct Binding {
  std::uint64_t id = 0;  ///< of what is fixed
  Bindings fixed;
  std::vector<SizeSource> sources;   ///< of the other names, sorted
  std::vector<std::string> missing;  ///< that neither tells
  bool told_twice = false;           ///< some size is: what tells it must agree
};

}  // namespace detail

namespace dispatch {

inline constexpr std::size_t max_arguments = 64;
inline constexpr std::size_t max_sizes = 16;

/// A problem size as one of the type of the spec's `own`: itself, or the float of an integer; nullopt: it is of another
/// type.
std::optional<Value> size_like(const Value& value, const Value& own);

/// Whether xtune fills it in: a scalar whose value depends on a tuning parameter.
bool is_filled(const spec::Spec& spec, const spec::ArgSpec& argument);

/// Throws Error(unsupported) that says what to do instead where the spec describes something that no call can launch: a
/// program, a Kokkos unit, recordings, a space alone.
void require_kernel(const spec::Spec& spec);

/// Immutable, shared by all threads. spec outlives it.
class ArgumentPlan {
 public:
  /// Throws Error(unsupported) for what no call can pass.
  explicit ArgumentPlan(const spec::Spec& spec);

  std::size_t passed_count() const noexcept { return passed_.size(); }
  /// What each kernel argument is: a passed one, by its number, or else ~number of a filled one.
  const std::vector<int>& routes() const noexcept { return routes_; }
  /// In the order of the spec: the scalars whose values depend on the configuration, by their number among all scalars.
  const std::vector<std::size_t>& filled_scalars() const noexcept { return filled_; }
  const spec::ArgSpec& passed(std::size_t index) const { return *passed_[index]; }
  std::vector<std::size_t> sizes() const;  ///< bytes of each argument, in kernel order

  /// Throws Error(invalid_argument) for a name that is no problem size and for a value of another type than the spec's.
  detail::Binding bind(const Bindings& fixed) const;
  /// The problem of a call. Throws Error(invalid_argument) where names are missing or a value is none.
  Bindings problem(const detail::Binding& binding, const void* const* values) const;

  /// Throws Error(invalid_argument) that names the argument, what it takes and what it got.
  void check_count(std::size_t count) const;
  void check_types(const detail::Signature& signature) const;
  /// Scalars that tell the same size must agree, with each other and with what is fixed.
  void check_sizes(const detail::Binding& binding, const void* const* values) const;
  /// What each passed buffer holds at least; 0 for scalars. scratch_bytes: of the configuration's scratch buffers;
  /// empty: not known. Throws Error(invalid_argument) for a shape that is none.
  std::vector<std::uint64_t> buffer_bytes(const Bindings& problem, const device::DeviceInfo& device,
                                          const std::vector<std::uint64_t>& scratch_bytes) const;
  /// accessible: what the runtime says of the address.
  void check_memory(std::size_t index, const void* address, std::uint64_t needed,
                    std::optional<std::size_t> accessible) const;

 private:
  Value size(const std::string& name, const Value& value) const;
  /// Names that decide on types have the spec's values. Throws Error(invalid_argument) where `fixed` has others that
  /// make another type.
  void fix_types(const Bindings& fixed, detail::Binding& binding) const;
  std::string place(std::size_t index) const;  ///< "gemm: argument 2, 'B'"

  const spec::Spec& spec_;
  std::vector<const spec::ArgSpec*> passed_;
  std::vector<int> routes_;
  std::vector<std::size_t> filled_;
  std::vector<detail::SizeSource> sources_;  ///< all scalars that are a size alone, in the order of the call
};

/// The bits of a scalar as a key has them; two values are the same when these are.
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
