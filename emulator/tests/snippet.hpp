// Kernels of a few instructions between loads of four words for each lane and stores of four.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emulator/tests/built.hpp"

namespace xtune::test {

using Words = std::array<std::uint32_t, 4>;

/// Instructions that read v0 to v3 and write v4 to v7. MASK stands for vcc, or vcc_lo in waves of 32; WAIT_LDS for the
/// wait until LDS is done. Each lane has 16 bytes of LDS at v30.
struct Snippet {
  std::string name, code;
  std::string archs;  ///< those that have the instructions, separated by blanks; empty: all
  /// What v4 to v7 are to be, from v0 to v3 and the number of the lane. v4 to v7 are 0 before.
  std::function<Words(const Words&, int lane)> expected;
};

inline std::string wait_for_lds(const std::string& arch) {
  return arch.starts_with("gfx12") ? "s_wait_dscnt 0x0\n" : "s_waitcnt lgkmcnt(0)\n";
}

inline std::string for_arch(std::string code, const std::string& arch) {
  const std::array<std::array<std::string, 2>, 2> words = {
      {{"MASK", has_waves_of_64(arch) ? "vcc" : "vcc_lo"}, {"WAIT_LDS\n", wait_for_lds(arch)}}};
  for (const auto& [word, text] : words)
    for (std::size_t at = 0; (at = code.find(word, at)) != std::string::npos;) code.replace(at, word.size(), text);
  return code;
}

inline std::string descriptor(const std::string& name, const std::string& arch, int lds_bytes) {
  std::string text = ".rodata\n.p2align 6\n.amdhsa_kernel " + name +
                     "\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_kernarg_size 16\n.amdhsa_next_free_vgpr 128\n"
                     ".amdhsa_next_free_sgpr 48\n.amdhsa_float_denorm_mode_32 3\n.amdhsa_group_segment_fixed_size " +
                     std::to_string(lds_bytes) + "\n";
  text += has_waves_of_64(arch) ? ".amdhsa_accum_offset 64\n" : ".amdhsa_wavefront_size32 1\n";
  return text + ".end_amdhsa_kernel\n.text\n";
}

/// A kernel of the instructions. body has whatever follows the loads.
inline std::string snippet_kernel(const std::string& name, const std::string& body, const std::string& arch,
                                  int lds_bytes = 0) {
  const bool split = arch.starts_with("gfx12");
  std::string text = ".text\n.globl " + name + "\n.p2align 8\n.type " + name + ",@function\n" + name + ":\n";
  text += "s_load_dwordx4 s[4:7], s[0:1], 0x0\nv_and_b32 v30, 0x3ff, v0\nv_lshlrev_b32 v30, 4, v30\n";
  text += split ? "s_wait_kmcnt 0x0\n" : "s_waitcnt lgkmcnt(0)\n";
  text +=
      "global_load_dwordx4 v[0:3], v30, s[4:5]\nv_mov_b32 v4, 0\nv_mov_b32 v5, 0\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\n";
  text += split ? "s_wait_loadcnt 0x0\n" : "s_waitcnt vmcnt(0)\n";
  text += for_arch(body, arch) + "\nglobal_store_dwordx4 v30, v[4:7], s[6:7]\ns_endpgm\n";
  return text + descriptor(name, arch, lds_bytes);
}

inline bool has_arch(const std::string& archs, const std::string& arch) {
  return archs.empty() || (" " + archs + " ").find(" " + arch + " ") != std::string::npos;
}

inline int wave_size_of(const std::string& arch) { return has_waves_of_64(arch) ? 64 : 32; }

/// One wave of the kernel with these inputs.
inline std::vector<Words> run_snippet(const emulator::Program& program, const std::string& name,
                                      const std::string& arch, std::vector<Words> inputs) {
  inputs.resize(static_cast<std::size_t>(wave_size_of(arch)));
  std::vector<Words> results(inputs.size());
  Arguments arguments;
  arguments.add(inputs).add(results);
  emulator::Launch launch;
  launch.kernel = name;
  launch.block = {static_cast<std::uint32_t>(wave_size_of(arch)), 1, 1};
  run(program, launch, arguments);
  return results;
}

/// Numbers at which arithmetic goes wrong first, as integers and as f32, in changing combinations.
inline std::vector<Words> edge_inputs(int count) {
  constexpr std::uint32_t edges[] = {0,          1,          0xffffffff, 0x80000000, 0x7fffffff, 0x3f800000, 0xbf800000,
                                     0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x00000001, 0x807fffff, 0x00800000,
                                     0x7f7fffff, 0x33800000, 0x40490fdb, 0xc2f6e979, 31,         32,         33,
                                     63,         0x0000ffff, 0x00010000, 0x4b800000, 0x4f000000, 0xcf000001, 0x477fe000,
                                     0x477ff000, 0x38800000, 0x387fc000, 0xdeadbeef};
  std::vector<Words> inputs(static_cast<std::size_t>(count));
  std::uint32_t at = 0;
  for (Words& each : inputs) {
    for (std::uint32_t& word : each) word = edges[(at = at * 5 + 7 + (at >> 3)) % std::size(edges)];
    ++at;
  }
  return inputs;
}

}  // namespace xtune::test
