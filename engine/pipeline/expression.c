/* Expressions: an operator-precedence machine with two bounded stacks, once in checked 64-bit integers, once in f64. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "engine/pipeline/pipeline_internal.h"

enum { STACK_MAX = 64 };

/* Wide enough for any operation on two 64-bit integers. */
__extension__ typedef __int128 wide;

enum mark_kind { ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, NEGATE, OPEN, CALL };

struct operation {
  enum mark_kind kind;
  uint8_t function; /* of CALL */
  uint8_t commas;   /* of CALL: seen so far */
};

struct operand {
  wide integer; /* a signed 64-bit value, or 2^63 and up to 2^64-1 straight from a literal */
  double real;
};

struct machine {
  struct gr_view text;
  size_t offset;
  const struct gr_scope *scope;
  struct gr_problem *problem;
  bool is_real;
  bool needs_real;        /* a float occurred among integers */
  bool is_silent;         /* a param's value is not known */
  bool has_value_problem; /* the problem is one of values, not of spelling */
  struct operand operands[STACK_MAX];
  uint32_t operand_count;
  struct operation operations[STACK_MAX];
  uint32_t operation_count;
};

enum function { FUNCTION_MIN, FUNCTION_MAX, FUNCTION_CEIL_DIV, FUNCTION_COUNT };
static const char *const function_names[FUNCTION_COUNT] = {"min", "max", "ceil_div"};

static int find_function(struct gr_view name) {
  for (int i = 0; i < FUNCTION_COUNT; i++) {
    if (gr_view_is(name, function_names[i])) return i;
  }
  return -1;
}

bool gr_expression_is_function(struct gr_view name) { return find_function(name) >= 0; }

static bool is_letter(char byte) { return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_'; }
static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

bool gr_expression_is_identifier(struct gr_view name) {
  if (name.length == 0 || !is_letter(name.bytes[0])) return false;
  for (size_t i = 1; i < name.length; i++) {
    if (!is_letter(name.bytes[i]) && !is_digit(name.bytes[i])) return false;
  }
  return true;
}

int64_t gr_expression_balance(struct gr_view text) {
  int64_t open = 0;
  for (size_t i = 0; i < text.length; i++) open += (text.bytes[i] == '(') - (text.bytes[i] == ')');
  return open;
}

__attribute__((format(printf, 2, 3))) static bool refuse(struct machine *machine, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(machine->problem->text, sizeof machine->problem->text, format, arguments);
  va_end(arguments);
  return false;
}

static bool refuse_value(struct machine *machine, const char *sentence) {
  machine->has_value_problem = true;
  return refuse(machine, "%s", sentence);
}

/* ---- arithmetic ---- */

static bool fits(wide value) { return value >= INT64_MIN && value <= INT64_MAX; }

static wide ceil_div(wide a, wide b) {
  wide quotient = a / b;
  return a % b != 0 && (a < 0) == (b < 0) ? quotient + 1 : quotient;
}

static bool divides(struct operation operation) {
  return operation.kind == DIVIDE || operation.kind == REMAINDER ||
         (operation.kind == CALL && operation.function == FUNCTION_CEIL_DIV);
}

static bool apply_integer(struct machine *machine, struct operation operation, wide a, wide b, wide *result) {
  if (!fits(a) || !fits(b)) return refuse_value(machine, "it overflows signed 64-bit integers");
  if (divides(operation) && b == 0) return refuse_value(machine, "it divides by zero");
  switch (operation.kind) {
    case ADD:
      *result = a + b;
      break;
    case SUBTRACT:
      *result = a - b;
      break;
    case MULTIPLY:
      *result = a * b;
      break;
    case DIVIDE:
      *result = a / b;
      break;
    case REMAINDER:
      *result = a % b;
      break;
    default:
      *result = operation.function == FUNCTION_MIN   ? (a < b ? a : b)
                : operation.function == FUNCTION_MAX ? (a > b ? a : b)
                                                     : ceil_div(a, b);
  }
  return fits(*result) || refuse_value(machine, "it overflows signed 64-bit integers");
}

static double least_or_largest(uint8_t function, double a, double b) {
  if (isnan(a) || isnan(b)) return (double)NAN;
  return function == FUNCTION_MIN ? (a < b ? a : b) : (a > b ? a : b);
}

static bool apply_real(struct machine *machine, struct operation operation, double a, double b, double *result) {
  if (divides(operation) && !(b < 0) && !(b > 0) && !isnan(b)) return refuse_value(machine, "it divides by zero");
  switch (operation.kind) {
    case ADD:
      *result = a + b;
      break;
    case SUBTRACT:
      *result = a - b;
      break;
    case MULTIPLY:
      *result = a * b;
      break;
    case DIVIDE:
      *result = a / b;
      break;
    case REMAINDER:
      *result = fmod(a, b);
      break;
    default:
      *result = operation.function == FUNCTION_CEIL_DIV ? ceil(a / b) : least_or_largest(operation.function, a, b);
  }
  bool overflows = isinf(*result) && isfinite(a) && isfinite(b);
  return !overflows || refuse_value(machine, "it overflows f64");
}

static bool apply_negation(struct machine *machine) {
  struct operand *top = &machine->operands[machine->operand_count - 1];
  top->real = -top->real;
  top->integer = -top->integer;
  if (!machine->is_real && !fits(top->integer)) return refuse_value(machine, "it overflows signed 64-bit integers");
  return true;
}

static bool apply(struct machine *machine, struct operation operation) {
  if (operation.kind == NEGATE) return apply_negation(machine);
  struct operand *left = &machine->operands[machine->operand_count - 2];
  struct operand *right = &machine->operands[machine->operand_count - 1];
  machine->operand_count--;
  return machine->is_real ? apply_real(machine, operation, left->real, right->real, &left->real)
                          : apply_integer(machine, operation, left->integer, right->integer, &left->integer);
}

/* ---- stacks ---- */

static bool push_operation(struct machine *machine, struct operation operation) {
  if (machine->operation_count == STACK_MAX) return refuse(machine, "it nests deeper than %d", (int)STACK_MAX);
  machine->operations[machine->operation_count++] = operation;
  return true;
}

static bool push_operand(struct machine *machine, struct operand operand) {
  if (machine->operand_count == STACK_MAX) return refuse(machine, "it nests deeper than %d", (int)STACK_MAX);
  machine->operands[machine->operand_count++] = operand;
  return true;
}

static int precedence(enum mark_kind kind) {
  switch (kind) {
    case ADD:
    case SUBTRACT:
      return 1;
    case MULTIPLY:
    case DIVIDE:
    case REMAINDER:
      return 2;
    case NEGATE:
      return 3;
    default:
      return 0;
  }
}

/* Applies what binds at least as strongly as `least`, back to the last open parenthesis. */
static bool unwind(struct machine *machine, int least) {
  while (machine->operation_count > 0) {
    struct operation top = machine->operations[machine->operation_count - 1];
    if (precedence(top.kind) < least || precedence(top.kind) == 0) return true;
    machine->operation_count--;
    if (!apply(machine, top)) return false;
  }
  return true;
}

/* ---- operands ---- */

/* Letters, digits, points, and the sign of an exponent. */
static struct gr_view take_word(struct machine *machine) {
  size_t start = machine->offset;
  size_t at = start;
  const char *bytes = machine->text.bytes;
  bool is_number = is_digit(bytes[start]) || bytes[start] == '.';
  bool is_hex = bytes[start] == '0' && start + 1 < machine->text.length && bytes[start + 1] == 'x';
  while (at < machine->text.length) {
    bool is_sign = bytes[at] == '+' || bytes[at] == '-';
    bool is_exponent_sign = is_sign && is_number && !is_hex && (bytes[at - (at > start)] | 0x20) == 'e' &&
                            at + 1 < machine->text.length && is_digit(bytes[at + 1]);
    if (!is_letter(bytes[at]) && !is_digit(bytes[at]) && bytes[at] != '.' && !is_exponent_sign) break;
    at++;
  }
  machine->offset = at;
  return (struct gr_view){bytes + start, at - start};
}

static bool refuse_literal(struct machine *machine, struct gr_view word, const char *why) {
  if (word.length == machine->text.length) return refuse(machine, "%s", why); /* the caller quotes it already */
  return refuse(machine, "%s is no number (%s)", gr_view_quote(word).text, why);
}

static bool read_literal(struct machine *machine) {
  struct gr_view word = take_word(machine);
  struct gr_number number = {.magnitude = 0};
  struct operand operand = {.integer = 0};
  const char *why;
  if (machine->is_real) {
    if (!gr_number_scan_real(word, &operand.real, &why)) return refuse_literal(machine, word, why);
    return push_operand(machine, operand);
  }
  if (!gr_number_scan(word, &number, &why)) return refuse_literal(machine, word, why);
  if (number.is_real) {
    machine->needs_real = true;
    return refuse(machine, "%s is a float, and an integer is expected", gr_view_quote(word).text);
  }
  operand.integer = (wide)number.magnitude;
  return push_operand(machine, operand);
}

static bool refuse_param(struct machine *machine, struct gr_view name) {
  const struct gr_scope *scope = machine->scope;
  uint32_t index = scope->names ? gr_name_table_find(scope->names, name) : GR_NO_INDEX;
  if (index != GR_NO_INDEX) {
    return refuse(machine, "%s stands further down; a param's value takes only those above it",
                  gr_view_quote(name).text);
  }
  bool is_sought = scope->names && scope->wants_hints;
  struct gr_view nearest = is_sought ? gr_name_table_nearest(scope->names, name) : (struct gr_view){NULL, 0};
  machine->problem->hint = gr_hint_of(nearest);
  return refuse(machine, "there is no param %s", gr_view_quote(name).text);
}

static bool read_param(struct machine *machine, struct gr_view name) {
  const struct gr_scope *scope = machine->scope;
  uint32_t index = scope->names ? gr_name_table_find(scope->names, name) : GR_NO_INDEX;
  bool is_missing = index == GR_NO_INDEX && !scope->is_cut;
  if (is_missing || (index != GR_NO_INDEX && index >= scope->visible_count)) return refuse_param(machine, name);
  if (index == GR_NO_INDEX || !scope->is_known[index]) {
    machine->is_silent = true;
    return push_operand(machine, (struct operand){.integer = 1, .real = 1});
  }
  struct gr_number value = scope->params[index].value;
  if (!machine->is_real && value.is_real) {
    machine->needs_real = true;
    return refuse(machine, "param %s is a float, and an integer is expected", gr_view_quote(name).text);
  }
  struct operand operand = {.real = gr_number_to_double(value)};
  operand.integer = value.is_negative ? -(wide)value.magnitude : (wide)value.magnitude;
  return push_operand(machine, operand);
}

static void skip_blanks(struct machine *machine) {
  while (machine->offset < machine->text.length) {
    char byte = machine->text.bytes[machine->offset];
    if (byte != ' ' && byte != '\t' && byte != '\n' && byte != '\r') return;
    machine->offset++;
  }
}

static bool read_name(struct machine *machine, bool *is_operand) {
  struct gr_view name = take_word(machine);
  skip_blanks(machine);
  bool is_call = machine->offset < machine->text.length && machine->text.bytes[machine->offset] == '(';
  int function = find_function(name);
  *is_operand = !is_call;
  if (is_call && function < 0) {
    return refuse(machine, "%s is no function; there are min, max and ceil_div", gr_view_quote(name).text);
  }
  if (is_call) {
    machine->offset++;
    return push_operation(machine, (struct operation){.kind = CALL, .function = (uint8_t)function});
  }
  if (function >= 0) return refuse(machine, "%s needs two operands in parentheses", function_names[function]);
  return read_param(machine, name);
}

static bool refuse_byte(struct machine *machine) {
  struct gr_view rest = {machine->text.bytes + machine->offset, machine->text.length - machine->offset};
  size_t length = gr_utf8_length(rest);
  struct gr_view character = {rest.bytes, length > 0 ? length : 1};
  return refuse(machine, "%s has no place here", gr_view_quote(character).text);
}

/* At a place where an operand may begin. *is_operand: one is complete. */
static bool step_to_operand(struct machine *machine, bool *is_operand) {
  char byte = machine->text.bytes[machine->offset];
  *is_operand = false;
  if (byte == '-') {
    machine->offset++;
    return push_operation(machine, (struct operation){.kind = NEGATE});
  }
  if (byte == '(') {
    machine->offset++;
    return push_operation(machine, (struct operation){.kind = OPEN});
  }
  if (is_letter(byte)) return read_name(machine, is_operand);
  if (is_digit(byte) || byte == '.') { /* .inf and .nan */
    *is_operand = true;
    return read_literal(machine);
  }
  if (byte == '+' || byte == '*' || byte == '/' || byte == '%' || byte == ')' || byte == ',') {
    return refuse(machine, "an operand is missing before \"%c\"", byte);
  }
  return refuse_byte(machine);
}

/* ---- operators ---- */

static bool close_parenthesis(struct machine *machine) {
  if (!unwind(machine, 1)) return false;
  if (machine->operation_count == 0) return refuse(machine, "a \")\" has no \"(\"");
  struct operation open = machine->operations[--machine->operation_count];
  if (open.kind == OPEN) return true;
  if (open.commas != 1) return refuse(machine, "%s takes two operands", function_names[open.function]);
  return apply(machine, open);
}

static bool read_comma(struct machine *machine) {
  if (!unwind(machine, 1)) return false;
  struct operation *open = machine->operation_count > 0 ? &machine->operations[machine->operation_count - 1] : NULL;
  if (!open || open->kind != CALL) return refuse(machine, "a comma stands outside of min, max and ceil_div");
  if (open->commas == 1) return refuse(machine, "%s takes two operands", function_names[open->function]);
  open->commas++;
  return true;
}

static int operator_of(char byte) {
  switch (byte) {
    case '+':
      return ADD;
    case '-':
      return SUBTRACT;
    case '*':
      return MULTIPLY;
    case '/':
      return DIVIDE;
    case '%':
      return REMAINDER;
    default:
      return -1;
  }
}

/* Behind an operand. *wants_operand: another one has to follow. */
static bool step_behind_operand(struct machine *machine, bool *wants_operand) {
  char byte = machine->text.bytes[machine->offset];
  int kind = operator_of(byte);
  *wants_operand = byte != ')';
  if (kind < 0 && byte != ')' && byte != ',') {
    if (byte == '(') return refuse(machine, "an operator is missing before \"(\"");
    if (is_letter(byte) || is_digit(byte) || byte == '.') {
      return refuse(machine, "an operator is missing before %s", gr_view_quote(take_word(machine)).text);
    }
    return refuse_byte(machine);
  }
  machine->offset++;
  if (byte == ')') return close_parenthesis(machine);
  if (byte == ',') return read_comma(machine);
  return unwind(machine, precedence((enum mark_kind)kind)) &&
         push_operation(machine, (struct operation){.kind = (enum mark_kind)kind});
}

static bool finish(struct machine *machine, bool wants_operand) {
  if (wants_operand) {
    if (machine->text.length == 0) return refuse(machine, "it is empty");
    return refuse(machine, "an operand is missing at the end");
  }
  if (!unwind(machine, 1)) return false;
  if (machine->operation_count > 0) return refuse(machine, "a \"(\" is not closed");
  return true;
}

static bool run(struct machine *machine) {
  bool wants_operand = true;
  for (;;) {
    skip_blanks(machine);
    if (machine->offset == machine->text.length) return finish(machine, wants_operand);
    bool flag;
    if (wants_operand) {
      if (!step_to_operand(machine, &flag)) return false;
      wants_operand = !flag;
    } else {
      if (!step_behind_operand(machine, &flag)) return false;
      wants_operand = flag;
    }
  }
}

static enum gr_outcome outcome_of(const struct machine *machine, bool ok, struct gr_number *number) {
  if (!ok) return machine->is_silent && machine->has_value_problem ? GR_OUTCOME_SILENT : GR_OUTCOME_PROBLEM;
  if (machine->is_silent) return GR_OUTCOME_SILENT;
  const struct operand *result = &machine->operands[0];
  if (machine->is_real) {
    *number = (struct gr_number){.is_real = true, .real = result->real};
  } else {
    wide value = result->integer;
    *number = (struct gr_number){.is_negative = value < 0, .magnitude = (uint64_t)(value < 0 ? -value : value)};
  }
  return GR_OUTCOME_VALUE;
}

static enum gr_outcome evaluate(struct gr_view text, bool is_real, const struct gr_scope *scope, bool *needs_real,
                                struct gr_number *number, struct gr_problem *problem) {
  struct machine machine;
  machine.text = text;
  machine.offset = 0;
  machine.scope = scope;
  machine.problem = problem;
  problem->hint.text[0] = '\0';
  machine.is_real = is_real;
  machine.needs_real = machine.is_silent = machine.has_value_problem = false;
  machine.operand_count = machine.operation_count = 0;
  bool ok = run(&machine);
  *needs_real = machine.needs_real;
  if (ok && !is_real && !fits(machine.operands[0].integer)) {
    ok = refuse_value(&machine, "it overflows signed 64-bit integers");
  }
  return outcome_of(&machine, ok, number);
}

/* A literal that stands alone: most values are. */
static bool is_lone_literal(struct gr_view text, enum gr_value_kind kind, struct gr_number *number) {
  const char *why;
  struct gr_number literal;
  if (!gr_number_scan(text, &literal, &why)) return false;
  if (kind == GR_VALUE_REAL) {
    *number = (struct gr_number){.is_real = true, .real = gr_number_to_double(literal)};
    return true;
  }
  if (literal.is_real && kind != GR_VALUE_NUMBER) return false;
  if (kind == GR_VALUE_INTEGER && !literal.is_negative && literal.magnitude > INT64_MAX) return false;
  *number = literal;
  return true;
}

enum gr_outcome gr_expression_evaluate(struct gr_view text, enum gr_value_kind kind, const struct gr_scope *scope,
                                       struct gr_number *number, struct gr_problem *problem) {
  if (is_lone_literal(text, kind, number)) return GR_OUTCOME_VALUE;
  bool needs_real;
  enum gr_outcome outcome = evaluate(text, kind == GR_VALUE_REAL, scope, &needs_real, number, problem);
  if (kind != GR_VALUE_NUMBER || !needs_real) return outcome;
  return evaluate(text, true, scope, &needs_real, number, problem);
}
