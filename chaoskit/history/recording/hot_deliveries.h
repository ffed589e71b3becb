/* Messages of a client library as deliveries; see chaoskit.history.recording.lane.delivered. */

static PyObject *str_error, *str_topic, *str_partition, *str_key, *str_value, *str_offset, *str_headers;
static PyObject *without_content; /* chaoskit.model.message.WITHOUT_CONTENT */

static int intern_words(void) {
    str_error = PyUnicode_InternFromString("error");
    str_topic = PyUnicode_InternFromString("topic");
    str_partition = PyUnicode_InternFromString("partition");
    str_key = PyUnicode_InternFromString("key");
    str_value = PyUnicode_InternFromString("value");
    str_offset = PyUnicode_InternFromString("offset");
    str_headers = PyUnicode_InternFromString("headers");
    PyObject *words = PyImport_ImportModule("chaoskit.model.message");
    without_content = words == NULL ? NULL : PyObject_GetAttrString(words, "WITHOUT_CONTENT");
    Py_XDECREF(words);
    return PyErr_Occurred() ? -1 : 0;
}

/* Return the payload that a message without content has in a header, or None. */
static PyObject *carried(PyObject *message) {
    PyObject *headers = PyObject_CallMethodNoArgs(message, str_headers);
    if (headers == NULL) return NULL;
    PyObject *payload = Py_NewRef(Py_None);
    for (Py_ssize_t index = 0; PyList_Check(headers) && index < PyList_GET_SIZE(headers); index++) {
        PyObject *header = PyList_GET_ITEM(headers, index);
        if (!PyTuple_Check(header) || PyTuple_GET_SIZE(header) != 2) continue;
        PyObject *name = PyTuple_GET_ITEM(header, 0);
        if (!PyUnicode_Check(name) || PyUnicode_Compare(name, without_content) != 0) continue;
        Py_SETREF(payload, Py_NewRef(PyTuple_GET_ITEM(header, 1)));
    }
    Py_DECREF(headers);
    return payload;
}

/* Return a delivery: (topic, partition, key, payload, position, None) as an instance of a subclass of tuple. */
static PyObject *delivery_of(PyTypeObject *type, PyObject *message) {
    PyObject *const parts[] = {str_topic, str_partition, str_key, str_value, str_offset};
    PyObject *made = type->tp_alloc(type, 6);
    for (int index = 0; made != NULL && index < 5; index++) {
        PyObject *part = PyObject_CallMethodNoArgs(message, parts[index]);
        if (part == Py_None && parts[index] == str_value) Py_SETREF(part, carried(message));
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
