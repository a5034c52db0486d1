/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The books as a whole: accounts, book and database against a model of the disk, with several
 * threads that write and crashes at any step. In the end all agree, to the byte and the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <apr_general.h>
#include <apr_strings.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "quota/tseed_book.h"
#include "state/tseed_books.h"
#include "state/tseed_origin_rows.h"

#include "database_fixture.h"

#define NOW   INT64_C(1790000000)
#define BLOCK 4096
#define LIMIT (INT64_C(6000) * BLOCK)

enum { SETS = 2, LEVELS = 3, SIDE = 96, CONTENTS = 5, JOBS = 6, JOB_SIDE = 8 };
enum { PAGES = SIDE / TSEED_PAGE_SIDE };

/* ---- the model of the disk ---- */

typedef struct {
    int present;
    int content; /* 0: a file of its own, else a name of that shared file */
    int64_t size;
} tile_t;

static tile_t disk[SETS][LEVELS][SIDE][SIDE];
static int masters[SETS][CONTENTS + 1]; /* whether the shared file is there */
static _Atomic int64_t on_disk;         /* allocated */
static pthread_mutex_t master_lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t rounded(int64_t size)
{
    return (size + BLOCK - 1) / BLOCK * BLOCK;
}

static int64_t content_size(int content)
{
    return 60 + content;
}

static tseed_effect_t file_of(int64_t size)
{
    return (tseed_effect_t){0, 1, size, rounded(size)};
}

/* What a tile contributes to its page. */
static tseed_effect_t usage_of(const tile_t *tile)
{
    tseed_effect_t usage = {0, 0, 0, 0};

    if (tile->present && !tile->content) {
        usage = file_of(tile->size);
    }
    usage.names = tile->present;
    return usage;
}

static tseed_effect_t walk_page(int set, const tseed_page_t *page)
{
    tseed_effect_t sum = {0, 0, 0, 0};

    for (int i = 0; i < TSEED_PAGE_TILES; i++) {
        int64_t x = page->x * TSEED_PAGE_SIDE + i % TSEED_PAGE_SIDE;
        int64_t y = page->y * TSEED_PAGE_SIDE + i / TSEED_PAGE_SIDE;
        tseed_effect_t usage = usage_of(&disk[set][page->z][x][y]);

        tseed_effect_add(&sum, &usage);
    }
    return sum;
}

static tseed_effect_t walk_shared(int set)
{
    tseed_effect_t sum = {0, 0, 0, 0};

    for (int content = 1; content <= CONTENTS; content++) {
        tseed_effect_t file = file_of(content_size(content));

        if (masters[set][content]) {
            tseed_effect_add(&sum, &file);
        }
    }
    return sum;
}

static tseed_page_t page_of(int number)
{
    return (tseed_page_t){number / PAGES / PAGES, number % PAGES, number / PAGES % PAGES};
}

/* ---- the seeder ---- */

static apr_pool_t *pool;   /* of the test */
static apr_pool_t *memory; /* of the seeder: a crash takes it away */
static char dir[] = "/tmp/tileseed-books-XXXXXX";
static const char *params; /* of the database */
static tseed_state_t *state;
static tseed_book_t *book;
static tseed_chain_t chains[SETS];
static tseed_book_tileset_t *sets[SETS];
static unsigned seed;
static int crash_after; /* steps until the next crash */

static int dice(int sides)
{
    return rand_r(&seed) % sides;
}

/* A step after which the process may die; 1: it has. */
static int crashes(void)
{
    return crash_after-- == 0;
}

static void save(tseed_save_t what)
{
    tseed_page_record_t record;
    size_t cursor = 0;
    int gone;

    assert_int_equal(tseed_state_begin(state), APR_SUCCESS);
    while (tseed_book_change(book, &record, &gone, what, &cursor)) {
        assert_int_equal(gone ? tseed_books_page_delete(state, &record)
                              : tseed_books_page_save(state, &record),
                         APR_SUCCESS);
    }
    for (int set = 0; set < SETS; set++) {
        if (sets[set]->changed) {
            assert_int_equal(tseed_books_save(state, &sets[set]->record), APR_SUCCESS);
        }
    }
    assert_int_equal(tseed_state_commit(state), APR_SUCCESS);
    tseed_book_saved(book, what);
}

static void count_page(int set, const tseed_page_t *page)
{
    const tseed_effect_t counted = walk_page(set, page);
    tseed_effect_t difference;

    tseed_book_count(&difference, book, sets[set], page, &counted, 0);
}

static void prepare(int set, const tseed_page_t *page)
{
    if (tseed_book_ask(book, sets[set], page) & TSEED_PAGE_UNMARKED) {
        save(dice(2) ? TSEED_SAVE_MARKS : TSEED_SAVE_ALL);
    }
    if (tseed_book_ask(book, sets[set], page) & TSEED_PAGE_IN_DOUBT) {
        count_page(set, page);
    }
}

/* ---- jobs ---- */

typedef struct {
    tseed_page_t page;
    tseed_effect_t change;
} touched_t;

/* A block of tiles that one worker writes or removes. */
typedef struct {
    int set, z, x, y, width, height, removes;
    unsigned seed;
    touched_t touched[4];
    int touched_count;
    tseed_effect_t shared;
    pthread_t thread;
} job_t;

static touched_t *touched_by(job_t *job, int x, int y)
{
    const tseed_page_t page = {job->z, x / TSEED_PAGE_SIDE, y / TSEED_PAGE_SIDE};

    for (int i = 0; i < job->touched_count; i++) {
        if (job->touched[i].page.x == page.x && job->touched[i].page.y == page.y) {
            return &job->touched[i];
        }
    }
    job->touched[job->touched_count] = (touched_t){.page = page};
    return &job->touched[job->touched_count++];
}

static void plan(job_t *job, int strip)
{
    *job = (job_t){.set = dice(SETS),
                   .z = dice(LEVELS),
                   .x = strip * SIDE / JOBS + dice(SIDE / JOBS - JOB_SIDE),
                   .y = dice(SIDE - JOB_SIDE),
                   .width = 1 + dice(JOB_SIDE),
                   .height = 1 + dice(JOB_SIDE),
                   .removes = dice(4) == 0,
                   .seed = (unsigned)dice(1 << 20)};
    for (int x = 0; x < job->width; x++) {
        for (int y = 0; y < job->height; y++) {
            touched_by(job, job->x + x, job->y + y);
        }
    }
}

/* Charges, writes and gives back what it did not cost; 0: there is no room. */
static int put(const tseed_chain_t *chain, tseed_effect_t *sum, tile_t *tile, const tile_t *next)
{
    const tseed_effect_t before = usage_of(tile), after = usage_of(next);
    const tseed_effect_t change = {after.names - before.names, after.files - before.files,
                                   after.bytes - before.bytes, after.allocated - before.allocated};

    if (tseed_account_charge(chain, (tseed_amount_t){after.allocated, after.files})) {
        return 0;
    }
    *tile = *next;
    if (atomic_fetch_add(&on_disk, change.allocated) + change.allocated > LIMIT) {
        abort(); /* over the limit */
    }
    tseed_account_release(chain, (tseed_amount_t){before.allocated, before.files});
    tseed_effect_add(sum, &change);
    return 1;
}

/* The shared file comes before its first name. */
static int make_master(job_t *job, int content)
{
    const tseed_effect_t file = file_of(content_size(content));
    const tseed_amount_t amount = {file.allocated, file.files};
    int made = 1;

    pthread_mutex_lock(&master_lock);
    if (!masters[job->set][content]) {
        made = !tseed_account_charge(&chains[job->set], amount);
        if (made) {
            masters[job->set][content] = 1;
            atomic_fetch_add(&on_disk, file.allocated);
            tseed_effect_add(&job->shared, &file);
        }
    }
    pthread_mutex_unlock(&master_lock);
    return made;
}

static void work_tile(job_t *job, int x, int y)
{
    tile_t next = {.present = !job->removes};

    if (next.present && rand_r(&job->seed) % 3 == 0) {
        next.content = 1 + rand_r(&job->seed) % CONTENTS;
    }
    next.size = next.present && !next.content ? rand_r(&job->seed) % 20000 : 0;
    if (next.content && !make_master(job, next.content)) {
        return;
    }
    put(&chains[job->set], &touched_by(job, x, y)->change, &disk[job->set][job->z][x][y], &next);
}

static void *work(void *data)
{
    job_t *job = data;

    for (int x = 0; x < job->width; x++) {
        for (int y = 0; y < job->height; y++) {
            work_tile(job, job->x + x, job->y + y);
        }
    }
    return NULL;
}

static void book_job(job_t *job, int64_t now)
{
    const tseed_writer_t writer = {1 + job->set, now};

    for (int i = 0; i < job->touched_count; i++) {
        const touched_t *touched = &job->touched[i];

        assert_int_equal(tseed_book_apply(book, sets[job->set], &touched->page, &touched->change,
                                          job->removes ? NULL : &writer),
                         APR_SUCCESS);
        tseed_book_drop(book, sets[job->set], &touched->page);
    }
    assert_int_equal(tseed_book_share(book, sets[job->set], &job->shared), APR_SUCCESS);
}

/* Several jobs at once, of disjoint columns. 1: the process died. */
static int run_jobs(int64_t now)
{
    job_t jobs[JOBS];

    for (int i = 0; i < JOBS; i++) {
        plan(&jobs[i], i);
        for (int k = 0; k < jobs[i].touched_count; k++) {
            tseed_book_hold(book, sets[jobs[i].set], &jobs[i].touched[k].page);
        }
    }
    for (int i = 0; i < JOBS; i++) {
        for (int k = 0; k < jobs[i].touched_count; k++) {
            prepare(jobs[i].set, &jobs[i].touched[k].page);
        }
    }
    if (crashes()) {
        return 1;
    }
    for (int i = 0; i < JOBS; i++) {
        pthread_create(&jobs[i].thread, NULL, work, &jobs[i]);
    }
    for (int i = 0; i < JOBS; i++) {
        pthread_join(jobs[i].thread, NULL);
    }
    for (int i = 0; i < JOBS; i++) {
        if (crashes()) {
            return 1;
        }
        book_job(&jobs[i], now);
    }
    return 0;
}

/* ---- evictions, sweeps, hits ---- */

static int evict(const tseed_book_page_t *victim)
{
    const int set = (int)victim->booked->number;
    const tile_t none = {0};
    tseed_effect_t change = {0, 0, 0, 0};

    tseed_book_hold(book, victim->booked, &victim->page);
    prepare(set, &victim->page);
    for (int i = 0; i < TSEED_PAGE_TILES; i++) {
        int64_t x = victim->page.x * TSEED_PAGE_SIDE + i % TSEED_PAGE_SIDE;
        int64_t y = victim->page.y * TSEED_PAGE_SIDE + i / TSEED_PAGE_SIDE;

        put(&chains[set], &change, &disk[set][victim->page.z][x][y], &none);
    }
    if (crashes()) {
        return 1;
    }
    assert_int_equal(tseed_book_apply(book, victim->booked, &victim->page, &change, NULL),
                     APR_SUCCESS);
    tseed_book_drop(book, victim->booked, &victim->page);
    return crashes();
}

/* Until a fifth of the limit is free. */
static int make_room(void)
{
    const int64_t target = LIMIT / 5 * 4;
    tseed_book_page_t victims[4];
    size_t count = 1;

    while (count > 0 && tseed_account_used(chains[0].global).bytes > target) {
        count = tseed_book_victims(victims, 4, book, chains[0].global,
                                   dice(2) ? TSEED_POLICY_LRU : TSEED_POLICY_LFU);
        for (size_t i = 0; i < count; i++) {
            if (tseed_book_is_victim(book, &victims[i]) && evict(&victims[i])) {
                return 1;
            }
        }
    }
    return 0;
}

static int has_names(int set, int content)
{
    const tile_t *tiles = &disk[set][0][0][0];

    for (int i = 0; i < LEVELS * SIDE * SIDE; i++) {
        if (tiles[i].present && tiles[i].content == content) {
            return 1;
        }
    }
    return 0;
}

/* Shared files without a name go. */
static void sweep_shared(int set)
{
    for (int content = 1; content <= CONTENTS; content++) {
        const tseed_effect_t file = file_of(content_size(content));
        const tseed_effect_t gone = {0, -1, -file.bytes, -file.allocated};

        if (masters[set][content] && !has_names(set, content)) {
            masters[set][content] = 0;
            atomic_fetch_sub(&on_disk, file.allocated);
            tseed_account_release(&chains[set], (tseed_amount_t){file.allocated, 1});
            assert_int_equal(tseed_book_share(book, sets[set], &gone), APR_SUCCESS);
        }
    }
}

static void hit(int64_t now)
{
    const tseed_page_t page = page_of(dice(LEVELS * PAGES * PAGES));

    tseed_book_hit(book, tseed_page_print(sets[dice(SETS)]->record.print, page.z, page.x, page.y),
                   1 + dice(100), now);
}

/* ---- starting ---- */

static void load_pages(tseed_book_tileset_t *booked)
{
    const tseed_page_t *after = NULL;
    apr_array_header_t *pages;
    tseed_page_t last;

    do {
        assert_int_equal(tseed_books_pages(state, &pages, booked->record.id, after, 5, memory),
                         APR_SUCCESS);
        for (int i = 0; i < pages->nelts; i++) {
            tseed_book_load(book, booked, &APR_ARRAY_IDX(pages, i, tseed_page_record_t));
            last = APR_ARRAY_IDX(pages, i, tseed_page_record_t).page;
        }
        after = &last;
    } while (pages->nelts > 0);
}

/* What may be wrong is counted: pages in doubt, and what is shared. */
static void recount(void)
{
    tseed_book_page_t found;
    tseed_effect_t difference;
    size_t cursor = 0, looks = SIZE_MAX;

    while (tseed_book_next_in_doubt(&found, book, &cursor, &looks)) {
        count_page((int)found.booked->number, &found.page);
    }
    for (int set = 0; set < SETS; set++) {
        const tseed_effect_t shared = walk_shared(set);

        tseed_book_count_shared(&difference, book, sets[set], &shared);
    }
}

static void start(void)
{
    apr_array_header_t *records;
    tseed_account_t *global = tseed_account_create();

    apr_pool_create(&memory, pool);
    book = tseed_book_create(memory);
    assert_int_equal(tseed_state_open(&state, dir, DATABASE_DRIVER, params, memory), APR_SUCCESS);
    assert_int_equal(tseed_books_tilesets(state, &records, memory), APR_SUCCESS);
    assert_int_equal(records->nelts, SETS);
    tseed_account_limit_set(global, (tseed_amount_t){LIMIT, TSEED_NO_LIMIT});
    for (int set = 0; set < SETS; set++) {
        chains[set] = (tseed_chain_t){.layer = tseed_account_create(), .global = global};
        sets[set] = tseed_book_add(book, &APR_ARRAY_IDX(records, set, tseed_tileset_record_t),
                                   &chains[set], 0);
        load_pages(sets[set]);
    }
    recount();
}

static void die(void)
{
    apr_pool_destroy(memory);
    free(chains[0].global);
    for (int set = 0; set < SETS; set++) {
        free(chains[set].layer);
    }
}

/* ---- what must hold ---- */

static void assert_same(const tseed_effect_t *a, const tseed_effect_t *b)
{
    assert_int_equal(a->names, b->names);
    assert_int_equal(a->files, b->files);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->allocated, b->allocated);
}

/* Every page, what is shared, and the accounts. */
static void verify_set(int set, tseed_amount_t *total)
{
    tseed_effect_t sum = {0, 0, 0, 0}, shared = walk_shared(set);
    tseed_amount_t used = tseed_account_used(chains[set].layer);

    for (int i = 0; i < LEVELS * PAGES * PAGES; i++) {
        const tseed_page_t page = page_of(i);
        const tseed_effect_t usage = walk_page(set, &page);
        tseed_book_page_t found = {.usage = {0, 0, 0, 0}};

        tseed_book_page(&found, book, sets[set], &page);
        assert_same(&found.usage, &usage);
        tseed_effect_add(&sum, &usage);
    }
    assert_same(&sets[set]->record.paged, &sum);
    assert_same(&sets[set]->record.shared, &shared);
    assert_int_equal(used.bytes, sum.allocated + shared.allocated);
    assert_int_equal(used.files, sum.files + shared.files);
    total->bytes += used.bytes;
    total->files += used.files;
}

static void verify(void)
{
    tseed_amount_t total = {0, 0}, used = tseed_account_used(chains[0].global);

    for (int set = 0; set < SETS; set++) {
        verify_set(set, &total);
    }
    assert_int_equal(used.bytes, total.bytes);
    assert_int_equal(used.files, total.files);
    assert_int_equal(used.bytes, atomic_load(&on_disk));
    assert_in_range(used.bytes, 0, LIMIT);
    assert_null(tseed_book_validate(book, memory));
}

/* ---- tests ---- */

static tseed_tileset_record_t record_of(int set)
{
    return (tseed_tileset_record_t){.print = UINT64_C(0xfedcba9876543210) + (uint64_t)set,
                                    .key = "topp:states/EPSG:4326/png/default",
                                    .layer = "topp:states",
                                    .gridset = "EPSG:4326",
                                    .format = "image/png",
                                    .parameters = "{\"STYLES\":\"\"}",
                                    .root = "/cache",
                                    .place = "geowebcache\n2x1 4x2",
                                    .complete = 1};
}

static int setup(void **data)
{
    (void)data;
    apr_initialize();
    apr_pool_create(&pool, NULL);
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    params = database_params(pool);
    return mkdtemp(dir) ? tseed_state_open(&state, dir, DATABASE_DRIVER, params, pool) : -1;
}

static int teardown(void **data)
{
    (void)data;
    tseed_state_close(state);
    int rv = system(apr_pstrcat(pool, "rm -r ", dir, NULL));

    apr_pool_destroy(pool);
    return rv;
}

static void step(int64_t now)
{
    int died;

    switch (dice(8)) {
    case 0:
        died = make_room();
        break;
    case 1:
        save(TSEED_SAVE_ALL);
        died = crashes();
        break;
    case 2:
        tseed_book_sweep(book);
        hit(now);
        died = 0;
        break;
    case 3:
        sweep_shared(dice(SETS));
        died = crashes();
        break;
    default:
        died = run_jobs(now);
    }
    if (died || dice(100) == 0) {
        die();
        start();
        crash_after = dice(60);
        verify();
    }
}

static void test_books__agree_with_the_disk_whatever_happens(void **data)
{
    enum { STEPS = 700 };

    (void)data;
    for (int set = 0; set < SETS; set++) {
        tseed_tileset_record_t record = record_of(set);

        assert_int_equal(tseed_books_add(state, &record), APR_SUCCESS);
    }
    tseed_state_close(state);
    seed = getenv("TSEED_TEST_SEED") ? (unsigned)atoi(getenv("TSEED_TEST_SEED")) : 20261121;
    crash_after = 40;
    start();
    for (int i = 0; i < STEPS; i++) {
        step(NOW + i);
        if (i % 50 == 0) {
            verify();
        }
    }
    assert_in_range(atomic_load(&on_disk), LIMIT / 5, LIMIT); /* it was about something */
    save(TSEED_SAVE_ALL);
    die();
    start();
    verify();
    die();
    assert_int_equal(tseed_state_open(&state, dir, DATABASE_DRIVER, params, pool), APR_SUCCESS);
}

static void test_books__give_a_tile_set_back_as_it_was(void **data)
{
    tseed_tileset_record_t record = record_of(0), other = record_of(1);
    const tseed_tileset_record_t *back;
    apr_array_header_t *records;

    (void)data;
    assert_int_equal(tseed_books_add(state, &record), APR_SUCCESS);
    assert_int_equal(tseed_books_add(state, &other), APR_SUCCESS);
    assert_int_equal(record.id, 1);
    assert_int_equal(other.id, 2);
    record.pages = 3;
    record.paged = (tseed_effect_t){4, 5, INT64_C(6) << 40, INT64_C(7) << 40};
    record.shared = (tseed_effect_t){0, 8, 9, 10};
    record.detached = (tseed_effect_t){11, 12, 13, 14};
    record.doubtful = UINT64_MAX;
    record.complete = 0;
    assert_int_equal(tseed_books_save(state, &record), APR_SUCCESS);
    assert_int_equal(tseed_books_tilesets(state, &records, pool), APR_SUCCESS);
    assert_int_equal(records->nelts, 2);
    back = &APR_ARRAY_IDX(records, 0, tseed_tileset_record_t);
    assert_true(back->print == record.print);
    assert_string_equal(back->key, record.key);
    assert_string_equal(back->layer, record.layer);
    assert_string_equal(back->gridset, record.gridset);
    assert_string_equal(back->format, record.format);
    assert_string_equal(back->parameters, record.parameters);
    assert_string_equal(back->root, record.root);
    assert_int_equal(back->pages, 3);
    assert_same(&back->paged, &record.paged);
    assert_same(&back->shared, &record.shared);
    assert_same(&back->detached, &record.detached);
    assert_true(back->doubtful == UINT64_MAX);
    assert_int_equal(back->complete, 0);
    assert_int_equal(APR_ARRAY_IDX(records, 1, tseed_tileset_record_t).complete, 1);
}

static void save_page(int64_t tileset, tseed_page_t page, int64_t heat)
{
    const tseed_page_record_t record = {.tileset = tileset,
                                        .page = page,
                                        .usage = {4, 3, INT64_C(5) << 40, INT64_C(6) << 40},
                                        .accessed = NOW,
                                        .heat = heat,
                                        .dirty = 1};

    assert_int_equal(tseed_books_page_save(state, &record), APR_SUCCESS);
}

static apr_array_header_t *pages_of(int64_t tileset, const tseed_page_t *after, int64_t most)
{
    apr_array_header_t *pages;

    assert_int_equal(tseed_books_pages(state, &pages, tileset, after, most, pool), APR_SUCCESS);
    return pages;
}

static void test_books__give_pages_back_in_order(void **data)
{
    const tseed_page_t places[] = {{0, 0, 0}, {3, 1, 9}, {3, 2, 0}, {3, 2, INT64_C(1) << 40}};
    apr_array_header_t *pages;
    const tseed_page_record_t *record;

    (void)data;
    for (int i = 3; i >= 0; i--) {
        save_page(7, places[i], UINT32_MAX);
        save_page(8, places[i], 1);
    }
    save_page(7, places[2], 77);
    pages = pages_of(7, NULL, 3);
    assert_int_equal(pages->nelts, 3);
    record = &APR_ARRAY_IDX(pages, 2, tseed_page_record_t);
    assert_int_equal(record->tileset, 7);
    assert_int_equal(record->page.z, 3);
    assert_int_equal(record->page.x, 2);
    assert_int_equal(record->page.y, 0);
    assert_same(&record->usage, &(tseed_effect_t){4, 3, INT64_C(5) << 40, INT64_C(6) << 40});
    assert_int_equal(record->accessed, NOW);
    assert_int_equal(record->heat, 77);
    assert_int_equal(record->dirty, 1);
    pages = pages_of(7, &record->page, 3);
    assert_int_equal(pages->nelts, 1);
    assert_int_equal(APR_ARRAY_IDX(pages, 0, tseed_page_record_t).page.y, INT64_C(1) << 40);
    assert_int_equal(APR_ARRAY_IDX(pages, 0, tseed_page_record_t).heat, UINT32_MAX);
    assert_int_equal(tseed_books_page_delete(state, &APR_ARRAY_IDX(pages, 0, tseed_page_record_t)),
                     APR_SUCCESS);
    assert_int_equal(pages_of(7, NULL, 9)->nelts, 3);
}

static void check_level(const tseed_usage_level_t *level, int64_t tileset, int z, int64_t pages)
{
    assert_int_equal(level->tileset, tileset);
    assert_int_equal(level->z, z);
    assert_same(&level->usage, &(tseed_effect_t){4 * pages, 3 * pages, (INT64_C(5) << 40) * pages,
                                                 (INT64_C(6) << 40) * pages});
}

static void test_books__add_pages_up_by_level(void **data)
{
    const tseed_page_t places[] = {{0, 0, 0}, {3, 1, 9}, {3, 2, 0}, {3, 2, INT64_C(1) << 40}};
    apr_array_header_t *levels;

    (void)data;
    assert_int_equal(tseed_books_levels(state, &levels, 0, pool), APR_SUCCESS);
    assert_int_equal(levels->nelts, 0);
    for (int i = 0; i < 4; i++) {
        save_page(7, places[i], 1);
    }
    save_page(8, places[1], 1);
    assert_int_equal(tseed_books_levels(state, &levels, 0, pool), APR_SUCCESS);
    assert_int_equal(levels->nelts, 3);
    check_level(&APR_ARRAY_IDX(levels, 0, tseed_usage_level_t), 7, 0, 1);
    check_level(&APR_ARRAY_IDX(levels, 1, tseed_usage_level_t), 7, 3, 3);
    check_level(&APR_ARRAY_IDX(levels, 2, tseed_usage_level_t), 8, 3, 1);
    assert_int_equal(tseed_books_levels(state, &levels, 8, pool), APR_SUCCESS);
    assert_int_equal(levels->nelts, 1);
    check_level(&APR_ARRAY_IDX(levels, 0, tseed_usage_level_t), 8, 3, 1);
}

static void test_books__forget_what_is_recorded_anew(void **data)
{
    tseed_tileset_record_t first = record_of(0), other = record_of(1);
    int64_t before;

    (void)data;
    assert_int_equal(tseed_books_add(state, &first), APR_SUCCESS);
    assert_int_equal(tseed_books_add(state, &other), APR_SUCCESS);
    save_page(first.id, (tseed_page_t){3, 1, 9}, 1);
    save_page(other.id, (tseed_page_t){3, 1, 9}, 1);
    before = first.id;
    assert_int_equal(tseed_books_add(state, &first), APR_SUCCESS);
    assert_int_not_equal(first.id, before);
    assert_int_equal(pages_of(before, NULL, 9)->nelts, 0);
    assert_int_equal(pages_of(other.id, NULL, 9)->nelts, 1);
}

static void test_books__say_when_a_tile_set_is_not_there(void **data)
{
    tseed_tileset_record_t record = record_of(0);

    (void)data;
    record.id = 5;
    assert_int_equal(tseed_books_save(state, &record), APR_NOTFOUND);
}

static void test_books__keep_notes(void **data)
{
    const char *value;

    (void)data;
    assert_int_equal(tseed_books_note_get(state, &value, "grace", pool), APR_NOTFOUND);
    assert_int_equal(tseed_books_note_set(state, "grace", "one"), APR_SUCCESS);
    assert_int_equal(tseed_books_note_set(state, "other", "two"), APR_SUCCESS);
    assert_int_equal(tseed_books_note_set(state, "grace", "it's 100 %"), APR_SUCCESS);
    assert_int_equal(tseed_books_note_get(state, &value, "grace", pool), APR_SUCCESS);
    assert_string_equal(value, "it's 100 %");
}

static const char *origins_of(int64_t tileset, tseed_page_t page)
{
    const char *text;

    assert_int_equal(tseed_origin_rows_load(state, &text, tileset, &page, pool), APR_SUCCESS);
    return text;
}

static void test_books__keep_origins_until_they_are_in_doubt(void **data)
{
    const tseed_page_t places[] = {{3, 4, 4}, {3, 3, 4}, {3, 4, 3},
                                   {3, 3, 3}, {3, 5, 4}, {2, 0, 0}};

    (void)data;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(tseed_origin_rows_save(state, 7, &places[i], "old"), APR_SUCCESS);
        assert_int_equal(tseed_origin_rows_save(state, 7, &places[i], "new"), APR_SUCCESS);
    }
    assert_string_equal(origins_of(7, places[0]), "new");
    assert_string_equal(origins_of(8, places[0]), "");
    assert_int_equal(tseed_origin_rows_doubt(state, 7, &places[0]), APR_SUCCESS);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(origins_of(7, places[i]), "");
    }
    assert_string_equal(origins_of(7, places[4]), "new");
    assert_int_equal(tseed_origin_rows_doubt_levels(state, 7, 1 << 3), APR_SUCCESS);
    assert_string_equal(origins_of(7, places[4]), "");
    assert_string_equal(origins_of(7, places[5]), "new");
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_books__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(give_a_tile_set_back_as_it_was),       TEST(give_pages_back_in_order),
        TEST(say_when_a_tile_set_is_not_there),     TEST(keep_notes),
        TEST(keep_origins_until_they_are_in_doubt), TEST(add_pages_up_by_level),
        TEST(forget_what_is_recorded_anew),         TEST(agree_with_the_disk_whatever_happens),
    };
    const int code = database_begin();

    return code >= 0 ? code : database_end(cmocka_run_group_tests(tests, NULL, NULL));
}
