/* Numbers as the format spells them, and as buffers hold them. Decimal to binary is exact (round to nearest, ties to
 * even) and knows no locale: the value is a quotient of two large integers, whose leading 64 bits and remainder decide.
 */
#include <math.h>
#include <string.h>

#include "engine/pipeline/pipeline_internal.h"

/* ---- large integers of a bounded size ---- */

enum {
  DIGITS_KEPT = 800, /* past 767 significant digits only "is there more" matters to f64 */
  LIMBS = 136,       /* 4,352 bits: 10^1200 has 3,987 */
  POINT_MAX = 310,   /* value < 10^point; from 10^309 on everything overflows */
  POINT_MIN = -330,  /* below 10^-330 everything rounds to zero */
  FAST_POWER = 22,   /* 10^22 is the last power of ten that f64 holds exactly */
};

struct big {
  uint32_t limbs[LIMBS]; /* little end first */
  uint32_t count;
};

static void big_multiply_add(struct big *big, uint32_t factor, uint32_t addend) {
  uint64_t carry = addend;
  for (uint32_t i = 0; i < big->count; i++) {
    uint64_t product = (uint64_t)big->limbs[i] * factor + carry;
    big->limbs[i] = (uint32_t)product;
    carry = product >> 32;
  }
  if (carry > 0) big->limbs[big->count++] = (uint32_t)carry;
}

static void big_multiply_power_of_ten(struct big *big, uint32_t power) {
  for (; power >= 9; power -= 9) big_multiply_add(big, 1000000000u, 0);
  for (; power > 0; power--) big_multiply_add(big, 10, 0);
}

static int big_bits(const struct big *big) {
  if (big->count == 0) return 0;
  return (int)big->count * 32 - __builtin_clz(big->limbs[big->count - 1]);
}

static void big_shift_left(struct big *big, uint32_t bits) {
  if (big->count == 0 || bits == 0) return;
  uint32_t whole = bits / 32;
  uint32_t rest = bits % 32;
  uint32_t count = big->count + whole;
  uint32_t above = 0;
  if (rest > 0) above = big->limbs[big->count - 1] >> (32 - rest);
  for (uint32_t i = big->count; i-- > 0;) {
    uint32_t low = rest > 0 && i > 0 ? big->limbs[i - 1] >> (32 - rest) : 0;
    big->limbs[i + whole] = big->limbs[i] << rest | low;
  }
  memset(big->limbs, 0, whole * sizeof big->limbs[0]);
  if (above > 0) big->limbs[count++] = above;
  big->count = count;
}

static bool big_is_less(const struct big *a, const struct big *b) {
  if (a->count != b->count) return a->count < b->count;
  for (uint32_t i = a->count; i-- > 0;) {
    if (a->limbs[i] != b->limbs[i]) return a->limbs[i] < b->limbs[i];
  }
  return false;
}

/* a - b where a >= b. */
static void big_subtract(struct big *a, const struct big *b) {
  uint64_t borrow = 0;
  for (uint32_t i = 0; i < a->count; i++) {
    uint64_t take = (i < b->count ? b->limbs[i] : 0) + borrow;
    borrow = a->limbs[i] < take;
    a->limbs[i] = (uint32_t)(a->limbs[i] - take);
  }
  while (a->count > 0 && a->limbs[a->count - 1] == 0) a->count--;
}

/* ---- binary formats ---- */

struct float_format {
  int fraction_bits;
  int exponent_bits;
};

static struct float_format format_of(enum gr_type type) {
  switch (type) {
    case GR_TYPE_F16:
      return (struct float_format){10, 5};
    case GR_TYPE_BF16:
      return (struct float_format){7, 8};
    case GR_TYPE_F32:
      return (struct float_format){23, 8};
    default:
      return (struct float_format){52, 11};
  }
}

static uint64_t infinity_bits(struct float_format format) {
  return ((UINT64_C(1) << format.exponent_bits) - 1) << format.fraction_bits;
}

static uint64_t sign_bit(struct float_format format, bool is_negative) {
  return (uint64_t)is_negative << (format.fraction_bits + format.exponent_bits);
}

/* A finite value that is not zero: mantissa * 2^(exponent - 63), the mantissa's top bit set; `has_more` says that the
 * exact value is slightly larger in size. */
struct binary {
  uint64_t mantissa;
  int exponent;
  bool has_more;
};

/* To nearest, ties to even, without the sign. False on overflow to infinity. */
static bool round_binary(struct float_format format, struct binary value, uint64_t *bits) {
  int bias = (1 << (format.exponent_bits - 1)) - 1;
  int least_exponent = 1 - bias;
  int dropped = 63 - format.fraction_bits;
  bool is_subnormal = value.exponent < least_exponent;
  if (is_subnormal) dropped += least_exponent - value.exponent;
  uint64_t kept = 0;
  bool half = false;
  bool rest = value.has_more;
  if (dropped < 64) {
    kept = value.mantissa >> dropped;
    half = (value.mantissa >> (dropped - 1) & 1) != 0;
    rest = rest || (value.mantissa & ((UINT64_C(1) << (dropped - 1)) - 1)) != 0;
  } else if (dropped == 64) {
    half = true;
    rest = rest || value.mantissa << 1 != 0;
  }
  if (half && (rest || (kept & 1) != 0)) kept++;
  /* The hidden bit and a carry both add to the exponent, as they should. */
  uint64_t result = kept;
  if (!is_subnormal) {
    if (value.exponent > bias) return false;
    result += (uint64_t)(value.exponent + bias - 1) << format.fraction_bits;
  }
  if (result >= infinity_bits(format)) return false;
  *bits = result;
  return true;
}

static struct binary binary_of_integer(uint64_t magnitude) {
  int shift = __builtin_clzll(magnitude);
  return (struct binary){magnitude << shift, 63 - shift, false};
}

static struct binary binary_of_double(double value) {
  int exponent;
  double fraction = frexp(fabs(value), &exponent); /* [0.5, 1) */
  return (struct binary){(uint64_t)ldexp(fraction, 53) << 11, exponent - 1, false};
}

static double double_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* ---- decimal to double ---- */

struct decimal {
  struct big digits; /* value = digits * 10^exponent */
  uint64_t small;    /* the digits where there are at most 19 of them */
  uint32_t digit_count;
  bool has_more; /* digits that are not zero were dropped */
  int64_t exponent;
};

struct digit_reader {
  struct decimal *decimal;
  uint32_t chunk;
  uint32_t chunk_factor;
};

static void flush_chunk(struct digit_reader *reader) {
  if (reader->chunk_factor > 1) big_multiply_add(&reader->decimal->digits, reader->chunk_factor, reader->chunk);
  reader->chunk = 0;
  reader->chunk_factor = 1;
}

static void add_digit(struct digit_reader *reader, char byte, bool is_fraction) {
  struct decimal *decimal = reader->decimal;
  uint32_t digit = (uint32_t)(byte - '0');
  if (decimal->digit_count == 0 && digit == 0) { /* leading zero */
    if (is_fraction) decimal->exponent--;
    return;
  }
  if (decimal->digit_count >= DIGITS_KEPT) {
    decimal->has_more = decimal->has_more || digit != 0;
    if (!is_fraction) decimal->exponent++;
    return;
  }
  if (is_fraction) decimal->exponent--;
  if (decimal->digit_count < 19) decimal->small = decimal->small * 10 + digit;
  decimal->digit_count++;
  reader->chunk = reader->chunk * 10 + digit;
  reader->chunk_factor *= 10;
  if (reader->chunk_factor == 1000000000u) flush_chunk(reader);
}

static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

static int64_t read_exponent(struct gr_view text, size_t offset) {
  bool is_negative = text.bytes[offset] == '-';
  if (is_negative || text.bytes[offset] == '+') offset++;
  int64_t exponent = 0;
  /* Beyond this no number of digits brings it back; short of it the sum cannot wrap. */
  for (; offset < text.length && exponent < INT64_C(1000000000000); offset++) {
    exponent = exponent * 10 + (text.bytes[offset] - '0');
  }
  return is_negative ? -exponent : exponent;
}

/* `text` is digits[.digits][e[sign]digits]. */
static void read_decimal(struct gr_view text, struct decimal *decimal) {
  decimal->digits.count = 0;
  decimal->small = 0;
  decimal->digit_count = 0;
  decimal->has_more = false;
  decimal->exponent = 0;
  struct digit_reader reader = {decimal, 0, 1};
  bool is_fraction = false;
  for (size_t offset = 0; offset < text.length; offset++) {
    char byte = text.bytes[offset];
    if (is_digit(byte)) {
      add_digit(&reader, byte, is_fraction);
    } else if (byte == '.') {
      is_fraction = true;
    } else {
      decimal->exponent += read_exponent(text, offset + 1);
      break;
    }
  }
  flush_chunk(&reader);
}

/* numerator / denominator as 64 bits and "is there more"; numerator is not 0. Both are used up. */
static struct binary divide(struct big *numerator, struct big *denominator) {
  int exponent = big_bits(numerator) - big_bits(denominator);
  if (exponent > 0) big_shift_left(denominator, (uint32_t)exponent);
  if (exponent < 0) big_shift_left(numerator, (uint32_t)-exponent);
  if (big_is_less(numerator, denominator)) {
    big_shift_left(numerator, 1);
    exponent--;
  }
  uint64_t mantissa = 0;
  for (int bit = 0; bit < 64; bit++) {
    mantissa <<= 1;
    if (!big_is_less(numerator, denominator)) {
      big_subtract(numerator, denominator);
      mantissa |= 1;
    }
    big_shift_left(numerator, 1);
  }
  return (struct binary){mantissa, exponent, numerator->count > 0};
}

static const double exact_powers[FAST_POWER + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Two exact operands and one rounding. */
static bool fast_decimal(const struct decimal *decimal, double *value) {
  if (decimal->digit_count > 19 || decimal->small > UINT64_C(1) << 53) return false;
  if (decimal->exponent < -FAST_POWER || decimal->exponent > FAST_POWER) return false;
  double digits = (double)decimal->small;
  *value = decimal->exponent < 0 ? digits / exact_powers[-decimal->exponent] : digits * exact_powers[decimal->exponent];
  return true;
}

/* False on overflow. */
static bool decimal_to_double(struct gr_view text, double *value) {
  struct decimal decimal;
  read_decimal(text, &decimal);
  if (fast_decimal(&decimal, value)) return true;
  int64_t point = decimal.exponent + decimal.digit_count;
  if (decimal.digit_count == 0 || point < POINT_MIN) {
    *value = 0;
    return true;
  }
  if (point > POINT_MAX) return false;
  struct big denominator = {.limbs = {1}, .count = 1};
  if (decimal.exponent < 0) big_multiply_power_of_ten(&denominator, (uint32_t)-decimal.exponent);
  if (decimal.exponent > 0) big_multiply_power_of_ten(&decimal.digits, (uint32_t)decimal.exponent);
  struct binary binary = divide(&decimal.digits, &denominator);
  binary.has_more = binary.has_more || decimal.has_more;
  uint64_t bits;
  if (!round_binary(format_of(GR_TYPE_F64), binary, &bits)) return false;
  *value = double_of_bits(bits);
  return true;
}

/* ---- spelling ---- */

static const char too_large[] = "it does not fit 64 bits";

static size_t digits_from(struct gr_view text, size_t offset) {
  size_t end = offset;
  while (end < text.length && is_digit(text.bytes[end])) end++;
  return end - offset;
}

static struct gr_view tail(struct gr_view text, size_t offset) {
  return (struct gr_view){text.bytes + offset, text.length - offset};
}

static int hex_digit(char byte) {
  if (is_digit(byte)) return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

/* The digits of `base` from `*offset` on; moves it behind them. */
static bool scan_digits(struct gr_view text, size_t *offset, unsigned base, uint64_t *magnitude) {
  uint64_t value = 0;
  for (; *offset < text.length; (*offset)++) {
    int digit = hex_digit(text.bytes[*offset]);
    if (digit < 0 || digit >= (int)base) break;
    if (__builtin_mul_overflow(value, base, &value)) return false;
    if (__builtin_add_overflow(value, (uint64_t)digit, &value)) return false;
  }
  *magnitude = value;
  return true;
}

/* 0 without a suffix, -1 for one that is none. */
static int suffix_shift(struct gr_view suffix) {
  if (suffix.length == 0) return 0;
  if (gr_view_is(suffix, "Ki")) return 10;
  if (gr_view_is(suffix, "Mi")) return 20;
  if (gr_view_is(suffix, "Gi")) return 30;
  return -1;
}

static const char *explain_tail(struct gr_view rest) {
  if (rest.bytes[0] == '_') return "digits are not grouped";
  if (rest.bytes[0] == 'K' || rest.bytes[0] == 'M' || rest.bytes[0] == 'G' || rest.bytes[0] == 'k' ||
      rest.bytes[0] == 'm' || rest.bytes[0] == 'g' || rest.bytes[0] == 'T')
    return "the suffixes are Ki, Mi and Gi";
  return "it goes on with something that belongs to no number";
}

static bool scan_integer(struct gr_view text, bool is_negative, unsigned base, struct gr_number *number,
                         const char **why) {
  size_t offset = base == 16 ? 2 : 0;
  uint64_t magnitude;
  *why = too_large;
  if (!scan_digits(text, &offset, base, &magnitude)) return false;
  if (base == 16 && offset == 2) {
    *why = "0x needs a hexadecimal digit";
    return false;
  }
  int shift = suffix_shift(tail(text, offset));
  if (shift < 0) {
    *why = explain_tail(tail(text, offset));
    return false;
  }
  if (shift > 0 && magnitude >> (64 - shift) != 0) return false;
  magnitude <<= shift;
  if (is_negative && magnitude > UINT64_C(1) << 63) return false;
  *number = (struct gr_number){.is_negative = is_negative && magnitude > 0, .magnitude = magnitude};
  return true;
}

/* digits[.digits][e[sign]digits] and nothing else; the length before the fraction is given. */
static bool is_float_spelling(struct gr_view text, size_t offset, const char **why) {
  if (offset < text.length && text.bytes[offset] == '.') {
    size_t digits = digits_from(text, offset + 1);
    *why = "a point needs a digit on both sides";
    if (digits == 0) return false;
    offset += 1 + digits;
  }
  if (offset < text.length && (text.bytes[offset] == 'e' || text.bytes[offset] == 'E')) {
    offset++;
    if (offset < text.length && (text.bytes[offset] == '+' || text.bytes[offset] == '-')) offset++;
    size_t digits = digits_from(text, offset);
    *why = "an exponent needs a digit";
    if (digits == 0) return false;
    offset += digits;
  }
  if (offset == text.length) return true;
  *why = explain_tail(tail(text, offset));
  return false;
}

static bool scan_float(struct gr_view text, bool is_negative, struct gr_number *number, const char **why) {
  double value;
  if (!decimal_to_double(text, &value)) {
    *why = "it is too large for f64";
    return false;
  }
  *number = (struct gr_number){.is_real = true, .real = is_negative ? -value : value};
  return true;
}

static bool scan_unsigned(struct gr_view text, bool is_negative, struct gr_number *number, const char **why) {
  if (gr_view_is(text, ".inf")) {
    *number = (struct gr_number){.is_real = true, .real = is_negative ? -(double)INFINITY : (double)INFINITY};
    return true;
  }
  if (text.length >= 2 && text.bytes[0] == '0' && text.bytes[1] == 'x') {
    return scan_integer(text, is_negative, 16, number, why);
  }
  size_t digits = digits_from(text, 0);
  *why = "a number starts with a digit";
  if (digits == 0) return false;
  *why = "a number has no leading zero";
  if (digits > 1 && text.bytes[0] == '0') return false;
  bool is_float =
      digits < text.length && (text.bytes[digits] == '.' || text.bytes[digits] == 'e' || text.bytes[digits] == 'E');
  if (!is_float) return scan_integer(text, is_negative, 10, number, why);
  return is_float_spelling(text, digits, why) && scan_float(text, is_negative, number, why);
}

bool gr_number_scan(struct gr_view text, struct gr_number *number, const char **why) {
  if (gr_view_is(text, ".nan")) {
    *number = (struct gr_number){.is_real = true, .real = (double)NAN};
    return true;
  }
  bool is_negative = text.length > 0 && text.bytes[0] == '-';
  return scan_unsigned(is_negative ? tail(text, 1) : text, is_negative, number, why);
}

bool gr_number_scan_real(struct gr_view text, double *value, const char **why) {
  struct gr_number number;
  if (gr_number_scan(text, &number, why)) {
    *value = gr_number_to_double(number);
    return true;
  }
  /* A float needs no fraction: digits that fit no integer may still be one. */
  bool is_negative = text.length > 0 && text.bytes[0] == '-';
  struct gr_view digits = is_negative ? tail(text, 1) : text;
  if (*why != too_large || digits_from(digits, 0) != digits.length) return false;
  if (!scan_float(digits, is_negative, &number, why)) return false;
  *value = number.real;
  return true;
}

bool gr_number_parse(struct gr_view text, struct gr_number *number) {
  const char *why;
  return gr_number_scan(text, number, &why);
}

/* ---- elements ---- */

double gr_number_to_double(struct gr_number number) {
  if (number.is_real) return number.real;
  double value = (double)number.magnitude;
  return number.is_negative ? -value : value;
}

static bool is_signed_type(enum gr_type type) {
  return type == GR_TYPE_I8 || type == GR_TYPE_I16 || type == GR_TYPE_I32 || type == GR_TYPE_I64;
}

/* A finite real without a fraction as an integer of 64 bits. */
static bool integer_of_real(double real, struct gr_number *number) {
  if (!isfinite(real) || fabs(real) >= 18446744073709551616.0 || fabs(real - trunc(real)) > 0) return false;
  uint64_t magnitude = (uint64_t)fabs(real);
  *number = (struct gr_number){.is_negative = real < 0 && magnitude > 0, .magnitude = magnitude};
  return true;
}

static bool to_integer_element(struct gr_number number, enum gr_type type, struct gr_element *element) {
  if (number.is_real && !integer_of_real(number.real, &number)) return false;
  unsigned bits = 8 * (unsigned)gr_type_size(type);
  uint64_t top = UINT64_C(1) << (bits - 1);
  uint64_t largest = is_signed_type(type) ? top - 1 : top - 1 + top;
  uint64_t bound = number.is_negative ? (is_signed_type(type) ? top : 0) : largest;
  if (number.magnitude > bound) return false;
  uint64_t value = number.is_negative ? 0 - number.magnitude : number.magnitude;
  element->bits = bits == 64 ? value : value & ((UINT64_C(1) << bits) - 1);
  return true;
}

static bool to_float_element(struct gr_number number, enum gr_type type, struct gr_element *element) {
  struct float_format format = format_of(type);
  bool is_negative = number.is_real ? signbit(number.real) != 0 : number.is_negative;
  uint64_t bits = 0;
  if (number.is_real && isnan(number.real)) {
    element->bits = infinity_bits(format) | UINT64_C(1) << (format.fraction_bits - 1); /* the quiet one, no sign */
    return true;
  }
  if (number.is_real && isinf(number.real)) {
    bits = infinity_bits(format);
  } else if (number.is_real ? fabs(number.real) > 0 : number.magnitude > 0) {
    struct binary binary = number.is_real ? binary_of_double(number.real) : binary_of_integer(number.magnitude);
    if (!round_binary(format, binary, &bits)) return false;
  }
  element->bits = bits | sign_bit(format, is_negative);
  return true;
}

bool gr_number_to_element(struct gr_number number, enum gr_type type, struct gr_element *element) {
  return gr_type_is_float(type) ? to_float_element(number, type, element) : to_integer_element(number, type, element);
}

struct gr_number gr_number_of_element(struct gr_element element, enum gr_type type) {
  if (gr_type_is_float(type)) {
    return (struct gr_number){.is_real = true, .real = gr_element_to_double(type, &element.bits)};
  }
  unsigned bits = 8 * (unsigned)gr_type_size(type);
  bool is_negative = is_signed_type(type) && (element.bits >> (bits - 1) & 1) != 0;
  uint64_t magnitude = element.bits;
  if (is_negative) {
    magnitude = 0 - magnitude;
    if (bits < 64) magnitude &= (UINT64_C(1) << bits) - 1;
  }
  return (struct gr_number){.is_negative = is_negative, .magnitude = magnitude};
}

static double float_to_double(struct float_format format, uint64_t bits) {
  uint64_t fraction = bits & ((UINT64_C(1) << format.fraction_bits) - 1);
  int exponent = (int)(bits >> format.fraction_bits & ((UINT64_C(1) << format.exponent_bits) - 1));
  bool is_negative = (bits >> (format.fraction_bits + format.exponent_bits) & 1) != 0;
  int bias = (1 << (format.exponent_bits - 1)) - 1;
  double value;
  if (exponent == (1 << format.exponent_bits) - 1) {
    value = fraction == 0 ? (double)INFINITY : (double)NAN;
  } else if (exponent == 0) {
    value = ldexp((double)fraction, 1 - bias - format.fraction_bits);
  } else {
    value = ldexp((double)(fraction | UINT64_C(1) << format.fraction_bits), exponent - bias - format.fraction_bits);
  }
  return is_negative ? -value : value;
}

double gr_element_to_double(enum gr_type type, const void *bytes) {
  struct gr_element element = {0};
  memcpy(&element.bits, bytes, gr_type_size(type)); /* little-endian machines only, as all that CUDA knows are */
  if (gr_type_is_float(type)) {
    return type == GR_TYPE_F64 ? double_of_bits(element.bits) : float_to_double(format_of(type), element.bits);
  }
  return gr_number_to_double(gr_number_of_element(element, type));
}
