/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Remnants: their names. */
#include "store/tseed_remnant.h"

#include <apr_strings.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/tseed_store_view.h"

void tseed_remnant_name(char name[TSEED_REMNANT_NAME_SIZE], const tseed_remnant_t *remnant,
                        int number)
{
    const tseed_effect_t *usage = &remnant->usage;

    snprintf(name, TSEED_REMNANT_NAME_SIZE,
             "%d-%016" PRIx64 "-%" PRId64 "-%" PRId64 "-%" PRId64 "-%" PRId64 "-%" PRId64 "-%d",
             remnant->z, remnant->print, remnant->task, usage->names, usage->files, usage->bytes,
             usage->allocated, number);
}

/* 0: the name is none of a remnant's. A name is right if it is what its numbers make. */
static int read_name(tseed_remnant_t *remnant, const char *name)
{
    tseed_effect_t *usage = &remnant->usage;
    char again[TSEED_REMNANT_NAME_SIZE];
    int number;

    if (sscanf(name,
               "%d-%" SCNx64 "-%" SCNd64 "-%" SCNd64 "-%" SCNd64 "-%" SCNd64 "-%" SCNd64 "-%d",
               &remnant->z, &remnant->print, &remnant->task, &usage->names, &usage->files,
               &usage->bytes, &usage->allocated, &number) != 8) {
        return 0;
    }
    tseed_remnant_name(again, remnant, number);
    return strcmp(again, name) == 0 && remnant->z >= 0 && remnant->z < TSEED_LEVELS_MAX &&
           usage->names >= 0 && usage->files >= 0 && usage->bytes >= 0 && usage->allocated >= 0;
}

apr_status_t tseed_remnant_list(apr_array_header_t **remnants, const char *root, apr_pool_t *pool)
{
    DIR *stream = opendir(apr_pstrcat(pool, root, "/" TSEED_REMOVED, NULL));
    const struct dirent *entry;
    apr_status_t rv;

    *remnants = apr_array_make(pool, 4, sizeof(tseed_remnant_t));
    if (!stream) {
        return errno == ENOENT ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    }
    while ((errno = 0, entry = readdir(stream)) != NULL) {
        tseed_remnant_t remnant;

        if (read_name(&remnant, entry->d_name)) {
            APR_ARRAY_PUSH(*remnants, tseed_remnant_t) = remnant;
        }
    }
    rv = APR_FROM_OS_ERROR(errno);
    closedir(stream);
    return rv;
}
