# SPDX-License-Identifier: Apache-2.0
"""The kernels that come with xtune, called with their inputs only, against PyTorch on an NVIDIA GPU."""
import os
import unittest

from support import xtune

try:
    import torch
    from torch.nn import functional

    HAS_GPU = torch.cuda.is_available()
except ImportError:
    HAS_GPU = False

BACKEND = os.environ.get("XTUNE_TEST_BACKEND", "cuda")


def random(*shape, dtype=None):
    return torch.randn(*shape, device="cuda").to(dtype or torch.float32)


@unittest.skipUnless(HAS_GPU, "PyTorch with a GPU is not installed")
class Kernels(unittest.TestCase):
    def check(self, name, inputs, expected, tolerance=2e-2, **words):
        got = xtune.load(name, backend=BACKEND)(*inputs, **words)
        self.compare(name, got, expected, tolerance)
        return got

    def compare(self, name, got, expected, tolerance):
        self.assertEqual(got.shape, expected.shape)
        expected = expected.double()
        error = (got.double() - expected).abs().max() / expected.abs().max()
        self.assertLess(error.item(), tolerance, name)

    def test_products(self):
        a, b, x = random(300, 170), random(170, 250), random(170)
        self.check("gemm", (a, b), a.double() @ b.double(), 1e-4)
        self.check("gemv", (a, x), a.double() @ x.double(), 1e-4)
        a, b = random(300, 176, dtype=torch.float16), random(176, 256, dtype=torch.float16)
        self.check("gemm_f16", (a, b), a.double() @ b.double())
        self.check("hadamard", (a[:, :128].float().contiguous(),), a[:, :128].double() @ self.hadamard(128), 1e-4)

    def hadamard(self, n):
        matrix = torch.ones(1, 1, device="cuda", dtype=torch.double)
        while len(matrix) < n:
            matrix = torch.cat([torch.cat([matrix, matrix], 1), torch.cat([matrix, -matrix], 1)])
        return matrix / n**0.5

    def test_the_flagship_product(self):
        for dtype in (torch.bfloat16, torch.float16):
            a, b, d = random(500, 1000, dtype=dtype), random(1000, 696, dtype=dtype), random(500, 696, dtype=dtype)
            bias, product = random(696), a.double() @ b.double()
            self.check("gemm_hopper", (a, b), product)
            self.check("gemm_hopper", (a.t().contiguous().t(), b), product)
            self.check("gemm_hopper", (a, b.t().contiguous().t()), product)
            self.check("gemm_hopper", (a, b), product + bias, bias=bias)
            self.check("gemm_hopper", (a, b), 2 * product + 3 * d.double(), D=d, alpha=2, beta=3)
            self.check("gemm_hopper", (a, b), product.relu(), ACTIVATION=1)
        a, b = random(256, 512).to(torch.float8_e4m3fn), random(256, 512).to(torch.float8_e4m3fn)
        self.check("gemm_hopper", (a, b.t()), a.double() @ b.double().t())

    def test_grouped_products(self):
        a, b = random(300, 128, dtype=torch.bfloat16), random(5, 128, 96, dtype=torch.bfloat16)
        sizes = [0, 37, 0, 163, 100]
        ends = torch.tensor(sizes, device="cuda").cumsum(0).to(torch.int32)
        product = torch.cat([rows.double() @ matrix.double() for rows, matrix in zip(a.split(sizes), b)])
        self.check("gemm_grouped", (a, b, ends), product)

    def test_rows(self):
        x, gamma, beta = random(100, 1000), random(1000), random(1000)
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            self.check("softmax", (x.to(dtype),), x.to(dtype).double().softmax(1))
        self.check("layernorm", (x, gamma, beta), functional.layer_norm(x, (1000,), gamma, beta), 1e-4)
        self.check("rmsnorm", (x, gamma), functional.rms_norm(x, (1000,), gamma, 1e-5), 1e-4)
        self.check("transpose", (x,), x.t(), 1e-9)
        cube = random(30, 100, 40)
        self.check("reduce_axis", (cube,), cube.double().sum(1), 1e-4)
        ones = torch.ones(1000003, device="cuda")
        self.check("reduction", (ones,), ones.double().sum().reshape(1), 1e-6)

    def test_counts(self):
        keys = torch.randint(0, 256, (100000,), device="cuda", dtype=torch.uint8)
        counts = torch.zeros(256, device="cuda", dtype=torch.uint32)
        self.assertIsNone(xtune.load("histogram", backend=BACKEND)(keys, counts, TYPE="u8"))
        self.assertEqual(counts.tolist(), torch.bincount(keys.int(), minlength=256).tolist())

    def test_a_sparse_matrix(self):
        dense = torch.where(torch.rand(2000, 1500, device="cuda") < 0.02, random(2000, 1500), 0)
        matrix, x, y = dense.to_sparse_csr(), random(1500), torch.zeros(2000, device="cuda")
        columns = matrix.col_indices().int().view(torch.uint32)
        self.assertIsNone(
            xtune.load("spmv", backend=BACKEND)(matrix.crow_indices().int(), columns, matrix.values(), x, y)
        )
        self.compare("spmv", y, dense.double() @ x.double(), 1e-4)

    def test_grids(self):
        x, cube, inner = random(300, 170), random(30, 40, 50), slice(1, -1)
        y = xtune.load("stencil_2d", backend=BACKEND)(x)
        near = x[:-2, inner] + x[2:, inner] + x[inner, :-2] + x[inner, 2:]
        self.compare("stencil_2d", y[inner, inner], 0.5 * x[inner, inner] + 0.11 * near, 1e-4)
        y = xtune.load("stencil_3d", backend=BACKEND)(cube)
        near = cube[:-2, inner, inner] + cube[2:, inner, inner] + cube[inner, :-2, inner] + cube[inner, 2:, inner]
        near = near + cube[inner, inner, :-2] + cube[inner, inner, 2:]
        self.compare("stencil_3d", y[inner, inner, inner], 0.4 * cube[inner, inner, inner] + 0.07 * near, 1e-4)
        images, filters = random(4, 16, 28, 30), random(32, 16, 3, 3)
        self.check("conv2d", (images, filters), functional.conv2d(images.double(), filters.double(), padding=1))
        strided = functional.conv2d(images.double(), filters.double(), stride=2)
        self.check("conv2d", (images, filters), strided, STRIDE=2, PADDING=0)

    def test_bodies(self):
        bodies = random(500, 4).abs()
        place, mass = bodies[:, :3].double(), bodies[:, 3].double()
        apart = place[None] - place[:, None]
        pull = (apart * (mass / ((apart**2).sum(-1) + 0.01) ** 1.5)[..., None]).sum(1)
        self.compare("nbody", xtune.load("nbody", backend=BACKEND)(bodies)[:, :3], pull, 1e-3)

    def attention(self, q, k, v, mask=None, **words):
        heads_first = [each.transpose(-3, -2).double() for each in (q, k, v)]
        return functional.scaled_dot_product_attention(*heads_first, mask, **words).transpose(-3, -2)

    def test_attention(self):
        q, k, v = (random(2, 600, 8, 128, dtype=torch.bfloat16) for _ in range(3))
        for causal in (False, True):
            self.check("attention_hopper", (q, k, v), self.attention(q, k, v, is_causal=causal), CAUSAL=causal)
        begin = torch.tensor([0, 100, 400, 457], device="cuda", dtype=torch.int32)
        q, k, v = (random(457, 8, 128, dtype=torch.bfloat16) for _ in range(3))
        pieces = [slice(0, 100), slice(100, 400), slice(400, 457)]
        expected = torch.cat([self.attention(q[each], k[each], v[each]) for each in pieces])
        self.check("attention_hopper_variable", (q, k, v, begin), expected, SEQ=300)

    def test_attention_to_chosen_blocks(self):
        seq, kv_heads, group, size = 1000, 2, 16, 64
        q = random(1, seq, kv_heads * group, 128, dtype=torch.bfloat16)
        k, v = (random(1, seq, kv_heads, 128, dtype=torch.bfloat16) for _ in range(2))
        choices = torch.randint(-1, 16, (1, seq, kv_heads, 4), device="cuda", dtype=torch.int32)
        choices[..., 0] = 0  # each position sees a key
        blocks = torch.arange(16, device="cuda")
        chosen = (choices[..., None] == blocks).any(-2)[0]  # position, head, block
        seen = (
            chosen.repeat_interleave(size, -1)[..., :seq].transpose(0, 1)
            & torch.ones(seq, seq, device="cuda").tril().bool()
        )
        many = [each.repeat_interleave(group, 2) for each in (k, v)]
        expected = self.attention(q, *many, seen.repeat_interleave(group, 0)[None])
        self.check("sparse_attention", (q, k, v, choices), expected)

    def rule(self, q, k, v, gate, beta):
        """The gated delta rule, row after row: the outputs and the last state."""
        state = torch.zeros(*k.shape[::2], k.shape[3], v.shape[3], device="cuda", dtype=torch.double)
        outputs = []
        for t in range(k.shape[1]):
            state = state * gate[:, t, :, None, None]
            known = torch.einsum("bhk,bhkv->bhv", k[:, t], state)
            change = beta[:, t, :, None] * (v[:, t] - known)
            state = state + k[:, t, :, :, None] * change[:, :, None]
            outputs.append(torch.einsum("bhk,bhkv->bhv", q[:, t], state))
        return torch.stack(outputs, 1), state

    def test_the_gated_delta_rule(self):
        q, k, v = (random(2, 200, 3, 128, dtype=torch.bfloat16) for _ in range(3))
        gates, betas = random(2, 200, 3), random(2, 200, 3)
        got, last = xtune.load("gated_delta", backend=BACKEND)(q, k, v, gates, betas)
        long = [functional.normalize(each.double(), dim=-1) for each in (q, k)]
        gate = torch.exp(-functional.softplus(gates.double()))
        expected, state = self.rule(*long, v.double(), gate, betas.double().sigmoid())
        self.compare("gated_delta", got, expected / 128**0.5, 3e-2)
        self.compare("gated_delta", last, state, 3e-2)

    def test_its_state_pass(self):
        k, w = (functional.normalize(random(1, 200, 2, 128), dim=-1).bfloat16() for _ in range(2))
        u, g, h0 = random(1, 200, 2, 128, dtype=torch.bfloat16), -random(1, 200, 2).abs() / 4, random(1, 2, 128, 128)
        h, v_new, last = xtune.load("chunk_delta_h", backend=BACKEND)(k, w, u, g, h0=h0)
        state, states, values = h0.double(), [], []
        for rows in (slice(0, 64), slice(64, 128), slice(128, 192), slice(192, 200)):
            states.append(state)
            value = u[:, rows].double() - torch.einsum("bthk,bhkv->bthv", w[:, rows].double(), state)
            values.append(value)
            end = g[:, rows].double()[:, -1]
            value = value * torch.exp(end[:, None] - g[:, rows].double())[..., None]
            state = state * torch.exp(end)[..., None, None]
            state = state + torch.einsum("bthk,bthv->bhkv", k[:, rows].double(), value)
        self.compare("chunk_delta_h: h", h, torch.stack(states, 1), 3e-2)
        self.compare("chunk_delta_h: v_new", v_new, torch.cat(values, 1), 3e-2)
        self.compare("chunk_delta_h: last", last, state, 3e-2)

    def test_graphs_and_streams(self):
        gemm = xtune.load("gemm_hopper", backend=BACKEND)
        a, b = random(64, 4096, dtype=torch.bfloat16), random(4096, 512, dtype=torch.bfloat16)
        gemm(a, b)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            c = gemm(a, b)
        a.copy_(torch.randn_like(a))
        graph.replay()
        self.compare("a graph", c, a.double() @ b.double(), 2e-2)
        results = []
        for _ in range(4):
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                results.append(gemm(a, b))
        torch.cuda.synchronize()
        for each in results:
            self.compare("a stream", each, a.double() @ b.double(), 2e-2)

    def test_mistakes_are_named(self):
        gemm = xtune.load("gemm_hopper", backend=BACKEND)
        a, b = random(64, 128, dtype=torch.bfloat16), random(128, 64, dtype=torch.bfloat16)
        for words, given, named in (
            ("'B' has 100 elements in dimension 1", (a, random(100, 64, dtype=torch.bfloat16)), {}),
            ("'B' is of f16, so TYPE = f16, but 'A' says bf16", (a, b.half()), {}),
            ("'B'.*host memory", (a, b.cpu()), {}),
            ("'A'.*f64", (a.double(), b), {}),
            ("'A'", (random(64, 256, dtype=torch.bfloat16)[:, ::2], b), {}),
            ("'B'", (a,), {}),
            ("'ACTIVATON' is neither", (a, b), {"ACTIVATON": 1}),
        ):
            with self.assertRaisesRegex(xtune.Error, words):
                gemm(*given, **named)


if __name__ == "__main__":
    unittest.main(verbosity=2)
