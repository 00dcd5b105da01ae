// Adds up and allocates what a problem needs, and fills it.
#include "worker/bench_problem.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/text.hpp"
#include "core/build/shortage.hpp"
#include "xtune/error.hpp"
#include "xtune/outcome.hpp"

namespace xtune::worker {
namespace {

// Maximum share of the device's memory that rotation uses for argument sets.
constexpr double rotation_share = 0.4;
constexpr std::size_t max_sets = 64;

/// Bytes of one set of buffers.
std::uint64_t set_bytes(const run::OpenJob& job, std::size_t zone_bytes) {
  std::uint64_t bytes = 0;
  for (const run::ArgumentPlan& plan : job.arguments)
    if (plan.buffer) bytes += plan.buffer->bytes() + 2 * zone_bytes;
  return bytes;
}

bool is_zeroed(const validate::ArgumentLayout& layout) noexcept { return layout.fill == Fill::zero; }

[[noreturn]] void refuse_size(const validate::ArgumentLayout& layout, const std::string& why) {
  throw build::ShortageFailure(
      build::Lack::memory, Outcome::rejected,
      fmt::format("scratch buffer '{}' {} takes {}: {}", layout.name, validate::describe(layout.dtype, layout.shape),
                  base::human_bytes(layout.bytes()), why));
}

}  // namespace

MemoryNeeds memory_needs(const run::OpenJob& job, std::size_t sets, std::size_t zone_bytes, std::size_t flush_bytes) {
  MemoryNeeds needs;
  needs.device = sets * set_bytes(job, zone_bytes) + flush_bytes;
  const bool compared = job.reference.kind != spec::ReferenceSpec::Kind::none;
  std::uint64_t outputs = 0, largest_output = 0, copies = 0;
  for (const run::ArgumentPlan& plan : job.arguments) {
    if (!plan.buffer) continue;
    const std::uint64_t bytes = plan.buffer->bytes();
    const bool read = plan.buffer->role != spec::ArgRole::out, written = plan.buffer->role != spec::ArgRole::in;
    if (read) needs.host += bytes;
    if (written) outputs += bytes;
    if (written) largest_output = std::max(largest_output, bytes);
    if (read && written) copies += bytes;
  }
  for (const validate::ArgumentLayout& constant : job.constants) needs.host += constant.bytes();
  if (compared) needs.host += outputs + largest_output;
  if (job.repeats > 0) needs.host += outputs;
  if (job.check_kernel) needs.device += copies + outputs;
  return needs;
}

void require_memory(const run::OpenJob& job, const MemoryNeeds& needs, const MemoryFound& found) {
  const std::uint64_t host = needs.host + (found.shared ? needs.device : 0);
  const bool host_short = found.host > 0 && host > found.host;
  const bool device_short = !found.shared && found.device > 0 && needs.device > found.device;
  if (!host_short && !device_short) return;
  const validate::ArgumentLayout* largest = nullptr;
  for (const run::ArgumentPlan& plan : job.arguments)
    if (plan.buffer && (!largest || plan.buffer->bytes() > largest->bytes())) largest = &*plan.buffer;
  const std::string at = largest && !largest->at.empty() ? largest->at + ": " : "";
  throw Error(ErrorKind::unavailable,
              fmt::format("{}not enough memory for the arguments: {} {}, and {} {}. Choose a smaller problem{}", at,
                          host_short ? "they and the copies that they are compared with take" : "they take",
                          base::human_bytes(host_short ? host : needs.device),
                          base::human_bytes(host_short ? found.host : found.device),
                          host_short ? "are free on this machine and in its control group" : "is what the device has",
                          host_short ? ", or give this process more memory" : ""));
}

namespace {

/// numbers: of the constants that the program has, if it has only some. Throws CandidateFailure(launch_failed) for a
/// variable that is smaller than its constant.
void fill_variables(measure::Program& program, const std::vector<TestArgument>& constants,
                    const std::optional<std::vector<std::size_t>>& numbers) {
  for (std::size_t i = 0; i < (numbers ? numbers->size() : constants.size()); ++i) {
    const TestArgument& constant = constants.at(numbers ? numbers->at(i) : i);
    const std::unique_ptr<measure::Buffer> variable = program.variable(i);
    const std::uint64_t bytes = constant.layout.bytes();
    if (variable->size() < bytes)
      throw build::CandidateFailure(
          Outcome::launch_failed,
          fmt::format("constant '{}': the variable in the source has {} bytes, and {} takes {}: declare it larger, or "
                      "give the argument fewer elements",
                      constant.layout.name, variable->size(),
                      validate::describe(constant.layout.dtype, constant.layout.shape), bytes));
    variable->write(0, constant.pristine.bytes());
  }
}

}  // namespace

// A kernel that reads what it has not written computes with poison, so its results are wrong.
ScratchBuffers::ScratchBuffers(measure::Device& device, const std::vector<validate::ArgumentLayout>& layouts,
                               std::size_t zone_bytes, std::uint64_t available_bytes)
    : layouts_(layouts) {
  const bool shared = device::is_cpu(device.info());
  std::uint64_t left = available_bytes;
  for (const validate::ArgumentLayout& layout : layouts_) {
    // The system promises more than there is, and kills who uses it.
    if (shared && layout.bytes() > left)
      refuse_size(layout, fmt::format("{} of memory may be taken now", base::human_bytes(left)));
    left -= std::min(left, layout.bytes());
    try {
      buffers_.push_back(
          std::make_unique<GuardedBuffer>(device, std::max<std::uint64_t>(layout.bytes(), 1), zone_bytes));
      device.name_memory(buffers_.back()->address(), layout.bytes(), "scratch buffer '" + layout.name + "'");
    } catch (const Error& error) {
      refuse_size(layout, error.what());
    }
  }
}

void ScratchBuffers::renew(std::optional<validate::Poison> poison) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const DType type = layouts_[i].dtype;
    // Integers that are small are zero, as the memory of a new process is: a counter may be right beyond any limit.
    const bool zero =
        !poison || is_zeroed(layouts_[i]) || (*poison == validate::Poison::low && !spec::is_floating(type));
    buffers_[i]->fill(0, layouts_[i].bytes(), zero ? std::byte{0} : validate::poison_byte(type, *poison));
    buffers_[i]->renew_guards();
  }
}

std::vector<measure::Buffer*> ScratchBuffers::zeroed() const {
  std::vector<measure::Buffer*> zeroed;
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (is_zeroed(layouts_[i])) zeroed.push_back(buffers_[i].get());
  return zeroed;
}

std::pair<DType, std::vector<std::byte>> ScratchBuffers::contents(const std::string& name) const {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (layouts_[i].name != name) continue;
    std::vector<std::byte> bytes(layouts_[i].bytes());
    buffers_[i]->read(0, bytes);
    return {layouts_[i].dtype, std::move(bytes)};
  }
  throw std::out_of_range("no scratch buffer '" + name + "'");
}

std::string ScratchBuffers::poisoned() const {
  std::string names;
  for (const validate::ArgumentLayout& layout : layouts_)
    if (!is_zeroed(layout)) names += (names.empty() ? "'" : ", '") + layout.name + "'";
  return names;
}

std::optional<GuardDamage> ScratchBuffers::damaged_guard() {
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (const char* const where = buffers_[i]->damage()) return GuardDamage{layouts_[i].name, where};
  return std::nullopt;
}

bool ScratchBuffers::check_guards(run::BenchAnswer& answer) {
  const auto damage = damaged_guard();
  return !damage || refuse_damage(*damage, answer);
}

BenchProblem::BenchProblem(measure::Device& device_, run::OpenJob job_, std::function<std::uint64_t()> available_bytes_)
    : device(device_),
      job(std::move(job_)),
      available_bytes(std::move(available_bytes_)),
      cache(job.cache),
      guard_size(job.sanitize ? 0 : validate::guard_bytes) {
  const MemoryFound found{available_bytes(),
                          static_cast<std::uint64_t>(std::max<std::int64_t>(device.info().memory_bytes, 0)),
                          device::is_cpu(device.info())};
  if (job.measure.launch == spec::LaunchBy::graph)
    if (const std::string lack = device.lack_of_graphs(); !lack.empty())
      throw Error(ErrorKind::unsupported, "[measure] launch = \"graph\": " + lack + "; remove it, or set \"stream\"");
  const std::size_t count = choose_sets(found.host);
  needs = memory_needs(job, count, guard_size, flush_bytes);
  require_memory(job, needs, found);
  for (const run::ArgumentPlan& plan : job.arguments)
    if (plan.buffer) arguments.push_back(filled_argument(*plan.buffer, job.seed));
  for (const validate::ArgumentLayout& layout : job.constants) constants.push_back(filled_argument(layout, job.seed));
  for (std::size_t i = 0; i < count; ++i) {
    BufferSet& set = sets.emplace_back();
    for (const TestArgument& argument : arguments) {
      set.push_back(std::make_unique<GuardedBuffer>(device, argument.layout.bytes(), guard_size));
      device.name_memory(set.back()->address(), set.back()->size(), "argument '" + argument.layout.name + "'");
    }
  }
}

/// Sets flush_bytes, too.
std::size_t BenchProblem::choose_sets(std::uint64_t free_bytes) {
  const std::uint64_t bytes = std::max<std::uint64_t>(set_bytes(job, guard_size), 1);
  std::size_t count = 1;
  if (job.measure.flush == spec::Flush::l2) flush_bytes = measure::flush_bytes(device.info());
  if (job.measure.flush == spec::Flush::rotate) {
    const std::uint64_t wanted = measure::flush_bytes(device.info()) / bytes + 2;
    double memory = device.info().memory_bytes > 0 ? static_cast<double>(device.info().memory_bytes) : 1e9;
    if (device::is_cpu(device.info())) memory = std::min(memory, static_cast<double>(free_bytes));
    const double affordable = memory * rotation_share / static_cast<double>(bytes);
    count = static_cast<std::size_t>(
        std::clamp(std::min<double>(static_cast<double>(wanted), affordable), 1.0, static_cast<double>(max_sets)));
    // Too few sets to evict each other from the cache: flush as well, rather than measure a warm cache.
    if (count < wanted) flush_bytes = measure::flush_bytes(device.info());
  }
  return count;
}

void BenchProblem::renew_inputs(std::uint64_t seed) {
  fresh_inputs = true;
  job.seed = seed;
  for (std::vector<TestArgument>* const list : {&arguments, &constants})
    for (TestArgument& argument : *list) argument = filled_argument(argument.layout, seed);
}

build::Artifact BenchProblem::with_image(const build::Artifact& artifact) const {
  if (auto found = cache.find(artifact.key)) {
    cache.mark_used(artifact.key);
    return *found;
  }
  if (auto found = build::ArtifactCache(scratch_cache(job.scratch)).find(artifact.key)) return *found;
  throw MissingArtifact(artifact.key, job.cache);
}

LoadedProgram BenchProblem::load(const run::KernelCall& call) {
  // On a CPU, kernels are stopped that take half of what is free, and scratch buffers count as theirs.
  constexpr double share = 0.4;
  LoadedProgram loaded;
  loaded.program = device.load(with_image(call.artifact), call.launch);
  std::vector<measure::ArgumentType> types = job.types;
  for (const measure::ScalarArgument& scalar : call.scalars)
    if (scalar.replaces && !types.empty()) types.push_back(types.at(*scalar.replaces));
  loaded.program->check_types(types);
  fill_variables(*loaded.program, constants, call.constants);
  const double max_bytes = call.scratch.empty() ? 0 : static_cast<double>(available_bytes()) * share;
  loaded.scratch =
      std::make_unique<ScratchBuffers>(device, call.scratch, guard_size, static_cast<std::uint64_t>(max_bytes));
  return loaded;
}

bool BenchProblem::check_constants(measure::Program& program, run::BenchAnswer& answer) const {
  for (std::size_t i = 0; i < constants.size(); ++i)
    if (!check_unchanged(constants[i], *program.variable(i), "constant", answer)) return false;
  return true;
}

/// With the addresses of buffers, which are in `passed`.
measure::KernelArgument BenchProblem::value_of(measure::ScalarArgument scalar,
                                               const std::vector<measure::KernelArgument>& passed) const {
  for (const measure::ScalarArgument::Pointer& pointer : scalar.pointers) {
    const void* const address =
        static_cast<const std::byte*>(std::get<measure::Buffer*>(passed.at(pointer.argument))->address()) +
        pointer.offset;
    std::memcpy(scalar.bytes.data() + pointer.at, &address, sizeof address);
  }
  if (!scalar.in_memory) return scalar;
  std::shared_ptr<measure::Buffer> table = device.allocate(scalar.bytes.size());
  table->write(0, scalar.bytes);
  return table;
}

void BenchProblem::add_up(BufferSet& set, const ScratchBuffers& scratch, const device::LaunchPlan* launched) const {
  for (std::size_t at = 0, next = 0; at < job.arguments.size(); ++at) {
    if (!job.arguments[at].buffer) continue;
    const std::size_t i = next++;
    const validate::ArgumentLayout& layout = arguments[i].layout;
    if (layout.sum_of.empty() || (launched && launched->takes(at))) continue;
    const auto [type, contents] = scratch.contents(layout.sum_of);
    std::vector<double> sums(layout.elements());
    for (std::size_t each = 0; each < contents.size() / size_of(type); ++each)
      sums[each % sums.size()] += spec::decode(type, contents.data() + each * size_of(type));
    std::vector<std::byte> bytes(layout.bytes());
    for (std::size_t each = 0; each < sums.size(); ++each)
      spec::encode(layout.dtype, sums[each], bytes.data() + each * size_of(layout.dtype));
    set[i]->write(0, bytes);
  }
}

std::vector<measure::KernelArgument> BenchProblem::arguments_for(BufferSet& set, const ScratchBuffers& scratch,
                                                                 const run::KernelCall& call) const {
  std::vector<measure::KernelArgument> passed(job.arguments.size());
  std::size_t buffer = 0, scalar = 0, scratch_buffer = 0, map = 0;
  std::vector<std::size_t> values;
  for (std::size_t i = 0; i < passed.size(); ++i) {
    const run::ArgumentPlan& plan = job.arguments[i];
    if (plan.buffer)
      passed[i] = set[buffer++].get();
    else if (plan.scratch)
      passed[i] = scratch.buffer(scratch_buffer++);
    else if (!plan.map_of)
      values.push_back(i);
  }
  for (; scalar < call.scalars.size(); ++scalar) {
    const std::size_t own = scalar < values.size() ? values[scalar] : passed.size();
    if (own == passed.size()) passed.emplace_back();
    passed[own] = value_of(call.scalars[scalar], passed);
  }
  for (std::size_t i = 0; i < job.arguments.size(); ++i) {
    const std::optional<std::size_t>& of = job.arguments[i].map_of;
    if (!of) continue;
    const std::size_t number = map++;
    if (!call.launch.takes(i)) continue;
    void* const address = std::get<measure::Buffer*>(passed.at(*of))->address();
    passed[i] = device.encode(call.maps.at(number), address);
  }
  return passed;
}

}  // namespace xtune::worker
