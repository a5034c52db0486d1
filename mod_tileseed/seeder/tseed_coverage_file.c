/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The file of a coverage. */
#include "seeder/tseed_coverage_file.h"

#include <apr_strings.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION    1
#define NAMES      3
#define NAMES_MOST 65536 /* bytes */

typedef struct {
    uint32_t version, size; /* of the head */
    int64_t tileset, time;
    int32_t counted, first, last, spare;
    tseed_window_t window;
} coverage_head_t;

static size_t cells_of(const tseed_window_t *window)
{
    return (size_t)window->columns * (size_t)window->rows * sizeof(tseed_cell_t);
}

/* ---- the seeder ---- */

static char *put_name(char *to, const char *name)
{
    const size_t size = strlen(name) + 1;

    memcpy(to, name, size);
    return to + size;
}

/* Gives the file its size, and memory to write it by; MAP_FAILED with errno. */
static void *map_file(int descriptor, size_t size)
{
    return ftruncate(descriptor, (off_t)size) == 0
               ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
               : MAP_FAILED;
}

static void fill(const tseed_coverage_file_t *file, const tseed_coverage_t *coverage, int first,
                 int last)
{
    coverage_head_t *head = file->map;
    char *names = (char *)file->cells + cells_of(&coverage->window);

    *head = (coverage_head_t){.version = VERSION,
                              .size = sizeof(*head),
                              .tileset = coverage->tileset,
                              .time = coverage->time,
                              .counted = coverage->counted,
                              .first = first,
                              .last = last,
                              .window = coverage->window};
    names = put_name(names, coverage->layer);
    names = put_name(names, coverage->gridset);
    put_name(names, coverage->format);
}

apr_status_t tseed_coverage_file_make(tseed_coverage_file_t *file, const tseed_coverage_t *coverage,
                                      int first, int last)
{
    apr_status_t rv;

    file->size = sizeof(coverage_head_t) + cells_of(&coverage->window) + strlen(coverage->layer) +
                 strlen(coverage->gridset) + strlen(coverage->format) + NAMES;
    file->descriptor = memfd_create("coverage", MFD_CLOEXEC);
    if (file->descriptor < 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    file->map = map_file(file->descriptor, file->size);
    if (file->map == MAP_FAILED) {
        rv = APR_FROM_OS_ERROR(errno);
        close(file->descriptor);
        return rv;
    }
    file->cells = (tseed_cell_t *)((coverage_head_t *)file->map + 1);
    fill(file, coverage, first, last);
    return APR_SUCCESS;
}

void tseed_coverage_file_close(tseed_coverage_file_t *file)
{
    munmap(file->map, file->size);
    close(file->descriptor);
}

/* ---- a child ---- */

/* Reads from one place on; 0: there is less. */
static int read_all(int descriptor, void *to, size_t size, off_t from)
{
    while (size > 0) {
        const ssize_t got = pread(descriptor, to, size, from);

        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            return 0;
        }
        if (got > 0) {
            to = (char *)to + got;
            size -= (size_t)got;
            from += got;
        }
    }
    return 1;
}

static int is_sound(const coverage_head_t *head)
{
    const tseed_window_t *window = &head->window;

    return head->version == VERSION && head->size == sizeof(*head) && window->columns >= 0 &&
           window->columns <= TSEED_COVERAGE_MOST && window->rows >= 0 &&
           window->rows <= TSEED_COVERAGE_MOST && window->shift >= 0 && window->shift < 64;
}

/* The names, NUL behind each; 0: there are fewer. */
static int split_names(const char **names, char *text, size_t size)
{
    char *end = text + size;

    for (int i = 0; i < NAMES; i++) {
        names[i] = text;
        text = text < end ? memchr(text, '\0', (size_t)(end - text)) : NULL;
        if (!text++) {
            return 0;
        }
    }
    return 1;
}

apr_status_t tseed_coverage_file_read(tseed_coverage_t *coverage, int *first, int *last,
                                      int descriptor, apr_pool_t *pool)
{
    coverage_head_t head;
    struct stat st;
    tseed_cell_t *cells;
    size_t cells_size, names_size;
    const char *names[NAMES];
    char *text;

    if (fstat(descriptor, &st) != 0 || !read_all(descriptor, &head, sizeof(head), 0) ||
        !is_sound(&head)) {
        return APR_EGENERAL;
    }
    cells_size = cells_of(&head.window);
    names_size = (size_t)st.st_size - sizeof(head) - cells_size;
    if ((size_t)st.st_size < sizeof(head) + cells_size || names_size > NAMES_MOST) {
        return APR_EGENERAL;
    }
    cells = apr_palloc(pool, cells_size + 1);
    text = apr_palloc(pool, names_size + 1);
    if (!read_all(descriptor, cells, cells_size, sizeof(head)) ||
        !read_all(descriptor, text, names_size, (off_t)(sizeof(head) + cells_size)) ||
        !split_names(names, text, names_size)) {
        return APR_EGENERAL;
    }
    *coverage = (tseed_coverage_t){.tileset = head.tileset,
                                   .layer = names[0],
                                   .gridset = names[1],
                                   .format = names[2],
                                   .counted = head.counted,
                                   .time = head.time,
                                   .window = head.window,
                                   .cells = cells};
    *first = head.first;
    *last = head.last;
    return APR_SUCCESS;
}
