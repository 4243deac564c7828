"""The kernel of a node as LLVM IR text: its attributes are read, and the entries that have them are kept.

An attribute is read by the first function of the API that takes it, so that one of another type than the declared one
is refused, and not taken for an absent one.
"""

from __future__ import annotations

from typing import Final

from ...base.vocabulary import FLOAT64
from .requests import Kind
from .words import filled

KERNEL_WORDS: Final = 3
"""The words of a kernel before its entries: the API, the op, and how many entries there are."""
_CONTENT_BYTES: Final = 2048  # of an attribute; one with more, or of another type, equals none
_TEXTS: Final = {
    "attr": ": attr ",
    "equals": "=",
    "has": "; the library has: ",
    "missing": " is missing, and has no default",
    "no_entry": ": the library has no entry for these attrs:",
    "no_memory": ": no memory for a kernel",
    "space": " ",
    "wanted": " is of another type than the declared one: ",
}


def create_text() -> str:
    """`CreateKernelV2`."""
    return filled(
        _TENSOR + _READ + _CREATE,
        _TEXTS,
        DOUBLE=FLOAT64.onnx,
        CONTENT_BYTES=_CONTENT_BYTES,
        OTHER=1 + max(Kind),
        KERNEL_WORDS=KERNEL_WORDS,
    )


# A tensor of float64 as floats: gives its kind, ABSENT where there is none; %size: how many it has.
_TENSOR: Final = """\
define internal i64 @read_tensor(ptr %api, ptr %info, ptr %name, ptr %content, ptr %size) nounwind {
  %place = alloca ptr
  %type = alloca i32
  %rank_at = alloca i64
  store i64 0, ptr %size
  %allocator_at = getelementptr ptr, ptr %api, i64 $GetAllocatorWithDefaultOptions
  %allocator_of = load ptr, ptr %allocator_at
  %no_allocator = call ptr %allocator_of(ptr %place)
  %allocator = load ptr, ptr %place
  %tensor_at = getelementptr ptr, ptr %api, i64 $KernelInfoGetAttribute_tensor
  %tensor_of = load ptr, ptr %tensor_at
  %no_tensor = call ptr %tensor_of(ptr %info, ptr %name, ptr %allocator, ptr %place)
  %is_tensor = call i1 @is_there(ptr %api, ptr %no_tensor)
  br i1 %is_tensor, label %look, label %none
none:
  ret i64 $KIND_ABSENT
look:
  %tensor = load ptr, ptr %place
  %info_at = getelementptr ptr, ptr %api, i64 $GetTensorTypeAndShape
  %info_of = load ptr, ptr %info_at
  %no_info = call ptr %info_of(ptr %tensor, ptr %place)
  %shape = load ptr, ptr %place
  %type_at = getelementptr ptr, ptr %api, i64 $GetTensorElementType
  %type_of = load ptr, ptr %type_at
  %no_type = call ptr %type_of(ptr %shape, ptr %type)
  %element = load i32, ptr %type
  %count_at = getelementptr ptr, ptr %api, i64 $GetDimensionsCount
  %count_of = load ptr, ptr %count_at
  %no_rank = call ptr %count_of(ptr %shape, ptr %rank_at)
  %rank = load i64, ptr %rank_at
  %is_vector = icmp eq i64 %rank, 1
  br i1 %is_vector, label %measure, label %scalar
measure:
  %dims_at = getelementptr ptr, ptr %api, i64 $GetDimensions
  %dims_of = load ptr, ptr %dims_at
  %no_dims = call ptr %dims_of(ptr %shape, ptr %size, i64 1)
  br label %measured
scalar:
  store i64 1, ptr %size
  br label %measured
measured:
  %items = load i64, ptr %size
  %release_info_at = getelementptr ptr, ptr %api, i64 $ReleaseTensorTypeAndShapeInfo
  %release_info = load ptr, ptr %release_info_at
  call void %release_info(ptr %shape)
  %is_double = icmp eq i32 %element, $DOUBLE
  %is_flat = icmp ule i64 %rank, 1
  %bytes = mul i64 %items, 4
  %fits = icmp ule i64 %bytes, $CONTENT_BYTES
  %is_right = and i1 %is_double, %is_flat
  %is_read = and i1 %is_right, %fits
  br i1 %is_read, label %copy, label %other
other:
  store i64 0, ptr %size
  br label %release
copy:
  %data_at = getelementptr ptr, ptr %api, i64 $GetTensorMutableData
  %data_of = load ptr, ptr %data_at
  %no_data = call ptr %data_of(ptr %tensor, ptr %place)
  %data = load ptr, ptr %place
  br label %each
each:
  %k = phi i64 [ 0, %copy ], [ %next, %one ]
  %more = icmp ult i64 %k, %items
  br i1 %more, label %one, label %release
one:
  %from = getelementptr double, ptr %data, i64 %k
  %wide = load double, ptr %from
  %narrow = fptrunc double %wide to float
  %to = getelementptr float, ptr %content, i64 %k
  store float %narrow, ptr %to
  %next = add i64 %k, 1
  br label %each
release:
  %was_read = phi i1 [ false, %other ], [ true, %each ]
  %release_at = getelementptr ptr, ptr %api, i64 $ReleaseValue
  %release_value = load ptr, ptr %release_at
  call void %release_value(ptr %tensor)
  %read_kind = select i1 %is_vector, i64 $KIND_FLOATS, i64 $KIND_FLOAT
  %kind = select i1 %was_read, i64 %read_kind, i64 $OTHER
  ret i64 %kind
}
"""


_READ: Final = """\
define internal void @read(ptr %api, ptr %info, ptr %name, ptr %value, ptr %content) nounwind {
  %size = alloca i64
  %content_at = getelementptr i64, ptr %value, i64 $VALUE_CONTENT
  store ptr %content, ptr %content_at
  store i64 0, ptr %size
  %int_at = getelementptr ptr, ptr %api, i64 $KernelInfoGetAttribute_int64
  %int_of = load ptr, ptr %int_at
  %no_int = call ptr %int_of(ptr %info, ptr %name, ptr %content)
  %is_int = call i1 @is_there(ptr %api, ptr %no_int)
  br i1 %is_int, label %done, label %try_float
try_float:
  %float_at = getelementptr ptr, ptr %api, i64 $KernelInfoGetAttribute_float
  %float_of = load ptr, ptr %float_at
  %no_float = call ptr %float_of(ptr %info, ptr %name, ptr %content)
  %is_float = call i1 @is_there(ptr %api, ptr %no_float)
  br i1 %is_float, label %done, label %try_string
try_string:
  %string_at = getelementptr ptr, ptr %api, i64 $KernelInfoGetAttribute_string
  %string_of = load ptr, ptr %string_at
  %no_string = call ptr %string_of(ptr %info, ptr %name, ptr null, ptr %size)
  %is_string = call i1 @is_there(ptr %api, ptr %no_string)
  br i1 %is_string, label %string, label %try_ints
string:
  %with_zero = load i64, ptr %size
  %characters = sub i64 %with_zero, 1
  %string_fits = icmp ule i64 %with_zero, $CONTENT_BYTES
  br i1 %string_fits, label %copy_string, label %done
copy_string:
  %string_failed = call ptr %string_of(ptr %info, ptr %name, ptr %content, ptr %size)
  %string_copied = call i1 @is_there(ptr %api, ptr %string_failed)
  br label %done
try_ints:
  store i64 0, ptr %size
  %ints_at = getelementptr ptr, ptr %api, i64 $KernelInfoGetAttributeArray_int64
  %ints_of = load ptr, ptr %ints_at
  %no_ints = call ptr %ints_of(ptr %info, ptr %name, ptr null, ptr %size)
  %is_list = call i1 @is_there(ptr %api, ptr %no_ints)
  br i1 %is_list, label %list, label %try_tensor
list:
  %ints = load i64, ptr %size
  %int_bytes = mul i64 %ints, 8
  %no_items = icmp eq i64 %ints, 0
  br i1 %no_items, label %try_floats, label %has_ints
has_ints:
  %ints_fit = icmp ule i64 %int_bytes, $CONTENT_BYTES
  br i1 %ints_fit, label %copy_ints, label %done
copy_ints:
  %ints_failed = call ptr %ints_of(ptr %info, ptr %name, ptr %content, ptr %size)
  %ints_copied = call i1 @is_there(ptr %api, ptr %ints_failed)
  br label %done
try_floats:
  %floats_at = getelementptr ptr, ptr %api, i64 $KernelInfoGetAttributeArray_float
  %floats_of = load ptr, ptr %floats_at
  %no_floats = call ptr %floats_of(ptr %info, ptr %name, ptr null, ptr %size)
  %is_floats = call i1 @is_there(ptr %api, ptr %no_floats)
  %floats = load i64, ptr %size
  %float_bytes = mul i64 %floats, 4
  %is_empty = icmp eq i64 %floats, 0
  br i1 %is_empty, label %try_tensor, label %has_floats
has_floats:
  %floats_fit = icmp ule i64 %float_bytes, $CONTENT_BYTES
  br i1 %floats_fit, label %copy_floats, label %done
copy_floats:
  %floats_failed = call ptr %floats_of(ptr %info, ptr %name, ptr %content, ptr %size)
  %floats_copied = call i1 @is_there(ptr %api, ptr %floats_failed)
  br label %done
try_tensor:
  %else = phi i64 [ $KIND_ABSENT, %try_ints ], [ $KIND_EMPTY, %try_floats ]
  %tensor_kind = call i64 @read_tensor(ptr %api, ptr %info, ptr %name, ptr %content, ptr %size)
  %no_tensor = icmp eq i64 %tensor_kind, $KIND_ABSENT
  %last_kind = select i1 %no_tensor, i64 %else, i64 %tensor_kind
  %tensor_items = load i64, ptr %size
  %tensor_bytes = mul i64 %tensor_items, 4
  br label %done
done:
  %kind = phi i64 [ $KIND_INT, %0 ], [ $KIND_FLOAT, %try_float ], [ $OTHER, %string ],
                  [ $KIND_STRING, %copy_string ], [ %last_kind, %try_tensor ], [ $OTHER, %has_ints ],
                  [ $KIND_INTS, %copy_ints ], [ $OTHER, %has_floats ],
                  [ $KIND_FLOATS, %copy_floats ]
  %bytes = phi i64 [ 8, %0 ], [ 4, %try_float ], [ 0, %string ], [ %characters, %copy_string ],
                   [ %tensor_bytes, %try_tensor ], [ 0, %has_ints ], [ %int_bytes, %copy_ints ],
                   [ 0, %has_floats ], [ %float_bytes, %copy_floats ]
  store i64 %kind, ptr %value
  %bytes_at = getelementptr i64, ptr %value, i64 $VALUE_BYTES
  store i64 %bytes, ptr %bytes_at
  ret void
}
define internal i1 @are_same(ptr %values, ptr %others, i64 %count) nounwind {
  br label %next
next:
  %k = phi i64 [ 0, %0 ], [ %k_next, %same ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %compare, label %yes
compare:
  %first = mul i64 %k, $VALUE_WORDS
  %value = getelementptr i64, ptr %values, i64 %first
  %other = getelementptr i64, ptr %others, i64 %first
  %kind = load i64, ptr %value
  %other_kind = load i64, ptr %other
  %same_kind = icmp eq i64 %kind, %other_kind
  br i1 %same_kind, label %sizes, label %no
sizes:
  %bytes_at = getelementptr i64, ptr %value, i64 $VALUE_BYTES
  %bytes = load i64, ptr %bytes_at
  %other_bytes_at = getelementptr i64, ptr %other, i64 $VALUE_BYTES
  %other_bytes = load i64, ptr %other_bytes_at
  %same_bytes = icmp eq i64 %bytes, %other_bytes
  br i1 %same_bytes, label %are_any, label %no
are_any:
  %none = icmp eq i64 %bytes, 0
  br i1 %none, label %same, label %contents
contents:
  %content_at = getelementptr i64, ptr %value, i64 $VALUE_CONTENT
  %content = load ptr, ptr %content_at
  %other_content_at = getelementptr i64, ptr %other, i64 $VALUE_CONTENT
  %other_content = load ptr, ptr %other_content_at
  %order = call i32 @memcmp(ptr %content, ptr %other_content, i64 %bytes)
  %same_content = icmp eq i32 %order, 0
  br i1 %same_content, label %same, label %no
same:
  %k_next = add i64 %k, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}
"""

_CREATE: Final = """\
define internal ptr @CreateKernelV2(ptr %op, ptr %api, ptr %info, ptr %kernel_at) nounwind {
  %message = alloca [$MESSAGE_BYTES x i8], align 8
  %own = getelementptr i64, ptr %op, i64 $CUSTOM_OP_WORDS
  call void @begin(ptr %message, ptr %own)
  %count_at = getelementptr i64, ptr %own, i64 $OWN_ATTR_COUNT
  %count = load i64, ptr %count_at
  %attrs_at = getelementptr i64, ptr %own, i64 $OWN_ATTRS
  %attrs = load ptr, ptr %attrs_at
  %words = mul i64 %count, $VALUE_WORDS
  %values = alloca i64, i64 %words, align 8
  %room = mul i64 %count, $CONTENT_BYTES
  %contents = alloca i8, i64 %room, align 8
  br label %each_attr
each_attr:
  %k = phi i64 [ 0, %0 ], [ %k_next, %known ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %look, label %search
look:
  %attr_position = mul i64 %k, $ATTR_WORDS
  %attr = getelementptr i64, ptr %attrs, i64 %attr_position
  %name = load ptr, ptr %attr
  %value_position = mul i64 %k, $VALUE_WORDS
  %value = getelementptr i64, ptr %values, i64 %value_position
  %content_position = mul i64 %k, $CONTENT_BYTES
  %content = getelementptr i8, ptr %contents, i64 %content_position
  call void @read(ptr %api, ptr %info, ptr %name, ptr %value, ptr %content)
  %kind = load i64, ptr %value
  %is_absent = icmp eq i64 %kind, $KIND_ABSENT
  br i1 %is_absent, label %absent, label %given
absent:
  %required_at = getelementptr i64, ptr %attr, i64 $ATTR_IS_REQUIRED
  %required = load i64, ptr %required_at
  %is_missing = icmp ne i64 %required, 0
  br i1 %is_missing, label %missing, label %default
missing:
  call void @say(ptr %message, ptr @text.attr)
  call void @say(ptr %message, ptr %name)
  call void @say(ptr %message, ptr @text.missing)
  %not_given = call ptr @refusal(ptr %api, i32 $CODE_INVALID_ARGUMENT, ptr %message)
  ret ptr %not_given
default:
  %default_at = getelementptr i64, ptr %attr, i64 $ATTR_DEFAULT
  %value_bytes = mul i64 $VALUE_WORDS, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %value, ptr %default_at, i64 %value_bytes, i1 false)
  br label %known
given:
  %kinds_at = getelementptr i64, ptr %attr, i64 $ATTR_KINDS
  %kinds = load i64, ptr %kinds_at
  %other = shl i64 1, $OTHER
  %with_other = or i64 %kinds, %other
  %bit = shl i64 1, %kind
  %allowed = and i64 %with_other, %bit
  %is_wrong = icmp eq i64 %allowed, 0
  br i1 %is_wrong, label %wrong, label %known
wrong:
  %wanted_at = getelementptr i64, ptr %attr, i64 $ATTR_WANTED
  %wanted = load ptr, ptr %wanted_at
  call void @say(ptr %message, ptr @text.attr)
  call void @say(ptr %message, ptr %name)
  call void @say(ptr %message, ptr @text.wanted)
  call void @say(ptr %message, ptr %wanted)
  %not_suitable = call ptr @refusal(ptr %api, i32 $CODE_INVALID_ARGUMENT, ptr %message)
  ret ptr %not_suitable
known:
  %k_next = add i64 %k, 1
  br label %each_attr
search:
  %entry_count_at = getelementptr i64, ptr %own, i64 $OWN_ENTRY_COUNT
  %entry_count = load i64, ptr %entry_count_at
  %entries_at = getelementptr i64, ptr %own, i64 $OWN_ENTRIES
  %entries = load ptr, ptr %entries_at
  %kernel_words = add i64 %entry_count, $KERNEL_WORDS
  %kernel_bytes = mul i64 %kernel_words, 8
  %kernel = call ptr @malloc(i64 %kernel_bytes)
  %no_kernel = icmp eq ptr %kernel, null
  br i1 %no_kernel, label %no_memory, label %each_entry
no_memory:
  call void @say(ptr %message, ptr @text.no_memory)
  %no_room = call ptr @refusal(ptr %api, i32 $CODE_FAIL, ptr %message)
  ret ptr %no_room
each_entry:
  %e = phi i64 [ 0, %search ], [ %e_next, %looked ]
  %found = phi i64 [ 0, %search ], [ %found_now, %looked ]
  %e_more = icmp ult i64 %e, %entry_count
  br i1 %e_more, label %compare, label %all
compare:
  %entry_at = getelementptr ptr, ptr %entries, i64 %e
  %entry = load ptr, ptr %entry_at
  %own_values_at = getelementptr i64, ptr %entry, i64 $ENTRY_VALUES
  %own_values = load ptr, ptr %own_values_at
  %same = call i1 @are_same(ptr %values, ptr %own_values, i64 %count)
  br i1 %same, label %keep, label %looked
keep:
  %place = add i64 %found, $KERNEL_WORDS
  %kept_at = getelementptr ptr, ptr %kernel, i64 %place
  store ptr %entry, ptr %kept_at
  %found_more = add i64 %found, 1
  br label %looked
looked:
  %found_now = phi i64 [ %found, %compare ], [ %found_more, %keep ]
  %e_next = add i64 %e, 1
  br label %each_entry
all:
  %none = icmp eq i64 %found, 0
  br i1 %none, label %no_entry, label %made
made:
  store ptr %api, ptr %kernel
  %kernel_own = getelementptr ptr, ptr %kernel, i64 1
  store ptr %own, ptr %kernel_own
  %kernel_count = getelementptr i64, ptr %kernel, i64 2
  store i64 %found, ptr %kernel_count
  store ptr %kernel, ptr %kernel_at
  ret ptr null
no_entry:
  call void @free(ptr %kernel)
  call void @say(ptr %message, ptr @text.no_entry)
  br label %each_given
each_given:
  %g = phi i64 [ 0, %no_entry ], [ %g_next, %say_given ]
  %g_more = icmp ult i64 %g, %count
  br i1 %g_more, label %say_given, label %all_given
say_given:
  %given_attr_position = mul i64 %g, $ATTR_WORDS
  %given_attr = getelementptr i64, ptr %attrs, i64 %given_attr_position
  %given_name = load ptr, ptr %given_attr
  %given_position = mul i64 %g, $VALUE_WORDS
  %given_value = getelementptr i64, ptr %values, i64 %given_position
  call void @say(ptr %message, ptr @text.space)
  call void @say(ptr %message, ptr %given_name)
  call void @say(ptr %message, ptr @text.equals)
  call void @say_value(ptr %message, ptr %given_value)
  %g_next = add i64 %g, 1
  br label %each_given
all_given:
  call void @say(ptr %message, ptr @text.has)
  %listing_at = getelementptr i64, ptr %own, i64 $OWN_LISTING
  %listing = load ptr, ptr %listing_at
  call void @say(ptr %message, ptr %listing)
  %nothing = call ptr @refusal(ptr %api, i32 $CODE_NOT_IMPLEMENTED, ptr %message)
  ret ptr %nothing
}
"""
