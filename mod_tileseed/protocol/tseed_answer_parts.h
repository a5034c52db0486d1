/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Parts that several documents have. Private to the protocol room; any thread. */
#ifndef TSEED_ANSWER_PARTS_H
#define TSEED_ANSWER_PARTS_H

#include "protocol/tseed_json_write.h"
#include "protocol/tseed_task.h"

/* Adds tilesPerSecond and secondsRemaining of a task of `total` tiles; null where not known. */
void tseed_answer_rate(tseed_json_t *json, int64_t total, const tseed_progress_t *progress);

/* Adds the reason of a task and its code; null where there is none. */
void tseed_answer_reason(tseed_json_t *json, const tseed_progress_t *progress);

#endif
