// Opens every backend once and walks the targets.
#include "suite.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "core/device/backend_facts.hpp"
#include "support/emulated_gpu.hpp"
#include "xtune/error.hpp"

using namespace xtune::backend;
using namespace xtune::build;
using namespace xtune::device;
using namespace xtune::measure;

#ifdef XTUNE_SANITIZED
// The suite requests more memory than there is, and expects an error.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
#endif

namespace xtune::conformance {
namespace {

struct Exclusion {
  const char *target, *test, *reason;
};
const Exclusion exclusions[] = {
#define EXCLUDE(target, test, reason) {target, test, reason},
#include "exclusions.def"
#undef EXCLUDE
};

/// The architectures for which each backend, or one of its compilers, must compile without a device.
const std::map<std::string, std::vector<std::string>> offline_archs = {
    {"cuda nvrtc", {"sm_80", "sm_90a"}},
    {"hip hiprtc", {"gfx90a", "gfx1030"}},
    {"hip clang", {"gfx942", "gfx1100"}},
};

struct Opened {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Toolchain> toolchain;
  std::vector<std::unique_ptr<Device>> devices;
};

bool known_to(Toolchain& toolchain, const std::string& arch) {
  try {
    toolchain.compile({"probe.cu", "extern \"C\" __global__ void probe() {}", 1, {}, "probe", {}, {}, arch, false});
    return true;
  } catch (const std::exception& error) {
    MESSAGE("skipped: " << arch << ": " << std::string(error.what()));
    return false;
  }
}

std::string described(const Target& target) {
  return target.backend + " " + target.arch + (target.compiler.empty() ? "" : " by " + target.compiler) +
         (target.device ? "" : " (compile only)");
}

/// Adds the targets of a backend with one of its compilers; "": its only one.
void add_targets(const std::string& name, const std::string& compiler, std::vector<Opened>& opened,
                 std::vector<Target>& found) {
  const std::size_t before = found.size();
  const std::string label = compiler.empty() ? name : name + " " + compiler;
  Opened one;
  try {
    one.backend = make_backend(name);
    one.toolchain = open_toolchain(*one.backend, compiler, "");
    // xtune's headers are for compilers that have none of C++'s; nvcc has them all.
    if (device::takes_programs(name, one.toolchain->fingerprint())) return;
  } catch (const Error& error) {
    MESSAGE("skipped: " << label << ": " << std::string(error.what()));
    return;
  }
  const DeviceList devices = one.backend->list_devices();
  if (devices.devices.empty()) MESSAGE(label << ": compile only: " << devices.reason);
  std::set<std::string> with_device;
  int current = 0;
  for (const DeviceInfo& device : devices.devices) {
    const std::string arch = is_emulated(device) ? code_arch(device) : device.arch;
    const bool tested = std::any_of(found.begin(), found.end(), [&](const Target& target) {
      return is_emulated(device) && target.arch == arch && target.device;
    });
    if (tested || !knows_arch(one.toolchain->archs(), arch) || !with_device.insert(arch).second) continue;
    one.devices.push_back(one.backend->open_device(device.index));
    current = device.index;
    found.push_back({name, arch, one.toolchain.get(), one.devices.back().get(), compiler, device.index});
  }
  // A thread has one current device of a backend: the one that it has opened last. Tests expect the first.
  if (!one.devices.empty()) static_cast<void>(one.backend->open_device(0));
  if (const auto archs = offline_archs.find(label); archs != offline_archs.end())
    for (const std::string& arch : archs->second)
      // HIP's NVIDIA side takes NVIDIA's names only.
      if (!with_device.contains(arch) && one.toolchain->default_arch().substr(0, 2) == arch.substr(0, 2) &&
          known_to(*one.toolchain, arch))
        found.push_back({name, arch, one.toolchain.get(), nullptr, compiler});
  // on_each_target relies on it.
  if (current != 0) static_cast<void>(one.backend->open_device(0));
  if (found.size() > before) found[before].first = true;
  opened.push_back(std::move(one));
}

}  // namespace

const std::vector<Target>& targets() {
  static std::vector<Opened> opened;
  static const std::vector<Target> all = [] {
    testing::use_emulated_gpus(testing::all_emulated);
    std::vector<Target> found;
    for (const std::string& name : backend_names()) {
      std::vector<std::string> compilers = compilers_of(name);
      if (compilers.empty()) compilers.emplace_back();
      for (const std::string& compiler : compilers) add_targets(name, compiler, opened, found);
    }
    std::string names;
    for (const Target& target : found) names += (names.empty() ? "" : ", ") + described(target);
    MESSAGE("targets: " << names);
    return found;
  }();
  return all;
}

namespace {

/// Of the targets without a GPU of their vendor here, each test has its share, in turn by title: an emulated GPU with
/// waves of 64 lanes, one with waves of 32, and one of NVIDIA's that only compiles. Others that only compile are for
/// tests of the compiler.
bool is_in_share(const Target& target, const char* title) {
  const auto is_made_up = [](const Target& one) { return !one.device || is_emulated(one.device->info()); };
  if (!is_made_up(target)) return true;
  if (!target.device && target.backend == "hip") return false;
  std::vector<const Target*> alike;
  for (const Target& other : targets()) {
    if (!is_made_up(other) || !other.device != !target.device) continue;
    if (target.device ? other.device->info().warp_size == target.device->info().warp_size
                      : other.backend == target.backend)
      alike.push_back(&other);
  }
  return alike[std::strlen(title) % alike.size()] == &target;
}

}  // namespace

void on_each_target(const char* title, Scope scope, void (*test)(const Target&)) {
  REQUIRE_FALSE(targets().empty());
  for (const Target& target : targets()) {
    const bool is_tried = scope == Scope::compiler ? target.first : is_in_share(target, title);
    if (!is_tried && !testing::tests_all_emulated()) continue;
    const std::string where = described(target);
    INFO(where);
    const std::string label = target.backend + " " + target.compiler;
    bool excluded = false;
    for (const Exclusion& exclusion : exclusions)
      excluded = excluded || ((target.backend == exclusion.target || label == exclusion.target) &&
                              std::strcmp(title, exclusion.test) == 0);
    if (excluded) continue;
    if (target.index == 0) {
      test(target);
      continue;
    }
    Target own = target;
    const auto backend = make_backend(target.backend);
    const auto device = backend->open_device(target.index);
    own.device = device.get();
    test(own);
    static_cast<void>(backend->open_device(0));
  }
}

CompileRequest request_for(const Target& t, const std::string& source, const std::string& entry) {
  CompileRequest request;
  request.source_name = "kernel.cu";
  request.source = source;
  request.include_dirs = {XTUNE_CONFORMANCE_KERNELS};
  request.entry = entry;
  request.options = {"-std=c++17"};
  request.arch = t.arch;
  return request;
}

Artifact compile(const Target& t, const CompileRequest& request) {
  try {
    return t.toolchain->compile(request);
  } catch (const CandidateFailure& failure) {
    FAIL(std::string(failure.what()) << "\n" << failure.log());
  }
  return {};
}
Artifact compile(const Target& t, const std::string& source, const std::string& entry) {
  return compile(t, request_for(t, source, entry));
}

CandidateFailure failing_compile(const Target& t, const CompileRequest& request) {
  try {
    t.toolchain->compile(request);
  } catch (const CandidateFailure& failure) {
    return failure;
  }
  FAIL("it compiled");
  return {Outcome::ok, ""};
}

Sample run(Program& program, const std::vector<KernelArgument>& values, std::size_t flush_bytes, bool timed) {
  return program.run({values, timed, flush_bytes});
}

void run(const Target& t, const Artifact& artifact, const Launch& launch, const std::vector<KernelArgument>& values) {
  const auto program = t.device->load(artifact, launch);
  run(*program, values);
}

}  // namespace xtune::conformance
