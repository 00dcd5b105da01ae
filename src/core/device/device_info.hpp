// Facts about a device, with the same names for every vendor, as specs, keys and reports use them, and what the cost
// model needs beyond them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/space/value.hpp"

namespace xtune::device {

struct DeviceInfo {
  std::string backend;  ///< "cuda", "hip", "host"
  int index = 0;        ///< number of the device among those that the driver shows this process
  std::string name;     ///< "NVIDIA H200"
  std::string vendor;   ///< "nvidia", "amd", "cpu"
  std::string arch;     ///< "sm_90", "gfx90a", "x86_64_v3": artifacts and records are for an architecture
  std::string uuid;     ///< empty if the driver has none
  std::string driver;   ///< driver version, "13.0 (580.65)"; empty on a CPU
  int warp_size = 32;
  int compute_units = 0;  ///< SMs, CUs, or CPU threads
  /// On a CPU: the limit of its control group in thousandths of a CPU, if it is below compute_units; 0: no limit.
  std::int64_t cpu_quota_milli = 0;
  std::int64_t shared_per_block = 0;        ///< bytes, without opting in
  std::int64_t shared_per_block_optin = 0;  ///< maximum bytes
  std::int64_t shared_per_compute_unit = 0;
  std::int64_t registers_per_block = 0;
  std::int64_t registers_per_compute_unit = 0;
  int max_threads_per_block = 1024;
  int max_threads_per_compute_unit = 0;
  std::int64_t max_grid_x = 2147483647, max_grid_y = 65535, max_grid_z = 65535;
  int max_block_x = 1024, max_block_y = 1024, max_block_z = 64;
  std::int64_t l2_bytes = 0;      ///< on a CPU: its last-level cache
  std::int64_t memory_bytes = 0;  ///< 0: unknown (a device that is not present)
  std::int64_t clock_khz = 0, memory_clock_khz = 0;
  int memory_bus_bits = 0;
  int locked_clock_mhz = 0;  ///< of the compute units, by --lock-clocks; 0: the device chooses its clock
};

/// Whether kernels run on the CPU and share its memory with compilers and all other programs.
inline bool is_cpu(const DeviceInfo& device) { return device.vendor == "cpu"; }
/// The end of the architecture's name of an emulated GPU.
inline constexpr std::string_view emulated_mark = "-emulated";
/// Whether it is xtune's emulator in the place of a GPU. Its results are those of the GPU; its times are simulated, so
/// its architecture is "gfx942-emulated": no record of it is ever an answer for a real gfx942.
bool is_emulated(std::string_view arch) noexcept;
inline bool is_emulated(const DeviceInfo& device) noexcept { return is_emulated(device.arch); }
/// What a user must know of the times of an emulated GPU.
inline constexpr const char* simulated_times =
    "times are simulated from counts of instructions and bytes, and are not measurements";
/// The name under which records of an emulated architecture are kept: "gfx942-emulated" for "gfx942".
std::string emulated_arch(std::string_view arch);
/// The device's name: "emulated gfx942 (no hardware)" for "gfx942".
std::string emulated_name(std::string_view arch);
/// The variable that lets the emulator write to standard error where a launch is, after this many milliseconds and
/// after each doubling of them; without it, after 4 s and so on. Workers set it, since a time limit may end them.
inline constexpr const char* emulated_place_variable = "XTUNE_EMULATED_PLACE_MS";
inline constexpr const char* emulated_place_ms = "50";
/// How these lines begin.
inline constexpr std::string_view emulated_place_line = "xtune emulator: ";
/// 90 for "sm_90" and "sm_90a"; 0 if it is not an NVIDIA GPU.
int nvidia_arch_number(const DeviceInfo& device) noexcept;

/// The architecture that code for a device is compiled for: with all features of its chip (full_arch), and the one that
/// is emulated. Units of Kokkos are compiled for the architecture that Kokkos was built for, which is the device's own.
std::string code_arch(const DeviceInfo& device);
/// The same for a name that a user gave: "gfx942" for "gfx942-emulated", others as they are.
std::string code_arch(std::string_view arch);

/// Blocks of the largest thread block cluster, to which a kernel may have to opt in; 0: the device has none.
int max_cluster_blocks(const DeviceInfo& device) noexcept;

/// The facts as names for expressions, "device.<name>" (vendor, arch, warp_size, ...).
Bindings device_facts(const DeviceInfo& device);
/// The names that device_facts defines, including "device.", sorted; for checks and suggestions.
const std::vector<std::string>& device_fact_names();

/// Whether two descriptions may be of the same kind of device, also if the backends differ: the names are equal, and
/// the architectures are equal or not both known. Backends and recordings differ in their other facts.
bool may_be_same_hardware(const DeviceInfo& a, const DeviceInfo& b);

/// The name under which an architecture's facts are listed: "sm_90" for "sm_90a" (code for this chip only) and
/// "sm_100f" (its family), "gfx90a" for "gfx90a:sramecc+:xnack-" (features of the target) and "gfx90a-emulated".
std::string_view base_arch(std::string_view arch);
/// The same without the features of an AMD target: "gfx90a" for "gfx90a:sramecc+:xnack-"; other names as they are.
std::string_view without_features(std::string_view arch);
/// What is wrong with the features in the name of an AMD target, and what is expected; empty: nothing. Clang's "target
/// ID": features are separated by colons, each is named once and ends with its sign, and the processor must have it.
std::string feature_complaint(std::string_view arch);
/// An architecture with all features of its chip: "sm_90a" for "sm_90". NVIDIA's GPUs of compute capability 9.0 and
/// newer have instructions that only code for this very chip may use, such as wgmma and tcgen05 (CUDA C++ Programming
/// Guide, "Architecture-specific features"). Other architectures are returned as they are.
std::string full_arch(std::string_view arch);
/// Whether a compiler with these architectures (empty: unknown) compiles for this one (empty: for any).
bool knows_arch(const std::vector<std::string>& known, std::string_view arch);

/// A device that is not present, by architecture (known_devices.def, from the vendors' guides). "sm_90a" returns the
/// facts of sm_90 with arch "sm_90a". nullopt: not known.
std::optional<DeviceInfo> known_device(std::string_view arch);
std::vector<std::string> known_archs();
/// A suggestion for an unknown architecture, with the words around it: " (did you mean 'sm_90'?)", or for a product "
/// (did you mean 'sm_90a', the architecture of NVIDIA H100 SXM?)"; empty if nothing is similar.
std::string did_you_mean_arch(std::string_view word);

/// The same by product: a name of known_devices.def, whole or without the words before it ("RTX 2080 Ti") and those for
/// its form ("MI250X", "H100"). Ignores letter case. nullopt: not known, or several products match.
std::optional<DeviceInfo> known_product(std::string_view name);
/// All products that a name may mean: the product with exactly this name, else all that known_product would accept.
std::vector<std::string> products_called(std::string_view name);
std::vector<std::string> known_products();

/// The product for a name from a driver or a recording, which may have more words than known_devices.def: "NVIDIA
/// A100-PCIE-40GB", "Tesla V100-SXM2-32GB". nullopt: not known.
std::optional<DeviceInfo> product_of_device(std::string_view device_name);

/// The kinds of arithmetic for which data sheets give a rate. f32 and f64 run on the vector units, the others on matrix
/// units.
enum class Rate { f32, f64, matrix_f64, matrix_tf32, matrix_f16, matrix_bf16, matrix_f8, matrix_i8, matrix_f32 };
inline constexpr std::size_t rate_count = 9;

/// An instruction with which one warp or wave multiplies matrices: M x K by K x N.
struct MatrixInstruction {
  std::string type;  ///< "f16", "bf16", "tf32", "f32", "f64", "f8", "i8"
  int m = 0, n = 0, k = 0;
};

/// 0 means unknown for every number.
struct DeviceModel {
  DeviceInfo info;
  int blocks_per_compute_unit = 0;
  int registers_per_thread = 0;  ///< maximum
  int register_granule = 0;      ///< a thread's registers are rounded up to a multiple of this
  int schedulers = 0;            ///< per compute unit; AMD: SIMDs
  int shared_bytes_per_clock = 0, cache_bytes_per_clock = 0;  ///< per compute unit; cache: the first level
  int fma_per_clock = 0;                                      ///< f32, vector units of a compute unit
  int dependent_cycles = 0;                                   ///< latency of an arithmetic result
  double clock_mhz = 0;
  double memory_GB_s = 0;
  std::array<double, rate_count> peak_tflops{};  ///< of this device; without sparsity
  std::vector<MatrixInstruction> matrix_instructions;

  double peak(Rate rate) const { return peak_tflops[static_cast<std::size_t>(rate)]; }
  bool has_matrix(std::string_view type) const;
};

/// The model of a device, which is present or known by its architecture or product (known_devices.def). Facts in
/// `reported` override the table: its limits, its compute units (peaks scale with them), and, if they are not 0, its
/// clocks and its bus. If it has no compute units, as in recordings, everything is from the table, by name if the
/// architecture is not known. Throws Error(invalid_argument), with the nearest name, for an architecture that is not in
/// the table.
DeviceModel device_model(const DeviceInfo& reported);

}  // namespace xtune::device
