// Looks symbols up in the dynamic tables, then in the program's own.
#include "tools/kokkos/kokkos_functions.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <re2/re2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <sstream>

#include "backends/gpu/code_object.hpp"

namespace xtune::kokkos_tools {
namespace {

constexpr const char* set_request_values_name =
    "_ZN6Kokkos5Tools12Experimental34set_request_output_values_callbackEPFvmmPK26Kokkos_Tools_VariableValuemPS2_E";
constexpr const char* print_configuration_name = "_ZN6Kokkos19print_configurationERSob";

/// The running program's file.
class ProgramImage {
 public:
  ProgramImage() {
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    struct stat info {};
    if (::fstat(file, &info) == 0 && info.st_size > 0) {
      size_ = static_cast<std::size_t>(info.st_size);
      void* const place = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
      if (place != MAP_FAILED) bytes_ = static_cast<const char*>(place);
    }
    ::close(file);
  }
  ~ProgramImage() {
    if (bytes_) ::munmap(const_cast<char*>(bytes_), size_);
  }
  ProgramImage(const ProgramImage&) = delete;
  ProgramImage& operator=(const ProgramImage&) = delete;
  std::string_view bytes() const { return bytes_ ? std::string_view(bytes_, size_) : std::string_view(); }

 private:
  const char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

/// The difference between addresses in the program's file and in this process.
std::uint64_t program_base() {
  std::uint64_t base = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<std::uint64_t*>(result) = info->dlpi_addr;
        return 1;  // the first one is the program
      },
      &base);
  return base;
}

void* find_symbol(const char* name, const ProgramImage& program) {
  if (void* const address = ::dlsym(RTLD_DEFAULT, name)) return address;
  const auto value = gpu::symbol_value(program.bytes(), name);
  return value ? reinterpret_cast<void*>(program_base() + *value) : nullptr;  // NOLINT(performance-no-int-to-ptr)
}

template <class Function>
void find(Function& function, const char* name, const ProgramImage& program) {
  void* const address = find_symbol(name, program);
  std::memcpy(&function, &address, sizeof address);
}

std::string first_match(const std::string& text, const char* pattern) {
  std::string found;
  RE2::PartialMatch(text, pattern, &found);
  return found;
}

}  // namespace

KokkosFunctions find_kokkos_functions() {
  const ProgramImage program;
  KokkosFunctions functions;
  find(functions.set_request_values, set_request_values_name, program);
  find(functions.print_configuration, print_configuration_name, program);
  return functions;
}

Configuration parse_configuration(std::string_view text) {
  const std::string whole(text);
  Configuration found;
  found.version = first_match(whole, R"(Kokkos Version:\s*(\d+\.\d+\.\d+))");
  found.threads = first_match(whole, R"(thread_pool_topology\[ *([0-9x ]*?) *\])");
  const std::string line = first_match(whole, R"(((?:Kokkos::)?(?:Cuda|HIP)\[ *\d+ *\][^\n]*Selected[^\n]*))");
  const std::string gpu = line.empty() ? first_match(whole, R"(((?:Kokkos::)?(?:Cuda|HIP)\[ *\d+ *\][^\n]*))") : line;
  found.gpu_name = first_match(gpu, R"(\] *:? *(.*?) *(?:,|:|[Cc]apability|gcnArch|$))");
  if (std::string major = first_match(gpu, R"([Cc]apability:? *(\d+\.\d+))"); !major.empty()) {
    major.erase(major.find('.'), 1);
    found.gpu_arch = "sm_" + major;
  } else {
    found.gpu_arch = first_match(gpu, R"(\b(gfx[0-9a-f]+))");
  }
  return found;
}

Configuration read_configuration(const KokkosFunctions& functions) {
  if (!functions.print_configuration) return {};
  try {
    std::ostringstream text;
    functions.print_configuration(static_cast<std::ostream*>(&text), true);
    return parse_configuration(text.str());
  } catch (...) {
    return {};
  }
}

}  // namespace xtune::kokkos_tools
