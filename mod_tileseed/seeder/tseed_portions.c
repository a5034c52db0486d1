/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Requests that other hosts send. */
#include "seeder/tseed_portions.h"

#include <apr_strings.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tseed_clock.h"
#include "base/tseed_memory.h"
#include "seeder/tseed_portion_result.h"
#include "state/tseed_hosts.h"
#include "state/tseed_portion_rows.h"
#include "store/tseed_layout.h"

#define TURN        (50 * 1000)  /* microseconds */
#define IDLE        (250 * 1000) /* likewise, while nobody helps */
#define ROOTS_MOST  64
#define HOSTS_EVERY APR_USEC_PER_SEC /* how often the hosts are looked at */
#define LINES       4                /* most portions of a row: it comes back as a whole */
#define LATE        (300 * APR_USEC_PER_SEC)
#define CLEAN_EVERY (60 * APR_USEC_PER_SEC)
#define OLD_SECONDS 600                     /* a pack that nobody has read by then */
#define PATIENCE    (60 * APR_USEC_PER_SEC) /* beyond the upstream's timeout */

/* A transfer at another host, or on its way there; malloc'd. */
typedef struct errand_t {
    tseed_transfer_t *transfer;
    int64_t epoch, number; /* the row; epoch 0: none yet */
    int index;             /* in the row */
    apr_time_t until;      /* monotonic: then it is taken back */
    struct errand_t *next;
} errand_t;

struct tseed_portions_t {
    const tseed_settings_t *settings;
    const tseed_catalog_t *catalog;
    tseed_fetcher_t *fetcher;
    tseed_fetch_remote_t remote;

    pthread_mutex_t lock;
    errand_t *errands, **end; /* under lock, in the order in which they came */

    /* the thread's */
    apr_pool_t *pool, *scratch;
    tseed_state_t *state;  /* NULL: not open yet */
    int is_clean;          /* nothing of an earlier tenure is in the table */
    int64_t last;          /* number of a row */
    int64_t *hosts;        /* epochs, malloc'd */
    int count;             /* of them */
    apr_time_t looked;     /* at the hosts, monotonic */
    int64_t late;          /* the host that did not bring something in time, */
    apr_time_t late_until; /* and how long it gets nothing, monotonic */
    apr_time_t clean_at;   /* when packs are looked for that nobody wants, monotonic */
};

/* ---- the fetcher's thread ---- */

static void hand_over(void *baton, tseed_transfer_t *transfer)
{
    tseed_portions_t *portions = baton;
    errand_t *errand = tseed_memory_get(sizeof(*errand));

    *errand = (errand_t){.transfer = transfer,
                         .until = tseed_clock_monotonic() + transfer->upstream->timeout + PATIENCE};
    pthread_mutex_lock(&portions->lock);
    *portions->end = errand;
    portions->end = &errand->next;
    pthread_mutex_unlock(&portions->lock);
}

/* Takes an errand out of the list; under lock. */
static errand_t *take_out(tseed_portions_t *portions, errand_t **link)
{
    errand_t *errand = *link;

    *link = errand->next;
    portions->end = *link ? portions->end : link;
    return errand;
}

static int recall(void *baton, tseed_transfer_t *transfer)
{
    tseed_portions_t *portions = baton;
    errand_t **link, *found;

    pthread_mutex_lock(&portions->lock);
    link = &portions->errands;
    while (*link && (*link)->transfer != transfer) {
        link = &(*link)->next;
    }
    found = *link ? take_out(portions, link) : NULL;
    pthread_mutex_unlock(&portions->lock);
    free(found);
    return found != NULL;
}

/* ---- giving ---- */

/* The host that has the fewest. Under lock. */
static int64_t idlest(const tseed_portions_t *portions)
{
    int64_t found = 0;
    int fewest = 0;

    for (int i = 0; i < portions->count; i++) {
        int has = 0;

        for (const errand_t *errand = portions->errands; errand; errand = errand->next) {
            has += errand->epoch == portions->hosts[i];
        }
        if (!found || has < fewest) {
            found = portions->hosts[i];
            fewest = has;
        }
    }
    return found;
}

static int lines_of(const char *text)
{
    int count = 0;

    for (; *text; text++) {
        count += *text == '\n';
    }
    return count;
}

static tseed_portion_row_t *row_of(apr_array_header_t *rows, int64_t epoch, int64_t *last)
{
    tseed_portion_row_t *row;

    for (int i = 0; i < rows->nelts; i++) {
        row = &APR_ARRAY_IDX(rows, i, tseed_portion_row_t);
        if (row->epoch == epoch && lines_of(row->requests) < LINES) {
            return row;
        }
    }
    row = apr_array_push(rows);
    *row = (tseed_portion_row_t){.epoch = epoch, .number = ++*last, .requests = "", .results = ""};
    return row;
}

/* Gives what has come since to hosts, one row a host. */
static void assign(tseed_portions_t *portions, apr_array_header_t *rows)
{
    pthread_mutex_lock(&portions->lock);
    for (errand_t *errand = portions->errands; errand && portions->count > 0;
         errand = errand->next) {
        if (!errand->epoch) {
            tseed_portion_row_t *row = row_of(rows, idlest(portions), &portions->last);

            errand->epoch = row->epoch;
            errand->number = row->number;
            errand->index = lines_of(row->requests);
            row->requests =
                apr_pstrcat(rows->pool, row->requests, errand->transfer->portion, "\n", NULL);
        }
    }
    pthread_mutex_unlock(&portions->lock);
}

static apr_status_t give(tseed_portions_t *portions)
{
    apr_array_header_t *rows = apr_array_make(portions->scratch, 4, sizeof(tseed_portion_row_t));

    assign(portions, rows);
    return tseed_portion_rows_give(portions->state, rows);
}

/* ---- taking back ---- */

typedef int choice_t(const tseed_portions_t *portions, const errand_t *errand, const void *data);

/* Takes the first errand that a function chooses out of the list; NULL: there is none. */
static errand_t *take_first(tseed_portions_t *portions, choice_t *choice, const void *data)
{
    errand_t **link, *found;

    pthread_mutex_lock(&portions->lock);
    link = &portions->errands;
    while (*link && !choice(portions, *link, data)) {
        link = &(*link)->next;
    }
    found = *link ? take_out(portions, link) : NULL;
    pthread_mutex_unlock(&portions->lock);
    return found;
}

/* What one host could not do is done here. */
static void return_errand(const tseed_portions_t *portions, errand_t *errand, int is_done)
{
    if (!is_done) {
        errand->transfer->portion = NULL;
    }
    tseed_fetcher_return(portions->fetcher, errand->transfer, is_done);
    free(errand);
}

/* Whether an errand's host has gone, or has not brought it in time. An errand that no host has
 * got waits for none. */
static int is_lost(const tseed_portions_t *portions, const errand_t *errand, const void *now)
{
    int is_there = 0;

    for (int i = 0; i < portions->count; i++) {
        is_there |= portions->hosts[i] == errand->epoch;
    }
    return errand->epoch ? !is_there || *(const apr_time_t *)now > errand->until
                         : portions->count == 0;
}

static void give_back_lost(tseed_portions_t *portions, apr_array_header_t *rows)
{
    const apr_time_t now = tseed_clock_monotonic();
    errand_t *errand;

    while ((errand = take_first(portions, is_lost, &now))) {
        if (errand->epoch) {
            *(tseed_portion_row_t *)apr_array_push(rows) =
                (tseed_portion_row_t){.epoch = errand->epoch, .number = errand->number};
        }
        if (now > errand->until) {
            portions->late = errand->epoch;
            portions->late_until = now + LATE;
        }
        return_errand(portions, errand, 0);
    }
}

/* ---- results ---- */

typedef struct {
    int64_t epoch, number;
    int index;
} place_t;

static int is_at(const tseed_portions_t *portions, const errand_t *errand, const void *data)
{
    const place_t *place = data;

    (void)portions;
    return errand->epoch == place->epoch && errand->number == place->number &&
           errand->index == place->index;
}

/* Reads a pack into the body of a transfer, and removes it. Returns whether all of it is there; a
 * checksum tells whether it is whole. */
static int read_pack(tseed_transfer_t *transfer, const char *path)
{
    struct stat st;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    unsigned char *body;
    int is_read = 0;

    if (file < 0) {
        return 0;
    }
    if (fstat(file, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        (size_t)st.st_size <= transfer->most) {
        body = realloc(transfer->body, (size_t)st.st_size);
        if (body) {
            transfer->body = body;
            transfer->capacity = transfer->length = (size_t)st.st_size;
            is_read = read(file, body, transfer->length) == (ssize_t)transfer->length;
        }
    }
    close(file);
    unlink(path);
    return is_read;
}

static void bring(tseed_portions_t *portions, const place_t *place, char *line)
{
    tseed_portion_result_t result;
    errand_t *errand;
    int is_done;

    if (!tseed_portion_result_read(&result, line, portions->scratch)) {
        return;
    }
    errand = take_first(portions, is_at, place);
    if (!errand) {
        if (*result.path) {
            unlink(result.path);
        }
        return;
    }
    is_done = !result.is_refused;
    if (is_done) {
        tseed_portion_result_put(errand->transfer, &result);
        errand->transfer->is_pack = *result.path != '\0';
        is_done = !*result.path || read_pack(errand->transfer, result.path);
    }
    return_errand(portions, errand, is_done);
}

static void bring_all(tseed_portions_t *portions, const tseed_portion_row_t *row)
{
    place_t place = {row->epoch, row->number, 0};
    char *last = NULL, *text = apr_pstrdup(portions->scratch, row->results);

    for (char *line = apr_strtok(text, "\n", &last); line; line = apr_strtok(NULL, "\n", &last)) {
        bring(portions, &place, line);
        place.index++;
    }
}

static apr_status_t collect(tseed_portions_t *portions)
{
    apr_array_header_t *rows;
    apr_status_t rv = tseed_portion_rows_finished(portions->state, &rows, portions->scratch);

    for (int i = 0; rv == APR_SUCCESS && i < rows->nelts; i++) {
        bring_all(portions, &APR_ARRAY_IDX(rows, i, tseed_portion_row_t));
    }
    if (rv == APR_SUCCESS) {
        give_back_lost(portions, rows);
        rv = tseed_portion_rows_delete(portions->state, rows);
    }
    return rv;
}

/* ---- hosts ---- */

static void leave_out_late(tseed_portions_t *portions, apr_time_t now)
{
    for (int i = 0; i < portions->count && now < portions->late_until; i++) {
        if (portions->hosts[i] == portions->late) {
            portions->hosts[i] = portions->hosts[--portions->count];
            return;
        }
    }
}

static apr_status_t look_at_hosts(tseed_portions_t *portions)
{
    const apr_time_t now = tseed_clock_monotonic();
    apr_array_header_t *epochs;
    apr_status_t rv;

    if (portions->looked && now < portions->looked + HOSTS_EVERY) {
        return APR_SUCCESS;
    }
    rv = tseed_portion_rows_helpers(portions->state, &epochs, portions->settings->host,
                                    portions->scratch);
    if (rv == APR_SUCCESS) {
        portions->looked = now;
        portions->hosts = realloc(portions->hosts, ((size_t)epochs->nelts + 1) * sizeof(int64_t));
        if (!portions->hosts) {
            abort();
        }
        memcpy(portions->hosts, epochs->elts, (size_t)epochs->nelts * sizeof(int64_t));
        portions->count = epochs->nelts;
        leave_out_late(portions, now);
        tseed_fetcher_remote_room(portions->fetcher, portions->count);
    }
    return rv;
}

/* ---- packs that nobody wants ---- */

static void clean_folder(DIR *folder)
{
    const struct dirent *entry;
    struct stat st;

    while ((entry = readdir(folder))) {
        if (fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && st.st_mtime < time(NULL) - OLD_SECONDS) {
            unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
}

static void clean(tseed_portions_t *portions)
{
    const char *roots[ROOTS_MOST];
    const unsigned count = tseed_catalog_roots(portions->catalog, roots, ROOTS_MOST);
    const apr_time_t now = tseed_clock_monotonic();

    if (now < portions->clean_at) {
        return;
    }
    portions->clean_at = now + CLEAN_EVERY;
    for (unsigned i = 0; i < count; i++) {
        DIR *folder = opendir(apr_pstrcat(portions->scratch, roots[i], "/", TSEED_PACKS, NULL));

        if (folder) {
            clean_folder(folder);
            closedir(folder);
        }
    }
}

/* ---- the thread ---- */

static apr_status_t prepare(tseed_portions_t *portions)
{
    const tseed_settings_t *settings = portions->settings;
    apr_status_t rv = APR_SUCCESS;

    if (!portions->state) {
        rv = tseed_state_open(&portions->state, settings->state_dir, settings->db_driver,
                              settings->db_params, portions->pool);
    }
    if (rv == APR_SUCCESS && !portions->is_clean) {
        rv = tseed_portion_rows_delete_all(portions->state);
        portions->is_clean = rv == APR_SUCCESS;
    }
    return rv;
}

/* A database that fails is looked after by others, who also say so. Meanwhile nobody helps. */
static void turn(tseed_portions_t *portions)
{
    apr_array_header_t *rows = apr_array_make(portions->scratch, 4, sizeof(tseed_portion_row_t));
    apr_status_t rv = prepare(portions);

    if (rv == APR_SUCCESS) {
        rv = look_at_hosts(portions);
    }
    if (rv == APR_SUCCESS && (portions->count > 0 || portions->errands)) {
        rv = collect(portions);
    }
    if (rv == APR_SUCCESS && portions->count > 0) {
        rv = give(portions);
    }
    if (rv != APR_SUCCESS) {
        portions->count = 0;
        portions->looked = 0;
        portions->is_clean = 0;
        tseed_fetcher_remote_room(portions->fetcher, 0);
        give_back_lost(portions, rows);
    }
}

static void *run(void *data)
{
    tseed_portions_t *portions = data;

    for (;;) {
        turn(portions);
        clean(portions);
        apr_pool_clear(portions->scratch);
        usleep(portions->count > 0 ? TURN : IDLE);
    }
    return NULL;
}

tseed_portions_t *tseed_portions_begin(const tseed_settings_t *settings,
                                       const tseed_catalog_t *catalog, tseed_fetcher_t *fetcher,
                                       apr_pool_t *pool)
{
    tseed_portions_t *portions = apr_pcalloc(pool, sizeof(*portions));
    pthread_t thread;

    if (!tseed_hosts_can_share(settings->db_driver)) {
        return NULL;
    }
    portions->settings = settings;
    portions->catalog = catalog;
    portions->fetcher = fetcher;
    portions->remote = (tseed_fetch_remote_t){portions, hand_over, recall};
    portions->end = &portions->errands;
    pthread_mutex_init(&portions->lock, NULL);
    portions->pool = tseed_memory_pool();
    apr_pool_create(&portions->scratch, portions->pool);
    tseed_fetcher_remote(fetcher, &portions->remote);
    if (pthread_create(&thread, NULL, run, portions) != 0) {
        return NULL;
    }
    pthread_detach(thread);
    return portions;
}
