// The image is a file in memory, which the loader opens by its path below /proc.
#include "backends/host/image_library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/core.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/host/compiler.hpp"
#include "core/build/shortage.hpp"
#include "xtune/error.hpp"

namespace xtune::host {
namespace {

/// A file in memory with the image.
int memory_file(const std::string& image) {
  const int file = memfd_create(image_file_name, MFD_CLOEXEC);
  // A lack of resources of the machine, not a failure of the configuration.
  if (file < 0)
    throw Error(ErrorKind::unavailable,
                fmt::format("no file in memory for a kernel's library (memfd_create): {}", std::strerror(errno)));
  for (std::size_t done = 0; done < image.size();) {
    const ssize_t wrote = ::write(file, image.data() + done, image.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int failed = errno;
      close(file);
      throw Error(ErrorKind::unavailable, fmt::format("no memory for a kernel's library: {}", std::strerror(failed)));
    }
    done += static_cast<std::size_t>(wrote);
  }
  return file;
}

using Segments = std::vector<std::span<const std::byte>>;

/// Of the loaded object that contains an address.
struct ObjectSearch {
  const std::byte* address;
  Segments found{};
};

int take_segments(dl_phdr_info* object, std::size_t, void* search) {
  auto& [address, found] = *static_cast<ObjectSearch*>(search);
  Segments segments;
  bool contains = false;
  for (const auto& header : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (header.p_type != PT_LOAD || (header.p_flags & PF_R) == 0) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): where the loader put the segment
    const auto* const start = reinterpret_cast<const std::byte*>(object->dlpi_addr + header.p_vaddr);
    segments.emplace_back(start, header.p_memsz);
    contains |= address >= start && address < start + header.p_memsz;
  }
  if (contains) found = std::move(segments);
  return contains ? 1 : 0;
}

}  // namespace

void refuse_image(const std::string& why) {
  throw build::CandidateFailure(Outcome::launch_failed, "the kernel was not loaded: " + why);
}

ImageLibrary::ImageLibrary(const build::Artifact& artifact, const char* marker, const std::string& own_arch) {
  const std::string& image = artifact.image;
  if (image.size() < SELFMAG || std::memcmp(image.data(), ELFMAG, SELFMAG) != 0)
    refuse_image(
        fmt::format("its image of {} bytes is not a shared library; remove it from the artifact cache", image.size()));
  if (image.find(marker) == std::string::npos)
    refuse_image("its library is damaged or was made by another version of xtune; remove it from the artifact cache");
  if (!own_arch.empty() && !runs_on(artifact.arch, own_arch))
    refuse_image(fmt::format("it was compiled for {}, and this CPU is {}", artifact.arch, own_arch));
  file_ = memory_file(image);
  try {
    // A path that can also be opened by another process, a sanitizer's symbolizer.
    library_ = base::DynamicLibrary::open({fmt::format("/proc/{}/fd/{}", getpid(), file_)});
    entry_ = library_.get(artifact.entry_symbol.c_str());
  } catch (const Error& error) {
    close(file_);
    // Its libraries may be installed later, or found in another place.
    if (const build::Lack lack = build::lack_in_line(error.what()); lack != build::Lack::none)
      throw build::ShortageFailure(lack, Outcome::launch_failed,
                                   std::string("the kernel was not loaded: ") + error.what());
    refuse_image(error.what());
  }
}

std::vector<std::span<const std::byte>> ImageLibrary::memory() const {
  ObjectSearch search{static_cast<const std::byte*>(entry_)};
  dl_iterate_phdr(take_segments, &search);
  return search.found;
}

ImageLibrary::~ImageLibrary() {
  if (resident_) {
    library_.keep_resident();
    return;
  }
  const std::string path = library_.name();
  library_ = base::DynamicLibrary();
  // The loader identifies libraries by their path. A library that is still loaded keeps its file open, so that no other
  // one gets the number.
  if (void* still = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
    dlclose(still);
    return;
  }
  close(file_);
}

}  // namespace xtune::host
