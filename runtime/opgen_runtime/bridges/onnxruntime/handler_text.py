"""The code that all libraries share as LLVM IR text: what onnxruntime calls, over the tables of `tables_text.py`.

`RegisterCustomOps` is the only function that a library exports.  A kernel of a session is the address of its words:
the API, the op, how many entries have the attrs of the node, and the entries.  Nothing is written after a kernel is
made, so sessions may run at once.
"""

from __future__ import annotations

from typing import Final

from .api import FLOOR
from .compute_text import compute_text
from .create_text import create_text
from .messages_text import messages_text
from .words import filled

REGISTER: Final = "RegisterCustomOps"


TOO_OLD: Final = (
    f"%s: these ops need onnxruntime 1.{FLOOR} or later (version {FLOOR} of its C API), found onnxruntime %s"
)


def handler_text(most_extents: int, most_dims: int) -> str:
    """All functions but those of entries, whose results have at most so many extents, and which take so many dims."""
    return "\n".join(
        (
            messages_text(),
            filled(_CALLBACKS, {}),
            create_text(),
            compute_text(most_extents, most_dims),
            filled(_REGISTER, {"too_old": TOO_OLD}, REGISTER=REGISTER),
        )
    )


_REGISTER: Final = """\
define ptr @$REGISTER(ptr %options, ptr %base) nounwind {
  %place = alloca ptr
  %message = alloca [512 x i8]
  %get = load ptr, ptr %base
  %api = call ptr %get(i32 $FLOOR)
  %none = icmp eq ptr %api, null
  br i1 %none, label %old, label %known
old:
  %name = load ptr, ptr @$DOMAINS
  %first = call ptr %get(i32 1)
  %version_at = getelementptr ptr, ptr %base, i64 1
  %version_of = load ptr, ptr %version_at
  %version = call ptr %version_of()
  %written = call i32 (ptr, i64, ptr, ...) @snprintf(
    ptr %message, i64 512, ptr @text.too_old, ptr %name, ptr %version)
  %create_status_at = getelementptr ptr, ptr %first, i64 $CreateStatus
  %create_status = load ptr, ptr %create_status_at
  %refusal = call ptr %create_status(i32 $CODE_FAIL, ptr %message)
  ret ptr %refusal
known:
  %create_at = getelementptr ptr, ptr %api, i64 $CreateCustomOpDomain
  %create = load ptr, ptr %create_at
  %add_at = getelementptr ptr, ptr %api, i64 $CustomOpDomain_Add
  %add = load ptr, ptr %add_at
  %add_domain_at = getelementptr ptr, ptr %api, i64 $AddCustomOpDomain
  %add_domain = load ptr, ptr %add_domain_at
  br label %each_domain
each_domain:
  %d = phi i64 [ 0, %known ], [ %d_next, %added_domain ]
  %row = getelementptr [2 x ptr], ptr @$DOMAINS, i64 %d
  %domain_name = load ptr, ptr %row
  %done = icmp eq ptr %domain_name, null
  br i1 %done, label %registered, label %make
make:
  %ops_at = getelementptr ptr, ptr %row, i64 1
  %ops = load ptr, ptr %ops_at
  %created = call ptr %create(ptr %domain_name, ptr %place)
  %domain = load ptr, ptr %place
  %not_created = icmp ne ptr %created, null
  br i1 %not_created, label %failed, label %each
each:
  %k = phi i64 [ 0, %make ], [ %next, %one ]
  %op_at = getelementptr ptr, ptr %ops, i64 %k
  %op = load ptr, ptr %op_at
  %over = icmp eq ptr %op, null
  br i1 %over, label %all, label %one
one:
  %added = call ptr %add(ptr %domain, ptr %op)
  %next = add i64 %k, 1
  %not_added = icmp ne ptr %added, null
  br i1 %not_added, label %failed, label %each
all:
  %status = call ptr %add_domain(ptr %options, ptr %domain)
  %not_added_domain = icmp ne ptr %status, null
  br i1 %not_added_domain, label %failed, label %added_domain
added_domain:
  %d_next = add i64 %d, 1
  br label %each_domain
registered:
  ret ptr null
failed:
  %why = phi ptr [ %created, %make ], [ %added, %one ], [ %status, %all ]
  ret ptr %why
}
"""

_CALLBACKS: Final = """\
define internal i64 @own(ptr %op, i64 %word) nounwind {
  %position = add i64 %word, $CUSTOM_OP_WORDS
  %at = getelementptr i64, ptr %op, i64 %position
  %found = load i64, ptr %at
  ret i64 %found
}
define internal i32 @row(ptr %op, i64 %rows_word, i64 %index, i64 %word) nounwind {
  %address = call i64 @own(ptr %op, i64 %rows_word)
  %rows = inttoptr i64 %address to ptr
  %first = mul i64 %index, $ROW_WORDS
  %position = add i64 %first, %word
  %at = getelementptr i64, ptr %rows, i64 %position
  %found = load i64, ptr %at
  %narrow = trunc i64 %found to i32
  ret i32 %narrow
}
define internal ptr @GetName(ptr %op) nounwind {
  %address = call i64 @own(ptr %op, i64 $OWN_NAME)
  %name = inttoptr i64 %address to ptr
  ret ptr %name
}
define internal ptr @GetExecutionProviderType(ptr %op) nounwind {
  ret ptr null
}
define internal i32 @GetInputType(ptr %op, i64 %index) nounwind {
  %found = call i32 @row(ptr %op, i64 $OWN_INPUTS, i64 %index, i64 $ROW_TYPE)
  ret i32 %found
}
define internal i64 @GetInputTypeCount(ptr %op) nounwind {
  %found = call i64 @own(ptr %op, i64 $OWN_INPUT_COUNT)
  ret i64 %found
}
define internal i32 @GetOutputType(ptr %op, i64 %index) nounwind {
  %found = call i32 @row(ptr %op, i64 $OWN_OUTPUTS, i64 %index, i64 $ROW_TYPE)
  ret i32 %found
}
define internal i64 @GetOutputTypeCount(ptr %op) nounwind {
  %found = call i64 @own(ptr %op, i64 $OWN_OUTPUT_COUNT)
  ret i64 %found
}
define internal void @KernelDestroy(ptr %kernel) nounwind {
  call void @free(ptr %kernel)
  ret void
}
define internal i32 @GetInputCharacteristic(ptr %op, i64 %index) nounwind {
  %found = call i32 @row(ptr %op, i64 $OWN_INPUTS, i64 %index, i64 $ROW_CHARACTERISTIC)
  ret i32 %found
}
define internal i32 @GetOutputCharacteristic(ptr %op, i64 %index) nounwind {
  %found = call i32 @row(ptr %op, i64 $OWN_OUTPUTS, i64 %index, i64 $ROW_CHARACTERISTIC)
  ret i32 %found
}
define internal i32 @GetInputMemoryType(ptr %op, i64 %index) nounwind {
  ret i32 0
}
define internal i32 @GetVariadicInputMinArity(ptr %op) nounwind {
  ret i32 1
}
define internal i32 @GetVariadicInputHomogeneity(ptr %op) nounwind {
  ret i32 1
}
define internal i32 @GetVariadicOutputMinArity(ptr %op) nounwind {
  ret i32 1
}
define internal i32 @GetVariadicOutputHomogeneity(ptr %op) nounwind {
  ret i32 1
}
"""
