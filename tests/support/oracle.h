/* What a plan's buffers should hold: the bytes of a plain loop over the dag's order, one element at a time. */
#ifndef GRAPHRUN_TESTS_SUPPORT_ORACLE_H
#define GRAPHRUN_TESTS_SUPPORT_ORACLE_H

#include "engine/plan/plan.h"

/* Every buffer after so many replays that started from zeroed buffers. Freed with oracle_release. */
unsigned char **oracle_run(const struct gr_plan *plan, uint32_t replays);
void oracle_release(const struct gr_plan *plan, unsigned char **buffers);

#endif
