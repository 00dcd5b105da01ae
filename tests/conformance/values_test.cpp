// Arguments by value: where a spec puts the fields of structs is where each compiler puts them, and their bytes arrive.
#include <fmt/format.h>

#include "conformance/suite.hpp"
#include "core/spec/spec.hpp"

namespace xtune::conformance {
namespace {

struct Field {
  const char* type;   ///< in C++; # is the field's name
  const char* dtype;  ///< in the spec
  int count = 1;
};

const std::vector<std::vector<Field>> structs{
    {{"char #", "i8"}, {"double #", "f64"}, {"short #[3]", "i16", 3}, {"float3 #", "f32x3"}, {"float4 #", "f32x4"}},
    {{"bool #", "bool"}, {"float2 #", "f32x2"}, {"char #", "u8"}, {"int4 #[2]", "i32x4", 2}, {"char #", "i8"}},
    {{"uchar4 #", "u8x4"}, {"char #", "i8"}, {"uchar3 #", "u8x3"}, {"short2 #", "i16x2"}, {"char #", "i8"}},
    {{"char #", "i8"}, {"double2 #", "f64x2"}, {"int3 #", "i32x3"}, {"long long #", "i64"}, {"unsigned char #", "u8"}},
    {{"char #", "i8"}, {"short4 #", "i16x4"}, {"char #", "i8"}, {"float* #", nullptr}, {"char #", "i8"}},
    {{"char #", "i8"}, {"uint2 #", "u32x2"}, {"float #[5]", "f32", 5}, {"double3 #", "f64x3"}, {"char #", "i8"}},
};

}  // namespace

CONFORMANCE_TEST("the fields of structs are where the spec puts them") {
  std::string source = "#include <cstddef>\n";
  for (std::size_t s = 0; s < structs.size(); ++s) {
    std::string fields, checks;
    std::vector<spec::FieldSpec> placed;
    for (std::size_t i = 0; i < structs[s].size(); ++i) {
      const Field& field = structs[s][i];
      std::string declared = field.type;
      declared.replace(declared.find('#'), 1, fmt::format("f{}", i));
      fields += declared + "; ";
      spec::FieldSpec& own = placed.emplace_back();
      own.count = static_cast<std::uint64_t>(field.count);
      std::string dtype = field.dtype ? field.dtype : "u64";
      if (const std::size_t x = dtype.find('x'); x != std::string::npos)
        own.lanes = static_cast<std::uint32_t>(dtype[x + 1] - '0'), dtype.resize(x);
      own.dtype = dtype_from_string(dtype).value();
    }
    const std::size_t bytes = spec::place_fields(placed);
    for (std::size_t i = 0; i < placed.size(); ++i)
      checks += fmt::format("static_assert(offsetof(S{}, f{}) == {}, \"\");\n", s, i, placed[i].at_byte);
    source +=
        fmt::format("struct S{} {{ {}}};\nstatic_assert(sizeof(S{}) == {}, \"\");\n{}", s, fields, s, bytes, checks);
  }
  compile(t, source + "extern \"C\" __global__ void k(int* out, S0 s) { out[0] = sizeof(s); }\n", "k");
}

CONFORMANCE_TEST("structs, vectors and tables of addresses arrive") {
  struct Params {
    signed char tag;
    double scale;
    short shift[3];
    float weights[4];
  };
  struct Float3 {
    float x, y, z;
  };
  const build::Artifact artifact =
      compile(t,
              "struct P { signed char tag; double scale; short shift[3]; float weights[4]; };\n"
              "extern \"C\" __global__ void k(float** rows, P p, float3 o) {\n"
              "  rows[threadIdx.x][0] = p.tag + (float)p.scale + p.shift[2] * 10 + p.weights[3] + o.x + o.z * 2 + "
              "threadIdx.x;\n"
              "}\n",
              "k");
  if (!t.device) return;
  const auto a = upload<float>(t, {0}), b = upload<float>(t, {0});
  const auto table = upload<void*>(t, {a->address(), b->address()});
  const auto program = t.device->load(artifact, device::Launch{{1, 1, 1}, {2, 1, 1}});
  run(*program, arguments(table, Params{3, 2.5, {1, 2, 4}, {0, 0, 0, 100}}, Float3{1000, 0, 2000}));
  CHECK(download<float>(*a)[0] == 5145.5F);
  CHECK(download<float>(*b)[0] == 5146.5F);
}

CONFORMANCE_TEST("a struct of another size than the kernel takes is refused") {
  struct Small {
    int a;
  };
  const build::Artifact artifact =
      compile(t, "struct P { int a, b; };\nextern \"C\" __global__ void k(int* out, P p) { out[0] = p.b; }\n", "k");
  if (!t.device) return;
  const auto out = upload<int>(t, {0});
  const auto program = t.device->load(artifact, device::Launch{});
  CHECK_THROWS_AS(run(*program, arguments(out, Small{1})), build::CandidateFailure);
}

}  // namespace xtune::conformance
