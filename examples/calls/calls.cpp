// A kernel that comes with xtune, called with what only the caller knows.
#include <cstdio>
#include <exception>
#include <vector>

#include "xtune/xtune.hpp"

int main() try {
  xtune::LoadSettings settings;
  settings.backend = "host";  // so that vectors can be passed; without it, device memory
  const xtune::Kernel gemm = xtune::load("gemm", settings);
  constexpr std::int64_t m = 64, n = 16, k = 32;
  const std::vector<float> a(m * k, 1.0F), b(k * n, 2.0F);
  std::vector<float> c(m * n);
  gemm(nullptr, xtune::Array(a.data(), {m, k}), xtune::Array(b.data(), {k, n}), xtune::Array(c.data(), {m, n}));
  bool right = true;
  for (const float value : c) right = right && value == 64.0F;
  std::printf("c = a * b is %s\n", right ? "right" : "wrong");

  // Arrays that contradict each other are an error that names them.
  try {
    gemm(nullptr, xtune::Array(a.data(), {m, k}), xtune::Array(b.data(), {n, k}), xtune::Array(c.data(), {m, n}));
  } catch (const xtune::Error& error) {
    std::printf("%s\n", error.what());
    return right ? 0 : 1;
  }
  return 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
