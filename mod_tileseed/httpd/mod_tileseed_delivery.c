/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* From the file of a tile to the client: whether the client may have it, conditions, and what is
 * made of a tile that is missing.
 *
 * The file is delivered as httpd's own handler would, with one difference: we ask for size and time
 * after we have opened the file. A seed may rename another tile over the name in between.
 */
#include "mod_tileseed_delivery.h"

#include <apr_date.h>
#include <apr_file_info.h>
#include <apr_portable.h>
#include <apr_strings.h>
#include <fcntl.h>
#include <httpd.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <util_filter.h>

#include "base/tseed_clock.h"
#include "base/tseed_digest.h"
#include "board/tseed_hits.h"
#include "image/tseed_cutter.h"
#include "mod_tileseed.h"
#include "mod_tileseed_outcome.h"
#include "mod_tileseed_reply.h"
#include "mod_tileseed_supervise.h"
#include "mod_tileseed_wait.h"
#include "mod_tileseed_wanted.h"
#include "work/tseed_miss.h"
#include "store/tseed_atlas.h"
#include "store/tseed_store.h"

APLOG_USE_MODULE(tileseed);

/* ---- access to a tile that was not there when httpd looked ----
 *
 * Before the handler runs, httpd walks down to the request's file and applies the <Directory>
 * sections on the way. If httpd follows symbolic links, it believes mod_tileseed_tiles.c that the
 * file exists, and applies all sections. If httpd does not follow links, it looks at each directory
 * and stops at the first missing one: the sections of the directories below do not apply. When the
 * tile has been stored all directories exist. So a subrequest for the same address is looked up
 * then, to which all sections apply.
 */

/* Whether httpd's walk came as far as the file. httpd keeps the path without doubled slashes. */
static int was_walked(const request_rec *r, const char *path)
{
    char *merged;

    return strcmp(r->filename, path) == 0 ||
           (apr_filepath_merge(&merged, NULL, path, APR_FILEPATH_NOTRELATIVE, r->pool) ==
                APR_SUCCESS &&
            strcmp(r->filename, merged) == 0);
}

static const char *address_of(const request_rec *r)
{
    return apr_pstrcat(r->pool, ap_os_escape_path(r->pool, r->uri, 1), r->args ? "?" : NULL,
                       r->args, NULL);
}

/* Whether the client may see the file at `path`, which was made while the request waited. Returns
 * OK, the status with which httpd refuses, or HTTP_NOT_FOUND when httpd still finds no directory of
 * the file. From now on the <Directory> sections of the file decide about the answer's headers.
 * Request thread. */
static int judge_again(request_rec *r, const char *path)
{
    request_rec *again;

    if (was_walked(r, path)) {
        return OK;
    }
    again = ap_sub_req_method_uri("GET", address_of(r), r, NULL);
    if (again->status != HTTP_OK) {
        r->err_headers_out = apr_table_overlay(r->pool, r->err_headers_out, again->err_headers_out);
        return again->status;
    }
    if (!was_walked(again, path)) {
        return HTTP_NOT_FOUND;
    }
    r->per_dir_config = again->per_dir_config; /* the subrequest lives as long as the request */
    return OK;
}

#define ASKS_MOST 3

/* Cache-Control of a blank tile: the seed that makes the real tile may be under way. */
#define BLANK_CACHE_CONTROL "max-age=60"
#define BLANK_AGE           apr_time_from_sec(60)

/* And with one that the store did not take, which costs the upstream a request each time. */
#define UNSTORED_CACHE_CONTROL "max-age=60"
#define UNSTORED_AGE           apr_time_from_sec(60)

/* Within the second of its time, which is all that HTTP tells, a file may still be replaced. */
#define SETTLED apr_time_from_sec(2)

/* Bytes of a tile that is read, not mapped. */
#define SMALL 32768

/* No tile is longer: that of an encoder that fails to compress, twice, and what is around it. */
#define BYTES_A_PIXEL 16
#define BYTES_MORE    65536

static const tseed_dir_conf_t *dir_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &tileseed_module);
}

/* ---- conditions ---- */

static int is_settled(const request_rec *r)
{
    return r->finfo.mtime <= r->request_time - SETTLED;
}

/* Whether the tile is one of one colour: a link to a file that may be older than the tile that the
 * link has replaced. The file's time says nothing of the tile. */
static int is_link(const request_rec *r)
{
    return (r->finfo.valid & APR_FINFO_NLINK) && r->finfo.nlink > 1;
}

/* Forgets the conditions by time that a tile's file can't answer. A file may replace a newer one:
 * when a cache is copied or restored, tiles bring their times along. So a client has the present
 * tile only if it names the very second of a file that is settled. RFC 9110 13.1.3 leaves that
 * choice to a server. ETags are not concerned. */
static void drop_conditions_by_time(request_rec *r)
{
    const char *since = apr_table_get(r->headers_in, "If-Modified-Since");
    const char *range = apr_table_get(r->headers_in, "If-Range");

    if (since && !(!is_link(r) && is_settled(r) &&
                   apr_date_parse_http(since) == apr_time_from_sec(apr_time_sec(r->finfo.mtime)))) {
        apr_table_unset(r->headers_in, "If-Modified-Since");
    }
    if (is_link(r) || !is_settled(r)) {
        apr_table_unset(r->headers_in, "If-Unmodified-Since");
        if (range && !strchr(range, '"')) {
            apr_table_unset(r->headers_in, "Range");
        }
    }
}

/* ---- from file to client ---- */

/* `begin`: of a tile, PNG or JPEG, whose format leaves open which. */
static void set_type(request_rec *r, const tseed_wanted_t *wanted, const char *begin)
{
    const char *type = wanted->served->tileset.format->content_type;

    r->content_encoding = NULL; /* mod_mime may have seen one in a layer's name */
    r->content_languages = NULL;
    ap_set_content_type(r, type ? type : *begin == '\x89' ? "image/png" : "image/jpeg");
    apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff");
}

static int pass(request_rec *r, apr_bucket_brigade *brigade)
{
    apr_status_t rv;

    APR_BRIGADE_INSERT_TAIL(brigade, apr_bucket_eos_create(r->connection->bucket_alloc));
    rv = ap_pass_brigade(r->output_filters, brigade);
    if (rv == APR_SUCCESS || r->status != HTTP_OK || r->connection->aborted) {
        return OK;
    }
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, rv, r, "a tile could not be sent");
    return AP_FILTER_ERROR;
}

/* mod_expires keeps away from answers that have Expires, and adds to Cache-Control of others. */
static void set_caching(request_rec *r, const char *cache_control, apr_interval_time_t age)
{
    char *date = apr_palloc(r->pool, APR_RFC822_DATE_LEN);

    apr_rfc822_date(date, r->request_time + age);
    apr_table_setn(r->headers_out, "Cache-Control", cache_control);
    apr_table_setn(r->headers_out, "Expires", date);
}

/* A tile that is in memory, and will be as long as the request. */
static int send_bytes(request_rec *r, const tseed_wanted_t *wanted, const char *data,
                      apr_size_t length)
{
    apr_bucket_alloc_t *alloc = r->connection->bucket_alloc;
    apr_bucket_brigade *brigade = apr_brigade_create(r->pool, alloc);

    set_type(r, wanted, data);
    ap_set_content_length(r, (apr_off_t)length);
    APR_BRIGADE_INSERT_TAIL(brigade, apr_bucket_pool_create(data, length, r->pool, alloc));
    return pass(r, brigade);
}

/* Leaves the file's own position alone. */
static void read_begin(char *begin, apr_file_t *file)
{
    apr_os_file_t descriptor;

    if (apr_os_file_get(&descriptor, file) != APR_SUCCESS || pread(descriptor, begin, 1, 0) != 1) {
        *begin = 0;
    }
}

static void count(uint64_t page)
{
    tseed_board_t *board = tseed_supervise_board();

    if (board) {
        tseed_hits_count(board, page);
    }
}

static void tell_time(request_rec *r, apr_time_t time)
{
    char *date = apr_palloc(r->pool, APR_RFC822_DATE_LEN);

    apr_rfc822_date(date, time);
    apr_table_setn(r->headers_out, "Last-Modified", date);
}

/* The Last-Modified of a file that is not settled: a second before the file's own time, and before
 * the answer's Date, which is the request's time (RFC 9110 8.8.2). So a client that asks by it gets
 * the file that replaces this one. */
static apr_time_t earlier_time(const request_rec *r)
{
    return (r->finfo.mtime < r->request_time ? r->finfo.mtime : r->request_time) - APR_USEC_PER_SEC;
}

/* Shared files that were made in one tick of the file system's clock may be alike in all that
 * httpd makes the tag of: size and time. */
static void tell_tag(request_rec *r)
{
    const char *tag;

    ap_set_etag(r);
    tag = apr_table_get(r->headers_out, "ETag");
    if (tag && is_link(r)) {
        apr_table_setn(r->headers_out, "ETag",
                       apr_psprintf(r->pool, "%.*s-%" APR_UINT64_T_HEX_FMT "\"",
                                    (int)strlen(tag) - 1, tag, (apr_uint64_t)r->finfo.inode));
    }
}

/* Tells the ETag, and the time where the file has one. */
static int judge_conditions(request_rec *r)
{
    r->mtime = r->finfo.mtime;
    tell_tag(r);
    if (!is_link(r)) {
        tell_time(r, is_settled(r) ? r->mtime : earlier_time(r));
    }
    drop_conditions_by_time(r);
    return ap_meets_conditions(r);
}

/* The tile in memory: reading a small one takes less time than mapping it. NULL: it is large, or
 * httpd sends it without reading it, or it can't be read. */
static char *read_small(request_rec *r, apr_file_t *file)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    const apr_size_t size = (apr_size_t)r->finfo.size;
    char *data;

    if (r->finfo.size > SMALL || r->header_only || AP_SENDFILE_ENABLED(core->enable_sendfile)) {
        return NULL;
    }
    data = apr_palloc(r->pool, size);
    return apr_file_read_full(file, data, size, NULL) == APR_SUCCESS ? data : NULL;
}

static void insert_tile(apr_bucket_brigade *brigade, request_rec *r, apr_file_t *file)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    const char *data = read_small(r, file);
    apr_bucket *bucket;

    if (data) {
        apr_file_close(file);
        APR_BRIGADE_INSERT_TAIL(brigade,
                                apr_bucket_pool_create(data, (apr_size_t)r->finfo.size, r->pool,
                                                       r->connection->bucket_alloc));
        return;
    }
    bucket = apr_brigade_insert_file(brigade, file, 0, r->finfo.size, r->pool);
    if (core->enable_mmap == ENABLE_MMAP_OFF) {
        apr_bucket_file_enable_mmap(bucket, 0);
    }
}

static int send_file(request_rec *r, const tseed_wanted_t *wanted, apr_file_t *file)
{
    apr_bucket_brigade *brigade;
    char begin = 0;
    int status;

    if (!wanted->served->tileset.format->content_type) {
        read_begin(&begin, file);
    }
    set_type(r, wanted, &begin);
    if (wanted->chart->cache_control) {
        set_caching(r, wanted->chart->cache_control, wanted->chart->layer->expires);
    }
    ap_set_accept_ranges(r);
    ap_set_content_length(r, r->finfo.size);
    status = judge_conditions(r);
    if ((status == OK || status == HTTP_NOT_MODIFIED) && !wanted->is_stored_only) {
        count(tseed_served_page(wanted->served, &wanted->tile));
    }
    if (status != OK) {
        apr_file_close(file);
        return status;
    }
    brigade = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    insert_tile(brigade, r, file);
    return pass(r, brigade);
}

static apr_status_t close_file(void *file)
{
    return apr_file_close(file);
}

/* Opens a regular file; whatever else has the name is no tile. */
static apr_status_t open_file(request_rec *r, const char *path, apr_file_t **file)
{
    const core_dir_config *core = ap_get_core_module_config(r->per_dir_config);
    apr_int32_t flags =
        APR_READ | (AP_SENDFILE_ENABLED(core->enable_sendfile) ? APR_SENDFILE_ENABLED : 0);
    struct stat found;
    int fd;
    apr_status_t rv = tseed_store_open_file(&fd, &found, AT_FDCWD, path);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    rv = apr_os_file_put(file, &fd, flags, r->pool);
    if (rv != APR_SUCCESS) {
        close(fd);
        return rv;
    }
    apr_pool_cleanup_register(r->pool, *file, close_file, apr_pool_cleanup_null);
    return apr_file_info_get(&r->finfo, APR_FINFO_NORM, *file);
}

/* ---- tiles that are missing ---- */

static int send_busy(request_rec *r, const tseed_wanted_t *wanted, int seconds, const char *cause)
{
    tseed_outcome_say(r, dir_of(r), wanted, TSEED_OUTCOME_BUSY);
    return tseed_reply_busy(r, seconds,
                            "this tile is not in the cache and can't be made just now, ask again "
                            "later: %s",
                            cause);
}

/* There is no tile, for a reason that the seeder gave. */
static int send_reason(request_rec *r, const tseed_wanted_t *wanted, const tseed_reply_t *reply)
{
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, "TS0059: no tile %s: %s", wanted->path,
                  reply->cause);
    switch (reply->outcome) {
    case TSEED_MISS_FAILED:
        tseed_outcome_say(r, dir_of(r), wanted, TSEED_OUTCOME_FAILED);
        apr_table_setn(r->headers_out, "Retry-After", apr_itoa(r->pool, reply->retry_after));
        return tseed_reply_error(r, HTTP_BAD_GATEWAY, "the upstream has not made this tile");
    case TSEED_MISS_REFUSED:
        tseed_outcome_say(r, dir_of(r), wanted, TSEED_OUTCOME_MISS);
        return tseed_reply_error(r, HTTP_NOT_FOUND, "this tile is not in the cache: %s",
                                 reply->cause);
    default:
        return send_busy(r, wanted, reply->retry_after, reply->cause);
    }
}

/* A tile that is known and stored nowhere: its bytes are its entity tag. */
static int send_shade(request_rec *r, const tseed_wanted_t *wanted, const char *data,
                      apr_size_t length)
{
    int status;

    if (wanted->chart->cache_control) {
        set_caching(r, wanted->chart->cache_control, wanted->chart->layer->expires);
    }
    apr_table_setn(
        r->headers_out, "ETag",
        apr_psprintf(r->pool, "\"%" APR_UINT64_T_HEX_FMT "\"", tseed_digest(data, length, 0)));
    status = ap_meets_conditions(r);
    return status == OK ? send_bytes(r, wanted, data, length) : status;
}

/* Whether bytes may be a tile of that name. Another host may have made them, with another
 * configuration perhaps. */
static int may_be_tile(const tseed_wanted_t *wanted, const char *data, apr_size_t length)
{
    const tseed_gridset_t *gridset = wanted->served->tileset.subset->gridset;
    const apr_size_t pixels = (apr_size_t)gridset->tile_width * (apr_size_t)gridset->tile_height;

    return length <= pixels * BYTES_A_PIXEL + BYTES_MORE &&
           tseed_cutter_begins(wanted->served->tileset.format, (const unsigned char *)data, length);
}

/* The tile lies in a file without a name, because the store did not take it, or never gets it. */
static int send_passed(request_rec *r, const tseed_wanted_t *wanted, int descriptor,
                       tseed_tile_outcome_t outcome)
{
    tseed_reply_t reply = {.outcome = TSEED_MISS_BUSY, .retry_after = 1};
    struct stat found;
    char *data = NULL;

    if (fstat(descriptor, &found) == 0 && found.st_size > 0) {
        data = apr_palloc(r->pool, (apr_size_t)found.st_size);
        data = pread(descriptor, data, (size_t)found.st_size, 0) == found.st_size ? data : NULL;
    }
    close(descriptor);
    if (!data || !may_be_tile(wanted, data, (apr_size_t)found.st_size)) {
        apr_cpystrn(reply.cause,
                    data ? "what was made of it is no tile of this format"
                         : "what was made of it can't be read",
                    sizeof(reply.cause));
        return send_reason(r, wanted, &reply);
    }
    tseed_outcome_say(r, dir_of(r), wanted, outcome);
    if (outcome == TSEED_OUTCOME_UNSTORED) {
        set_caching(r, UNSTORED_CACHE_CONTROL, UNSTORED_AGE);
        return send_bytes(r, wanted, data, (apr_size_t)found.st_size);
    }
    return send_shade(r, wanted, data, (apr_size_t)found.st_size);
}

/* How long the request waited, and for how many ms of that the upstream was asked. */
static void note_wait(request_rec *r, apr_interval_time_t waited, int upstream)
{
    apr_table_setn(r->notes, "tileseed-wait-ms",
                   apr_psprintf(r->pool, "%" APR_INT64_T_FMT, apr_time_as_msec(waited)));
    if (upstream > 0) {
        apr_table_setn(r->notes, TSEED_UPSTREAM_NOTE, apr_itoa(r->pool, upstream));
    }
}

/* Asks the seeder for a tile. The seeder makes the whole metatile, once for all requests that wait
 * for one of its tiles. If the tile is removed before it can be opened here, the seeder is asked
 * again. */
static apr_status_t ask(tseed_reply_t *reply, int *descriptor, apr_file_t **file, request_rec *r,
                        const tseed_wanted_t *wanted, int is_shade_only)
{
    const tseed_tileset_t *tileset = &wanted->served->tileset;
    const tseed_question_t question = {.layer = tileset->layer->name,
                                       .gridset = tileset->subset->gridset->name,
                                       .format = tileset->format->mime,
                                       .parameters = tileset->parameters,
                                       .tile = wanted->tile,
                                       .client = r->useragent_ip,
                                       .is_shade_only = is_shade_only};
    const apr_time_t begun = tseed_clock_monotonic();
    tseed_wait_t wait;
    const tseed_cancel_t cancel = tseed_wait_begin(&wait, r);
    apr_status_t rv = APR_ENOENT;

    for (int asks = 0; APR_STATUS_IS_ENOENT(rv) && asks < ASKS_MOST; asks++) {
        tseed_miss_ask(reply, descriptor, tseed_supervise_miss_socket(), &question, &cancel);
        rv = reply->outcome == TSEED_MISS_STORED ? open_file(r, wanted->path, file) : APR_SUCCESS;
    }
    note_wait(r, tseed_clock_monotonic() - begun, reply->upstream);
    return rv;
}

/* There is a tile, perhaps in directories that were not there when httpd looked. `file` NULL: in
 * the descriptor. */
static int send_judged(request_rec *r, const tseed_wanted_t *wanted, apr_file_t *file,
                       int descriptor, tseed_tile_outcome_t outcome)
{
    const int status = judge_again(r, wanted->path);

    if (status == OK && !file) {
        return send_passed(r, wanted, descriptor, outcome);
    }
    if (status == OK) {
        tseed_outcome_say(r, dir_of(r), wanted, outcome);
        return send_file(r, wanted, file);
    }
    if (file) {
        apr_file_close(file);
    } else {
        close(descriptor);
    }
    if (status == HTTP_NOT_FOUND) {
        return send_busy(r, wanted, 1,
                         "its directory is not there, so nobody knows who may see it");
    }
    tseed_outcome_say(r, dir_of(r), wanted, TSEED_OUTCOME_FORBIDDEN);
    return status;
}

/* A tile that somebody else has made meanwhile is a hit. DECLINED: only a tile of the colour above
 * it is wanted, and it is none. */
static int fetch(request_rec *r, const tseed_wanted_t *wanted, int is_shade_only)
{
    tseed_reply_t reply;
    apr_file_t *file;
    int descriptor;
    apr_status_t rv = ask(&reply, &descriptor, &file, r, wanted, is_shade_only);

    if (rv != APR_SUCCESS) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, rv, r,
                      "TS0037: can't open the tile %s, which was just stored", wanted->path);
        return send_busy(r, wanted, 1, "it was stored and can't be opened");
    }
    if (reply.outcome == TSEED_MISS_STORED) {
        return send_judged(r, wanted, file, -1,
                           reply.upstream > 0 ? TSEED_OUTCOME_MADE : TSEED_OUTCOME_HIT);
    }
    if (reply.outcome == TSEED_MISS_PASSED || reply.outcome == TSEED_MISS_SHADE) {
        return send_judged(r, wanted, NULL, descriptor,
                           reply.outcome == TSEED_MISS_PASSED ? TSEED_OUTCOME_UNSTORED
                                                              : TSEED_OUTCOME_HIT);
    }
    return is_shade_only && reply.outcome == TSEED_MISS_REFUSED ? DECLINED
                                                                : send_reason(r, wanted, &reply);
}

/* A client that may not see the tile gets no blank tile either. When httpd can't judge, the answer
 * is no 503: the tile may never be made. */
static int send_blank(request_rec *r, const tseed_wanted_t *wanted)
{
    const int status = judge_again(r, wanted->path);

    tseed_outcome_say(r, dir_of(r), wanted,
                      status == OK               ? TSEED_OUTCOME_EMPTY
                      : status == HTTP_NOT_FOUND ? TSEED_OUTCOME_MISS
                                                 : TSEED_OUTCOME_FORBIDDEN);
    if (status == HTTP_NOT_FOUND) {
        return tseed_reply_error(r, status,
                                 "this tile is not in the cache, and its directory is not there, "
                                 "so nobody knows who may see it");
    }
    if (status != OK) {
        return status;
    }
    set_caching(r, BLANK_CACHE_CONTROL, BLANK_AGE);
    return send_bytes(r, wanted, wanted->served->blank, wanted->served->blank_length);
}

static int answer_miss(request_rec *r, const tseed_wanted_t *wanted)
{
    const tseed_layer_t *layer = wanted->chart->layer;
    int status = DECLINED;

    if (layer->on_miss == TSEED_ON_MISS_FETCH && !wanted->is_stored_only) {
        return fetch(r, wanted, 0);
    }
    if (layer->uniform.is_on && !wanted->is_stored_only) {
        status = fetch(r, wanted, 1);
    }
    if (status != DECLINED) {
        return status;
    }
    if (wanted->served->blank && !wanted->is_stored_only) {
        return send_blank(r, wanted);
    }
    ap_log_rerror(APLOG_MARK, APLOG_DEBUG, 0, r, "no tile %s: it is not there, and none is made",
                  wanted->path);
    tseed_outcome_say(r, dir_of(r), wanted, TSEED_OUTCOME_MISS);
    return tseed_reply_error(r, HTTP_NOT_FOUND, "this tile is not in the cache");
}

int tseed_tile_serve(request_rec *r, const tseed_wanted_t *wanted)
{
    apr_file_t *file;
    apr_status_t rv = open_file(r, wanted->path, &file);

    if (rv == APR_SUCCESS && r->finfo.size > 0) {
        return send_judged(r, wanted, file, -1, TSEED_OUTCOME_HIT);
    }
    if (rv == APR_SUCCESS || APR_STATUS_IS_ENOENT(rv) || APR_STATUS_IS_ENOTDIR(rv)) {
        return answer_miss(r, wanted);
    }
    tseed_outcome_say(r, dir_of(r), wanted, TSEED_OUTCOME_ERROR);
    ap_log_rerror(APLOG_MARK, APLOG_ERR, rv, r, "TS0038: can't open the tile %s", wanted->path);
    return tseed_reply_error(r, HTTP_INTERNAL_SERVER_ERROR,
                             "this tile can't be read; the error log says why");
}

/* ---- files that httpd serves ---- */

static int was_sent(const request_rec *r)
{
    return r->method_number == M_GET &&
           (r->status == HTTP_OK || r->status == HTTP_PARTIAL_CONTENT ||
            r->status == HTTP_NOT_MODIFIED);
}

static int log_hit(request_rec *r)
{
    const tseed_atlas_t *atlas = tseed_conf_get(r->server)->atlas;
    uint64_t page = 0;

    while (r->next) {
        r = r->next;
    }
    if (dir_of(r)->tiles == TSEED_TILES_COUNT && atlas && r->filename && was_sent(r)) {
        page = tseed_atlas_page_of(atlas, r->filename, r->pool);
    }
    if (page != 0) {
        count(page);
    }
    return DECLINED;
}

/* httpd judges the conditions of the files that it serves. */
static int fix_up_file(request_rec *r)
{
    if (dir_of(r)->tiles == TSEED_TILES_COUNT && r->finfo.filetype == APR_REG) {
        drop_conditions_by_time(r);
        apr_table_setn(r->headers_out, "X-Content-Type-Options", "nosniff");
    }
    return DECLINED;
}

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    ap_hook_fixups(fix_up_file, NULL, NULL, APR_HOOK_MIDDLE + 1);
    ap_hook_log_transaction(log_hit, NULL, NULL, APR_HOOK_MIDDLE);
}

const tseed_module_part_t tseed_delivery_part = {.hook = register_hooks};
