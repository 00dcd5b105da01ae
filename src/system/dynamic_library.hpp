// A shared library opened at run time, and errors for things that are not installed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "xtune/error.hpp"

struct dl_phdr_info;

namespace xtune::system {

/// The library or program is in none of the places where it was searched. Only a change of the machine or its
/// environment helps, so the answer may be remembered. The cause of any other Error(unavailable) may be gone the next
/// time.
class NotInstalled : public Error {
 public:
  explicit NotInstalled(const std::string& message) : Error(ErrorKind::unavailable, message) {}
};

/// Throws Error(unavailable) with this message, as NotInstalled if `error` is one.
[[noreturn]] inline void throw_with_message(const Error& error, const std::string& message) {
  if (dynamic_cast<const NotInstalled*>(&error) != nullptr) throw NotInstalled(message);
  throw Error(ErrorKind::unavailable, message);
}

/// Where this process searched a library or other files, for `xtune devices -v`.
struct Search {
  struct Place {
    std::string path;    ///< of a directory, or of a file that was refused; empty: where the loader searches
    std::string reason;  ///< why the file was refused; empty: it was not found there
  };
  std::string what;           ///< "libnvrtc.so"
  std::vector<Place> places;  ///< in which it was not found, in order
  std::string taken;          ///< the file; empty: none
};
/// Adds a directory in which it was not found, once.
void add_missing(const std::string& folder, Search& to);
/// Replaces a search for the same that found nothing. Thread-safe.
void remember(const Search& search);
std::vector<Search> searches();

/// Owns a dlopen handle; the library is closed on destruction unless it is marked resident.
class DynamicLibrary {
 public:
  DynamicLibrary() = default;
  /// Opens the first library that loads. Throws Error(unavailable) with the loader's message for the last one tried.
  /// Remembers the search, if they are names of libraries.
  static DynamicLibrary open(const std::vector<std::string>& names);
  /// The first library that this process has loaded already; empty if there is none.
  static DynamicLibrary loaded(const std::vector<std::string>& names);

  /// nullptr if the library does not have the symbol.
  void* find(const char* symbol) const noexcept;
  /// Throws Error(unavailable) naming the symbol and the library.
  void* get(const char* symbol) const;
  template <class Function>
  void get(const char* symbol, Function& function) const {
    function = reinterpret_cast<Function>(get(symbol));
  }
  const std::string& name() const noexcept { return name_; }
  /// Keeps the library open until the end of the process, because vendor drivers do not survive being unloaded.
  void keep_resident() noexcept { handle_.get_deleter().resident = true; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

 private:
  struct Close {
    bool resident;
    void operator()(void* handle) const noexcept;
  };
  bool load(const std::string& name, int flags);

  std::unique_ptr<void, Close> handle_{nullptr, Close{false}};
  std::string name_;
};

/// The path of an object that this process has loaded whose file name begins so: "libamdhip64.so"; empty: none.
std::string loaded_file(std::string_view start);

/// Calls visit with the loader's facts about the loaded object that contains an address, if there is one.
void visit_object_with(const void* address, const std::function<void(const dl_phdr_info&)>& visit);

}  // namespace xtune::system
