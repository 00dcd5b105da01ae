// The artifact cache: artifacts are read back unchanged, damage counts as absence, and a full disk leaves no files.
#include "core/build/cache.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/hash.hpp"
#include "base/random.hpp"
#include "core/build/artifact.hpp"
#include "core/build/keyed_files.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

using namespace xtune::base;
using namespace xtune::system;
using namespace xtune::build;

using namespace xtune;
namespace fs = std::filesystem;

namespace {

Artifact example(const std::string& name = "a") {
  Artifact artifact;
  artifact.key = sha256(name);
  artifact.backend = "cuda";
  artifact.arch = "sm_90a";
  artifact.format = "cubin";
  artifact.entry_symbol = "_Z4gemmPKf";
  artifact.image = std::string(
                       "\x7f"
                       "ELF\0\n\xff",
                       7) +
                   name;
  artifact.log = "ptxas info\twarning: \xc3\xa4\n";
  artifact.compile_s = 0.25;
  artifact.usage.registers = 64;
  artifact.usage.spilled_bytes = std::int64_t{1} << 33;
  artifact.usage.warp_size = 32;
  return artifact;
}

CompileRequest request() {
  CompileRequest result;
  result.source_name = "/k/gemm.cu";
  result.source = "extern \"C\" __global__ void gemm() {}\n";
  result.entry = "gemm";
  result.options = {"-O3", "evil\nint x;", "back\\"};
  result.defines = {{"BLOCK_M", "64"}};
  return result;
}

fs::path only_file(const fs::path& folder, const std::string& extension) {
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == extension) return entry.path();
  FAIL("no " << extension << " file");
  return {};
}

void overwrite(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace

TEST_CASE("an artifact comes back as it went in") {
  const TemporaryDirectory store;
  ArtifactCache cache(store.path());
  const Artifact artifact = example();
  CHECK_FALSE(cache.find(artifact.key));
  cache.insert(artifact, request());
  const auto found = cache.find(artifact.key);
  REQUIRE(found);
  CHECK(found->key == artifact.key);
  CHECK(found->backend == "cuda");
  CHECK(found->arch == "sm_90a");
  CHECK(found->format == "cubin");
  CHECK(found->entry_symbol == artifact.entry_symbol);
  CHECK(found->image == artifact.image);
  CHECK(found->log == artifact.log);
  CHECK(found->compile_s == 0.25);
  CHECK(found->usage.registers == 64);
  CHECK(found->usage.spilled_bytes == std::int64_t{1} << 33);
  CHECK_FALSE(found->usage.static_shared_bytes);
  CHECK(cache.image_path(artifact) ==
        store.path() / "artifacts" / artifact.key.substr(0, 2) / (artifact.key + ".cubin"));
  CHECK_FALSE(ArtifactCache(store.path() / "elsewhere").find(artifact.key));
}

TEST_CASE("an artifact of several kernels has the largest values of all, and those of each") {
  ResourceUsage pack, gemm;
  pack.registers = 20, pack.static_shared_bytes = 4096, pack.max_threads_per_block = 1024;
  gemm.registers = 168, gemm.spilled_bytes = 8, gemm.max_threads_per_block = 384;
  Artifact artifact = example();
  set_entries(artifact, {{"pack", pack}, {"gemm", gemm}});
  CHECK(artifact.usage.registers == 168);
  CHECK(artifact.usage.static_shared_bytes == 4096);
  CHECK(artifact.usage.spilled_bytes == 8);
  CHECK(artifact.usage.max_threads_per_block == 384);
  const TemporaryDirectory store;
  ArtifactCache cache(store.path());
  CompileRequest both = request();
  both.more_entries = {"pack"};
  cache.insert(artifact, both);
  const auto found = cache.find(artifact.key);
  REQUIRE(found);
  CHECK(found->entry_symbol == "pack");
  CHECK(entry_of(*found, 0).usage.registers == 20);
  CHECK(entry_of(*found, 1).symbol == "gemm");
  CHECK_FALSE(entry_of(*found, 1).usage.static_shared_bytes);
  CHECK_THROWS_AS(entry_of(*found, 2), std::out_of_range);
  CHECK(all_entries(*found).size() == 2);
  const std::string source = read_file(only_file(store.path(), ".cu"));
  CHECK(source.find("// entry: 'gemm'\n// entry: 'pack'\n") != std::string::npos);

  set_entries(artifact, {{"gemm", gemm}});
  CHECK(entry_of(artifact, 0).symbol == "gemm");
  CHECK(all_entries(artifact).size() == 1);
  CHECK_THROWS_AS(entry_of(artifact, 1), std::out_of_range);
}

TEST_CASE("an artifact remembers what it was made from, and what of it changed is named") {
  const TemporaryDirectory store;
  CompileRequest compiled = request();
  compiled.source_name = "/src/k.cu";
  const auto with = [&](const std::string& header) {
    KeyedFiles files;
    files.files.push_back({"/src/a.h", "", sha256(header), false});
    compiled.files = std::make_shared<const KeyedFiles>(files);
    return sources_of(compiled);
  };
  const ArtifactSources first = with("one");
  Artifact artifact = example();
  artifact.toolchain = compiled.toolchain = "cc 1";
  ArtifactCache(store.path()).insert(artifact, compiled);
  const ArtifactSources stored = stored_sources(store.path(), artifact.key);
  CHECK(source_changes(stored, sources_of(compiled)).empty());
  CHECK(same_sources(stored, first));
  CHECK(source_changes(stored, with("two")) == std::vector<std::string>{"file /src/a.h: changed"});
  CHECK_FALSE(same_sources(stored, with("two")));
  compiled.files = nullptr;
  CHECK(same_sources(stored, sources_of(compiled)));  // a configuration that does not include it
  compiled.source += " ";
  compiled.toolchain = "cc 2";
  CHECK(source_changes(stored, sources_of(compiled)) ==
        std::vector<std::string>{"source k.cu: changed", "compiler: cc 1 -> cc 2"});
  CHECK(same_sources(stored_sources(store.path(), sha256("none")), stored));
}

TEST_CASE("the source is kept readable, its flags in comments that nothing in them can end") {
  const TemporaryDirectory store;
  ArtifactCache cache(store.path());
  cache.insert(example(), request());
  const std::string text = read_file(store.path() / "sources" / (example().key + ".cu"));
  CHECK(text.find("// option: '-O3'\n") != std::string::npos);
  CHECK(text.find("// option: 'evil\\nint x;'\n") != std::string::npos);
  CHECK(text.find("// option: 'back\\'\n") != std::string::npos);
  CHECK(text.find("// define: 'BLOCK_M=64'\n") != std::string::npos);
  CHECK(text.substr(text.size() - request().source.size()) == request().source);
}

TEST_CASE("damage counts as absence, and a new insert heals it") {
  const TemporaryDirectory store;
  ArtifactCache cache(store.path());
  const Artifact artifact = example();
  cache.insert(artifact, request());
  const fs::path image = cache.image_path(artifact), metadata = only_file(store.path(), ".json");
  const std::string good = read_file(metadata);
  const auto heal = [&] {
    CHECK_FALSE(cache.find(artifact.key));
    cache.insert(artifact, request());
    CHECK(cache.find(artifact.key));
  };
  overwrite(image, artifact.image.substr(1));
  heal();
  overwrite(image, std::string(artifact.image.size(), 'x'));
  heal();
  fs::remove(image);
  heal();
  fs::remove(image);
  fs::create_directory(image);
  CHECK_FALSE(cache.find(artifact.key));
  fs::remove(image);
  for (const char* text : {"", "{", "[]", "null", "{\"key\": 3}"}) {
    overwrite(metadata, text);
    heal();
  }
  for (const auto& [from, to] : {std::pair{"cubin", "../../x"},
                                 {"cubin", "json"},
                                 {"\"registers\":64", "\"registers\":\"x\""},
                                 {"sm_90a", "\xff"}}) {
    std::string text = good;
    text.replace(text.find(from), std::string(from).size(), to);
    overwrite(metadata, text);
    heal();
  }
}

TEST_CASE("metadata that random bytes have hit never do worse than absence") {
  const TemporaryDirectory store;
  ArtifactCache cache(store.path());
  const Artifact artifact = example();
  cache.insert(artifact, request());
  const fs::path metadata = only_file(store.path(), ".json");
  const std::string good = read_file(metadata);
  Random random(5);
  for (int i = 0; i < 1000; ++i) {
    std::string text = good;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n)
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    overwrite(metadata, text.substr(0, random.below(4) ? text.size() : random.below(text.size())));
    const auto found = cache.find(artifact.key);
    if (found) CHECK(found->image == artifact.image);
  }
}

TEST_CASE("keys and formats that are not file names are refused") {
  const TemporaryDirectory store;
  ArtifactCache cache(store.path());
  for (const std::string& key : {std::string(), std::string("../x"), std::string(64, 'G'), std::string(64, '/')}) {
    Artifact artifact = example();
    artifact.key = key;
    CHECK_THROWS_AS(cache.insert(artifact, request()), Error);
    CHECK_FALSE(cache.find(key));
  }
  for (const char* format : {"", "a/b", "..", "json"}) {
    Artifact artifact = example();
    artifact.format = format;
    CHECK_THROWS_AS(cache.insert(artifact, request()), Error);
  }
  CHECK(fs::is_empty(store.path()));
}

TEST_CASE("compiler output that is not UTF-8 is stored") {
  const TemporaryDirectory store;
  ArtifactCache cache(store.path());
  Artifact artifact = example();
  artifact.log = "\xff\xfe garbage";
  cache.insert(artifact, request());
  CHECK(cache.find(artifact.key)->log.find("garbage") != std::string::npos);
}

TEST_CASE("many writers of one key leave one whole entry") {
  const TemporaryDirectory store;
  const Artifact artifact = example();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 5; ++n) ArtifactCache(store.path()).insert(artifact, request());
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(ArtifactCache(store.path()).find(artifact.key)->image == artifact.image);
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(store.path())) files += entry.is_regular_file();
  CHECK(files == 3);
}

TEST_CASE("a disk that is full: an error, no entry, nothing left over") {
  const TemporaryDirectory store;
  Artifact artifact = example();
  artifact.image.assign(100000, 'i');
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{50000, 50000};
    setrlimit(RLIMIT_FSIZE, &limit);
    int result = 1;
    try {
      ArtifactCache(store.path()).insert(artifact, request());
    } catch (const Error& error) {
      result = error.kind() == ErrorKind::io ? 0 : 2;
    }
    _exit(result);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK_FALSE(ArtifactCache(store.path()).find(artifact.key));
  for (const auto& entry : fs::recursive_directory_iterator(store.path())) CHECK_FALSE(entry.is_regular_file());
}
