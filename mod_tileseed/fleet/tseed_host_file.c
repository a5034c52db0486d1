/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The file of the host: one line, "instance epoch renewals id". A file that can't be understood is
 * made anew. */
#include "fleet/tseed_host_file.h"

#include <apr_file_io.h>
#include <apr_strings.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define LONGEST 128

static const char *path_of(const char *state_dir, apr_pool_t *pool)
{
    return apr_pstrcat(pool, state_dir, "/tileseed.host", NULL);
}

/* *text is "" when there is no file. */
static apr_status_t read_text(char text[LONGEST], const char *path, apr_pool_t *pool)
{
    apr_file_t *file;
    apr_size_t length = LONGEST - 1;
    apr_status_t rv = apr_file_open(&file, path, APR_FOPEN_READ, APR_FPROT_OS_DEFAULT, pool);

    text[0] = '\0';
    if (rv != APR_SUCCESS) {
        return APR_STATUS_IS_ENOENT(rv) ? APR_SUCCESS : rv;
    }
    rv = apr_file_read(file, text, &length);
    text[rv == APR_SUCCESS ? length : 0] = '\0';
    apr_file_close(file);
    return APR_STATUS_IS_EOF(rv) ? APR_SUCCESS : rv;
}

static int parse(tseed_host_file_t *file, const char *text)
{
    tseed_host_memory_t *memory = &file->memory;

    return sscanf(text, "%16[0-9a-f] %" SCNd64 " %" SCNd64 " %" SCNd64, file->instance,
                  &memory->epoch, &memory->renewals, &memory->id) == 4 &&
           strlen(file->instance) == 16;
}

static apr_status_t draw(tseed_host_file_t *file)
{
    uint64_t drawn;

    if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn)) {
        return APR_EGENERAL;
    }
    *file = (tseed_host_file_t){.memory = {0}};
    apr_snprintf(file->instance, sizeof(file->instance), "%016" PRIx64, drawn);
    return APR_SUCCESS;
}

apr_status_t tseed_host_file_load(tseed_host_file_t *file, const char *state_dir, apr_pool_t *pool)
{
    char text[LONGEST];
    apr_status_t rv = read_text(text, path_of(state_dir, pool), pool);

    if (rv != APR_SUCCESS || parse(file, text)) {
        return rv;
    }
    rv = draw(file);
    return rv == APR_SUCCESS ? tseed_host_file_save(file, state_dir, pool) : rv;
}

apr_status_t tseed_host_file_save(const tseed_host_file_t *file, const char *state_dir,
                                  apr_pool_t *pool)
{
    const char *path = path_of(state_dir, pool);
    const char *beside = apr_pstrcat(pool, path, ".new", NULL);
    const tseed_host_memory_t *memory = &file->memory;
    const char *text =
        apr_psprintf(pool, "%s %" APR_INT64_T_FMT " %" APR_INT64_T_FMT " %" APR_INT64_T_FMT "\n",
                     file->instance, memory->epoch, memory->renewals, memory->id);
    apr_file_t *written;
    apr_status_t closed;
    apr_status_t rv =
        apr_file_open(&written, beside, APR_FOPEN_WRITE | APR_FOPEN_CREATE | APR_FOPEN_TRUNCATE,
                      APR_FPROT_UREAD | APR_FPROT_UWRITE, pool);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = apr_file_write_full(written, text, strlen(text), NULL);
    if (rv == APR_SUCCESS) {
        rv = apr_file_sync(written);
    }
    closed = apr_file_close(written);
    rv = rv == APR_SUCCESS ? closed : rv;
    return rv == APR_SUCCESS ? apr_file_rename(beside, path, pool) : rv;
}
