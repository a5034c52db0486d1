/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A WMS for the tests of the seeder: a process that answers each GetMap with stripes or one colour,
 * with an exception, late, or not before the test lets it. */
#ifndef WMS_FIXTURE_H
#define WMS_FIXTURE_H

#include <png.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tseed_digest.h"
#include "upstream_fixture.h"

/* UNIFORM: all of one colour. COLOURS: each answer of one, and all of different ones. */
typedef enum { FINE, SLOW, HANGS, EXCEPTION, UNIFORM, COLOURS } mood_t;

typedef struct {
    _Atomic int mood;
    _Atomic int tint; /* other colours: the data have changed */
    _Atomic int64_t requests;
    _Atomic int64_t answered; /* requests beyond that number hang */
} upstream_t;

static upstream_t *upstream; /* shared with the server's process */
static pid_t upstream_pid;
static int upstream_port;

static inline int number_after(const char *request, const char *key)
{
    const char *at = strstr(request, key);

    return at ? atoi(at + strlen(key)) : 0;
}

/* Each metatile has its own two colours, so that tiles are not uniform and not alike, unless that
 * is the mood. The upstream is a process of one thread: the sanitizer of threads need not look at
 * each pixel. */
__attribute__((no_sanitize("thread"), noinline)) static void
answer_map(int connection, const char *request, int mood, int tint)
{
    int width = number_after(request, "WIDTH="), height = number_after(request, "HEIGHT=");
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)width,
                       .height = (png_uint_32)height,
                       .format = PNG_FORMAT_RGB,
                       .flags = PNG_IMAGE_FLAG_FAST};
    unsigned seed = (unsigned)number_after(request, "BBOX=") * 2654435761u + (unsigned)tint;
    const char *box = strstr(request, "BBOX=");
    const uint64_t colour = box ? tseed_digest(box, strcspn(box, "& "), 0) : 0;
    unsigned char *pixels = malloc((size_t)width * (size_t)height * 3);
    png_alloc_size_t size = (size_t)width * (size_t)height * 4 + 4096;
    unsigned char *file = malloc(size);

    for (int i = 0; i < width * height * 3; i++) {
        pixels[i] = mood == UNIFORM   ? 77
                    : mood == COLOURS ? (unsigned char)(colour >> i % 3 * 8)
                                      : (unsigned char)((unsigned)i / 300 + seed);
    }
    png_image_write_to_memory(&image, file, &size, 0, pixels, 0, NULL);
    server_send_answer(connection, 200, "Content-Type: image/png\r\n", file, size);
    free(pixels);
    free(file);
}

static inline void answer_exception(int connection)
{
    static const char exception[] = "<ServiceExceptionReport><ServiceException>no such "
                                    "layer</ServiceException></ServiceExceptionReport>";

    server_send_answer(connection, 200, "Content-Type: text/xml\r\n", exception,
                       sizeof(exception) - 1);
}

static inline int follow_mood(server_t *server, int connection, const char *request)
{
    /* a test that sees the request counted knows its answer */
    int mood = upstream->mood, tint = upstream->tint;
    int64_t number;

    (void)server;
    if (strstr(request, "GetCapabilities")) {
        answer_exception(connection);
        return 1;
    }
    number = ++upstream->requests;
    while (upstream->mood == HANGS || number > upstream->answered) {
        usleep(5000);
    }
    if (upstream->mood == SLOW) {
        usleep(20000);
    }
    if (mood == EXCEPTION) {
        answer_exception(connection);
    } else {
        answer_map(connection, request, mood, tint);
    }
    return 1;
}

static inline void upstream_start(void)
{
    static server_t server;

    upstream =
        mmap(NULL, sizeof(*upstream), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    upstream_pid = server_start_process(&server, follow_mood);
    upstream_port = server.port;
}

static inline void upstream_stop(void)
{
    kill(upstream_pid, SIGKILL);
    waitpid(upstream_pid, NULL, 0);
}

/* Lets all requests hang but the next `count`. */
static inline void upstream_answer_only(int64_t count)
{
    upstream->answered = upstream->requests + count;
}

static inline void upstream_answer_all(void)
{
    upstream->answered = INT64_MAX;
}

#endif
