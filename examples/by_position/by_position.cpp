// Tunes a kernel from its source and the arguments of a call, by position: names, types and what is written stand in
// the source, and so do the grid and the block of a kernel as plain as this one.
//   by_position SOURCE
#include <cstdio>
#include <vector>

#include "xtune/xtune.hpp"

int main(int argc, char** argv) try {
  const std::string source = argc > 1 ? argv[1] : "saxpy.cu";
  const std::vector<float> x(1 << 20, 1.0f);
  std::vector<float> y(x.size(), 2.0f);
  const int n = static_cast<int>(x.size());
  const xtune::Result tuned = xtune::tune(source, {{"BLOCK", {64, 128, 256}}}, x, xtune::inout(y), 2.0f, n);
  std::printf("BLOCK = %s, %g ms\n", xtune::to_text(tuned.best().config.at("BLOCK")).c_str(), tuned.best().time_ms);

  // The winner takes the same arguments, with pointers to memory of its device in the place of the arrays.
  if (tuned.device.backend != "host") return 0;
  tuned.kernel()(nullptr, x.data(), y.data(), 2.0f, n);
  if (y.front() != 4.0f || y.back() != 4.0f) return 1;

  // With more said than the source shows, as a Tunable that can be changed, and for any size.
  xtune::Tunable tunable = xtune::from_source(
      source, {.params = {{"BLOCK", {64, 128, 256}}}, .grid = {"ceildiv(n, BLOCK)"}, .block = {"BLOCK"}}, x,
      xtune::inout(y), 2.0f, n);
  tunable.metric("GB_per_s", "12 * n / time_s / 1e9").constraint("BLOCK <= n");
  xtune::LoadSettings settings;
  settings.backend = "host";
  xtune::load(tunable, settings)(nullptr, x.data(), y.data(), 2.0f, 1000);
  return y.front() == 6.0f && y.back() == 4.0f ? 0 : 1;
} catch (const xtune::Error& error) {
  std::fprintf(stderr, "by_position: %s\n", error.what());
  return 1;
}
