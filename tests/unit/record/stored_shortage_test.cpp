// Failures as earlier versions stored them, by their literal texts: which were the machine's.
#include <doctest/doctest.h>

#include <string>

#include "core/store/record_check.hpp"
#include "core/store/record_log.hpp"
#include "example_record.hpp"
#include "system/files.hpp"

using namespace xtune::system;
using namespace xtune::store;

using namespace xtune;

namespace {

Record failed(Outcome outcome, const std::string& stage, const std::string& message) {
  Record record = example_record(64, 1);
  record.outcome = outcome;
  record.stage = stage;
  record.message = message;
  record.samples_ms.clear();
  record.time_ms = {};
  return record;
}

bool told(Outcome outcome, const std::string& stage, const std::string& message) {
  return is_stored_shortage(failed(outcome, stage, message));
}

}  // namespace

TEST_CASE("What earlier versions stored of a machine's lack is recognised") {
  CHECK(told(Outcome::launch_failed, "run",
             "the program: cannot start /tmp/xtune-1-2-3-a/program: permission denied (a built one lies where "
             "XTUNE_TMP_DIR says, which must be a file system that allows programs)"));
  CHECK(told(Outcome::compile_failed, "compile", "the build: cannot start sh: resource temporarily unavailable"));
  CHECK(told(Outcome::compile_failed, "compile", "the build: cannot start sh: not enough memory"));
  CHECK(told(Outcome::launch_failed, "run", "the validator: cannot start ./check: too many open files"));
  CHECK(told(Outcome::launch_failed, "run", "the program: cannot start ./p: text file is busy"));
  CHECK(told(Outcome::compile_failed, "compile", "the build ended well and left an empty file at {out}"));
  CHECK(told(Outcome::compile_failed, "compile", "the build ended with exit code 2: mk.sh: 1: Cannot fork"));
  CHECK(told(Outcome::compile_failed, "compile",
             "the build ended with exit code 1: cp: error writing 'program': No space left on device"));
  CHECK(told(Outcome::launch_failed, "run", "the program ended with exit code 2: sh: 0: Cannot fork"));
  CHECK(told(Outcome::compile_failed, "compile",
             "collect2: fatal error: ld terminated with signal 25 [File size limit exceeded]"));
  CHECK(told(Outcome::crashed, "compile", "g++: g++: fatal error: Killed signal terminated program cc1plus"));
  CHECK(told(Outcome::crashed, "compile",
             "the compiler crashed: killed by signal 9 (killed); not by xtune: perhaps the system ran out of memory"));
}

TEST_CASE("Ends by a signal from elsewhere, and programs and libraries that were not there, were the machine's") {
  CHECK(told(Outcome::crashed, "run", "the program ended with killed by signal 15 (terminated)"));
  CHECK(told(Outcome::crashed, "run",
             "the program was killed by signal 15 (terminated) (xtune did not send the signal)"));
  CHECK(told(Outcome::crashed, "compile", "sh crashed: killed by signal 1 (hangup)"));
  CHECK(told(Outcome::wrong_result, "run", "the check ended with killed by signal 15 (terminated): "));
  CHECK(told(Outcome::launch_failed, "run", "the program ended with exit code 127: r.sh: 1: mytool: not found"));
  CHECK(told(Outcome::wrong_result, "run", "the validator passed run 1 and, after run 3, ended with exit code 126: "));
  CHECK(told(Outcome::compile_failed, "compile", "the build ended with exit code 2: b.sh: 1: mytool: not found"));
  CHECK(told(Outcome::launch_failed, "run",
             "the program ended with exit code 1: ./m: error while loading shared libraries: libv.so: cannot open "
             "shared object file: No such file or directory"));
  CHECK_FALSE(told(Outcome::crashed, "run", "the program ended with killed by signal 6 (aborted)"));
  CHECK_FALSE(told(Outcome::wrong_result, "run", "the validator ended with exit code 1: differs"));
  CHECK_FALSE(told(Outcome::wrong_result, "run", "y: 3 of 4 differ; ended with exit code 127"));
}

TEST_CASE("A device without memory was the machine's lack, also where it was stored as a kernel's failure") {
  CHECK(told(Outcome::launch_failed, "run", "loading the kernel: CUDA_ERROR_OUT_OF_MEMORY: out of memory"));
  CHECK(told(Outcome::launch_failed, "run", "launching the kernel: hipErrorOutOfMemory: out of memory"));
  CHECK(told(Outcome::crashed, "run", "running the kernel: CUDA_ERROR_ECC_UNCORRECTABLE: uncorrectable ECC error"));
  CHECK_FALSE(told(Outcome::launch_failed, "run", "launching the kernel: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: regs"));
  CHECK_FALSE(told(Outcome::compile_failed, "compile", "k.cu(3): error: #error CUDA_ERROR_OUT_OF_MEMORY"));
  CHECK_FALSE(told(Outcome::launch_failed, "run", "the program ended with exit code 1: CUDA_ERROR_OUT_OF_MEMORY"));
}

TEST_CASE("A failure at a memory limit that depended on free memory is not the kernel's fault") {
  CHECK(
      told(Outcome::crashed, "run",
           "the kernel took more than 1.1 GB of memory beside its arguments, half of what was free, and was stopped"));
  CHECK_FALSE(told(Outcome::crashed, "run",
                   "the kernel took 9.0 GB of memory beside its arguments, more than half of all that there is (16.0 "
                   "GB), and was stopped"));
}

TEST_CASE("A configuration's own failures stay its own") {
  CHECK_FALSE(told(Outcome::compile_failed, "compile", "k.cu:7:2: error: #error No space left on device"));
  CHECK_FALSE(told(Outcome::compile_failed, "compile", "the build ended with exit code 1: a.cpp:3:1: error: no"));
  CHECK_FALSE(told(Outcome::compile_failed, "compile", "the build succeeded but left no file at {out}"));
  CHECK_FALSE(told(Outcome::launch_failed, "run", "the program: cannot start ./p: exec format error"));
  CHECK_FALSE(told(Outcome::launch_failed, "run", "the program ended with exit code 3: out of paper"));
  CHECK_FALSE(
      told(Outcome::crashed, "run", "the kernel took its process down: killed by signal 11 (segmentation fault)"));
  CHECK_FALSE(told(Outcome::wrong_result, "validate", "Cannot fork"));
  // What this version stores.
  CHECK_FALSE(told(Outcome::compile_failed, "compile", "the build succeeded but left {out} empty"));
  CHECK_FALSE(told(Outcome::timed_out, "compile", "the compiler did not end within 30 s"));
  CHECK_FALSE(is_stored_shortage(example_record(64, 1)));
}

TEST_CASE("A compiler that was stopped long after its limit had been suspended") {
  Record record = failed(Outcome::timed_out, "compile", "compiling took longer than 30 s");
  record.compile_s = 63.2;
  CHECK(is_stored_shortage(record));
  record.compile_s = 30.05;
  CHECK_FALSE(is_stored_shortage(record));
  record.stage = "run";
  record.compile_s = 63.2;
  CHECK_FALSE(is_stored_shortage(record));
}

TEST_CASE("Such records count as not there") {
  const TemporaryDirectory store;
  {
    RecordWriter writer(store.path(), "sm_90", "gemm", "a1");
    writer.append(failed(Outcome::compile_failed, "compile", "the build: cannot start sh: not enough memory"));
    writer.append(failed(Outcome::compile_failed, "compile", "the build ended with exit code 1: no"));
  }
  const RecordSet set = read_records(store.path(), "sm_90", "gemm");
  REQUIRE(set.records.size() == 1);
  CHECK(set.records[0].message == "the build ended with exit code 1: no");
  CHECK(set.warnings.empty());
}
