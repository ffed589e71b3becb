/* Records of a write-ahead log (see chaoskit.history.format.record), and the Cursor that writes them: the next place in its
 * mapped segment. Python's WalWriter is a subclass and changes segments. */

#include <stdint.h>

enum { SEND = 1, COMPLETE = 3, RECEIVED = 4 };
enum { RECORD_BYTES = 72 };

typedef struct {
    uint8_t kind, code;
    uint16_t unused;
    int32_t partition;
    uint32_t name, key;
    int64_t op, value, position, intended_ns, start_ns, end_ns;
    int32_t delivery;
    uint32_t mark;
} Record;
_Static_assert(sizeof(Record) == RECORD_BYTES, "the layout of record.py");

typedef struct {
    PyObject_HEAD
    Py_buffer segment;
    Py_ssize_t offset, end, admitted_end;
    long long next_op;
} Cursor;

static void cursor_release(Cursor *self) {
    if (self->segment.obj != NULL) PyBuffer_Release(&self->segment);
}

static PyObject *cursor_map(PyObject *object, PyObject *segment) {
    Cursor *self = (Cursor *)object;
    cursor_release(self);
    if (segment != Py_None && PyObject_GetBuffer(segment, &self->segment, PyBUF_WRITABLE) < 0) return NULL;
    Py_RETURN_NONE;
}

static void cursor_dealloc(PyObject *self) {
    cursor_release((Cursor *)self);
    Py_TYPE(self)->tp_free(self);
}

/* Return where the next record of an invocation, or of anything else, belongs; NULL with an exception if there is no
 * space. Python's methods change the segment. */
static Record *cursor_next(Cursor *self, int invocation) {
    if (self->offset >= (invocation ? self->admitted_end : self->end)) {
        PyObject *changed = PyObject_CallMethod((PyObject *)self, invocation ? "_admit" : "_advance", NULL);
        if (changed == NULL) return NULL;
        Py_DECREF(changed);
    }
    if (self->segment.obj == NULL || self->offset < 0 || self->offset + RECORD_BYTES > self->segment.len) {
        PyErr_SetString(PyExc_ValueError, "the log is closed");
        return NULL;
    }
    return (Record *)((char *)self->segment.buf + self->offset);
}

/* Make a record valid: its mark is stored last. */
static void cursor_commit(Cursor *self, Record *record) {
    __atomic_store_n(&record->mark, (uint32_t)self->offset, __ATOMIC_RELEASE);
    self->offset += RECORD_BYTES;
}

static PyMethodDef cursor_methods[] = {
    {"_map", cursor_map, METH_O, "Write to this mapped segment from now on; None: to none."},
    {NULL},
};
static PyMemberDef cursor_members[] = {
    {"_offset", T_PYSSIZET, offsetof(Cursor, offset)},
    {"_end", T_PYSSIZET, offsetof(Cursor, end)},
    {"_admitted_end", T_PYSSIZET, offsetof(Cursor, admitted_end)},
    {"_next_op", T_LONGLONG, offsetof(Cursor, next_op)},
    {NULL},
};
static PyTypeObject CursorType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "chaoskit.history.recording._hot.Cursor",
    .tp_basicsize = sizeof(Cursor),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = cursor_dealloc,
    .tp_methods = cursor_methods,
    .tp_members = cursor_members,
};
