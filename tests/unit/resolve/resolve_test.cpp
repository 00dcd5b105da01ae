// From a configuration to its request, launch, arguments, limits and keys.
#include "core/resolve/resolve.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <set>

#include "core/build/keyed_files.hpp"
#include "core/spec/template_text.hpp"
#include "core/validate/npy.hpp"
#include "fakes/environment_variable.hpp"
#include "support/text.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

using namespace xtune::system;
using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::resolve;
using namespace xtune::space;
using namespace xtune::spec;
using namespace xtune::validate;

using namespace xtune;
using namespace xtune::test;

namespace {

/// The launch of a plan's only kernel.
Launch only(const LaunchPlan& plan) {
  REQUIRE(plan.steps.size() == 1);
  return plan.steps.front().launch;
}

Text text(const std::string& words, std::size_t line = 3) { return {words, {"gemm.toml", line, 5}}; }

DeviceInfo device() {
  DeviceInfo info;
  info.backend = "cuda";
  info.name = "NVIDIA H200";
  info.vendor = "nvidia";
  info.arch = "sm_90";
  info.compute_units = 132;
  info.shared_per_block = 49152;
  info.shared_per_block_optin = 232448;
  info.registers_per_block = 65536;
  return info;
}

// A small job: BLOCK and STAGES reach the compiler, RASTER the launch only.
struct Job {
  TemporaryDirectory folder;
  Spec spec;
  Bindings problem{{"M", std::int64_t{1000}}, {"N", std::int64_t{64}}};
  DeviceInfo info = device();
  std::string toolchain = "nvrtc 13.0", arch = "sm_90a";

  Job() {
    write("gemm.cu", "#include \"tile.h\"\n__global__ void gemm() {}\n");
    write("tile.h", "int tile;\n");
    write("naive.cu", "__global__ void naive() {}\n");
    spec.kernel.name = "gemm";
    spec.kernel.source = folder.path() / "gemm.cu";
    spec.kernel.entry = text("gemm<{BLOCK}, {STAGES * 2}>");
    spec.kernel.options = {text("-std=c++17"), text("-maxrregcount={BLOCK + 1}")};
    spec.kernel.backend_options["cuda"] = {text("-lineinfo")};
    spec.kernel.backend_options["hip"] = {text("-mwavefrontsize64")};
    spec.kernel.defines = {{"ROWS", text("{M}")}};
    spec.kernel.include_dirs = {"/opt/inc"};
    spec.parameters = {{"BLOCK", {std::int64_t{64}, std::int64_t{128}}, true},
                       {"STAGES", {std::int64_t{2}, std::int64_t{3}}, true},
                       {"RASTER", {std::int64_t{0}, std::int64_t{4}}, false},
                       {"FAST", {true, false}, true}};
    spec.launch.grid = {text("ceildiv(M, BLOCK)"), text("N // 64")};
    spec.launch.block = {text("BLOCK * 2")};
    spec.launch.shared = text("STAGES * BLOCK * 16");
    add_buffer("A", ArgRole::in, {"M", "N"});
    add_scalar("m", DType::i32, "M");
    add_buffer("C", ArgRole::out, {"N", "M"});

    spec.validate.reference.kind = ReferenceSpec::Kind::kernel;
    spec.validate.reference.name = "naive";
    spec.validate.reference.source = folder.path() / "naive.cu";
  }

  void write(const std::string& name, const std::string& words) const { std::ofstream(folder.path() / name) << words; }
  void add_buffer(const std::string& name, ArgRole role, const std::vector<std::string>& shape) {
    ArgSpec argument;
    argument.name = name;
    argument.at = {"gemm.toml", 20, 1};
    argument.role = role;
    argument.dtype = DType::f16;
    for (const std::string& extent : shape) argument.shape.push_back(text(extent, 21));
    spec.args.push_back(argument);
  }
  void add_scalar(const std::string& name, DType type, const std::string& value) {
    ArgSpec argument;
    argument.name = name;
    argument.kind = ArgKind::scalar;
    argument.dtype = type;
    argument.value = text(value, 30);
    spec.args.push_back(argument);
  }
  Space space() const { return Space(spec.parameters, {}, problem); }
  template <class Use>
  auto with(const Use& use, bool sanitize = false) const {
    const Space configs = space();
    const CandidateResolver resolver(spec, configs, problem, info, arch, toolchain, sanitize);
    return use(resolver);
  }
  Config config(std::int64_t block = 64, std::int64_t stages = 2, std::int64_t raster = 0, bool fast = true) const {
    return {block, stages, raster, fast};
  }
  std::string key(const Config& c) const {
    return with([&](const CandidateResolver& r) {
      return key_of(r.measurement_key_parts(c, r.artifact_key(r.compile_request(c))));
    });
  }
  std::string key() const { return key(config()); }
};

ArgSpec constant(const std::string& name, const std::string& symbol = "") {
  ArgSpec argument;
  argument.name = name;
  argument.at = {"gemm.toml", 40, 1};
  argument.kind = ArgKind::constant;
  argument.dtype = DType::f32;
  if (!symbol.empty()) argument.symbol = text(symbol, 41);
  return argument;
}

template <class Call>
std::string refused(ErrorKind kind, const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  return "accepted";
}

template <class Call>
std::string rejected(const Call& call) {
  try {
    call();
  } catch (const CandidateFailure& failure) {
    CHECK(failure.outcome() == Outcome::rejected);
    return failure.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a request holds all that the compiler needs, and launch-only parameters stay out of it") {
  const Job job;
  const CompileRequest request =
      job.with([&](const auto& r) { return r.compile_request(job.config(128, 3, 4, false)); });
  CHECK(request.entry == "gemm<128, 6>");
  CHECK(request.options == std::vector<std::string>{"-std=c++17", "-maxrregcount=129", "-lineinfo"});
  CHECK(request.defines == std::vector<std::pair<std::string, std::string>>{
                               {"BLOCK", "128"}, {"STAGES", "3"}, {"FAST", "0"}, {"ROWS", "1000"}});
  CHECK(request.include_dirs == std::vector<std::string>{job.folder.path().string(), "/opt/inc"});
  CHECK(request.source == read_file(job.spec.kernel.source));
  CHECK(request.source_name == job.spec.kernel.source.string());
  CHECK(request.arch == "sm_90a");
  CHECK_FALSE(request.sanitize);
  CHECK(job.with([&](const auto& r) { return r.compile_request(job.config()); }, true).sanitize);
}

TEST_CASE("the launch, and what no device takes") {
  Job job;
  const auto launch = [&] { return only(job.with([&](const auto& r) { return r.launch(job.config(128)); })); };
  Launch found = launch();
  CHECK(found.grid == std::array<std::uint32_t, 3>{8, 1, 1});
  CHECK(found.block == std::array<std::uint32_t, 3>{256, 1, 1});
  CHECK(found.cluster == std::array<std::uint32_t, 3>{0, 0, 0});
  CHECK(found.shared_bytes == 4096);
  job.spec.launch.cluster = {text("2")};
  CHECK(launch().cluster == std::array<std::uint32_t, 3>{2, 1, 1});
  CHECK_FALSE(found.cooperative);
  const auto key = [&] {
    return job.with([&](const auto& r) { return r.measurement_key_parts(job.config(128), "a"); });
  };
  const auto before = key();
  job.spec.launch.cooperative = true;
  CHECK(launch().cooperative);
  CHECK(key() != before);
  job.spec.launch.shared.reset();
  CHECK(launch().shared_bytes == 0);
  job.spec.launch.grid[1] = text("N // 128");
  CHECK(has(rejected(launch), ": grid[1]: N // 128 = 0, but a launch takes 1 to 4294967295"));
  job.spec.launch.grid[1] = text("0");
  CHECK(has(rejected(launch), ": grid[1]: 0, but a launch takes 1 to 4294967295"));
  job.spec.launch.grid[1] = text("M * 5000000");
  CHECK(has(rejected(launch), "grid[1]: M * 5000000 = 5000000000"));
  job.spec.launch.grid.pop_back();
  job.spec.launch.shared = text("BLOCK - 129", 43);
  CHECK(has(rejected(launch), "gemm.toml:43:5: shared: BLOCK - 129 = -1, but a launch takes 0 to"));
  CHECK(has(rejected(launch), "(BLOCK = 128)"));
  job.spec.launch.shared = text("N // (M - 1000)", 44);
  CHECK(has(refused(ErrorKind::invalid_spec, launch), "gemm.toml:44:"));
}

TEST_CASE("a text without a value rejects the configuration that it has none for, with place and values") {
  const auto rejection = [](const Job& job, std::int64_t block) {
    return rejected([&] { job.with([&](const auto& r) { return r.launch(job.config(block)); }); });
  };
  const auto checked = [&](const Job& job, const std::string& message) {
    CHECK(rejection(job, 64) == "gemm.toml:44:7: " + message);
    CHECK(rejection(job, 128) == "accepted");
    // It has a request and a key all the same: the rejection is stored under it.
    CHECK(job.key(job.config(64)) == job.key(job.config(64)));
    CHECK(job.key(job.config(64)) != job.key(job.config(128)));
  };
  Job job;
  const Spec good = job.spec;
  job.spec.launch.grid[0] = text("M // (BLOCK - 64)", 44);
  CHECK(has(rejection(job, 64), "gemm.toml:44:7: division by zero in \"M // (BLOCK - 64)\" (BLOCK = 64, M = 1000)"));
  CHECK(rejection(job, 128) == "accepted");
  job.spec = good;
  job.spec.kernel.entry = text("k<{M // (BLOCK - 64)}>", 44);
  CHECK(has(rejection(job, 64), "gemm.toml:44:10: division by zero in \"k<{M // (BLOCK - 64)}>\" (BLOCK = 64"));
  CHECK(rejection(job, 128) == "accepted");
  job.spec = good;
  job.spec.kernel.options.push_back(text("{M // (BLOCK - 64)}", 44));
  CHECK(has(rejection(job, 64), "gemm.toml:44:8: division by zero"));
  CHECK(job.key(job.config(64)) != job.key(job.config(128)));
  job.spec = good;
  job.spec.kernel.defines[0].second = text("{M // (BLOCK - 64)}", 44);
  CHECK(has(rejection(job, 64), "gemm.toml:44:8: division by zero"));
  job.spec = good;
  job.spec.args[1].value = text("M // (BLOCK - 64)", 44);
  checked(job, "division by zero in \"M // (BLOCK - 64)\" (BLOCK = 64, M = 1000)");
  job.spec = good;
  job.spec.args[1].dtype = DType::i8;
  job.spec.args[1].value = text("191 - BLOCK", 44);
  CHECK(has(rejection(job, 128), "accepted"));
  job.spec.args[1].value = text("128 // BLOCK * 64", 44);
  CHECK(rejection(job, 64) == "gemm.toml:44:5: argument 'm': 128 // BLOCK * 64 = 128 does not fit i8 (BLOCK = 64)");
}

TEST_CASE("an infinite scalar is passed where its type has infinities") {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto scalar = spec::encode_scalar(DType::f32, -infinity);
  REQUIRE(scalar);
  CHECK(std::memcmp(scalar->data(), std::array{-infinity}.data(), sizeof infinity) == 0);
  CHECK(spec::encode_scalar(DType::bf16, std::nan("")));
  CHECK(spec::encode_scalar(DType::f8e5m2, infinity));
  CHECK_FALSE(spec::encode_scalar(DType::f8e4m3, infinity));
  CHECK_FALSE(spec::encode_scalar(DType::i32, infinity));
  CHECK_FALSE(spec::encode_scalar(DType::f16, 1e6));
}

TEST_CASE("a u64 takes integers up to 2^64 - 1") {
  const auto scalar = spec::encode_scalar(DType::u64, spec::evaluate(text("2**64 - 1", 1), {}));
  REQUIRE(scalar);
  CHECK(std::memcmp(scalar->data(), std::array{~std::uint64_t{0}}.data(), 8) == 0);
  CHECK_FALSE(spec::encode_scalar(DType::u64, spec::evaluate(text("2**64", 1), {})));
  CHECK_FALSE(spec::encode_scalar(DType::i64, spec::evaluate(text("2**63", 1), {})));
  CHECK_FALSE(spec::encode_scalar(DType::u64, Value("7")));
}

TEST_CASE("a failing text that no parameter has part in fails for all, and so does the reference's launch") {
  Job job;
  const Spec good = job.spec;
  job.spec.args[1].value = text("N // (M - 1000)", 44);
  const auto launch = [&] { return job.with([&](const auto& r) { return r.launch(job.config()); }); };
  CHECK(has(refused(ErrorKind::invalid_spec, launch), "gemm.toml:44:"));
  job.spec = good;
  job.spec.validate.reference.launch = LaunchSpec{{text("M // (BLOCK - 64)", 50)}, {text("32")}, {}, {}};
  job.spec.validate.reference.at = {"gemm.toml", 49, 13};
  const auto reference = [&] { return job.with([&](const auto& r) { return r.reference_launch(); }); };
  CHECK(has(refused(ErrorKind::invalid_spec, reference), "gemm.toml:50:7: division by zero"));
  job.spec.validate.reference.launch->grid[0] = text("M - 1000", 50);
  CHECK(has(refused(ErrorKind::invalid_spec, reference),
            "gemm.toml:50:5: grid[0]: M - 1000 = 0, but a launch takes 1 to 4294967295, in the reference's launch"));
}

TEST_CASE("a rejected configuration's key does not depend on where the spec lies") {
  Job here, there;
  here.spec.launch.grid[0] = text("M // (BLOCK - 64)", 44);
  there.spec.launch.grid[0] = Text{"M // (BLOCK - 64)", {"/elsewhere/gemm.toml", 45, 1}};
  CHECK(here.key() == there.key());
}

TEST_CASE("only the key of a sanitized kernel's measurement mentions the sanitizers") {
  const Job job;
  const auto parts = [&](bool sanitize) {
    return job.with(
        [&](const auto& r) {
          return r.measurement_key_parts(job.config(), r.artifact_key(r.compile_request(job.config())));
        },
        sanitize);
  };
  CHECK(parts(true).back() == std::pair<std::string, std::string>{"sanitize", "true"});
  CHECK(parts(false).back().first != "sanitize");
}

TEST_CASE("Where macros name headers, the parameters that have a part in it count, also those that others lead to") {
  Job job;
  job.write("gemm.cu", "#include NAME\n#include UNSET\nvoid gemm();\n");
  for (const char* name : {"one.h", "two.h", "three.h", "four.h"}) job.write(name, std::string("// ") + name);
  job.spec.parameters.push_back({"NAME", {std::string("\"one.h\""), std::string("\"two.h\""), std::string("B")}, true});
  job.spec.parameters.push_back({"B", {std::string("\"three.h\""), std::string("\"four.h\"")}, true});
  job.with([&](const CandidateResolver& r) {
    const auto header = [&](const char* name, const char* b) {
      Config config = job.config();
      config.insert(config.end(), {std::string(name), std::string(b)});
      const auto files = r.compile_request(config).files;
      return files && !files->files.empty() ? std::filesystem::path(files->files.back().path).filename().string() : "";
    };
    for (int turn = 0; turn < 2; ++turn) {
      CHECK(header("\"one.h\"", "\"three.h\"") == "one.h");
      CHECK(header("\"two.h\"", "\"three.h\"") == "two.h");
      CHECK(header("\"one.h\"", "\"four.h\"") == "one.h");
      // NAME leads to B here, which decided nothing before.
      CHECK(header("B", "\"three.h\"") == "three.h");
      CHECK(header("B", "\"four.h\"") == "four.h");
    }
    return 0;
  });
}

TEST_CASE("What the dynamic linker is told counts where kernels run in a process of the system, and is set") {
  for (const char* backend : {"host", "kokkos", "cuda"}) {
    CAPTURE(backend);
    Job job;
    job.info.backend = backend;
    const std::string library = (job.folder.path() / "pre.so").string();
    job.write("pre.so", "one");
    const Variable no_path("LD_LIBRARY_PATH", ""), no_tunables("GLIBC_TUNABLES", ""), no_preload("LD_PRELOAD", "");
    const std::string plain = job.key();
    const bool counts = std::string(backend) != "cuda";
    for (const char* name : {"LD_LIBRARY_PATH", "GLIBC_TUNABLES", "LD_PRELOAD"}) {
      const Variable set(name, library);
      CHECK((job.key() != plain) == counts);
    }
    const Variable preload("LD_PRELOAD", "libm.so.6:" + library);
    const std::string one = job.key();
    job.write("pre.so", "another");
    CHECK((job.key() != one) == counts);
  }
}

TEST_CASE("The environment of OpenMP counts where kernels of the CPU use it") {
  for (const char* backend : {"host", "kokkos", "cuda"}) {
    CAPTURE(backend);
    Job job;
    job.info.backend = backend;
    if (backend == std::string("kokkos")) job.spec.kernel.backend = backend;
    const Variable one("OMP_NUM_THREADS", "1");
    const std::string before = job.key();
    job.spec.kernel.options.push_back(text("-fopenmp"));
    const std::string with_openmp = job.key();
    const Variable four("OMP_NUM_THREADS", "4");
    CHECK((job.key() != with_openmp) == (std::string(backend) != "cuda"));
    job.spec.kernel.options.pop_back();
    CHECK((job.key() != before) == (std::string(backend) == "kokkos"));
  }
}

TEST_CASE("The environment of OpenMP counts where an option links its runtime") {
  Job job;
  job.info.backend = "host";
  job.spec.kernel.backend_options["host"].push_back(text("-lgomp"));
  const Variable one("OMP_NUM_THREADS", "1");
  const std::string before = job.key();
  const Variable four("OMP_NUM_THREADS", "4");
  CHECK(job.key() != before);
}

TEST_CASE("limits of the device, before and after compiling") {
  Job job;
  Launch launch;
  Artifact artifact;
  ResourceUsage& usage = artifact.usage;
  usage.static_shared_bytes = 1024;
  usage.registers = 255;
  usage.max_threads_per_block = 256;
  const auto violation = [&](bool compiled) {
    return job.with([&](const auto& r) { return r.limit_violation(launch, compiled ? &artifact : nullptr); })
        .value_or("none");
  };
  launch.block = {256, 1, 1};
  launch.shared_bytes = 232448;
  CHECK(violation(false) == "none");
  CHECK(has(violation(true), "1024 static + 232448 dynamic"));
  launch.shared_bytes = 0;
  CHECK(violation(true) == "none");
  launch.block = {257, 1, 1};
  CHECK(violation(false) == "none");
  CHECK(has(violation(true), "block of 257 threads exceeds the 256"));
  usage.max_threads_per_block = 1024;
  CHECK(has(violation(true), "255 registers a thread * 257 threads"));
  launch.block = {2048, 1, 1};
  CHECK(has(violation(false), "2048"));
}

TEST_CASE("scalars are encoded in their type, and refused where they do not fit") {
  Job job;
  job.add_scalar("half", DType::i64, "M / 2");
  job.add_scalar("alpha", DType::f32, "BLOCK");
  job.add_scalar("flag", DType::boolean, "M > 3");
  const auto scalars = [&] { return job.with([&](const auto& r) { return r.scalars(job.config()); }); };
  const auto found = scalars();
  REQUIRE(found.size() == 4);
  const auto value = [&](std::size_t i, DType type) { return decode(type, found[i].bytes.data()); };
  CHECK(found[0].bytes.size() == 4);
  CHECK(value(0, DType::i32) == 1000);
  CHECK(found[1].bytes.size() == 8);
  CHECK(value(1, DType::i64) == 500);
  CHECK(value(2, DType::f32) == 64);
  CHECK(value(3, DType::boolean) == 1);
  for (const auto& [type, words] : std::vector<std::pair<DType, std::string>>{{DType::i8, "M"},
                                                                              {DType::i32, "M / 3"},
                                                                              {DType::u32, "0 - M"},
                                                                              {DType::u64, "0 - 1"},
                                                                              {DType::i32, "M * 10000000"},
                                                                              {DType::f32, "'x'"},
                                                                              {DType::f32, "1e39"},
                                                                              {DType::f16, "M * 70"},
                                                                              {DType::f8e4m3, "M / 2 * 1.0"}}) {
    job.spec.args.back().dtype = type;
    job.spec.args.back().value = text(words, 30);
    CHECK(has(refused(ErrorKind::invalid_spec, scalars), "gemm.toml:30:5: argument 'flag': " + words + " = "));
  }
}

TEST_CASE("layouts and tolerances") {
  Job job;
  const auto layouts = [&] { return job.with([](const auto& r) { return r.layouts(); }); };
  const auto found = layouts();
  REQUIRE(found.size() == 2);
  CHECK(found[0].name == "A");
  CHECK(found[0].shape == std::vector<std::uint64_t>{1000, 64});
  CHECK(found[1].role == ArgRole::out);
  CHECK(found[1].bytes() == 128000);
  auto tolerances = job.with([](const auto& r) { return r.tolerances(); });
  REQUIRE(tolerances.size() == 1);
  CHECK(tolerances[0].first == "C");
  CHECK_FALSE(tolerances[0].second.rtol.has_value());
  CHECK_FALSE(tolerances[0].second.reduction.has_value());
  job.spec.validate.rtol = 0.5;
  job.spec.validate.max_mismatched_ratio = 0.25;
  tolerances = job.with([](const auto& r) { return r.tolerances(); });
  CHECK(tolerances[0].second.rtol == 0.5);
  CHECK_FALSE(tolerances[0].second.atol.has_value());
  CHECK(tolerances[0].second.max_mismatched_ratio == 0.25);
  job.spec.validate.reduction = text("M - 1", 31);
  CHECK(job.with([](const auto& r) { return r.tolerances(); })[0].second.reduction == 999);
  job.spec.validate.reduction = text("M - 1001", 31);
  CHECK(has(refused(ErrorKind::invalid_spec, [&] { job.with([](const auto& r) { return r.tolerances(); }); }),
            "gemm.toml:31:5: a reduction length must be at least 0, and this is -1"));
  for (const char* extent : {"M - 1000", "M - 1001"}) {
    job.spec.args[0].shape[1] = text(extent, 21);
    CHECK(has(refused(ErrorKind::invalid_spec, layouts), "gemm.toml:21:5: argument 'A': its extent"));
  }
  for (const char* extent : {"M ** 4", "9223372036854775807"}) {
    job.spec.args[0].shape[1] = text(extent, 21);
    CHECK(has(refused(ErrorKind::invalid_spec, layouts), "gemm.toml:20:1: argument 'A' is f16[1000, "));
  }
}

TEST_CASE("constants are variables of the request, and no arguments of the kernel") {
  Job job;
  ArgSpec table = constant("table", "ns::table<{BLOCK}>");
  table.shape = {text("N", 42)};
  ArgSpec factor = constant("factor");
  factor.value = text("M / 2", 43);
  job.spec.args.insert(job.spec.args.begin(), table);
  job.spec.args.push_back(factor);
  job.with([&](const CandidateResolver& r) {
    CHECK(r.compile_request(job.config(128)).variables == std::vector<std::string>{"ns::table<128>", "factor"});
    const auto constants = r.constants();
    REQUIRE(constants.size() == 2);
    CHECK(constants[0].shape == std::vector<std::uint64_t>{64});
    CHECK(constants[1].shape.empty());
    CHECK(decode(DType::f32, constants[1].value.data()) == 500);
    CHECK(r.layouts().size() == 2);
    CHECK(r.scalars(job.config()).size() == 1);
    CHECK(r.tolerances().size() == 1);
    return 0;
  });
  SUBCASE("the reference has those that its own source names") {
    CHECK(job.with([&](const auto& r) { return r.reference_constants(); }).empty());
    job.write("naive.cu", "#include \"shared.h\"\n__global__ void naive() {}\n");
    job.write("shared.h", "__constant__ float factor;\n");
    job.with([&](const CandidateResolver& r) {
      CHECK(r.reference_constants() == std::vector<std::size_t>{1});
      CHECK(r.reference_request().variables == std::vector<std::string>{"factor"});
      return 0;
    });
    job.spec.validate.reference.source = job.spec.kernel.source;
    CHECK(job.with([&](const auto& r) { return r.reference_constants(); }).size() == 2);
  }
  SUBCASE("contents and symbol count in the key") {
    std::set<std::string> keys{job.key()};
    const std::size_t table_at = 0, factor_at = job.spec.args.size() - 1;
    job.spec.args[factor_at].value = text("M / 4", 43);
    keys.insert(job.key());
    job.spec.args[factor_at].symbol = text("scale", 44);
    keys.insert(job.key());
    job.spec.args[table_at].fill = Fill::one;
    keys.insert(job.key());
    job.spec.args[table_at].shape = {text("N // 2", 42)};
    keys.insert(job.key());
    CHECK(keys.size() == 5);
  }
  SUBCASE("a value that does not fit, and a symbol without a value") {
    job.spec.args.back().dtype = DType::i8;
    CHECK(has(refused(ErrorKind::invalid_spec,
                      [&] { job.with([](const CandidateResolver& r) { return r.constants().size(); }); }),
              "gemm.toml:43:5: constant 'factor': M / 2 = 500.0 does not fit i8"));
    job.spec.args.front().symbol = text("table<{64 // RASTER}>", 41);
    CHECK_THROWS_WITH_AS(
        job.with([&](const CandidateResolver& r) { return r.launch(job.config()).max_shared_bytes(); }),
        doctest::Contains("division by zero"), build::CandidateFailure);
  }
}

TEST_CASE("scratch buffers are sized for each configuration, and count in its key") {
  Job job;
  job.add_buffer("work", ArgRole::scratch, {"ceildiv(M, BLOCK)", "RASTER + 1"});
  job.info.memory_bytes = std::int64_t{1} << 30;
  const auto scratch = [&](const Config& config) {
    return job.with([&](const CandidateResolver& r) { return r.scratch(config); });
  };
  REQUIRE(scratch(job.config()).size() == 1);
  CHECK(scratch(job.config(64)).front().shape == std::vector<std::uint64_t>{16, 1});
  CHECK(scratch(job.config(128, 2, 4)).front().shape == std::vector<std::uint64_t>{8, 5});
  CHECK(job.with([](const CandidateResolver& r) { return r.layouts().size(); }) == 2);
  CHECK(job.with([](const CandidateResolver& r) { return r.tolerances().size(); }) == 1);

  std::set<std::string> keys{job.key()};
  const auto zeroing = [&] {
    const KeyParts parts = job.with([&](const auto& r) { return r.measurement_key_parts(job.config(), "a"); });
    return std::count(parts.begin(), parts.end(), KeyParts::value_type("zeroing", "timed"));
  };
  CHECK(zeroing() == 0);
  job.spec.args.back().fill = Fill::zero;
  CHECK(zeroing() == 1);
  keys.insert(job.key());
  job.spec.args.back().shape.front() = text("M", 21);
  keys.insert(job.key());
  CHECK(keys.size() == 3);

  const auto rejected = [&](const std::string& extent) {
    job.spec.args.back().shape = {text(extent, 21), text("BLOCK", 22)};
    try {
      job.with([&](const CandidateResolver& r) { return r.launch(job.config()).max_shared_bytes(); });
    } catch (const CandidateFailure& failure) {
      CHECK(failure.outcome() == Outcome::rejected);
      return std::string(failure.what());
    }
    return std::string("accepted");
  };
  CHECK(rejected("2 ** 30") ==
        "gemm.toml:21:5: scratch buffer 'work': f16[1073741824, 64] takes 128 GiB, and the device has 1 GiB (BLOCK = "
        "64)");
  CHECK(has(rejected("2 ** 62"), "and the device has 1 GiB"));
  CHECK(has(rejected("RASTER - 1"),
            "gemm.toml:21:5: scratch buffer 'work': its extent RASTER - 1 = -1 must be at least 0"));
  CHECK(has(rejected("64 // RASTER"), "division by zero"));
  job.spec.args.back().shape = {text("N - 65", 21)};
  CHECK(has(refused(ErrorKind::invalid_spec, [&] { scratch(job.config()); }), "its extent N - 65 = -1"));
}

TEST_CASE("bindings") {
  const Job job;
  const Bindings names = job.with([&](const auto& r) { return r.bindings(job.config(128)); });
  CHECK(names.at("BLOCK") == Value(std::int64_t{128}));
  CHECK(names.at("M") == Value(std::int64_t{1000}));
  CHECK(names.at("device.compute_units") == Value(std::int64_t{132}));
}

TEST_CASE("the reference takes the kernel's options, defines and launch unless it has its own") {
  Job job;
  const auto request = [&] { return job.with([&](const auto& r) { return r.reference_request(); }); };
  const auto launch = [&] { return only(job.with([&](const auto& r) { return r.reference_launch(); })); };
  CHECK(request().entry == "naive");
  CHECK(request().source == read_file(job.folder.path() / "naive.cu"));
  CHECK(request().options == std::vector<std::string>{"-std=c++17", "-maxrregcount=65", "-lineinfo"});
  CHECK(request().defines.size() == 4);
  CHECK(launch().block[0] == 128);
  job.spec.validate.reference.options = {text("-O1")};
  job.spec.validate.reference.launch = LaunchSpec{{text("M")}, {text("32")}, {}, {}};
  CHECK(request().options == std::vector<std::string>{"-O1"});
  CHECK(launch().grid[0] == 1000);
  CHECK(launch().block[0] == 32);
  CHECK(launch().shared_bytes == 0);
  job.spec.validate.reference.source.clear();
  CHECK(request().source == read_file(job.spec.kernel.source));
}

TEST_CASE("A reference at one configuration is that configuration, whichever is tried") {
  Job job;
  job.spec.validate.reference.config =
      Bindings{{"BLOCK", std::int64_t{128}}, {"STAGES", std::int64_t{3}}, {"RASTER", std::int64_t{4}}, {"FAST", false}};
  job.spec.args[1].value = text("M + RASTER");
  job.with([&](const CandidateResolver& r) {
    const Config own = job.config(128, 3, 4, false);
    CHECK(r.reference_config() == own);
    CHECK(r.artifact_key(r.reference_request()) == r.artifact_key(r.compile_request(own)));
    CHECK(only(r.reference_launch()).grid == only(r.launch(own)).grid);
    CHECK(only(r.reference_launch()).shared_bytes == only(r.launch(own)).shared_bytes);
  });
  std::set<std::string> keys{job.key()};
  CHECK(keys.insert(job.key(job.config(128, 3, 4, false))).second);
  const auto reference_part = [&] {
    const KeyParts parts = job.with([&](const auto& r) { return r.measurement_key_parts(job.config(), "key"); });
    return std::find_if(parts.begin(), parts.end(), [](const auto& part) { return part.first == "reference"; })->second;
  };
  const std::string reference = reference_part();
  job.arch = "sm_80", job.toolchain = "nvrtc 12.8";
  CHECK(reference_part() == reference);
  job.spec.kernel.options = {text("-O{STAGES}")};
  CHECK(reference_part() != reference);
  job.spec.validate.reference.config->at("BLOCK") = std::int64_t{64};
  CHECK(keys.insert(job.key()).second);
  job.spec.launch.grid = {text("N // (BLOCK - 64)")};
  CHECK(refused(ErrorKind::invalid_spec, [&] {
          job.with([&](const auto& r) { return r.reference_launch(); });
        }).find("in the reference's launch") != std::string::npos);
}

TEST_CASE("A reference that takes values from a configuration has the same ones in every run, and its key has them") {
  Job job;
  job.spec.kernel.options = {text("-std=c++17")};
  job.spec.validate.reference.launch = LaunchSpec{{text("M")}, {text("32")}, {}, {}};
  const auto values = [&] { return job.with([](const auto& r) { return r.reference_values().values; }); };
  const auto macros = [&] { return job.with([](const auto& r) { return r.reference_values().macros; }); };
  const auto reference_part = [&](std::int64_t block = 64) {
    const KeyParts parts = job.with([&](const auto& r) { return r.measurement_key_parts(job.config(block), "key"); });
    return std::find_if(parts.begin(), parts.end(), [](const auto& part) { return part.first == "reference"; })->second;
  };
  const Bindings block{{"BLOCK", std::int64_t{64}}},
      block_and_stages{{"BLOCK", std::int64_t{64}}, {"STAGES", std::int64_t{2}}};
  CHECK(values().empty());
  CHECK_FALSE(has(reference_part(), " at "));
  // The launch, a scalar and a macro in another macro's text.
  job.spec.validate.reference.launch.reset();
  CHECK(values() == block_and_stages);
  job.spec.validate.reference.launch = LaunchSpec{{text("M")}, {text("BLOCK")}, {}, {}};
  CHECK(values() == block);
  CHECK(macros().empty());
  job.spec.validate.reference.launch->block = {text("32")};
  job.spec.args[1].value = text("M // BLOCK");
  CHECK(values() == block);
  job.spec.args[1].value = text("M");
  job.write("naive.cu", "__global__ void naive() { ROWS; }\n");
  CHECK(values().empty());
  job.spec.kernel.defines = {{"ROWS", text("{M // BLOCK}")}};
  CHECK(values() == block);
  job.write("naive.cu", "// STAGES\n__global__ void naive() { BLOCK; }\n");
  CHECK(values() == block);
  CHECK(macros() == std::vector<std::string>{"BLOCK"});
  CHECK(has(reference_part(), " at "));
  // Options of the run restrict the space, and not the reference.
  const std::string whole = reference_part();
  job.spec.unrestricted = std::make_shared<const Spec>(job.spec);
  job.spec.parameters[0].values = {std::int64_t{128}};
  CHECK(values() == block);
  CHECK(reference_part(128) == whole);
  CHECK(job.with([](const auto& r) { return r.reference_request().defines.front().second; }) == "64");
  job.spec.dispatch.default_config =
      Bindings{{"BLOCK", std::int64_t{128}}, {"STAGES", std::int64_t{3}}, {"RASTER", std::int64_t{4}}, {"FAST", false}};
  CHECK(values() == Bindings{{"BLOCK", std::int64_t{128}}});
  CHECK(reference_part(128) != whole);
  job.write("naive.cu", "#define JOIN(a, b) a##b\n");
  CHECK(values().size() == 3);  // without RASTER, which reaches no compiler
  CHECK(macros().empty());
  job.spec.validate.reference.options = {text("-DBLOCK=16"), text("-DSTAGES=1"), text("-DFAST=0")};
  job.spec.kernel.defines.clear();
  CHECK(values().empty());
}

TEST_CASE("A reference is launched as the first configuration that the device allows") {
  Job job;
  job.info.shared_per_block_optin = 64 * 3 * 16;
  CHECK(job.with([](const auto& r) { return r.reference_config(); }) == job.config());
  job.spec.parameters[0].values = {std::int64_t{128}, std::int64_t{64}};
  CHECK(job.with([](const auto& r) { return r.reference_config(); }) == job.config(64));
}

TEST_CASE("Random integers lie in a range of the problem, within the type") {
  Job job;
  job.spec.args[0].dtype = DType::i16;
  job.spec.args[0].fill = Fill::integers;
  const auto range = [&](const char* first, const char* end) {
    job.spec.args[0].numbers = {text(first, 22), text(end, 23)};
    return job.with([](const auto& r) { return r.layouts().at(0).numbers; });
  };
  CHECK(range("-1", "M") == std::vector<std::int64_t>{-1, 1000});
  const std::string key = job.key();
  CHECK(range("-32768", "32768").size() == 2);
  CHECK(job.key() != key);
  CHECK(has(refused(ErrorKind::invalid_spec, [&] { range("M", "M"); }), "gemm.toml:23:5: argument 'A' i16["));
  CHECK(has(refused(ErrorKind::invalid_spec, [&] { range("M", "M"); }),
            "fill 'integers 1000 1000': no integer is at least the first number and below the second"));
  CHECK(has(refused(ErrorKind::invalid_spec, [&] { range("-32769", "0"); }), "-32769 does not fit i16"));
  CHECK(has(refused(ErrorKind::invalid_spec, [&] { range("0", "32769 + M"); }), "33768 does not fit i16"));
  job.spec.args[0].dtype = DType::u64;
  CHECK(range("0", "2**63 - 1").size() == 2);
  CHECK(has(refused(ErrorKind::invalid_spec, [&] { range("0", "2**64 - 1"); }),
            "18446744073709551615 is too large: integers other than the value of a u64 are at most 2^63 - 1"));
  // A buffer's name is its number of elements, 1000 x 64.
  CHECK(range("0", "A // 64")[1] == 1000);
}

TEST_CASE("A formula has the values of its names, also of derived ones and of buffers' sizes") {
  Job job;
  job.spec.args[0].dtype = DType::i32;
  job.spec.args[0].fill = Fill::formula;
  const auto layout = [&](const char* formula) {
    job.spec.args[0].numbers = {text(formula, 22)};
    job.spec.args[0].numbers[0].derived = std::make_shared<const space::Expression::Derived>(
        space::Expression::Derived{{"HALF", space::Expression::parse("M // 2")}});
    return job.with([](const auto& r) { return r.layouts().at(0); });
  };
  CHECK(layout("index % HALF + A - i1").names == Bindings{{"A", 64000}, {"HALF", 500}});
  CHECK(layout("index % HALF + A - i1").formula == "index % HALF + A - i1");
  const std::string key = job.key();
  layout("index % HALF + A");
  CHECK(job.key() != key);
  CHECK(has(refused(ErrorKind::invalid_spec, [&] { layout("HALF // index"); }), "gemm.toml:22:5: argument 'A' i32["));
  job.spec.args[0].numbers.clear();
  CHECK(has(refused(ErrorKind::invalid_spec, [&] { job.with([](const auto& r) { return r.layouts(); }); }),
            "argument 'A': a formula is one expression"));
}

TEST_CASE("A source in the spec is read as the spec's file, and its place there is no part of what it is") {
  Job job;
  const std::string file_key = job.key();
  job.spec.validate.reference.source = job.spec.kernel.source;
  const std::string shared_key = job.key();
  const auto in_spec = [&](std::size_t line, bool escaped) {
    job.spec.kernel.code = Text{read_file(job.folder.path() / "gemm.cu"), {"gemm.toml", line, 1}, escaped};
    job.spec.kernel.source = job.spec.validate.reference.source = job.folder.path() / "gemm.toml";
    return job.with([&](const auto& r) { return r.compile_request(job.config()); });
  };
  const CompileRequest request = in_spec(7, false);
  CHECK(request.source == read_file(job.folder.path() / "gemm.cu"));
  CHECK(request.source_name == (job.folder.path() / "gemm.toml").string());
  CHECK(request.first_line == 7);
  CHECK(request.include_dirs.front() == job.folder.path().string());
  CHECK(job.with([&](const auto& r) { return r.reference_request(); }).first_line == 7);
  CHECK(job.key() == shared_key);
  CHECK(in_spec(8, true).first_line == 1);
  CHECK(job.key() == shared_key);
  CHECK(file_key != shared_key);
}

TEST_CASE("Types that the problem decides on are those of the resolver's problem") {
  Job job;
  job.spec.args[0].dtype_text = text("{TYPE}");
  job.spec.args[1].dtype_text = text("{'i64' if TYPE == 'f64' else 'i32'}");
  job.spec.validate.accumulate = DType::f32;
  job.spec.validate.accumulate_text = text("{'f64' if TYPE == 'f64' else 'f32'}");
  std::set<std::string> keys;
  for (const auto& [type, scalar_bytes, accumulate] :
       {std::tuple{"f64", 8, DType::f64}, std::tuple{"bf16", 4, DType::f32}}) {
    job.problem["TYPE"] = std::string(type);
    job.with([&, type = type, bytes = scalar_bytes, sum = accumulate](const CandidateResolver& r) {
      CHECK(r.layouts().at(0).dtype == dtype_from_string(type));
      CHECK(r.layouts().at(1).dtype == DType::f16);
      CHECK(r.scalars(job.config()).at(0).bytes.size() == static_cast<std::size_t>(bytes));
      CHECK(r.tolerances().at(0).second.accumulate == sum);
    });
    CHECK(keys.insert(job.key()).second);
  }
  job.problem["TYPE"] = std::string("f31");
  CHECK(refused(ErrorKind::invalid_spec, [&] {
          job.with([](const auto& r) { return r.layouts(); });
        }).find("gemm.toml:3:5: unknown word 'f31' (did you mean 'f32'?)") != std::string::npos);
}

TEST_CASE("Macros that a reference's options define have the options' values") {
  Job job;
  const std::string key = job.key();
  job.spec.validate.reference.options = {text("-O1")};
  const std::string with_option = job.key();
  job.spec.validate.reference.options = {text("-DBLOCK={M}"), text("-D"), text("ROWS=1"), text("-DOTHER")};
  const auto request = job.with([&](const auto& r) { return r.reference_request(); });
  CHECK(request.options == std::vector<std::string>{"-DBLOCK=1000", "-D", "ROWS=1", "-DOTHER"});
  const std::vector<std::pair<std::string, std::string>> left{{"STAGES", "2"}, {"FAST", "1"}};
  CHECK(request.defines == left);
  CHECK(std::set<std::string>{key, with_option, job.key()}.size() == 3);
  CHECK(job.with([&](const auto& r) { return r.compile_request(job.config()); }).defines.size() == 4);
}

TEST_CASE("a measurement's key names the version of the default tolerance, which is by row from two dimensions on") {
  Job job;
  const auto tolerance = [&] {
    for (const auto& [name, value] :
         job.with([&](const auto& r) { return r.measurement_key_parts(job.config(), "key"); }))
      if (name == "tolerance") return value;
    return std::string();
  };
  CHECK(tolerance() == "C: rtol auto 2 atol auto 3 ratio 0");
  job.spec.args[2].shape.pop_back();
  CHECK(tolerance() == "C: rtol auto 2 atol auto 2 ratio 0");
  job.spec.validate.reduction = text("0");
  CHECK(tolerance() == "C: rtol auto 1 atol auto 1 ratio 0 reduction 0");
}

TEST_CASE("every configuration has a different key, the same each time") {
  const Job job;
  std::set<std::string> keys, artifacts;
  for (const std::int64_t block : {64, 128})
    for (const std::int64_t stages : {2, 3})
      for (const std::int64_t raster : {0, 4})
        for (const bool fast : {true, false}) {
          const Config c = job.config(block, stages, raster, fast);
          keys.insert(job.key(c));
          CHECK(job.key(c) == job.key(c));
          artifacts.insert(job.with([&](const auto& r) { return r.artifact_key(r.compile_request(c)); }));
        }
  CHECK(keys.size() == 16);
  CHECK(artifacts.size() == 8);  // RASTER does not reach the compiler
}

TEST_CASE("everything that changes a measurement changes its key") {
  Job job;
  std::set<std::string> seen{job.key()};
  const auto changes = [&](const char* what) {
    CAPTURE(what);
    CHECK(seen.insert(job.key()).second);
  };
  job.problem["M"] = std::int64_t{1001}, changes("problem");
  std::swap(job.spec.args[0], job.spec.args[1]), changes("the place of a scalar among the buffers");
  std::swap(job.spec.args[0], job.spec.args[1]);
  job.spec.search.seed = 2, changes("seed");
  job.spec.args[0].fill = Fill::randn, changes("fill");
  job.spec.args[0].dtype = DType::bf16, changes("dtype");
  job.spec.args[2].role = ArgRole::inout, changes("role");
  job.spec.args[1].value = text("M - 1"), changes("scalar");
  job.spec.launch.shared = text("64"), changes("shared memory");
  job.spec.launch.grid[0] = text("N - 64"), changes("a launch that no device takes");
  job.spec.validate.atol = 1, changes("tolerance");
  job.spec.validate.reduction = text("64"), changes("reduction length");
  job.spec.validate.accumulate = DType::f16, changes("accumulation");
  job.spec.validate.max_mismatched_ratio = 0.25, changes("ratio");
  job.spec.validate.repeat = 2, job.spec.validate.repeatable = spec::Repeatable::bitwise, changes("repeated runs");
  job.spec.measure.launch = spec::LaunchBy::graph, changes("launches in graphs");
  job.spec.validate.outlier_factor = 3, changes("outlier factor");
  job.spec.measure.flush = Flush::none, changes("flush");
  job.spec.measure.rep = 51, changes("rep");
  job.spec.kernel.entry = text("other"), changes("entry");
  job.spec.kernel.options.push_back(text("-G")), changes("options");
  job.write("tile.h", "int other;\n"), changes("an included file");
  job.write("naive.cu", "// other\n"), changes("the reference's source");
  job.spec.validate.reference.name = "naive2", changes("the reference's name");
  job.spec.validate.reference.launch = LaunchSpec{{text("M")}, {text("32")}, {}, {}}, changes("the reference's launch");
  job.spec.validate.reference.kind = ReferenceSpec::Kind::builtin, changes("the reference's kind");
  job.spec.validate.reference.bindings = {{"a", text("A")}}, changes("the builtin's bindings");
  job.info.name = "NVIDIA H100", changes("device name");
  job.info.compute_units = 100, changes("compute units");
  job.info.driver = "99", changes("driver");
  job.info.arch = "sm_91", changes("device architecture");
  job.arch = "sm_91", changes("compiled architecture");
  job.toolchain = "nvrtc 13.1", changes("toolchain");
  const auto path = job.folder.path() / "a.npy";
  write_npy(path, {DType::bf16, {1001, 64}, std::vector<std::byte>(2 * 1001 * 64)});
  job.spec.args[0].file = path, changes("an input file");
  write_npy(path, {DType::bf16, {1001, 64}, std::vector<std::byte>(2 * 1001 * 64, std::byte{1})});
  changes("an input file's data");
}

TEST_CASE("settings that do not affect a measurement do not change its key") {
  Job job;
  const std::string key = job.key();
  job.info.uuid = "GPU-7";
  job.info.index = 3;
  job.spec.metrics.clear();
  job.spec.search.strategy = "random";
  job.spec.search.evals = 7;
  job.spec.measure.statistic = spec::Statistic::min;
  job.spec.kernel.backend_options["hip"].clear();
  job.spec.parameters[0].values.push_back(std::int64_t{256});
  CHECK(job.key() == key);
  CHECK(Job().key() == key);  // in another directory
}

TEST_CASE("directories and files that options name are read for the key too") {
  Job job;
  job.write("gemm.cu", "#include <deep.h>\n");
  std::filesystem::create_directory(job.folder.path() / "deep");
  job.write("deep/deep.h", "1");
  job.write("forced.h", "1");
  const std::string flag = (job.folder.path() / "deep").string();
  for (const auto& options : std::vector<std::vector<std::string>>{
           {"-I" + flag}, {"-I", flag}, {"--include-path=" + flag}, {"-isystem", flag}}) {
    job.spec.kernel.options.clear();
    for (const std::string& option : options) job.spec.kernel.options.push_back(text(option));
    job.write("deep/deep.h", "1");
    const std::string before = job.key();
    job.write("deep/deep.h", "2");
    CHECK(job.key() != before);
  }
  job.spec.kernel.options = {text("-include"), text((job.folder.path() / "forced.h").string())};
  const std::string before = job.key();
  job.write("forced.h", "2");
  CHECK(job.key() != before);
}

TEST_CASE("A file of controls is an option for ptxas, and counts by its content") {
  struct Controlled : Job {
    Controlled() {
      spec.path = folder.path() / "gemm.toml";
      std::filesystem::create_directory(folder.path() / "controls");
      write("controls/a", "1"), write("controls/b", "1");
      spec.parameters.push_back({"CONTROLS", {std::string(), std::string("a"), std::string("b")}, false});
      spec.kernel.controls = text("controls/{CONTROLS}", 7);
    }
    Config with_controls(const std::string& name) const {
      Config result = config();
      result.emplace_back(name);
      return result;
    }
    std::string last_option(const std::string& name) const {
      return with([&](const auto& r) { return r.compile_request(with_controls(name)).options.back(); });
    }
    std::string artifact(const std::string& name) const {
      return with([&](const auto& r) { return r.artifact_key(r.compile_request(with_controls(name))); });
    }
    std::string refusal(const std::string& name) const {
      return refused(ErrorKind::invalid_spec,
                     [&] { with([&](const auto& r) { return r.launch(with_controls(name)); }); });
    }
  };
  Controlled job;
  CHECK(job.last_option("") == "-lineinfo");
  CHECK(job.last_option("a") == controls_option + (job.folder.path() / "controls/a").string());
  CHECK(job.with([](const auto& r) { return r.reference_request().options.back(); }) == "-lineinfo");

  const std::string without = job.artifact(""), one = job.artifact("a"), key = job.key(job.with_controls("a"));
  CHECK(one != without);
  CHECK(job.artifact("b") == one);
  CHECK(job.key(job.with_controls("b")) != key);  // another configuration
  CHECK(Controlled().key(job.with_controls("a")) == key);
  job.write("controls/a", "2");
  CHECK(job.artifact("a") != one);
  CHECK(job.key(job.with_controls("a")) != key);

  const std::string missing = job.refusal("c");
  CHECK(has(missing, "gemm.toml:7:5: kernel.controls: " + (job.folder.path() / "controls/c").string() +
                         " does not exist (paths are relative to the spec's directory)"));
  job.info.backend = "hip";
  CHECK(has(job.refusal(""),
            "gemm.toml:7:5: kernel.controls is a file for ptxas, which the backend hip does not have: "
            "move it to [on.cuda.kernel]"));
  job.spec.kernel.controls->text.clear();
  CHECK(job.last_option("a") == "-mwavefrontsize64");
}

TEST_CASE("a missing source or input file is an error that names it") {
  Job job;
  job.spec.args[0].file = "/nowhere/a.npy";
  CHECK(has(refused(ErrorKind::io, [&] { job.key(); }), "/nowhere/a.npy"));
  job.spec.kernel.source = "/nowhere/gemm.cu";
  CHECK(has(refused(ErrorKind::io, [&] { job.with([](const auto&) { return 0; }); }), "/nowhere/gemm.cu"));
}

TEST_CASE(
    "the files that a reference command names are part of the key, in options and with the problem's values too") {
  Job job;
  job.spec.path = job.folder.path() / "gemm.toml";
  job.spec.validate.reference = {};
  job.spec.validate.reference.kind = ReferenceSpec::Kind::command;
  std::filesystem::create_directory(job.folder.path() / "refs");
  const auto knows = [&](const char* word, const char* file) {
    CAPTURE(word);
    job.spec.validate.reference.command = {text("python3"), text(word)};
    job.write(file, "1");
    const std::string before = job.key();
    job.write(file, "2");
    const std::string after = job.key();
    job.write(file, "1");
    CHECK(job.key() == before);
    return after != before;
  };
  CHECK(knows("ref.py", "ref.py"));
  CHECK(knows("refs/{M}.py", "refs/1000.py"));
  CHECK_FALSE(knows("refs/{M}.py", "refs/1001.py"));
  CHECK(knows("--lib=./lib.py", "lib.py"));
  CHECK(knows("--lib=lib{N}.py", "lib64.py"));
  CHECK_FALSE(knows("--lib=./lib.py", "ref.py"));
}
