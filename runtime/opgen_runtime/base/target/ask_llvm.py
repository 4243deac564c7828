"""Run in a process of its own: `ask_llvm.py TRIPLE CPU FEATURES`; LLVM ends a process that asks for what it cannot do.

Prints the CPUs and features that LLVM knows on the error stream, then compiles a few instructions of every kind for the
target.  The last line on the output is `ok` and the data layout, or `unknown triple` and the architectures that this
LLVM has.
"""

from __future__ import annotations

import sys

import llvmlite.binding as llvm

_SAMPLE = """
define double @scalars(double %a, float %b, i64 %n, ptr %p) {
  %c = fpext float %b to double
  %d = fadd double %a, %c
  %m = mul i64 %n, %n
  store i64 %m, ptr %p
  %h = load half, ptr %p
  %w = fpext half %h to double
  %e = fdiv double %d, %w
  ret double %e
}
define void @vectors(ptr %p, <16 x i1> %mask) {
  %v = load <16 x float>, ptr %p, align 4
  %s = fmul <16 x float> %v, %v
  %i = fptosi <16 x float> %s to <16 x i32>
  %l = sext <16 x i32> %i to <16 x i64>
  %q = mul <16 x i64> %l, %l
  store <16 x i64> %q, ptr %p, align 8
  %x = select <16 x i1> %mask, <16 x float> %v, <16 x float> %s
  store <16 x float> %x, ptr %p, align 4
  ret void
}
"""


# The first words of triples that LLVM may have been built for; it tells nobody which.
_ARCHITECTURES = (
    "aarch64", "arm", "i686", "loongarch64", "mips64el", "powerpc64le", "riscv32", "riscv64", "s390x", "sparcv9",
    "wasm32", "x86_64",
)  # fmt: skip


def _has(architecture: str) -> bool:
    try:
        llvm.Target.from_triple(f"{architecture}-unknown-linux-gnu")
    except RuntimeError:
        return False
    return True


def main(triple: str, cpu: str, features: str) -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError:
        print("unknown triple", *[name for name in _ARCHITECTURES if _has(name)])
        return
    target.create_target_machine(cpu="help")
    sys.stderr.flush()
    machine = target.create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="default"
    )
    module = llvm.parse_assembly(_SAMPLE)
    module.data_layout = str(machine.target_data)
    machine.emit_object(module)
    print("ok", machine.target_data)


if __name__ == "__main__":
    main(*sys.argv[1:])
