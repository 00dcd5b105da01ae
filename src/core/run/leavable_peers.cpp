// If a job's store fails, its processes continue independently.
#include "core/run/peers.hpp"

namespace xtune::run {

void LeavablePeers::leave() noexcept {
  if (!std::exchange(left_, true)) peers_.leave();
}

void LeavablePeers::leave_over(const Error& error) {
  if (left_) return;
  leave();
  warn_(std::string(error.what()) + "; this process goes on by itself");
}

bool LeavablePeers::take(const std::string& name) {
  if (left_) return true;
  try {
    return peers_.take(name);
  } catch (const Error& error) {
    leave_over(error);
    return true;
  }
}

std::vector<record::Record> LeavablePeers::news() {
  try {
    return peers_.news();
  } catch (const Error& error) {
    leave_over(error);
    return {};
  }
}

}  // namespace xtune::run
