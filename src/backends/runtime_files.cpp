// Writes scratch files, and computes a digest that identifies a version of the texts.
#include "backends/runtime_files.hpp"

#include <algorithm>
#include <fstream>

#include "base/hash.hpp"
#include "xtune/error.hpp"

namespace xtune::backend {

void write_scratch_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file)
    throw Error(ErrorKind::io,
                "cannot write " + path.string() + ": is the disk full? XTUNE_TMP_DIR names another directory");
}

namespace {

void write_header(const std::filesystem::path& path, std::string_view text) {
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  write_scratch_file(path, text);
}

}  // namespace

void write_portable_headers(const std::filesystem::path& directory, std::initializer_list<build::HeaderSet> standins) {
  for (const build::PortableHeader& header : build::portable_headers())
    write_header(directory / header.name, header.text);
  for (const build::PortableHeader& header : build::standin_headers())
    if (std::find(standins.begin(), standins.end(), header.set) != standins.end())
      write_header(directory / header.name, header.text);
}

void write_unread_headers(const std::filesystem::path& directory, const build::UnreadHeaders::Names& headers) {
  // "../x.h" is looked for above the directory that is searched.
  std::error_code failed;
  std::filesystem::create_directories(directory / "above" / "above" / "missing", failed);
  std::filesystem::create_directory_symlink("above/above/missing", directory / "missing", failed);
  const auto is_of_cpp = [](const std::string& name) { return name.find_first_of("./") == name.npos; };
  // For compilers with xtune's library, what C++'s headers have of types; for others what `rest` says.
  const auto types_or = [](const std::string& rest) {
    return "#if __has_include(<xtune_host_types.h>)\n#include <xtune_host_types.h>\n#else\n" + rest + "\n#endif\n";
  };
  const auto text_of = [&](const std::string& name, bool is_missing) {
    const build::PortableHeader* standin = build::find_header(build::standin_headers(), name);
    if (standin && (!is_missing || standin->set == build::HeaderSet::library)) return std::string(standin->text);
    return is_of_cpp(name) ? types_or("") : std::string();
  };
  for (const std::string& name : headers.missing) write_header(directory / "missing" / name, text_of(name, true));
  for (const std::string& name : headers.unusable) write_header(directory / "unusable" / name, text_of(name, false));
  // Not some of the library's types and some of xtune's.
  if (std::ranges::any_of(headers.unusable, is_of_cpp))
    for (const char* name :
         {"array",     "exception", "fstream",     "iomanip",       "ios",           "iosfwd", "iostream",
          "istream",   "map",       "memory",      "mutex",         "ostream",       "set",    "sstream",
          "stdexcept", "string",    "string_view", "unordered_map", "unordered_set", "vector"})
      if (!headers.unusable.contains(name))
        write_header(directory / "unusable" / name, types_or(std::string("#include_next <") + name + ">"));
}

std::vector<std::string> write_headers(const std::filesystem::path& directory,
                                       std::initializer_list<build::HeaderSet> standins,
                                       const build::UnreadHeaders::Names& unread, const std::string& missing_option) {
  write_portable_headers(directory / "portable", standins);
  write_unread_headers(directory, unread);
  return {"-I" + (directory / "unusable").string(), "-I" + (directory / "portable").string(), missing_option,
          (directory / "missing").string()};
}

std::string digest_of(std::initializer_list<build::HeaderSet> standins) {
  std::vector<RuntimeFile> files;
  for (const build::PortableHeader& header : build::standin_headers())
    if (std::find(standins.begin(), standins.end(), header.set) != standins.end())
      files.push_back({header.name, header.text});
  return digest_of(files);
}

std::string digest_of(std::span<const RuntimeFile> files) {
  std::string all;
  for (const RuntimeFile& file : files) all += std::string(file.name) + '\0' + file.text + '\0';
  return base::sha256(all).substr(0, 12);
}

}  // namespace xtune::backend
