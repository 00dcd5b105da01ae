// Options of a project: -I, and the entry of compile_commands.json.
#include "core/init/project_options.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "system/files.hpp"
#include "xtune/error.hpp"

using namespace xtune;
using xtune::init::ProjectOptions;
namespace fs = std::filesystem;

namespace {

struct Project {
  const system::TemporaryDirectory folder;
  const std::string root = fs::canonical(folder.path()).string();

  std::string write(const std::string& name, const std::string& text = "\n") const {
    fs::create_directories((root / fs::path(name)).parent_path());
    std::ofstream(root / fs::path(name)) << text;
    return root + "/" + name;
  }
  ProjectOptions options(const std::string& source, const std::vector<std::string>& directories = {},
                         const std::string& database = {}) const {
    return init::project_options(root + "/" + source, directories, database, root + "/src");
  }
  std::string error(const std::string& database) const try {
    options("src/k.cu", {}, database);
    return {};
  } catch (const Error& error) {
    return std::string(to_string(error.kind())) + ": " + error.what();
  }
};

using Named = std::vector<std::pair<std::string, std::string>>;

std::vector<std::string> paths(const ProjectOptions& project) {
  std::vector<std::string> found;
  for (const auto& [path, from] : project.include_dirs) found.push_back(path + " " + from);
  return found;
}

}  // namespace

TEST_CASE("the entry of the source gives include directories, definitions and the standard") {
  const Project project;
  for (const char* name : {"inc/a.h", "src/own/b.h", "sys/c.h", "toolkit/cuda_runtime.h", "mine/x.h"})
    project.write(name);
  project.write("build/flags.rsp", "-I../inc -DFROM_FILE=3\n");
  // Both forms; paths are relative to the entry's directory, which is relative to the file's.
  const std::string words =
      R"re("arguments": ["nvcc", "-std", "gnu++20", "-isystem=../sys", "-I", "../src/own", "-I../toolkit", "-I../gone",
      "--options-file", "flags.rsp", "-DNAME", "-DTEXT=\"a{b\"", "-DLATE=1", "-DLATE=2", "-D__CUDACC__", "-DF(x)=x",
      "-include", "pch.h", "-c", "../src/k.cu"])re";
  const std::string line =
      R"re("command": "nvcc -std gnu++20 -isystem=../sys -I ../src/own -I../toolkit -I../gone @flags.rsp -DNAME
      '-DTEXT=\"a{b\"' -DLATE=1 -DLATE=2 -D__CUDACC__ '-DF(x)=x' -include pch.h -c ../src/k.cu")re";
  for (std::string form : {words, line}) {
    form.erase(std::remove(form.begin(), form.end(), '\n'), form.end());
    project.write("build/compile_commands.json", R"([{"directory": ".", "file": "../src/other.cu", "command": "x"},
      {"directory": ".", "file": "../src/k.cu", )" + form +
                                                     "}]");
    project.write("src/k.cu");
    const ProjectOptions found = project.options("src/k.cu", {project.root + "/mine"});
    const std::string from = "../build/compile_commands.json, entry of k.cu";
    CHECK(found.from == from);
    CHECK(paths(found) == std::vector<std::string>{"../mine -I", "own " + from, "../inc " + from, "../sys " + from});
    CHECK(found.defines == Named{{"FROM_FILE", "3"}, {"NAME", "1"}, {"TEXT", "\"a{b\""}, {"LATE", "2"}});
    CHECK(found.options == std::vector<std::string>{"-std=c++20"});
    CHECK(found.notes == std::vector<std::string>{"../toolkit (each compiler searches its own)", "../gone (not there)",
                                                  "-include pch.h", "-D__CUDACC__", "-DF"});
    CHECK(init::kernel_lines(found, {"NAME"}) ==
          "include_dirs = [\n  \"../mine\",  # -I\n  \"own\",  # " + from + "\n  \"../inc\",  # " + from +
              "\n  \"../sys\",  # " + from + "\n]\n# -DNAME=1 is the parameter  # " + from +
              "\noptions = [\"-std=c++20\"]  # " + from +
              "\ndefines = { FROM_FILE = \"3\", TEXT = \"\\\"a{{b\\\"\", LATE = \"2\" }  # " + from + "\n");
    CHECK(project.options("src/k.cu", {}, "none").from.empty());
  }
}

TEST_CASE("a source without an entry takes the nearest one, of its kind and name if possible") {
  const Project project;
  for (const char* name : {"src/a/k.cuh", "src/a/deep/x.cu", "src/b/y.cu"}) project.write(name);
  const auto entry = [](const std::string& file) {
    return R"({"directory": "src", "file": ")" + file + R"(", "command": "c++ -DOF=1 -std=c++14"})";
  };
  const auto chosen = [&](const std::string& first, const std::string& second) {
    project.write("compile_commands.json", "[" + entry(first) + ", " + entry(second) + "]");
    return project.options("src/a/k.cuh").from;
  };
  CHECK(chosen("b/y.cu", "a/deep/x.cu") == "../compile_commands.json, entry of a/deep/x.cu, the nearest one");
  CHECK(chosen("a/deep/x.cu", "a/z.cpp") == "../compile_commands.json, entry of a/z.cpp, the nearest one");
  CHECK(chosen("a/z.cu", "a/k.cpp") == "../compile_commands.json, entry of a/k.cpp, the nearest one");
  CHECK(project.options("src/a/k.cuh").notes == std::vector<std::string>{"-std=c++14 (kernels are C++17)"});
  // Of another project: the file that is found lies in a directory around both.
  CHECK(chosen("../../elsewhere/k.cuh", "../../elsewhere/x.cu").empty());
  CHECK(project.options("src/a/k.cuh").notes ==
        std::vector<std::string>{"../compile_commands.json (no entry near the source)"});
  // The one beside the source is nearer than that of the root.
  project.write("src/a/compile_commands.json", "[" + entry("../k.cuh") + "]");
  CHECK(project.options("src/a/k.cuh").from == "a/compile_commands.json, entry of a/k.cuh");
}

TEST_CASE("the last -D or -U of a name counts, and further entries of the source are noted") {
  const Project project;
  project.write("src/k.cu");
  const auto options = [&](const std::string& entries) {
    project.write("compile_commands.json", "[" + entries + "]");
    return project.options("src/k.cu");
  };
  const auto entry = [](const std::string& words) {
    return R"({"directory": ".", "file": "src/k.cu", "command": "nvcc )" + words + "\"}";
  };
  CHECK(options(entry("-DA=1 -UA -DB=2 -U B -D C=3 -UC -DC=4 --undefine-macro=D -DE -D__F__ -U__F__")).defines ==
        Named{{"C", "4"}, {"E", "1"}});
  CHECK(options(entry("-D__F__ -U__F__")).notes.empty());
  const ProjectOptions several = options(entry("-DA=1") + ", " + entry("-DA=2") + ", " + entry("-DA=3"));
  CHECK(several.defines == Named{{"A", "1"}});
  CHECK(several.from == "../compile_commands.json, entry of k.cu");
  CHECK(several.notes == std::vector<std::string>{"2 more entries of the same source (the first one counts)"});
}

TEST_CASE("files that are no list of compile commands are refused with their place") {
  const Project project;
  project.write("src/k.cu");
  const auto message = [&](const std::string& text) { return project.error(project.write("c.json", text)); };
  const std::string ending = ". Make the file again, or ignore it with --compile-commands none";
  for (const char* text : {"", "{", "[{\"directory\": \"/\", \"file", "\xff\xfe", "nonsense"}) {
    const std::string told = message(text);
    CHECK_MESSAGE(told.starts_with("invalid_argument: " + project.root + "/c.json: not JSON (parse error at line 1"),
                  told);
    CHECK(told.ends_with(ending));
  }
  CHECK(message(std::string(1'000'000, '[')).find("not JSON") != std::string::npos);
  CHECK(message("{}").find("c.json: not a list of compile commands" + ending) != std::string::npos);
  CHECK(message("[{\"directory\": \"/\"}]").find("entry 1 lacks a text \"directory\" or \"file\"") !=
        std::string::npos);
  CHECK(message("[4]").find("entry 1 lacks") != std::string::npos);
  CHECK(message(R"([{"directory": "src", "file": "k.cu"}])").find("has neither \"command\" nor") != std::string::npos);
  CHECK(project.error(project.root + "/gone.json").find("gone.json") != std::string::npos);
  CHECK(message("[]").empty());
  const std::string large = project.write("large.json");
  fs::resize_file(large, std::uintmax_t{300} << 20);
  CHECK(project.error(large).find("large.json") != std::string::npos);
  CHECK_THROWS_WITH_AS(project.options("src/k.cu", {"/gone"}), "-I /gone: the directory does not exist", Error);
}
