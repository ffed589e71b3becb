/* Finds whole payloads in other bytes: the counterpart in C of `chaoskit.history.format.occurrences.search`. */

#define _GNU_SOURCE
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "payload.h"

enum { PREFIX_BYTES = 12, VALUE_AT = 12 };

static int is_whole(const uint8_t *payload, Py_ssize_t size) {
    uint32_t check;
    memcpy(&check, payload + HEAD_BYTES, sizeof check);
    return check == payload_crc(payload, size);
}

static int append(int64_t **values, Py_ssize_t *used, Py_ssize_t *room, int64_t value) {
    if (*used == *room) {
        Py_ssize_t more = *room ? 2 * *room : 64;
        int64_t *grown = PyMem_RawRealloc(*values, (size_t)more * sizeof **values);
        if (!grown) return 0;
        *values = grown;
        *room = more;
    }
    (*values)[(*used)++] = value;
    return 1;
}

static PyObject *search(PyObject *module, PyObject *arguments) {
    Py_buffer within;
    Py_ssize_t start, end, size;
    unsigned long long run_id;
    if (!PyArg_ParseTuple(arguments, "y*nnKn", &within, &start, &end, &run_id, &size)) return NULL;
    uint8_t prefix[PREFIX_BYTES];
    uint64_t run = run_id;
    memcpy(prefix, &PAYLOAD_MAGIC, sizeof PAYLOAD_MAGIC);
    memcpy(prefix + sizeof PAYLOAD_MAGIC, &run, sizeof run);
    const uint8_t *bytes = within.buf;
    Py_ssize_t at = start - size + 1 > 0 ? start - size + 1 : 0;
    Py_ssize_t last = end - 1 < within.len - size ? end - 1 : within.len - size;
    int64_t *values = NULL;
    Py_ssize_t used = 0, room = 0;
    int good = size >= WHOLE_BYTES;
    if (!good) PyErr_SetString(PyExc_ValueError, "a payload cannot be that small");
    Py_BEGIN_ALLOW_THREADS
    while (good && at <= last) {
        const uint8_t *found = memmem(bytes + at, (size_t)(last - at + PREFIX_BYTES), prefix, PREFIX_BYTES);
        if (!found) break;
        at = found - bytes + 1;
        if (is_whole(found, size)) {
            int64_t value;
            memcpy(&value, found + VALUE_AT, sizeof value);
            good = append(&values, &used, &room, value);
            at = found - bytes + size;
        }
    }
    Py_END_ALLOW_THREADS
    PyObject *told = NULL;
    if (good)
        told = PyBytes_FromStringAndSize((const char *)values, used * (Py_ssize_t)sizeof *values);
    else if (!PyErr_Occurred())
        PyErr_NoMemory();
    PyMem_RawFree(values);
    PyBuffer_Release(&within);
    return told;
}

static PyMethodDef functions[] = {
    {"search", search, METH_VARARGS, "See chaoskit.history.format.occurrences.search."},
    {NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_occurrences", "Finds whole payloads.", -1, functions};

PyMODINIT_FUNC PyInit__occurrences(void) {
    choose_crc();
    return PyModule_Create(&definition);
}
