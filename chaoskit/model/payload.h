/* The layout of payloads, and their checksum: see chaoskit.history.format.payload. */

#include "../history/recording/hot_crc32c.h"

enum { HEAD_BYTES = 36, WHOLE_BYTES = 40 };
static const uint32_t PAYLOAD_MAGIC = 0x314B4843;

static uint32_t payload_crc(const uint8_t *payload, Py_ssize_t size) {
    return ~crc_of(crc_of(~0u, payload, HEAD_BYTES), payload + WHOLE_BYTES, size - WHOLE_BYTES);
}
