// The database is in WAL mode: readers and a writer do not wait for each other, and a killed writer leaves the last
// committed state. Without a sync at each commit, a power failure loses the last commits, but damages nothing.
#include "core/store/database.hpp"

#include <fmt/core.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "system/chosen_store.hpp"
#include "system/descriptor.hpp"
#include "system/files.hpp"
#include "system/trust.hpp"

namespace xtune::store {
namespace {

namespace fs = std::filesystem;

/// For a writer that is indexing a large store; a process that waits longer makes an index in memory.
constexpr int wait_ms = 10'000;

[[noreturn]] void fail(sqlite3* connection, int code) {
  constexpr std::array damage{SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_ERROR, SQLITE_MISMATCH, SQLITE_CONSTRAINT};
  const bool damaged = std::find(damage.begin(), damage.end(), code & 0xFF) != damage.end();
  throw DatabaseError(connection ? sqlite3_errmsg(connection) : sqlite3_errstr(code), damaged);
}

}  // namespace

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::reset() { sqlite3_reset(statement_); }

bool Statement::next() {
  const int code = sqlite3_step(statement_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) fail(sqlite3_db_handle(statement_), code);
  return code == SQLITE_ROW;
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
std::string_view Statement::bytes(int column) const {
  const void* const begin = sqlite3_column_blob(statement_, column);
  return {static_cast<const char*>(begin), static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

void Statement::bind_integer(int place, std::int64_t number) { sqlite3_bind_int64(statement_, place, number); }
void Statement::bind(int place, std::string_view bytes) {
  // Null data would be a null.
  sqlite3_bind_blob64(statement_, place, bytes.empty() ? "" : bytes.data(), bytes.size(), SQLITE_STATIC);
}

Database::Database(const fs::path& file) {
  constexpr int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (const int code = sqlite3_open_v2(file.empty() ? ":memory:" : file.c_str(), &connection_, flags, nullptr)) {
    sqlite3_close(connection_);
    fail(nullptr, code);
  }
  sqlite3_extended_result_codes(connection_, 1);
  sqlite3_busy_timeout(connection_, wait_ms);
  try {
    if (!file.empty()) run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  } catch (...) {
    sqlite3_close(connection_);
    throw;
  }
}

Database::~Database() { sqlite3_close(connection_); }

void Database::run(const char* statements) {
  if (const int code = sqlite3_exec(connection_, statements, nullptr, nullptr, nullptr)) fail(connection_, code);
}

Statement Database::prepare(const char* statement) {
  sqlite3_stmt* prepared = nullptr;
  if (const int code = sqlite3_prepare_v2(connection_, statement, -1, &prepared, nullptr)) fail(connection_, code);
  return Statement(prepared);
}

std::int64_t Database::last_id() const { return sqlite3_last_insert_rowid(connection_); }

void remove_database(const fs::path& file) {
  std::error_code ignored;
  for (const char* end : {"", "-wal", "-shm"}) fs::remove(fs::path(file) += end, ignored);
}

fs::path index_folder() try {
  if (system::kept_in_store() != system::Kept::all) return {};
  const fs::path temporary = system::temporary_folder() / fmt::format("xtune-{}", ::geteuid());
  for (const fs::path& place : {system::default_store(), temporary}) try {
      if (!system::is_local(place)) continue;
      if (place == temporary) system::make_private_directory(place);
      if (system::make_directories(place) || !system::why_refused(place).empty()) continue;
      system::make_private_directory(place / "index");
      return place / "index";
    } catch (const Error&) {  // the next one
    }
  return {};
} catch (const Error&) {  // the caller has reported XTUNE_DISABLE_CACHE
  return {};
}

}  // namespace xtune::store
