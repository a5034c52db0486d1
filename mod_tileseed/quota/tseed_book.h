/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The book: what each page of each tile set holds, how it is used, and which page may go first.
 *
 * Owned by the seeder's main thread; nothing here locks or waits. The book knows no database: the
 * caller asks what must be saved, writes it in one transaction, and tells the book when that is
 * committed. Seconds are seconds since 1970.
 *
 * A page is changed on the disk under a hold, and after its mark is durable:
 *
 *      hold ──► mark committed ──► pin ──► charge, write or remove, release
 *           ──► apply ──► unpin ──► drop
 *
 * So after a crash the marked pages are in doubt, and no others. The files of a page in doubt are
 * counted on the disk before the page is used: its only holder counts them and hands the result in
 * before anything else happens to the page. Shared files have no marks: they are counted at every
 * start. A mark outlasts the last hold for a while, so that a task that comes back to a page row by
 * row does not wait for a commit each time.
 *
 * Each account holds the sums of its tile sets in the book, in files and allocated bytes, and what
 * is reserved just now. A caller that books a change has charged and released before. The book
 * corrects the accounts when it finds a difference by itself (load, count, a wrong change).
 *
 * Sentences go into the pool that a call takes.
 */
#ifndef TSEED_BOOK_H
#define TSEED_BOOK_H

#include <apr_errno.h>
#include <stddef.h>

#include "layer/tseed_page.h"
#include "protocol/tseed_coverage.h"
#include "protocol/tseed_quota_config.h"
#include "quota/tseed_account.h"
#include "quota/tseed_heat.h"

typedef struct tseed_book_t tseed_book_t;

/* A tile set in the book, which lives until it is removed. The main thread reads it; workers may
 * use the chain, which stays the same. */
typedef struct {
    tseed_tileset_record_t record; /* the sums as of now */
    tseed_chain_t chain;
    uint64_t kept;    /* bit z: nothing of that level is ever a victim */
    int spared;       /* nothing is one now: its files can't be removed; may be set from outside */
    int shared_due;   /* its shared files were not counted since the start, */
    int sweep_due;    /* and are to be swept; likewise */
    int unread;       /* its last walk has failed; likewise */
    int keeps_empty;  /* pages that become empty keep their mark as others do; likewise */
    int is_unsafe;    /* the next sweep leaves its marks; likewise */
    int loaded;       /* all of its pages are in the book; likewise */
    uint64_t marked;  /* those bits of record.doubtful that are durable */
    int64_t in_doubt; /* pages to be counted */
    int64_t entries;  /* pages that the book has, empty ones too */
    unsigned number;  /* 0, 1, 2, …; that of a removed tile set is given again */
    int is_open;      /* it has a value that the filters do not list; set from outside */
    int is_leaving;   /* all its pages are to be removed: tseed_book_set_leaving */
    int is_late;      /* the recount has left it out, as its store hangs; set from outside */
    uint64_t maker;   /* which client's request has made it; 0: unknown; likewise */
    char *texts;      /* private to the quota room: those of the record */
    uint32_t *trees;  /* private to the quota room: by level; NULL until there is a page */
    int recipe_changed; /* since it was saved, be it back and forth */
    int changed;        /* its row must be saved; set it when `record` was changed from outside */
    apr_time_t count_after; /* its last count has failed: the next one not before; likewise */
} tseed_book_tileset_t;

/* A page as the book has it. */
typedef struct {
    tseed_book_tileset_t *booked;
    tseed_page_t page;
    tseed_effect_t usage;
    int64_t accessed; /* 0: never */
    int64_t written;  /* no tile of it is older; 0: unknown */
    tseed_heat_t heat;
    int writing;  /* a running task was the last to write there */
    int held;     /* jobs are under way there, */
    int pinned;   /* and just now a thread is at work: it is no victim */
    int in_doubt; /* to be counted before use */
} tseed_book_page_t;

/* An empty one, in `pool`; its pages lie on the heap and go with the pool. */
tseed_book_t *tseed_book_create(apr_pool_t *pool);

/* ---- tile sets ---- */

/* Puts a tile set in, and copies its texts. The sum of its pages begins at zero, whatever the
 * record says, and grows with the pages that are loaded. Charges shared and detached files to the
 * accounts. */
tseed_book_tileset_t *tseed_book_add(tseed_book_t *book, const tseed_tileset_record_t *record,
                                     const tseed_chain_t *chain, uint64_t kept);

/* Whether the book has nothing of a tile set, and nothing is due that is about it. */
int tseed_book_is_bare(const tseed_book_tileset_t *booked);

/* Whether a tile set has files: tiles, shared files, or files that were renamed away. */
int tseed_book_has_files(const tseed_book_tileset_t *booked);

/* Takes out a bare tile set, to which nothing points any more. */
void tseed_book_remove(tseed_book_t *book, tseed_book_tileset_t *booked);

/* By tseed_tileset_print; NULL: there is none. */
tseed_book_tileset_t *tseed_book_find(const tseed_book_t *book, uint64_t print);

/* How many there are. */
unsigned tseed_book_tilesets(const tseed_book_t *book);

/* Each finds the first tile set of its kind whose number is *number or higher, sets *number to that
 * number and returns the tile set. NULL: there is none. To go on the caller adds 1 to *number. The
 * kinds: all; not complete; not all pages loaded; with a row to be saved; with shared files to be
 * counted or swept; with files below `root` that were renamed away. */
tseed_book_tileset_t *tseed_book_next(const tseed_book_t *book, unsigned *number);
tseed_book_tileset_t *tseed_book_next_incomplete(const tseed_book_t *book, unsigned *number);
tseed_book_tileset_t *tseed_book_next_unloaded(const tseed_book_t *book, unsigned *number);
tseed_book_tileset_t *tseed_book_next_changed(const tseed_book_t *book, unsigned *number);
tseed_book_tileset_t *tseed_book_next_due(const tseed_book_t *book, unsigned *number);
tseed_book_tileset_t *tseed_book_next_detached(const tseed_book_t *book, unsigned *number,
                                               const char *root);

/* Whether every tile set is complete, or its last walk has failed. */
int tseed_book_is_known(const tseed_book_t *book);

/* Takes `spared` from all tile sets: their files may be removed again. */
void tseed_book_spare_none(tseed_book_t *book);

/* Sets `shared_due` in the tile sets that have shared files or pages in doubt, and clears it in all
 * others. Returns how many have it. */
unsigned tseed_book_make_shared_due(tseed_book_t *book);

/* Says that the book has everything of a tile set now. */
void tseed_book_complete(tseed_book_t *book, tseed_book_tileset_t *booked);

/* Sums over all tile sets, in constant time: pages, pages in doubt, tile sets not complete. */
int64_t tseed_book_pages(const tseed_book_t *book);
int64_t tseed_book_in_doubt(const tseed_book_t *book);
unsigned tseed_book_incomplete(const tseed_book_t *book);

/* Makes room for so many pages, which the caller is about to load. */
void tseed_book_expect(tseed_book_t *book, int64_t pages);

/* Puts in a page that the database has; once each. The accounts get it. */
void tseed_book_load(tseed_book_t *book, tseed_book_tileset_t *booked,
                     const tseed_page_record_t *record);

/* ---- changing a page ---- */

/* Obstacles to changing a page. */
enum {
    TSEED_PAGE_UNMARKED = 1, /* its mark is not committed yet; the next save brings it */
    TSEED_PAGE_IN_DOUBT = 2  /* it must be counted first */
};

/* hold: holds a page; drop ends one hold. Eviction takes a held page after all others. hold and ask
 * return what stands in the way of changing the page (0: nothing); ask again after a commit or a
 * count. A page that is not in the book is empty; it is in doubt if its tile set is not complete.
 */
unsigned tseed_book_hold(tseed_book_t *book, tseed_book_tileset_t *booked,
                         const tseed_page_t *page);
unsigned tseed_book_ask(const tseed_book_t *book, const tseed_book_tileset_t *booked,
                        const tseed_page_t *page);
void tseed_book_drop(tseed_book_t *book, tseed_book_tileset_t *booked, const tseed_page_t *page);

/* A thread begins or ends to work in a page that is held. A pinned page is no victim. A job that
 * waits for anything has no pins. */
void tseed_book_pin(tseed_book_t *book, tseed_book_tileset_t *booked, const tseed_page_t *page);
void tseed_book_unpin(tseed_book_t *book, tseed_book_tileset_t *booked, const tseed_page_t *page);
/* Whether there are pages which are pinned. */
int tseed_book_has_pins(const tseed_book_t *book);

/* The task that has written, and when. The page counts as used once. */
typedef struct {
    int64_t task;
    int64_t now;
} tseed_writer_t;

/* Books a change of a page; `writer` is NULL for a change that only removed. A change that would
 * leave less than nothing, or more than a page can hold, is not booked: the page is in doubt then,
 * the accounts are as if nothing had been charged, and the call returns APR_EINVAL. Of a page that
 * was in doubt before no change is booked either, and the call succeeds. */
apr_status_t tseed_book_apply(tseed_book_t *book, tseed_book_tileset_t *booked,
                              const tseed_page_t *page, const tseed_effect_t *change,
                              const tseed_writer_t *writer);

/* Books the result of counting a page. *difference: the result less what the book had. `oldest`: no
 * tile was found that is older; 0: unknown. */
void tseed_book_count(tseed_effect_t *difference, tseed_book_t *book, tseed_book_tileset_t *booked,
                      const tseed_page_t *page, const tseed_effect_t *counted, int64_t oldest);

/* Notes that a task has made `tiles` more tiles of a page again, none of them twice, and none of
 * them before `since`. A page is as old as its oldest tile. So a page becomes younger only when the
 * book has seen one task make all tiles of the page again, with none removed meanwhile. After a
 * start of the seeder the book counts the task's tiles from 0 again. */
void tseed_book_renew(tseed_book_t *book, tseed_book_tileset_t *booked, const tseed_page_t *page,
                      int64_t task, int64_t tiles, int64_t since);

/* Counts reads of a page by its tseed_page_print; 0: it is not in the book. */
int tseed_book_hit(tseed_book_t *book, uint64_t page_print, int64_t reads, int64_t now);

/* Says that a task begins or ends to write. Eviction takes pages that running tasks have written
 * after others. Tasks whose numbers differ by 65,535 are taken for one. */
void tseed_book_writing(tseed_book_t *book, int64_t task, int running);

/* ---- changing a tile set ---- */

/* Books a change of the shared files; APR_EINVAL as for apply. */
apr_status_t tseed_book_share(tseed_book_t *book, tseed_book_tileset_t *booked,
                              const tseed_effect_t *change);

/* Books what the shared files were counted to be. */
void tseed_book_count_shared(tseed_effect_t *difference, tseed_book_t *book,
                             tseed_book_tileset_t *booked, const tseed_effect_t *counted);

/* Marks whole levels (bits) instead of single pages, or takes such marks away. A mark is durable
 * when booked->marked has its bit; after a crash all pages of the level are in doubt. Marks of
 * levels do not replace the marks of single pages. */
void tseed_book_mark_levels(tseed_book_tileset_t *booked, uint64_t levels);
void tseed_book_unmark_levels(tseed_book_tileset_t *booked, uint64_t levels);

/* Puts all pages of a tile set in doubt now; NULL: of all tile sets. */
void tseed_book_doubt_all(tseed_book_t *book, const tseed_book_tileset_t *booked);

/* Sums the usage of the pages of a level. One pass over all pages. */
void tseed_book_level(tseed_effect_t *sum, const tseed_book_t *book,
                      const tseed_book_tileset_t *booked, int z);

/* Books that a level was renamed away: *moved, the usage of all its pages, goes to
 * record.detached. No job may be at work in these pages. */
void tseed_book_detach(tseed_effect_t *moved, tseed_book_t *book, tseed_book_tileset_t *booked,
                       int z);

/* Books that an earlier seeder has renamed a level away and died before it could book that. The
 * pages held `usage` then; now they are in doubt. */
void tseed_book_inherit(tseed_book_t *book, tseed_book_tileset_t *booked, int z,
                        const tseed_effect_t *usage);

/* Books that *gone of the files that were renamed away is removed; NULL: all of them. The accounts
 * are released. */
void tseed_book_purge(tseed_book_t *book, tseed_book_tileset_t *booked, const tseed_effect_t *gone);

/* The only tile set that has files below a store root which were renamed away; NULL: there is none,
 * or there are several. */
tseed_book_tileset_t *tseed_book_only_detached(const tseed_book_t *book, const char *root);

/* All files below a store root that were renamed away are gone. The accounts are released. */
void tseed_book_purge_root(tseed_book_t *book, const char *root);

/* Sets `sweep_due` in the tile sets of a store root that have shared files. Returns how many did
 * not have it before. */
unsigned tseed_book_sweep_root(tseed_book_t *book, const char *root);

/* ---- saving ---- */

typedef enum {
    TSEED_SAVE_MARKS, /* pages whose mark somebody waits for */
    TSEED_SAVE_ALL    /* whatever has changed */
} tseed_save_t;

/* Gives the pages to be saved, one a call; *cursor is 0 at first. *gone: the page's row is to be
 * deleted. Returns 0 behind the last page. The caller saves the rows of all changed tile sets, too.
 * Between the first of these calls and tseed_book_saved it calls nothing else. */
int tseed_book_change(const tseed_book_t *book, tseed_page_record_t *record, int *gone,
                      tseed_save_t save, size_t *cursor);

/* Says that all changes that the book gave are committed. After a failure do not call it: the book
 * gives them again. */
void tseed_book_saved(tseed_book_t *book, tseed_save_t save);

/* Says that the database has lost everything. No mark is durable any more, and the book gives
 * everything to be saved anew, with the numbers that booked->record.id has by then. */
void tseed_book_resave(tseed_book_t *book);

/* How many pages tseed_book_change would give; in constant time. */
size_t tseed_book_changes(const tseed_book_t *book, tseed_save_t save);

/* Takes the marks from pages that no job has held between the last two calls; the next
 * TSEED_SAVE_ALL makes that durable. Call it every half minute or so. Returns whether there were
 * marks. */
int tseed_book_sweep(tseed_book_t *book);

/* ---- looking ---- */

/* One page; 0: it is not in the book. */
int tseed_book_page(tseed_book_page_t *found, const tseed_book_t *book,
                    const tseed_book_tileset_t *booked, const tseed_page_t *page);

/* Adds up what some rows of a window of a level hold, in `cells`, row by row from row `row` on. The
 * time it takes is as the number of these cells, however many pages they have. */
void tseed_book_cells(tseed_cell_t *cells, const tseed_book_t *book,
                      const tseed_book_tileset_t *booked, const tseed_window_t *window, int row,
                      int rows);

/* Gives all pages in doubt, one a call, in no order; *cursor is 0 at first. The book may change
 * between calls; then a new page may be missed. A call looks at *looks pages at most, and lowers
 * *looks by the pages that it has looked at. Returns 0 behind the last page, or when *looks is used
 * up: then there may be more pages. */
int tseed_book_next_in_doubt(tseed_book_page_t *found, const tseed_book_t *book, size_t *cursor,
                             size_t *looks);

/* Chooses the pages of `account` that go first: by LRU the least recently used pages, by LFU the
 * coldest pages and, among equals, the least recently used. Behind all these come pages of links
 * alone where less than one file for each page is shared, then pages that running tasks have
 * written, and last pages that jobs hold. Never chosen are pinned pages, pages of a kept level,
 * pages of a tile set that is spared or not complete, and pages of links whose tile set has no
 * charged file. Fills at most `most` victims (up to TSEED_VICTIMS_MAX), the first to go first, and
 * returns how many. One pass over all pages. */
#define TSEED_VICTIMS_MAX 4096
size_t tseed_book_victims(tseed_book_page_t *victims, size_t most, tseed_book_t *book,
                          const tseed_account_t *account, tseed_policy_t policy);

/* Of the tile sets that `is_chosen` takes, the one whose last use is the longest ago; NULL: it
 * takes none. One pass over all pages. */
tseed_book_tileset_t *tseed_book_least_used(const tseed_book_t *book,
                                            int (*is_chosen)(const tseed_book_tileset_t *booked,
                                                             const void *baton),
                                            const void *baton);

/* All pages of a tile set are to be removed, or are to stay. */
void tseed_book_set_leaving(tseed_book_t *book, tseed_book_tileset_t *booked, int is_leaving);

/* Whether a tile set is leaving. */
int tseed_book_has_leavers(const tseed_book_t *book);

/* Gives up to `most` pages of tile sets that are leaving and not spared, without pages that jobs
 * hold. Returns how many; fewer than `most`: there are no more now. Goes on where the last call has
 * ended, so that each page is looked at once a round. */
size_t tseed_book_leavers(tseed_book_page_t *leavers, size_t most, tseed_book_t *book);

/* Whether a victim is as it was when it was chosen: there, not pinned, not used since. */
int tseed_book_is_victim(const tseed_book_t *book, const tseed_book_page_t *victim);

/* Adds everything up anew. NULL or a sentence that says what does not agree. */
const char *tseed_book_validate(const tseed_book_t *book, apr_pool_t *pool);

#endif
