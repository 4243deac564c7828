"""Messages of onnxruntime's statuses as LLVM IR text: written piece by piece into memory of the caller, cut at its end.

A message is memory of `MESSAGE_BYTES`: a word that says how many bytes are written, then the text.
"""

from __future__ import annotations

from typing import Final

from .words import MESSAGE_BYTES, filled

_ROOM: Final = MESSAGE_BYTES - 8
_TEXTS: Final = {
    "absent": "none",
    "and": ", ",
    "close": "]",
    "float": "%g",
    "int": "%lld",
    "open": "[",
    "quote": "'",
    "scope": "::",
    "text": "%s",
}


def messages_text() -> str:
    """`begin` (with the name of an op), `say...`, `refusal`, `is_there`, and what all need of the C library."""
    return filled(_MESSAGES, _TEXTS, ROOM=_ROOM, LAST=_ROOM - 1)


_MESSAGES: Final = """\
declare i32 @snprintf(ptr, i64, ptr, ...)
declare i32 @memcmp(ptr, ptr, i64)
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define internal void @said(ptr %message, i32 %more) nounwind {
  %used = load i64, ptr %message
  %wide = sext i32 %more to i64
  %after = add i64 %used, %wide
  %beyond = icmp ugt i64 %after, $LAST
  %end = select i1 %beyond, i64 $LAST, i64 %after
  store i64 %end, ptr %message
  ret void
}
define internal { ptr, i64 } @rest(ptr %message) nounwind {
  %used = load i64, ptr %message
  %text = getelementptr i8, ptr %message, i64 8
  %end = getelementptr i8, ptr %text, i64 %used
  %left = sub i64 $ROOM, %used
  %one = insertvalue { ptr, i64 } poison, ptr %end, 0
  %both = insertvalue { ptr, i64 } %one, i64 %left, 1
  ret { ptr, i64 } %both
}
define internal void @begin(ptr %message, ptr %own) nounwind {
  store i64 0, ptr %message
  %name_at = getelementptr i64, ptr %own, i64 $OWN_NAME
  %name = load ptr, ptr %name_at
  %domain_at = getelementptr i64, ptr %own, i64 $OWN_DOMAIN
  %domain = load ptr, ptr %domain_at
  call void @say(ptr %message, ptr %domain)
  call void @say(ptr %message, ptr @text.scope)
  call void @say(ptr %message, ptr %name)
  ret void
}
define internal void @say(ptr %message, ptr %text) nounwind {
  %rest = call { ptr, i64 } @rest(ptr %message)
  %to = extractvalue { ptr, i64 } %rest, 0
  %left = extractvalue { ptr, i64 } %rest, 1
  %more = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %to, i64 %left, ptr @text.text, ptr %text)
  call void @said(ptr %message, i32 %more)
  ret void
}
define internal void @say_int(ptr %message, i64 %value) nounwind {
  %rest = call { ptr, i64 } @rest(ptr %message)
  %to = extractvalue { ptr, i64 } %rest, 0
  %left = extractvalue { ptr, i64 } %rest, 1
  %more = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %to, i64 %left, ptr @text.int, i64 %value)
  call void @said(ptr %message, i32 %more)
  ret void
}
define internal void @say_float(ptr %message, ptr %at) nounwind {
  %value = load float, ptr %at
  %wide = fpext float %value to double
  %rest = call { ptr, i64 } @rest(ptr %message)
  %to = extractvalue { ptr, i64 } %rest, 0
  %left = extractvalue { ptr, i64 } %rest, 1
  %more = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %to, i64 %left, ptr @text.float, double %wide)
  call void @said(ptr %message, i32 %more)
  ret void
}
define internal void @say_value(ptr %message, ptr %value) nounwind {
  %kind = load i64, ptr %value
  %bytes_at = getelementptr i64, ptr %value, i64 1
  %bytes = load i64, ptr %bytes_at
  %content_at = getelementptr i64, ptr %value, i64 2
  %content = load ptr, ptr %content_at
  switch i64 %kind, label %list [
    i64 $KIND_ABSENT, label %absent
    i64 $KIND_INT, label %int
    i64 $KIND_FLOAT, label %float
    i64 $KIND_STRING, label %string
  ]
absent:
  call void @say(ptr %message, ptr @text.absent)
  ret void
int:
  %whole = load i64, ptr %content
  call void @say_int(ptr %message, i64 %whole)
  ret void
float:
  call void @say_float(ptr %message, ptr %content)
  ret void
string:
  call void @say(ptr %message, ptr @text.quote)
  call void @say(ptr %message, ptr %content)
  call void @say(ptr %message, ptr @text.quote)
  ret void
list:
  call void @say(ptr %message, ptr @text.open)
  %of_floats = icmp eq i64 %kind, $KIND_FLOATS
  %each_bytes = select i1 %of_floats, i64 4, i64 8
  br label %next
next:
  %at = phi i64 [ 0, %list ], [ %at_next, %done ]
  %more = icmp ult i64 %at, %bytes
  br i1 %more, label %item, label %over
item:
  %is_first = icmp eq i64 %at, 0
  br i1 %is_first, label %one, label %between
between:
  call void @say(ptr %message, ptr @text.and)
  br label %one
one:
  %item_at = getelementptr i8, ptr %content, i64 %at
  br i1 %of_floats, label %a_float, label %an_int
a_float:
  call void @say_float(ptr %message, ptr %item_at)
  br label %done
an_int:
  %item_value = load i64, ptr %item_at
  call void @say_int(ptr %message, i64 %item_value)
  br label %done
done:
  %at_next = add i64 %at, %each_bytes
  br label %next
over:
  call void @say(ptr %message, ptr @text.close)
  ret void
}
define internal ptr @refusal(ptr %api, i32 %code, ptr %message) nounwind {
  %at = getelementptr ptr, ptr %api, i64 $CreateStatus
  %create = load ptr, ptr %at
  %text = getelementptr i8, ptr %message, i64 8
  %status = call ptr %create(i32 %code, ptr %text)
  ret ptr %status
}
define internal i1 @is_there(ptr %api, ptr %status) nounwind {
  %fine = icmp eq ptr %status, null
  br i1 %fine, label %yes, label %no
yes:
  ret i1 true
no:
  %at = getelementptr ptr, ptr %api, i64 $ReleaseStatus
  %release = load ptr, ptr %at
  call void %release(ptr %status)
  ret i1 false
}
"""
