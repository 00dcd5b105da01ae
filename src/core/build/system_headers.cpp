// The names are those of glibc 2.36 and musl 1.2, libxcrypt, and Linux 6.1; libstdc++ and libc++ are in c++.
#include "core/build/system_headers.hpp"

#include <algorithm>
#include <filesystem>

namespace xtune::build {
namespace {

namespace fs = std::filesystem;

#if defined(__aarch64__)
constexpr const char* multiarch = "/usr/include/aarch64-linux-gnu";
#else
constexpr const char* multiarch = "/usr/include/x86_64-linux-gnu";
#endif

// Debian's newer releases have links to it in /usr/include.
constexpr std::string_view kernel_headers = "/usr/lib/linux/uapi/";

// Directories have no slash.
constexpr std::string_view system_names =
    " a.out.h aio.h aliases.h alloca.h ar.h argp.h argz.h arpa asm asm-generic assert.h bits byteswap.h c++"
    " complex.h cpio.h crypt.h ctype.h dirent.h dlfcn.h drm elf.h endian.h envz.h err.h errno.h error.h execinfo.h"
    " fcntl.h features-time64.h features.h fenv.h finclude float.h fmtmsg.h fnmatch.h fpu_control.h fstab.h fts.h"
    " ftw.h gconv.h getopt.h glob.h gnu gnu-versions.h grp.h gshadow.h iconv.h ieee754.h ifaddrs.h inttypes.h"
    " iso646.h langinfo.h lastlog.h libgen.h libintl.h limits.h link.h linux locale.h malloc.h math.h mcheck.h"
    " memory.h misc mntent.h monetary.h mqueue.h mtd net netash netatalk netax25 netdb.h neteconet netinet netipx"
    " netiucv netpacket netrom netrose nfs nl_types.h nss.h obstack.h paths.h poll.h printf.h proc_service.h"
    " protocols pthread.h pty.h pwd.h rdma re_comp.h regex.h regexp.h resolv.h rpc sched.h scsi search.h"
    " semaphore.h setjmp.h sgtty.h shadow.h signal.h sound spawn.h stab.h stdalign.h stdarg.h stdbool.h"
    " stdc-predef.h stddef.h stdint.h stdio.h stdio_ext.h stdlib.h stdnoreturn.h string.h strings.h stropts.h sys"
    " syscall.h sysexits.h syslog.h tar.h termio.h termios.h tgmath.h thread_db.h threads.h time.h ttyent.h"
    " uchar.h ucontext.h ulimit.h unistd.h ustat.h utime.h utmp.h utmpx.h values.h video wait.h wchar.h wctype.h"
    " wordexp.h xen"
    " ";

}  // namespace

const std::vector<std::string>& shared_header_folders() {
  static const std::vector<std::string> folders = {"/usr/local/include", multiarch, "/usr/include"};
  return folders;
}

bool is_system_header(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  const std::string_view first = name.substr(0, name.find('/'));
  return !first.empty() && first.find(' ') == first.npos &&
         system_names.find(" " + std::string(first) + " ") != system_names.npos;
}

bool is_system_header_path(const std::string& path) {
  std::error_code failed;
  const fs::path real = fs::weakly_canonical(path, failed);
  if (real.string().starts_with(kernel_headers)) return true;
  for (const char* folder : {multiarch, "/usr/include"}) {
    const fs::path name = real.lexically_relative(fs::weakly_canonical(folder, failed));
    if (!name.empty() && *name.begin() != "..") return is_system_header(name.generic_string());
  }
  return false;
}

}  // namespace xtune::build
