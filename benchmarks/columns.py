"""The columns of `peers.py`: how each peer computes a workload with so many threads; None where it does not."""

from contextlib import suppress

import numpy as np


def peer_numpy(w, threads):
    return (lambda f=w.fns["np"], a=w.args: f(*a)) if "np" in w.fns else None


def peer_numexpr(w, threads):
    if "numexpr" not in w.fns:
        return None
    import numexpr

    numexpr.set_num_threads(threads)
    expr, env = w.fns["numexpr"], dict(w.inputs)
    return lambda: numexpr.evaluate(expr, local_dict=env)


def peer_numba(w, threads, parallel=False):
    if "numba" not in w.fns or (parallel and threads == 1):
        return None
    import math

    import numba

    body = "".join(f"    {line}\n" for line in w.fns["numba"].split("\n"))
    ns = dict(np=np, math=math, prange=numba.prange, one=np.float32(1), zero=np.float32(0))
    exec(f"def fn({','.join(w.inputs)}):\n{body}    return y", ns)
    fn, a = numba.njit(fastmath=True, parallel=parallel)(ns["fn"]), w.args
    return lambda: fn(*a)


def torch_module(w, threads):
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(threads)

    def t_encoder(x, wq, wk, wv, wo, bq, bk, bv, bo, g1, e1, w1, b1, w2, b2, g2, e2):
        q, k, v = (
            (x @ m + b).view(1, 128, 12, 32).transpose(1, 2) for m, b in ((wq, bq), (wk, bk), (wv, bv))
        )
        c = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, 128, 384)
        h = F.layer_norm(c @ wo + bo + x, (384,), g1, e1)
        return F.layer_norm(F.gelu(h @ w1 + b1) @ w2 + b2 + h, (384,), g2, e2)

    fn = w.function(w.fns["torch"], dict(torch=torch, F=F, t_encoder=t_encoder))

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            constants = [torch.from_numpy(v) for v in w.weights.values()]
            self.p = torch.nn.ParameterList([torch.nn.Parameter(v, False) for v in constants])

        def forward(self, *xs):
            return fn(*xs, *self.p)

    return torch, Module().eval(), [torch.from_numpy(v) for v in w.inputs.values()]


def in_inference_mode(torch, f, xs):
    def call():
        with torch.no_grad():
            return f(*xs)

    return call


def peer_torch(w, threads):
    torch, module, xs = torch_module(w, threads)
    return in_inference_mode(torch, module, xs)


def peer_inductor(w, threads):
    torch, module, xs = torch_module(w, threads)
    import torch._inductor.config as config

    config.freezing = True  # lets inductor fold and pre-pack the weights
    torch._dynamo.reset()
    return in_inference_mode(torch, torch.compile(module, dynamic=False), xs)


def peer_jax(w, threads):
    import jax
    import jax.numpy as jnp
    from jax import lax

    def j_conv(x, k):
        return lax.conv_general_dilated(x, k, (1, 1), [(1, 1)] * 2)

    def j_bn(x, g, b, m, v):
        return (x - m[:, None, None]) * (g * lax.rsqrt(v + 1e-5))[:, None, None] + b[:, None, None]

    def j_ln(x, g, b):
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b

    def j_encoder(x, wq, wk, wv, wo, bq, bk, bv, bo, g1, e1, w1, b1, w2, b2, g2, e2):
        q, k, v = (
            (x @ m + b).reshape(1, 128, 12, 32).transpose(0, 2, 1, 3)
            for m, b in ((wq, bq), (wk, bk), (wv, bv))
        )
        p = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) * np.float32(0.17677669), -1)
        h = j_ln((p @ v).transpose(0, 2, 1, 3).reshape(1, 128, 384) @ wo + bo + x, g1, e1)
        return j_ln(jax.nn.gelu(h @ w1 + b1, approximate=False) @ w2 + b2 + h, g2, e2)

    names = dict(jax=jax, jnp=jnp, lax=lax, j_conv=j_conv, j_bn=j_bn, j_encoder=j_encoder)
    fn = jax.jit(w.function(w.fns["jax"], names))
    xs = [jax.device_put(v) for v in w.args]
    return lambda: fn(*xs).block_until_ready()


def peer_ort(w, threads):
    import onnxruntime as ort

    opts = ort.SessionOptions()
    opts.intra_op_num_threads = threads
    session = ort.InferenceSession(w.model().SerializeToString(), opts, ["CPUExecutionProvider"])
    feeds = w.inputs
    return lambda: session.run(None, feeds)[0]


def peer_tvm(w, threads):
    """ONNX -> relax -> fusion -> `simple_schedule`.  (The dlight CPU rules are left out: they slow matmul and
    convolution with an epilogue a hundredfold.)"""
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    target = tvm.target.Target({"kind": "llvm", "mcpu": host_cpu(), "num-cores": threads})
    mod = from_onnx(w.model())
    with target:
        passes = [relax.transform.DecomposeOpsForInference(), relax.transform.CanonicalizeBindings()]
        mod = tvm.transform.Sequential([*passes, relax.get_pipeline("zero")])(mod)
    for var, func in list(mod.functions_items()):
        if isinstance(func, tvm.tirx.PrimFunc):
            mod[var] = simple_schedule(func)
    vm = relax.VirtualMachine(tvm.compile(mod, target=target), tvm.cpu())
    xs = [tvm.runtime.tensor(v) for v in w.inputs.values()]
    fn = vm["main"]
    return lambda: fn(*xs)


def simple_schedule(func):
    """What the TVM tutorials show: inline the element-wise blocks; per block run the outer
    spatial loops in parallel and vectorise the innermost one, with it moved inside the reduction."""
    import tvm
    from tvm.s_tir import Schedule

    sch = Schedule(tvm.IRModule({"main": func}))
    blocks = sch.get_child_blocks(sch.get_sblock("root"))
    for block in blocks[:-1]:
        with suppress(Exception):  # not an element-wise block
            sch.compute_inline(block)
    for block in sch.get_child_blocks(sch.get_sblock("root")):
        with suppress(Exception):  # else this block stays as it is
            loops, types = sch.get_loops(block), [it.iter_type for it in sch.get(block).iter_vars]
            spatial = [lp for lp, t in zip(loops, types, strict=False) if t == 0]
            reduce_ = [lp for lp, t in zip(loops, types, strict=False) if t == 2]
            if not spatial:
                continue
            if len(spatial) == 1:
                outer, inner = sch.split(spatial[0], [None, 64])
                head = [outer]
            else:
                head, inner = spatial[:-1], spatial[-1]
                if int(sch.get(inner).extent) > 256:
                    mid, inner = sch.split(inner, [None, 64])
                    head = [*head, mid]
            sch.reorder(*head, *reduce_, inner)
            sch.parallel(sch.fuse(*head))
            if reduce_:
                sch.decompose_reduction(block, reduce_[0])
            sch.vectorize(inner)
    return sch.mod["main"]


def host_cpu():
    import llvmlite.binding as llvm

    return llvm.get_host_cpu_name()


def ours(w, threads):
    from ours import ours as build

    return build(w)


COLUMNS = {
    "numpy": (peer_numpy, "numpy"),
    "numexpr": (peer_numexpr, "numexpr"),
    "numba": (peer_numba, "numba"),
    "numba-par": (lambda w, threads: peer_numba(w, threads, True), "numba"),
    "torch": (peer_torch, "torch"),
    "inductor": (peer_inductor, "torch"),
    "jax": (peer_jax, "jax"),
    "ort": (peer_ort, "onnxruntime"),
    "tvm": (peer_tvm, "tvm"),
    "ours": (ours, "ours"),
}
