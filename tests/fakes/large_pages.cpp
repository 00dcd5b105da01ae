// For LD_PRELOAD: memory has pages of 64 KiB, as with some kernels of Arm servers, where the system's pages are
// smaller.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace {

constexpr std::uintptr_t page = 65536;
std::size_t whole(std::size_t bytes) { return (bytes + page - 1) / page * page; }

}  // namespace

extern "C" long sysconf(int name) noexcept {
  static const auto next = reinterpret_cast<long (*)(int)>(dlsym(RTLD_NEXT, "sysconf"));
  return name == _SC_PAGESIZE ? page : next(name);
}

extern "C" int mprotect(void* at, std::size_t bytes, int access) noexcept {
  if (reinterpret_cast<std::uintptr_t>(at) % page == 0)
    return static_cast<int>(syscall(SYS_mprotect, at, whole(bytes), access));
  errno = EINVAL;
  return -1;
}

extern "C" void* mmap(void* wanted, std::size_t bytes, int access, int flags, int file, off_t offset) noexcept {
  if (wanted || file >= 0)
    return reinterpret_cast<void*>(syscall(SYS_mmap, wanted, bytes, access, flags, file, offset));
  const auto all = static_cast<std::uintptr_t>(syscall(SYS_mmap, wanted, whole(bytes) + page, access, flags, file, 0));
  return reinterpret_cast<void*>(all == std::uintptr_t(-1) ? all : whole(all));
}
