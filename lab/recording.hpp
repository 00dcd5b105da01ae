// A recording: a space in which all configurations have been measured before, with all measurements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device_info.hpp"
#include "core/search/strategy.hpp"
#include "core/space/space.hpp"
#include "core/spec/spec.hpp"
#include "core/store/record.hpp"
#include "xtune/outcome.hpp"

namespace xtune::lab {

/// The recorded result of one configuration.
struct RecordedConfig {
  Outcome outcome = Outcome::ok;
  std::string stage, message;        ///< of a failure
  double time_ms = 0;                ///< ok: the time that ranks it; else 0
  std::vector<double> samples_ms;    ///< in the order they were taken; ok: at least one
  std::vector<std::string> tainted;  ///< reasons why they are suspect
  double compile_s = 0, bench_s = 0;
  double overhead_s = 0;          ///< other time that it cost the recording tuner
  std::int64_t unix_time_ms = 0;  ///< 0: unknown
  double seconds() const noexcept { return compile_s + bench_s + overhead_s; }
  void set_damaged(const std::string& why);  ///< makes it a failure
};

/// Configurations whose recorded time is invalid: NaN, zero, negative, unrealistic, a word. They count as failed.
struct RecordingDamage {
  std::uint64_t count = 0;
  std::string first;  ///< place and problem: "entry '16,2': time is -1"
  void add(const std::string& text) {
    if (count++ == 0) first = text;
  }
};

struct Recording {
  std::string name;    ///< of the file, without directory and extensions: "convolution-A100"
  std::string source;  ///< "Kernel Tuner" or "xtune"
  std::string kernel;
  Bindings problem;
  device::DeviceInfo device;  ///< no facts if the recording has none, and arch "unknown" if the name does not show it
  space::Space space;
  std::vector<RecordedConfig> configs;  ///< by index of space
  /// That its times are of the samples; nullopt: the spec's default.
  std::optional<spec::Statistic> statistic;
  RecordingDamage damage;
  std::vector<std::string> warnings;  ///< entries that were skipped by the reader, and where

  std::uint64_t valid() const noexcept;  ///< configurations that are ok
};

/// A configuration by its value indices, and its result.
struct RecordedRow {
  std::vector<std::uint32_t> values;
  RecordedConfig result;
};
/// Makes recording.space and recording.configs from rows, which must be distinct. Throws Error(nothing_valid) if there
/// are none, and as Space::listed.
Recording make_recording(std::vector<space::Parameter> parameters, std::vector<RecordedRow> rows);

/// Whether it is a possible cost of compiling or measuring one configuration; includes 0.
bool is_cost(double seconds) noexcept;

/// Converts all values of a parameter to one type: integers among floats become floats, and other mixtures become text.
/// Sorted, without duplicates.
std::vector<Value> unified_values(std::vector<Value> values);
/// The index of the value among values, which have one type; nullopt: it is not among them.
std::optional<std::uint32_t> index_among(const std::vector<Value>& values, const Value& value);

/// The results of `from` for configurations of `to`, by parameter names and values; the order of parameters does not
/// matter. Parameters that only `to` has must have one value; those that only `from` has are ignored if they have one
/// value. Else the spaces have nothing in common and the result is empty.
std::vector<search::Observation> map_observations(const Recording& from, const space::Space& to);

/// Whether both were recorded on the same device for the same problem, so that one would reveal the other's optimum.
/// Devices without a name (Kernel Tuner has none for HIP) count as the same if the numbers of valid configurations and
/// the minimum samples are equal.
bool same_study(const Recording& a, const Recording& b);

struct Guides {
  std::vector<search::Source> sources;
  std::vector<std::string> notes;  ///< sources that were omitted, or that there are none
};
/// The results of other recordings of the same kernel as sources for recordings[target], one source for each recording,
/// as times of different devices and problems are not comparable. Recordings without common configurations and those of
/// the target's own device and problem are omitted.
Guides guides_for(const std::vector<Recording>& recordings, std::size_t target);

}  // namespace xtune::lab
