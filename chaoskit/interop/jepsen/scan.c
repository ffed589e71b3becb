/* Reads operations of a Jepsen history, until the first that is written in another way than most are: see
 * chaoskit.interop.jepsen.scan. What is not read here is read by chaoskit.interop.jepsen.edn. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

enum { DIGITS_MAX = 15, DEPTH_MAX = 32 };
enum { SENT, POLLED, ASSIGNED };
static const char *const TYPES[] = {":invoke", ":ok", ":fail", ":info"};
static const char *const FS[] = {":send",      ":poll",  ":txn", ":assign",
                                 ":subscribe", ":crash", ":debug-topic-partitions"};
enum { ASSIGN = 3, SUBSCRIBE = 4, CRASH = 5 };
static const int64_t PROCESS_END = 1000000;

typedef struct {
    int64_t time_ns;
    int32_t process, line;
    int8_t type, f;
} Entry;

typedef struct {
    int64_t entry, key, position, value;
    int32_t nth;
    int8_t kind;
} Message;

typedef struct {
    char *data;
    size_t used, room;
} Rows;

typedef struct {
    const char *at, *end;
    int64_t line, entry;
    PyObject *known;
    Rows entries, messages;
    int32_t sends;
} Scan;

static int add(Rows *rows, const void *row, size_t size) {
    if (rows->used + size > rows->room) {
        size_t room = rows->room ? 2 * rows->room : 1 << 16;
        char *grown = PyMem_Realloc(rows->data, room);
        if (grown == NULL) {
            PyErr_NoMemory();
            return 0;
        }
        rows->data = grown;
        rows->room = room;
    }
    memcpy(rows->data + rows->used, row, size);
    rows->used += size;
    return 1;
}

/* Each of the following returns whether it read what it is named after. */

static void blanks(Scan *scan) {
    for (; scan->at < scan->end; scan->at++) {
        char c = *scan->at;
        if (c == '\n') scan->line++;
        else if (c != ' ' && c != ',' && c != '\t' && c != '\r') return;
    }
}

static int is_digit(char c) { return c >= '0' && c <= '9'; }

static char in_atom[256];

static void fill_in_atom(void) {
    for (int c = ' ' + 1; c < 127; c++) in_atom[c] = strchr(",;\"()[]{}\\#", c) == NULL;
}

static int is_atom(char c) { return in_atom[(unsigned char)c]; }

static int next_is(Scan *scan, char c) {
    blanks(scan);
    return scan->at < scan->end && *scan->at == c;
}

static int one(Scan *scan, char c) {
    if (!next_is(scan, c)) return 0;
    scan->at++;
    return 1;
}

static int ended(Scan *scan) { return scan->at < scan->end && !is_atom(*scan->at); }

static int word(Scan *scan, const char *text) {
    blanks(scan);
    size_t size = strlen(text);
    if ((size_t)(scan->end - scan->at) < size || memcmp(scan->at, text, size) != 0) return 0;
    const char *before = scan->at;
    scan->at += size;
    if (ended(scan)) return 1;
    scan->at = before;
    return 0;
}

static int number(Scan *scan, int64_t *told) {
    blanks(scan);
    const char *from = scan->at;
    int64_t sum = 0;
    for (; scan->at < scan->end && is_digit(*scan->at); scan->at++) {
        if (scan->at - from == DIGITS_MAX) return 0;
        sum = 10 * sum + (*scan->at - '0');
    }
    *told = sum;
    return scan->at > from && ended(scan);
}

static int atom(Scan *scan) {
    blanks(scan);
    const char *from = scan->at;
    while (scan->at < scan->end && is_atom(*scan->at)) scan->at++;
    return scan->at > from && ended(scan);
}

static int string(Scan *scan) {
    if (!one(scan, '"')) return 0;
    for (; scan->at < scan->end; scan->at++) {
        char c = *scan->at;
        if (c == '"') {
            scan->at++;
            return 1;
        }
        if (c == '\\' || c == '\n' || c & 0x80) return 0;
    }
    return 0;
}

static int form(Scan *scan, int depth) {
    blanks(scan);
    if (scan->at == scan->end || depth > DEPTH_MAX) return 0;
    char opens = *scan->at;
    if (opens == '"') return string(scan);
    char closes = opens == '[' ? ']' : opens == '(' ? ')' : opens == '{' ? '}' : 0;
    if (!closes) return atom(scan);
    scan->at++;
    int count = 0;
    while (!one(scan, closes)) {
        if (!form(scan, depth + 1)) return 0;
        count++;
    }
    return opens != '{' || count % 2 == 0;
}

/* A number, or the number of a name. */
static int named(Scan *scan, int64_t *told) {
    blanks(scan);
    const char *from = scan->at;
    if (from < scan->end && *from != '"' && *from != ':') return number(scan, told);
    if (!(next_is(scan, '"') ? string(scan) : atom(scan))) return 0;
    PyObject *text = PyUnicode_DecodeASCII(from, scan->at - from, NULL);
    if (text == NULL) return 0;
    PyObject *known = PyDict_GetItemWithError(scan->known, text);
    Py_DECREF(text);
    if (known == NULL) return 0;
    *told = PyLong_AsLongLong(known);
    return !PyErr_Occurred();
}

static int pair(Scan *scan, Message *message) {
    if (!one(scan, '[')) return 0;
    message->position = -1;
    return (word(scan, "nil") || number(scan, &message->position)) && named(scan, &message->value) && one(scan, ']');
}

static int sent(Scan *scan) {
    Message message = {.entry = scan->entry, .position = -1, .nth = scan->sends++, .kind = SENT};
    if (!named(scan, &message.key)) return 0;
    if (!(next_is(scan, '[') ? pair(scan, &message) : named(scan, &message.value))) return 0;
    return add(&scan->messages, &message, sizeof message);
}

static int polled(Scan *scan) {
    if (next_is(scan, ']') || word(scan, "nil")) return 1;
    if (!one(scan, '{')) return 0;
    Message message = {.entry = scan->entry, .nth = scan->sends, .kind = POLLED};
    while (!one(scan, '}')) {
        if (!named(scan, &message.key) || !one(scan, '[')) return 0;
        while (!one(scan, ']'))
            if (!pair(scan, &message) || !add(&scan->messages, &message, sizeof message)) return 0;
    }
    return 1;
}

/* nil, micro-operations, or keys. */
static int value(Scan *scan, int *has_micro, int *has_keys) {
    if (word(scan, "nil")) return 1;
    if (!one(scan, '[')) return 0;
    while (!one(scan, ']')) {
        if (one(scan, '[')) {
            *has_micro = 1;
            if (!(word(scan, ":send") ? sent(scan) : word(scan, ":poll") && polled(scan)) || !one(scan, ']')) return 0;
        } else {
            Message message = {.entry = scan->entry, .position = -1, .kind = ASSIGNED};
            *has_keys = 1;
            if (!named(scan, &message.key) || !add(&scan->messages, &message, sizeof message)) return 0;
        }
    }
    return 1;
}

static int one_of(Scan *scan, const char *const *words, int count, int8_t *told) {
    for (int at = 0; at < count; at++) {
        if (word(scan, words[at])) {
            *told = (int8_t)at;
            return 1;
        }
    }
    return 0;
}

static int operation(Scan *scan) {
    static const char *const KEYS[] = {":time", ":type", ":process", ":f", ":value"};
    Entry entry = {.line = (int32_t)scan->line};
    int seen = 0, has_micro = 0, has_keys = 0;
    int64_t process;
    scan->sends = 0;
    word(scan, "#jepsen.history.Op");
    if (!one(scan, '{')) return 0;
    while (!one(scan, '}')) {
        int key = 0;
        while (key < 5 && !word(scan, KEYS[key])) key++;
        if (key < 5 && seen & 1 << key) return 0;
        seen |= 1 << key;
        int good = 0;
        switch (key) {
        case 0: good = number(scan, &entry.time_ns); break;
        case 1: good = one_of(scan, TYPES, sizeof TYPES / sizeof *TYPES, &entry.type); break;
        case 2:
            good = number(scan, &process) && process < PROCESS_END;
            entry.process = (int32_t)process;
            break;
        case 3: good = one_of(scan, FS, sizeof FS / sizeof *FS, &entry.f); break;
        case 4: good = value(scan, &has_micro, &has_keys); break;
        default:
            good = next_is(scan, ':') && !word(scan, ":rebalance-log") && atom(scan) && form(scan, 0);
        }
        if (!good) return 0;
    }
    if ((seen & 31) != 31 || (entry.f >= CRASH && (has_micro || has_keys))) return 0;
    if (entry.f == ASSIGN || entry.f == SUBSCRIBE ? has_micro : has_keys) return 0;
    return add(&scan->entries, &entry, sizeof entry);
}

static PyObject *scan_operations(PyObject *module, PyObject *arguments) {
    Py_buffer text;
    Py_ssize_t from;
    long long entry, line;
    Scan scan = {0};
    if (!PyArg_ParseTuple(arguments, "y*nLLO!", &text, &from, &entry, &line, &PyDict_Type, &scan.known)) return NULL;
    const char *begin = text.buf;
    scan.at = begin + from;
    scan.end = begin + text.len;
    scan.line = line;
    scan.entry = entry;
    const char *good;
    int64_t good_line;
    size_t good_messages;
    do {
        blanks(&scan);
        good = scan.at;
        good_line = scan.line;
        good_messages = scan.messages.used;
    } while (scan.at < scan.end && operation(&scan) && ++scan.entry);
    PyObject *told = NULL;
    if (!PyErr_Occurred())
        told = Py_BuildValue("y#y#nL", scan.entries.data ? scan.entries.data : "", (Py_ssize_t)scan.entries.used,
                             scan.messages.data ? scan.messages.data : "", (Py_ssize_t)good_messages,
                             (Py_ssize_t)(good - begin), (long long)good_line);
    PyMem_Free(scan.entries.data);
    PyMem_Free(scan.messages.data);
    PyBuffer_Release(&text);
    return told;
}

static PyMethodDef functions[] = {
    {"scan", scan_operations, METH_VARARGS, "See chaoskit.interop.jepsen.scan.scan."},
    {NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_scan", "Jepsen histories, read in C.", -1, functions};

PyMODINIT_FUNC PyInit__scan(void) {
    fill_in_atom();
    return PyModule_Create(&definition);
}
