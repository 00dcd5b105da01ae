// Whole drafts: what they say, and that they are specs.
#include "core/init/draft.hpp"

#include <doctest/doctest.h>
#include <re2/re2.h>

#include <filesystem>
#include <fstream>

#include "core/spec/spec.hpp"
#include "system/files.hpp"
#include "xtune/error.hpp"

using namespace xtune;

namespace {

struct Drafted {
  init::Draft draft;
  spec::Spec spec;
};

/// As a user may fill in the blanks.
std::string filled(std::string text) {
  RE2::GlobalReplace(&text, R"re(name = "\?")re", "name = \"field\"");
  RE2::GlobalReplace(&text, R"re(dtype = "\?")re", "dtype = \"i32\"");
  RE2::GlobalReplace(&text, R"re( = "\?"(  # fill in: a type of))re", " = \"int\"\\1");
  RE2::GlobalReplace(&text, R"re(of = (\[?)"\?")re", "of = \\1\"x\"");
  RE2::GlobalReplace(&text, R"re(((?:shared|value) = )"\?")re", "\\1\"1\"");
  RE2::GlobalReplace(&text, R"(( = )\"\?\")", "\\1[64]");
  RE2::GlobalReplace(&text, R"(\"\?\")", "\"1\"");
  return text;
}

/// The draft of a source, read as a spec.
Drafted drafted(const std::string& source, const std::vector<std::string>& entries = {}) {
  const system::TemporaryDirectory folder;
  std::ofstream(folder.path() / "k.cu") << source;
  init::DraftRequest request{source, {}, "k.cu", entries};
  init::Draft draft = init::draft_spec(request);
  INFO(draft.text);
  spec::Spec spec = spec::parse_spec(filled(draft.text), "k.toml", folder.path());
  return {std::move(draft), std::move(spec)};
}

std::string refused(const std::string& source, const std::vector<std::string>& entries = {}) {
  try {
    drafted(source, entries);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool has(const Drafted& drafted, const std::string& text) {
  INFO(drafted.draft.text);
  return drafted.draft.text.find(text) != std::string::npos;
}

std::string argument(const Drafted& drafted, const std::string& name) {
  const std::string& text = drafted.draft.text;
  const std::size_t begin = text.find("name = \"" + name + "\"");
  return begin == std::string::npos ? "" : text.substr(begin, text.find("\n\n", begin) - begin);
}

}  // namespace

TEST_CASE("one dimension: size, roles, grid and block follow from the index") {
  const Drafted scale = drafted(
      "extern \"C\" __global__ void scale(const float* x, float* y, float alpha, int n) {\n"
      "  int i = blockIdx.x * BLOCK + threadIdx.x;\n  if (i < n) y[i] = alpha * x[i];\n}\n");
  CHECK(has(scale, "entry = \"scale\""));
  CHECK(has(scale, "BLOCK = [64, 128, 256]  # guess: threads of a block"));
  CHECK(has(scale, "grid = [\"ceildiv(n, BLOCK)\"]"));
  CHECK(has(scale, "block = [\"BLOCK\"]"));
  CHECK(argument(scale, "x").find("role") == std::string::npos);
  CHECK(argument(scale, "y").find("role = \"out\"") != std::string::npos);
  CHECK(argument(scale, "n").find("value = \"n\"") != std::string::npos);
  CHECK(argument(scale, "alpha").find("value = 1.0") != std::string::npos);
  CHECK(scale.draft.parameters == std::vector<std::string>{"BLOCK"});
  CHECK(scale.draft.guesses.size() >= 5);
}

TEST_CASE("names of host code are no parameters") {
  const Drafted draft = drafted(
      "#define RUNS 100\n#define BLOCK 256\nconstexpr int all_runs = RUNS * 4;\n"
      "__device__ void of_other(float* y) { y[EXTENT] = 1; }\n"
      "__global__ void other(float* y) { of_other(y); }\n"
      "__global__ void k(float* x, int n) {\n  int i = blockIdx.x * BLOCK + threadIdx.x;\n  if (i < n) x[i] = 1;\n}\n"
      "int main() { for (int i = 0; i < all_runs; ++i) k<<<1, BLOCK>>>(0, 1); }\n",
      {"k"});
  CHECK(has(draft, "BLOCK"));
  CHECK_FALSE(has(draft, "RUNS"));
  CHECK_FALSE(has(draft, "EXTENT"));
}

TEST_CASE("what is added to is inout, and so is what is passed on") {
  const Drafted sum = drafted(
      "__device__ void add(float*, int);\n__global__ void k(float* a, float* b, unsigned* c, float* d, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
      "  a[i] += 1;\n  add(b, i);\n  atomicAdd(&c[i], 1u);\n  d[0] = 1;\n}\n");
  for (const char* name : {"a", "b", "c"}) CHECK(argument(sum, name).find("role = \"inout\"") != std::string::npos);
  CHECK(argument(sum, "d").find("shape = [\"1\"]") != std::string::npos);
  CHECK(has(sum, "THREADS = { values = [64, 128, 256], compile_time = false }  # guess"));
  CHECK(has(sum, "grid = [\"ceildiv(n, THREADS)\"]"));
}

TEST_CASE("the parameter for the threads of a block has the values that are given for its name") {
  const std::string kernel =
      "__global__ void k(float* x, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) x[i] = 1;\n}\n";
  for (const std::string& source : {kernel, kernel + "int main() { k<<<(n + 127) / 128, 128>>>(p, n); }\n"}) {
    init::DraftRequest request{source, {}, "k.cu", {}};
    CHECK(init::draft_spec(request).parameters == std::vector<std::string>{"THREADS"});
    request.parameters = {{"THREADS", "[32, 512]"}};
    const init::Draft draft = init::draft_spec(request);
    INFO(draft.text);
    CHECK(draft.parameters == std::vector<std::string>{"THREADS"});
    CHECK(draft.text.find("[32, 512]") != std::string::npos);
    CHECK(draft.text.find("block = [\"THREADS\"]") != std::string::npos);
  }
}

TEST_CASE("two dimensions: each axis is limited by its own size") {
  const Drafted product = drafted(
      "__global__ void mm(const double* a, const double* b, double* c, int m, int n, int k) {\n"
      "  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);\n"
      "  const int row = blockIdx.y * blockDim.y + threadIdx.y;\n  if (row >= m || column >= n) return;\n"
      "  double sum = 0;\n  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];\n"
      "  c[row * n + column] = sum;\n}\n");
  CHECK(has(product, "grid = [\"ceildiv(n, THREADS_X)\", \"ceildiv(m, THREADS_Y)\"]"));
  CHECK(argument(product, "a").find("shape = [\"m\", \"k\"]  # guess: from a[row*k+i]") != std::string::npos);
  CHECK(argument(product, "b").find("shape = [\"k\", \"n\"]") != std::string::npos);
  CHECK(argument(product, "c").find("shape = [\"m\", \"n\"]") != std::string::npos);
  CHECK(has(product, "THREADS_X * THREADS_Y <= 1024"));
}

TEST_CASE("a block for each row, and rows that only the launch tells") {
  const Drafted sum = drafted(
      "__global__ void row_sum(const float* x, float* y, int n) {\n  float sum = 0;\n"
      "  for (int i = threadIdx.x; i < n; i += BLOCK) sum += x[blockIdx.x * n + i];\n"
      "  if (threadIdx.x == 0) y[blockIdx.x] = sum;\n}\n");
  CHECK(has(sum, "grid = [\"GRID_X\"]"));
  CHECK(has(sum, "block = [\"BLOCK\"]"));
  CHECK(has(sum, "n = 1024"));
  CHECK(argument(sum, "x").find("shape = [\"GRID_X\", \"n\"]") != std::string::npos);
  CHECK(argument(sum, "y").find("shape = [\"GRID_X\"]") != std::string::npos);
}

TEST_CASE("pointers into arguments count as these arguments") {
  const Drafted norm = drafted(
      "__global__ void norm(const float* x, float* y, int rows, int cols) {\n  int row = blockIdx.x;\n"
      "  if (row >= rows) return;\n  const float* in = x + row * cols;\n  float* out = y + row * cols;\n"
      "  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[i] = in[i];\n}\n");
  CHECK(argument(norm, "x").find("shape = [\"rows\", \"cols\"]") != std::string::npos);
  CHECK(argument(norm, "y").find("role = \"out\"") != std::string::npos);
  CHECK(has(norm, "grid = [\"rows\"]"));
}

TEST_CASE("template parameters become parameters, types become part of the problem") {
  const Drafted kernel = drafted(
      "namespace a {\ntemplate <typename T, int Threads, int Vec = 4, bool Fast = false, Mode M = Mode::one>\n"
      "__global__ void f(const T* x, T* y, int n) {\n  int i = blockIdx.x * Threads + threadIdx.x;\n"
      "  if (i < n) y[i] = x[i];\n}\n}\n");
  CHECK(has(kernel, "entry = \"a::f<{T}, {Threads}, {Vec}, {Fast}, static_cast<Mode>({M})>\""));
  CHECK(has(kernel, "T = \"float\""));
  CHECK(has(kernel, "Threads = { values = [64, 128, 256], compile_time = false }"));
  CHECK(has(kernel, "Vec = { values = [2, 4, 8], compile_time = false }  # 4 by default"));
  CHECK(has(kernel, "Fast = { values = [0, 1], compile_time = false }"));
  CHECK(has(kernel, "M = { values = \"?\", compile_time = false }"));
  CHECK(has(kernel, "block = [\"Threads\"]"));
  CHECK(kernel.spec.kernel.name == "f");
  CHECK(has(drafted("template <typename... Ts> __global__ void f(int n) {}"), "guess: the entry f lacks"));
}

TEST_CASE("launch bounds give the block, through macros and constants") {
  const Drafted kernel = drafted(
      "#define THREAD_COUNT (BX * BY)\nconstexpr int each = 2, tile = BX * each;\n"
      "__global__ void __launch_bounds__(THREAD_COUNT) f(float* x, int n) {\n"
      "  int i = blockIdx.x * tile + threadIdx.x;\n  if (i < n) x[i] = 0;\n}\n");
  CHECK(has(kernel, "block = [\"BX * BY\"]"));
  CHECK(has(kernel, "grid = [\"ceildiv(n, BX * 2)\"]"));
  CHECK(has(kernel, "constraints = [\"BX * BY <= 1024\"]"));
}

TEST_CASE("a block that divides may be empty, and a constraint says that it must not be") {
  const Drafted kernel = drafted(
      "constexpr int warps = TILE / 16;\n__global__ void __launch_bounds__(warps * 32) f(float* x, int n) {\n"
      "  x[threadIdx.x] = n;\n}\n");
  CHECK(has(kernel, "constraints = [\"1 <= (TILE // 16) * 32 <= 1024\"]"));
}

TEST_CASE("the block is what a block's index is multiplied by, in any order and through casts") {
  const auto launch = [](const std::string& index) {
    const Drafted kernel =
        drafted("__global__ void f(float* y, long long nx, long long ny) {\n  const long long i = " + index +
                ";\n  if (i < nx * ny) y[i] = 1;\n}\n");
    return kernel.spec.launch.grid.at(0).text + " of " + kernel.spec.launch.block.at(0).text;
  };
  CHECK(launch("static_cast<long long>(blockDim.x) * blockIdx.x + threadIdx.x") ==
        "ceildiv(nx * ny, THREADS) of THREADS");
  CHECK(launch("(blockIdx.x * TILE + 1) * WIDTH + threadIdx.x") == "ceildiv(nx * ny, TILE * WIDTH) of WIDTH");
  // Each thread may have several elements of a tile of two factors: which one is the block is asked for.
  CHECK(launch("blockIdx.x * WIDTH * TILE + threadIdx.x") == "ceildiv(nx * ny, WIDTH * TILE) of 1");
  CHECK(launch("threadIdx.x + blockIdx.x * WIDTH") == "ceildiv(nx * ny, WIDTH) of WIDTH");
}

TEST_CASE("vectors, shared memory, strides, settings and flags") {
  const Drafted kernel = drafted(
      "__global__ void f(const float4* p, __half* h, int n, int lda, unsigned seed, bool fast, float eps, int) {\n"
      "  extern __shared__ float4 tile[];\n  int i = blockIdx.x * BLOCK + threadIdx.x;\n"
      "  if (i < n) h[i] = p[i].x;\n}\n");
  CHECK(argument(kernel, "p").find("shape = [\"n\", \"4\"]") != std::string::npos);
  CHECK(argument(kernel, "h").find("dtype = \"f16\"") != std::string::npos);
  CHECK(has(kernel, "shared = \"BLOCK * 16\""));
  for (const char* unknown : {"lda", "seed", "argument_8"})
    CHECK(argument(kernel, unknown).find("value = \"?\"") != std::string::npos);
  CHECK(argument(kernel, "fast").find("value = \"false\"") != std::string::npos);
  CHECK(argument(kernel, "eps").find("value = 1.0  # guess") != std::string::npos);
}

TEST_CASE("what holds an index of another argument is filled with such indices, and its extent is asked for") {
  const Drafted kernel = drafted(
      "__global__ void gather(const int* index, const uchar* key, const float* x, float* y, int* counts, int n) {\n"
      "  int i = blockIdx.x * BLOCK + threadIdx.x, j = index[i];\n  if (i < n) y[i] = x[j];\n"
      "  if (i < n) atomicAdd(&counts[key[i]], 1);\n}\n");
  CHECK(argument(kernel, "index").find("fill = { integers = [0, \"x\"] }  # guess: x has them") != std::string::npos);
  CHECK(argument(kernel, "x").find("shape = [\"?\"]") != std::string::npos);
  CHECK(argument(kernel, "key").find("indices of counts come from it") != std::string::npos);
  CHECK(argument(kernel, "y").find("fill") == std::string::npos);
}

TEST_CASE("names of the spec never meet those of the source") {
  // N is a template parameter, and a macro of it.
  const Drafted kernel = drafted(
      "template <int N> __global__ void f(float* x, int rows) {\n  x[blockIdx.x * ROWS + threadIdx.x] = N + "
      "rows;\n}\n");
  CHECK(has(kernel, "entry = \"f<{N}>\""));
}

TEST_CASE("plain definitions are offered, and kernels without parameters stay specs") {
  CHECK(has(drafted("#define TILE 16\n__global__ void f(float* x, int n) { x[threadIdx.x * TILE] = n; }"),
            "# TILE = [8, 16, 32]  # to tune it, put #ifndef TILE and #endif around its #define on line 1"));
  CHECK(has(drafted("__global__ void f(float* x) { x[0] = 1; }"), "VARIANT = { values = [1], compile_time = false }"));
}

TEST_CASE("constants, scratch buffers and words of expressions become arguments that a spec can have") {
  const Drafted made = drafted(
      "#define TAPS 9\n__constant__ float taps[TAPS];\n__constant__ int fixed_one = 1;\n"
      "__global__ void f(const float* in, float* scratch, float* y, int n) {\n"
      "  int i = blockIdx.x * BLOCK + threadIdx.x;\n"
      "  scratch[i] = in[i] * taps[i % TAPS];\n  if (i < n) y[i] = scratch[i] + fixed_one;\n}\n");
  REQUIRE(made.spec.args.size() == 5);
  CHECK(made.spec.args[0].name == "in_");
  CHECK(made.spec.args[1].role == spec::ArgRole::inout);
  CHECK(made.spec.args[2].role == spec::ArgRole::out);
  CHECK(made.spec.args[4].kind == spec::ArgKind::constant);
  CHECK(made.spec.args[4].name == "taps");
  CHECK(made.spec.args[4].shape.at(0).text == "9");
  CHECK(made.spec.validate.reference.config.has_value());
}

TEST_CASE("an index of rows makes a square, and a definition of the source is the launch") {
  const Drafted made = drafted(
      "#define THREADS 128\n__global__ void f(const float* a, float* c, int n) {\n"
      "  int row = blockIdx.x;\n  for (int k = threadIdx.x; k < n; k += THREADS) c[row * n + k] = a[row * n + "
      "k];\n}\n");
  REQUIRE(made.spec.args.size() == 3);
  CHECK(made.spec.args[0].shape.size() == 2);
  CHECK(made.spec.launch.block.at(0).text == "128");
}

TEST_CASE("what cannot be drafted is refused with its place") {
  CHECK(refused("int main() {}") == "k.cu: no __global__ function with a body was found");
  const std::string two = "__global__ void first(int n) {}\n__global__ void second(int n) {}\n";
  CHECK(refused(two) ==
        "k.cu: several kernels were found: first (line 1), second (line 2); --entry NAME chooses one, and --entry "
        "first,second drafts [[steps]], which a configuration launches one after the other");
  CHECK(refused(two, {"secnd"}).find("(did you mean 'second'?)") != std::string::npos);
  CHECK(drafted(two, {"second"}).spec.kernel.name == "second");
  CHECK(drafted("namespace a { __global__ void f(int n) {} }\nnamespace b { __global__ void f(int n) {} }", {"b::f"})
            .draft.entry == "b::f");
  CHECK(refused("__global__ void f() {}").find("k.cu:1: f takes no arguments") == 0);
  CHECK(refused("\n__global__ void f(Params& p) {}").find("k.cu:2: argument 'p' of f has type 'Params&'") == 0);
  CHECK(refused("__global__ void f(float*** x) {}").find("has type 'float***'") != std::string::npos);
  CHECK(refused("__global__ void f(cudaTextureObject_t t) {}").find("xtune makes no textures and surfaces") !=
        std::string::npos);
  CHECK(refused("__global__ void f(texture<float, 2> t) {}").find("xtune makes no textures") != std::string::npos);
  CHECK(refused("__global__ void f(const int& n) {}").find("has type 'int&'") != std::string::npos);
  // A pointer to a structure is bytes.
  CHECK(argument(drafted("struct Body;\n__global__ void f(const Body* b, int n) { }"), "b").find("dtype = \"u8\"") !=
        std::string::npos);
}

TEST_CASE("values are drafted with their types: vectors, enums, and structs as their definition has them") {
  const std::string types =
      "typedef enum { ADD, MUL } Mode;\nenum class Op : unsigned char { a };\n"
      "typedef float real;\nusing V = float3;\n"
      "struct P { int n, *list; real w[2][3]; V o = {}; Op op; static int s; int size() const { return n; } };\n"
      "typedef struct { double d; } Q;\n";
  const Drafted all = drafted(types +
                              "__global__ void f(float* x, float4 v, Mode m, P p, Q q, float** rows) "
                              "{ x[threadIdx.x] = v.x; }");
  CHECK(argument(all, "v").find("dtype = \"f32x4\"\nvalue = \"?\"") != std::string::npos);
  CHECK(argument(all, "m").find("dtype = \"i32\"") != std::string::npos);
  CHECK(argument(all, "rows").find("kind = \"table\"\nof = [\"?\"]") != std::string::npos);
  CHECK(argument(all, "q").find("dtype = \"f64\", value = \"?\"") != std::string::npos);
  CHECK(
      has(all,
          "kind = \"struct\"\nfields = [  # fill in: values, buffers that follow; [kernel] args lists what the kernel "
          "takes itself\n"
          "  { name = \"n\", dtype = \"i32\", value = \"?\" },\n"
          "  { name = \"list\", of = \"?\" },\n"
          "  { name = \"w\", count = 6, dtype = \"f32\", value = \"?\" },\n"
          "  { name = \"o\", dtype = \"f32x3\", value = \"?\" },\n"
          "  { name = \"op\", dtype = \"u8\", value = \"?\" },\n"
          "]\n"));
  // What the definition does not show for sure is a blank.
  for (const char* unsure :
       {"struct P { virtual void f(); int n; };\n", "struct P : B { int n; };\n", "struct P { int n : 3; };\n",
        "struct P { Other o; };\n", "struct P {\n#ifdef A\nint a;\n#endif\nint b; };\n",
        "template <class T> struct P { int n; };\n", "struct P { int n[N]; };\n",
        "#pragma pack(1)\nstruct P { int n; };\n", "struct P { int n; };\nstruct P { float n; };\n"}) {
    CAPTURE(unsure);
    CHECK(has(drafted(std::string(unsure) + "__global__ void f(float* x, P p) { x[threadIdx.x] = 1; }"),
              "kind = \"struct\"\nfields = [  # fill in: the fields of P, in its order\n"));
  }
}

TEST_CASE("every draft has a space") {
  const Drafted kernel = drafted(
      "__global__ void __launch_bounds__(BX * BY) f(float* x, int w, int h) {\n"
      "  int c = blockIdx.x * BX + threadIdx.x, r = blockIdx.y * BY + threadIdx.y;\n  if (c < w && r < h) x[r * w + c] "
      "= 0;\n}\n");
  CHECK(spec::make_space(kernel.spec, kernel.spec.cases.front(), {}).size() > 0);
  CHECK(has(kernel, "grid = [\"ceildiv(w, BX)\", \"ceildiv(h, BY)\"]"));
}

TEST_CASE("any text ends in a draft or an error") {
  const std::string source =
      "#ifndef B\n#define B 16\n#endif\nnamespace a { template <typename T, int V = (1 < 2)> __global__ void\n"
      "__launch_bounds__(B * V) f(const T* __restrict__ x, float4* y, int n = 3) {\n"
      "  extern __shared__ float s[];\n  T* p = x + n * (blockIdx.x * B + threadIdx.x);\n"
      "  for (int i = threadIdx.x; i < n; i += B) y[i].x = p[i]; /* \\ */ } }\n";
  const auto ends = [](const std::string& text) {
    try {
      return !init::draft_spec({text, {}, "k.cu", {}}).text.empty();
    } catch (const Error& error) {
      return error.kind() == ErrorKind::invalid_argument;
    }
  };
  for (std::size_t i = 0; i <= source.size(); ++i) {
    CHECK(ends(source.substr(0, i)));
    CHECK(ends(source.substr(i)));
    std::string without = source;
    CHECK(ends(without.erase(i, 1)));
  }
}

TEST_CASE("definitions that name each other are followed once") {
  std::string body, macros;
  for (int i = 0; i < 60; ++i) {
    body += "  int v" + std::to_string(i) + " = 0;\n";
    macros += "#define M" + std::to_string(i) + " (";
    for (int other = 0; other < 60; ++other) {
      body += "  v" + std::to_string(i) + " += v" + std::to_string(other) + ";\n";
      macros += "M" + std::to_string(other) + " * ";
    }
    macros += "2)\n";
  }
  const Drafted kernel = drafted(macros + "__global__ void __launch_bounds__(M0) f(float* x, int n) {\n" + body +
                                 "  v59 = n;\n  x[v0] = 1;\n}\n");
  CHECK(argument(kernel, "x").find("shape = [\"?\"]") != std::string::npos);
}

TEST_CASE("tensor maps are blanks: their buffers are not in the signature") {
  const init::Draft draft = init::draft_spec(
      {"__global__ void gemm(const __grid_constant__ CUtensorMap a_map, float* y, int n) {\n  y[threadIdx.x] = n;\n}\n",
       {},
       "k.cu",
       {}});
  CHECK(draft.text.find("kind = \"tensor_map\"\nof = \"?\"  # fill in") != std::string::npos);
  CHECK(draft.blanks.size() >= 2);
}

TEST_CASE("a transpose's launch is asked for: each axis limits both sizes, and the block has fewer rows than a tile") {
  const init::Draft draft = init::draft_spec(
      {"#ifndef TILE\n#define TILE 32\n#endif\n#ifndef ROWS\n#define ROWS 8\n#endif\n"
       "__global__ void transpose(const float* in, float* out, int W, int H) {\n"
       "  __shared__ float tile[TILE][TILE + 1];\n"
       "  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;\n"
       "  for (int j = 0; j < TILE; j += ROWS)\n"
       "    if (x < W && y + j < H) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * W + x];\n  __syncthreads();\n"
       "  x = blockIdx.y * TILE + threadIdx.x;\n  y = blockIdx.x * TILE + threadIdx.y;\n"
       "  for (int j = 0; j < TILE; j += ROWS)\n"
       "    if (x < H && y + j < W) out[(y + j) * H + x] = tile[threadIdx.x][threadIdx.y + j];\n}\n",
       {},
       "k.cu",
       {}});
  CHECK(draft.text.find("grid = [\"?\", \"?\"]  # fill in") != std::string::npos);
  CHECK(draft.text.find("block = [\"?\", \"?\"]  # fill in") != std::string::npos);
  CHECK(draft.text.find("TILE = [16, 32, 64]") != std::string::npos);
  CHECK(draft.blanks.size() == 2);
  const system::TemporaryDirectory folder;
  std::ofstream(folder.path() / "k.cu") << "";
  CHECK_THROWS_WITH_AS(spec::parse_spec(draft.text, "k.toml", folder.path()),
                       doctest::Contains("'?' is a blank: fill in grid"), Error);
}

TEST_CASE("template arguments of the problem are no parameters: a product of M, N and K is not tuned to 1 by 1") {
  const Drafted gemm = drafted(
      "template <typename T, int M, int N, int K, int TILE>\n__global__ void gemm(const T* A, const T* B, T* C) {\n"
      "  __shared__ T a[TILE][TILE];\n"
      "  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;\n  T sum = 0;\n"
      "  for (int k = 0; k < K; k += TILE) sum += A[row * K + k] * B[k * N + col] + a[threadIdx.y][threadIdx.x];\n"
      "  if (row < M && col < N) C[row * N + col] = sum;\n}\n");
  CHECK(gemm.draft.parameters == std::vector<std::string>{"TILE"});
  CHECK(has(gemm, "M = 256  # guess: a template argument of the problem"));
  CHECK(has(gemm, "grid = [\"ceildiv(N, TILE)\", \"ceildiv(M, TILE)\"]"));
  CHECK(argument(gemm, "A").find("shape = [\"M\", \"K\"]") != std::string::npos);
}

TEST_CASE("several kernels become steps that share the arguments of one name") {
  const Drafted both = drafted(
      "__global__ void partial(const float* x, float* part, int n) {\n  part[blockIdx.x] = x[blockIdx.x * n + "
      "threadIdx.x];\n}\n"
      "__global__ void total(const float* part, float* y, int n) {\n"
      "  int i = blockIdx.x * BLOCK + threadIdx.x;\n  if (i < n) y[i] = part[i];\n}\n",
      {"partial", "total"});
  REQUIRE(both.spec.steps.size() == 2);
  CHECK(both.spec.args.size() == 4);
  CHECK(has(both, "args = [\"x\", \"part\", \"n\"]"));
  CHECK(has(both, "args = [\"part\", \"y\", \"n\"]"));
}

TEST_CASE("names of host code are no parameters, and a name of two types has none") {
  const Drafted kernel = drafted(
      "#define CHECK(x) if (x != SUCCESS) exit(1)\nint main() { FILE* f = fopen(\"x\", READ_MODE); "
      "CHECK(CLOCKS_PER_SEC); }\n"
      "__device__ int helper(int i) { return i * STEP; }\n"
      "__global__ void f(float* x, int n) {\n  int i = blockIdx.x * BLOCK + threadIdx.x;\n  if (i < n) x[i] = "
      "helper(i);\n}\n");
  CHECK(kernel.draft.parameters == std::vector<std::string>{"STEP", "BLOCK"});
}

TEST_CASE("what the user says replaces what the source shows") {
  const init::DraftRequest request{
      "__global__ void f(float* y, int n, int seed) {\n  y[threadIdx.x * seed % n] = T;\n}\n",
      {},
      "k.cu",
      {},
      {{"T", "[1, 2]"}},
      {{"n", "64"}, {"seed", "3"}},
      {"ceildiv(n, T)"},
      {"T"},
      {"n % T == 0"},
      {{"y", {"n"}}}};
  const init::Draft draft = init::draft_spec(request);
  INFO(draft.text);
  CHECK(draft.blanks.empty());
  for (const char* part : {"T = [1, 2]\n", "n = 64\n", "value = \"seed\"", "grid = [\"ceildiv(n, T)\"]\n",
                           "block = [\"T\"]\n", "shape = [\"n\"]", "constraints = [\"n % T == 0\"]"})
    CHECK_MESSAGE(draft.text.find(part) != std::string::npos, part);
}

TEST_CASE("an extent is written only where an index proves it") {
  const auto shape = [](const std::string& body) {
    const Drafted kernel = drafted(
        "__global__ void f(float* y, int n, int m, int ld) {\n  int i = blockIdx.x * BLOCK + "
        "threadIdx.x, j = blockIdx.y;\n  " +
        body + "\n}\n");
    const std::string text = argument(kernel, "y");
    std::string found;
    RE2::PartialMatch(text, "shape = \\[([^\\]]*)\\]", &found);
    return found;
  };
  CHECK(shape("if (i < n && j < m) y[j * n + i] = 1;") == R"("m", "n")");
  CHECK(shape("if (i < n * m) y[i / m] = y[i % m];") == R"("?")");
  CHECK(shape("if (i < n * m) y[i / m] = 1;") == R"("n")");
  CHECK(shape("if (i > 0 && i < n - 1) y[i] = y[i - 1] + y[i + 1];") == R"("n")");
  CHECK(shape("if (i < n) y[i] = y[i + 1];") == R"("?")");
  CHECK(shape("if (i < n && j < m) y[j * ld + i] = 1;") == R"("?")");
  CHECK(shape("if (i < n) for (int k = 0; k < 3; ++k) y[i * 3 + k] = 1;") == R"("n", "3")");
  CHECK(shape("if (i < n) y[i * 4 + 3] = 1;") == R"("n", "4")");
  CHECK(shape("if (i == 0) y[i] = 1;") == R"("?")");
  CHECK(shape("float* row = &y[j * n]; if (i < n && j < m) { *(row + i) = 1; }") == R"("m", "n")");
  CHECK(shape("if (i < n) y[i ^ m] = 1;") == R"("?")");
}

TEST_CASE("a type that the source leaves open is asked for, and an enumeration is an integer") {
  const Drafted kernel = drafted(
      "#ifdef DP\ntypedef double real;\n#else\ntypedef float real;\n#endif\nenum Mode { a, b };\n"
      "__global__ void f(real* y, real factor, Mode mode, int n) {\n"
      "  int i = blockIdx.x * BLOCK + threadIdx.x;\n  if (i < n) y[i] = factor;\n}\n");
  CHECK(argument(kernel, "factor").find("dtype = \"?\"") != std::string::npos);
  CHECK(argument(kernel, "y").find("shape = [\"n\"]") != std::string::npos);
  CHECK(argument(kernel, "mode").find("dtype = \"i32\"") != std::string::npos);
}

namespace {

/// As `init --steps` drafts it.
Drafted launched(const std::string& source, const std::string& wrapper = {}) {
  const system::TemporaryDirectory folder;
  std::ofstream(folder.path() / "k.cu") << source;
  init::DraftRequest request{source, {}, "k.cu", {}};
  request.launched_steps = wrapper.empty();
  request.wrapper = wrapper;
  init::Draft draft = init::draft_spec(request);
  if (!wrapper.empty()) std::ofstream(folder.path() / wrapper) << draft.wrapper;
  INFO(draft.text);
  spec::Spec spec = spec::parse_spec(filled(draft.text), "k.toml", folder.path());
  return {std::move(draft), std::move(spec)};
}

const std::string scale_kernel =
    "__global__ void scale(const float* in, float* out, float by, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = by * in[i];\n}\n";

}  // namespace

TEST_CASE("a launch shows grid, block, sizes and values, each with its line") {
  const Drafted draft =
      drafted("#define DIV_UP(a, b) (((a) + (b) - 1) / (b))\n" + scale_kernel +
              "void run(float* p, float* q) {\n  const int count = 1 << 12, threads = 128;\n  const float by = 2.5f;\n"
              "  dim3 grid(DIV_UP(count, threads)), block(threads);\n  scale<<<grid, block>>>(p, q, by, count);\n}\n");
  CHECK(has(draft, "n = 4096  # guess: from the launch on line 10"));
  CHECK(has(draft, "grid = [\"ceildiv(n, THREADS)\"]  # guess: from the launch on line 10"));
  CHECK(has(draft, "THREADS = { values = [64, 128, 256], compile_time = false }  # guess: threads of a block; 128"));
  CHECK(argument(draft, "by").find("value = 2.5  # guess: from the launch on line 10") != std::string::npos);
}

TEST_CASE("a grid that is written for one block is not taken for others, nor a name of unknown value") {
  const std::string transpose =
      "__global__ void tr(const float* in, float* out, int w, int h) {\n"
      "  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;\n"
      "  if (x < w && y < h) out[x * h + y] = in[y * w + x];\n}\n";
  CHECK(has(drafted(transpose + "void run(float* a, float* b, int w, int h) {\n  dim3 block(16, 16);\n"
                                "  tr<<<dim3((w + 15) / 16, (h + 15) / 16), block>>>(a, b, w, h);\n}\n"),
            "grid = [\"ceildiv(w, THREADS_X)\", \"ceildiv(h, THREADS_Y)\"]"));
  for (const char* threads : {"const int s = 16;", "int s = atoi(argument);"})
    CHECK(has(drafted(transpose + "void run(float* a, float* b, int w, int h) {\n  " + threads +
                      " tr<<<dim3((w + s - 1) / s, (h + s - 1) / s), dim3(s, s)>>>(a, b, w, h);\n}\n"),
              "grid = [\"ceildiv(w, THREADS_X)\", \"ceildiv(h, THREADS_Y)\"]"));
  const std::string rows = "__global__ void rows(float* x) { x[blockIdx.x * 8 + threadIdx.x] = 1; }\n";
  for (const char* code :
       {"int g = blocks_of(n); rows<<<g, 64>>>(p);", "int g = 4; if (n > 9) g = 8; rows<<<g, 64>>>(p);",
        "int g = 4; ask(&g); rows<<<g, 64>>>(p);", "dim3 g(1); if (n > 9) g.x = n; rows<<<g, 64>>>(p);",
        "int g = 64; g >>= 2; rows<<<g, 64>>>(p);"}) {
    CAPTURE(code);
    CHECK(has(drafted(rows + "void run(float* p, int n) { " + code + " }\n"),
              "grid = [\"?\"]  # fill in: blocks; line 2"));
  }
}

TEST_CASE("forms of a grid that host code has") {
  const auto grid = [](const std::string& code) {
    const std::string text = drafted("static int up(int a, int b) { return (a + b - 1) / b; }\n" + scale_kernel +
                                     "void run(float* p, float* q, int n, Sizes s) {\n  " + code + "\n}\n")
                                 .draft.text;
    const std::size_t at = text.find("grid = [");
    return text.substr(at + 8, text.find(']', at) - at - 8);
  };
  CHECK(grid("scale<<<(n + 255) / 256, 256>>>(p, q, 1, n);") == "\"ceildiv(n, THREADS)\"");
  CHECK(grid("scale<<<up(n, 256), 256, 0, 0>>>(p, q, 1, n);") == "\"ceildiv(n, THREADS)\"");
  CHECK(grid("scale<<<ceil((float)n / 256), 256>>>(p, q, 1, n);") == "\"ceildiv(n, THREADS)\"");
  CHECK(grid("int b = 64; int g = (n - 1 + b) / b; scale<<<dim3(g, 1, 1), dim3(b)>>>(p, q, 1, n);") ==
        "\"ceildiv(n, THREADS)\"");
  CHECK(grid("hipLaunchKernelGGL(scale, dim3(up(n, 64)), dim3(64), 0, 0, p, q, 1, n);") == "\"ceildiv(n, THREADS)\"");
  CHECK(grid("float by = 1; void* args[] = {&p, &q, &by, &n};\n"
             "cudaLaunchKernel((void*)scale, dim3(up(n, 64)), dim3(64), args, 0, 0);") == "\"ceildiv(n, THREADS)\"");
  CHECK(grid("scale<<<std::min(n / 8, 64), 64>>>(p, q, 1, n);") == "\"min(n // 8, 64)\"");
  CHECK(grid("scale<<<n / s.rows / s.columns, 64>>>(p, q, 1, n);") == "\"?\"");
}

TEST_CASE("what a launch has and cannot be read is a blank, which shows it") {
  const Drafted draft = drafted(
      "__global__ void k(float* x, int n) { x[blockIdx.x * n + threadIdx.x] += 1; }\n"
      "void run(float* x, int n, Sizes s) { k<<<s.rows, s.columns>>>(x, n); }\n");
  CHECK(has(draft, "grid = [\"?\"]  # fill in: blocks; line 2 has s.rows"));
  CHECK(has(draft, "block = [\"?\"]  # fill in: line 2 has s.columns"));
}

TEST_CASE("beside a launch, a grid or block that is not read is a blank, whatever the index shows") {
  const std::string kernel =
      "__global__ void k(float* x, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;\n"
      "  if (i < n) x[j * n + i] = j;\n}\n";
  const auto of = [&](const std::string& file, const std::string& code) {
    return drafted(kernel + file + "\nvoid run(float* x, int n, int blocks, dim3 d, P p) { " + code + " }\n");
  };
  const std::pair<const char*, const char*> unread[] = {
      {"", "dim3 g(n / 64, 7); g.y *= 2; k<<<g, 64>>>(x, n);"},
      {"", "dim3 g(n / 64, 7); if (n > 9) g.y = 2; k<<<g, 64>>>(x, n);"},
      {"", "dim3 g; (&g)->x = n / 64; k<<<g, 64>>>(x, n);"},
      {"", "dim3 g(n / 64, 7); std::swap(g.x, g.y); k<<<g, 64>>>(x, n);"},
      {"void fix(dim3& g) { g.y = 3; }", "dim3 g(n / 64, 7); fix(g); k<<<g, 64>>>(x, n);"},
      {"dim3 make(int n) { return dim3(n / 64, 5); }", "k<<<make(n), 64>>>(x, n);"},
      {"", "k<<<ceil(n / 128), 128>>>(x, n);"},
      {"", "k<<<blocks, 64>>>(x, n);"},
      {"", "k<<<d, 64>>>(x, n);"},
      {"", "k<<<p.g, 64>>>(x, n);"},
      {"", "k<<<dim3(p.g, 1), 64>>>(x, n);"},
      {"", "int g = n / 64; n *= 2; k<<<g, 64>>>(x, n);"},
      {"#define LAUNCH(K, G) K<<<(G) * 2, 64>>>(x, n)", "LAUNCH(k, n / 64);"},
  };
  for (const auto& [file, code] : unread) {
    CAPTURE(code);
    CHECK(has(of(file, code), "grid = [\"?\", \"?\"]  # fill in: blocks; line "));
  }
  CHECK(has(of("", "k<<<d, 64>>>(x, n);"), "has d\n"));
  for (const char* code : {"dim3 g(n / 64, 7); k<<<g, 64>>>(x, n);", "dim3 g(n / 64, 7); k<<<dim3(g), 64>>>(x, n);",
                           "dim3 g; g = dim3(n / 64, 7); k<<<g, 64>>>(x, n);"}) {
    CAPTURE(code);
    CHECK(has(of("", code), "grid = [\"ceildiv(n, THREADS)\", \"7\"]"));
  }
  CHECK(has(of("", "dim3 b(64), g; g.x = (n + b.x - 1) / b.x; g.y = 7; k<<<g, b>>>(x, n);"),
            "grid = [\"ceildiv(n, THREADS)\", \"7\"]"));
  CHECK(has(of("", "k<<<(p.n + 63) / 64, 64>>>(x, p.n);"), "grid = [\"ceildiv(n, THREADS)\"]"));
  CHECK(has(of("", "const int m = p.n; k<<<(m + 63) / 64, 64>>>(x, m);"), "grid = [\"ceildiv(n, THREADS)\"]"));
  // What is read is taken, also where the index shows other blocks.
  CHECK(has(of("int ceil_div(int a, int b) { return 4 * (a / b); }", "k<<<ceil_div(n, 64), 64>>>(x, n);"),
            "grid = [\"4 * ((n) // (64))\"]"));
  CHECK(has(of("#define CEIL(a, b) ((a) / (b) + 1)", "k<<<CEIL(n, 64), 64>>>(x, n);"),
            "grid = [\"((n)) // ((64)) + 1\"]"));
  for (const char* code : {"k<<<1, d>>>(x, n);", "dim3 b(64, 2); b.y *= 2; k<<<1, b>>>(x, n);",
                           "dim3 b; b = dim3(n); b.x *= 2; k<<<1, b>>>(x, n);", "k<<<1, p.b>>>(x, n);"}) {
    CAPTURE(code);
    const Drafted draft = of("", code);
    CHECK(has(draft, "block = [\"?\"]  # fill in: line 6 has "));
    CHECK_FALSE(has(draft, "THREADS"));
  }
}

TEST_CASE("steps are the launches of main, where other functions launch as many kernels, and these are named") {
  const Drafted draft = launched(scale_kernel +
                                 "void go(float* p, float* q, int n) { scale<<<1, 32>>>(p, q, 1, n); }\n"
                                 "int main() { scale<<<1, 64>>>(p, q, 1, n); scale<<<1, 64>>>(q, p, 1, n); }\n");
  CHECK(draft.spec.steps.size() == 2);
  CHECK(has(draft, "# guess: the steps are the launches of main; other launches are in go (line 5)"));
}

TEST_CASE("a loop that passes other buffers in each round is not drafted as the same launch") {
  for (const char* code :
       {"scale<<<1, 64>>>(p, q, 1, n); std::swap(p, q);", "scale<<<1, 64>>>(p, q, 1, n); t = p; p = q; q = t;",
        "scale<<<1, 64>>>(b[i % 2], b[1 - i % 2], 1, n);", "scale<<<1, 64>>>(p + i, q, 1, n);"}) {
    CAPTURE(code);
    const Drafted draft = launched(scale_kernel + "void run(float* p, float* q, float** b, float* t, int n) {\n" +
                                   "  for (int i = 0; i < 10; ++i) { " + code + " }\n}\n");
    CHECK_FALSE(has(draft, "repeat"));
    CHECK(has(draft, "guess: the first round of the loop on line 6; each has other buffers (line 6)"));
  }
}

TEST_CASE("what happens between two steps and no step does is said at the step") {
  const Drafted draft = launched(
      scale_kernel +
      "__global__ void add(float* y, int n) { y[threadIdx.x] += n; }\n"
      "void more(float* y, int n) { add<<<1, 64>>>(y, n); }\nvoid by_more(float* y, int n) { more(y, n); }\n"
      "void run(float* p, float* q, float* h, int n) {\n"
      "  cudaMemcpy(q, h, n * 4, cudaMemcpyHostToDevice);\n  scale<<<1, 64>>>(p, q, 1, n);\n"
      "  cudaMemcpy(p, q, n * 4, cudaMemcpyDeviceToDevice);\n  cudaMemcpy(h, q, n * 4, cudaMemcpyDeviceToHost);\n"
      "  by_more(q, n);\n  unseen<<<1, 64>>>(q);\n"
      "  for (int i = 0; i < 4; ++i) {\n    hipMemset(q, 0, n * 4);\n    add<<<1, 64>>>(q, i);\n  }\n"
      "  by_more(p, n);\n}\n");
  CHECK(draft.spec.steps.size() == 2);
  const std::string& text = draft.draft.text;
  const std::size_t first = text.find("entry = \"scale\""), second = text.find("entry = \"add\"");
  REQUIRE(first < second);
  for (const char* note : {"before it, line 11 has cudaMemcpy(p,q,n*4,cudaMemcpyDeviceToDevice), which no step does",
                           "before it, line 13 has by_more(q,n), which", "before it, line 14 has unseen<<<1,64>>>(q),",
                           "before it, line 16 has hipMemset(q,0,n*4),", "behind it, line 19 has by_more(p,n),"}) {
    CAPTURE(note);
    CHECK(text.find("\n# guess: " + std::string(note), second) != std::string::npos);
  }
  for (const char* other : {"ToHost", "line 9 has"}) CHECK(text.find(other) == std::string::npos);
}

TEST_CASE("a loop whose rounds differ is not drafted as a repeat, and its steps say so") {
  const auto loop = [](const std::string& code) {
    return launched(scale_kernel + "__global__ void add(float* y, int n) { y[threadIdx.x] += n; }\n" +
                    "void run(float* p, float* q, int n) {\n  for (int i = 0; i < 9; ++i) {\n    " + code +
                    "\n  }\n}\n");
  };
  CHECK(has(loop("scale<<<1, 64>>>(p, q, 1, i);\n    add<<<1, 64>>>(q, n);"), "repeat = { i = \"9\" }"));
  for (const char* code :
       {"if (i % 2) continue;", "if (i == 3) return;", "if (done()) break;", "i += 2;", "++i;", "i <<= 1;"}) {
    CAPTURE(code);
    const Drafted draft = loop(std::string(code) + "\n    scale<<<1, 64>>>(p, q, 1, n);");
    CHECK_FALSE(has(draft, "repeat ="));
    CHECK(has(draft, "# guess: the first round of the loop on line 7, whose rounds differ (line 8)"));
  }
  const Drafted choice = loop("if (i % 2) {\n scale<<<1, 64>>>(p, q, 1, n); }\n    add<<<1, 64>>>(q, n);");
  CHECK_FALSE(has(choice, "repeat ="));
  CHECK(has(choice,
            "entry = \"scale\"  # guess: the first round of the loop on line 7, whose rounds differ (line 8); "
            "only where the condition on line 8 says so"));
  CHECK(has(choice, "entry = \"add\"  # guess: the first round of the loop on line 7, whose rounds differ (line 8)\n"));
  const Drafted nested = loop("for (int j = 0; j < n; ++j) scale<<<1, 64>>>(p, q, 1, j);");
  CHECK(has(nested, "repeat = { j = \"n\" }"));
  CHECK(has(nested, "# guess: the first round of the loop on line 7; the loop on line 8 repeats it"));
}

TEST_CASE("the configuration that the source itself has is the default, and counts as right") {
  const Drafted draft = drafted(
      "#ifndef UNROLL\n#define UNROLL 4\n#endif\n"
      "template <int W> __global__ void f(float* y, int n) {\n"
      "  __shared__ float s[W];\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) y[i] = s[0] * UNROLL;\n}\n"
      "void run(float* y, int n) { f<32><<<(n + 255) / 256, 256>>>(y, n); }\n");
  CHECK(has(draft, "reference = { config = { UNROLL = 4, W = 32, THREADS = 256 } }"));
  CHECK(has(draft, "[dispatch]\ndefault = { UNROLL = 4, W = 32, THREADS = 256 }"));
  CHECK(has(draft, "THREADS = { values = [128, 256, 512], compile_time = false }"));
  CHECK_FALSE(has(drafted("__global__ void f(float* y, int n) {\n  y[blockIdx.x * BLOCK + threadIdx.x] = n;\n}\n"),
                  "[dispatch]"));
  const auto shifted = [](const std::string& change) {
    return drafted(
        "__global__ void f(float* y, int n) {\n  y[blockIdx.x * blockDim.x + threadIdx.x] = n;\n}\n"
        "void run(float* y, int n) {\n  int b = 64;\n  " +
        change + "\n  f<<<(n + b - 1) / b, b>>>(y, n);\n}\n");
  };
  CHECK(has(shifted(""), "[dispatch]\ndefault = { THREADS = 64 }"));
  for (const char* change : {"b <<= 1;", "b >>= 1;", "b *= 2;"}) CHECK_FALSE(has(shifted(change), "[dispatch]"));
}

TEST_CASE("a number that may have another value at the launch is none: loops, branches, references") {
  const auto launch = [](const std::string& file, const std::string& code) {
    return drafted("__global__ void rows(float* x) { x[blockIdx.x * 8 + threadIdx.x] = 1; }\n" + file +
                   "\nvoid run(float* p, int n, char* s) {\n" + code + "\n}\n");
  };
  const auto is_known = [&](const std::string& file, const std::string& code) {
    return has(launch(file, code), "grid = [\"64\"]");
  };
  const std::string call = "rows<<<g, 64>>>(p);";
  const std::pair<std::string, std::string> known[] = {
      {"", "int g = 64; " + call + " g = 5;"},
      {"", "for (int i = 0; i < 4; ++i) { int g = 64; " + call + " g /= 2; }"},
      {"", "{ int g = 32; } int g = 64; " + call},
      {"int get(int b); int get2(const int& b);", "int g = 64; get(g); get2(g); log(g); int z = n >> g; " + call},
      {"#define CHECK(e) do { auto r = e; } while (0)", "int g = 64; CHECK(get(g)); " + call},
      {"namespace { constexpr int g = 64; }", call},
      {"struct A { static constexpr int g = 5; }; auto f() -> int { const int g = 3; return g; }\nconst int g = 64;",
       call},
  };
  for (const auto& [file, code] : known) {
    CAPTURE(code);
    CHECK(is_known(file, code));
  }
  const std::pair<std::string, std::string> unknown[] = {
      {"", "int g = 64; for (int i = 0; i < 4; ++i) { " + call + " g /= 2; }"},
      {"", "int g = 64; while (g > 1) { " + call + " g = (g + 1) / 2; }"},
      {"", "int g = 64; do { " + call + " } while (g /= 2);"},
      {"", "for (int g = 64; g > 1;) { " + call + " g /= 2; }"},
      {"", "\n#ifdef A\nint g = 64;\n#else\nint g = 32;\n#endif\n" + call},
      {"", "int g = 64;\n#ifdef A\n#else\ng = 32;\n#endif\n" + call},
      {"#ifdef A\nconst int g = 64;\n#else\nconst int g = 32;\n#endif", call},
      {"#ifdef A\n#define G(a) 64\n#else\n#define G(a) 32\n#endif", "int g = G(1); " + call},
      {"void get(int& b) { b = 5; }", "int g = 64; get(g); " + call},
      {"void get(int n, int& b);", "int g = 64; get(1, g); " + call},
      {"#define SET(a) a = 5", "int g = 64; SET(g); " + call},
      {"", "int g = 64; auto set = [](int& v) { v = 5; }; set(g); " + call},
      {"", "int g = 64; ask((void**)&g); " + call},
      {"", "int g = 64; std::swap(g, n); " + call},
      {"", "int g = 64; std::cin >> n >> g; " + call},
      {"", "int g = 64; if (in >> g) " + call},
      {"", "int g = 64; std::from_chars(s, s, g); " + call},
      {"", "int g = 64; int& other = g; other = 5; " + call},
  };
  for (const auto& [file, code] : unknown) {
    CAPTURE(file);
    CAPTURE(code);
    const Drafted draft = launch(file, code);
    CHECK_FALSE(has(draft, "grid = [\"64\"]"));
    CHECK_FALSE(has(draft, "= 64 "));
  }
}

TEST_CASE("an argument of a function is not a constant of its name elsewhere") {
  for (const char* other : {"struct Config { static constexpr int n = 256; };", "constexpr int n = 256;",
                            "auto other() -> int { static constexpr int n = 256; return n; }"}) {
    CAPTURE(other);
    CHECK_FALSE(has(drafted(scale_kernel + other +
                            "\nvoid run(float* p, float* q, int n) { scale<<<(n + 127) / 128, 128>>>(p, q, 1, n); }\n"),
                    "256  # guess"));
  }
}

TEST_CASE("a launch in a branch of #if gives no default, and both branches are steps") {
  const std::string source = scale_kernel +
                             "void run(float* p, float* q, int n) {\n#ifdef SMALL\n"
                             "  scale<<<(n + 63) / 64, 64>>>(p, q, 1, n);\n#else\n"
                             "  scale<<<(n + 511) / 512, 512>>>(p, q, 1, n);\n#endif\n}\n";
  CHECK(has(drafted(source), "[launch]  # guess: only where the condition on line 6 says so"));
  CHECK_FALSE(has(drafted(source), "[dispatch]"));
  CHECK(launched(source).spec.steps.size() == 2);
}

TEST_CASE("steps say what happens between them: other buffers, libraries, and launches of other forms") {
  const auto steps = [](const std::string& code) {
    return launched(scale_kernel +
                    "#define AGAIN(k) k<<<1, 64>>>(p, q, 1, n)\nvoid run(float* p, float* q, int n) {\n" +
                    "  scale<<<1, 64>>>(p, q, 1, n);\n" + code + "\n  scale<<<1, 64>>>(p, q, 1, n);\n}\n");
  };
  for (const char* code :
       {"std::swap(p, q);", "p = q;", "n /= 2;", "cudaLaunchKernelEx(&config, scale, p, q, 1.0f, n);",
        "cudaLaunchKernelExC(&config, (void*)scale, args);", "(n > 3 ? scale : scale2)<<<1, 64>>>(p, q, 1, n);",
        "cublasSscal(handle, n, &alpha, p, 1);", "thrust::fill(thrust::device, p, p + n, 3.0f);",
        "cub::DeviceReduce::Sum(d, bytes, p, q, n);", "AGAIN(scale);"}) {
    CAPTURE(code);
    std::string shown;
    for (const char c : std::string(code))
      if (c != ' ' && c != ';') shown += c;
    CHECK(has(steps(code), "# guess: before it, line 8 has " + shown.substr(0, 57)));
  }
  CHECK_FALSE(
      has(steps("float* t = p; cudaMalloc(&q, n); cublasCreate(&handle); thrust::raw_pointer_cast(p);"), "before it"));
  const Drafted lambda = steps("auto go = [&](int k) { scale<<<1, 64>>>(q, p, 1, k); };\n  go(1);");
  CHECK(has(lambda, "# guess: in a lambda (line 8), which runs where it is called"));
  CHECK(has(lambda, "# guess: before it, line 9 has go(1), which no step does"));
  CHECK(has(steps("n > 1 ? scale<<<1, 64>>>(p, q, 2, n) : scale<<<2, 64>>>(p, q, 2, n);"),
            "# guess: only where the condition on line 8 says so"));
  CHECK(has(steps("scale<<<1, 64>>>(p + n, q, 1, n);"), "; host code passes p+n, a part of what in_ is"));
  const Drafted halved = steps("for (int i = 0; i < 5; ++i) { scale<<<n, 64>>>(p, q, 1, i); n /= 2; }");
  CHECK(has(halved, "# guess: the first round of the loop on line 8, whose rounds differ (line 8)"));
}

TEST_CASE("a block that differs from the kernel's own value for it is a blank, and the value stays") {
  const std::string body =
      " __global__ void f(float* x, int n) {\n  __shared__ float s[T];\n"
      "  int i = blockIdx.x * T + threadIdx.x;\n  s[threadIdx.x] = 1;\n  if (i < n) x[i] += s[threadIdx.x];\n}\n";
  for (const std::string& source :
       {"template <int T>" + body + "void run(float* x, int n) { f<256><<<(n + 255) / 256, 128>>>(x, n); }\n",
        "#ifndef T\n#define T 256\n#endif\n" + body +
            "void run(float* x, int n) { f<<<(n + 255) / 256, 128>>>(x, n); }\n"}) {
    const Drafted draft = drafted(source);
    CHECK(has(draft, "block = [\"?\"]  # fill in: line "));
    CHECK(has(draft, "default = { T = 256 }"));
  }
}

TEST_CASE("numbers of a launch become what C++ makes of them") {
  const auto value = [](const std::string& type, const std::string& passed) {
    const std::string text = argument(drafted("__global__ void f(float* y, " + type +
                                              " v) { y[threadIdx.x] = v; }\n"
                                              "void run(float* y) { f<<<1, 64>>>(y, " +
                                              passed + "); }\n"),
                                      "v");
    std::string found;
    RE2::PartialMatch(text, "value = (.*)  # guess: from the launch on line 2", &found);
    return found;
  };
  CHECK(value("int", "3.7") == "3");
  CHECK(value("int", "-3.7f") == "-3");
  CHECK(value("int", "1e3") == "1000");
  CHECK(value("int", "7 / 2") == "3");
  CHECK(value("int", "true") == "1");
  CHECK(value("float", "3.7f") == "3.7");
  CHECK(value("float", "1e3") == "1000.0");
  CHECK(value("float", "1.e-5f") == "1e-05");
  CHECK(value("float", ".5f") == "0.5");
  CHECK(value("bool", "2") == "\"true\"");
  CHECK(value("float", "7 / 2") == "3");
  CHECK(value("short", "(1 - 8) / 2 + 9") == "6");
  CHECK(value("long long", "1 << 30") == "1073741824");
  for (const char* overflow : {"1 << 31", "65536 * 65536", "2147483647 + 1"})
    CHECK(value("long long", overflow).empty());
  CHECK(value("unsigned char", "255") == "255");
  for (const char* other : {"300", "-1", "300.0"}) CHECK(value("unsigned char", other).empty());
  CHECK(value("float", "1.0f / 3").empty());
}

TEST_CASE("constants and macros of host code are numbers where the file defines them once") {
  const auto launch = [](const std::string& definitions) {
    return drafted(
        scale_kernel + definitions +
        "void run(float* p, float* q) { scale<<<(COUNT + THREADS_PER - 1) / THREADS_PER, THREADS_PER>>>(p, q, "
        "1, COUNT); }\n");
  };
  for (const char* definitions : {"constexpr int COUNT = 4096, THREADS_PER = 256;\n",
                                  "#define COUNT (4 << 10)\nstatic const int THREADS_PER = 256;\n"}) {
    CAPTURE(definitions);
    const Drafted draft = launch(definitions);
    CHECK(has(draft, "n = 4096  # guess: from the launch"));
    CHECK(has(draft, "THREADS = { values = [128, 256, 512], compile_time = false }  # guess: threads of a block; 256"));
    CHECK(has(draft, "grid = [\"ceildiv(n, THREADS)\"]"));
  }
  const std::string hidden =
      "#define LOOP(i, n) for (int i = threadIdx.x; i < n; i += blockDim.x)\n"
      "__global__ void f(float* x, int n) { LOOP(i, n) x[i] = 1; }\nconst int PER_BLOCK = 512;\n";
  const Drafted block = drafted(hidden + "void run(float* p, int n) { f<<<1, PER_BLOCK>>>(p, n); }\n");
  CHECK(
      has(block, "PER_BLOCK = { values = [256, 512, 1024], compile_time = false }  # guess: threads of a block; 512"));
  CHECK(has(block, "block = [\"PER_BLOCK\"]"));
  const std::string rows = "__global__ void rows(float* x) { x[blockIdx.x * 8 + threadIdx.x] = 1; }\n";
  const Drafted several = drafted(rows +
                                  "#ifdef BIG\n#define BLOCKS 64\n#else\n#define BLOCKS 32\n#endif\n"
                                  "void run(float* p) { rows<<<BLOCKS, BLOCKS>>>(p); }\n");
  CHECK(has(several, "grid = [\"?\"]  # fill in: blocks; line 7 has BLOCKS\n"));
  CHECK_FALSE(has(several, "BLOCKS ="));
}

TEST_CASE("a file whose kernels are in an included one names it") {
  const init::DraftRequest request{"#include \"kernels.cuh\"\nint main() {}\n",
                                   {{"/p/kernels.cuh", scale_kernel}, {"/p/types.h", "using T = float;\n"}},
                                   "k.cu",
                                   {}};
  CHECK_THROWS_WITH_AS(
      init::draft_spec(request),
      "k.cu: no __global__ function with a body was found; /p/kernels.cuh, which it includes, has scale "
      "(line 1): name that file",
      Error);
}

TEST_CASE("launches of host code become steps: buffers by their variables, scratch between, loops") {
  const Drafted draft = launched(
      scale_kernel +
      "__global__ void add(const float* x, float* y, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = x[i] + 1;\n}\n"
      "__global__ void shift(float* y, int k, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i + k < n) y[i] += y[i + k];\n}\n"
      "int main() {\n  int n = size(), rounds = 4, b = 256;\n  float *d_in, *d_tmp, *d_out;\n"
      "  cudaMalloc(&d_in, n * sizeof(float));\n  cudaMalloc(&d_tmp, n * sizeof(float));\n"
      "  cudaMalloc((void**)&d_out, n * sizeof(float));\n  cudaMemcpy(d_in, h, n * 4, cudaMemcpyHostToDevice);\n"
      "  scale<<<(n + b - 1) / b, b>>>(d_in, d_tmp, 2.0f, n);\n  add<<<(n + b - 1) / b, b>>>(d_tmp, d_out, n);\n"
      "  for (int k = 1; k < rounds; ++k) shift<<<(n + b - 1) / b, b>>>(d_out, k, n);\n"
      "  cudaMemcpy(h, d_out, n * 4, cudaMemcpyDeviceToHost);\n}\n");
  REQUIRE(draft.spec.steps.size() == 3);
  CHECK(has(draft, "args = [\"in_\", \"out\", \"by\", \"n\"]"));
  CHECK(has(draft, "args = [\"out\", \"y\", \"n\"]"));
  CHECK(argument(draft, "out").find("role = \"scratch\"") != std::string::npos);
  CHECK(argument(draft, "y").find("role = \"out\"") != std::string::npos);
  CHECK(has(draft, "repeat = { k = \"4 - 1\" }"));
  CHECK(has(draft, "with = { k = \"k + 1\" }"));
  CHECK(draft.draft.parameters == std::vector<std::string>{"THREADS"});
}

TEST_CASE("a timing loop is one round, and its warm-up none; the list of kernels names --steps") {
  const std::string two = scale_kernel + "__global__ void add(float* y, int n) { y[threadIdx.x] += n; }\n";
  const std::string main =
      "int main() {\n  int n = size();\n  scale<<<1, 64>>>(p, q, 1.0f, n);\n"
      "  for (int i = 0; i < repeat; i++) { scale<<<1, 64>>>(p, q, 1.0f, n); add<<<1, 64>>>(q, n); }\n}\n";
  const Drafted draft = launched(two + main);
  CHECK(draft.spec.steps.size() == 2);
  CHECK(has(draft, "entry = \"scale\"  # guess: one round of the loop on line 9, which does the same repeat times"));
  CHECK_FALSE(has(draft, "repeat ="));
  CHECK(refused(two + main).find("--steps drafts the launches of main (lines 9, 9) as [[steps]], which") !=
        std::string::npos);
  CHECK_THROWS_AS(launched(two), Error);
}

TEST_CASE("a functor needs a wrapper, which makes it as the launch does") {
  const std::string kernel =
      "struct Scale { float by; __device__ float operator()(float v) const { return v * by; } };\n"
      "template <class F> __global__ void apply(F f, float* x, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) x[i] = f(x[i]);\n}\n";
  const std::string message = refused(kernel);
  CHECK(message.find("k.cu:2: argument 'f' of apply is a functor") != std::string::npos);
  CHECK(message.find("init --wrap") != std::string::npos);
  const Drafted unknown = launched(kernel, "w.cu");
  CHECK(unknown.draft.wrapper.find("auto f = Scale{};  // guess: no launch shows it") != std::string::npos);
  CHECK(has(unknown, "source = \"w.cu\""));
  const Drafted made = launched(
      kernel + "void run(float* x, int n) {\n  float by = 2.0f;\n  apply<<<n / 64, 64>>>(Scale{by}, x, n);\n}\n",
      "w.cu");
  CHECK(has(made, "entry = \"apply_wrapped\""));
  CHECK(argument(made, "x").find("shape = [\"n\"]") != std::string::npos);
  const std::string& text = made.draft.wrapper;
  CHECK(text.find("#include \"k.cu\"\n") != std::string::npos);
  CHECK(text.find("__global__ void apply_wrapped(float*x, int n) {\n  const float by = 2.0f;\n"
                  "  auto f = Scale{by};  // as on line 8\n  apply<decltype(f)>(f, x, n);\n}\n") != std::string::npos);
  CHECK_THROWS_AS(launched(scale_kernel, "w.cu"), Error);
}

TEST_CASE("a capture with the name of an argument is that argument, or an error") {
  const std::string kernel =
      "template <class F> __global__ void apply(F f, float* x, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) x[i] = f(x[i]);\n}\n";
  const auto wrapped = [&](const std::string& passed) {
    return launched(kernel +
                        "void run(float* x, int n, int m) {\n  apply<<<n / 64, 64>>>([=] __device__ (float v) { "
                        "return v * n; }, x, " +
                        passed + ");\n}\n",
                    "w.cu");
  };
  CHECK(wrapped("n").draft.wrapper.find("void apply_wrapped(float*x, int n) {") != std::string::npos);
  CHECK_THROWS_WITH_AS(wrapped("m"),
                       "the functor has 'n' of host code (line 6), and the kernel has an argument of that name with "
                       "another value: rename one",
                       Error);
}

TEST_CASE("captures of a lambda are arguments of its wrapper") {
  const Drafted draft = launched(
      "template <typename F, int B> __global__ void __launch_bounds__(B) each(int n, const F f) {\n"
      "  int i = blockIdx.x * B + threadIdx.x;\n  if (i < n) f(i);\n}\n"
      "void run(int n) {\n  float *x, *y;\n  cudaMalloc(&x, n * sizeof(float));\n  cudaMalloc(&y, n * sizeof(float));\n"
      "  auto body = [=] __device__ (int i) { y[i] = x[i]; };\n"
      "  each<decltype(body), 256><<<(n + 255) / 256, 256>>>(n, body);\n}\n",
      "w.cu");
  CHECK(has(draft, "entry = \"each_wrapped<{B}>\""));
  CHECK(draft.draft.wrapper.find("template <int B>\n__global__ void __launch_bounds__(B) each_wrapped(int n, float* y, "
                                 "float* x) {\n  auto f = [=] (int i) { y[i] = x[i]; };") != std::string::npos);
  CHECK(draft.spec.args.size() == 3);
}

TEST_CASE("a block whose index goes on by a constant is that constant, and a tile of several elements a blank") {
  const auto block = [](const std::string& body) {
    const std::string text =
        drafted("#define WIDTH 512\n__global__ void f(const float* x, float* y, int n) {\n" + body + "}\n").draft.text;
    std::string found;
    RE2::PartialMatch(text, "block = (\\[[^\\]]*\\])", &found);
    return found;
  };
  CHECK(block("  int i = blockIdx.x * WIDTH + threadIdx.x;\n  if (i < n) y[i] = x[i];\n"
              "  for (int j = threadIdx.x; j < 9; j += blockDim.x) y[blockIdx.x * WIDTH + j] += 1;\n") == "[\"512\"]");
  CHECK(block("  int b = blockIdx.x, t = threadIdx.x, i = b * 256 + t;\n"
              "  for (int k = 0; k < 4; k++) if (i + k * 64 < n) y[i + k * 64] = x[i + k * 64];\n") == "[\"?\"]");
}

TEST_CASE("a buffer that is cleared and used again before the launch has no fill") {
  const auto fill = [](const std::string& between) {
    const Drafted draft = drafted(
        "__global__ void f(unsigned* y, unsigned* c, int n) {\n  int i = blockIdx.x * "
        "blockDim.x + threadIdx.x;\n  if (i < n) y[i] = c[i];\n}\n"
        "void go(unsigned* y, int n) {\n  unsigned* c;\n  cudaMalloc(&c, n * 4);\n"
        "  cudaMemset(c, 0, n * 4);\n  " +
        between + "\n  f<<<n / 64, 64>>>(y, c, n);\n}\n");
    return argument(draft, "c").find("fill = \"zero\"") != std::string::npos;
  };
  CHECK(fill(""));
  CHECK(fill("other<<<1, 64>>>(y, n);"));
  for (const char* use : {"count<<<1, 64>>>(c, n);", "prefix(y, c, n);", "cudaMemcpy(c, y, n, cudaMemcpyDefault);"})
    CHECK_FALSE(fill(use));
}

TEST_CASE("only what keeps an index below a value limits it") {
  const auto shape = [](const std::string& body) {
    const std::string text = argument(drafted("#define TAPS 9\n#define R (TAPS / 2)\n"
                                              "__global__ void f(float* y, int n) {\n  int i = blockIdx.x * blockDim.x "
                                              "+ threadIdx.x;\n  " +
                                              body + "\n}\n"),
                                      "y");
    std::string found;
    RE2::PartialMatch(text, "shape = \\[([^\\]]*)\\]", &found);
    return found;
  };
  for (const char* body :
       {"if (i < R || i >= gridDim.x) return;\n  y[i] = 1;", "if (i < n) return;\n  y[i] = 1;",
        "if (i > n) { y[i] = 1; }", "if (i >= n) { y[i] = 1; }", "if (i == n) y[i] = 1;", "if (i != n) y[i] = 1;"})
    CHECK_MESSAGE(shape(body) == "\"?\"", body);
  for (const char* body :
       {"if (i >= n) return;\n  y[i] = 1;", "if (i >= n) { return; }\n  y[i] = 1;", "if (n <= i) return;\n  y[i] = 1;",
        "if (i > n - 1) return;\n  y[i] = 1;", "if (i >= n) { last(); return; }\n  y[i] = 1;", "if (n > i) y[i] = 1;",
        "if (i >= n) none(); else y[i] = 1;", "if (i < n) { y[i] = 1; return; }",
        "for (int k = 0; k != n; ++k) y[k] = 1;", "while (i < n) y[i] = 1;"})
    CHECK_MESSAGE(shape(body) == "\"n\"", body);
  CHECK(shape("for (int k = 0; k < R; ++k) y[k] = 1;") == "\"4\"");
}

TEST_CASE("an extent of the block that is an expression is no value of its first word") {
  const Drafted draft = drafted(
      "__global__ void f(const float* a, float* y, int M) {\n  int r = blockDim.y * blockIdx.x + threadIdx.y;\n"
      "  if (r < M && threadIdx.x == 0) y[r] = a[r];\n}\n"
      "void go(const float* a, float* y, int M) {\n  const int WARP = 32, THREADS = 128, ROWS = THREADS / WARP * 2;\n"
      "  f<<<M / ROWS, dim3(32, THREADS / WARP)>>>(a, y, M);\n}\n");
  CHECK(has(draft, "grid = [\"M // 8\"]"));
  CHECK(
      has(draft, "THREADS_Y = { values = [4], compile_time = false }  # guess: the grid on line 7 is written for it"));
}

TEST_CASE("the default is what the source has, or is not said") {
  const std::string add =
      "#define B 16\n__global__ void add(const int* a, int* c, int m, int k) {\n"
      "  int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (col < k && row < m) c[row * k + col] = a[row * k + col];\n}\n";
  CHECK(has(drafted(add + "void go(int* a, int* c, int m, int k) {\n  add<<<dim3((k + B - 1) / B, (m + B - 1) / B), "
                          "dim3(B, B)>>>(a, c, m, k);\n}\n"),
            "default = { THREADS_X = 16, THREADS_Y = 16 }"));
  const Drafted choice = drafted(
      "template <unsigned BS> __global__ void red(const int* x, int* y, unsigned n) {\n  __shared__ int p[BS];\n"
      "  unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n  p[t] = i < n ? x[i] : 0;\n"
      "  if (t == 0) y[blockIdx.x] = p[0];\n}\n"
      "void go(int bs, int* x, int* y, int n) {\n  if (n > 9) bs *= 2;\n  dim3 block(bs);\n  switch (bs) {\n"
      "    case 1024: red<1024><<<(n - 1) / block.x + 1, block>>>(x, y, n); break;\n"
      "    case 512: red<512><<<(n - 1) / block.x + 1, block>>>(x, y, n); break;\n  }\n}\n");
  CHECK(has(choice, "block = [\"?\"]  # fill in: line 11 has bs"));
  CHECK_FALSE(has(choice, "[dispatch]"));
}

TEST_CASE("a grid that is written for one block or tile follows it, or the block keeps its value") {
  const auto launch = [](const std::string& code) {
    return drafted(
        "__global__ void f(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }\nvoid go(float* x) "
        "{\n  int n = 1 << 14;\n  " +
        code + "\n}\n");
  };
  CHECK(
      has(launch("dim3 block(1024); dim3 grid(n / block.x); f<<<grid, block>>>(x);"), "grid = [\"16384 // THREADS\"]"));
  CHECK(has(launch("f<<<16, 1024>>>(x);"), "values = [1024]"));
  CHECK(has(launch("dim3 block(1024); dim3 grid(n / block.x); f<<<grid, block>>>(x);"), "values = [512, 1024]"));
  CHECK(has(launch("f<<<n / 256, 256>>>(x);"),
            "THREADS = { values = [256], compile_time = false }  # guess: the grid on line 4 is written for it"));
  const std::string tiles =
      "template <int BN, int TN> __global__ void f(float* y, int N) {\n"
      "  int base = blockIdx.x * BN + threadIdx.x * TN;\n  for (int k = 0; k < TN; k++) y[base + k] = 2;\n}\n";
  CHECK(has(drafted(tiles + "void go(float* y, int N) { f<128, 4><<<N / 128, 32>>>(y, N); }\n"),
            "BN = { values = [128], compile_time = false }  # guess: the grid on line 5"));
  CHECK(has(drafted("template <int BN> __global__ void f(float* y, int K) {\n"
                    "  y = &y[(BN * blockIdx.x) * K];\n  y[threadIdx.x] = 2;\n}\n"
                    "void go(float* y, int K) { f<128><<<16, 32>>>(y, K); }\n"),
            "BN = { values = [128], compile_time = false }  # guess: the grid on line 5"));
  const std::string strided =
      "__global__ void f(float* x, int n) {\n  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += "
      "gridDim.x "
      "* blockDim.x) x[i] = 1;\n}\n";
  CHECK(has(drafted(strided + "void go(float* x, int n) { f<<<64, 256>>>(x, n); }\n"), "values = [128, 256, 512]"));
}

TEST_CASE("a coordinate under another name is the coordinate, and a grid without a tile is asked for") {
  const auto grid = [](const std::string& body) {
    const std::string text =
        drafted("#define TILE 32\n__global__ void f(float* y, int n) {\n  " + body + "\n}\n").draft.text;
    std::string found;
    RE2::PartialMatch(text, "grid = \\[([^\\]]*)\\]", &found);
    return found;
  };
  CHECK(grid("int tx = threadIdx.x, bx = blockIdx.x; int i = bx * TILE + tx; if (i < n) y[i] = 1;") ==
        "\"ceildiv(n, 32)\"");
  CHECK(
      grid("unsigned s = blockDim.x, b = blockIdx.x, i = b * s * 2 + threadIdx.x; if (i + s < n) y[i] += y[i + s];") ==
      "\"ceildiv(n, THREADS * 2)\"");
  CHECK(grid("int i = tile_of(blockIdx.x) + threadIdx.x; if (i < n) y[i] = 1;") == "\"?\"");
  CHECK(grid("int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; if (row < n) y[row] = 1;") == "\"?\"");
  CHECK(grid("for (int i = blockIdx.x; i < n; i += gridDim.x) y[i] = threadIdx.x;") == "\"n\"");
}

TEST_CASE("bytes of shared memory are written only where each thread has one element of its type") {
  const auto shared = [](const std::string& body) {
    const std::string text = drafted(
                                 "__global__ void f(const float* x, float* y, int bins, int n) {\n"
                                 "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
                                 body + "}\n")
                                 .draft.text;
    std::string found;
    RE2::PartialMatch(text, "shared = (.*)", &found);
    return found;
  };
  CHECK(shared("  extern __shared__ float s[];\n  int t = threadIdx.x;\n  s[t] = x[i];\n  if (i < n) y[i] = s[t];\n") ==
        "\"THREADS * 4\"  # guess: an element for each thread");
  CHECK(shared("  extern __shared__ unsigned char raw[];\n  float* s = (float*)raw;\n  s[threadIdx.x] = x[i];\n") ==
        "\"?\"  # fill in: bytes of extern __shared__ unsigned char");
  for (const char* body :
       {"  extern __shared__ float s[];\n  for (int b = threadIdx.x; b < bins; b += blockDim.x) s[b] = 0;\n",
        "  extern __shared__ float s[];\n  s[threadIdx.x + 1] = x[i];\n"})
    CHECK(shared(body).starts_with("\"?\""));
}

TEST_CASE("a call between steps that gets memory of the device is named") {
  const auto between = [](const std::string& call) {
    return has(launched(scale_kernel +
                        "void help(float* p) { p[0] = 1; }\nvoid run(float* h, int n) {\n  float *p, *q;\n"
                        "  cudaMalloc(&p, n * 4);\n  cudaMalloc(&q, n * 4);\n  scale<<<1, 64>>>(p, q, 1, n);\n  " +
                        call + "\n  scale<<<1, 64>>>(q, p, 1, n);\n}\n"),
               "# guess: before it, line 11 has " + call.substr(0, call.find(';')) + ", which no step does");
  };
  CHECK(between("prefix(q,p,n);"));
  for (const char* other : {"prefix(h,n);", "help(p);", "printf(q);", "check(q);"}) CHECK_FALSE(between(other));
}

TEST_CASE("a size that host code computes is its value, however large") {
  for (const char* value : {"32 * 1024 * 1024", "1 << 25"})
    CHECK(has(drafted(scale_kernel + "void run(float* p, float* q) {\n  const int N = " + value +
                      ";\n  scale<<<(N + 63) / 64, 64>>>(p, q, 1, N);\n}\n"),
              "n = 33554432  # guess: from the launch on line 7"));
}

TEST_CASE("a block beside a shared array of its threads is what the launch has, as the array is") {
  const std::string body =
      "__global__ void f(const float* p, float* v, int n) {\n  __shared__ float s[B];\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  float sum = 0;\n  s[threadIdx.x] = p[i];\n"
      "  for (int j = 0; j < B; j++) sum += s[j];\n  if (i < n) v[i] = sum;\n}\n";
  const std::string launch = "void go(float* p, float* v, int n) { f<<<(n + 255) / 256, 256>>>(p, v, n); }\n";
  const Drafted constant = drafted("#define B 256\n" + body + launch);
  CHECK(has(constant, "block = [\"256\"]  # guess: from the launch"));
  CHECK_FALSE(has(constant, "THREADS"));
  const Drafted open = drafted("#ifndef B\n#define B 256\n#endif\n" + body + launch);
  CHECK(has(open, "block = [\"B\"]"));
  CHECK(open.draft.parameters == std::vector<std::string>{"B"});
  CHECK(has(drafted("#define B 256\n" + body), "block = [\"?\"]"));
}

TEST_CASE("a type that only counts is an integer, and a function is not a size") {
  const Drafted gather = drafted(
      "template <typename T, typename Index> __global__ void f(const T* x, const Index* index, T* y, Index n) {\n"
      "  Index i = blockIdx.x * blockDim.x + threadIdx.x;\n  T first = x[threadIdx.x];\n"
      "  if (i < n) y[i] = x[index[i]] + first;\n}\n");
  CHECK(has(gather, "Index = \"int\""));
  CHECK(has(gather, "\nT = \"float\""));
  CHECK(argument(gather, "index").find("dtype = \"i32\"") != std::string::npos);
  const Drafted blocks = drafted(
      "__global__ void f(int* v, int n) { if (threadIdx.x < n) v[threadIdx.x] = 1; }\n"
      "void go(int* v, int objects) { f<<<1, 64>>>(v, (objects + 127) / 128); }\n");
  CHECK_FALSE(has(blocks, "ceildiv ="));
}

TEST_CASE("a buffer that is passed twice is said to be, and a shape that a parameter divides is the allocation") {
  const Drafted twice = drafted(
      "__global__ void f(float* out, const float* in, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) out[i] = in[i];\n}\nvoid go(float* d, int n) { f<<<(n + 63) / 64, 64>>>(d, d, n); }\n");
  CHECK(argument(twice, "out_").find("guess: host code passes d twice, as out, too") != std::string::npos);
  const Drafted rows = drafted(
      "template <int R> __global__ void f(const float* x, float* y, int m, int n) {\n  const int cols = 32 / R;\n"
      "  int row = blockIdx.x * R + threadIdx.x / cols, col = threadIdx.x % cols;\n"
      "  if (row < m) atomicAdd(&y[row], x[col]);\n}\n"
      "void go(float* y, int m, int n) {\n  float* x;\n  cudaMalloc(&x, n * sizeof(float));\n"
      "  f<2><<<m / 2, 32>>>(x, y, m, n);\n}\n");
  CHECK(argument(rows, "x").find("shape = [\"n\"]") != std::string::npos);
}

TEST_CASE("a shared array with an element for each thread gives the block, or its limit") {
  const auto with = [](const std::string& before, const std::string& extent, const std::string& use = "") {
    return drafted(before + "__global__ void f(const float* x, float* y, int n) {\n  __shared__ float s[" + extent +
                   "];\n  const int t = threadIdx.x;\n  float sum = 0;\n"
                   "  for (int i = t; i < n; i += blockDim.x) sum += x[i];\n  " +
                   (use.empty() ? "s[t] = sum;" : use) +
                   "\n  for (int half = blockDim.x / 2; half > 0; half /= 2) {\n    __syncthreads();\n"
                   "    if (t < half) s[t] += s[t + half];\n  }\n  if (t == 0) *y = s[0];\n}\n");
  };
  for (const char* before : {"#ifndef B\n#define B 256\n#endif\n", "", "template <int B> "})
    for (const char* use : {"s[t] = sum;", "if (t < B) s[t] = sum;"})
      CHECK(has(with(before, "B", use), "block = [\"B\"]"));
  // Nothing else in the kernel has the number: fewer threads use a part of the array.
  for (const Drafted& draft : {with("", "1024"), with("", "512"), with("constexpr int B = 512;\n", "B")}) {
    CHECK(has(draft, "THREADS = { values = [64, 128, 256], compile_time = false }"));
    CHECK(has(draft, "block = [\"THREADS\"]"));
  }
  CHECK(has(with("", "512"), "constraints = [\"THREADS <= 512\"]"));
  CHECK_FALSE(has(with("", "1024"), "constraints"));
  // It is written for this number, or has an element for each warp, or a function gets it.
  CHECK(has(with("", "512", "s[t] = sum; for (int i = 0; i < 512; ++i) sum += s[i];"), "block = [\"?\"]"));
  CHECK(has(with("", "32"), "block = [\"?\"]"));
  CHECK(has(with("", "512", "s[t] = sum; reduce(s);"), "block = [\"?\"]"));
}

TEST_CASE("what multiplies a sum with the block is the distance of rows, unless a thread is in the sum") {
  const auto launch = [](const std::string& body) {
    const std::string text = drafted(
                                 "#define DIM 64\n#ifndef WIDTH\n#define WIDTH 64\n#endif\n"
                                 "__global__ void f(float* y, int heads, int n) {\n  " +
                                 body + "\n}\n")
                                 .draft.text;
    std::string found;
    RE2::PartialMatch(text, "grid = (\\[.*)  #", &found);
    return found;
  };
  CHECK(launch("const int head = blockIdx.x, batch = blockIdx.y, column = threadIdx.x;\n"
               "  for (int i = 0; i < DIM; ++i) y[((batch * heads + head) * WIDTH + i) * DIM + column] = 1;") ==
        "[\"GRID_X\", \"GRID_Y\"]");
  CHECK(launch("const int i = (blockIdx.x * WIDTH + threadIdx.x) * 4;\n  if (i < n) y[i] = 1;") ==
        "[\"ceildiv(n, WIDTH * 4)\"]");
  CHECK(launch("const int t = threadIdx.x % 8, i = (blockIdx.x * WIDTH + t) * 4;\n  if (i < n) y[i] = 1;") ==
        "[\"ceildiv(n, WIDTH * 4)\"]");
}

TEST_CASE("a distance at which a thread goes on is less than what a block covers, also by a parameter") {
  CHECK(has(drafted("__global__ void f(float* y, int heads) {\n  const int lane = threadIdx.x;\n"
                    "  const long long row = (blockIdx.y * heads + blockIdx.x) * DIM + lane;\n"
                    "  for (int i = 0; i < DIM / 32; ++i) y[row + 32 * i] = 1;\n}\n"),
            "block = [\"?\"]"));
}

TEST_CASE("of launches with different blocks the first one is right, and none is the default") {
  const Drafted draft = drafted(
      "__global__ void f(float* x, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) x[i] = 1;\n}\nvoid go(float* x, int n) {\n  f<<<(n + 255) / 256, 256>>>(x, n);\n"
      "  f<<<(n + 63) / 64, 64>>>(x, n);\n}\n");
  CHECK(has(draft, "reference = { config = { THREADS = 256 } }"));
  CHECK_FALSE(has(draft, "[dispatch]"));
}

TEST_CASE("an overloaded kernel is refused, with both lines") {
  const std::string of_floats = "__global__ void f(float* x, int n) { x[n] = 1; }\n",
                    of_doubles = "__global__ void f(double* x, int n) { x[n] = 1; }\n";
  CHECK(refused(of_floats + of_doubles) ==
        "k.cu: f on line 1 has an overload on line 2, and an entry cannot choose between them: rename one");
  CHECK(refused("__global__ void g(int* y) { y[0] = 1; }\n" + of_floats + of_doubles, {"g"}).empty());
  CHECK(refused("#ifdef A\n" + of_floats + "#endif\n#ifndef A\n" + of_doubles + "#endif\n").empty());
  CHECK(refused("template <class T> " + of_floats + of_doubles).empty());
}

TEST_CASE("one element behind a pointer is one, also as the only statement of a condition") {
  const Drafted draft = drafted(
      "__global__ void f(const float* x, float* sum, int n) {\n  if (n > 3) return;\n"
      "  if (threadIdx.x == 0) *sum = x[0];\n}\n");
  CHECK(argument(draft, "sum").find("shape = [\"1\"]") != std::string::npos);
  CHECK(argument(draft, "sum").find("role = \"out\"") != std::string::npos);
}

TEST_CASE("a block keeps the launch's value where shared memory or a constant behind it is written for that") {
  const std::string body =
      "extern __shared__ int s[];\n  const int i = threadIdx.y * blockDim.x + threadIdx.x;\n  s[i] = i;\n"
      "  y[i] = s[i];\n}\n";
  const Drafted fixed = drafted("__global__ void f(int* y) {\n  " + body +
                                "void go(int* y) { f<<<1, dim3(32, 16), 33 * 16 * 4>>>(y); }\n");
  CHECK(has(fixed, "shared = \"2112\""));
  CHECK(has(fixed, "THREADS_X = { values = [32], compile_time = false }  # guess: the shared memory on line 7"));
  const Drafted follows = drafted("__global__ void f(int* y) {\n  " + body +
                                  "void go(int* y) {\n  dim3 block(32, 16);\n"
                                  "  f<<<1, block, block.x * block.y * 4>>>(y);\n}\n");
  CHECK(has(follows, "THREADS_X = { values = [16, 32, 64], compile_time = false }"));
  const Drafted whole = drafted(
      "__global__ void f(int* y) {\n  extern __shared__ int s[];\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  s[i] = i;\n  y[i] = s[i];\n}\nvoid go(int* y) {\n  int n = 1024;\n  dim3 block(32);\n"
      "  f<<<n / block.x, block, 4096>>>(y);\n}\n");
  CHECK(has(whole, "THREADS = { values = [16, 32, 64], compile_time = false }"));
  const Drafted constant = drafted(
      "#define B 32\n__global__ void f(int* y) {\n  __shared__ int s[B + 8];\n  int t = threadIdx.x + 4;\n"
      "  s[t] = blockDim.x;\n  y[blockIdx.x * blockDim.x + threadIdx.x] = s[t];\n}\n"
      "void go(int* y) {\n  int size = B;\n  dim3 block(size);\n  f<<<64, block>>>(y);\n}\n");
  CHECK(has(constant, "block = [\"32\"]"));
  const auto reduced = [](const std::string& threads) {
    return drafted(
        "__global__ void f(float* y) {\n  float sum = y[blockIdx.x * blockDim.x + threadIdx.x];\n"
        "  y[blockIdx.x] = BlockReduce<float, " +
        threads + ">().Sum(sum);\n}\nvoid go(float* y) { f<<<64, " + threads + ">>>(y); }\n");
  };
  CHECK(has(reduced("256"), "block = [\"256\"]"));
  CHECK(has(reduced("32"), "block = [\"THREADS\"]"));
}

TEST_CASE("an argument that points to rows has the extents of its allocation") {
  const std::string kernel =
      "#define W 16\n__global__ void f(const float x[][W], float y[][W], int n) {\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) for (int j = 0; j < W; ++j) y[i][j] = x[i][j];\n}\n";
  CHECK(argument(drafted(kernel), "x").find("shape = [\"?\"]") != std::string::npos);
  const Drafted launched = drafted(kernel +
                                   "void go(float* y, int n) {\n  float (*x)[W];\n  cudaMalloc(&x, n * W * "
                                   "sizeof(float));\n  f<<<(n + 63) / 64, 64>>>(x, y, n);\n}\n");
  CHECK(argument(launched, "x").find("shape = [\"n\", \"16\"]") != std::string::npos);
}

TEST_CASE("where a macro or a function asks for the index, the grid and the block are blanks") {
  const std::string body = " { y[i] = 2 * x[i]; } }\n", head = "__global__ void k(const float* x, float* y, int n) { ";
  const std::string index = "blockIdx.x * blockDim.x + threadIdx.x";
  for (const std::string& source :
       {"#include \"missing.hpp\"\n" + head + "CUDA_1D_KERNEL_LOOP(i, n)" + body,
        "#define LOOP(i, n) for (int i = " + index + "; i < (n); i += blockDim.x)\n" + head + "LOOP(i, n)" + body,
        "__device__ int gid() { return " + index + "; }\n" + head + "int i = gid(); if (i < n)" + body}) {
    const Drafted draft = drafted(source);
    CHECK(has(draft, "grid = [\"?\"]  # fill in: blocks along x, y, z, as in ceildiv(n, TILE)"));
    CHECK(has(draft, "block = [\"?\"]  # fill in: threads along x, y, z"));
  }
  const Drafted single = drafted("__device__ float twice(float v) { return fmaxf(2 * v, sqrtf(v)); }\n" + head +
                                 "for (int i = 0; i < n; ++i) y[i] = twice(float(x[i])); }\n");
  CHECK(has(single, "grid = [\"1\"]"));
  CHECK(has(single, "block = [\"1\"]"));
}

TEST_CASE("an index that gets another value behind its limit has none") {
  const auto shapes = [](const std::string& code) {
    const Drafted draft = drafted(
        "__global__ void k(const float* src, const int* map, float* out, int n, int b) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  " +
        code + "\n}\n");
    const auto is_proven = [&](const char* name) {
      return argument(draft, name).find("shape = [\"n\"]") != std::string::npos;
    };
    return std::string(is_proven("src") ? "src " : "") + (is_proven("map") ? "map " : "") +
           (is_proven("out") ? "out" : "");
  };
  CHECK(shapes("if (i >= n) return; i *= 3; out[i] = src[i] + map[0];").empty());
  CHECK(shapes("if (i < n) { i += b * n; out[i] = src[i] + map[0]; }").empty());
  CHECK(shapes("if (i >= n) return; i = map[i]; out[i] = src[i];") == "map ");
  CHECK(shapes("if (i >= n) return; int k = i % b; i /= b; int c = i; out[k + b * c] = src[i++] + map[0];").empty());
  CHECK(shapes("if (i < n) { float v = src[i] + map[i]; i = i * b + 1; out[i] = v; }") == "src map ");
  CHECK(shapes("for (; i < n; i += b) out[i] = src[i] + map[i];") == "src map out");
  CHECK(shapes("while (i < n) { out[i] = src[i] + map[i]; i += blockDim.x; }") == "src map out");
  CHECK(shapes("for (; i < n; ++i) for (int j = 0; j < b; ++j) { b -= 1; out[i] = src[i] + map[i]; }") ==
        "src map out");
  CHECK(shapes("for (; i < n; i = i + b) if (b) { b -= 1; out[i] = src[i] + map[i]; }") == "src map out");
}

TEST_CASE("a macro of a condition around the kernel is a define that keeps the kernel") {
  const std::string kernel =
      "__global__ void k(const float* x, float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) y[i] = MODE ? x[i] : 0;\n}\n#endif\n";
  const auto defines = [&](const std::string& condition) {
    const Drafted draft = drafted("#if " + condition + "\n" + kernel);
    CHECK_FALSE(has(draft, "HAVE_CUDA = ["));
    CHECK(has(draft, "MODE = [0, 1]"));
    CHECK(draft.draft.guesses.front().text.find("as line 1 asks around the kernel") != std::string::npos);
    const std::size_t begin = draft.draft.text.find("defines = ");
    return draft.draft.text.substr(begin, draft.draft.text.find('\n', begin) - begin);
  };
  CHECK(defines("HAVE_CUDA == 1") == "defines = { HAVE_CUDA = \"1\" }");
  CHECK(defines("HAVE_CUDA") == "defines = { HAVE_CUDA = \"1\" }");
  CHECK(defines("defined(N) && !HAVE_CUDA") == "defines = { HAVE_CUDA = \"0\" }");
  CHECK(defines("(HAVE_CUDA > 7)") == "defines = { HAVE_CUDA = \"8\" }");
}

TEST_CASE("the threads of a warp are a number, whatever the name that a missing header gives them") {
  for (const std::string name : {"C10_WARP_SIZE", "GPU_WARP_SIZE", "WARPSIZE"}) {
    const Drafted draft = drafted("__global__ void k(float* x, int n) {\n  int i = blockIdx.x * " + name +
                                  " + threadIdx.x;\n  if (i < n) x[i] = 1;\n}\n");
    CHECK(has(draft, "defines = { " + name + " = \"32\" }"));
    CHECK(has(draft, "# guess: " + name + " is 32, as of NVIDIA's GPUs; line 2 uses it"));
    CHECK(has(draft, "block = [\"32\"]"));
    CHECK_FALSE(has(draft, name + " = ["));
  }
}

TEST_CASE("the shape of a buffer for which the launch passes a null pointer is asked for") {
  for (const std::string null : {"nullptr", "NULL", "0"}) {
    const Drafted draft = drafted(
        "__global__ void k(const float* x, const float* bias, float* y, float* extra, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n"
        "  y[i] = x[i] + (bias ? bias[i] : 0);\n  if (extra) extra[i] = x[i];\n}\n"
        "void go(float* x, float* y, int n) { k<<<(n + 255) / 256, 256>>>(x, " +
        null + ", y, " + null + ", n); }\n");
    for (const char* name : {"bias", "extra"})
      CHECK(argument(draft, name).find("shape = [\"?\"]  # fill in: the launch on line 7 passes " + null) !=
            std::string::npos);
    CHECK(argument(draft, "y").find("shape = [\"n\"]") != std::string::npos);
  }
}

TEST_CASE("a grid stays as written where it differs from the index's for sizes that are not whole blocks") {
  const Drafted draft = drafted(
      "__global__ void k(int* g, unsigned n) {\n  int i = blockIdx.x * blockDim.x * 8 + threadIdx.x;\n"
      "  if (i + 7 * blockDim.x < n) g[i] += g[i + 7 * blockDim.x];\n}\n"
      "void go(int* g, int n) {\n  dim3 block(128, 1), grid((n + block.x - 1) / block.x, 1);\n"
      "  k<<<grid.x / 8, block>>>(g, n);\n}\n");
  CHECK_FALSE(has(draft, "ceildiv(n, THREADS * 8)"));
  CHECK(has(draft, "// 8"));
}

TEST_CASE("of several launches the one that passes variables of the kernel's names counts, not a warm-up") {
  const Drafted draft = drafted(
      "__global__ void add(const float* A, float* C, int nx, int ny) {\n"
      "  int ix = threadIdx.x + blockIdx.x * blockDim.x, iy = blockIdx.y;\n"
      "  if (ix < nx && iy < ny) C[iy * nx + ix] = A[iy * nx + ix];\n}\n"
      "int main() {\n  int nx = 1 << 12, ny = 1 << 12;\n  add<<<1, 32>>>(A, C, 1, 1);\n"
      "  add<<<dim3((nx + 31) / 32, ny), 32>>>(A, C, nx, ny);\n}\n");
  CHECK(has(draft, "from the launch on line 8"));
  CHECK_FALSE(has(draft, "line 7"));
}

TEST_CASE("a shared array that only the first threads fill says nothing of the block") {
  const Drafted draft = drafted(
      "template <typename T, int num_axes>\n__global__ void k(int n, const T* im, const int* shape, T* col) {\n"
      "  __shared__ int s[num_axes];\n  if (threadIdx.x < num_axes) s[threadIdx.x] = shape[threadIdx.x];\n"
      "  __syncthreads();\n"
      "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) col[i] = im[i] * "
      "s[0];\n"
      "}\n");
  CHECK(has(draft, "block = [\"THREADS\"]"));
}

TEST_CASE("a block that one variable makes square stays square, and each axis of the grid has its own") {
  const Drafted draft = drafted(
      "__global__ void k(const int* a, int* c, int N) {\n  int row = blockIdx.y * blockDim.y + threadIdx.y;\n"
      "  int col = blockIdx.x * blockDim.x + threadIdx.x;\n  c[row * N + col] = a[col * N + row];\n}\n"
      "void go(int* a, int* c, int N) {\n  int T = 32;\n  int B = N / T;\n  dim3 threads(T, T), blocks(B, B);\n"
      "  k<<<blocks, threads>>>(a, c, N);\n}\n");
  CHECK(has(draft, "constraints = [\"THREADS_X == THREADS_Y\", \"THREADS_X * THREADS_Y <= 1024\"]"));
  CHECK(has(draft, "THREADS_X = { values = [16, 32, 64], compile_time = false }"));
  CHECK(has(draft, "grid = [\"N // THREADS_X\", \"N // THREADS_Y\"]"));
}

TEST_CASE("what is a template argument and the block in host code is one parameter, or the block is a blank") {
  const Drafted axes = drafted(
      "template <int BX, int BY> __global__ void k(float* a, int nx, int ny) {\n"
      "  int ix = blockIdx.x * blockDim.x + threadIdx.x, iy = blockIdx.y * blockDim.y + threadIdx.y;\n"
      "  if (ix < nx && iy < ny) a[iy * nx + ix] = BX * BY;\n}\n"
      "void go(float* a, int nx, int ny) {\n  constexpr int bx = 32, by = 8;\n"
      "  k<bx, by><<<dim3((nx + bx - 1) / bx, (ny + by - 1) / by), dim3(bx, by)>>>(a, nx, ny);\n}\n");
  CHECK(has(axes, "grid = [\"ceildiv(nx, BX)\", \"ceildiv(ny, BY)\"]"));
  CHECK(has(axes, "block = [\"BX\", \"BY\"]"));
  CHECK(axes.draft.parameters == std::vector<std::string>{"BX", "BY"});
  const Drafted made = drafted(
      "template <int W, int I> __global__ void k(const float* x, float* y, int hot) {\n"
      "  for (int i = blockIdx.x * W + threadIdx.x; i < hot; i += gridDim.x * W)\n"
      "    for (int j = 0; j < I; j++) y[i] = x[i];\n}\n"
      "void go(const float* x, float* y, int size) {\n  constexpr int T = 64, Q = T / 4;\n  int hot = (size / T) * T;\n"
      "  k<T, Q><<<size / T, T / Q>>>(x, y, hot);\n}\n");
  CHECK(has(made, "constraints = [\"I == W // 4\", \"1 <= W // I <= 1024\"]"));
  CHECK(has(made, "grid = [\"size // W\"]"));
  CHECK(has(made, "block = [\"W // I\"]"));
  CHECK(argument(made, "hot").find("value = \"(size // W) * W\"") != std::string::npos);
  CHECK(argument(made, "x").find("shape = [\"?\"]") != std::string::npos);  // no parameter changes it
  const std::string kernel =
      "template <int B> __global__ void k(float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) y[i] = sum<B>(i);\n}\n";
  const Drafted named =
      drafted(kernel + "template <int S> void go(float* y, int n) { k<S><<<(n + S - 1) / S, S>>>(y, n); }\n");
  CHECK(has(named, "block = [\"B\"]"));
  CHECK(has(named, "grid = [\"ceildiv(n, B)\"]"));
  CHECK(named.draft.parameters == std::vector<std::string>{"B"});
  CHECK(has(drafted(kernel + "void go(float* y, int n) { k<256><<<(n + 255) / 256, 256>>>(y, n); }\n"),
            "block = [\"?\"]  # fill in: line 5 has 256"));
  const Drafted choice =
      drafted(kernel +
              "int main(int argc, char** argv) {\n  int b = 512;\n  if (argc > 1) b = atoi(argv[1]);\n"
              "  switch (b) {\n    case 512: k<512><<<n / b, b>>>(y, n); break;\n  }\n}\n");
  CHECK(has(choice, "block = [\"?\"]  # fill in: line 9 has b"));
  CHECK(choice.draft.parameters == std::vector<std::string>{"B"});
}

TEST_CASE("a type is that of the launch or of what it passes, an integer where it is an index, else a blank") {
  const auto type = [](const std::string& kernel, const std::string& host = "") {
    const std::string text =
        drafted("struct Half { static const int s = 1; };\ntemplate <class T> __global__ void k" + kernel + "\n" + host)
            .draft.text;
    std::string found;
    RE2::PartialMatch(text, "\nT = (.*)", &found);
    return found;
  };
  const std::string copy = "(const T* x, float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x]; }";
  CHECK(type(copy).starts_with("\"float\"  # guess"));
  CHECK(type(copy, "void go(double* d, float* y, int n) { k<<<1, 64>>>(d, y, n); }\n") ==
        "\"double\"  # guess: a type of the entry, as on line 3");
  CHECK(type(copy, "void go(Half* d, float* y, int n) { k<Half><<<1, 64>>>(d, y, n); }\n") ==
        "\"?\"  # fill in: a type of the entry; line 3 has Half");
  CHECK(type("(const T* x, float* y) { y[threadIdx.x] = y[x[threadIdx.x] * 2]; }").starts_with("\"int\"  # guess"));
  for (const char* other :
       {"(float* y) { y[threadIdx.x] = T::s; }", "(float* y, typename T::type* x) { y[threadIdx.x] = 1; }",
        "(float* y, T* x) { y[threadIdx.x] = x->s; }", "(float* y, T* x) { y[threadIdx.x] = x[threadIdx.x].s; }"})
    CHECK_MESSAGE(type(other) == "\"?\"  # fill in: a type of the entry", other);
}

TEST_CASE("an output is written whole, whatever the data: all else keeps what is not written") {
  const auto role = [](const std::string& body) {
    const std::string text =
        argument(drafted("__global__ void k(const float* x, const int* map, float4* q, float* y, int n, int m) {\n"
                         "  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;\n  " +
                         body + "\n}\n"),
                 "y");
    return text.find("role = \"out\"") != std::string::npos;
  };
  for (const char* body :
       {"if (i < n) y[i] = x[i];", "if (i >= n || j >= m) return; y[j * n + i] = 1;",
        "for (; i < n; i += blockDim.x * gridDim.x) y[i] = 1;", "if (i < n * m) y[(i / m) * m + i % m] = 1;",
        "if (threadIdx.x == 0) y[j] = x[0];", "if (i < n) { float s = 0; if (x[i] > 0) s = 1; y[i] = s; }",
        "if (i < n) for (int k = 0; k < 3; ++k) y[i * 3 + k] = k;"})
    CHECK_MESSAGE(role(body), body);
  for (const char* body : {"if (i < n && x[i] > 0) y[i] = 1;", "if (i >= n || !(map[i] > 0)) return; y[i] = 1;",
                           "float v = x[i]; if (i < n) if (v > 0) { y[i] = 1; }", "if (i < n && map[i] > 0) *y = 1;",
                           "for (int k = 0; k < map[j]; ++k) if (i < n) y[i] = 1;", "if (i < n) y[map[i] % n] = 1;",
                           "if (i + m < n) y[i + m] = 1;", "int k = i + m; if (k < n) y[k] = 1;",
                           "if (i < n) y[i * m] = 1;", "if (i < n) y[3 * i] = 1;", "if (i > 0 && i < n) y[i] = 1;",
                           "if (i < n - 1) y[i] = 1;", "if (i < n) if (i % 2) y[i] = 1;", "if (i < n && q) y[i] = 1;"})
    CHECK_MESSAGE(!role(body), body);
  CHECK(argument(drafted("__global__ void k(float4* q, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                         "  if (i < n) q[i].x = 1;\n}\n"),
                 "q")
            .find("role = \"inout\"") != std::string::npos);
}

TEST_CASE("a block of more threads than a GPU has is a blank, which says so, and none is proposed") {
  const std::string body =
      " __global__ void k(float* x, int n) {\n  __shared__ float s[B];\n  int i = blockIdx.x * B + threadIdx.x;\n"
      "  s[threadIdx.x] = 1;\n  if (i < n) x[i] = s[threadIdx.x];\n}\nvoid go(float* x, int n) {\n  ";
  CHECK(has(drafted("template <int B>" + body + "k<2048><<<(n + 2047) / 2048, 2048>>>(x, n);\n}\n"),
            "block = [\"?\"]  # fill in: line 8 has 2048; 2048 threads, and a GPU has at most 1024 in a block"));
  CHECK(has(drafted("#ifndef B\n#define B 1024\n#endif\n" + body + "k<<<(n + B - 1) / B, B>>>(x, n);\n}\n"),
            "B = [512, 1024]  # 1024 by default"));
  CHECK(has(drafted("__global__ void k(float* x) { x[threadIdx.y * 64 + threadIdx.x] = 1; }\n"
                    "void go(float* x) { k<<<1, dim3(64, 32)>>>(x); }\n"),
            "block = [\"?\", \"?\"]  # fill in: line 2 has 64, 32; 2048 threads, and a GPU has at most 1024"));
}

TEST_CASE("a launch that a later one repeats warms up, and is not a step") {
  const std::string two = scale_kernel +
                          "__global__ void add(float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                          "  if (i < n) y[i] += n;\n}\nvoid run(float* p, float* q, int n) {\n  ";
  const auto steps = [&](const std::string& code) {
    const Drafted draft = launched(two + code + "\n  add<<<1, 64>>>(q, n);\n}\n");
    CHECK(has(draft, "is not a step") == (draft.draft.model.steps.size() == 2));
    return draft.draft.model.steps.size();
  };
  CHECK(steps("scale<<<1, 64>>>(p, q, 2, 1);\n  scale<<<1, 64>>>(p, q, 2, n);") == 2);
  CHECK(steps("for (int i = 0; i < 10; ++i) scale<<<1, 64>>>(p, q, 2, n);\n  scale<<<1, 64>>>(p, q, 2, n);") == 2);
  CHECK(steps("scale<<<1, 64>>>(p, q, 2, n);\n  scale<<<1, 64>>>(p, q, 3, n);") == 3);
  CHECK(steps("scale<<<1, 64>>>(p, q, 2, n);\n  scale<<<1, 64>>>(q, p, 2, n);") == 3);
  const Drafted loops = launched(two +
                                 "for (int i = 0; i < warmups; ++i) { scale<<<1, 64>>>(p, q, 2, n); add<<<1, "
                                 "64>>>(q, n); }\n  for (int i = 0; i < iterations; ++i) {\n    scale<<<1, 64>>>"
                                 "(p, q, 2, n);\n    add<<<1, 64>>>(q, n);\n  }\n}\n");
  CHECK(loops.draft.model.steps.size() == 2);
}

TEST_CASE("a pointer to a struct of arrays is one of them, in bytes, and addresses in it are named") {
  const Drafted draft = drafted(
      "struct Arrays { float x[64], y[64]; };\nstruct Views { float* x; int n; };\n"
      "__global__ void k(const Arrays* in, Arrays* out, Views* views, int n) {\n"
      "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out->x[i] = in->y[i] + views->x[i];\n}\n");
  CHECK(argument(draft, "in_").find("shape = [\"1\", \"?\"]  # fill in: its elements, and the bytes of a Arrays") !=
        std::string::npos);
  CHECK(argument(draft, "out").find("role = \"inout\"") != std::string::npos);
  CHECK(argument(draft, "views").find("whose addresses no buffer has: pass it by value") != std::string::npos);
}
