#include "base/process_end.hpp"

#include "base/subprocess.hpp"

namespace xtune::base {

std::string describe_end(int exit_code, int signal, std::string_view words) {
  std::string text = (signal == 0 ? "ended with " : "was ") + describe_exit(exit_code, signal);
  if (!words.empty()) text.append(": ").append(words);
  return text;
}

}  // namespace xtune::base
