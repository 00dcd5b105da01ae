// Templates: kinds of kernels that the cost model understands, each with fields that a spec maps to its parameters.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/model/work.hpp"

namespace xtune::model {

enum class Need {
  problem,   ///< a size of the problem: mapped, or a name of the problem (ignoring letter case)
  required,  ///< must be mapped
  optional,  ///< has a default
};

struct Field {
  const char* name;
  Need need;
  int least;  ///< the minimum
  const char* meaning;
};
/// All sizes, counts and numbers of bytes are below this.
inline constexpr double beyond_any_field = 1e12;
/// "must be a number from 1 to below 1e12".
std::string range_text(const Field& field);
inline bool in_range(const Field& field, double value) { return value >= field.least && value < beyond_any_field; }

/// The values of one configuration, in the order of the template's fields; NaN for a field that is not mapped.
using FieldValues = std::span<const double>;

/// One tensor for carver's formula.
struct TileTraffic {
  double elements = 0;    ///< in the part that an output tile needs, over the full reduction
  double contiguous = 0;  ///< contiguous elements
  double bytes = 0;       ///< per element
  bool written = false;
};

/// The facts about a configuration for carver's formula.
struct CarverView {
  std::vector<TileTraffic> tensors;
  double tile_elements = 0;  ///< elements of the output
  double tile_bits = 0;      ///< bits per element of the output
  double grid = 0;
  double shared_bytes = 0;
};

struct DefaultParameter {
  const char* field;
  std::vector<long long> values;
};

struct CandidateTemplate {
  const char* name;
  const char* summary;
  std::vector<Field> fields;
  /// Fields whose equal values make configurations a family: a ranking takes a limited number of each family.
  std::vector<std::size_t> family;
  /// Fields that choose between implementations, which the model may misjudge as a whole: each gets some places.
  std::vector<std::size_t> ways;
  /// The work of a configuration. Invalid sizes (zero, negative) give work that never fits.
  Work (*work)(FieldValues values, const device::DeviceModel& device, DType type);
  CarverView (*carver)(FieldValues values, const device::DeviceModel& device, DType type);
  /// The default space of the template, for use without a spec.
  std::vector<DefaultParameter> (*space)(const device::DeviceModel& device, DType type);
};

const std::vector<CandidateTemplate>& candidate_templates();
/// nullptr for an unknown name.
const CandidateTemplate* find_template(std::string_view name);
std::vector<std::string> template_names();

#define TEMPLATE(name)             \
  namespace name {                 \
  CandidateTemplate description(); \
  }
#include "core/model/templates.def"
#undef TEMPLATE

// For the templates' own files: fields by name, from one list FIELDS(F) of F(name, need, least, "meaning").
#define XTUNE_FIELD_NAME(name, need, least, meaning) name,
#define XTUNE_FIELD_ROW(name, need, least, meaning) {#name, Need::need, least, meaning},

inline double value_or(FieldValues values, std::size_t field, double fallback) {
  return std::isnan(values[field]) ? fallback : values[field];
}
inline double ceil_div(double a, double b) { return std::ceil(a / b); }
/// 1, 2, ... up to the number of elements in 16 bytes.
std::vector<long long> vector_widths(DType type);
/// Bytes of 32-byte sectors that are accessed per useful byte, for `bytes` contiguous bytes at any alignment.
inline double sector_waste(double bytes) { return bytes >= 128 ? 1 : std::ceil(bytes / 32) * 32 / bytes; }
/// The largest power of two up to value; 1 for values below 1.
inline double power_of_two_below(double value) { return value < 2 ? 1 : std::exp2(std::floor(std::log2(value))); }

/// The words that the threads of a warp read or write: lane l starts at (l % across) * across_step + (l / across) *
/// down_step, in words of 4 bytes, and accesses `words` of them.
struct LaneLayout {
  int lanes = 32;
  int across = 32;
  long long across_step = 1, down_step = 0;
  int words = 1;  ///< 1, 2 or 4: accessed by one instruction
};

/// Cycles for an access with `banks` banks. Wide accesses are served by parts of a warp whose data fills the banks once
/// (CUDA C++ Programming Guide, shared memory); lanes of a part that access the same word share it. Caches its results
/// per thread.
int bank_turns(const LaneLayout& layout, int banks);

/// Number of distinct lines of line_words that the warp accesses.
int lines_touched(const LaneLayout& layout, int line_words);

}  // namespace xtune::model
