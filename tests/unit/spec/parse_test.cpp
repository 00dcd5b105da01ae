// The result of reading a good spec: every section, overlays, cases and -D.
#include <doctest/doctest.h>

#include <cmath>

#include "core/spec/spec.hpp"
#include "core/spec/template_text.hpp"
#include "specs.hpp"

using namespace xtune::space;
using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

namespace {

std::vector<std::int64_t> integers(const Parameter& parameter) {
  std::vector<std::int64_t> values;
  for (const Value& value : parameter.values) values.push_back(std::get<std::int64_t>(value));
  return values;
}

Spec with_params(const std::string& params) {
  return parse("[kernel]\nname = \"s\"\n[space.params]\n" + params + "\n");
}

}  // namespace

TEST_CASE("derived names stand for their expressions wherever expressions stand") {
  std::string text = good;
  text.replace(text.find("[space]\n"), 0,
               "[derived]\nZ = \"BLOCK_M * BLOCK_N\"\nPER_THREAD = \"Z // THREADS\"\n"
               "A = \"PER_THREAD if RASTER else N\"\n\n");
  const auto edit = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  edit("BLOCK_M * BLOCK_N // THREADS <= 128", "PER_THREAD <= 16 * 8");
  edit("\"ceildiv(N, BLOCK_N)\"", "\"A\"");
  edit("HALF = \"{BLOCK_M // 2}\"", "HALF = \"{Z * 2}\"");
  const Spec spec = parse(text);
  const Bindings device{{"device.shared_per_block_optin", std::int64_t{100000}}};
  CHECK(make_space(spec, spec.cases[0], device).size() == make_space(parse(good), spec.cases[0], device).size());
  const Config config{std::int64_t{64}, std::int64_t{32}, std::int64_t{128},
                      std::int64_t{64}, std::int64_t{4},  std::string("row")};
  const Lookup names = lookup_names(spec.cases[0], device, spec.parameters, &config);
  CHECK(evaluate_integer(spec.launch.grid[0], names) == 16);
  CHECK(expand(spec.kernel.defines[0].second, names) == "4096");
}

TEST_CASE("a full spec, section by section") {
  const Spec spec = parse(good);
  CHECK(spec.kernel.name == "gemm");
  CHECK(spec.kernel.source.is_absolute());
  CHECK(spec.kernel.source.filename() == "gemm.cu");
  CHECK(spec.kernel.entry.text == "gemm<{BLOCK_M}, {BLOCK_N}>");
  CHECK(spec.kernel.options[1].text == "-maxrregcount={MAXREG}");
  CHECK(spec.kernel.defines[0].first == "HALF");
  REQUIRE(spec.cases.size() == 1);
  CHECK(spec.cases[0] == Bindings{{"M", std::int64_t{4096}}, {"N", std::int64_t{1024}}, {"ALPHA", 1.5}});
  std::vector<std::string> names;
  for (const Parameter& parameter : spec.parameters) names.push_back(parameter.name);
  CHECK(names == std::vector<std::string>{"BLOCK_M", "BLOCK_N", "THREADS", "MAXREG", "RASTER", "LAYOUT"});
  CHECK(integers(spec.parameters[1]) == std::vector<std::int64_t>{32, 64, 128});
  CHECK(integers(spec.parameters[2]) == std::vector<std::int64_t>{128, 256});
  CHECK(spec.parameters[0].compile_time);
  CHECK_FALSE(spec.parameters[4].compile_time);
  CHECK(to_string(spec.parameters_at[0]) == "gemm.toml:19:1");
  CHECK(to_string(spec.constraints[0].at) == "gemm.toml:15:4");
  CHECK(spec.launch.grid.size() == 2);
  CHECK(spec.launch.block[1].text == "1");
  CHECK(spec.launch.shared->text == "BLOCK_M * 4");
  REQUIRE(spec.args.size() == 3);
  CHECK(spec.args[0].dtype == DType::f16);
  CHECK(spec.args[0].role == ArgRole::in);
  CHECK(spec.args[0].fill == Fill::automatic);
  CHECK(spec.args[1].role == ArgRole::inout);
  CHECK(spec.args[1].fill == Fill::zero);
  CHECK(spec.args[2].kind == ArgKind::scalar);
  CHECK(spec.args[2].value->text == "ALPHA * RASTER");
  CHECK(spec.validate.reference.kind == ReferenceSpec::Kind::kernel);
  CHECK(spec.validate.reference.launch->block[0].text == "256");
  CHECK(spec.validate.rtol == 1e-2);
  CHECK_FALSE(spec.validate.atol);
  CHECK(spec.measure.rep == 20);
  CHECK(spec.measure.flush == Flush::rotate);
  CHECK(spec.search.strategy == "random");
  CHECK(spec.search.evals == 100);
  CHECK(spec.metrics[0].name == "TFLOPS");
  CHECK(spec.notes.empty());
  CHECK(spec.backend.empty());
  CHECK_FALSE(spec.space_only());
}

TEST_CASE("the shape of a scratch buffer may name parameters") {
  const Spec spec = parse(edited("name = \"alpha\"\nkind = \"scalar\"\ndtype = \"f32\"\nvalue = \"ALPHA * RASTER\"",
                                 "name = \"work\"\ndtype = \"u32\"\nshape = [\"BLOCK_M\", \"ceildiv(M, BLOCK_N)\"]\n"
                                 "role = \"scratch\"\nzero = true"));
  CHECK(spec.args[2].role == ArgRole::scratch);
  CHECK(spec.args[2].fill == Fill::zero);
  CHECK(spec.args[2].shape[0].text == "BLOCK_M");
}

TEST_CASE("fills with numbers") {
  const auto filled = [](const std::string& fill) {
    return parse(edited("dtype = \"f16\"", "dtype = \"i32\"\nfill = " + fill)).args;
  };
  const auto args = filled("{ integers = [0, \"M\"] }");
  CHECK(args[0].fill == Fill::integers);
  REQUIRE(args[0].numbers.size() == 2);
  CHECK(args[0].numbers[0].text == "0");
  CHECK(args[0].numbers[1].text == "M");
  CHECK(args[1].numbers.empty());
  // The name of a buffer stands for its number of elements.
  CHECK(filled("{ offsets = \"C + 1\" }")[0].numbers.at(0).text == "C + 1");
  CHECK(filled("{ one_hot = 2 }")[0].fill == Fill::one_hot);
  CHECK(filled("\"permutation\"")[0].fill == Fill::permutation);
  CHECK(filled("{ formula = \"index % M + i0\" }")[0].numbers.at(0).text == "index % M + i0");
  CHECK_THROWS_AS(filled("{ formula = \"index % X\" }"), const Error&);
  CHECK_THROWS_AS(filled("{ formula = \"i1 + M\" }\n[derived]\ni1 = \"M\""), const Error&);
  CHECK_THROWS_AS(filled("{ integers = [0, \"index\"] }"), const Error&);
}

TEST_CASE("a restricted spec also has the whole space") {
  const auto with = [](const SpecOptions& options) { return parse(good, options); };
  const Spec plain = with({});
  CHECK_FALSE(plain.unrestricted);
  CHECK_FALSE(with({{{"M", "64"}}, ""}).unrestricted);
  SpecOptions partly;
  partly.partition = {1, 2};
  SpecOptions filtered;
  filtered.filters = {"BLOCK_N > 32"};
  for (const SpecOptions& options : {SpecOptions{{{"BLOCK_N", "64"}}, ""}, partly, filtered}) {
    const Spec spec = with(options);
    REQUIRE(spec.unrestricted);
    CHECK(integers(spec.unrestricted->parameters[1]) == integers(plain.parameters[1]));
    CHECK(spec.unrestricted->constraints.size() == plain.constraints.size());
    CHECK(spec.unrestricted->partition.count == 1);
  }
}

TEST_CASE("a constant: data of a variable, or one value") {
  const Spec spec = parse(edited("kind = \"scalar\"\ndtype = \"f32\"\nvalue = \"ALPHA * RASTER\"",
                                 "kind = \"constant\"\ndtype = \"f32\"\nvalue = \"ALPHA * 2\"\n[[args]]\nname = \"w\"\n"
                                 "kind = \"constant\"\ndtype = \"f16\"\nshape = [\"M\", 3]\nfill = \"one\"\n"
                                 "symbol = \"ns::w<{BLOCK_M}>\""));
  REQUIRE(spec.args.size() == 4);
  CHECK(spec.args[2].kind == ArgKind::constant);
  CHECK(spec.args[2].value->text == "ALPHA * 2");
  CHECK_FALSE(spec.args[2].symbol);
  CHECK(spec.args[3].symbol->text == "ns::w<{BLOCK_M}>");
  CHECK(spec.args[3].shape.size() == 2);
  CHECK(spec.args[3].fill == Fill::one);
  CHECK(spec.args[3].role == ArgRole::in);
}

TEST_CASE("a spec may have only a space") {
  const Spec spec =
      parse("[kernel]\nname = \"s\"\n[space]\nconstraints = [\"A > 1\", true]\n[space.params]\nA = [1, 2, 3]\n");
  CHECK(spec.space_only());
  CHECK(make_space(spec, spec.cases.front(), {}).size() == 2);
}

TEST_CASE("ranges and values") {
  CHECK(integers(with_params("A = { min = 2, max = 5 }").parameters[0]) == std::vector<std::int64_t>{2, 3, 4, 5});
  CHECK(integers(with_params("A = { min = -1, max = 6, step = 3 }").parameters[0]) ==
        std::vector<std::int64_t>{-1, 2, 5});
  CHECK(integers(with_params("A = { min = 1, max = 9, scale = \"pow2\" }").parameters[0]) ==
        std::vector<std::int64_t>{1, 2, 4, 8});
  const auto powers =
      integers(with_params("A = { min = 1, max = 9223372036854775807, scale = \"pow2\" }").parameters[0]);
  CHECK(powers.size() == 63);
  CHECK(with_params("A = { min = 0.0, max = 0.3, step = 0.1 }").parameters[0].values.size() == 4);
  const auto floats = [](const std::string& range) { return with_params("A = " + range).parameters[0].values; };
  CHECK(floats("{ min = 0, max = 1, step = 0.1 }") ==
        std::vector<Value>{0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0});
  CHECK(floats("{ min = -0.3, max = 0.3, step = 0.1 }") == std::vector<Value>{-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3});
  CHECK(floats("{ min = 1e-7, max = 3e-7, step = 1e-7 }") == std::vector<Value>{1e-7, 2e-7, 3e-7});
  CHECK(floats("{ min = 1.05, max = 1.2, step = 0.05 }") == std::vector<Value>{1.05, 1.1, 1.15, 1.2});
  CHECK(floats("{ min = 1e20, max = 3e20, step = 1e20 }") == std::vector<Value>{1e20, 2e20, 3e20});
  CHECK(with_params("A = { min = 0, max = 1, step = 0.5 }").parameters[0].values == std::vector<Value>{0.0, 0.5, 1.0});
  CHECK(with_params("A = [true, false]").parameters[0].values == std::vector<Value>{true, false});
}

TEST_CASE("the overlay of the chosen backend, and only that") {
  const Spec host = parse(good, {{}, "host"});
  CHECK(host.backend == "host");
  CHECK(host.cases[0].at("M") == Value{std::int64_t{256}});
  CHECK(host.cases[0].at("N") == Value{std::int64_t{1024}});
  CHECK(integers(host.parameters[0]) == std::vector<std::int64_t>{8, 16});
  CHECK(host.parameters[0].name == "BLOCK_M");
  CHECK(host.search.evals == 10);
  CHECK(host.search.strategy == "random");
  CHECK(host.notes == std::vector<std::string>{"on the CPU: M = 256; other values of BLOCK_M (gemm.toml [on.host])"});
  // Values from -D are not noted.
  CHECK(parse(good, {{{"M", "9"}}, "host"}).notes ==
        std::vector<std::string>{"on the CPU: other values of BLOCK_M (gemm.toml [on.host])"});
  CHECK(parse(good, {{{"M", "9"}, {"BLOCK_M", "8"}}, "host"}).notes.empty());
  std::string many = "[kernel]\nname = \"k\"\n[space.params]\n", overlay = "[on.host.space.params]\n";
  for (const char name : std::string("ABCDEF")) {
    many += std::string(1, name) + " = [1, 2]\n";
    overlay += std::string(1, name) + " = [3]\n";
  }
  CHECK(parse(many + overlay, {{}, "host"}).notes ==
        std::vector<std::string>{"on the CPU: other values of 6 parameters (gemm.toml [on.host])"});
  const Spec cuda = parse(good, {{}, "cuda"});
  CHECK(cuda.backend.empty());
  CHECK(cuda.cases[0].at("M") == Value{std::int64_t{4096}});
  const std::string more = good +
                           "[on.cuda]\nkernel.options = [\"-lineinfo\"]\nkernel.controls = \"c/{BLOCK_M}\"\nvalidate = "
                           "{ rtol = 0.5 }\nmeasure = { rep = 9 }\n"
                           "space.constraints = []\n[[on.cuda.cases]]\nM = 1\n[[on.cuda.cases]]\nM = 2\n";
  const Spec other = parse(more, {{}, "cuda"});
  CHECK(other.kernel.options.size() == 1);
  CHECK(other.kernel.controls.value().text == "c/{BLOCK_M}");
  CHECK_FALSE(parse(more).kernel.controls);
  CHECK(other.validate.rtol == 0.5);
  CHECK(other.validate.reference.kind == ReferenceSpec::Kind::kernel);
  CHECK(other.measure.rep == 9);
  CHECK(other.measure.flush == Flush::rotate);
  CHECK(other.constraints.empty());
  CHECK(other.cases.size() == 2);
  CHECK(parse(more).constraints.size() == 2);
}

TEST_CASE("cases override the problem, and -D overrides the cases") {
  const std::string cases = good + "[[cases]]\nM = 1\n[[cases]]\nM = 2\nN = 8\n[[cases]]\nALPHA = 2\n";
  const Spec spec = parse(cases);
  REQUIRE(spec.cases.size() == 3);
  CHECK(spec.cases[1].at("N") == Value{std::int64_t{8}});
  CHECK(spec.cases[2].at("ALPHA") == Value{2.0});
  CHECK(parse(cases, {{{"M", "5"}}, ""}).cases.size() == 3);
  const Spec collapsed = parse(cases, {{{"M", "5"}, {"N", "6"}}, ""});
  REQUIRE(collapsed.cases.size() == 2);
  CHECK(collapsed.cases[0].at("M") == Value{std::int64_t{5}});
  CHECK(collapsed.notes == std::vector<std::string>{"-D M = 5 in every case", "-D N = 6 in every case"});
}

TEST_CASE("-D sets problem sizes and pins parameters") {
  const Spec spec = parse(good, {{{"M", "512"}, {"ALPHA", "2"}, {"BLOCK_M", "128"}, {"LAYOUT", "diagonal"}}, ""});
  CHECK(spec.cases[0].at("M") == Value{std::int64_t{512}});
  CHECK(spec.cases[0].at("ALPHA") == Value{2.0});
  CHECK(spec.parameters[0].values == std::vector<Value>{std::int64_t{128}});
  CHECK(spec.notes == std::vector<std::string>{"-D LAYOUT = diagonal (not among [row, column])"});
  CHECK(failure(good, {{{"BLOCK", "1"}}, ""}) ==
        "invalid_argument: -D BLOCK: neither a problem size nor a parameter of gemm.toml (did you mean 'BLOCK_M'?)");
  CHECK(failure(good, {{{"M", "many"}}, ""}) == "invalid_argument: -D M=many: M is an integer, and 'many' is not");
  CHECK(failure(good, {{{"M", ""}}, ""}).find("M is an integer") != std::string::npos);
  CHECK(failure(good, {{{"M", "1.5"}}, ""}).find("M is an integer") != std::string::npos);
  CHECK(failure(good, {{{"M", "99999999999999999999"}}, ""}).find("M is an integer") != std::string::npos);
  CHECK(failure(good, {{{"ALPHA", "inf"}}, ""}).find("ALPHA is a float") != std::string::npos);
}

TEST_CASE("the source's text may stand in the spec") {
  const std::string text = edited("source = \"gemm.cu\"", "code = '''\n// first\nint tab = '\\t';\n'''");
  const Spec spec = parse(text);
  REQUIRE(spec.kernel.code);
  CHECK(spec.kernel.source == spec.path);
  const SourceText source = read_source(spec, spec.kernel.source);
  CHECK(source.path == spec.path);
  CHECK(source.text == "// first\nint tab = '\\t';\n");
  CHECK(source.first_line == 4);
  CHECK(read_source(spec, spec.validate.reference.source).text == "__global__ void naive() {}\n");
  CHECK(read_source(spec, spec.validate.reference.source).first_line == 1);
  const auto with = [](const std::string& code) {
    const Spec with_code = parse(edited("source = \"gemm.cu\"", "code = " + code));
    return read_source(with_code, with_code.kernel.source);
  };
  CHECK(with("\"\"\"int a;\nint b;\"\"\"").first_line == 3);
  CHECK(with("\"\"\"\r\nint a;\r\nint b;\"\"\"").first_line == 4);
  // One line of the spec, whose lines are none of the file's.
  CHECK(with("\"int a;\\nint b;\"").text == "int a;\nint b;");
  CHECK(with("\"int a;\\nint b;\"").first_line == 1);
}

TEST_CASE("the forms of a reference") {
  const std::string kernel = "{ kernel = \"naive\", source = \"naive.cu\", grid = [\"M\"], block = [256] }";
  const Spec builtin =
      parse(edited(kernel, "{ builtin = \"gemm\", output = \"C\", a = \"A\", b = \"A\", alpha = 1.5, op = \"sum\" }"));
  CHECK(builtin.validate.reference.kind == ReferenceSpec::Kind::builtin);
  CHECK(builtin.validate.reference.output == "C");
  REQUIRE(builtin.validate.reference.bindings.size() == 4);
  CHECK(builtin.validate.reference.bindings[0].first == "a");
  CHECK(builtin.validate.reference.bindings[2].second.text == "1.5");
  const Spec file = parse(edited(kernel, "{ file = \"c.npy\" }"));
  CHECK(file.validate.reference.kind == ReferenceSpec::Kind::file);
  CHECK(file.validate.reference.file.is_absolute());
  const Spec command = parse(edited(kernel, "{ command = \"python3  ref.py {M}\" }"));
  CHECK(command.validate.reference.kind == ReferenceSpec::Kind::command);
  REQUIRE(command.validate.reference.command.size() == 3);
  CHECK(command.validate.reference.command[1].text == "ref.py");
  CHECK(command.validate.reference.command[2].text == "{M}");
  CHECK(parse(edited(kernel, "{ command = [\"sh\", \"-c\", \"a | b\"] }")).validate.reference.command[2].text ==
        "a | b");
  const Spec own = parse(edited(kernel, "{ kernel = \"naive\" }"));
  CHECK(own.validate.reference.source == own.kernel.source);
  CHECK_FALSE(own.validate.reference.launch);
}

TEST_CASE("A type that the problem decides on is one of each problem") {
  std::string text = edited("M = 4096", "M = 4096\nTYPE = \"f16\"");
  text = edited("dtype = \"f16\"", "dtype = \"{TYPE}\"", text);
  text = edited("rtol = 1e-2", "accumulate = \"{'f64' if TYPE == 'f64' else 'f32'}\"", text);
  const Spec spec = parse(text + "[[cases]]\n[[cases]]\nTYPE = \"f64\"\n");
  CHECK(spec.args[0].dtype == DType::f16);
  CHECK(dtype_of(spec.args[0], spec.cases[0]) == DType::f16);
  CHECK(dtype_of(spec.args[0], spec.cases[1]) == DType::f64);
  CHECK(dtype_of(spec.args[1], spec.cases[1]) == DType::f32);
  CHECK(dtype_in(spec.validate.accumulate_text, *spec.validate.accumulate, spec.cases[1]) == DType::f64);
  CHECK(parse(text, {{{"TYPE", "bf16"}}, ""}).args[0].dtype == DType::bf16);
}

TEST_CASE("A reference at one configuration: what it does not name has its first value, whatever -D pins") {
  const std::string kernel = "{ kernel = \"naive\", source = \"naive.cu\", grid = [\"M\"], block = [256] }";
  const std::string text = edited("BLOCK_M = [8, 16]", "THREADS = [128]",
                                  edited(kernel, "{ config = { BLOCK_N = 64, LAYOUT = \"column\" } }"));
  const Bindings expected{{"BLOCK_M", std::int64_t{64}},  {"BLOCK_N", std::int64_t{64}},
                          {"THREADS", std::int64_t{128}}, {"MAXREG", std::int64_t{64}},
                          {"RASTER", std::int64_t{0}},    {"LAYOUT", std::string("column")}};
  for (const char* pinned : {"64", "256"}) {
    const Spec spec = parse(text, {{{"BLOCK_M", pinned}, {"BLOCK_N", "32"}}, ""});
    CHECK(spec.validate.reference.kind == ReferenceSpec::Kind::kernel);
    CHECK(spec.validate.reference.config == expected);
    CHECK(spec.validate.reference.source == spec.kernel.source);
  }
  CHECK(parse(text).validate.reference.name ==
        "gemm at BLOCK_M=64 BLOCK_N=64 THREADS=128 MAXREG=64 RASTER=0 LAYOUT=column");
  CHECK(parse(edited("BLOCK_M = [8, 16]", "THREADS = [128]", edited(kernel, "{ config = {} }")))
            .validate.reference.config->at("BLOCK_M") == Value(std::int64_t{64}));
}

TEST_CASE(
    "dispatch has a radius and a default; without them any distance counts, and the space's first is the default") {
  CHECK(std::isinf(parse(good).dispatch.radius));
  CHECK_FALSE(parse(good).dispatch.default_config);
  CHECK(parse(good).validate.time_reference);
  const std::string text = edited("[metrics]", "[dispatch]\nradius = 1.5\ndefault = { BLOCK_N = 64 }\n[metrics]",
                                  edited("rtol = 1e-2", "time_reference = false"));
  const Spec spec = parse(text);
  CHECK(spec.dispatch.radius == 1.5);
  REQUIRE(spec.dispatch.default_config);
  CHECK(spec.dispatch.default_config->size() == spec.parameters.size());
  CHECK(spec.dispatch.default_config->at("BLOCK_N") == Value(std::int64_t{64}));
  CHECK_FALSE(spec.validate.time_reference);
}

TEST_CASE("settings that determine whether results agree") {
  const Spec plain = parse(good);
  CHECK(plain.validate.outlier_factor == 10);
  CHECK_FALSE(plain.validate.reduction);
  CHECK_FALSE(plain.validate.accumulate);
  const Spec spec = parse(edited("rtol = 1e-2", "outlier_factor = 4\nreduction = \"M + 1\"\naccumulate = \"f16\""));
  CHECK(spec.validate.outlier_factor == 4);
  CHECK(spec.validate.reduction->text == "M + 1");
  CHECK(spec.validate.accumulate == DType::f16);
  CHECK(parse(edited("rtol = 1e-2", "reduction = 64")).validate.reduction->text == "64");
}

TEST_CASE("race and finals; an objective has one goal or two, of names that can be measured") {
  CHECK(parse(edited("rep = 20", "rep = 20")).measure.race);
  CHECK(parse(edited("rep = 20", "rep = 20\nrace = false\nfinals = 3")).measure.finals == 3);
  CHECK_FALSE(parse(edited("rep = 20", "race = false")).measure.race);
  const auto with = [](const std::string& lines) {
    return edited("[metrics]", "[objective]\n" + lines + "\n[metrics]");
  };
  const ObjectiveSpec objective =
      parse(with("maximize = \"1 / time_s\"\nminimize = \"energy_j + registers\"\nacross = \"worst\"")).objective;
  REQUIRE(objective.goals.size() == 2);
  CHECK(objective.goals[0].maximize);
  CHECK(objective.goals[1].expression.text == "energy_j + registers");
  CHECK_FALSE(objective.goals[1].maximize);
  CHECK(objective.across == ObjectiveSpec::Across::worst);
  CHECK(parse(good).measure.energy_ms == 0);
  CHECK(parse(with("minimize = \"energy_j\"")).measure.energy_ms == 300);
  CHECK(parse(with("minimize = [\"time_ms\", \"spilled_bytes\"]")).objective.goals.size() == 2);
  CHECK(failure(with("minimize = [\"time_ms\", \"energy_j\"]\nmaximize = \"registers\"")).find("has 3 goals") !=
        std::string::npos);
  CHECK(
      failure(with("minimize = \"energy\"")).find("unknown name 'energy' in an objective (did you mean 'energy_j'?)") !=
      std::string::npos);
  CHECK(failure(with("across = \"mean\"")).find("mean") != std::string::npos);
  CHECK(failure(with("minimise = \"time_ms\"")).find("did you mean 'minimize'?") != std::string::npos);
}

TEST_CASE("a low rep lowers min_rep, and a high min_rep raises rep") {
  CHECK(parse(edited("rep = 20", "rep = 2")).measure.min_rep == 2);
  CHECK(parse(edited("rep = 20", "min_rep = 80")).measure.rep == 80);
  CHECK(failure(edited("rep = 20", "rep = 2\nmin_rep = 3")).find("min_rep = 3 is more than rep = 2") !=
        std::string::npos);
}

TEST_CASE("mode and flush say the same: hot is without a flush") {
  const auto flush_of = [](const std::string& keys) {
    std::string text = good;
    const std::string key = "flush = \"rotate\"";
    return parse(text.replace(text.find(key), key.size(), keys)).measure.flush;
  };
  CHECK(flush_of("") == Flush::l2);
  CHECK(flush_of("mode = \"cold\"") == Flush::l2);
  CHECK(flush_of("mode = \"hot\"") == Flush::none);
  CHECK(flush_of("mode = \"cold\"\nflush = \"rotate\"") == Flush::rotate);
  CHECK(flush_of("mode = \"hot\"\nflush = \"none\"") == Flush::none);
}

TEST_CASE("parameters whose values belong together are a table of rows") {
  const Spec spec = with_params("\"TILE_M, TILE_N\" = [[128, 64], [64, 64], [64, 128]]\nSTAGES = [2, 3]");
  REQUIRE(spec.parameters.size() == 3);
  CHECK(spec.parameters[0].name == "TILE_M");
  CHECK(integers(spec.parameters[0]) == std::vector<std::int64_t>{128, 64});
  CHECK(integers(spec.parameters[1]) == std::vector<std::int64_t>{64, 128});
  CHECK(to_string(spec.parameters_at[1]) == "gemm.toml:4:1");
  const Space space = make_space(spec, spec.cases[0], {});
  CHECK(space.size() == 6);
  CHECK(space.index_of({{"TILE_M", std::int64_t{64}}, {"TILE_N", std::int64_t{128}}, {"STAGES", std::int64_t{2}}}));
  CHECK_FALSE(
      space.index_of({{"TILE_M", std::int64_t{128}}, {"TILE_N", std::int64_t{128}}, {"STAGES", std::int64_t{2}}}));
}

TEST_CASE("rows may have values of any type, and need no compilation of their own") {
  const Spec spec = with_params(
      R"("NAME,SCALE,FLAG" = { values = [['a\b"' , -0.5, true], ["it's", 1e300, false]], compile_time = false })");
  CHECK_FALSE(spec.parameters[2].compile_time);
  const Space space = make_space(spec, spec.cases[0], {});
  REQUIRE(space.size() == 2);
  CHECK(space.index_of({{"NAME", "it's"}, {"SCALE", 1e300}, {"FLAG", false}}));
  CHECK(space.index_of({{"NAME", "a\\b\""}, {"SCALE", -0.5}, {"FLAG", true}}));
}

TEST_CASE("-D pins one of several parameters that belong together") {
  const std::string text = "[kernel]\nname = \"s\"\n[space.params]\n\"A, B\" = [[1, 2], [1, 3], [4, 2]]\n";
  const Spec pinned = parse(text, {{{"A", "1"}}, ""});
  CHECK(make_space(pinned, pinned.cases[0], {}).size() == 2);
  const Spec none = parse(text, {{{"A", "4"}, {"B", "3"}}, ""});
  try {
    make_space(none, none.cases[0], {});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::nothing_valid);
    CHECK(std::string(error.what()).find("(A == 1 and B == 2) or") != std::string::npos);
  }
}

TEST_CASE("a table of a thousand rows is solved") {
  std::string rows;
  for (int i = 0; i < 1000; ++i) rows += (i ? ", [" : "[") + std::to_string(i) + ", " + std::to_string(i % 7) + "]";
  const Spec spec = with_params("\"A, B\" = [" + rows + "]");
  CHECK(make_space(spec, spec.cases[0], {}).size() == 1000);
}

TEST_CASE("repeatable and repeat: a condition, a fact, or neither") {
  const auto validate = [](const std::string& keys) { return edited("[validate]", "[validate]\n" + keys); };
  CHECK(parse(good).validate.repeatable == Repeatable::ignore);
  const ValidateSpec condition = parse(validate("repeatable = \"bitwise\"")).validate;
  CHECK(condition.repeatable == Repeatable::bitwise);
  CHECK(condition.repeat == 3);
  CHECK(parse(validate("repeat = 5")).validate.repeatable == Repeatable::bitwise);
  const ValidateSpec fact = parse(validate("repeatable = \"record\"\nrepeat = 5")).validate;
  CHECK(fact.repeatable == Repeatable::record);
  CHECK(fact.repeat == 5);
  CHECK(failure(validate("repeatable = \"bitwise\"\nrepeat = 0")).find("repeat = 0 leaves nothing to compare") !=
        std::string::npos);
  CHECK(failure(validate("repeatable = \"ignore\"\nrepeat = 2")).find("remove one of the two") != std::string::npos);
  CHECK(failure(validate("repeatable = \"bits\"")).find("bitwise") != std::string::npos);
}

TEST_CASE("launch and outliers of [measure]") {
  CHECK(parse(good).measure.launch == LaunchBy::stream);
  CHECK(parse(edited("rep = 20", "launch = \"graph\"")).measure.launch == LaunchBy::graph);
  CHECK(failure(edited("rep = 20", "launch = \"graf\"")).find("did you mean 'graph'?") != std::string::npos);
  const auto ranking = [](const std::string& keys) { return parse(edited("rep = 20", keys)).measure.statistic; };
  CHECK(ranking("statistic = \"mean\"") == Statistic::mean);
  CHECK(ranking("outliers = \"drop\"\nstatistic = \"mean\"") == Statistic::inlier_mean);
  CHECK(ranking("outliers = \"keep\"\nstatistic = \"mean\"") == Statistic::mean);
  CHECK(ranking("outliers = \"drop\"") == Statistic::median);
  CHECK(failure(edited("rep = 20", "statistic = \"mean without outliers\"")).find("statistic") != std::string::npos);
}
