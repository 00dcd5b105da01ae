// A worker that echoes requests and, on request, dies, hangs or misbehaves in every way that a real one can.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "worker/ipc/protocol.hpp"

namespace {

using nlohmann::json;

[[noreturn]] void hang() {
  for (;;) pause();
}

void print_error(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

void put(const std::string& bytes) {
  if (write(STDOUT_FILENO, bytes.data(), bytes.size()) < 0) _exit(9);
}

// A grandchild that ignores SIGTERM and similar signals; its pid is written to stderr.
void start_grandchild() {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGTERM, SIG_IGN);
    hang();
  }
  print_error("grandchild " + std::to_string(child) + "\n");
}

// "crash-once FILE": the first process dies, the next ones answer.
bool first_time(const std::string& marker) {
  if (std::ifstream(marker)) return false;
  std::ofstream(marker) << "seen";
  return true;
}

void serve(const json& request) {
  const std::string what = request.is_object() ? request.value("do", "echo") : "echo";
  const json answer{{"echo", request}, {"pid", getpid()}};
  if (what == "crash") {
    print_error("about to crash\n");
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's own handler would turn it into an exit code
    raise(SIGSEGV);
  }
  if (what == "kill") raise(SIGKILL);
  if (what == "terminate") raise(SIGTERM);
  if (what == "exit") _exit(request.value("code", 0));
  if (what == "crash-once" && first_time(request.at("marker"))) raise(SIGKILL);
  if (what == "hang") hang();
  if (what == "wait") {
    xtune::worker::write_message(STDOUT_FILENO, {{xtune::worker::waits_member, "/shared"}});
    while (!std::ifstream(request.at("marker").get<std::string>())) usleep(1000);
    xtune::worker::write_message(STDOUT_FILENO, {{xtune::worker::waits_member, ""}});
  }
  if (what == "start-grandchild") start_grandchild();
  if (what == "crash-with-grandchild") start_grandchild(), raise(SIGKILL);
  if (what == "garbage") put("Segmentation fault in kernel\n"), hang();
  if (what == "absurd-length") put(std::string("XTW1\xff\xff\xff\xff", 8)), hang();
  if (what == "half") put(xtune::worker::encode_message(answer).substr(0, 20)), _exit(0);
  if (what == "two-answers") return put(xtune::worker::encode_message(answer) + xtune::worker::encode_message(answer));
  if (what == "answer-and-exit") {
    xtune::worker::write_message(STDOUT_FILENO, answer);
    _exit(3);
  }
  if (what == "print") print_error(request.at("text"));
  if (what == "flood") print_error(std::string(request.at("bytes").get<std::size_t>(), 'x') + "the end");
  if (what == "large")
    return xtune::worker::write_message(STDOUT_FILENO,
                                        {{"data", json::binary(std::vector<std::uint8_t>(request.at("bytes"), 0xAB))}});
  if (what == "wait-for-file") {
    // A FIFO: opening it blocks until the test opens its other end.
    const int fd = open(request.at("path").get<std::string>().c_str(), O_RDONLY);
    close(fd);
  }
  xtune::worker::write_message(STDOUT_FILENO, answer);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "--exit-at-start") {
    print_error("cannot load libdevice\n");
    return 127;
  }
  if (mode == "--wrong-greeting") put(xtune::worker::encode_message({{"xtune_worker", 999}}));
  if (mode == "--late-greeting") {
    usleep(100000);
    print_error("greeting late\n");
  }
  xtune::worker::write_message(STDOUT_FILENO, xtune::worker::worker_greeting());
  while (const auto request = xtune::worker::read_message(STDIN_FILENO)) serve(*request);
}
