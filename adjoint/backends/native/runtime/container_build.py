"""The containers of a call's results, built by compiled code: see `container_call.py`."""

BUILD = """
@adj_none = external global i8
declare ptr @PyTuple_New(i64)
declare ptr @PyDict_New()
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; Make what the steps say, the last first, into `fresh`, which holds nulls; false, with an exception, where one fails.
define internal i1 @adj_make(ptr %table, ptr %steps, i64 %makes, ptr %fresh, ptr %places) {{
build:
  %makes.words = shl i64 %makes, 2
  %make.end = getelementptr i64, ptr %steps, i64 %makes.words
  br label %make
make:
  %m = phi i64 [ %makes, %build ], [ %this, %put ]
  %inside = phi i64 [ %makes, %build ], [ %inside.next, %put ]
  %make.at = phi ptr [ %make.end, %build ], [ %make.this, %put ]
  %this = sub i64 %m, 1
  %make.this = getelementptr i64, ptr %make.at, i64 -4
  %more = icmp sgt i64 %m, 0
  br i1 %more, label %make.look, label %yes
make.look:
  %kind = load i64, ptr %make.this
  %count.at = getelementptr i64, ptr %make.this, i64 1
  %count = load i64, ptr %count.at
  %detail.at = getelementptr i64, ptr %make.this, i64 2
  %detail = load i64, ptr %detail.at
  %pointer = load ptr, ptr %detail.at
  %second.at = getelementptr i64, ptr %make.this, i64 3
  %second = load ptr, ptr %second.at
  %bytes = shl i64 %count, 3
  %inside.first = sub i64 %inside, %count
  %inside.at = getelementptr ptr, ptr %fresh, i64 %inside.first
  switch i64 %kind, label %new.tensor [ i64 0, label %new.tuple  i64 1, label %new.list  i64 2, label %new.dict  i64 3, label %again ]

again:
  call void @Py_IncRef(ptr %pointer)
  br label %put
new.tuple:
  %tuple = call ptr @PyTuple_New(i64 %count)
  %tuple.items = getelementptr i8, ptr %tuple, i64 {tuple_items}
  %no.tuple = icmp eq ptr %tuple, null
  br i1 %no.tuple, label %no, label %fill
new.list:
  %list = call ptr @PyList_New(i64 %count)
  %no.list = icmp eq ptr %list, null
  br i1 %no.list, label %no, label %new.list.open
new.list.open:
  %list.items.at = getelementptr i8, ptr %list, i64 {list_items}
  %list.items = load ptr, ptr %list.items.at
  br label %fill
fill:
  %sequence = phi ptr [ %tuple, %new.tuple ], [ %list, %new.list.open ]
  %items = phi ptr [ %tuple.items, %new.tuple ], [ %list.items, %new.list.open ]
  call void @llvm.memcpy.p0.p0.i64(ptr %items, ptr %inside.at, i64 %bytes, i1 false)
  call void @llvm.memset.p0.i64(ptr %inside.at, i8 0, i64 %bytes, i1 false)
  br label %put
new.dict:
  %dict = call ptr @PyDict_New()
  %no.dict = icmp eq ptr %dict, null
  br i1 %no.dict, label %no, label %entries
entries:
  %e = phi i64 [ 0, %new.dict ], [ %e.next, %entered ]
  %e.more = icmp slt i64 %e, %count
  br i1 %e.more, label %enter, label %put
enter:
  %keys = getelementptr i8, ptr %pointer, i64 {tuple_items}
  %key.at = getelementptr ptr, ptr %keys, i64 %e
  %key = load ptr, ptr %key.at
  %item.at = getelementptr ptr, ptr %inside.at, i64 %e
  %item = load ptr, ptr %item.at
  %status = call i32 @PyDict_SetItem(ptr %dict, ptr %key, ptr %item)
  %e.next = add i64 %e, 1
  %not.entered = icmp slt i32 %status, 0
  br i1 %not.entered, label %undo.dict, label %entered
entered:
  call void @Py_DecRef(ptr %item)
  store ptr null, ptr %item.at
  br label %entries
undo.dict:
  call void @Py_DecRef(ptr %dict)
  br label %no

new.tensor:
  %record = getelementptr i64, ptr %table, i64 %detail
  %place = getelementptr ptr, ptr %places, i64 %count
  %array = call ptr @adj_new(ptr %record, ptr %place)
  %no.array = icmp eq ptr %array, null
  br i1 %no.array, label %no, label %wrap
wrap:
  %tensor = call ptr @PyType_GenericAlloc(ptr @adj_tensor, i64 0)
  %no.tensor = icmp eq ptr %tensor, null
  br i1 %no.tensor, label %undo.array, label %set.slots
set.slots:
  call void @Py_IncRef(ptr %second)
  call void @Py_IncRef(ptr @adj_none)
  %value.at = getelementptr i8, ptr %tensor, i64 {tensor_value}
  store ptr %array, ptr %value.at
  %trace.at = getelementptr i8, ptr %tensor, i64 {tensor_trace}
  store ptr %second, ptr %trace.at
  %extra.at = getelementptr i8, ptr %tensor, i64 {tensor_extra}
  store ptr @adj_none, ptr %extra.at
  br label %put
undo.array:
  call void @Py_DecRef(ptr %array)
  br label %no

put:
  %made = phi ptr [ %pointer, %again ], [ %sequence, %fill ], [ %dict, %entries ], [ %tensor, %set.slots ]
  %inside.next = phi i64 [ %inside, %again ], [ %inside.first, %fill ], [ %inside.first, %entries ], [ %inside, %set.slots ]
  %put.at = getelementptr ptr, ptr %fresh, i64 %this
  store ptr %made, ptr %put.at
  br label %make

yes:
  ret i1 true
no:
  ret i1 false
}}
"""
