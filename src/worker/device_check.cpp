// Makes lists of work for the check kernel, and uses their results.
#include "worker/device_check.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace xtune::worker {
namespace {

constexpr std::uint64_t repeated(std::byte value) {
  return 0x0101010101010101u * std::to_integer<std::uint64_t>(value);
}

std::uint64_t address_of(measure::Buffer& buffer) { return reinterpret_cast<std::uintptr_t>(buffer.address()); }

validate::CheckItem item(validate::CheckItem::Operation operation, std::uint64_t address, std::uint64_t bytes,
                         std::uint64_t other = 0) {
  validate::CheckItem item;
  item.operation = operation;
  item.address = address;
  item.other = other;
  item.bytes = bytes;
  return item;
}

std::byte poison_of(const TestArgument& argument, validate::Poison poison) noexcept {
  return validate::poison_byte(argument.layout.dtype, argument.partly_unwritten ? validate::Poison::usual : poison);
}

measure::ScalarArgument pointer_argument(std::uint64_t address) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(&address, 1));
  return {{bytes.begin(), bytes.end()}};
}

/// Enough blocks to keep the device busy with one large range, and no more than it has work for.
device::Launch launch_for(const device::DeviceInfo& device, std::uint64_t max_bytes, std::size_t rows) {
  constexpr std::uint64_t bytes_per_block = validate::check_kernel::unit_bytes * validate::check_kernel::block_threads;
  const auto busy = static_cast<std::uint64_t>(std::max(device.compute_units, 1)) * 8;
  const std::uint64_t blocks = std::clamp<std::uint64_t>(max_bytes / bytes_per_block, 1, busy);
  device::Launch launch;
  launch.grid = {static_cast<std::uint32_t>(blocks), static_cast<std::uint32_t>(rows), 1};
  launch.block = {validate::check_kernel::block_threads, 1, 1};
  return launch;
}

}  // namespace

DeviceCheck::DeviceCheck(measure::Device& device, const build::Artifact& kernel,
                         const std::vector<TestArgument>& arguments)
    : arguments_(arguments),
      guard_sum_(validate::checksum(GuardedBuffer::zone_contents(validate::guard_bytes))),
      max_items_(std::max<std::size_t>(5 * arguments.size(), 1)),
      table_(device.allocate(max_items_ * (sizeof(validate::CheckItem) + sizeof(validate::CheckResult)))) {
  const auto copy = [&](std::span<const std::byte> bytes) {
    auto buffer = device.allocate(bytes.size());
    buffer->write(0, bytes);
    return buffer;
  };
  std::uint64_t max_bytes = 0;
  for (const TestArgument& argument : arguments_) {
    Copies copies;
    max_bytes = std::max(max_bytes, argument.layout.bytes());
    if (argument.layout.role != spec::ArgRole::out) copies.pristine_sum = validate::checksum(argument.pristine.bytes());
    if (argument.layout.role == spec::ArgRole::inout) copies.pristine = copy(argument.pristine.bytes());
    if (!argument.expected.bytes().empty()) {
      copies.expected_sum = validate::checksum(argument.expected.bytes());
      copies.expected = copy(argument.expected.bytes());
    } else if (argument.layout.role == spec::ArgRole::out) {
      copies.expected = device.allocate(argument.layout.bytes());
      copies.expected->fill(0, argument.layout.bytes(), validate::poison_byte(argument.layout.dtype));
    }
    if (const auto row_atol = std::as_bytes(std::span(argument.tolerance.row_atol)); !row_atol.empty()) {
      copies.row_atol_sum = validate::checksum(row_atol);
      copies.row_atol = copy(row_atol);
    }
    copies_.push_back(std::move(copies));
  }
  program_ = device.load(kernel, launch_for(device.info(), max_bytes, max_items_));
}

void DeviceCheck::launch(const std::vector<validate::CheckItem>& items) {
  // Rewritten completely each time: contents that a faulty kernel has put there are never used. Items of no bytes do
  // nothing.
  std::vector<std::byte> table(table_->size());
  std::memcpy(table.data(), items.data(), items.size() * sizeof(validate::CheckItem));
  table_->write(0, table);
  const measure::KernelArgument arguments[] = {
      table_.get(), pointer_argument(address_of(*table_) + max_items_ * sizeof(validate::CheckItem))};
  program_->run({arguments, false, 0});
}

std::vector<validate::CheckResult> DeviceCheck::run(const std::vector<validate::CheckItem>& items) {
  std::vector<validate::CheckResult> results(items.size());
  if (items.empty()) return results;
  launch(items);
  table_->read(max_items_ * sizeof(validate::CheckItem), std::as_writable_bytes(std::span(results)));
  return results;
}

void DeviceCheck::renew_pristine_copies() {
  std::vector<validate::CheckItem> items;
  std::vector<std::size_t> of;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    if (!copies_[i].pristine) continue;
    items.push_back(item(validate::CheckItem::add_up, address_of(*copies_[i].pristine), copies_[i].pristine->size()));
    of.push_back(i);
  }
  const std::vector<validate::CheckResult> results = run(items);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i].sum != copies_[of[i]].pristine_sum)
      copies_[of[i]].pristine->write(0, arguments_[of[i]].pristine.bytes());
}

void renew(const std::vector<TestArgument>& arguments, BufferSet& set, const Renewal& what, DeviceCheck* device) {
  if (device && what.guards) device->renew_pristine_copies();
  std::vector<validate::CheckItem> items;
  const auto add = [&](validate::CheckItem::Operation operation, std::uint64_t to, std::size_t bytes,
                       std::uint64_t from) { items.push_back(item(operation, to, bytes, from)); };
  for (std::size_t i = 0; i < set.size(); ++i) {
    const TestArgument& argument = arguments[i];
    GuardedBuffer& buffer = *set[i];
    if (argument.layout.role == spec::ArgRole::in && what.inputs) buffer.write(0, argument.pristine.bytes());
    if (argument.layout.role == spec::ArgRole::out && what.outputs) {
      const std::byte poison = poison_of(argument, *what.outputs);
      device ? add(validate::CheckItem::fill, address_of(buffer), buffer.size(), repeated(poison))
             : buffer.fill(0, buffer.size(), poison);
    }
    if (argument.layout.role == spec::ArgRole::inout)
      device
          ? add(validate::CheckItem::copy, address_of(buffer), buffer.size(), address_of(*device->copies_[i].pristine))
          : buffer.write(0, argument.pristine.bytes());
    if (what.guards && !device) buffer.renew_guards();
    if (what.guards && device)
      for (const std::uint64_t zone : buffer.zones())
        add(validate::CheckItem::fill, zone, buffer.zone_bytes(), GuardedBuffer::zone_word);
  }
  if (device) device->launch(items);
}

bool DeviceCheck::outputs_written(BufferSet& set) {
  std::vector<validate::CheckItem> items;
  std::uint64_t count = 0, differing = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (!copies_[i].expected || !arguments_[i].expected.bytes().empty()) continue;
    items.push_back(validate::compare_item(arguments_[i].layout.dtype, address_of(*set[i]),
                                           address_of(*copies_[i].expected), set[i]->size(), {}));
    count += arguments_[i].layout.elements();
  }
  for (const validate::CheckResult& result : run(items)) differing += result.differing;
  return differing == count;
}

bool DeviceCheck::inputs_intact(BufferSet& set) {
  std::vector<validate::CheckItem> items;
  std::vector<std::uint64_t> sums;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (arguments_[i].layout.role != spec::ArgRole::in) continue;
    items.push_back(item(validate::CheckItem::add_up, address_of(*set[i]), set[i]->size()));
    sums.push_back(copies_[i].pristine_sum);
  }
  const std::vector<validate::CheckResult> results = run(items);
  return std::equal(results.begin(), results.end(), sums.begin(),
                    [](const validate::CheckResult& result, std::uint64_t sum) { return result.sum == sum; });
}

std::vector<std::uint64_t> DeviceCheck::output_sums(BufferSet& set) {
  std::vector<validate::CheckItem> items;
  for (std::size_t i = 0; i < set.size(); ++i)
    if (spec::is_output(arguments_[i].layout.role))
      items.push_back(item(validate::CheckItem::add_up, address_of(*set[i]), arguments_[i].layout.bytes()));
  std::vector<std::uint64_t> sums;
  for (const validate::CheckResult& result : run(items)) sums.push_back(result.sum);
  return sums;
}

bool DeviceCheck::outputs_agree(BufferSet& set, run::BenchAnswer& answer) {
  std::vector<validate::CheckItem> items;
  for (std::size_t i = 0; i < set.size(); ++i) {
    for (const std::uint64_t zone : set[i]->zones())
      items.push_back(item(validate::CheckItem::add_up, zone, set[i]->zone_bytes()));
    if (arguments_[i].expected.bytes().empty()) continue;
    const std::uint64_t expected = address_of(*copies_[i].expected);
    const std::uint64_t row_atol = copies_[i].row_atol ? address_of(*copies_[i].row_atol) : 0;
    items.push_back(validate::compare_item(arguments_[i].layout.dtype, address_of(*set[i]), expected, set[i]->size(),
                                           arguments_[i].tolerance, row_atol));
    items.push_back(item(validate::CheckItem::add_up, expected, set[i]->size()));
    if (row_atol) items.push_back(item(validate::CheckItem::add_up, row_atol, copies_[i].row_atol->size()));
  }
  const std::vector<validate::CheckResult> results = run(items);
  bool agree = true;
  std::optional<validate::Comparison> validation;
  std::size_t at = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    for (std::size_t zone = 0; zone < set[i]->zones().size(); ++zone)
      agree = results[at++].sum == (set[i]->zone_bytes() > 0 ? guard_sum_ : 0) && agree;
    if (arguments_[i].expected.bytes().empty()) continue;
    const validate::CheckResult compared = results[at++];
    agree = compared.differing == 0 && agree;
    if (results[at++].sum != copies_[i].expected_sum) {
      copies_[i].expected->write(0, arguments_[i].expected.bytes());
      agree = false;
    }
    if (copies_[i].row_atol && results[at++].sum != copies_[i].row_atol_sum) {
      copies_[i].row_atol->write(0, std::as_bytes(std::span(arguments_[i].tolerance.row_atol)));
      agree = false;
    }
    validation.emplace();
    validation->output = arguments_[i].layout.name;
    validation->count = arguments_[i].layout.elements();
    validation->max_abs_error = compared.max_abs_error;
    validation->max_rel_error = std::min(compared.max_rel_error, std::numeric_limits<double>::max());
    validation->tolerance = arguments_[i].tolerance.at({});
  }
  if (agree && validation) answer.validation = std::move(validation);
  return agree;
}

}  // namespace xtune::worker
