/* The part of recording that happens for each message, in C: see chaoskit.history.recording.lane, which has the same in
 * Python, and chaoskit.history.format.payload for the layout of payloads.
 *
 * A Lane sends and receives the messages of one client. A Report is what a client library calls once a message was
 * delivered. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <stdint.h>
#include <string.h>
#include <time.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "records and payloads are little-endian"
#endif

#include "../../model/payload.h"
#include "hot_cursor.h"
#include "hot_deliveries.h"

enum { PAYLOAD_OK, PAYLOAD_CORRUPT, PAYLOAD_FOREIGN };
static const int32_t NO_DELIVERY = INT32_MIN;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

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
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "chaoskit.history.recording._hot.Report",
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
    uint32_t check = payload_crc(to, WHOLE_BYTES + filler_size);
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

static int lane_ready(Lane *self) {
    if (self->topics == NULL) PyErr_SetString(PyExc_ValueError, "the lane has no log");
    return self->topics != NULL;
}

static PyObject *lane_burst(PyObject *object, PyObject *arguments) {
    Lane *self = (Lane *)object;
    if (!lane_ready(self)) return NULL;
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
        if (magic == PAYLOAD_MAGIC && check == payload_crc(from, PyBytes_GET_SIZE(payload))) {
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
    if (!lane_ready((Lane *)object)) return NULL;
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
    {"burst", lane_burst, METH_VARARGS, "See chaoskit.history.recording.lane.Lane.burst."},
    {"deliveries", lane_deliveries, METH_VARARGS, "See chaoskit.history.recording.lane.Lane.deliveries."},
    {"drain", lane_drain, METH_NOARGS, "See chaoskit.history.recording.lane.Lane.drain."},
    {NULL},
};
static PyTypeObject LaneType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "chaoskit.history.recording._hot.Lane",
    .tp_basicsize = sizeof(Lane),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = lane_init,
    .tp_traverse = lane_traverse,
    .tp_clear = lane_clear,
    .tp_dealloc = lane_dealloc,
    .tp_methods = lane_methods,
};

static PyMethodDef hot_functions[] = {
    {"delivered", hot_delivered, METH_VARARGS, "See chaoskit.history.recording.lane.delivered."},
    {NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_hot", "Recording of messages, in C.", -1, hot_functions};

PyMODINIT_FUNC PyInit__hot(void) {
    choose_crc();
    if (intern_words() < 0 || PyType_Ready(&CursorType) < 0 || PyType_Ready(&ReportType) < 0 || PyType_Ready(&LaneType) < 0)
        return NULL;
    PyObject *made = PyModule_Create(&module);
    if (made == NULL || PyModule_AddObjectRef(made, "Cursor", (PyObject *)&CursorType) < 0 ||
        PyModule_AddObjectRef(made, "Lane", (PyObject *)&LaneType) < 0) {
        Py_XDECREF(made);
        return NULL;
    }
    return made;
}
