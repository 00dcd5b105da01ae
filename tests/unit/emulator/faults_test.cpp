// What the emulator refuses: kernels with mistakes, instructions that it does not know, and damaged code objects.
#include <doctest/doctest.h>

#include <optional>

#include "emulator/fault.hpp"
#include "support/text.hpp"
#include "unit/emulator/snippet.hpp"

using namespace xtune::test;
namespace emulator = xtune::emulator;
using emulator::FaultKind;

namespace {

struct Caught {
  std::optional<FaultKind> kind;
  std::string message;
};

/// What ends a kernel of these instructions.
Caught caught(const std::string& body, const std::string& arch, int lds_bytes = 0, std::uint32_t threads = 0) {
  const emulator::Program program =
      emulator::Program::load(assemble(snippet_kernel("wrong", body, arch, lds_bytes), arch), arch);
  std::vector<Words> inputs = edge_inputs(256), results(256);
  const Arguments arguments = Arguments().add(inputs).add(results);
  emulator::Launch launch;
  launch.kernel = "wrong";
  launch.block = {threads == 0 ? static_cast<std::uint32_t>(wave_size_of(arch)) : threads, 1, 1};
  launch.max_instructions = 3'000'000;
  try {
    run(program, launch, arguments);
  } catch (const emulator::Fault& fault) {
    return {fault.fault_kind(), fault.what()};
  }
  return {};
}

std::string wait_for_lds(const std::string& arch) {
  return arch.starts_with("gfx12") ? "s_wait_dscnt 0x0\n" : "s_waitcnt lgkmcnt(0)\n";
}
std::string barrier(const std::string& arch) {
  return arch.starts_with("gfx12") ? "s_barrier_signal -1\ns_barrier_wait -1\n" : "s_barrier\n";
}

}  // namespace

TEST_CASE("A register that a load has not written yet cannot be used") {
  if (!can_emulate()) return;
  for (const std::string& arch : emulated_archs) {
    CAPTURE(arch);
    const Caught global = caught("global_load_dword v10, v30, s[4:5]\nv_add_u32 v4, v10, v10",
                                 arch.starts_with("gfx9") ? arch : "gfx90a");
    CHECK(global.kind == FaultKind::missing_wait);
    CHECK_MESSAGE(global.message.find("kernel 'wrong', 'v_add_u32_e32 v4, v10, v10' at offset ") == 0, global.message);
    CHECK_MESSAGE(
        global.message.find("workgroup 0,0,0, wave 0: uses v10 while a load to it is outstanding") != std::string::npos,
        global.message);
    const Caught lds = caught("v_mov_b32 v9, 0\nds_write_b32 v9, v0\nds_read_b32 v10, v9\nv_mov_b32 v4, v10", arch, 64);
    CHECK(lds.kind == FaultKind::missing_wait);
    const Caught scalar = caught("s_load_dword s10, s[0:1], 0x0\ns_mov_b32 s11, s10", arch);
    CHECK(scalar.kind == FaultKind::missing_wait);
    const Caught right =
        caught("v_mov_b32 v9, 0\nds_write_b32 v9, v0\nds_read_b32 v10, v9\n" + wait_for_lds(arch) + "v_mov_b32 v4, v10",
               arch, 64);
    CHECK_MESSAGE(!right.kind, right.message);
  }
}

TEST_CASE("A wait for all but the last load allows the registers of the others only") {
  if (!can_emulate()) return;
  const std::string loads =
      "global_load_dword v10, v30, s[4:5]\nglobal_load_dword v11, v30, s[4:5] offset:4\ns_waitcnt vmcnt(1)\n";
  const Caught first = caught(loads + "v_mov_b32 v4, v10\ns_waitcnt vmcnt(0)", "gfx942");
  CHECK_MESSAGE(!first.kind, first.message);
  CHECK(caught(loads + "v_mov_b32 v4, v11", "gfx942").kind == FaultKind::missing_wait);
}

TEST_CASE("LDS must be written before it is read, and has an end") {
  if (!can_emulate()) return;
  for (const std::string& arch : emulated_archs) {
    CAPTURE(arch);
    const Caught unwritten = caught("v_mov_b32 v9, 16\nds_read_b32 v10, v9", arch, 64);
    CHECK(unwritten.kind == FaultKind::uninitialised_lds);
    CHECK_MESSAGE(unwritten.message.find("wave 0, lane 0: reads 4 bytes of LDS at 16, which no lane has written") !=
                      std::string::npos,
                  unwritten.message);
    const Caught outside = caught("v_mov_b32 v9, 62\nds_write_b32 v9, v0", arch, 64);
    CHECK(outside.kind == FaultKind::lds_bounds);
    CHECK_MESSAGE(outside.message.find("writes 4 bytes of LDS at 62, but the workgroup has 64") != std::string::npos,
                  outside.message);
  }
}

TEST_CASE("Global memory outside of the allocations is not accessed") {
  if (!can_emulate()) return;
  for (const std::string& arch : emulated_archs) {
    CAPTURE(arch);
    const Caught beyond = caught("v_mov_b32 v9, 0x100000\nglobal_store_dword v9, v0, s[6:7]", arch);
    CHECK(beyond.kind == FaultKind::global_bounds);
    CHECK_MESSAGE(beyond.message.find("lane 0: writes 4 bytes at 0x") != std::string::npos, beyond.message);
  }
}

TEST_CASE("Waves meet at one barrier; waves that have ended are not waited for") {
  if (!can_emulate()) return;
  for (const std::string& arch : emulated_archs) {
    CAPTURE(arch);
    const std::string first_wave = "v_readfirstlane_b32 s10, v30\ns_cmp_eq_u32 s10, 0\n";
    const Caught apart = caught(first_wave + "s_cbranch_scc1 first\n" + barrier(arch) + "s_branch both\nfirst:\n" +
                                    barrier(arch) + "both:\ns_nop 0",
                                arch, 0, 128);
    CHECK(apart.kind == FaultKind::barrier);
    CHECK_MESSAGE(apart.message.find("waits at another one") != std::string::npos, apart.message);
    const Caught ended =
        caught(first_wave + "s_cbranch_scc1 first\n" + barrier(arch) + "first:\ns_nop 0", arch, 0, 128);
    CHECK_MESSAGE(!ended.kind, ended.message);
  }
}

TEST_CASE("A wave of RDNA4 waits only for a barrier that it has signalled") {
  if (!can_emulate()) return;
  CHECK(caught("s_barrier_wait -1", "gfx1201").kind == FaultKind::barrier);
  CHECK(caught("s_barrier_signal -1\ns_barrier_signal -1", "gfx1201").kind == FaultKind::barrier);
}

TEST_CASE("An instruction that is not known ends the launch where it is executed, and only there") {
  if (!can_emulate()) return;
  const Caught unknown = caught("v_mfma_f64_4x4x4f64 v[4:5], v[0:1], v[2:3], v[4:5]", "gfx90a");
  CHECK(unknown.kind == FaultKind::unknown_instruction);
  CHECK_MESSAGE(unknown.message.find("v_mfma_f64_4x4x4f64 v[4:5], v[0:1], v[2:3], v[4:5]") != std::string::npos,
                unknown.message);
  const Caught skipped =
      caught("s_branch after\nv_mfma_f64_4x4x4f64 v[4:5], v[0:1], v[2:3], v[4:5]\nafter:\ns_nop 0", "gfx90a");
  CHECK_MESSAGE(!skipped.kind, skipped.message);
  const Caught clamped = caught("v_add_u16 v4, v0, v1 clamp", "gfx942");
  CHECK(clamped.kind == FaultKind::unknown_instruction);
}

TEST_CASE("A kernel that does not end is stopped") {
  if (!can_emulate()) return;
  const Caught trap = caught("s_trap 2", "gfx1100");
  CHECK(trap.kind == FaultKind::trap);
  CHECK_MESSAGE(!caught("s_trap 3", "gfx1100").kind, "a stop for a debugger");
  const Caught endless = caught("again:\ns_branch again", "gfx1100");
  CHECK(endless.kind == FaultKind::endless);
}

TEST_CASE("Damaged code objects, other architectures and unknown kernels are refused") {
  CHECK_THROWS_WITH_AS(emulator::Program::load("no ELF file", "gfx942"), doctest::Contains("not an ELF file"),
                       xtune::Error);
  CHECK_THROWS_WITH_AS(emulator::Program::load("", "sm_90a"),
                       doctest::Contains("does not know the architecture 'sm_90a'"), xtune::Error);
  if (!can_emulate()) return;
  const std::string image = assemble(snippet_kernel("whole", "s_nop 0", "gfx942"), "gfx942");
  const emulator::Program program = emulator::Program::load(image, "gfx942:sramecc+:xnack-");
  CHECK(program.kernels() == std::vector<std::string>{"whole"});
  emulator::Launch launch;
  launch.kernel = "half";
  CHECK_THROWS_WITH_AS(program.launch(launch, {}), doctest::Contains("has no kernel 'half'; it has: whole"),
                       xtune::Error);
  launch.kernel = "whole";
  launch.block = {2048, 1, 1};
  CHECK_THROWS_WITH_AS(program.launch(launch, {}), doctest::Contains("a workgroup of 2048 threads"), xtune::Error);
  for (std::size_t bytes = 1; bytes < image.size(); bytes += 97) {
    try {
      emulator::Program::load(image.substr(0, bytes), "gfx942");
    } catch (const xtune::Error&) {
      continue;
    }
  }
}

TEST_CASE("Memory has allocations that do not overlap, and finds what lies inside one") {
  std::vector<std::byte> bytes(64);
  emulator::Memory memory;
  memory.add(bytes.data(), 32);
  memory.add(bytes.data() + 32, 32);
  const auto base = reinterpret_cast<std::uint64_t>(bytes.data());
  CHECK_THROWS_AS(memory.add(bytes.data() + 8, 4), xtune::Error);
  CHECK(memory.find(base + 28, 4) == bytes.data() + 28);
  CHECK(memory.find(base + 30, 4) == nullptr);
  CHECK(memory.find(base + 64, 1) == nullptr);
  memory.remove(bytes.data());
  CHECK(memory.find(base, 1) == nullptr);
}
