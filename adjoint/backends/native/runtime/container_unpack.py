"""The containers of a call's arguments, unpacked by compiled code: see `container_call.py`."""

UNPACK = """
@adj_tensor = external global i8
@adj_tuple = external global i8
@adj_list = external global i8
@adj_dict = external global i8
declare i64 @PyDict_Size(ptr)
declare i32 @PyDict_Next(ptr, ptr, ptr, ptr)
declare i32 @PyContextVar_Get(ptr, ptr, ptr)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyObject_VectorcallDict(ptr, ptr, i64, ptr)
declare i32 @memcmp(ptr, ptr, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; Whether everything around the call is as it must be: see `call_guards.py`.
define internal i1 @adj_guards(ptr %first, i64 %guards) {{
entry:
  %value.at = alloca ptr
  br label %guard
guard:
  %g = phi i64 [ 0, %entry ], [ %g.next, %checked ]
  %guard.at = phi ptr [ %first, %entry ], [ %guard.next, %checked ]
  %guard.next = getelementptr i64, ptr %guard.at, i64 4
  %g.next = add i64 %g, 1
  %g.more = icmp slt i64 %g, %guards
  br i1 %g.more, label %ask, label %yes
ask:
  %kind = load i64, ptr %guard.at
  %subject.at = getelementptr ptr, ptr %guard.at, i64 1
  %subject = load ptr, ptr %subject.at
  %detail.at = getelementptr ptr, ptr %guard.at, i64 2
  %detail = load ptr, ptr %detail.at
  %wanted.at = getelementptr ptr, ptr %guard.at, i64 3
  %wanted = load ptr, ptr %wanted.at
  switch i64 %kind, label %no [ i64 0, label %variable  i64 1, label %key  i64 2, label %word  i64 3, label %memory  i64 4, label %test ]
variable:
  store ptr null, ptr %value.at
  %asked = call i32 @PyContextVar_Get(ptr %subject, ptr null, ptr %value.at)
  %value = load ptr, ptr %value.at
  call void @Py_DecRef(ptr %value)
  br label %checked.for
key:
  %item = call ptr @PyDict_GetItemWithError(ptr %subject, ptr %detail)
  br label %checked.for
word:
  %field = load ptr, ptr %subject
  br label %checked.for
memory:
  %bytes = ptrtoint ptr %wanted to i64
  %difference = call i32 @memcmp(ptr %subject, ptr %detail, i64 %bytes)
  %equal = icmp eq i32 %difference, 0
  br i1 %equal, label %checked, label %no
test:
  %answer = call ptr @PyObject_VectorcallDict(ptr %subject, ptr null, i64 0, ptr null)
  %raised = icmp eq ptr %answer, null
  br i1 %raised, label %no, label %answered
answered:
  call void @Py_DecRef(ptr %answer)
  br label %checked.for
checked.for:
  %found = phi ptr [ %value, %variable ], [ %item, %key ], [ %field, %word ], [ %answer, %answered ]
  %as.wanted = icmp eq ptr %found, %wanted
  br i1 %as.wanted, label %checked, label %no
checked:
  br label %guard
yes:
  ret i1 true
no:
  ret i1 false
}}

; Whether the objects are as the steps say; then the arrays in them are noted in `held`, and their data in `buffers`.
define internal i1 @adj_take(ptr %table, ptr %steps, i64 %takes, ptr %objects, ptr %buffers, ptr %numbers, ptr %held) {{
entry:
  %value.at = alloca ptr
  %key.at = alloca ptr
  %position = alloca i64
  br label %take
take:
  %i = phi i64 [ 0, %entry ], [ %i.next, %taken ]
  %end = phi i64 [ 2, %entry ], [ %end.next, %taken ]
  %step = phi ptr [ %steps, %entry ], [ %step.next, %taken ]
  %step.next = getelementptr i64, ptr %step, i64 4
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i, %takes
  br i1 %i.more, label %look, label %yes
look:
  %object.at = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %object.at
  %type.at = getelementptr i8, ptr %object, i64 {type}
  %type = load ptr, ptr %type.at
  %kind = load i64, ptr %step
  %count.at = getelementptr i64, ptr %step, i64 1
  %count = load i64, ptr %count.at
  %detail.at = getelementptr i64, ptr %step, i64 2
  %detail = load i64, ptr %detail.at
  %pointer = load ptr, ptr %detail.at
  %second.detail.at = getelementptr i64, ptr %step, i64 3
  %second.detail = load ptr, ptr %second.detail.at
  %length.at = getelementptr i8, ptr %object, i64 {length}
  %items.to = getelementptr ptr, ptr %objects, i64 %end
  %place = getelementptr ptr, ptr %buffers, i64 %count
  %hold.at = getelementptr ptr, ptr %held, i64 %count
  %record = getelementptr i64, ptr %table, i64 %detail
  switch i64 %kind, label %same [ i64 0, label %tuple  i64 1, label %list  i64 2, label %dict  i64 4, label %array  i64 5, label %number ]

same:
  %is.same = icmp eq ptr %object, %pointer
  br i1 %is.same, label %taken, label %other

tuple:
  %is.tuple = icmp eq ptr %type, @adj_tuple
  %tuple.items = getelementptr i8, ptr %object, i64 {tuple_items}
  br i1 %is.tuple, label %measure, label %other
list:
  %is.list = icmp eq ptr %type, @adj_list
  br i1 %is.list, label %list.open, label %other
list.open:
  %list.items.at = getelementptr i8, ptr %object, i64 {list_items}
  %list.items = load ptr, ptr %list.items.at
  br label %measure
measure:
  %items = phi ptr [ %tuple.items, %tuple ], [ %list.items, %list.open ]
  %length = load i64, ptr %length.at
  %same.length = icmp eq i64 %length, %count
  br i1 %same.length, label %copy, label %other
copy:
  %bytes = shl i64 %count, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %items.to, ptr %items, i64 %bytes, i1 false)
  br label %opened

dict:
  %is.dict = icmp eq ptr %type, @adj_dict
  br i1 %is.dict, label %dict.measure, label %other
dict.measure:
  %size = call i64 @PyDict_Size(ptr %object)
  %same.size = icmp eq i64 %size, %count
  store i64 0, ptr %position
  br i1 %same.size, label %pair, label %other
pair:
  %p = phi i64 [ 0, %dict.measure ], [ %p.next, %pair.check ]
  %found = call i32 @PyDict_Next(ptr %object, ptr %position, ptr %key.at, ptr %value.at)
  %p.more = icmp ne i32 %found, 0
  br i1 %p.more, label %pair.check, label %opened
pair.check:
  %key = load ptr, ptr %key.at
  %item = load ptr, ptr %value.at
  %item.to = getelementptr ptr, ptr %items.to, i64 %p
  store ptr %item, ptr %item.to
  %keys = getelementptr i8, ptr %pointer, i64 {tuple_items}
  %wanted.key.at = getelementptr ptr, ptr %keys, i64 %p
  %wanted.key = load ptr, ptr %wanted.key.at
  %p.next = add i64 %p, 1
  %same.key = icmp eq ptr %key, %wanted.key
  br i1 %same.key, label %pair, label %other

opened:
  %end.more = add i64 %end, %count
  br label %taken

array:
  %is.tensor = icmp eq ptr %type, @adj_tensor
  br i1 %is.tensor, label %tensor, label %array.check
tensor:
  %trace.at = getelementptr i8, ptr %object, i64 {tensor_trace}
  %trace = load ptr, ptr %trace.at
  %inner.at = getelementptr i8, ptr %object, i64 {tensor_value}
  %inner = load ptr, ptr %inner.at
  %untracked = icmp eq ptr %trace, %second.detail
  br i1 %untracked, label %tensor.open, label %other
tensor.open:
  %inner.type.at = getelementptr i8, ptr %inner, i64 {type}
  %inner.type = load ptr, ptr %inner.type.at
  br label %array.check
array.check:
  %held.array = phi ptr [ %object, %array ], [ %inner, %tensor.open ]
  %array.type = phi ptr [ %type, %array ], [ %inner.type, %tensor.open ]
  store ptr %held.array, ptr %hold.at
  %is.array = icmp eq ptr %array.type, @adj_ndarray
  br i1 %is.array, label %array.fit, label %other
array.fit:
  %fits = call i1 @adj_array(ptr %held.array, ptr %record, ptr %place)
  br i1 %fits, label %taken, label %other

number:
  %slot = getelementptr i64, ptr %numbers, i64 %count
  store ptr %object, ptr %hold.at
  %is.number = icmp eq ptr %type, %second.detail
  br i1 %is.number, label %number.take, label %other
number.take:
  %stands = call i1 @adj_number(ptr %object, ptr %type, ptr %record, ptr %place, ptr %slot)
  br i1 %stands, label %taken, label %other

taken:
  %end.next = phi i64 [ %end, %same ], [ %end.more, %opened ], [ %end, %array.fit ], [ %end, %number.take ]
  br label %take

yes:
  ret i1 true
other:
  ret i1 false
}}
"""
