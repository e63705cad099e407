/* Initial bytes of buffers. They are made on the host whatever runs the plan, so they are the same on every back end.
 *
 * `random`: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC 2011). Element i
 * belongs to block i / 2: the key is the seed (low word first), the counter is the block's number in its two low words,
 * zero above. Of the block's four words element i has words 0 and 1 if i is even, 2 and 3 if it is odd; the first of
 * the two is the low half of a 64-bit number u. From u: floats:   low + (high - low) * (u >> 11) / 2^53, in f64, then
 * rounded to the type: in [low, high), but for rounding; integers: low + floor(u * (high - low + 1) / 2^64): in [low,
 * high], both ends included. */
#include <math.h>
#include <string.h>

#include "engine/run/run_internal.h"

enum { PHILOX_ROUNDS = 10 };

static void philox(uint64_t seed, uint64_t block, uint32_t words[4]) {
  uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  words[0] = (uint32_t)block;
  words[1] = (uint32_t)(block >> 32);
  words[2] = words[3] = 0;
  for (int i = 0; i < PHILOX_ROUNDS; i++) {
    uint64_t first = (uint64_t)words[0] * UINT32_C(0xD2511F53), second = (uint64_t)words[2] * UINT32_C(0xCD9E8D57);
    words[0] = (uint32_t)(second >> 32) ^ words[1] ^ key[0];
    words[1] = (uint32_t)second;
    words[2] = (uint32_t)(first >> 32) ^ words[3] ^ key[1];
    words[3] = (uint32_t)first;
    key[0] += UINT32_C(0x9E3779B9); /* the golden ratio */
    key[1] += UINT32_C(0xBB67AE85); /* the root of 3, less one */
  }
}

/* Two elements share a block, so the last one is kept. */
struct generator {
  uint64_t seed;
  uint64_t block; /* UINT64_MAX: none; no element has that one */
  uint32_t words[4];
};

static uint64_t random_bits(struct generator *generator, uint64_t index) {
  if (generator->block != index / 2) {
    generator->block = index / 2;
    philox(generator->seed, generator->block, generator->words);
  }
  const uint32_t *words = generator->words + (index % 2) * 2;
  return words[0] | (uint64_t)words[1] << 32;
}

/* Rounded to nearest even; what is too large for the type becomes infinite. */
static struct gr_element narrow(double value, enum gr_type type) {
  struct gr_element element = {0};
  if (type == GR_TYPE_F64) {
    memcpy(&element.bits, &value, sizeof value);
  } else if (type == GR_TYPE_F32) {
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    element.bits = bits;
  } else if (!gr_number_to_element((struct gr_number){.is_real = true, .real = value}, type, &element)) {
    (void)gr_number_to_element((struct gr_number){.is_real = true, .real = value < 0 ? -INFINITY : INFINITY}, type,
                               &element);
  }
  return element;
}

/* An integer's value; a real that stands where an integer is meant has no fraction. */
static gr_int128 integer_of(struct gr_number number) {
  if (number.is_real) return number.real >= -0x1p64 && number.real <= 0x1p64 ? (gr_int128)number.real : 0;
  return number.is_negative ? -(gr_int128)number.magnitude : (gr_int128)number.magnitude;
}

/* Little-endian, as every machine is that this runs on. Copies of constant size are single stores. */
static void put(unsigned char *to, uint64_t at, size_t size, struct gr_element element) {
  to += at * size;
  if (size == 4) memcpy(to, &element.bits, 4);
  else if (size == 8) memcpy(to, &element.bits, 8);
  else if (size == 2) memcpy(to, &element.bits, 2);
  else *to = (unsigned char)element.bits;
}

static void put_iota(const struct gr_buffer *buffer, uint64_t first, uint64_t count, unsigned char *to) {
  const struct gr_init *init = buffer->init;
  size_t size = gr_type_size(buffer->type);
  double start = gr_number_to_double(init->start), step = gr_number_to_double(init->step);
  gr_int128 integer_start = integer_of(init->start), integer_step = integer_of(init->step);
  bool is_float = gr_type_is_float(buffer->type);
  for (uint64_t i = 0; i < count; i++) {
    struct gr_element element;
    if (is_float) element = narrow(start + (double)(first + i) * step, buffer->type);
    else element.bits = (uint64_t)(integer_start + (gr_int128)(first + i) * integer_step);
    put(to, i, size, element);
  }
}

__extension__ typedef unsigned __int128 wide;

static void put_random(const struct gr_buffer *buffer, uint64_t first, uint64_t count, unsigned char *to) {
  const struct gr_init *init = buffer->init;
  size_t size = gr_type_size(buffer->type);
  double low = gr_number_to_double(init->low), high = gr_number_to_double(init->high);
  gr_int128 integer_low = integer_of(init->low), extent = integer_of(init->high) - integer_low + 1;
  bool is_float = gr_type_is_float(buffer->type);
  struct generator generator = {.seed = init->seed, .block = UINT64_MAX};
  for (uint64_t i = 0; i < count; i++) {
    uint64_t bits = random_bits(&generator, first + i);
    struct gr_element element;
    if (is_float) element = narrow(low + (high - low) * ((double)(bits >> 11) * 0x1p-53), buffer->type);
    else element.bits = (uint64_t)(integer_low + (gr_int128)(bits * (wide)extent >> 64));
    put(to, i, size, element);
  }
}

static void put_fill(const struct gr_buffer *buffer, uint64_t size_bytes, unsigned char *to) {
  size_t size = gr_type_size(buffer->type);
  if (size_bytes == 0) return;
  put(to, 0, size, buffer->init->value);
  for (uint64_t done = size; done < size_bytes; done *= 2) {
    memcpy(to + done, to, done < size_bytes - done ? done : size_bytes - done);
  }
}

void gr_init_bytes(const struct gr_buffer *buffer, uint64_t offset_bytes, uint64_t size_bytes, void *to) {
  size_t size = gr_type_size(buffer->type);
  switch (buffer->init->kind) {
    case GR_INIT_ZEROS:
      memset(to, 0, size_bytes);
      break;
    case GR_INIT_FILL:
      put_fill(buffer, size_bytes, to);
      break;
    case GR_INIT_IOTA:
      put_iota(buffer, offset_bytes / size, size_bytes / size, to);
      break;
    case GR_INIT_RANDOM:
      put_random(buffer, offset_bytes / size, size_bytes / size, to);
      break;
    case GR_INIT_VALUES:
      memcpy(to, buffer->init->values + offset_bytes, size_bytes);
      break;
    case GR_INIT_NONE:
    case GR_INIT_LOAD:
      break;
  }
}
