// What the emulator refuses: kernels with mistakes, instructions that it does not know, and damaged code objects.
#include <doctest/doctest.h>

#include <map>
#include <optional>

#include "emulator/decode.hpp"
#include "emulator/fault.hpp"
#include "emulator/tests/snippet.hpp"
#include "support/text.hpp"
#include "system/dynamic_library.hpp"

using namespace xtune::test;
namespace emulator = xtune::emulator;
using emulator::FaultKind;

namespace {

struct Caught {
  std::optional<FaultKind> kind;
  std::string message;
  std::map<std::uint64_t, std::string> notes;
};

Caught caught_in(const emulator::Program& program, const std::string& kernel, std::uint32_t threads) {
  std::vector<Words> inputs = edge_inputs(256), results(256);
  const Arguments arguments = Arguments().add(inputs).add(results);
  emulator::Launch launch;
  launch.kernel = kernel;
  launch.block = {threads, 1, 1};
  launch.max_instructions = 3'000'000;
  try {
    return {{}, {}, run(program, launch, arguments).unwritten_reads};
  } catch (const emulator::Fault& fault) {
    return {fault.fault_kind(), fault.what(), {}};
  }
}

/// What ends a kernel of these instructions.
Caught caught(const std::string& body, const std::string& arch, int lds_bytes = 0, std::uint32_t threads = 0) {
  const emulator::Program program =
      emulator::Program::load(assemble(snippet_kernel("wrong", body, arch, lds_bytes), arch), arch);
  return caught_in(program, "wrong", threads == 0 ? static_cast<std::uint32_t>(wave_size_of(arch)) : threads);
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

TEST_CASE("LDS must be written before what it holds is stored, and has an end") {
  if (!can_emulate()) return;
  for (const std::string& arch : emulated_archs) {
    CAPTURE(arch);
    const Caught unwritten = caught("v_mov_b32 v9, 16\nds_read_b32 v4, v9\nWAIT_LDS\n", arch, 64);
    CHECK(unwritten.kind == FaultKind::uninitialised_lds);
    CHECK_MESSAGE(unwritten.message.find("wave 0, lane 0: reads 4 bytes of LDS at 16, which no lane has written") !=
                      std::string::npos,
                  unwritten.message);
    const Caught outside = caught("v_mov_b32 v9, 62\nds_write_b32 v9, v0", arch, 64);
    CHECK(outside.kind == FaultKind::lds_bounds);
    CHECK_MESSAGE(outside.message.find("writes 4 bytes of LDS at 62, but the workgroup has 64") != std::string::npos,
                  outside.message);
    const Caught negative = caught("v_mov_b32 v9, -4\nds_write_b32 v9, v0", arch, 64);
    CHECK_MESSAGE(negative.message.find("writes 4 bytes of LDS at -4, but the workgroup has 64") != std::string::npos,
                  negative.message);
  }
}

namespace {

/// What a kernel does with v10, a word of LDS that no lane has written. v9 is 16.
struct UndefinedUse {
  std::string body, reached;  ///< reached: what the fault names; empty: the value reaches nothing
  std::string archs;
};

const std::vector<UndefinedUse> undefined_uses = {
    {"", "", ""},
    {"v_mov_b32 v10, 1\nv_mov_b32 v4, v10\n", "", ""},
    {"v_and_b32 v10, 0, v10\nv_or_b32 v4, v0, v10\n", "", ""},
    {"v_mul_f32 v10, 0, v10\nv_add_f32 v4, v0, v10\n", "", ""},
    {"v_cmp_gt_u32 MASK, 0, v30\nv_cndmask_b32 v4, v0, v10, MASK\n", "", ""},
    {"ds_write_b32 v9, v10\nds_write_b32 v9, v0\nds_read_b32 v4, v9\nWAIT_LDS\n", "", ""},
    {"v_max_f32 v10, v10, v10\nv_readfirstlane_b32 s10, v10\ns_and_b32 s10, s10, 0\ns_cmp_eq_u32 s10, 0\n"
     "s_cbranch_scc1 1f\nv_mov_b32 v4, v10\n1:\n",
     "", ""},
    {"v_mov_b32 v4, v10\n", "the store of 'global_store", ""},
    {"v_max_u32 v4, 1, v10\n", "the store of 'global_store", ""},
    {"v_cmp_eq_u32 MASK, 7, v10\nv_cndmask_b32 v4, 1, v0, MASK\n", "the store of 'global_store", ""},
    {"ds_write_b8 v9, v10\nds_read_b32 v4, v9\nWAIT_LDS\n", "the store of 'global_store", ""},
    {"v_readfirstlane_b32 s10, v10\ns_cmp_eq_u32 s10, 7\ns_cbranch_scc1 1f\ns_nop 0\n1:\n",
     "the branch of 's_cbranch_scc1", ""},
    {"v_cmp_eq_u32 MASK, 7, v10\ns_cbranch_vccz 1f\ns_nop 0\n1:\n", "the branch of 's_cbranch_vccz", ""},
    {"v_cmp_eq_u32 vcc, 7, v10\ns_and_saveexec_b64 s[10:11], vcc\n", "the execution mask of 's_and_saveexec", "gfx90a"},
    {"v_cmpx_eq_u32 7, v10\n", "the execution mask of 'v_cmpx_eq_u32", "gfx1100 gfx1201"},
    {"ds_write_b32 v10, v0\n", "an address of 'ds_write_b32", "gfx90a gfx942"},
    {"ds_add_u32 v9, v10\n", "the atomic update of 'ds_add_u32", ""},
    {"v_mfma_f32_4x4x1f32 a[0:3], v10, v0, 0\nv_accvgpr_read_b32 v4, a0\n", "the store of 'global_store", "gfx90a"},
};

}  // namespace

TEST_CASE("LDS that no lane has written may be read while nothing depends on the value") {
  if (!can_emulate()) return;
  for (const std::string& arch : emulated_archs)
    for (const UndefinedUse& use : undefined_uses) {
      if (!has_arch(use.archs, arch)) continue;
      CAPTURE(arch);
      CAPTURE(use.body);
      const std::string read = "v_mov_b32 v9, 16\nds_read_b32 v10, v9 offset:16\nds_write_b32 v9, v0\nWAIT_LDS\n";
      const emulator::Program program =
          emulator::Program::load(assemble(snippet_kernel("reads", read + use.body, arch, 64), arch), arch);
      const Caught found = caught_in(program, "reads", static_cast<std::uint32_t>(wave_size_of(arch)));
      CHECK_MESSAGE(found.kind.has_value() == !use.reached.empty(), found.message);
      CHECK_MESSAGE(found.notes.size() == (use.reached.empty() ? 1 : 0), found.message);
      const std::string words =
          use.reached.empty() && !found.notes.empty() ? found.notes.begin()->second : found.message;
      CHECK_MESSAGE(has(words, "wave 0, lane 0: reads 4 bytes of LDS at 32, which no lane has written"), words);
      CHECK_MESSAGE(has(words, use.reached), words);
    }
}

namespace {

/// A kernel for workgroups of 128 threads. BARRIER stands for a barrier, and ZERO for a register with 0. v30 is 16 for
/// each thread, and s10 is 0 in the first wave only.
struct Meeting {
  std::string name, body;
  std::optional<FaultKind> kind;  ///< nullopt: the kernel is right
  std::string words;
  std::string archs;
};

const std::vector<Meeting> meetings = {
    {"no_barrier", "s_cbranch_scc0 1f\nds_write_b32 ZERO, v0 offset:8\nWAIT_LDS\n1:\nds_read_b32 v10, ZERO offset:8\n",
     FaultKind::lds_race,
     "wave 1, lane 0: reads 4 bytes of LDS at 8, of which wave 0 writes byte 8 too: a barrier between the two is "
     "missing",
     ""},
    {"barrier",
     "s_cbranch_scc0 1f\nds_write_b32 ZERO, v0 offset:8\nWAIT_LDS\n1:\nBARRIER\nds_read_b32 v10, ZERO offset:8\n",
     {},
     "",
     ""},
    {"no_second_barrier",
     "ds_write_b32 v30, v30\nWAIT_LDS\nBARRIER\nds_read_b32 v10, ZERO offset:16\nWAIT_LDS\nv_or_b32 v11, 1, v30\n"
     "ds_write_b32 v30, v11\nBARRIER\n",
     FaultKind::lds_race, "wave 1, lane 0: reads 4 bytes of LDS at 16, of which wave 0 writes byte 16 too", ""},
    {"missing_wait", "ds_write_b32 v30, v30\nBARRIER\nds_read_b32 v10, ZERO offset:2032\n", FaultKind::missing_wait,
     "did not wait for its store before the barrier: a wait is missing", ""},
    {"late_wait", "ds_write_b32 v30, v30\nBARRIER\nWAIT_LDS\nBARRIER\nds_read_b32 v10, ZERO offset:2032\n", {}, "", ""},
    {"same_value", "ds_write_b32 ZERO, ZERO offset:8\nds_read_b32 v10, ZERO offset:8\n", {}, "", ""},
    {"other_value", "v_mov_b32 v12, s10\nds_write_b32 ZERO, v12 offset:8\n", FaultKind::lds_race,
     "wave 1, lane 0: writes 4 bytes of LDS at 8, of which wave 0 writes byte 8 too", ""},
    {"bytes_of_a_word",
     "v_mov_b32 v12, 1\nv_cmp_eq_u32 MASK, 0, v12\ns_cselect_b32 s12, 0, 1\ns_lshr_b32 s11, s10, 9\n"
     "s_or_b32 s11, s11, s12\nv_mov_b32 v9, s11\nds_write_b8 v9, v30\nds_read_u8 v10, v9\nWAIT_LDS\nBARRIER\n",
     {},
     "",
     "gfx90a gfx942"},
    {"updates",
     "s_cbranch_scc0 1f\nds_write_b32 ZERO, ZERO offset:8\nWAIT_LDS\n1:\nBARRIER\nds_add_u32 ZERO, v0 offset:8\n"
     "ds_add_rtn_u32 v10, ZERO, v0 offset:8\nWAIT_LDS\nBARRIER\nds_read_b32 v10, ZERO offset:8\n",
     {},
     "",
     ""},
    {"read_of_updates",
     "s_cbranch_scc0 1f\nds_write_b32 ZERO, ZERO offset:8\nWAIT_LDS\n1:\nBARRIER\nds_add_u32 ZERO, v0 offset:8\n"
     "ds_read_b32 v10, ZERO offset:8\n",
     FaultKind::lds_race, "of which wave 0 reads byte 8 too", ""},
    // How compilers add where no instruction does: the first value is read, and a compare-and-swap confirms it.
    {"swaps",
     "s_cbranch_scc0 1f\nds_write_b32 ZERO, ZERO offset:8\nWAIT_LDS\n1:\nBARRIER\nds_read_b32 v10, ZERO offset:8\n"
     "WAIT_LDS\nv_or_b32 v11, 1, v10\nSWAP v12, ZERO, v10, v11 offset:8\nWAIT_LDS\nBARRIER\n",
     {},
     "",
     ""},
    {"read_after_swaps",
     "s_cbranch_scc0 1f\nds_write_b32 ZERO, ZERO offset:8\nWAIT_LDS\n1:\nBARRIER\ns_cmp_eq_u32 s10, 0\n"
     "s_cbranch_scc0 2f\nSWAP v12, ZERO, v10, v11 offset:8\nWAIT_LDS\n2:\nds_read_b32 v10, ZERO offset:8\nWAIT_LDS\n",
     FaultKind::lds_race, "wave 1, lane 0: reads 4 bytes of LDS at 8, of which wave 0 writes byte 8 too", ""},
    // Waves count down, and each reads what those before it have written.
    {"order_of_updates",
     "s_cbranch_scc0 1f\nds_write_b32 ZERO, ZERO offset:8\nWAIT_LDS\n1:\nBARRIER\nds_write_b32 v30, v30 offset:64\n"
     "ds_add_rtn_u32 v10, ZERO, v0 offset:8\nWAIT_LDS\nds_read_b32 v10, ZERO offset:64\n",
     {},
     "",
     ""},
    {"between_signal_and_wait",
     "s_barrier_signal -1\nds_write_b32 v30, v30\nWAIT_LDS\ns_barrier_wait -1\nds_read_b32 v10, ZERO offset:2032\n",
     FaultKind::lds_race, "wave 0, lane 0: reads 4 bytes of LDS at 2032, of which wave 3 writes", "gfx1201"},
    {"before_signal",
     "ds_write_b32 v30, v30\nWAIT_LDS\ns_barrier_signal -1\ns_barrier_wait -1\nds_read_b32 v10, ZERO offset:2032\n",
     {},
     "",
     "gfx1201"},
    {"copy_before_a_read",
     "s_mov_b32 m0, s10\nv_mov_b32 v9, s10\nglobal_load_lds_dword v30, s[4:5]\ns_waitcnt vmcnt(0)\nds_read_b32 v10, "
     "v9\n"
     "BARRIER\nds_read_b32 v11, ZERO offset:1024\n",
     {},
     "",
     "gfx942"},
    {"flat_store",
     "s_mov_b32 s12, 0\ns_mov_b32 s13, 0x10000\nv_mov_b32 v12, 8\nv_mov_b32 v13, s13\nv_mov_b32 v14, s10\n"
     "flat_store_dword v[12:13], v14\ns_waitcnt vmcnt(0) lgkmcnt(0)\n",
     FaultKind::lds_race, "writes 4 bytes of LDS at 8, of which wave 0 writes byte 8 too", "gfx90a gfx942"},
};

}  // namespace

TEST_CASE("Accesses of LDS by several waves that no barrier orders are races") {
  if (!can_emulate()) return;
  for (const std::string& arch : archs_with_rdna2) {
    std::string text;
    for (const Meeting& one : meetings) {
      if (!has_arch(one.archs, arch)) continue;
      std::string body =
          "v_readfirstlane_b32 s10, v30\nv_mov_b32 v31, 0\ns_cmp_eq_u32 s10, 0\n" + one.body + "WAIT_LDS\n";
      for (const auto& [word, meaning] :
           {std::pair<std::string, std::string>("BARRIER\n", barrier(arch)),
            {"SWAP", arch == "gfx1100" || arch == "gfx1201" ? "ds_cmpstore_rtn_b32" : "ds_cmpst_rtn_b32"},
            {"ZERO", "v31"}})
        for (std::size_t at = 0; (at = body.find(word, at)) != std::string::npos;)
          body.replace(at, word.size(), meaning);
      text += snippet_kernel(one.name, body, arch, 4096);
    }
    const emulator::Program program = emulator::Program::load(assemble(text, arch), arch);
    for (const Meeting& one : meetings) {
      if (!has_arch(one.archs, arch)) continue;
      CAPTURE(arch);
      CAPTURE(one.name);
      const Caught found = caught_in(program, one.name, 128);
      CHECK_MESSAGE(found.kind == one.kind, found.message);
      CHECK_MESSAGE(found.message.find(one.words) != std::string::npos, found.message);
    }
  }
}

TEST_CASE("Matrix instructions need all lanes, and on RDNA3 operands that repeat themselves") {
  if (!can_emulate()) return;
  const Caught partial = caught("s_mov_b64 exec, 7\nv_mfma_f32_4x4x1f32 v[4:7], v0, v1, v[4:7]", "gfx942");
  CHECK(partial.kind == FaultKind::matrix_operands);
  CHECK_MESSAGE(partial.message.find("only some lanes are active (exec is 0x7)") != std::string::npos, partial.message);
  const std::string product = "v_wmma_f32_16x16x16_f16 v[40:47], v[8:15], v[16:23], v[40:47]";
  for (const char* arch : {"gfx1100", "gfx1201"}) {
    const std::string code =
        arch == std::string("gfx1100") ? product : "v_wmma_f32_16x16x16_f16 v[40:47], v[8:11], v[16:19], v[40:47]";
    CHECK(caught("s_mov_b32 exec_lo, 7\n" + code, arch).kind == FaultKind::matrix_operands);
    CHECK_FALSE(caught(code, arch).kind);
  }
  const Caught different = caught("v_mov_b32 v18, v30\n" + product, "gfx1100");
  CHECK(different.kind == FaultKind::matrix_operands);
  CHECK_MESSAGE(different.message.find("takes v18, in which lane 16 does not repeat lane 0") != std::string::npos,
                different.message);
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

TEST_CASE("A fault names the line of the source, and where its function was inlined, if the code object has lines") {
  if (!can_emulate()) return;
  try {
    static_cast<void>(xtune::system::DynamicLibrary::open({"libdw.so.1"}));
  } catch (const xtune::Error& error) {
    MESSAGE("skipped: " << error.what());
    return;
  }
  const std::string source =
      "#line 1 \"folder/k.hip\"\n"
      "static __device__ void put(int* y, int i) {\n"
      "  y[i + 10000000] = i;\n"
      "}\n"
      "extern \"C\" __global__ void wrong(int* y) {\n"
      "  put(y, thread_x);\n}\n";
  std::vector<int> y(64);
  emulator::Launch launch;
  launch.kernel = "wrong";
  for (const bool lines : {false, true}) {
    const std::string image = compile_hip(source, "gfx942", {lines ? "-gline-tables-only" : "-g0"});
    const std::string place =
        lines ? " of its code (k.hip:2, inlined at k.hip:5), workgroup" : " of its code, workgroup";
    CHECK_THROWS_WITH_AS(run(emulator::Program::load(image, "gfx942"), launch, Arguments().add(y)),
                         doctest::Contains(place.c_str()), emulator::Fault);
    const std::string listed = emulator::listing(image, "gfx942", "wrong");
    CHECK_MESSAGE(listed.starts_with("wrong:\n"), listed);
    CHECK_MESSAGE(has(listed, ":\ts_endpgm\n"), listed);
    CHECK_MESSAGE(has(listed, "; k.hip:2, inlined at k.hip:5\n") == lines, listed);
  }
  CHECK_THROWS_WITH_AS(emulator::listing(compile_hip(source, "gfx942"), "gfx942", "other"),
                       doctest::Contains("no kernel 'other'"), xtune::Error);
}

TEST_CASE("A kernel that takes memory from the heap is told what is missing") {
  if (!can_emulate()) return;
  const std::string source =
      "extern \"C\" __global__ void heap(int* y) {\n"
      "  char* const hidden = (char*)__builtin_amdgcn_implicitarg_ptr();\n  *y = **(int**)(hidden + 96);\n}\n";
  const emulator::Program program = emulator::Program::load(compile_hip(source, "gfx942"), "gfx942");
  std::vector<int> y(1);
  emulator::Launch launch;
  launch.kernel = "heap";
  CHECK_THROWS_WITH_AS(run(program, launch, Arguments().add(y)),
                       doctest::Contains("in no allocation: malloc and free in a kernel need"), emulator::Fault);
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
  const Caught unknown = caught("v_cvt_pk_u8_f32 v4, v0, v1, v2", "gfx90a");
  CHECK(unknown.kind == FaultKind::unknown_instruction);
  CHECK_MESSAGE(unknown.message.find("v_cvt_pk_u8_f32 v4, v0, v1, v2") != std::string::npos, unknown.message);
  const Caught skipped = caught("s_branch after\nv_cvt_pk_u8_f32 v4, v0, v1, v2\nafter:\ns_nop 0", "gfx90a");
  CHECK_MESSAGE(!skipped.kind, skipped.message);
  const Caught clamped = caught("v_mad_u16 v4, v0, v1, v2 clamp", "gfx942");
  CHECK(clamped.kind == FaultKind::unknown_instruction);
}

TEST_CASE("Halves of registers that LLVM does not print are never taken for others") {
  if (!can_emulate()) return;
  // v_xor_b16 v4.h, v0.l, 5, of which LLVM 19 prints "v_xor_b16 v4, v0, 5".
  const emulator::Program program = emulator::Program::load(
      assemble(snippet_kernel("halves", ".long 0xd7644004, 0x00010b00", "gfx1100"), "gfx1100"), "gfx1100");
  const std::vector<Words> inputs = edge_inputs(32);
  try {
    const std::vector<Words> results = run_snippet(program, "halves", "gfx1100", inputs);
    for (std::size_t lane = 0; lane < 32; ++lane) CHECK(results[lane][0] == ((inputs[lane][0] & 0xffff) ^ 5) << 16);
  } catch (const emulator::Fault& fault) {
    CHECK(fault.fault_kind() == FaultKind::unknown_instruction);
    CHECK(has(fault.what(), "halves of registers that this LLVM does not print"));
  }
}

TEST_CASE("A kernel that does not end is stopped") {
  if (!can_emulate()) return;
  const Caught trap = caught("s_trap 2", "gfx1100");
  CHECK(trap.kind == FaultKind::trap);
  CHECK_MESSAGE(!caught("s_trap 3", "gfx1100").kind, "a stop for a debugger");
  const Caught endless = caught("again:\ns_branch again", "gfx1100");
  CHECK(endless.kind == FaultKind::endless);
}

TEST_CASE("A long launch tells its watch where it is") {
  if (!can_emulate()) return;
  const emulator::Program program = emulator::Program::load(
      assemble(snippet_kernel("loop", "again:\ns_branch again", "gfx1100"), "gfx1100"), "gfx1100");
  std::vector<Words> inputs(64), results(64);
  emulator::Launch launch;
  launch.kernel = "loop";
  launch.block = {32, 1, 1};
  std::atomic<bool> stop{false};
  std::string found;
  launch.stop = &stop;
  launch.watch = [&](const std::function<std::string()>& place) {
    found = place();
    stop = true;
  };
  run(program, launch, Arguments().add(inputs).add(results));
  CHECK_MESSAGE(found.starts_with("kernel 'loop', 's_branch "), found);
  CHECK_MESSAGE(found.ends_with("workgroup 0,0,0, wave 0"), found);
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

TEST_CASE("Memory says where bytes are that are in no allocation") {
  std::vector<std::byte> bytes(4096);
  const auto base = reinterpret_cast<std::uint64_t>(bytes.data());
  emulator::Memory memory;
  CHECK(memory.beside(base, 4).empty());
  memory.add(bytes.data() + 1024, 1024);
  memory.add(bytes.data() + 3072, 64, true);
  CHECK(memory.beside(base + 3068, 8) == "1020 bytes after the end of an allocation (1024 bytes)");
  CHECK(memory.beside(base + 2048, 4) == "directly after the end of an allocation (1024 bytes)");
  CHECK(memory.beside(base + 1008, 4) == "16 bytes before the start of an allocation (1024 bytes)");
  CHECK(memory.beside(base + 2040, 16) == "the last 8 of them after the end of an allocation (1024 bytes)");
  CHECK(memory.beside(base + 1020, 16) == "the first 4 of them before the start of an allocation (1024 bytes)");
  CHECK(memory.beside(0, 4).empty());
  memory.name(bytes.data() + 1280, 512, "argument 'x'");
  memory.name(bytes.data() + 1024, 128, "argument 'y'");
  CHECK(memory.beside(base + 2052, 4) == "260 bytes after the end of argument 'x' (512 bytes)");
  CHECK(memory.beside(base + 1000, 4) == "24 bytes before the start of argument 'y' (128 bytes)");
  memory.remove(bytes.data() + 1024);
  CHECK(memory.beside(base + 2052, 4).empty());
}
