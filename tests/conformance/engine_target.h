/* A target that runs calls as pipelines, through the engine's public face. */
#ifndef GRAPHRUN_TESTS_CONFORMANCE_ENGINE_TARGET_H
#define GRAPHRUN_TESTS_CONFORMANCE_ENGINE_TARGET_H

#include "engine/graphrun.h"
#include "tests/conformance/cases.h"

struct engine_target {
  struct target target;
  struct gr_engine *engine;
  const char *backend;
};

/* Fails the running test where the engine cannot be made. */
void engine_target_init(struct engine_target *target, const char *backend);
void engine_target_release(struct engine_target *target);

/* Whether there is a device to run on. Works outside of tests, too. `reason` gets why not. */
enum readiness {
  TARGET_READY,
  TARGET_UNAVAILABLE, /* no such back end, no device: nothing is wrong */
  TARGET_BROKEN,
};
enum readiness engine_target_readiness(const char *backend, char *reason, size_t reason_bytes);

/* Fails the running test with the error's message where the call did not give GR_OK. */
#define EXPECT_OK(CALL, ERROR)                                                                                    \
  do {                                                                                                            \
    enum gr_status status_of_call = (CALL);                                                                       \
    ck_assert_msg(status_of_call == GR_OK, "%s: %s: %s", #CALL, gr_status_name(status_of_call), (ERROR).message); \
  } while (0)

/* Fill nodes over slices of one to three dimensions, which no call of a kernel reaches. */
void case_fill_boxes(const struct engine_target *target);

#endif
