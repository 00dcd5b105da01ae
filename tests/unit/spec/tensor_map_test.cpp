// Arguments of kind tensor_map, and the arguments of a reference kernel: read, and refused where they are wrong.
#include <doctest/doctest.h>

#include "specs.hpp"
#include "support/text.hpp"

using namespace xtune::spec;

using namespace xtune;
using namespace xtune::test;

namespace {

/// The kernel takes a map of A, and C; A's map stands before it.
std::string with_map(const std::string& keys, const std::string& a = "shape = [\"M\", \"N\"]",
                     const std::string& validate = "") {
  return "[kernel]\nname = \"k\"\nsource = \"gemm.cu\"\n[problem]\nM = 256\nN = 128\n"
         "[space.params]\nBLOCK = [32, 64]\n[launch]\ngrid = [1]\nblock = [32]\n"
         "[[args]]\nname = \"map\"\nkind = \"tensor_map\"\n" +
         keys + "\n[[args]]\nname = \"A\"\ndtype = \"f16\"\n" + a +
         "\n[[args]]\nname = \"C\"\ndtype = \"f32\"\nshape = [\"M\"]\nrole = \"out\"\n"
         "[[args]]\nname = \"n\"\ndtype = \"i32\"\nvalue = \"N\"\n" +
         validate;
}

}  // namespace

TEST_CASE("a tensor map has the type of its buffer, which may stand after it, and defaults") {
  const Spec spec = parse(with_map("of = \"A\"\nbox = [\"BLOCK\", 64]"));
  REQUIRE(spec.args.front().map);
  const ArgSpec& argument = spec.args.front();
  CHECK(argument.kind == ArgKind::tensor_map);
  CHECK(argument.dtype == DType::f16);
  CHECK(argument.map->of == "A");
  CHECK(argument.map->box.at(0).text == "BLOCK");
  CHECK(argument.map->box.at(1).text == "64");
  CHECK(argument.map->shape.empty());
  CHECK(argument.map->strides.empty());
  CHECK(argument.map->element_strides.empty());
  CHECK_FALSE(argument.map->swizzle);
  CHECK_FALSE(argument.map->l2_promotion);
  CHECK_FALSE(argument.map->interleave);
  CHECK_FALSE(argument.map->tf32);
  CHECK_FALSE(argument.map->nan_outside);
}

TEST_CASE("all that a tensor map can say is read") {
  const Spec spec = parse(
      with_map("of = \"A\"\nbox = [1, \"BLOCK\", 8]\nshape = [\"M\", \"N // 64\", 64]\nstrides = [\"N\", \"BLOCK\"]\n"
               "element_strides = [1, 2, 1]\nswizzle = \"128 if BLOCK > 32 else 64\"\nl2_promotion = 256\n"
               "interleave = 0\noutside = \"nan\"\ndtype = \"bf16\""));
  const TensorMapSpec& map = *spec.args.front().map;
  CHECK(spec.args.front().dtype == DType::bf16);
  CHECK(map.shape.size() == 3);
  CHECK(map.strides.at(1).text == "BLOCK");
  CHECK(map.element_strides.at(1).text == "2");
  CHECK(map.swizzle->text == "128 if BLOCK > 32 else 64");
  CHECK(map.l2_promotion->text == "256");
  CHECK(map.interleave->text == "0");
  CHECK(map.nan_outside);
  const Spec rounded = parse(with_map("of = \"A\"\nbox = [8, 8]\nshape = [8, 8]\ndtype = \"tf32\""));
  CHECK(rounded.args.front().map->tf32);
  CHECK(rounded.args.front().dtype == DType::f32);
}

TEST_CASE("a buffer whose type the problem decides gives that type to its map") {
  const Spec spec =
      parse(edited("M = 256", "M = 256\nTYPE = \"f16\"",
                   edited("dtype = \"f16\"", "dtype = \"{TYPE}\"", with_map("of = \"A\"\nbox = [\"BLOCK\", 64]"))) +
            "[[cases]]\nTYPE = \"bf16\"\n");
  CHECK(dtype_of(spec.args.front(), spec.cases.at(0)) == DType::bf16);
  CHECK(dtype_of(spec.args.front(), {{"M", std::int64_t{1}}, {"TYPE", Value(std::string("f16"))}}) == DType::f16);
}

TEST_CASE("mistakes in a tensor map are refused at their place") {
  const auto refused = [](const std::string& keys, const std::string& message) {
    const std::string error = failure(with_map(keys));
    CAPTURE(keys);
    CAPTURE(error);
    CHECK(has(error, message));
  };
  refused("box = [8, 8]", "the tensor map 'map' has no of: name the buffer that it describes");
  refused("of = \"A\"", "the tensor map 'map' has no box");
  refused("of = \"AA\"\nbox = [8, 8]", "gemm.toml:15:6: of: 'AA' is not a buffer among [[args]] (did you mean 'A'?)");
  refused("of = \"n\"\nbox = [8, 8]", "'n' is not a buffer");
  refused("of = \"map\"\nbox = [8, 8]", "'map' is not a buffer");
  refused("of = \"A\"\nbox = [8]", "box: expected 2, one for each dimension, got 1");
  refused("of = \"A\"\nbox = [8, 8]\nstrides = [1, 1]",
          "strides: expected 1, one for each dimension but the last, got 2");
  refused("of = \"A\"\nbox = [8, 8]\nelement_strides = [1]", "element_strides: expected 2");
  refused("of = \"A\"\nbox = [8, 8]\nshape = [1, 2, 3]", "box: expected 3");
  refused("of = \"A\"\nbox = [8, 8]\ndtype = \"f32\"", "elements of f32 have another size than those of 'A', f16");
  refused("of = \"A\"\nbox = [8, 8]\ndtype = \"tf32\"", "elements of f32 have another size than those of 'A', f16");
  refused("of = \"A\"\nbox = [8, 8]\noutside = \"one\"", "unknown word 'one'; one of zero, nan");
  refused("of = \"A\"\nbox = [8, 8]\nfill = \"zero\"", "the tensor map 'map' has no fill");
  refused("of = \"A\"\nbox = [8, 8]\nrole = \"in\"", "the tensor map 'map' has no role");
  refused("of = \"A\"\nbox = [8, 8]\nswizle = 128", "unknown key 'swizle' in [[args]] (did you mean 'swizzle'?)");
  refused("of = \"A\"\nbox = [\"BLOK\", 8]",
          "unknown name 'BLOK' in an extent of a tensor map (did you mean 'BLOCK'?)");
  refused("of = \"A\"\nbox = [\"N - 128\", 8]", "an extent of a tensor map must be at least 1, and this is 0");
  refused("of = \"A\"\nbox = [8, 8]\nshape = [1, 1, 1, 1, 1, 8]", "has 6 dimensions, and at most 5 are allowed");
  CHECK(has(failure(edited("name = \"A\"\n", "name = \"A\"\nof = \"C\"\n", with_map("of = \"A\"\nbox = [8, 8]"))),
            "only a tensor map has 'of': add kind = \"tensor_map\", or remove it"));
  CHECK(has(failure(edited("kind = \"tensor_map\"\n", "", with_map("of = \"A\"\nbox = [8, 8]"))),
            "only a tensor map has 'of': add kind = \"tensor_map\""));
  CHECK(has(failure(edited("\"tensor_map\"", "\"tensormap\"", with_map("of = \"A\"\nbox = [8, 8]"))),
            "kind: unknown word 'tensormap' (did you mean 'tensor_map'?)"));
}

TEST_CASE("a reference kernel may take other arguments, in its own order") {
  const auto with_reference = [](const std::string& reference) {
    return with_map("of = \"A\"\nbox = [8, 8]", "shape = [\"M\", \"N\"]",
                    "[validate]\nreference = { " + reference + " }\n");
  };
  const Spec spec = parse(with_reference("kernel = \"naive\", args = [\"n\", \"C\", \"A\"]"));
  CHECK(spec.validate.reference.args == std::vector<std::size_t>{3, 2, 1});
  CHECK_FALSE(parse(with_reference("kernel = \"naive\"")).validate.reference.args);
  CHECK(has(failure(with_reference("kernel = \"naive\", args = [\"n\", \"D\"]")),
            "validate.reference.args: 'D' is not an argument in [[args]]"));
  CHECK(has(failure(with_reference("kernel = \"naive\", args = [\"n\", \"A\"]")), "has no argument with role out"));
  CHECK(has(failure(with_reference("config = {}, args = [\"n\"]")), "unknown key 'args'"));
}

TEST_CASE("a kernel may take some of the arguments, in its own order") {
  const auto with_args = [](const std::string& args, const std::string& validate) {
    return edited("source = \"gemm.cu\"", "source = \"gemm.cu\"\nargs = " + args,
                  with_map("of = \"A\"\nbox = [8, 8]", "shape = [\"M\", \"N\"]", validate));
  };
  const std::string naive = "[validate]\nreference = { kernel = \"naive\", args = [\"n\", \"C\", \"A\"] }\n";
  const Spec spec = parse(with_args("[\"n\", \"map\", \"C\"]", ""));
  CHECK(spec.kernel.args == std::vector<std::size_t>{3, 0, 2});
  CHECK(arguments_of(spec, steps_of(spec).at(0).args).at(1)->name == "map");
  CHECK(passed_numbers(spec, spec.kernel.args) == std::vector<std::size_t>{3, 0, 2});
  CHECK(parse(with_args("[\"map\", \"C\"]", naive)).kernel.args->size() == 2);
  CHECK(has(
      failure(with_args("[\"map\", \"C\"]", "")),
      "gemm.toml:27:1: the argument 'n' is not in kernel.args, and no tensor map, struct, table or reference uses it"));
  CHECK(has(failure(with_args("[\"map\", \"D\"]", "")), "kernel.args: 'D' is not an argument in [[args]]"));
  CHECK(has(failure(with_args("[]", "")), "the argument 'map' is not in kernel.args"));
  CHECK(arguments_of(spec, std::nullopt).size() == 4);
  CHECK_FALSE(steps_of(parse(with_map("of = \"A\"\nbox = [8, 8]"))).at(0).args);
}
