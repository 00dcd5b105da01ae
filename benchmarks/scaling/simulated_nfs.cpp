// Replaces functions of the C library for the threads of run_on_nfs; all other threads get the real ones.
//
// A file below the mount is a real file in memory or on a local disk. Data that a process writes reaches it only with
// fsync or close, as on a client that buffers, and is charged then. Names are made, linked and removed at once by the
// server. Reads of data, and of names that were never asked for, are operations; a second read of unchanged data on
// the same node is not.
#include "simulated_nfs.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdarg>
#include <ctime>
#include <deque>
#include <memory>
#include <mutex>
#include <queue>
#include <stdexcept>
#include <thread>
#include <unordered_map>

#include "system/clock.hpp"

namespace xtune::scaling {
namespace {

/// Of one thread at a time. (std::binary_semaphore of GCC 12 spins, for as long as others have work.)
class Turn {
 public:
  void take() {
    std::unique_lock lock(mutex_);
    given_now_.wait(lock, [this] { return given_; });
    given_ = false;
  }
  void give() {
    const std::lock_guard lock(mutex_);
    given_ = true;
    given_now_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable given_now_;
  bool given_ = false;
};

struct Process {
  std::size_t node = 0;
  double now_s = 0, cpu_s = 0;  ///< cpu_s: the thread's CPU time that now_s includes
  Turn turn;
};

struct Attributes {
  double asked_s = 0, valid_s = 0;
  off_t size = 0;
};

struct Node {
  std::unordered_map<std::string, Attributes> attributes;
  std::unordered_map<std::string, double> listed_s;             ///< directories
  std::unordered_map<std::string, std::uint64_t> read_version;  ///< of files whose data is in the client's memory
};

struct Open {
  std::string path;
  struct Write {
    std::string bytes;
    off_t offset;  ///< -1: at the end
  };
  std::vector<Write> unsent{};
};

struct Listing {
  std::string path;
  double listed_s;
};

struct World {
  std::string mount;
  NfsModel model;
  NfsCounts counts;
  std::vector<Node> nodes;
  using Wake = std::pair<double, Process*>;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> wakes;
  std::deque<Process> processes;
  std::size_t left = 0;  ///< processes that have not ended
  Turn over;
  double server_free_s = 0;
  std::unordered_map<std::string, double> made_s;          ///< names
  std::unordered_map<std::string, std::uint64_t> version;  ///< of a file's data
  std::unordered_map<std::string, std::size_t> entries;    ///< of a directory
  std::unordered_map<int, Open> opened;
  std::unordered_map<DIR*, Listing> listings;
};

World* world = nullptr;
thread_local Process* self = nullptr;

void charge_cpu() {
  const double cpu_s = system::thread_cpu_s();
  self->now_s += cpu_s - self->cpu_s;
  world->counts.driver_s += cpu_s - self->cpu_s;
  self->cpu_s = cpu_s;
}

void give_turn() {
  Process* const next = world->wakes.top().second;
  world->wakes.pop();
  next->turn.give();
}

void wait_until(double time_s) {
  charge_cpu();
  self->now_s = std::max(self->now_s, time_s);
  world->wakes.emplace(self->now_s, self);
  if (world->wakes.top().second == self) return world->wakes.pop();
  give_turn();
  self->turn.take();
}

/// The process ends: the others go on without it.
void leave() {
  charge_cpu();
  world->counts.seconds = std::max(world->counts.seconds, self->now_s);
  self = nullptr;
  if (--world->left == 0) return world->over.give();
  give_turn();
}

/// The operation arrives at the server now, and its effect with it; the process continues when it has the answer.
void ask(const char* operation, double latency_s, std::size_t times = 1) {
  world->counts.operations[operation] += times;
  wait_until(self->now_s);
  for (std::size_t i = 0; i < times; ++i) {
    const double begin_s = std::max(self->now_s, world->server_free_s);
    world->server_free_s = begin_s + world->model.server_s;
    self->now_s = begin_s + latency_s;
  }
}
void look(const char* operation, std::size_t times = 1) { ask(operation, world->model.read_s, times); }
void change(const char* operation) { ask(operation, world->model.change_s); }

Node& node() { return world->nodes[self->node]; }

/// Empty: not below the mount, or not of a simulated process.
std::string below(const char* path) {
  if (!self || !path || std::string_view(path).substr(0, world->mount.size()) != world->mount) return {};
  ++world->counts.calls;
  return path;
}

Open* open_file(int fd) {
  if (!self) return nullptr;
  const auto found = world->opened.find(fd);
  if (found == world->opened.end()) return nullptr;
  ++world->counts.calls;
  return &found->second;
}

void made(const std::string& path, bool inode) {
  const std::string folder = path.substr(0, path.rfind('/'));
  world->counts.inodes += inode;
  ++world->counts.names;
  world->made_s[path] = self->now_s;
  ++world->entries[folder];
  node().listed_s.erase(folder);  // a client knows its own changes
}

void removed(const std::string& path) {
  --world->entries[path.substr(0, path.rfind('/'))];
  node().attributes.erase(path);
}

template <typename Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void learn_attributes(const std::string& path, const struct stat& info) {
  const auto [found, is_new] = node().attributes.try_emplace(path);
  Attributes& known = found->second;
  const double least_s = S_ISDIR(info.st_mode) ? world->model.entries_s : world->model.attributes_s;
  const bool same = !is_new && known.size == info.st_size;
  known.valid_s = same ? std::min(2 * known.valid_s, world->model.most_attributes_s) : least_s;
  known.asked_s = self->now_s;
  known.size = info.st_size;
}

int simulated_stat(const char* name, const char* path, struct stat* info) {
  const auto call = real<int(const char*, struct stat*)>(name);
  const std::string known = below(path);
  if (known.empty()) return call(path, info);
  const auto found = node().attributes.find(known);
  const bool cached = found != node().attributes.end() && self->now_s < found->second.asked_s + found->second.valid_s;
  if (!cached) look("GETATTR");
  const int result = call(path, info);
  if (result != 0) return result;
  if (cached)
    info->st_size = found->second.size;
  else
    learn_attributes(known, *info);
  return result;
}

int simulated_open(const char* path, int flags, mode_t mode) {
  static const auto call = real<int(const char*, int, ...)>("open");
  const std::string known = below(path);
  if (known.empty()) return call(path, flags, mode);
  struct stat info {};
  static const auto stat_call = real<int(const char*, struct stat*)>("stat");
  const bool makes = (flags & O_CREAT) && ((flags & O_EXCL) || stat_call(path, &info) != 0);
  makes ? change("CREATE") : look("GETATTR");  // close-to-open: the client asks whenever a file is opened
  const int fd = call(path, flags, mode);
  if (fd < 0) return fd;
  if (makes) made(known, true);
  if (stat_call(path, &info) == 0) learn_attributes(known, info);
  world->opened[fd] = {known};
  return fd;
}

/// Counted from 1.
std::uint64_t& version_of(const std::string& path) { return world->version.try_emplace(path, 1).first->second; }

void flush(int fd, Open& file) {
  if (file.unsent.empty()) return;
  static const auto call = real<ssize_t(int, const void*, size_t)>("write");
  static const auto call_at = real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  change("WRITE");
  for (const auto& [bytes, offset] : file.unsent) {
    const ssize_t written =
        offset < 0 ? call(fd, bytes.data(), bytes.size()) : call_at(fd, bytes.data(), bytes.size(), offset);
    if (written != static_cast<ssize_t>(bytes.size())) throw std::runtime_error("the simulated server's disk is full");
  }
  file.unsent.clear();
  node().read_version[file.path] = ++version_of(file.path);
}

ssize_t write_later(Open& file, const void* bytes, size_t count, off_t offset) {
  file.unsent.push_back({std::string(static_cast<const char*>(bytes), count), offset});
  return static_cast<ssize_t>(count);
}

void read_data(const Open& file) {
  const std::uint64_t version = version_of(file.path);
  if (std::exchange(node().read_version[file.path], version) != version) look("READ");
}

DIR* list(const std::string& path, DIR* folder) {
  if (!folder) return folder;
  look("GETATTR");
  const auto [known, is_new] = node().listed_s.try_emplace(path, self->now_s);
  if (is_new || self->now_s > known->second + world->model.entries_s) {
    look("READDIR", world->entries[path] / world->model.entries_an_operation + 1);
    node().listed_s[path] = self->now_s;
  }
  world->listings[folder] = {path, node().listed_s[path]};
  return folder;
}

int simulated_sync(const char* name, int fd) {
  if (Open* const file = open_file(fd)) return flush(fd, *file), 0;
  return real<int(int)>(name)(fd);
}

}  // namespace

std::uint64_t NfsCounts::total() const {
  std::uint64_t sum = 0;
  for (const auto& [name, count] : operations) sum += count;
  return sum;
}

double simulated_s() {
  charge_cpu();
  return self->now_s;
}

void die() {
  leave();
  for (;;) ::pause();
}

NfsCounts run_on_nfs(const std::filesystem::path& mount, const NfsModel& model,
                     const std::vector<std::function<void()>>& processes) {
  static std::vector<std::unique_ptr<World>> worlds;  // those who died still refer to theirs
  World& here = *worlds.emplace_back(std::make_unique<World>());
  here.mount = mount.string() + "/";
  here.model = model;
  here.nodes.resize(processes.size() / model.ranks_a_node + 1);
  here.left = processes.size();
  world = &here;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    Process* const process = &here.processes.emplace_back();
    process->node = i / model.ranks_a_node;
    here.wakes.emplace(0.0, process);
    std::thread([process, body = processes[i]] {
      process->turn.take();
      self = process;
      self->cpu_s = system::thread_cpu_s();
      body();
      leave();
    }).detach();
  }
  give_turn();
  here.over.take();
  return here.counts;
}

}  // namespace xtune::scaling

using namespace xtune::scaling;

extern "C" {

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) ? va_arg(more, mode_t) : 0;
  va_end(more);
  return simulated_open(path, flags, mode);
}

int openat(int at, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (self && at == AT_FDCWD) return simulated_open(path, flags, mode);
  return real<int(int, const char*, int, ...)>("openat")(at, path, flags, mode);
}

int close(int fd) {
  static const auto call = real<int(int)>("close");
  if (Open* const file = open_file(fd)) {
    flush(fd, *file);
    world->opened.erase(fd);
  }
  return call(fd);
}

int stat(const char* path, struct stat* info) noexcept { return simulated_stat("stat", path, info); }
int lstat(const char* path, struct stat* info) noexcept { return simulated_stat("lstat", path, info); }

ssize_t read(int fd, void* bytes, size_t count) {
  static const auto call = real<ssize_t(int, void*, size_t)>("read");
  if (const Open* const file = open_file(fd)) read_data(*file);
  return call(fd, bytes, count);
}
ssize_t pread(int fd, void* bytes, size_t count, off_t offset) {
  static const auto call = real<ssize_t(int, void*, size_t, off_t)>("pread");
  if (const Open* const file = open_file(fd)) read_data(*file);
  return call(fd, bytes, count, offset);
}
ssize_t write(int fd, const void* bytes, size_t count) {
  static const auto call = real<ssize_t(int, const void*, size_t)>("write");
  if (Open* const file = open_file(fd)) return write_later(*file, bytes, count, -1);
  return call(fd, bytes, count);
}
ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  static const auto call = real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  if (Open* const file = open_file(fd)) return write_later(*file, bytes, count, offset);
  return call(fd, bytes, count, offset);
}
int fsync(int fd) { return simulated_sync("fsync", fd); }
int fdatasync(int fd) { return simulated_sync("fdatasync", fd); }

int link(const char* from, const char* to) noexcept {
  static const auto call = real<int(const char*, const char*)>("link");
  const std::string known = below(to);
  if (!known.empty()) change("LINK");
  const int result = call(from, to);
  if (!known.empty() && result == 0) made(known, false);
  return result;
}
int rename(const char* from, const char* to) noexcept {
  static const auto call = real<int(const char*, const char*)>("rename");
  const std::string known = below(to);
  if (!known.empty()) change("RENAME");
  const int result = call(from, to);
  if (!known.empty() && result == 0) {
    removed(from);
    made(known, false);
  }
  return result;
}
int unlink(const char* path) noexcept {
  static const auto call = real<int(const char*)>("unlink");
  const std::string known = below(path);
  if (!known.empty()) change("REMOVE"), removed(known);
  return call(path);
}
int remove(const char* path) noexcept {
  static const auto call = real<int(const char*)>("remove");
  const std::string known = below(path);
  if (!known.empty()) change("REMOVE"), removed(known);
  return call(path);
}
int mkdir(const char* path, mode_t mode) noexcept {
  static const auto call = real<int(const char*, mode_t)>("mkdir");
  const std::string known = below(path);
  if (!known.empty()) change("MKDIR");
  const int result = call(path, mode);
  if (!known.empty() && result == 0) made(known, true);
  return result;
}

DIR* opendir(const char* path) {
  static const auto call = real<DIR*(const char*)>("opendir");
  const std::string known = below(path);
  DIR* const folder = call(path);
  return known.empty() ? folder : list(known, folder);
}
DIR* fdopendir(int fd) {
  static const auto call = real<DIR*(int)>("fdopendir");
  const Open* const file = open_file(fd);
  const std::string path = file ? file->path : "";
  DIR* const folder = call(fd);
  return file ? list(path, folder) : folder;
}
dirent* readdir(DIR* folder) {
  static const auto call = real<dirent*(DIR*)>("readdir");
  dirent* entry = call(folder);
  if (!self) return entry;
  const auto listing = world->listings.find(folder);
  if (listing == world->listings.end()) return entry;
  for (; entry; entry = call(folder)) {
    const auto made = world->made_s.find(listing->second.path + "/" + entry->d_name);
    if (made == world->made_s.end() || made->second <= listing->second.listed_s) break;
  }
  return entry;
}
int closedir(DIR* folder) {
  static const auto call = real<int(DIR*)>("closedir");
  if (self && world->listings.erase(folder) > 0) world->opened.erase(::dirfd(folder));
  return call(folder);
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static const auto call = real<int(clockid_t, timespec*)>("clock_gettime");
  const bool simulated = clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_REALTIME;
  if (!self || !simulated) return call(clock, time);
  constexpr double day_s = 1'700'000'000;
  const double now_s = day_s + simulated_s();
  time->tv_sec = static_cast<time_t>(now_s);
  time->tv_nsec = static_cast<long>((now_s - static_cast<double>(time->tv_sec)) * 1e9);
  return 0;
}

int epoll_pwait(int epoll, epoll_event* events, int size, int timeout_ms, const sigset_t* mask) {
  static const auto call = real<int(int, epoll_event*, int, int, const sigset_t*)>("epoll_pwait");
  if (!self) return call(epoll, events, size, timeout_ms, mask);
  const int ready = call(epoll, events, size, 0, mask);
  if (ready != 0 || timeout_ms == 0) return ready;
  if (timeout_ms < 0) throw std::logic_error("a process waits for nothing");
  wait_until(simulated_s() + timeout_ms * 1e-3);
  return 0;
}
int epoll_wait(int epoll, epoll_event* events, int size, int timeout_ms) {
  return epoll_pwait(epoll, events, size, timeout_ms, nullptr);
}

}  // extern "C"
