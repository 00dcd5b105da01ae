// The mask of one thread, and its pending signals.
#include "system/write_signals.hpp"

#include <pthread.h>

#include <cerrno>
#include <ctime>
#include <initializer_list>

namespace xtune::system {

WriteSignals::WriteSignals() noexcept {
  sigset_t pending;
  sigpending(&pending);
  sigemptyset(&expected_);
  for (const int signum : {SIGPIPE, SIGXFSZ})
    if (sigismember(&pending, signum) == 0) sigaddset(&expected_, signum);
  pthread_sigmask(SIG_BLOCK, &expected_, &before_);
}

WriteSignals::~WriteSignals() {
  const int reason = errno;
  const timespec at_once{};
  while (sigtimedwait(&expected_, nullptr, &at_once) > 0 || errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = reason;
}

}  // namespace xtune::system
