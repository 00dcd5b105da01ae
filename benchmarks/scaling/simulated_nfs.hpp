// Processes of one job on a simulated clock and a simulated NFS server. Each is a thread; the C library's functions for
// files, clocks and waiting are replaced in this program (simulated_nfs.cpp), so that the code of a real run is used
// unchanged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace xtune::scaling {

/// NFS version 3. Each call of the C library below the mount becomes the operations that a Linux client sends for it.
struct NfsModel {
  double read_s = 0.3e-3;   ///< answer to an operation that changes nothing, network included
  double change_s = 1e-3;   ///< the same for one that changes something, which must be on the server's disk
  double server_s = 20e-6;  ///< an operation occupies the server; others wait
  double entries_s = 30;    ///< a client may show a directory as it was then: acdirmin of nfs(5)
  double attributes_s = 3;  ///< the same for a file's size, until it is opened: acregmin; doubled up to acregmax
  double most_attributes_s = 60;
  std::size_t ranks_a_node = 8;            ///< they share a client's caches
  std::size_t entries_an_operation = 300;  ///< READDIR with 32 KB
};

struct NfsCounts {
  std::map<std::string, std::uint64_t> operations;  ///< of the server, by name
  std::uint64_t calls = 0;                          ///< of the C library
  std::uint64_t inodes = 0, names = 0;              ///< made: files and directories; with further links to them
  double seconds = 0;                               ///< until the last process ended
  double driver_s = 0;                              ///< CPU time of all processes
  std::uint64_t total() const;
};

/// Runs all processes to their end, in the order of their clocks: one runs until it waits for the server or on its
/// event loop. Its CPU time advances its clock. mount: an existing directory.
NfsCounts run_on_nfs(const std::filesystem::path& mount, const NfsModel& model,
                     const std::vector<std::function<void()>>& processes);

/// The clock of the process that calls it.
double simulated_s();
/// The process that calls it is killed now: it never returns, and what the client had not sent is lost.
[[noreturn]] void die();

}  // namespace xtune::scaling
