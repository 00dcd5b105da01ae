// An SQLite database of data that can be made again, and the directory for its file.
#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "xtune/error.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace xtune::store {

/// Error(io), with SQLite's reason.
struct DatabaseError : Error {
  DatabaseError(const std::string& why, bool damaged_) : Error(ErrorKind::io, why), damaged(damaged_) {}
  bool damaged;  ///< the file must be made again; else it cannot be used now: busy, read-only, a full disk
};

/// A prepared statement. Parameters and columns are numbered from 0.
class Statement {
 public:
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds values to the parameters and starts the statement again: integers, bytes.
  template <class... Values>
  Statement& with(const Values&... values) {
    reset();
    int place = 0;
    (bind(++place, values), ...);
    return *this;
  }
  /// The next row; false: the statement has ended. Throws DatabaseError.
  bool next();
  /// Runs a statement that has no rows.
  void run() {
    while (next()) {
    }
  }

  std::int64_t integer(int column) const;
  std::string_view bytes(int column) const;  ///< valid until the next row

 private:
  friend class Database;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  void reset();
  template <std::integral Number>
  void bind(int place, Number number) {
    bind_integer(place, static_cast<std::int64_t>(number));
  }
  void bind(int place, std::string_view bytes);  ///< must stay valid until the statement has ended
  void bind_integer(int place, std::int64_t number);
  sqlite3_stmt* statement_;
};

/// One connection, for one thread. A transaction that was not committed when it is closed, or when the process is
/// killed, is rolled back.
class Database {
 public:
  /// Opens or creates a file; empty: a database in memory. A file must be on a local file system. Throws DatabaseError.
  explicit Database(const std::filesystem::path& file);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const char* statements);
  Statement prepare(const char* statement);
  std::int64_t last_id() const;  ///< of the last row that was inserted

 private:
  sqlite3* connection_ = nullptr;
};

/// Removes the file of a database, with those that belong to it. Does not fail.
void remove_database(const std::filesystem::path& file);

/// A directory of this user for data that can be made again: "index" in the default store, or in the temporary
/// directory if that is not local or cannot be used. Empty: there is none, or XTUNE_DISABLE_CACHE forbids it.
std::filesystem::path index_folder();

}  // namespace xtune::store
