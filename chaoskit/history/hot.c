/* The part of recording that happens for each message, in C: see chaoskit.history.lane, which has the same in Python,
 * and chaoskit.history.record and chaoskit.history.payload for the layouts.
 *
 * A Cursor is where a write-ahead log is written; Python's WalWriter is a subclass and changes segments. A Lane sends
 * and receives the messages of one client. A Report is what a client library calls once a message was delivered. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <stdint.h>
#include <string.h>
#include <time.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records are little-endian"
#endif

enum { SEND = 1, COMPLETE = 3, RECEIVED = 4 };
enum { PAYLOAD_OK, PAYLOAD_CORRUPT, PAYLOAD_FOREIGN };
enum { RECORD_BYTES = 72, HEAD_BYTES = 36, WHOLE_BYTES = 40 };
static const uint32_t PAYLOAD_MAGIC = 0x314B4843;
static const int32_t NO_DELIVERY = INT32_MIN;

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

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* CRC-32C (Castagnoli). */

static uint32_t crc_table[256];

static void fill_crc_table(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; bit++) rest = rest & 1 ? 0x82F63B78 ^ (rest >> 1) : rest >> 1;
        crc_table[byte] = rest;
    }
}

static uint32_t crc_by_table(uint32_t crc, const uint8_t *from, Py_ssize_t size) {
    while (size-- > 0) crc = crc_table[(crc ^ *from++) & 0xFF] ^ (crc >> 8);
    return crc;
}

static uint32_t (*crc_of)(uint32_t, const uint8_t *, Py_ssize_t) = crc_by_table;

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc_by_instruction(uint32_t crc, const uint8_t *from, Py_ssize_t size) {
    uint64_t wide = crc, word;
    for (; size >= 8; size -= 8, from += 8) {
        memcpy(&word, from, 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    for (crc = (uint32_t)wide; size > 0; size--) crc = __builtin_ia32_crc32qi(crc, *from++);
    return crc;
}
#endif

static uint32_t crc32c(const uint8_t *head, const uint8_t *rest, Py_ssize_t size) {
    return ~crc_of(crc_of(~0u, head, HEAD_BYTES), rest, size);
}

/* Cursor */

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
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "chaoskit.history._hot.Cursor",
    .tp_basicsize = sizeof(Cursor),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = cursor_dealloc,
    .tp_methods = cursor_methods,
    .tp_members = cursor_members,
};

/* Lane */

typedef struct {
    PyObject_HEAD
    Cursor *log;
    PyObject *slow, *topic_id, *key_id, *topics;
    unsigned long long run_id;
    long long sent, acked;
    int64_t *took;
    Py_ssize_t took_count, took_room;
} Lane;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Lane *lane;
    int64_t op, due_ns;
} Report;

static PyTypeObject ReportType;
static PyObject *str_offset;

static int lane_took(Lane *self, int64_t ns) {
    if (self->took_count == self->took_room) {
        Py_ssize_t room = self->took_room ? 2 * self->took_room : 1024;
        int64_t *grown = PyMem_Realloc(self->took, room * sizeof *grown);
        if (grown == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        self->took = grown;
        self->took_room = room;
    }
    self->took[self->took_count++] = ns;
    return 0;
}

static PyObject *report_slow(Report *self, PyObject *error, PyObject *message) {
    return PyObject_CallFunction(self->lane->slow, "LLOO", (long long)self->op, (long long)self->due_ns, error, message);
}

/* The callback of a client library: called with an error or None, and the message. */
static PyObject *report_call(PyObject *object, PyObject *const *arguments, size_t flags, PyObject *names) {
    Report *self = (Report *)object;
    Lane *lane = self->lane;
    if (PyVectorcall_NARGS(flags) != 2 || names != NULL) {
        PyErr_SetString(PyExc_TypeError, "a report is called with an error and a message");
        return NULL;
    }
    if (arguments[0] != Py_None) return report_slow(self, arguments[0], arguments[1]);
    PyObject *told = PyObject_CallMethodNoArgs(arguments[1], str_offset);
    if (told == NULL) return NULL;
    int64_t position = told == Py_None ? -1 : PyLong_AsLongLong(told);
    Py_DECREF(told);
    if (position == -1 && PyErr_Occurred()) return NULL;
    if (position < 0) return report_slow(self, arguments[0], arguments[1]);
    Record *record = cursor_next(lane->log, 0);
    if (record == NULL) return NULL;
    int64_t at_ns = now_ns();
    record->kind = COMPLETE;
    record->op = self->op;
    record->position = position;
    record->end_ns = at_ns;
    cursor_commit(lane->log, record);
    lane->acked++;
    if (lane_took(lane, at_ns - self->due_ns) < 0) return NULL;
    Py_RETURN_NONE;
}

static void report_dealloc(PyObject *object) {
    Py_XDECREF(((Report *)object)->lane);
    PyObject_Free(object);
}

static PyMemberDef report_members[] = {
    {"op", T_LONGLONG, offsetof(Report, op), READONLY},
    {NULL},
};
static PyTypeObject ReportType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "chaoskit.history._hot.Report",
    .tp_basicsize = sizeof(Report),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_vectorcall_offset = offsetof(Report, call),
    .tp_call = PyVectorcall_Call,
    .tp_dealloc = report_dealloc,
    .tp_members = report_members,
};

static int lane_init(PyObject *object, PyObject *arguments, PyObject *named) {
    Lane *self = (Lane *)object;
    static char *names[] = {"log", "run_id", "slow", "topic_id", "key_id", NULL};
    PyObject *log, *slow, *topic_id, *key_id;
    unsigned long long run_id;
    if (!PyArg_ParseTupleAndKeywords(arguments, named, "O!KOOO", names, &CursorType, &log, &run_id, &slow, &topic_id, &key_id))
        return -1;
    Py_XSETREF(self->log, (Cursor *)Py_NewRef(log));
    Py_XSETREF(self->slow, Py_NewRef(slow));
    Py_XSETREF(self->topic_id, Py_NewRef(topic_id));
    Py_XSETREF(self->key_id, Py_NewRef(key_id));
    Py_XSETREF(self->topics, PyDict_New());
    self->run_id = run_id;
    return self->topics == NULL ? -1 : 0;
}

/* Record and send one message; return 1, 0 if the client's queue is full (nothing is sent, `full` is called), or -1. */
static int lane_send(Lane *self, PyObject *send, PyObject *full, PyObject *route, int64_t value, int64_t due_ns,
                     const uint8_t *filler, Py_ssize_t filler_size) {
    PyObject *topic, *partition, *key;
    long long topic_id, key_id;
    if (!PyArg_ParseTuple(route, "OLOLO", &topic, &topic_id, &partition, &key_id, &key)) return -1;
    long number = PyLong_AsLong(partition);
    if (number == -1 && PyErr_Occurred()) return -1;
    int64_t sent_ns = now_ns();
    if (due_ns < 0) due_ns = sent_ns;

    PyObject *payload = PyBytes_FromStringAndSize(NULL, WHOLE_BYTES + filler_size);
    if (payload == NULL) return -1;
    uint8_t *to = (uint8_t *)PyBytes_AS_STRING(payload);
    memcpy(to, &PAYLOAD_MAGIC, 4);
    memcpy(to + 4, &self->run_id, 8);
    memcpy(to + 12, &value, 8);
    memcpy(to + 20, &due_ns, 8);
    memcpy(to + 28, &sent_ns, 8);
    memcpy(to + WHOLE_BYTES, filler, filler_size);
    uint32_t check = crc32c(to, to + WHOLE_BYTES, filler_size);
    memcpy(to + HEAD_BYTES, &check, 4);

    int done = -1;
    Report *report = NULL;
    Record *record = cursor_next(self->log, 1);
    if (record == NULL) goto out;
    report = PyObject_New(Report, &ReportType);
    if (report == NULL) goto out;
    report->call = report_call;
    report->lane = (Lane *)Py_NewRef((PyObject *)self);
    report->op = self->log->next_op++;
    report->due_ns = due_ns;
    record->kind = SEND;
    record->partition = (int32_t)number;
    record->name = (uint32_t)topic_id;
    record->key = (uint32_t)key_id;
    record->op = report->op;
    record->value = value;
    record->intended_ns = due_ns;
    record->start_ns = sent_ns;
    cursor_commit(self->log, record);
    self->sent++;
    for (;;) {
        PyObject *with[] = {topic, partition, key, payload, (PyObject *)report};
        PyObject *accepted = PyObject_Vectorcall(send, with, 5, NULL);
        if (accepted == NULL) goto out;
        int yes = PyObject_IsTrue(accepted);
        Py_DECREF(accepted);
        if (yes < 0) goto out;
        if (yes) break;
        PyObject *waited = PyObject_CallNoArgs(full);
        if (waited == NULL) goto out;
        Py_DECREF(waited);
    }
    done = 0;
out:
    Py_DECREF(payload);
    Py_XDECREF((PyObject *)report);
    return done;
}

static PyObject *lane_burst(PyObject *object, PyObject *arguments) {
    Lane *self = (Lane *)object;
    PyObject *send, *full, *routes;
    Py_buffer filler;
    long long first_value, sequence, count, start_ns, start_sequence;
    double interval_ns;
    if (!PyArg_ParseTuple(arguments, "OOO!y*LLLLLd", &send, &full, &PyTuple_Type, &routes, &filler, &first_value,
                          &sequence, &count, &start_ns, &start_sequence, &interval_ns))
        return NULL;
    Py_ssize_t turns = PyTuple_GET_SIZE(routes);
    long long until = sequence + count;
    int failed = turns == 0 || sequence < 0;
    if (failed) PyErr_SetString(PyExc_ValueError, "there is no route");
    for (; !failed && sequence < until; sequence++) {
        int64_t due_ns = interval_ns > 0 ? start_ns + (int64_t)((double)(sequence - start_sequence) * interval_ns) : -1;
        PyObject *route = PyTuple_GET_ITEM(routes, sequence % turns);
        failed = lane_send(self, send, full, route, first_value | sequence, due_ns, filler.buf, filler.len) < 0;
    }
    PyBuffer_Release(&filler);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static int64_t known_id(PyObject *known, PyObject *find, PyObject *text) {
    PyObject *id = PyDict_GetItemWithError(known, text);
    if (id != NULL) return PyLong_AsLongLong(id);
    if (PyErr_Occurred()) return -1;
    id = PyObject_CallOneArg(find, text);
    if (id == NULL) return -1;
    int64_t found = PyDict_SetItem(known, text, id) < 0 ? -1 : PyLong_AsLongLong(id);
    Py_DECREF(id);
    return found;
}

/* Record one delivery: (topic, partition, key, payload, position, delivery count); return its value, or NULL. */
static PyObject *lane_receive(Lane *self, PyObject *delivery, int64_t op, int64_t at_ns) {
    PyObject *topic, *key, *payload, *delivered;
    long partition;
    long long position;
    if (!PyArg_ParseTuple(delivery, "OlOOLO", &topic, &partition, &key, &payload, &position, &delivered)) return NULL;
    int64_t topic_id = known_id(self->topics, self->topic_id, topic), key_id = 0;
    if (topic_id < 0) return NULL;
    if (key != Py_None) {
        PyObject *id = PyObject_CallOneArg(self->key_id, key);
        if (id == NULL) return NULL;
        key_id = PyLong_AsLongLong(id);
        Py_DECREF(id);
    }
    long times = NO_DELIVERY;
    if (delivered != Py_None) times = PyLong_AsLong(delivered);
    if (PyErr_Occurred()) return NULL;

    int code = PAYLOAD_CORRUPT;
    int64_t value = -1, due_ns = -1, sent_ns = -1;
    if (PyBytes_Check(payload) && PyBytes_GET_SIZE(payload) >= WHOLE_BYTES) {
        const uint8_t *from = (const uint8_t *)PyBytes_AS_STRING(payload);
        uint32_t magic, check;
        uint64_t run;
        memcpy(&magic, from, 4);
        memcpy(&check, from + HEAD_BYTES, 4);
        if (magic == PAYLOAD_MAGIC && check == crc32c(from, from + WHOLE_BYTES, PyBytes_GET_SIZE(payload) - WHOLE_BYTES)) {
            memcpy(&run, from + 4, 8);
            memcpy(&value, from + 12, 8);
            memcpy(&due_ns, from + 20, 8);
            memcpy(&sent_ns, from + 28, 8);
            code = run == self->run_id ? PAYLOAD_OK : PAYLOAD_FOREIGN;
        }
    }
    PyObject *told = PyLong_FromLongLong(value);
    Record *record = told == NULL ? NULL : cursor_next(self->log, 0);
    if (record == NULL) {
        Py_XDECREF(told);
        return NULL;
    }
    record->kind = RECEIVED;
    record->code = (uint8_t)code;
    record->partition = (int32_t)partition;
    record->name = (uint32_t)topic_id;
    record->key = (uint32_t)key_id;
    record->op = op;
    record->value = value;
    record->position = position;
    record->intended_ns = due_ns;
    record->start_ns = sent_ns;
    record->end_ns = at_ns;
    record->delivery = (int32_t)times;
    cursor_commit(self->log, record);
    return told;
}

static PyObject *lane_deliveries(PyObject *object, PyObject *arguments) {
    PyObject *deliveries;
    long long op, at_ns;
    if (!PyArg_ParseTuple(arguments, "LO!L", &op, &PyList_Type, &deliveries, &at_ns)) return NULL;
    Py_ssize_t count = PyList_GET_SIZE(deliveries);
    PyObject *values = PyList_New(count);
    for (Py_ssize_t index = 0; values != NULL && index < count; index++) {
        PyObject *value = lane_receive((Lane *)object, PyList_GET_ITEM(deliveries, index), op, at_ns);
        if (value == NULL) Py_CLEAR(values);
        else PyList_SET_ITEM(values, index, value);
    }
    return values;
}

static PyObject *lane_drain(PyObject *object, PyObject *unused) {
    Lane *self = (Lane *)object;
    const char *took = self->took == NULL ? "" : (const char *)self->took;
    PyObject *told = Py_BuildValue("LLy#", self->sent, self->acked, took, self->took_count * (Py_ssize_t)sizeof(int64_t));
    if (told != NULL) self->sent = self->acked = self->took_count = 0;
    return told;
}

static int lane_traverse(PyObject *object, visitproc visit, void *arg) {
    Lane *self = (Lane *)object;
    Py_VISIT(self->log);
    Py_VISIT(self->slow);
    Py_VISIT(self->topic_id);
    Py_VISIT(self->key_id);
    Py_VISIT(self->topics);
    return 0;
}

static int lane_clear(PyObject *object) {
    Lane *self = (Lane *)object;
    Py_CLEAR(self->log);
    Py_CLEAR(self->slow);
    Py_CLEAR(self->topic_id);
    Py_CLEAR(self->key_id);
    Py_CLEAR(self->topics);
    return 0;
}

static void lane_dealloc(PyObject *object) {
    PyObject_GC_UnTrack(object);
    lane_clear(object);
    PyMem_Free(((Lane *)object)->took);
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef lane_methods[] = {
    {"burst", lane_burst, METH_VARARGS, "See chaoskit.history.lane.Lane.burst."},
    {"deliveries", lane_deliveries, METH_VARARGS, "See chaoskit.history.lane.Lane.deliveries."},
    {"drain", lane_drain, METH_NOARGS, "See chaoskit.history.lane.Lane.drain."},
    {NULL},
};
static PyTypeObject LaneType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "chaoskit.history._hot.Lane",
    .tp_basicsize = sizeof(Lane),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = lane_init,
    .tp_traverse = lane_traverse,
    .tp_clear = lane_clear,
    .tp_dealloc = lane_dealloc,
    .tp_methods = lane_methods,
};

/* Messages of a client library as deliveries */

static PyObject *str_error, *str_topic, *str_partition, *str_key, *str_value;

/* Return a delivery: (topic, partition, key, payload, position, None) as an instance of a subclass of tuple. */
static PyObject *delivery_of(PyTypeObject *type, PyObject *message) {
    PyObject *const parts[] = {str_topic, str_partition, str_key, str_value, str_offset};
    PyObject *made = type->tp_alloc(type, 6);
    for (int index = 0; made != NULL && index < 5; index++) {
        PyObject *part = PyObject_CallMethodNoArgs(message, parts[index]);
        if (part == NULL) Py_CLEAR(made);
        else PyTuple_SET_ITEM(made, index, part);
    }
    if (made != NULL) PyTuple_SET_ITEM(made, 5, Py_NewRef(Py_None));
    return made;
}

static PyObject *hot_delivered(PyObject *module, PyObject *arguments) {
    PyTypeObject *type;
    PyObject *messages;
    if (!PyArg_ParseTuple(arguments, "O!O!", &PyType_Type, &type, &PyList_Type, &messages)) return NULL;
    if (!PyType_IsSubtype(type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "deliveries are tuples");
        return NULL;
    }
    PyObject *deliveries = PyList_New(0), *others = PyList_New(0), *told = NULL;
    if (deliveries == NULL || others == NULL) goto out;
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(messages); index++) {
        PyObject *message = PyList_GET_ITEM(messages, index);
        PyObject *error = PyObject_CallMethodNoArgs(message, str_error);
        if (error == NULL) goto out;
        int good = error == Py_None;
        Py_DECREF(error);
        PyObject *made = good ? delivery_of(type, message) : Py_NewRef(message);
        if (made == NULL) goto out;
        int failed = PyList_Append(good ? deliveries : others, made);
        Py_DECREF(made);
        if (failed) goto out;
    }
    told = PyTuple_Pack(2, deliveries, others);
out:
    Py_XDECREF(deliveries);
    Py_XDECREF(others);
    return told;
}

static PyMethodDef hot_functions[] = {
    {"delivered", hot_delivered, METH_VARARGS, "See chaoskit.history.lane.delivered."},
    {NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_hot", "Recording of messages, in C.", -1, hot_functions};

PyMODINIT_FUNC PyInit__hot(void) {
    fill_crc_table();
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) crc_of = crc_by_instruction;
#endif
    str_offset = PyUnicode_InternFromString("offset");
    str_error = PyUnicode_InternFromString("error");
    str_topic = PyUnicode_InternFromString("topic");
    str_partition = PyUnicode_InternFromString("partition");
    str_key = PyUnicode_InternFromString("key");
    str_value = PyUnicode_InternFromString("value");
    if (PyErr_Occurred() || PyType_Ready(&CursorType) < 0 || PyType_Ready(&ReportType) < 0 || PyType_Ready(&LaneType) < 0)
        return NULL;
    PyObject *made = PyModule_Create(&module);
    if (made == NULL || PyModule_AddObjectRef(made, "Cursor", (PyObject *)&CursorType) < 0 ||
        PyModule_AddObjectRef(made, "Lane", (PyObject *)&LaneType) < 0) {
        Py_XDECREF(made);
        return NULL;
    }
    return made;
}
