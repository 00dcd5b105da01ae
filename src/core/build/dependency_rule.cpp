// GCC, Clang and GNU ld quote in the same way for make: src/mkdeps.cc of libcpp, DependencyFile.cpp of Clang.
#include "core/build/dependency_rule.hpp"

#include <algorithm>

#include "system/files.hpp"

namespace xtune::build {

std::optional<std::vector<std::string>> files_of_rule(const std::filesystem::path& rule,
                                                      const std::filesystem::path& own) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(rule, failed)) return std::nullopt;
  const std::string text = system::read_file(rule);
  std::vector<std::string> files;
  std::string name;
  const auto end_name = [&] {
    // "<stdin>" and similar names are not files.
    if (!name.empty() && name != "-" && name.front() != '<') files.push_back((own / name).string());
    name.clear();
  };
  const std::size_t colon = text.find(": ");
  for (std::size_t i = colon == std::string::npos ? text.size() : colon + 2; i < text.size(); ++i) {
    const std::size_t slashes = std::min(text.find_first_not_of('\\', i), text.size()) - i;
    i += slashes;
    const char c = i < text.size() ? text[i] : '\n';
    const bool escaped = slashes % 2 == 1;
    if (slashes > 0 && (c == ' ' || c == '\t')) {
      // Before a blank, each backslash of the name is doubled; one more escapes the blank.
      name.append(slashes / 2, '\\');
      if (escaped)
        name += c;
      else
        end_name();
    } else if (slashes > 0 && c == '\n') {
      // The last backslash continues the line.
      name.append(slashes - 1, '\\');
      end_name();
    } else if (slashes > 0) {
      name.append(c == '#' ? slashes - 1 : slashes, '\\');
      if (c == '#')
        name += c;
      else
        --i;  // an ordinary character
    } else if (c == '\n') {
      break;  // the following rules are for other targets
    } else if (c == '$' && i + 1 < text.size() && text[i + 1] == '$') {
      name += c;
      ++i;
    } else if (c == ' ') {
      end_name();
    } else {
      name += c;
    }
  }
  end_name();
  return files_outside(std::move(files), {own.string()});
}

std::optional<std::vector<std::string>> files_of_link(const std::filesystem::path& rule,
                                                      const std::filesystem::path& own) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(rule, failed)) return std::nullopt;
  const std::string text = system::read_file(rule);
  std::vector<std::string> files;
  const std::size_t begin = text.find(": \\\n");
  std::size_t at = begin == std::string::npos ? text.size() : begin + 4;
  while (at < text.size() && text[at] == ' ') {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string name = text.substr(at, end - at);
    at = end + 1;
    if (name.ends_with(" \\")) name.resize(name.size() - 2);
    name.erase(0, std::min(name.find_first_not_of(' '), name.size()));
    std::string plain;
    for (std::size_t i = 0; i < name.size(); ++i) {
      const char next = i + 1 < name.size() ? name[i + 1] : '\0';
      if ((name[i] == '\\' && (next == ' ' || next == '#')) || (name[i] == '$' && next == '$')) ++i;
      plain += name[i];
    }
    for (const std::string& each : {name, plain})
      if (std::filesystem::exists(own / each, failed)) {
        files.push_back((own / each).string());
        break;
      }
  }
  return files_outside(std::move(files), {own.string()});
}

std::vector<std::string> files_outside(std::vector<std::string> files, const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  std::error_code failed;
  std::vector<fs::path> roots;
  for (const std::string& folder : folders) roots.push_back(fs::weakly_canonical(folder, failed));
  std::erase_if(files, [&](const std::string& file) {
    const fs::path path = fs::weakly_canonical(file, failed);
    return std::any_of(roots.begin(), roots.end(), [&](const fs::path& root) {
      const fs::path relative = path.lexically_relative(root);
      return !root.empty() && !relative.empty() && *relative.begin() != "..";
    });
  });
  return files;
}

}  // namespace xtune::build
