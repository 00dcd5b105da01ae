#include "emulator/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "emulator/decode.hpp"
#include "emulator/wave.hpp"

namespace xtune::emulator {
namespace {

/// Workgroups that wait for others at the same time.
constexpr std::size_t max_resident = 256;

struct KnownArch {
  std::string_view begin;
  Generation generation;
};
constexpr KnownArch known_archs[] = {{"gfx90a", Generation::cdna2}, {"gfx94", Generation::cdna3},
                                     {"gfx103", Generation::rdna2}, {"gfx110", Generation::rdna3},
                                     {"gfx115", Generation::rdna3}, {"gfx120", Generation::rdna4}};

const KnownArch* find_arch(std::string_view arch) {
  const auto found = std::find_if(std::begin(known_archs), std::end(known_archs),
                                  [&](const KnownArch& one) { return arch.starts_with(one.begin); });
  return found == std::end(known_archs) ? nullptr : found;
}

Generation generation_of(std::string_view arch) {
  if (const KnownArch* const known = find_arch(arch)) return known->generation;
  throw Error(ErrorKind::unsupported, fmt::format("the emulator does not know the architecture '{}'; it knows gfx90a, "
                                                  "gfx942, gfx1030, gfx1100 and gfx1201, and their relatives",
                                                  arch));
}

template <class T>
void put(std::vector<std::byte>& to, std::size_t offset, std::size_t bytes, T value) {
  if (bytes <= sizeof value && offset + bytes <= to.size()) std::memcpy(to.data() + offset, &value, bytes);
}

constexpr const char* host_calls_parameter = "hidden_hostcall_buffer";

/// For a kernel that may call the host; else null.
std::unique_ptr<HostCalls> host_calls_of(const KernelDescriptor& kernel, const Launch& launch) {
  const auto calls = [](const gpu::HiddenParameter& one) { return one.kind == host_calls_parameter; };
  if (std::none_of(kernel.hidden.begin(), kernel.hidden.end(), calls)) return nullptr;
  const std::uint64_t groups = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  const std::size_t threads = std::size_t{launch.block[0]} * launch.block[1] * launch.block[2];
  const std::size_t waves = threads / static_cast<unsigned>(kernel.wave_size()) + 1;
  return std::make_unique<HostCalls>(std::min<std::uint64_t>(groups, max_resident + 1) * waves);
}

/// What a hidden parameter holds; 0 for those of queues.
std::uint64_t hidden_value(const std::string& kind, const Launch& launch, const HostCalls* host_calls) {
  if (kind == host_calls_parameter) return host_calls->address();
  for (unsigned i = 0; i < 3; ++i) {
    const char axis = static_cast<char>('x' + i);
    if (kind == fmt::format("hidden_block_count_{}", axis)) return launch.grid[i];
    if (kind == fmt::format("hidden_group_size_{}", axis)) return launch.block[i];
  }
  if (kind == "hidden_grid_dims")
    return launch.grid[2] * launch.block[2] > 1 ? 3 : launch.grid[1] * launch.block[1] > 1 ? 2 : 1;
  if (kind == "hidden_dynamic_lds_size") return launch.dynamic_lds;
  if (kind == "hidden_private_base") return private_aperture >> 32;
  if (kind == "hidden_shared_base") return shared_aperture >> 32;
  for (const MissingService& one : missing_services)
    if (kind == one.parameter) return one.address;
  return 0;
}

std::vector<std::byte> argument_segment(const KernelDescriptor& kernel, const Launch& launch,
                                        const HostCalls* host_calls) {
  std::vector<std::byte> segment(std::max<std::size_t>(kernel.argument_bytes, launch.arguments.size()) + 16);
  std::copy(launch.arguments.begin(), launch.arguments.end(), segment.begin());
  for (const gpu::HiddenParameter& one : kernel.hidden)
    put(segment, one.offset, one.bytes, hidden_value(one.kind, launch, host_calls));
  return segment;
}

/// hsa_kernel_dispatch_packet_t.
std::vector<std::byte> dispatch_packet(const KernelDescriptor& kernel, const Launch& launch, std::uint64_t arguments) {
  std::vector<std::byte> packet(64);
  for (unsigned i = 0; i < 3; ++i) {
    put(packet, 4 + 2 * i, 2, launch.block[i]);
    put(packet, 12 + 4 * i, 4, launch.grid[i] * launch.block[i]);
  }
  put(packet, 2, 2, 3);
  put(packet, 24, 4, kernel.scratch_bytes);
  put(packet, 28, 4, kernel.lds_bytes + launch.dynamic_lds);
  put(packet, 40, 8, arguments);
  return packet;
}

void check_launch(const Launch& launch, const KernelDescriptor& kernel) {
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::invalid_argument, fmt::format("kernel '{}': {}", launch.kernel, what));
  };
  if (threads == 0 || threads > 1024 || launch.block[0] > 1024)
    refuse(fmt::format("a workgroup of {} threads; use 1 to 1024", threads));
  if (launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0) refuse("a grid without workgroups");
  if (std::uint64_t{kernel.lds_bytes} + launch.dynamic_lds > 65536)
    refuse(fmt::format("needs {} bytes of LDS; a workgroup has at most 65536",
                       kernel.lds_bytes + std::uint64_t{launch.dynamic_lds}));
  if (kernel.preload != 0)
    refuse("takes arguments in registers, which is not supported; compile without -amdgpu-kernarg-preload-count");
  if (kernel.resources1 >> 12 & 0xf) refuse("rounds other than to the nearest, which is not supported");
}

}  // namespace

bool executes(std::string_view arch) { return find_arch(arch) != nullptr; }

struct Program::State {
  Image image;
  Generation generation;
  std::map<int, Code> code;  ///< by the size of a wave
};

Program::Program(std::unique_ptr<State> state) : state_(std::move(state)) {}
Program::Program(Program&& other) noexcept = default;
Program& Program::operator=(Program&& other) noexcept = default;
Program::~Program() = default;

Program Program::load(std::string_view image, std::string_view arch) {
  const std::string name(arch.substr(0, arch.find(':')));
  const Generation generation = generation_of(name);
  auto state = std::make_unique<State>(State{Image(gpu::unbundle(image, arch)), generation, {}});
  for (const auto& [kernel, descriptor] : state->image.kernels())
    if (!state->code.contains(descriptor.wave_size()))
      state->code.emplace(descriptor.wave_size(), decode(state->image, name, descriptor.wave_size()));
  return Program(std::move(state));
}

std::vector<std::string> Program::kernels() const {
  std::vector<std::string> names;
  for (const auto& [name, descriptor] : state_->image.kernels()) names.push_back(name);
  return names;
}

std::optional<Variable> Program::variable(const std::string& name) const {
  const auto found = state_->image.variables().find(name);
  return found == state_->image.variables().end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Program::unknown_instructions() const {
  std::set<std::string> unknown;
  for (const auto& [wave_size, code] : state_->code)
    for (const Instruction& in : code.instruction)
      if (in.kind == Kind::unknown) unknown.insert(in.text + ": " + in.reason);
  return {unknown.begin(), unknown.end()};
}

Report Program::launch(const Launch& launch, const Memory& memory) const {
  const auto found = state_->image.kernels().find(launch.kernel);
  if (found == state_->image.kernels().end())
    throw Error(ErrorKind::invalid_argument, fmt::format("the code object has no kernel '{}'; it has: {}",
                                                         launch.kernel, fmt::join(kernels(), ", ")));
  const KernelDescriptor& kernel = found->second;
  check_launch(launch, kernel);
  const std::unique_ptr<HostCalls> host_calls = host_calls_of(kernel, launch);
  std::vector<std::byte> arguments = argument_segment(kernel, launch, host_calls.get());
  LaunchState state{&launch, &kernel, &state_->code.at(kernel.wave_size()), state_->generation, memory, {}, 0, 0, 0};
  state.host_calls = host_calls.get();
  if (host_calls) host_calls->add_to(state.memory);
  state.arguments = reinterpret_cast<std::uint64_t>(arguments.data());
  std::vector<std::byte> packet = dispatch_packet(kernel, launch, state.arguments);
  state.packet = reinterpret_cast<std::uint64_t>(packet.data());
  state.memory.add(state_->image.base(), state_->image.bytes(), true);
  state.memory.add(arguments.data(), arguments.size(), true);
  state.memory.add(packet.data(), packet.size(), true);
  state.entry = state.code->at(kernel.entry);
  if (state.entry < 0)
    throw Error(ErrorKind::invalid_argument,
                fmt::format("kernel '{}' begins where no instruction begins; compile it again", launch.kernel));

  const std::uint64_t all = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  std::uint64_t next = std::min(launch.first_group, all);
  const std::uint64_t end = next + std::min(launch.groups, all - next);
  std::deque<std::unique_ptr<Workgroup>> resident;
  while ((next < end || !resident.empty()) && !(launch.stop && launch.stop->load(std::memory_order_relaxed))) {
    std::unique_ptr<Workgroup> group;
    if (next < end && resident.size() < max_resident) {
      group = std::make_unique<Workgroup>();
      const auto x = static_cast<std::uint32_t>(next % launch.grid[0]),
                 rest = static_cast<std::uint32_t>(next / launch.grid[0]);
      start_workgroup(state, {x, rest % launch.grid[1], rest / launch.grid[1]}, *group);
      ++next;
    } else {
      group = std::move(resident.front());
      resident.pop_front();
    }
    if (!advance_workgroup(state, *group)) resident.push_back(std::move(group));
  }
  return state.report;
}

}  // namespace xtune::emulator
