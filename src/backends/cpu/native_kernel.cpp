// The image is a file in memory, which the loader opens by its path below /proc.
#include "backends/cpu/native_kernel.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/core.h>
#include <link.h>
#include <linux/memfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/cpu/cpu.hpp"
#include "core/build/shortage.hpp"
#include "xtune/error.hpp"

namespace xtune::cpu {
namespace {

/// A file in memory with the image. glibc has the call's function from 2.27 on.
int memory_file(const std::string& image) {
  const int file = static_cast<int>(::syscall(SYS_memfd_create, image_file_name, MFD_CLOEXEC));
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

std::string value_text(const measure::KernelArgument& argument) {
  if (std::holds_alternative<measure::EncodedTensorMap>(argument)) return "a tensor map";
  return fmt::format("a value of {} bytes", measure::value_bytes(argument).size());
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
    library_ = system::DynamicLibrary::open({fmt::format("/proc/{}/fd/{}", getpid(), file_)});
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
  std::vector<std::span<const std::byte>> memory;
  system::visit_object_with(entry_, [&](const dl_phdr_info& object) {
    for (const auto& segment : std::span(object.dlpi_phdr, object.dlpi_phnum))
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_R) != 0)
        // NOLINTNEXTLINE(performance-no-int-to-ptr): where the loader put the segment
        memory.emplace_back(reinterpret_cast<const std::byte*>(object.dlpi_addr + segment.p_vaddr), segment.p_memsz);
  });
  return memory;
}

ImageLibrary::~ImageLibrary() {
  if (resident_) {
    library_.keep_resident();
    return;
  }
  const std::string path = library_.name();
  library_ = system::DynamicLibrary();
  // The loader identifies libraries by their path. A library that is still loaded keeps its file open, so that no other
  // one gets the number.
  if (void* still = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
    dlclose(still);
    return;
  }
  close(file_);
}

void check_arguments(std::span<const measure::KernelArgument> arguments, const ArgumentTypes& types) {
  const auto fail = [](const std::string& why) { throw build::CandidateFailure(Outcome::launch_failed, why); };
  if (arguments.size() != static_cast<std::size_t>(types.count))
    fail(fmt::format("the kernel takes {} arguments and was given {}", types.count, arguments.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool is_buffer = measure::buffer_of(arguments[i]) != nullptr;
    const std::size_t bytes = measure::value_bytes(arguments[i]).size();
    if (types.is_pointer[i] && !is_buffer)
      fail(fmt::format("argument {} of the kernel is a pointer and was given {}", i + 1, value_text(arguments[i])));
    if (!types.is_pointer[i] && is_buffer)
      fail(fmt::format("argument {} of the kernel is a value of {} bytes and was given a buffer", i + 1,
                       types.bytes[i]));
    if (!is_buffer && bytes != types.bytes[i])
      fail(fmt::format("argument {} of the kernel is {} bytes large and was given {}", i + 1, types.bytes[i],
                       value_text(arguments[i])));
  }
}

void add_buffers(const measure::RunOptions& options, std::vector<std::span<const std::byte>>& memory) {
  const auto add = [&](std::span<const measure::KernelArgument> arguments) {
    for (const measure::KernelArgument& argument : arguments)
      if (measure::Buffer* const buffer = measure::buffer_of(argument))
        memory.emplace_back(static_cast<const std::byte*>(buffer->address()), buffer->size());
  };
  add(options.arguments);
  for (const auto& arguments : options.more) add(arguments);
}

ArgumentAddresses::ArgumentAddresses(std::span<const measure::KernelArgument> arguments)
    : values_(arguments.begin(), arguments.end()) {
  for (measure::KernelArgument& value : values_) {
    if (measure::Buffer* const buffer = measure::buffer_of(value)) {
      void* const address = buffer->address();
      const std::span<const std::byte> bytes = std::as_bytes(std::span(&address, 1));
      value = measure::ScalarArgument{{bytes.begin(), bytes.end()}};
    }
    addresses_.push_back(const_cast<std::byte*>(measure::value_bytes(value).data()));
  }
}

}  // namespace xtune::cpu
