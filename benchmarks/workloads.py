"""The workloads that `peers.py` times: their operands, and the same computation in the words of each peer."""

import numpy as np

f32 = np.float32
rng = np.random.default_rng(0)  # seeded again for each workload, so that every process has the same data


def rand(*shape, scale=1.0):
    return (rng.standard_normal(shape, dtype=f32) * f32(scale)).astype(f32)


class Workload:
    """inputs: arrays given at each call.  weights: constants a peer may fold or pre-pack.
    onnx: body of the graph, result named y.  np/torch/jax/numexpr/numba: the same computation."""

    def __init__(self, name, inputs, weights=None, onnx="", tol=2e-3, **fns):
        self.name, self._inputs, self._weights = name, inputs, weights or {}
        self.onnx, self.tol, self.fns, self._data = onnx, tol, fns, None

    @property
    def data(self):
        if self._data is None:
            global rng
            rng = np.random.default_rng(len(self.name))
            make = lambda d: {k: v() if callable(v) else rand(*v) for k, v in d.items()}
            self._data = make(self._inputs), make(self._weights)
        return self._data

    inputs = property(lambda self: self.data[0])
    weights = property(lambda self: self.data[1])
    args = property(lambda self: [*self.inputs.values(), *self.weights.values()])

    def drop(self):
        self._data = None

    def model(self):
        """The graph as an ONNX model, weights as its initializers."""
        import onnx
        kind = {"float32": "float", "int64": "int64"}
        sig = ", ".join(f"{kind[str(v.dtype)]}[{','.join(map(str, v.shape))}] {k}" for k, v in (self.inputs | self.weights).items())
        out = "int64" if "argmax" in self.name else "float"
        body = self.onnx.replace(") ", ")\n")
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\ng ({sig}) => ({out} y) {{\n{body}\n}}')
        inputs = [i for i in model.graph.input if i.name in self.inputs]
        del model.graph.input[:]
        model.graph.input.extend(inputs)
        model.graph.initializer.extend(onnx.numpy_helper.from_array(v, k) for k, v in self.weights.items())
        return onnx.shape_inference.infer_shapes(model)

    def function(self, expr, namespace):
        """What a text computes, as a function of the operands."""
        names = ",".join([*self._inputs, *self._weights])
        exec(f"def fn({names}): return {expr}", namespace)
        return namespace["fn"]


def weight(*shape, fan_in=None):
    return lambda: rand(*shape, scale=1.0 / np.sqrt(fan_in or shape[-1]))


def workloads():
    W = []
    add = lambda *a, **k: W.append(Workload(*a, **k))

    for n, tag in ((1 << 24, "16M"), (1 << 10, "1k")):
        add(f"chain_tanh_sig_{tag}", dict(a=(n,), b=(n,), c=(n,)),
            onnx="m=Mul(a,b) s=Add(m,c) t=Tanh(s) g=Sigmoid(a) y=Mul(t,g)",
            np=lambda a, b, c: np.tanh(a * b + c) * (1 / (1 + np.exp(-a))),
            torch="torch.tanh(a*b+c)*torch.sigmoid(a)", jax="jnp.tanh(a*b+c)*jax.nn.sigmoid(a)",
            numexpr="tanh(a*b+c)/(1+exp(-a))",
            numba="y=np.empty_like(a)\nfor i in prange(a.size): y[i]=math.tanh(a[i]*b[i]+c[i])*(one/(one+math.exp(-a[i])))")
        add(f"chain_exp_sin_{tag}", dict(x=(n,)), onnx="n=Neg(x) q=Mul(n,x) e=Exp(q) s=Sin(x) y=Mul(e,s)",
            np=lambda x: np.exp(-x * x) * np.sin(x), torch="torch.exp(-x*x)*torch.sin(x)",
            jax="jnp.exp(-x*x)*jnp.sin(x)", numexpr="exp(-x*x)*sin(x)",
            numba="y=np.empty_like(x)\nfor i in prange(x.size): y[i]=math.exp(-x[i]*x[i])*math.sin(x[i])")
    add("add_16M", dict(a=(1 << 24,), b=(1 << 24,)), onnx="y=Add(a,b)", np=lambda a, b: a + b, torch="a+b", jax="a+b",
        numexpr="a+b", numba="y=np.empty_like(a)\nfor i in prange(a.size): y[i]=a[i]+b[i]")
    add("add_8", dict(a=(8,), b=(8,)), onnx="y=Add(a,b)", np=lambda a, b: a + b, torch="a+b", jax="a+b",
        numexpr="a+b", numba="y=np.empty_like(a)\nfor i in range(a.size): y[i]=a[i]+b[i]")

    add("softmax_4096x1024", dict(x=(4096, 1024)), onnx="y=Softmax<axis=-1>(x)",
        np=lambda x: (lambda e: e / e.sum(-1, keepdims=True))(np.exp(x - x.max(-1, keepdims=True))),
        torch="torch.softmax(x,-1)", jax="jax.nn.softmax(x,-1)",
        numba="y=np.empty_like(x)\nfor r in prange(x.shape[0]):\n m=x[r,0]\n for j in range(x.shape[1]): m=max(m,x[r,j])\n"
              " s=zero\n for j in range(x.shape[1]):\n  v=math.exp(x[r,j]-m); y[r,j]=v; s+=v\n"
              " q=one/s\n for j in range(x.shape[1]): y[r,j]*=q")
    add("layernorm_4096x1024", dict(x=(4096, 1024), g=(1024,), b=(1024,)),
        onnx="y=LayerNormalization<axis=-1,epsilon=1e-5>(x,g,b)",
        np=lambda x, g, b: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + f32(1e-5)) * g + b,
        torch="F.layer_norm(x,(1024,),g,b)",
        jax="(x-x.mean(-1,keepdims=True))*jax.lax.rsqrt(x.var(-1,keepdims=True)+1e-5)*g+b",
        numba="y=np.empty_like(x)\nfor r in prange(x.shape[0]):\n s=zero; n=x.shape[1]\n for j in range(n): s+=x[r,j]\n"
              " m=s/np.float32(n); v=zero\n for j in range(n): v+=(x[r,j]-m)*(x[r,j]-m)\n"
              " q=one/np.float32(math.sqrt(v/np.float32(n)+np.float32(1e-5)))\n for j in range(n): y[r,j]=(x[r,j]-m)*q*g[j]+b[j]")
    for ax in (0, 1):
        add(f"sum_axis{ax}_4096", dict(x=(4096, 4096)), onnx=f"k=Constant<value=int64[1]{{{ax}}}>() y=ReduceSum<keepdims=0>(x,k)",
            tol=2e-2, np=lambda x, ax=ax: x.sum(ax), torch=f"x.sum({ax})", jax=f"x.sum({ax})",
            numba=("y=np.empty(x.shape[0],np.float32)\nfor r in prange(x.shape[0]):\n s=zero\n for j in range(x.shape[1]): s+=x[r,j]\n y[r]=s"
                   if ax else "y=np.zeros(x.shape[1],np.float32)\nfor b in prange(16):\n w=x.shape[1]//16\n for i in range(x.shape[0]):\n  for j in range(b*w,b*w+w): y[j]+=x[i,j]"))
    add("argmax_axis1_4096", dict(x=(4096, 4096)), onnx="y=ArgMax<axis=1,keepdims=0>(x)", np=lambda x: x.argmax(1),
        torch="x.argmax(1)", jax="x.argmax(1)",
        numba="y=np.empty(x.shape[0],np.int64)\nfor r in prange(x.shape[0]):\n m=x[r,0]; k=0\n"
              " for j in range(x.shape[1]):\n  if x[r,j]>m: m=x[r,j]; k=j\n y[r]=k")

    mm = dict(onnx="y=MatMul(a,b)", np=lambda a, b: a @ b, torch="a@b", jax="a@b")
    for n in (64, 256, 512, 1024, 2048):
        add(f"matmul_{n}", dict(a=(n, n), b=(n, n)), tol=2e-2, **mm)
    add("batch_matmul_16x128x64", dict(a=(16, 128, 64), b=(16, 64, 128)), tol=2e-2, **mm)
    add("dense_relu_512x768x3072", dict(x=(512, 768)), dict(w=weight(768, 3072, fan_in=768), b=(3072,)),
        onnx="m=MatMul(x,w) s=Add(m,b) y=Relu(s)", np=lambda x, w, b: np.maximum(x @ w + b, 0),
        torch="torch.relu(torch.addmm(b,x,w))", jax="jax.nn.relu(x@w+b)")

    def conv(name, shape, wshape, pad, groups=1, post=""):
        fan = wshape[1] * wshape[2] * wshape[3]
        weights = dict(w=weight(*wshape, fan_in=fan))
        bn = post == "bn_relu"
        if bn:
            c = wshape[0]
            weights.update(g=(c,), b=(c,), m=(c,), v=lambda: np.abs(rand(c)) + f32(0.5))
        p, k = pad, wshape[2]
        o = f"Conv<pads=[{p},{p},{p},{p}],kernel_shape=[{k},{k}],group={groups}>(x,w)"
        t = f"F.conv2d(x,w,padding={p},groups={groups})"
        j = f"lax.conv_general_dilated(x,w,(1,1),[({p},{p})]*2,feature_group_count={groups})"
        add(name, dict(x=shape), weights,
            onnx=f"z={o} n=BatchNormalization<epsilon=1e-5>(z,g,b,m,v) y=Relu(n)" if bn else f"y={o}",
            torch=f"torch.relu(F.batch_norm({t},m,v,g,b,eps=1e-5))" if bn else t,
            jax=f"jax.nn.relu(({j}-m[:,None,None])*(g*lax.rsqrt(v+1e-5))[:,None,None]+b[:,None,None])" if bn else j)
    conv("conv3x3_64_56", (1, 64, 56, 56), (64, 64, 3, 3), 1)
    conv("depthwise3x3_96_56", (1, 96, 56, 56), (96, 1, 3, 3), 1, groups=96)
    conv("conv1x1_256_64_56", (1, 256, 56, 56), (64, 256, 1, 1), 0)
    conv("conv3x3_bn_relu_64_56", (1, 64, 56, 56), (64, 64, 3, 3), 1, post="bn_relu")
    add("maxpool3x3s2_64_112", dict(x=(1, 64, 112, 112)), onnx="y=MaxPool<kernel_shape=[3,3],strides=[2,2],pads=[1,1,1,1]>(x)",
        torch="F.max_pool2d(x,3,2,1)",
        jax="lax.reduce_window(x,-jnp.inf,lax.max,(1,1,3,3),(1,1,2,2),((0,0),(0,0),(1,1),(1,1)))")

    add("transpose_4096", dict(x=(4096, 4096)), onnx="y=Transpose<perm=[1,0]>(x)", np=lambda x: np.ascontiguousarray(x.T),
        torch="x.t().contiguous()", jax="x.T",
        numba="y=np.empty((x.shape[1],x.shape[0]),x.dtype)\nfor b in prange(x.shape[0]//32):\n for c in range(x.shape[1]//32):\n"
              "  for j in range(c*32,c*32+32):\n   for i in range(b*32,b*32+32): y[j,i]=x[i,j]")
    add("heads_permute_32x128x768", dict(x=(32, 128, 768)),
        onnx="k=Constant<value=int64[4]{32,128,12,64}>() r=Reshape(x,k) y=Transpose<perm=[0,2,1,3]>(r)",
        np=lambda x: np.ascontiguousarray(x.reshape(32, 128, 12, 64).transpose(0, 2, 1, 3)),
        torch="x.view(32,128,12,64).permute(0,2,1,3).contiguous()", jax="x.reshape(32,128,12,64).transpose(0,2,1,3)")
    add("gather_50k_of_100kx256", dict(x=(100_000, 256), i=lambda: rng.integers(0, 100_000, 50_000)), onnx="y=Gather<axis=0>(x,i)",
        np=lambda x, i: x[i], torch="x[i]", jax="jnp.take(x,i,axis=0,mode='clip')",
        numba="y=np.empty((i.size,x.shape[1]),x.dtype)\nfor r in prange(i.size): y[r,:]=x[i[r],:]")
    add("concat_2x4096x2048", dict(a=(4096, 2048), b=(4096, 2048)), onnx="y=Concat<axis=1>(a,b)",
        np=lambda a, b: np.concatenate([a, b], 1), torch="torch.cat([a,b],1)", jax="jnp.concatenate([a,b],1)")

    add("mlp_784_512_512_10_b64", dict(x=(64, 784)),
        dict(w1=weight(784, 512, fan_in=784), b1=(512,), w2=weight(512, 512), b2=(512,), w3=weight(512, 10, fan_in=512), b3=(10,)),
        onnx="m=MatMul(x,w1) s=Add(m,b1) r=Relu(s) m2=MatMul(r,w2) s2=Add(m2,b2) r2=Relu(s2) m3=MatMul(r2,w3) y=Add(m3,b3)",
        np=lambda x, w1, b1, w2, b2, w3, b3: np.maximum(np.maximum(x @ w1 + b1, 0) @ w2 + b2, 0) @ w3 + b3,
        torch="torch.addmm(b3,torch.relu(torch.addmm(b2,torch.relu(torch.addmm(b1,x,w1)),w2)),w3)",
        jax="jax.nn.relu(jax.nn.relu(x@w1+b1)@w2+b2)@w3+b3")

    H, FF = 384, 1536
    enc_w = {k: weight(H, H) for k in ("wq", "wk", "wv", "wo")} | {k: (H,) for k in ("bq", "bk", "bv", "bo", "g1", "e1")}
    enc_w |= dict(w1=weight(H, FF, fan_in=H), b1=(FF,), w2=weight(FF, H, fan_in=FF), b2=(H,), g2=(H,), e2=(H,))
    heads = "".join(f"{o}m=MatMul(x,w{o}) {o}a=Add({o}m,b{o}) {o}r=Reshape({o}a,sh) {o}h=Transpose<perm=[0,2,{p}]>({o}r) "
                    for o, p in (("q", "1,3"), ("k", "3,1"), ("v", "1,3")))
    add("encoder_s128_h384", dict(x=(1, 128, H)), enc_w,
        onnx="sh=Constant<value=int64[4]{1,128,12,32}>() s2=Constant<value=int64[3]{1,128,384}>() isq=Constant<value=float{0.17677669}>() "
             "half=Constant<value=float{0.5}>() one=Constant<value=float{1.0}>() rt=Constant<value=float{0.70710678}>() " + heads +
             "sc=MatMul(qh,kh) ss=Mul(sc,isq) p=Softmax<axis=-1>(ss) c=MatMul(p,vh) ct=Transpose<perm=[0,2,1,3]>(c) cr=Reshape(ct,s2) "
             "om=MatMul(cr,wo) oa=Add(om,bo) r1=Add(oa,x) h=LayerNormalization<axis=-1,epsilon=1e-5>(r1,g1,e1) f1=MatMul(h,w1) "
             "f1b=Add(f1,b1) gr=Mul(f1b,rt) ge=Erf(gr) g1p=Add(ge,one) gx=Mul(f1b,g1p) gg=Mul(gx,half) f2=MatMul(gg,w2) f2b=Add(f2,b2) "
             "r2=Add(f2b,h) y=LayerNormalization<axis=-1,epsilon=1e-5>(r2,g2,e2)",
        torch="t_encoder(x,wq,wk,wv,wo,bq,bk,bv,bo,g1,e1,w1,b1,w2,b2,g2,e2)",
        jax="j_encoder(x,wq,wk,wv,wo,bq,bk,bv,bo,g1,e1,w1,b1,w2,b2,g2,e2)")

    bnw = lambda i: {f"g{i}": (64,), f"b{i}": (64,), f"m{i}": (64,), f"v{i}": lambda: np.abs(rand(64)) + f32(0.5)}
    cv = "Conv<pads=[1,1,1,1],kernel_shape=[3,3]>"
    add("resnet_block_64_56", dict(x=(1, 64, 56, 56)), dict(w1=weight(64, 64, 3, 3, fan_in=576), w2=weight(64, 64, 3, 3, fan_in=576)) | bnw(1) | bnw(2),
        onnx=f"c1={cv}(x,w1) n1=BatchNormalization<epsilon=1e-5>(c1,g1,b1,m1,v1) r1=Relu(n1) c2={cv}(r1,w2) "
             "n2=BatchNormalization<epsilon=1e-5>(c2,g2,b2,m2,v2) s=Add(n2,x) y=Relu(s)",
        torch="torch.relu(x+F.batch_norm(F.conv2d(torch.relu(F.batch_norm(F.conv2d(x,w1,padding=1),m1,v1,g1,b1,eps=1e-5)),w2,padding=1),m2,v2,g2,b2,eps=1e-5))",
        jax="jax.nn.relu(x+j_bn(j_conv(jax.nn.relu(j_bn(j_conv(x,w1),g1,b1,m1,v1)),w2),g2,b2,m2,v2))")
    return W
