/* Signals and the watchdog, each in a child process, whose end is what counts. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/graphrun/support.h"
#include "tools/graphrun/interrupt.h"
#include "tools/graphrun/output.h"

enum { OWN_END = 7, MILLISECOND = 1000000 };

static void sleep_ms(long milliseconds) {
  struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * MILLISECOND};
  while (nanosleep(&time, &time) != 0) continue;
}

/* The exit status of a process that does `work`; -1 where a signal killed it. */
static int end_of(void (*work)(void)) {
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    work();
    _exit(OWN_END);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- the watchdog ---- */

static void hang(void) {
  if (interrupt_watch(20 * MILLISECOND, NULL, NULL)) sleep_ms(60000);
}

/* Longer than the time and the grace: inputs and outputs may take as long as they need. */
static void go_on_asking(void) {
  if (!interrupt_watch(20 * MILLISECOND, NULL, NULL)) _exit(1);
  for (int i = 0; i < 60; i++) {
    if (interrupt_cancelled(NULL)) _exit(1);
    sleep_ms(50);
  }
  interrupt_unwatch();
}

static void end_in_time(void) {
  if (!interrupt_watch(UINT64_MAX, NULL, NULL)) _exit(1);
  interrupt_unwatch();
}

START_TEST(a_call_that_does_not_return_ends_the_process) { ck_assert_int_eq(end_of(hang), 124); }
END_TEST
START_TEST(work_that_goes_on_is_left_alone) { ck_assert_int_eq(end_of(go_on_asking), OWN_END); }
END_TEST
START_TEST(work_that_ends_is_left_alone) { ck_assert_int_eq(end_of(end_in_time), OWN_END); }
END_TEST

/* ---- signals ---- */

static void get_signal(void) {
  interrupt_install();
  raise(SIGTERM);
}

static void hear_one(void) {
  interrupt_install();
  interrupt_hear(true);
  raise(SIGINT);
  if (interrupt_signal() != SIGINT || !interrupt_cancelled(NULL)) _exit(1);
}

static void hear_two(void) {
  hear_one();
  raise(SIGINT);
}

static void hear_no_more(void) {
  interrupt_install();
  interrupt_hear(true);
  interrupt_hear(false);
  raise(SIGINT);
}

START_TEST(signals) {
  ck_assert_int_eq(end_of(get_signal), 143);
  ck_assert_int_eq(end_of(hear_one), OWN_END);
  ck_assert_int_eq(end_of(hear_two), 130);
  ck_assert_int_eq(end_of(hear_no_more), 130);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("interrupt");
  TCase *cases = tcase_create("interrupt");
  tcase_set_timeout(cases, 30);
  tcase_add_test(cases, a_call_that_does_not_return_ends_the_process);
  tcase_add_test(cases, work_that_goes_on_is_left_alone);
  tcase_add_test(cases, work_that_ends_is_left_alone);
  tcase_add_test(cases, signals);
  return run_suite(suite, cases);
}
