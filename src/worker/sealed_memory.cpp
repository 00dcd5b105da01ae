// SealedMemory over mmap and mprotect.
#include "worker/sealed_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "xtune/error.hpp"

namespace xtune::worker {

SealedMemory::SealedMemory(std::size_t bytes) : size_(bytes) {
  void* memory =
      mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(ErrorKind::unavailable,
                "not enough memory for " + base::human_bytes(bytes) + " of test data on this host");
  data_ = static_cast<std::byte*>(memory);
}

SealedMemory::~SealedMemory() {
  if (data_) munmap(data_, std::max<std::size_t>(size_, 1));
}

SealedMemory::SealedMemory(SealedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SealedMemory& SealedMemory::operator=(SealedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

void SealedMemory::seal() noexcept {
  // A failure only loses the protection.
  if (data_) mprotect(data_, std::max<std::size_t>(size_, 1), PROT_READ);
}

}  // namespace xtune::worker
