// Uses something from every public header: a symbol that is missing from the library fails to link.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "xtune/xtune.hpp"

#if XTUNE_VERSION_MAJOR != 0
#error "this program was written for xtune 0"
#endif

namespace {

const char* const source =
    "extern \"C\" __global__ void scale(const float* x, float* y, int n) {\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) y[i] = 2 * x[i];\n"
    "}\n";

int fail(const char* what) {
  std::fprintf(stderr, "consumer: %s\n", what);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (std::strcmp(xtune::library_version(), xtune::version) != 0) return fail("the library is of another version");
  try {
    xtune::Tunable("empty").param("P", {1}).check_spec();
    return fail("a spec without a source passed");
  } catch (const xtune::Error& error) {
    if (error.kind() != xtune::ErrorKind::invalid_spec) return fail(error.what());
  }
  try {
    xtune::load_bundle("no.bundle", "gemm");
    return fail("a bundle that is not there was loaded");
  } catch (const xtune::Error&) {
  }
  if (xtune::Tunable::from_file("gemm").name() != "gemm") return fail("an installed kernel has another name");
  if (xtune::dtype_from_string("f16") != xtune::DType::f16 || xtune::size_of(xtune::DType::f16) != 2)
    return fail("f16 is not known");
  if (xtune::outcome_from_string("ok") != xtune::Outcome::ok) return fail("ok is not known");
  xtune::Tunable scale("scale");
  scale.source(source)
      .problem("N", 256)
      .param("BLOCK", {32, 64}, xtune::ParamKind::launch_only)
      .grid({"ceildiv(N, BLOCK)"})
      .block({"BLOCK"})
      .input("x", std::vector<float>(256, 1.5f), "N")
      .output<float>("y", "N")
      .scalar("n", xtune::DType::i32, "N")
      .measure("max_time_ms", 5)
      .validator([](const xtune::Arguments& arguments) { return arguments.output("y").as<float>()[255] == 3.0f; });
  xtune::TuneSettings settings;
  settings.backend = "host";
  settings.keep = false;
  try {
    const xtune::Result result = xtune::tune(scale, settings);
    result.save(argc > 1 ? argv[1] : "scale");
    const xtune::Result loaded = xtune::Result::load(argc > 1 ? argv[1] : "scale");
    const std::vector<float> x(256, 2.5f);
    std::vector<float> y(256);
    loaded.kernel()(nullptr, x.data(), y.data(), 256);
    if (y[255] != 5.0f) return fail("the winner computes something else");
    const auto typed = loaded.kernel<void(const float*, float*, int)>();
    y.assign(256, 0);
    typed(nullptr, x.data(), y.data(), 256);
    if (y[255] != 5.0f) return fail("the typed winner computes something else");
    if (xtune::devices("host").size() != 1 || xtune::backends().empty()) return fail("the host has no device");
    if (xtune::strategies().front() != "auto") return fail("there is no default strategy");
    xtune::LookupSettings lookup;
    lookup.arch = "sm_90";
    if (xtune::best(scale, {{"N", 256u}}, lookup).kind != xtune::Choice::Kind::none) return fail("a best of nothing");
    xtune::CompileSettings compile;
    compile.backend = "host";
    for (const xtune::CompiledConfig& compiled :
         xtune::compile_all(scale, xtune::all_configs(scale, compile), compile)) {
      y.assign(256, 0);
      compiled.kernel()(nullptr, x.data(), y.data(), 256);
      if (y[255] != 5.0f) return fail("a compiled configuration computes something else");
    }
    try {
      xtune::candidates(scale);
      return fail("candidates without a model");
    } catch (const xtune::Error&) {
    }
    std::printf("BLOCK=%s: %g ms, %zu measured\n", xtune::to_text(loaded.best().config.at("BLOCK")).c_str(),
                loaded.best().time_ms, loaded.measurements.size());
  } catch (const xtune::Error& error) {
    return fail(error.what());
  }
  return 0;
}
