#include "emulator/hip/simulated_time.hpp"

#include <algorithm>

namespace xtune::emulator {
namespace {

constexpr double launch_ms = 0.002;
constexpr double matrix_factor = 8;
// For products whose data sheets are silent.
constexpr double usual_clock_mhz = 2000, usual_memory_GB_s = 500, usual_lds_bytes = 128;

double or_usual(double value, double usual) { return value > 0 ? value : usual; }

double count(const Report& report, Kind kind) {
  return static_cast<double>(report.of_kind[static_cast<std::size_t>(kind)]);
}

}  // namespace

double simulated_copy_ms(double bytes, const device::DeviceModel& gpu) {
  return bytes / (or_usual(gpu.memory_GB_s, usual_memory_GB_s) * 1e6);
}

double simulated_ms(const Report& report, const device::DeviceModel& gpu) {
  const double cycles_per_ms = or_usual(gpu.clock_mhz, usual_clock_mhz) * 1e3;
  const double compute_units = std::max(1, gpu.info.compute_units), simds = std::max(1, gpu.schedulers);
  const double lanes_per_clock = std::max(1.0, gpu.fma_per_clock / simds);
  const double wave_cycles = std::max(1.0, gpu.info.warp_size / lanes_per_clock);
  const double matrix = count(report, Kind::matrix), all = static_cast<double>(report.instructions);
  const double scalar = count(report, Kind::scalar) + count(report, Kind::control) + count(report, Kind::scalar_memory);
  const double cycles = scalar + wave_cycles * (all - scalar - matrix) + matrix_factor * wave_cycles * matrix;
  const double busy_simds = std::clamp(static_cast<double>(report.waves), 1.0, compute_units * simds);
  const double busy_units = std::clamp(static_cast<double>(report.workgroups), 1.0, compute_units);
  const auto lds_bytes = static_cast<double>(report.lds_bytes_read + report.lds_bytes_written);
  const double lds_ms =
      lds_bytes / (or_usual(gpu.shared_bytes_per_clock, usual_lds_bytes) * busy_units * cycles_per_ms);
  const auto bytes = static_cast<double>(report.global_bytes_read + report.global_bytes_written);
  return launch_ms + std::max({cycles / busy_simds / cycles_per_ms, lds_ms, simulated_copy_ms(bytes, gpu)});
}

}  // namespace xtune::emulator
