/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Leftovers: their names, and dropping those that belong to nobody any more. */
#include "store/tseed_leftover.h"

#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_clock.h"

#define LEFTOVER_SECONDS 3600

/* With a '-' behind it, or "". */
static char instance[TSEED_INSTANCE_LONGEST + 2];

void tseed_store_instance_set(const char *name)
{
    apr_snprintf(instance, sizeof(instance), "%s%s", name, *name ? "-" : "");
}

static int64_t tenure, former; /* 0: none */

void tseed_store_tenure_set(int64_t own, int64_t before)
{
    tenure = own;
    former = before;
}

static int (*guard)(void); /* NULL: there is none */

void tseed_store_guard(int (*is_over)(void))
{
    guard = is_over;
}

int tseed_store_is_over(void)
{
    return guard && guard();
}

/* All zero: there is none. */
static tseed_calendar_t calendar;

void tseed_store_calendar_set(const tseed_calendar_t *given)
{
    calendar = given ? *given : (tseed_calendar_t){0};
}

static void write_name(char name[TSEED_LEFTOVER_SIZE], int64_t of_tenure, unsigned id)
{
    char term[24] = "";

    if (of_tenure) {
        apr_snprintf(term, sizeof(term), "%" APR_INT64_T_FMT "-", of_tenure);
    }
    apr_snprintf(name, TSEED_LEFTOVER_SIZE, TSEED_LEFTOVER_PREFIX "%s%s%u" TSEED_LEFTOVER_SUFFIX,
                 instance, term, id);
}

void tseed_leftover_name(char name[TSEED_LEFTOVER_SIZE], unsigned id)
{
    write_name(name, tenure, id);
}

int tseed_leftover_former_name(char name[TSEED_LEFTOVER_SIZE], unsigned id)
{
    write_name(name, former, id);
    return former != 0;
}

static int is_own(const char *name)
{
    char prefix[TSEED_LEFTOVER_SIZE];

    apr_snprintf(prefix, sizeof(prefix), TSEED_LEFTOVER_PREFIX "%s", instance);
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

int tseed_leftover_is(const char *name)
{
    size_t prefix = strlen(TSEED_LEFTOVER_PREFIX), suffix = strlen(TSEED_LEFTOVER_SUFFIX);
    size_t length = strlen(name);

    return length > prefix + suffix && memcmp(name, TSEED_LEFTOVER_PREFIX, prefix) == 0 &&
           strcmp(name + length - suffix, TSEED_LEFTOVER_SUFFIX) == 0;
}

time_t tseed_leftover_before(void)
{
    const apr_time_t wall = apr_time_now();
    const apr_time_t now =
        calendar.start ? tseed_calendar_least(&calendar, wall, tseed_clock_monotonic()) : wall;

    return apr_time_sec(now) - LEFTOVER_SECONDS;
}

/* A young one of another httpd's seeder is about to become a tile. */
static time_t limit_for(const char *name, time_t before)
{
    const time_t foreign = tseed_leftover_before();

    return before > foreign && !is_own(name) ? foreign : before;
}

/* Empties a file that has no other name. */
static apr_status_t empty(int folder, const char *name)
{
    int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    apr_status_t rv = APR_INCOMPLETE;
    struct stat st;

    if (fd < 0) {
        return errno == ENOENT ? APR_SUCCESS : APR_FROM_OS_ERROR(errno);
    }
    if (fstat(fd, &st) != 0) {
        rv = APR_FROM_OS_ERROR(errno);
    } else if (!S_ISREG(st.st_mode) || st.st_nlink > 1) {
        rv = APR_FROM_OS_ERROR(EMLINK);
    } else if (ftruncate(fd, 0) != 0) {
        rv = APR_FROM_OS_ERROR(errno);
    }
    close(fd);
    return rv;
}

/* Other errors than these may come from a file server that has done what it reports as failed: the
 * name may be another file's by now. */
apr_status_t tseed_leftover_discard(int folder, const char *name)
{
    if (unlinkat(folder, name, 0) == 0 || errno == ENOENT) {
        return APR_SUCCESS;
    }
    return errno == EACCES || errno == EPERM ? empty(folder, name) : APR_FROM_OS_ERROR(errno);
}

apr_status_t tseed_leftover_drop(int folder, const char *name, time_t before)
{
    struct stat st;

    if (!tseed_leftover_is(name) || tseed_store_is_over()) {
        return APR_INCOMPLETE;
    }
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? APR_INCOMPLETE : APR_FROM_OS_ERROR(errno);
    }
    return st.st_mtime < limit_for(name, before) ? tseed_leftover_discard(folder, name)
                                                 : APR_INCOMPLETE;
}
