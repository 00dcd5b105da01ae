// A recording: a space whose configurations have all been measured before, with everything that was measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/device/device_info.hpp"
#include "core/record/record.hpp"
#include "core/search/strategy.hpp"
#include "core/space/space.hpp"
#include "xtune/outcome.hpp"

namespace xtune::replay {

/// What came of one configuration when it was recorded.
struct RecordedConfig {
  Outcome outcome = Outcome::ok;
  std::string stage, message;        ///< of a failure
  double time_ms = 0;                ///< ok: the time that ranks it; else 0
  std::vector<double> samples_ms;    ///< as taken; ok: at least one
  std::vector<std::string> tainted;  ///< why they are suspect, a reason each
  double compile_s = 0, bench_s = 0;
  double overhead_s = 0;          ///< what else it cost the tuner that recorded it
  std::int64_t unix_time_ms = 0;  ///< 0: not known
  double seconds() const noexcept { return compile_s + bench_s + overhead_s; }
};

/// Configurations whose recorded time is no time: NaN, zero, negative, absurd, a word. They count as failed.
struct RecordingDamage {
  std::uint64_t count = 0;
  std::string first;  ///< where and what: "entry '16,2': time is -1"
};

struct Recording {
  std::string name;    ///< of the file, without folder and endings: "convolution-A100"
  std::string source;  ///< "Kernel Tuner" or "xtune"
  std::string kernel;
  Bindings problem;
  device::DeviceInfo
      device;  ///< no facts where the recording tells none, and arch "unknown" where the name does not tell it
  space::Space space;
  std::vector<RecordedConfig> configs;  ///< by index of space
  RecordingDamage damage;
  std::vector<std::string> warnings;  ///< what was passed over in reading, and where

  std::uint64_t valid() const noexcept;  ///< configurations that are ok
};

/// A configuration by its value indices and what came of it.
struct RecordedRow {
  std::vector<std::uint32_t> values;
  RecordedConfig result;
};
/// Makes recording.space and recording.configs of rows that differ from each other. Throws Error(nothing_valid) where
/// there is none, and as Space::listed.
Recording make_recording(std::vector<space::Parameter> parameters, std::vector<RecordedRow> rows);

/// Whether a kernel can have taken that long: from a nanosecond, which records round to, to some thirty years.
bool is_time(double time_ms) noexcept;

/// Whether compiling or measuring one configuration can have cost that much; 0 included.
bool is_cost(double seconds) noexcept;

/// One type for all values of a parameter: integers among floats become floats, and what else is mixed becomes text.
/// Sorted, without repetitions.
std::vector<Value> unified_values(std::vector<Value> values);
/// The value as one of values, which are of one type; nullopt: it is none of them.
std::optional<std::uint32_t> index_among(const std::vector<Value>& values, const Value& value);

/// What `from` tells of the configurations of `to`: by parameter names and values, whatever the order of either's
/// parameters. Parameters of `to` alone must have one value, those of `from` alone are passed over when they have one;
/// else the spaces have nothing in common and the result is empty.
std::vector<search::Observation> map_observations(const Recording& from, const space::Space& to);

/// Whether both were recorded on the same device for the same problem, so that one would give the other's optimum away.
/// Devices without a name (Kernel Tuner tells none for HIP) are the same where as many
/// configurations worked and the lowest sample is the same.
bool same_study(const Recording& a, const Recording& b);

struct Guides {
  std::vector<search::Source> sources;
  std::vector<std::string> notes;  ///< what is left out, or that there is nothing
};
/// What the other recordings of the same kernel tell of recordings[target], one source a recording, as times of
/// different devices and problems do not compare; without those that tell nothing, and without those of the target's
/// own device and problem.
Guides guides_for(const std::vector<Recording>& recordings, std::size_t target);

}  // namespace xtune::replay
