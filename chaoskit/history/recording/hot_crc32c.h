/* CRC-32C (Castagnoli), by the processor's own instruction where it has one. */

#include <stdint.h>
#include <string.h>

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

static void choose_crc(void) {
    fill_crc_table();
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) crc_of = crc_by_instruction;
#endif
}
