/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Leftovers: files that are being written, or that a crash has left unfinished. For the files of
 * this room, on any thread of the seeder.
 */
#ifndef TSEED_LEFTOVER_H
#define TSEED_LEFTOVER_H

#include <apr_errno.h>
#include <time.h>

#include "store/tseed_layout.h"
#include "store/tseed_store.h"

#define TSEED_LEFTOVER_SIZE                                                                        \
    (sizeof(TSEED_LEFTOVER_PREFIX TSEED_LEFTOVER_SUFFIX) + TSEED_INSTANCE_LONGEST + 40)

/* The name of the hidden file of a view's id in this process (tseed_store_instance_set). */
void tseed_leftover_name(char name[TSEED_LEFTOVER_SIZE], unsigned id);

/* The name that the hidden file had in the tenure before (tseed_store_tenure_set). Returns 0 if
 * there was none. */
int tseed_leftover_former_name(char name[TSEED_LEFTOVER_SIZE], unsigned id);

/* Whether that is the name of an unfinished file. */
int tseed_leftover_is(const char *name);

/* An unfinished file from before that moment belongs to nobody any more: an hour ago
 * (tseed_store_calendar_set). */
time_t tseed_leftover_before(void);

/* Removes an unfinished file, or its content where the file can't be removed: the directory may be
 * read-only since the file was made. APR_SUCCESS: the file has gone. APR_INCOMPLETE: it is there
 * and has no bytes. Else the file is as it was; EMLINK: it has another name as well. */
apr_status_t tseed_leftover_discard(int folder, const char *name);

/* Discards a name if it is an unfinished file's, older than that moment; if it is another
 * program's, older than an hour as well. APR_INCOMPLETE: also when the file was not to be dropped,
 * or this process may change no file any more. */
apr_status_t tseed_leftover_drop(int folder, const char *name, time_t before);

#endif
