// Threads come one after the other: the n-th product of each is the same one.
#include "backends/host/warpgroup.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "backends/host/refusal.hpp"

namespace xtune::host {
namespace {

bool is_same(const XtuneMatrix& a, const XtuneMatrix& b) {
  return a.tile == b.tile && a.group_bytes == b.group_bytes && a.block_bytes == b.block_bytes && a.swizzle == b.swizzle;
}

bool is_same(const XtuneProduct& a, const XtuneProduct& b) {
  return a.type == b.type && a.x_is_k_major == b.x_is_k_major && a.y_is_k_major == b.y_is_k_major &&
         a.accumulate == b.accumulate && a.columns == b.columns && !a.registers == !b.registers &&
         (a.registers || is_same(a.x, b.x)) && is_same(a.y, b.y);
}

}  // namespace

void Warpgroup::start(unsigned thread, const XtuneProduct& product) {
  Thread& self = threads_[thread];
  if (!self.fenced) throw Refusal("a product is started without products_begin()");
  const std::uint64_t index = self.started++ - done_;
  if (index == products_.size()) {
    products_.emplace_back();
    products_.back().product = product;
  }
  Started& started = products_[index];
  if (!is_same(started.product, product))
    throw Refusal("the threads of a warpgroup start products of different operands");
  started.registers.sums[thread] = product.sums;
  if (product.registers) std::copy_n(product.registers, 4, started.registers.x[thread].begin());
  ++started.threads;
}

void Warpgroup::commit(unsigned thread) { threads_[thread].groups.push_back(threads_[thread].started); }

std::uint64_t Warpgroup::want(unsigned thread, std::uint64_t pending) {
  Thread& self = threads_[thread];
  if (pending < self.groups.size()) {
    self.wanted = std::max(self.wanted, self.groups[self.groups.size() - 1 - pending]);
    self.groups.erase(self.groups.begin(), self.groups.end() - static_cast<std::ptrdiff_t>(pending));
  }
  const std::uint64_t all =
      std::ranges::min_element(threads_, {}, [](const Thread& one) { return one.wanted; })->wanted;
  for (; done_ < all; ++done_) {
    multiply(products_.front().product, products_.front().registers);
    products_.pop_front();
  }
  return self.wanted;
}

std::string Warpgroup::text(std::uint64_t products) const {
  const auto waiting = std::ranges::count_if(threads_, [&](const Thread& thread) { return thread.wanted >= products; });
  return fmt::format("at products_wait(), where {} of the {} threads of a warpgroup wait", waiting, warpgroup_threads);
}

bool Warpgroup::reads(const ByteRange& range) const {
  return std::ranges::any_of(products_, [&](const Started& one) { return host::reads(one.product, range); });
}

void Warpgroups::begin(std::uint32_t threads) {
  threads_ = threads;
  groups_.clear();
  groups_.resize(threads / warpgroup_threads);
}

Warpgroup& Warpgroups::of(std::uint32_t thread) {
  const std::uint32_t number = thread / warpgroup_threads;
  if (number >= groups_.size())
    throw Refusal(
        fmt::format("a product by threads that are not a whole warpgroup: the block has {} threads, and each "
                    "warpgroup has {}",
                    threads_, warpgroup_threads));
  if (!groups_[number]) groups_[number] = std::make_unique<Warpgroup>();
  return *groups_[number];
}

bool Warpgroups::reads(const ByteRange& range) const {
  return std::ranges::any_of(groups_, [&](const auto& group) { return group && group->reads(range); });
}

}  // namespace xtune::host
