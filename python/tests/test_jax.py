# SPDX-License-Identifier: MIT
"""tegula.jax on JAX's default device. Skips without JAX."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
import torch

import reference

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # Tests of PyTorch may run on the same GPU meanwhile.
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import tegula.jax  # noqa: E402
from tegula.jax import dot_product_attention  # noqa: E402

TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
BATCH, HEADS, KV_HEADS, LENGTH_Q, LENGTH_K, DIM = 2, 4, 2, 70, 90, 40
FULL = (BATCH, HEADS, LENGTH_Q, LENGTH_K)

OPTIONS = {
    "plain": {},
    "causal": dict(is_causal=True),
    "window": dict(local_window_size=(20, 5)),
    "symmetric window": dict(local_window_size=7),
    "window open to the left": dict(local_window_size=(10**6, 3)),
    "causal window": dict(is_causal=True, local_window_size=(20, 5)),
    "scale": dict(scale=-0.3),
    "scale of 0": dict(scale=0),
    "bias": dict(bias=lambda: torch.randn(FULL)),
    "bias that repeats": dict(bias=lambda: torch.randn(HEADS, 1, LENGTH_K)),
    "mask": dict(mask=lambda: torch.rand(FULL) < 0.7),
    "mask that repeats": dict(mask=lambda: torch.rand(BATCH, 1, 1, LENGTH_K) < 0.7),
    "bias and mask": dict(bias=lambda: torch.randn(1, HEADS, LENGTH_Q, LENGTH_K),
                          mask=lambda: torch.rand(LENGTH_Q, LENGTH_K) < 0.7),
    "lengths of keys": dict(key_value_seq_lengths=lambda: torch.tensor([33, 90])),
    "lengths of queries": dict(query_seq_lengths=lambda: torch.tensor([70, 1])),
    "lengths, bias and mask": dict(query_seq_lengths=lambda: torch.tensor([64, 5]),
                                   key_value_seq_lengths=lambda: torch.tensor([90, 64]),
                                   bias=lambda: torch.randn(FULL), is_causal=True,
                                   mask=lambda: (torch.rand(FULL) < 0.7) | (torch.arange(LENGTH_K) == 0)),
}


def to_jax(x):
    """Returns a tensor as an array with the same numbers."""
    if not torch.is_tensor(x):
        return x
    dtype = str(x.dtype).removeprefix("torch.")
    return jnp.asarray(x.float().numpy() if x.is_floating_point() else x.numpy()).astype("int32" if dtype == "int64" else dtype)


def to_torch(x):
    dtype = getattr(torch, str(x.dtype))
    return torch.from_numpy(np.array(x.astype(jnp.float32))).to(dtype)


def inputs(dtype=torch.float32, heads=HEADS, kv_heads=KV_HEADS, dim=DIM, value_dim=DIM):
    """Returns q, k, v and d_o."""
    shapes = [(LENGTH_Q, heads, dim), (LENGTH_K, kv_heads, dim), (LENGTH_K, kv_heads, value_dim), (LENGTH_Q, heads, value_dim)]
    return [torch.randn(BATCH, *shape, dtype=dtype) for shape in shapes]


def made(options):
    return {name: value() if callable(value) else value for name, value in options.items()}


def is_visible(lengths, length):
    """Returns bool [batch, length]: True for the first positions."""
    return torch.arange(length)[None] < (torch.full((BATCH,), length) if lengths is None else lengths)[:, None]


def results_of_formula(q, k, v, d_o, d_lse, options):
    """Returns o, lse and the gradients of sum(o d_o) + sum(lse d_lse) by the plain formula. Rows of hidden queries are 0."""
    options = dict(options)
    rows = is_visible(options.pop("query_seq_lengths", None), LENGTH_Q)
    keys = is_visible(options.pop("key_value_seq_lengths", None), LENGTH_K)
    mask = keys[:, None, None] & options.pop("mask", torch.tensor(True))
    left, right = np.broadcast_to(options.pop("local_window_size", (10**6, 10**6)), 2).tolist()
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    names = ["dq", "dk", "dv"]
    if "bias" in options:
        bias = options["bias"].detach()
        options["bias"] = (bias.double() if q.dtype == torch.float64 else bias).requires_grad_()
        leaves.append(options["bias"])
        names.append("dbias")
    o, lse = reference.plain(*(x.transpose(1, 2) for x in leaves[:3]), mask=mask, window=(left, right),
                             causal=options.pop("is_causal", False), **options)
    o, lse = o.transpose(1, 2) * rows[..., None, None], lse.transpose(1, 2) * rows[..., None]
    loss = (o * d_o.to(o.dtype)).sum() + (lse * d_lse.to(lse.dtype)).sum()
    return dict(zip(["o", "lse", *names], [o.detach(), lse.detach(), *torch.autograd.grad(loss, leaves)]))


def results_of_tegula(q, k, v, d_o, d_lse, options):
    options = {name: to_jax(x) for name, x in options.items()}
    bias = options.pop("bias", None)
    lengths = options.get("query_seq_lengths")
    rows = jnp.ones((BATCH, LENGTH_Q), bool) if lengths is None else jnp.arange(LENGTH_Q) < lengths[:, None]

    def loss(q, k, v, bias):
        o, lse = dot_product_attention(q, k, v, bias, return_residual=True, **options)
        assert (o.dtype, lse.dtype) == (q.dtype, jnp.float32)
        finite = jnp.where(rows[..., None], lse, 0)
        return (o.astype(jnp.float32) * to_jax(d_o.float())).sum() + (finite * to_jax(d_lse)).sum(), (o, lse, finite)

    arguments = [to_jax(x) for x in (q, k, v)] + [bias]
    wanted = (0, 1, 2) if bias is None else (0, 1, 2, 3)
    gradients, (o, lse, finite) = jax.jit(jax.grad(loss, wanted, has_aux=True))(*arguments)
    assert (lse[~rows] == -jnp.inf).all() and (o[~rows] == 0).all()
    names = ["o", "lse", "dq", "dk", "dv", "dbias"]
    return {name: to_torch(x) for name, x in zip(names, [o, finite, *gradients])}


def compare(dtype, options, **shapes):
    q, k, v, d_o = inputs(dtype, **shapes)
    options = made(options)
    d_lse = torch.randn(q.shape[:3])
    exact = results_of_formula(q.double(), k.double(), v.double(), d_o.double(), d_lse, options)
    formula = reference.errors_of_formula(lambda *tensors: results_of_formula(*tensors, d_lse, options), [q, k, v, d_o], exact)
    reference.assert_right(results_of_tegula(q, k, v, d_o, d_lse, options), exact, formula)


@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_results_and_gradients_are_right(dtype, options):
    compare(dtype, options)


def test_a_bias_of_16_bits():
    compare(torch.bfloat16, dict(bias=lambda: torch.randn(FULL, dtype=torch.bfloat16)))


@pytest.mark.parametrize("dims", [(8, 8), (13, 13), (59, 111), (256, 256)], ids=str)
def test_head_dimensions(dims):
    compare(torch.float32, dict(is_causal=True), dim=dims[0], value_dim=dims[1])


@pytest.mark.parametrize("kv_heads", [1, 4])
def test_numbers_of_heads(kv_heads):
    compare(torch.float32, {}, kv_heads=kv_heads)


def value_and_gradients(function, arguments, options):
    """Returns the output and the gradients of sum(o * o) for query, key, value and bias."""
    def loss(query, key, value, bias):
        o = function(query, key, value, bias, **options)
        return (o * o).sum(), o

    wanted = (0, 1, 2) if arguments[3] is None else (0, 1, 2, 3)
    with jax.default_matmul_precision("highest"):
        gradients, o = jax.grad(loss, wanted, has_aux=True)(*arguments)
    return [o, *gradients]


def arrays(shape_of_bias=None):
    q, k, v, _ = map(to_jax, inputs())
    return [q, k, v, None if shape_of_bias is None else to_jax(torch.randn(shape_of_bias))]


def assert_close(results, expected):
    """Compares lists of arrays with errors of float32 in mind, which grow with the largest number."""
    assert len(results) == len(expected)
    for x, y in zip(results, expected):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=0, atol=2e-6 * max(1, np.abs(y).max()))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_arguments_mean_what_they_mean_in_jax_nn(options):
    options = {name: to_jax(x) for name, x in made(options).items()}
    arguments = [*arrays()[:3], options.pop("bias", None)]
    assert_close(*(value_and_gradients(function, arguments, options)
                   for function in (dot_product_attention, jax.nn.dot_product_attention)))


def test_inputs_without_a_batch():
    q, k, v, bias = arrays((HEADS, LENGTH_Q, LENGTH_K))
    options = dict(query_seq_lengths=jnp.array([50]), return_residual=True)
    o, lse = dot_product_attention(q[0], k[0], v[0], bias, **options)
    for x, y in zip((o, lse), dot_product_attention(q[:1], k[:1], v[:1], bias, **options)):
        np.testing.assert_array_equal(x[None], y)
    assert jax.nn.dot_product_attention(q[0], k[0], v[0], bias, **options)[1].shape == lse.shape


AXES = {"all": (0, 0, 0, 0), "queries": (0, None, None, None), "other axes": (1, 3, 2, None), "bias": (None, None, None, 0)}


@pytest.mark.parametrize("shape_of_bias", [FULL, (1, HEADS, 1, LENGTH_K)], ids=str)
@pytest.mark.parametrize("axes", AXES.values(), ids=AXES)
def test_vmap_is_a_loop(axes, shape_of_bias):
    mask = to_jax(torch.rand(FULL) < 0.7)
    lengths = jnp.array([[40, 90], [90, 1], [7, 80]])
    single = arrays(shape_of_bias)
    arguments = [x if axis is None else jnp.stack([x, x[::-1] + 1, x * 0.5], axis) for x, axis in zip(single, axes)]

    def function(query, key, value, bias, lengths):
        return value_and_gradients(dot_product_attention, [query, key, value, bias],
                                   dict(mask=mask, key_value_seq_lengths=lengths))

    results = jax.jit(jax.vmap(function, (*axes, 0)))(*arguments, lengths)
    loop = [function(*(x if axis is None else jnp.take(x, n, axis) for x, axis in zip(arguments, axes)), lengths[n])
            for n in range(3)]
    assert_close(results, [jnp.stack(x) for x in zip(*loop)])


def test_nested_vmap():
    q, k, v, _ = arrays()
    many = jnp.stack([jnp.stack([q, -q]), jnp.stack([2 * q, q + 1]), jnp.stack([q, q])])
    nested = jax.vmap(jax.vmap(dot_product_attention, (0, None, None)), (0, None, None))(many, k, v)
    assert_close([nested], [jnp.stack([jnp.stack([dot_product_attention(x, k, v) for x in pair]) for pair in many])])


def test_vmap_of_one():
    q, k, v, bias = arrays(FULL)
    one = jax.vmap(dot_product_attention, (None, None, None, 0))(q, k, v, bias[None])
    assert_close([one], [dot_product_attention(q, k, v, bias)[None]])


def test_checkpoint_and_scan():
    q, k, v, _ = arrays()

    def attend(x):
        return dot_product_attention(x, k, v, is_causal=True)

    def loss(q, layer):
        return (jax.lax.scan(lambda x, _: (layer(x), None), q, length=3)[0]**2).sum()

    assert_close([jax.grad(loss)(q, jax.checkpoint(attend))], [jax.grad(lambda q: (attend(attend(attend(q)))**2).sum())(q)])


def test_a_constant_bias_costs_no_gradient():
    def calls(wanted):
        gradient = jax.grad(lambda *arguments: dot_product_attention(*arguments).sum(), wanted)
        return str(jax.make_jaxpr(gradient)(*arrays(FULL)))

    assert "('bias_gradient', True)" in calls(3)
    assert "('bias_gradient', True)" not in calls(0)


def test_the_gradient_of_the_residual_costs_only_where_it_is_wanted():
    def calls(loss):
        return str(jax.make_jaxpr(jax.grad(lambda q, k, v: loss(*dot_product_attention(q, k, v, return_residual=True))))(
            *arrays()[:3]))

    assert "('lse_gradient', True)" in calls(lambda o, lse: lse.sum())
    assert "('lse_gradient', True)" not in calls(lambda o, lse: o.sum())


def test_deterministic_gradients_have_the_same_bits():
    arguments = arrays()
    first, second = (value_and_gradients(dot_product_attention, arguments, dict(deterministic=True)) for _ in range(2))
    for x, y in zip(first, second):
        np.testing.assert_array_equal(x, y)


def test_a_row_that_sees_no_key_is_0():
    q, k, v, _ = arrays()
    mask = jnp.ones((LENGTH_Q, LENGTH_K), bool).at[3].set(False)
    o, lse = dot_product_attention(q, k, v, mask=mask, return_residual=True)
    assert (o[:, 3] == 0).all() and (lse[:, 3] == -jnp.inf).all()
    for x in value_and_gradients(dot_product_attention, [q, k, v, None], dict(mask=mask)):
        assert jnp.isfinite(x).all()


def test_with_64_bit_types():
    q, k, v, bias = arrays(FULL)
    lengths = jnp.array([3, 60])
    expected = value_and_gradients(dot_product_attention, [q, k, v, bias], dict(key_value_seq_lengths=lengths))
    with jax.enable_x64(True):
        assert_close(value_and_gradients(dot_product_attention, [q, k, v, bias], dict(key_value_seq_lengths=lengths)), expected)
        with pytest.raises(NotImplementedError, match="query is float64; it must be float32, float16 or bfloat16"):
            dot_product_attention(*(x.astype(jnp.float64) for x in (q, k, v)))


Q, K = jnp.zeros((2, 8, 4, 16)), jnp.zeros((2, 9, 2, 16))
REFUSED = {
    "rank": ((Q[0, 0], K, K), {}, ValueError, "query has 2 dimensions; it must have 3 to 4"),
    "types": ((Q, K.astype(jnp.bfloat16), K), {}, ValueError, "key is bfloat16, and query is float32; they must be equal"),
    "integers": ((Q.astype(int), K.astype(int), K.astype(int)), {}, NotImplementedError, "query is int32; it must be float32"),
    "batch": ((Q[:1], K, K), {}, ValueError, "key has the batch size 2, and query 1; they must be equal"),
    "lengths of keys and values": ((Q, K, K[:, :8]), {}, ValueError, "they must be equal up to the last dimension"),
    "head dimensions": ((Q, K[..., :8], K), {}, ValueError, "key has the head dimension 8, and query 16; they must be equal"),
    "heads": ((Q[:, :, :3], K, K), {}, ValueError, "query has 3 heads, and key 2; query's must be a multiple of key's"),
    "no elements": ((Q[:, :0], K, K), {}, NotImplementedError, r"query has the shape \(2, 0, 4, 16\).*; they must have elements"),
    "large head": ((jnp.zeros((1, 1, 1, 264)),) * 3, {}, NotImplementedError,
                   "the head dimension of query is 264; it may be at most 256"),
    "bias": ((Q, K, K, jnp.zeros((4, 8, 8))), {}, ValueError,
             r"bias has the shape \(1, 4, 8, 8\); it must repeat to \(2, 4, 8, 9\)"),
    "mask": ((Q, K, K, None, jnp.ones((3, 1, 8, 9), bool)), {}, ValueError,
             r"mask has the shape \(3, 1, 8, 9\); it must repeat to \(2, 4, 8, 9\)"),
    "mask of numbers": ((Q, K, K, None, jnp.zeros((8, 9))), {}, ValueError, "mask is float32; it must be bool"),
    "number of lengths": ((Q, K, K), dict(query_seq_lengths=jnp.array([1])), ValueError,
                          r"query_seq_lengths has the shape \(1,\); it must be \(2,\)"),
    "type of lengths": ((Q, K, K), dict(key_value_seq_lengths=jnp.zeros(2)), ValueError,
                        "key_value_seq_lengths is float32; it must be int32"),
    "window": ((Q, K, K), dict(local_window_size=(-1, 2)), ValueError,
               r"local_window_size is \(-1, 2\); its numbers must be at least 0"),
}


@pytest.mark.parametrize("arguments, options, error, message", REFUSED.values(), ids=REFUSED)
def test_what_is_refused_is_named(arguments, options, error, message):
    with pytest.raises(error, match="^tegula.jax.dot_product_attention: .*" + message):
        dot_product_attention(*arguments, **options)


def test_a_traced_scale_is_refused():
    with pytest.raises(ValueError, match="scale is traced; it must be a number of Python"):
        jax.jit(lambda scale: dot_product_attention(Q, K, K, scale=scale))(0.5)


def test_an_error_of_the_library_is_an_error_of_jax():
    for function in (dot_product_attention, jax.jit(dot_product_attention, static_argnames="scale")):
        with pytest.raises(jax.errors.JaxRuntimeError, match="INVALID_ARGUMENT: argument 'scale': it is nan; it must be finite"):
            jax.block_until_ready(function(Q, K, K, scale=float("nan")))


def test_a_second_derivative_is_refused():
    with pytest.raises(ValueError, match="tegula_attention_forward. cannot be differentiated"):
        jax.hessian(lambda q: dot_product_attention(q, K, K).sum())(Q)


def run(script, **environment):
    result = subprocess.run([sys.executable, "-B", "-c", script], env=os.environ | environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_it_needs_no_pytorch():
    run("import sys; sys.modules['torch'] = None\n"
        "import numpy, tegula\n"
        "assert tegula.jax.dot_product_attention(*(numpy.ones((1, 4, 1, 8), 'f'),) * 3).sum() == 32")


def test_shard_map_over_batch_and_heads():
    run("""
import jax, jax.numpy as jnp
from tegula.jax import dot_product_attention

mesh = jax.sharding.Mesh(jax.devices(), "x")
q, k, v = (jax.random.normal(key, (2, 40, 4, 16)) for key in jax.random.split(jax.random.key(0), 3))
for spec in (jax.P("x"), jax.P(None, None, "x")):
    sharded = jax.shard_map(dot_product_attention, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    gradients = [jax.jit(jax.grad(lambda *x: (f(*x)**2).sum(), (0, 1, 2)))(q, k, v) for f in (sharded, dot_product_attention)]
    assert all(jnp.allclose(x, y, atol=1e-5) for x, y in zip(*gradients))
""", JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_force_host_platform_device_count=2")


def load(folder):
    """Loads another copy of the module, from a folder with its files."""
    shutil.copy(tegula.jax.__file__, folder)
    spec = importlib.util.spec_from_file_location("another", folder / "jax.py")
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_a_package_without_the_library_says_so(tmp_path):
    with pytest.raises(ImportError, match="this tegula was built where JAX was not installed"):
        load(tmp_path)


def test_an_older_jaxlib_is_refused(tmp_path, monkeypatch):
    (tmp_path / "xla/ffi/api").mkdir(parents=True)
    (tmp_path / "xla/ffi/api/c_api.h").write_text("#define XLA_FFI_API_MAJOR 0\n#define XLA_FFI_API_MINOR 0\n")
    (tmp_path / "_jax.so").symlink_to(pathlib.Path(tegula.jax.__file__).with_name("_jax.so"))
    monkeypatch.setattr(jax.ffi, "include_dir", lambda: str(tmp_path))
    with pytest.raises(ImportError, match=r"this jaxlib has \(0, 0\); build it with this jaxlib, or use a newer one"):
        load(tmp_path)
