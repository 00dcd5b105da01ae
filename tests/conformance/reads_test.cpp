// A stored result answers only while everything that its compile read is as it was: one table for all compilers.
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "core/build/manifest.hpp"
#include "core/resolve/resolve.hpp"
#include "fakes/environment_variable.hpp"
#include "suite.hpp"
#include "support/file_tree.hpp"
#include "system/subprocess.hpp"

using namespace xtune::build;

using namespace xtune;
using namespace xtune::conformance;
using namespace xtune::test;

namespace {

namespace fs = std::filesystem;

enum Compilers { host = 1, clang = 2, nvrtc = 4, hiprtc = 8, programs = host | clang, all = 15 };

struct Row {
  const char* attack;
  int compilers;
  /// At first; "$D" in texts is their directory, "-> TEXT" is a link, and "gone" is a file that is not there.
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::string> options;
  std::pair<std::string, std::string> change;  ///< the file that is written then
  std::pair<const char*, std::string> variable = {nullptr, ""};
  bool is_stored = true;  ///< false: the result is valid in its run only
};

const std::string kernel = "extern \"C\" __global__ void k(float* x) { x[0] = VALUE; }\n", v = "#define VALUE 1\n",
                  v2 = "#define VALUE 2\n";
const std::string plain = "#include \"v.h\"\n" + kernel, angled = "#include <v.h>\n" + kernel;

const std::vector<Row> rows = {
    {"the source itself", all, {{"k.cu", "#define VALUE 1\n" + kernel}}, {}, {"k.cu", v2 + kernel}},
    {"a header", all, {{"k.cu", plain}, {"v.h", v}}, {}, {"v.h", v2}},
    {"a header of a header", all, {{"k.cu", plain}, {"v.h", "#include \"w.h\"\n"}, {"w.h", v}}, {}, {"w.h", v2}},
    {"a header that a macro names",
     all,
     {{"k.cu", "#define H \"v.h\"\n#include H\n" + kernel}, {"v.h", v}},
     {},
     {"v.h", v2}},
    {"a header that an option's macro names",
     all,
     {{"k.cu", "#include H\n" + kernel}, {"v.h", v}},
     {"-DH=\"v.h\""},
     {"v.h", v2}},
    {"a header behind a false condition",
     all,
     {{"k.cu", "#if 0\n#include \"w.h\"\n#endif\n" + plain}, {"v.h", v}, {"w.h", ""}},
     {},
     {"w.h", "1"}},
    {"a header that the compiler's own macro names",
     programs,
     {{"k.cu", "#define S2(x) #x\n#define S(x) S2(x)\n#include S(n/__LP64__.h)\n" + kernel}, {"n/1.h", v}},
     {},
     {"n/1.h", v2}},
    {"a header earlier in the search path",
     all,
     {{"k.cu", angled}, {"a/w.h", ""}, {"b/v.h", v}},
     {"-I$D/a", "-I$D/b"},
     {"a/v.h", v2}},
    {"a header beside the one that includes it",
     all,
     {{"k.cu", "#include <o.h>\n" + kernel}, {"a/v.h", v}, {"b/o.h", "#include \"v.h\"\n"}},
     {"-I$D/a", "-I$D/b"},
     {"b/v.h", v2}},
    {"__has_include of a missing file",
     all,
     {{"k.cu", "#if __has_include(\"w.h\")\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n" + kernel}},
     {},
     {"w.h", ""}},
    {"__has_include of a macro",
     all,
     {{"k.cu", "#define H \"w.h\"\n#if __has_include(H)\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n" + kernel}},
     {},
     {"w.h", ""}},
    {"__has_include behind two macros",
     programs,
     {{"k.cu",
       "#define A(x) __has_include(x)\n#define B(x) A(x)\n#define H \"w.h\"\n#if B(H)\n#define VALUE 2\n#else\n#define "
       "VALUE 1\n#endif\n" +
           kernel}},
     {},
     {"w.h", ""}},
    {"__has_include in the body of a macro",
     programs,
     {{"k.cu", "#define A __has_include(\"w.h\")\n#if A\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n" + kernel}},
     {},
     {"w.h", ""}},
    {"__has_include of a macro in an option file",
     programs,
     {{"k.cu", "#if __has_include(H)\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n" + kernel},
      {"flags", "-DH=\\\"w.h\\\""}},
     {"@$D/flags"},
     {"w.h", ""}},
    {"__has_include of a file that goes",
     all,
     {{"k.cu", "#if __has_include(\"w.h\")\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n" + kernel}, {"w.h", ""}},
     {},
     {"w.h", "gone"}},
    {"a header that goes, with another behind it",
     all,
     {{"k.cu", angled}, {"a/v.h", v}, {"b/v.h", v2}},
     {"-I$D/a", "-I$D/b"},
     {"a/v.h", "gone"}},
    {"a link to another header",
     all,
     {{"k.cu", plain}, {"a.h", v}, {"b.h", v2}, {"v.h", "-> a.h"}},
     {},
     {"v.h", "-> b.h"}},
    {"a directory that becomes a link",
     all,
     {{"k.cu", angled}, {"a/v.h", v}, {"b/v.h", v2}, {"c", "-> a"}},
     {"-I$D/c"},
     {"c", "-> b"}},
    {"a header that macro arguments make",
     programs | hiprtc,
     {{"k.cu", "#define S(x) #x\n#define H(x) S(x.h)\n#include H(v)\n" + kernel}, {"v.h", v}},
     {},
     {"v.h", v2}},
    {"-include", programs, {{"k.cu", kernel}, {"f.h", v}}, {"-include", "$D/f.h"}, {"f.h", v2}},
    {"-imacros", programs, {{"k.cu", kernel}, {"f.h", v}}, {"-imacros", "$D/f.h"}, {"f.h", v2}},
    {"--pre-include", nvrtc, {{"k.cu", kernel}, {"f.h", v}}, {"--pre-include=$D/f.h"}, {"f.h", v2}},
    {"-isystem behind -I",
     programs,
     {{"k.cu", angled}, {"a/v.h", v}, {"b/w.h", ""}},
     {"-isystem", "$D/a", "-I$D/b"},
     {"b/v.h", v2}},
    {"-iquote",
     programs,
     {{"k.cu", "#include <o.h>\n" + kernel}, {"a/o.h", "#include \"v.h\"\n"}, {"b/v.h", v}},
     {"-I$D/a", "-iquote", "$D/b"},
     {"b/v.h", v2}},
    {"-idirafter",
     programs,
     {{"k.cu", angled}, {"a/v.h", v}, {"b/w.h", ""}},
     {"-idirafter", "$D/a", "-isystem", "$D/b"},
     {"b/v.h", v2}},
    {"#include_next",
     programs,
     {{"k.cu", angled}, {"a/v.h", "#include_next <v.h>\n"}, {"b/v.h", v}},
     {"-I$D/a", "-I$D/b"},
     {"b/v.h", v2}},
    {"CPATH", programs, {{"k.cu", angled}, {"a/v.h", v}}, {}, {"a/v.h", v2}, {"CPATH", "$D/a"}},
    {"an earlier directory of CPATH",
     programs,
     {{"k.cu", angled}, {"a/v.h", v}, {"b/w.h", ""}},
     {},
     {"b/v.h", v2},
     {"CPATH", "$D/b:$D/a"}},
    {"CPLUS_INCLUDE_PATH",
     programs,
     {{"k.cu", angled}, {"a/v.h", v}},
     {},
     {"a/v.h", v2},
     {"CPLUS_INCLUDE_PATH", "$D/a"}},
    {"a header that has a precompiled form",
     host,
     {{"k.cu", kernel}, {"f.h", v}, {"f.h.gch", "not a precompiled header"}},
     {"-include", "$D/f.h"},
     {"f.h", v2}},
    {"an option file", programs, {{"k.cu", kernel}, {"flags", "-DVALUE=1"}}, {"@$D/flags"}, {"flags", "-DVALUE=2"}},
    {"an option file in an option file",
     host,
     {{"k.cu", kernel}, {"flags", "@$D/more"}, {"more", "-DVALUE=1"}},
     {"@$D/flags"},
     {"more", "-DVALUE=2"}},
    {"a header that an option file includes",
     programs,
     {{"k.cu", kernel}, {"flags", "-include $D/f.h"}, {"f.h", v}},
     {"@$D/flags"},
     {"f.h", v2}},
    {"a directory of an option file",
     programs,
     {{"k.cu", angled}, {"flags", "-I$D/a"}, {"a/v.h", v}},
     {"@$D/flags"},
     {"a/v.h", v2}},
    {"an earlier directory of an option file",
     programs,
     {{"k.cu", angled}, {"flags", "-I$D/a -I$D/b"}, {"a/w.h", ""}, {"b/v.h", v}},
     {"@$D/flags"},
     {"a/v.h", v2}},
    {"a directory of an option file that is not there yet",
     programs,
     {{"k.cu", angled}, {"flags", "-I$D/a -I$D/b"}, {"b/v.h", v}},
     {"@$D/flags"},
     {"a/v.h", v2}},
    {"__has_include in a directory of an option file",
     programs,
     {{"k.cu", "#if __has_include(<w.h>)\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n" + kernel},
      {"flags", "-I$D/a"},
      {"a/x.h", ""}},
     {"@$D/flags"},
     {"a/w.h", ""}},
    {"__has_include in a header of an option file",
     programs,
     {{"k.cu", kernel},
      {"flags", "-include $D/a/f.h"},
      {"a/f.h", "#if __has_include(\"w.h\")\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n"}},
     {"@$D/flags"},
     {"a/w.h", ""}},
    {"__has_include of a macro in a header of an option file",
     programs,
     {{"k.cu", kernel},
      {"flags", "-include $D/a/f.h"},
      {"a/f.h", "#define H \"w.h\"\n#if __has_include(H)\n#define VALUE 2\n#else\n#define VALUE 1\n#endif\n"}},
     {"@$D/flags"},
     {"a/w.h", ""}},
    {"a header of a header of an option file",
     programs,
     {{"k.cu", kernel}, {"flags", "-include $D/a/f.h"}, {"a/f.h", "#include \"w.h\"\n"}, {"a/w.h", v}},
     {"@$D/flags"},
     {"a/w.h", v2}},
    {"a library", host, {{"k.cu", v + kernel}}, {"-L$D/a", "-Wl,--no-as-needed", "-lf"}, {"a/libf.so", "lib 2"}},
    {"a library of a library",
     host,
     {{"k.cu", v + kernel}},
     {"-L$D/a", "-Wl,--no-as-needed", "-lh"},
     {"a/libf.so", "lib 2"}},
    {"a member of a thin archive",
     host,
     {{"k.cu", v + kernel}},
     {"-L$D/a", "-lt"},
     {"f.o", "lib 2"},
     {nullptr, ""},
     false},
    {"a version script",
     host,
     {{"k.cu", v + kernel}, {"map", "{ global: *; };"}},
     {"-Wl,--version-script=$D/map"},
     {"map", "{ global: *; local: f; };"}},
    {"an option file of the linker",
     host,
     {{"k.cu", v + kernel}, {"flags", "--version-script=$D/map"}, {"map", "{ global: *; };"}},
     {"-Wl,@$D/flags"},
     {"map", "{ global: *; local: f; };"}},
    {"a library in an earlier directory",
     host,
     {{"k.cu", v + kernel}, {"b/w", ""}},
     {"-L$D/b", "-L$D/a", "-Wl,--no-as-needed", "-lf"},
     {"b/libf.so", "lib 2"}},
    {"a shared library before a static one", host, {{"k.cu", v + kernel}}, {"-L$D/a", "-ls"}, {"a/libs.so", "lib 2"}},
    {"a library of LIBRARY_PATH",
     host,
     {{"k.cu", v + kernel}},
     {"-Wl,--no-as-needed", "-lf"},
     {"a/libf.so", "lib 2"},
     {"LIBRARY_PATH", "$D/a"}},
    {"a library of an option file",
     host,
     {{"k.cu", v + kernel}, {"flags", "-L$D/a -Wl,--no-as-needed -lf"}},
     {"@$D/flags"},
     {"a/libf.so", "lib 2"}},
    {"a library of a linker script",
     host,
     {{"k.cu", v + kernel}, {"b/libg.so", "INPUT($D/a/libf.so)"}},
     {"-L$D/b", "-Wl,--no-as-needed", "-lg"},
     {"a/libf.so", "lib 2"}},
    {"a library of the system's name",
     host,
     {{"k.cu", v + kernel}, {"b/w", ""}},
     {"-L$D/b", "-Wl,--no-as-needed", "-lm"},
     {"b/libm.so", "lib 2"}},
    {"a part of the compiler in a directory of -B",
     host,
     {{"k.cu", v + kernel}, {"b/w", ""}},
     {"-B$D/b"},
     {"b/as", "#!/bin/sh\nexec as \"$@\"\n"}},
    {"a part of the compiler in COMPILER_PATH",
     host,
     {{"k.cu", v + kernel}, {"b/w", ""}},
     {},
     {"b/as", "#!/bin/sh\nexec as \"$@\"\n"},
     {"COMPILER_PATH", "$D/b"}},
    {".incbin",
     programs,
     {{"k.cu", "asm(\".pushsection .rodata\\n.incbin \\\"$D/d\\\"\\n.popsection\");\n" + v + kernel}, {"d", "one"}},
     {},
     {"d", "two"}},
    {".incbin in the body of a macro",
     host,
     {{"k.cu", "#define A asm(\".pushsection .rodata\\n.incbin \\\"$D/d\\\"\\n.popsection\")\nA;\n" + v + kernel},
      {"d", "one"}},
     {},
     {"d", "two"}},
    {".incbin of a macro's file",
     host,
     {{"k.cu",
       "#define F \"$D/d\"\nasm(\".pushsection .rodata\\n.incbin \\\"\" F \"\\\"\\n.popsection\");\n" + v + kernel},
      {"d", "one"}},
     {},
     {"d", "two"}},
};

class Attack {
  template <class Use>
  auto with_resolver(const Use& use) {
    device::DeviceInfo info;
    info.backend = target_.backend;
    info.arch = target_.arch;
    const space::Space configs(spec_.parameters, {}, {});
    const resolve::CandidateResolver resolver(spec_, configs, {}, info, target_.arch, target_.toolchain->fingerprint(),
                                              false, store());
    return use(resolver, resolver.compile_request({std::int64_t{1}}));
  }

 public:
  Attack(const Target& target, const Row& row) : target_(target), row_(row) {
    for (const auto& [name, text] : row.files) put(name, text);
    if (row.change.second == "lib 2") make_libraries();
    spec_.kernel.name = "k";
    spec_.kernel.source = tree_.path("k.cu");
    spec_.kernel.entry.text = "k";
    for (const std::string& option : row.options) spec_.kernel.options.push_back({in_place(option), {}});
    spec_.parameters = {{"P", {std::int64_t{1}}, true}};
    if (row.variable.first) variable_.emplace(row.variable.first, in_place(row.variable.second));
  }

  /// The key of a compile.
  std::string compiled() {
    return with_resolver([&](const resolve::CandidateResolver& /*resolver*/, const CompileRequest& request) {
      CompileKey made;
      try {
        compile_checked(*target_.toolchain, request, &made);
      } catch (const CandidateFailure& failure) {
        FAIL(failure.what() << failure.log());
      }
      store_manifest(store(), target_.backend, request.source_name, made.reads.manifest);
      return made.key;
    });
  }

  /// Whether a stored result with this key would be found.
  bool answers(const std::string& key) {
    return with_resolver([&](const resolve::CandidateResolver& resolver, const CompileRequest& request) {
      const std::vector<std::string> keys = resolver.artifact_keys(request);
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    });
  }

  void change() const {
    const auto& [name, text] = row_.change;
    put(name, text);
  }

 private:
  void put(const std::string& name, const std::string& text) const {
    const fs::path path = tree_.path(name);
    fs::create_directories(path.parent_path());
    if (text == "lib 2") return make_library(path, 2);
    if (text == "gone" || text.starts_with("-> ")) fs::remove(path);
    if (text == "gone") return;
    if (text.starts_with("-> ")) return fs::create_symlink(text.substr(3), path);
    tree_.write(name, in_place(text));
    if (text.starts_with("#!")) fs::permissions(path, fs::perms::owner_all);
  }
  std::string in_place(std::string text) const {
    for (std::size_t at = 0; (at = text.find("$D", at)) != text.npos;)
      text.replace(at, 2, tree_.folder.path().string());
    return text;
  }
  void make_library(const std::string& path, int value) const {
    const std::string text = "int f_" + std::to_string(value) + "() { return 1; }\n";
    tree_.write("f.cpp", text);
    REQUIRE(system::run_command({"g++", "-shared", "-fPIC", tree_.path("f.cpp"), "-o", path}).ok());
  }
  void make_libraries() const {
    fs::create_directories(tree_.path("a"));
    make_library(tree_.path("a/libf.so"), 1);
    REQUIRE(system::run_command({"g++", "-c", "-fPIC", tree_.path("f.cpp"), "-o", tree_.path("f.o")}).ok());
    REQUIRE(system::run_command({"ar", "rcs", tree_.path("a/libs.a"), tree_.path("f.o")}).ok());
    REQUIRE(system::run_command({"ar", "rcsT", tree_.path("a/libt.a"), tree_.path("f.o")}).ok());
    REQUIRE(system::run_command({"g++", "-shared", "-o", tree_.path("a/libh.so"), "-Wl,--no-as-needed",
                                 "-L" + tree_.path("a"), "-lf", "-Wl,-rpath," + tree_.path("a")})
                .ok());
  }
  fs::path store() const { return tree_.folder.path() / "store"; }

  const Target& target_;
  const Row& row_;
  const FileTree tree_;
  spec::Spec spec_;
  std::optional<Variable> variable_;
};

}  // namespace

COMPILER_TEST("a result answers until a file changes that its compile read or looked for") {
  const bool for_nvidia = t.arch.starts_with("sm_");  // hipRTC is NVRTC there
  const int own = t.backend == "host" ? host : for_nvidia ? nvrtc : t.compiler == "clang" ? clang : hiprtc;
  if (t.backend != "host" && t.backend != "cuda" && t.backend != "hip") return;
  for (const Row& row : rows) {
    if (!(row.compilers & own)) continue;
    CAPTURE(std::string(row.attack));
    Attack attack(t, row);
    const std::string key = attack.compiled();
    CHECK(attack.answers(key) == row.is_stored);
    attack.change();
    CHECK_FALSE(attack.answers(key));
  }
}
