// An application calls a tuned kernel on its own stream, and lets xtune tune it in the meantime.
//   own_stream axpy.toml [lookup | once | background]
// XTUNE_CAPTURE=axpy makes it write its launches as specs for `xtune run` into ./xtune-capture.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "gpu.hpp"
#include "xtune/kernel.hpp"

namespace {

void tell(const xtune::Kernel& axpy, std::int32_t n) {
  const xtune::Choice choice = axpy.choice({{"N", n}});
  std::printf("N = %d: %s,", n, to_string(choice.kind));
  for (const auto& [name, value] : choice.config) std::printf(" %s=%s", name.c_str(), xtune::to_text(value).c_str());
  std::printf("\n");
}

/// y = 2 x + y, a few times, in the stream. Whether the result is right.
bool run(const xtune::Kernel& axpy, gpu::Stream stream, std::int32_t n) {
  const auto count = static_cast<std::size_t>(n);
  std::vector<float> ones(count, 1.0F), result(count);
  float* const x = gpu::allocate(count);
  float* const y = gpu::allocate(count);
  gpu::upload(x, ones.data(), count);
  gpu::upload(y, ones.data(), count);
  for (int i = 0; i < 10; ++i) axpy(stream, x, y, n, 2.0F);
  gpu::wait(stream);
  gpu::download(result.data(), y, count);
  gpu::release(x);
  gpu::release(y);
  for (const float value : result)
    if (value != 21.0F) return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string policy = argc > 2 ? argv[2] : "lookup";
  xtune::LoadSettings settings;
  settings.backend = gpu::backend;
  settings.policy = policy == "once"         ? xtune::Policy::tune_once
                    : policy == "background" ? xtune::Policy::tune_in_background
                                             : xtune::Policy::lookup;
  const xtune::Kernel axpy = xtune::load(std::filesystem::path(argc > 1 ? argv[1] : "axpy.toml"), settings);
  const gpu::Stream stream = gpu::make_stream();
  bool right = true;
  for (const std::int32_t n : {1000, 1024, 65536}) {
    right = run(axpy, stream, n) && right;
    tell(axpy, n);
  }
  axpy.wait();
  // The configuration that was tuned meanwhile is now in use.
  for (const std::int32_t n : {1000, 1024, 65536}) {
    right = run(axpy, stream, n) && right;
    tell(axpy, n);
  }
  gpu::destroy(stream);
  std::printf(right ? "right\n" : "WRONG\n");
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
