/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A WMS upstream of pictures drawn beforehand, so that it is never what is measured.
 *
 *     stub DIRECTORY
 *
 * prints its port on 127.0.0.1 and serves until it is ended: one thread, epoll, keep-alive, no
 * pipelining. GET /KIND/MS/NS?...BBOX=&WIDTH=&HEIGHT= is answered after MS milliseconds, and NS
 * nanoseconds for each pixel, with the file KIND-V-WxH. "/NS" may be left out. The variant V
 * follows from the place of the box in web mercator, whatever else the request says, so that every
 * seeder gets the same picture for the same metatile.
 * Of KIND "mix" three in five are "uniform" and the others "rgba". Of KIND "ocean" what is sea in
 * the file .ocean of DIRECTORY is "uniform" and all else "land". What is no GetMap, as the
 * question what the service offers, gets a 404 and is not counted.
 *
 * GET /counts answers what happened since the last such request: requests, the connections that
 * brought them, those without a picture, and when the first came (CLOCK_MONOTONIC, in seconds);
 * when the last picture was sent and the pixels until then, and the same of the 40th picture. Of a
 * picture under way the pixels count for the share of its time that has passed: else whoever asks
 * for few large pictures would seem faster than the upstream.
 *
 * The unit tests have another upstream, tests/unit/upstream_fixture.h: a thread for each connection
 * runs a script, which may wait. Here 10,000 answers a second may cost a few percent of a core, so
 * that the figures are those of the seeder: no thread is woken for an answer, and nothing is drawn.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { VARIANTS = 8, NAME_SIZE = 256, TEXT_SIZE = 512, REQUEST_SIZE = 8192, EVENTS = 64 };
enum { BEGINNING = 40 };   /* pictures */
enum { OCEAN_LEVEL = 12 }; /* the last one of the file .ocean */

static const double HALF_WORLD = 20037508.342789244;

typedef struct {
    char name[NAME_SIZE];
    char head[TEXT_SIZE]; /* of the answer */
    struct iovec body;
} picture_t;

typedef struct connection {
    TAILQ_ENTRY(connection) entry; /* of the late answers, while it waits for its time */
    double begun, due;             /* when it waits, from and to; 0: doesn't wait */
    int fd;
    bool blocked;    /* the kernel takes no more for now */
    unsigned period; /* of counting, in which it was counted */
    double pixels;   /* of the picture */
    size_t filled;
    struct iovec rest[2]; /* of the answer: head and body */
    char text[TEXT_SIZE]; /* a head that is no picture's */
    char in[REQUEST_SIZE];
} connection_t;

typedef struct {
    long requests, connections, missing;
    double first;
    long pictures;
    double sent; /* pixels */
    double pixels, last, beginning_pixels, beginning_end;
} counts_t;

static const unsigned char *ocean; /* level by level, row by row from the bottom; 1: sea */
static picture_t *pictures;
static size_t picture_count;
static TAILQ_HEAD(queue, connection) late = TAILQ_HEAD_INITIALIZER(late); /* by their time */
static counts_t counts;
static unsigned period = 1;
static int poller;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Pictures */

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const picture_t *)a)->name, ((const picture_t *)b)->name);
}

static void load_picture(int directory, const char *name)
{
    struct stat status;
    int fd = openat(directory, name, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) != 0) {
        die(name);
    }
    pictures = realloc(pictures, (picture_count + 1) * sizeof *pictures);
    picture_t *made = &pictures[picture_count++];
    snprintf(made->name, sizeof made->name, "%s", name);
    made->body.iov_len = (size_t)status.st_size;
    made->body.iov_base =
        mmap(NULL, made->body.iov_len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (made->body.iov_base == MAP_FAILED) {
        die(name);
    }
    bool is_png = *(unsigned char *)made->body.iov_base == 0x89;
    snprintf(made->head, sizeof made->head,
             "HTTP/1.1 200 OK\r\nContent-Type: image/%s\r\nContent-Length: %zu\r\n\r\n",
             is_png ? "png" : "jpeg", made->body.iov_len);
    close(fd);
}

static void load_pictures(const char *path)
{
    DIR *directory = opendir(path);
    if (!directory) {
        die(path);
    }
    for (struct dirent *entry = readdir(directory); entry; entry = readdir(directory)) {
        if (entry->d_type == DT_REG && entry->d_name[0] != '.') {
            load_picture(dirfd(directory), entry->d_name);
        }
    }
    closedir(directory);
    qsort(pictures, picture_count, sizeof *pictures, compare_names);
}

/* The value of a parameter of the query, or "". */
static const char *parameter(const char *query, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strpbrk(query, "?&"); at; at = strpbrk(at + 1, "&")) {
        if (strncasecmp(at + 1, name, length) == 0 && at[1 + length] == '=') {
            return at + length + 2;
        }
    }
    return "";
}

static void read_box(const char *text, double box[4])
{
    for (int i = 0; i < 4; i++) {
        char *end;
        box[i] = strtod(text, &end);
        text = end + (*end == ',' ? 1 : strncasecmp(end, "%2C", 3) == 0 ? 3 : 0);
    }
}

static void load_ocean(const char *directory)
{
    char path[4096];
    struct stat status;
    snprintf(path, sizeof path, "%s/.ocean", directory);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) != 0) {
        die(path);
    }
    ocean = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (ocean == MAP_FAILED) {
        die(path);
    }
    close(fd);
}

/* Whether a square has no land; below the last level it is as the square above it. */
static bool is_sea(long level, long column, long row)
{
    while (level > OCEAN_LEVEL) {
        level--;
        column /= 2;
        row /= 2;
    }
    return ocean[((1L << 2 * level) - 1) / 3 + (row << level) + column];
}

static const picture_t *find_picture(const char *kind, const char *query)
{
    double box[4];
    read_box(parameter(query, "BBOX"), box);
    double side = box[2] - box[0];
    if (!(side > 0)) {
        return NULL;
    }
    long level = lround(log2(2 * HALF_WORLD / side));
    long column = lround((box[0] + HALF_WORLD) / side);
    long row = lround((box[1] + HALF_WORLD) / side);
    if (strcmp(kind, "mix") == 0) {
        kind = (column * 7 + row * 13 + level) % 5 < 3 ? "uniform" : "rgba";
    }
    if (strcmp(kind, "ocean") == 0) {
        kind = is_sea(level, column, row) ? "uniform" : "land";
    }
    bool is_plain = strcmp(kind, "uniform") == 0 || strcmp(kind, "plain") == 0;
    long variant = is_plain ? 0 : (column * 5 + row * 3 + level) % VARIANTS;
    picture_t wanted;
    snprintf(wanted.name, sizeof wanted.name, "%s-%ld-%dx%d", kind, variant,
             atoi(parameter(query, "WIDTH")), atoi(parameter(query, "HEIGHT")));
    return bsearch(&wanted, pictures, picture_count, sizeof *pictures, compare_names);
}

/* Answers */

static void watch(connection_t *connection, int how)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (connection->blocked) {
        event.events |= EPOLLOUT;
    }
    epoll_ctl(poller, how, connection->fd, &event);
}

static void drop(connection_t *connection)
{
    if (connection->due > 0) {
        TAILQ_REMOVE(&late, connection, entry);
    }
    close(connection->fd);
    free(connection);
}

/* Takes what was sent off the answer; true when nothing is left. */
static bool advance(connection_t *connection, size_t sent)
{
    for (int i = 0; i < 2; i++) {
        struct iovec *part = &connection->rest[i];
        size_t taken = sent < part->iov_len ? sent : part->iov_len;
        part->iov_base = (char *)part->iov_base + taken;
        part->iov_len -= taken;
        sent -= taken;
    }
    return connection->rest[0].iov_len + connection->rest[1].iov_len == 0;
}

static void send_answer(connection_t *connection)
{
    ssize_t sent;
    do {
        sent = writev(connection->fd, connection->rest, 2);
    } while (sent >= 0 && !advance(connection, (size_t)sent));
    if (sent < 0 && errno != EAGAIN) {
        drop(connection);
    } else if ((sent < 0) != connection->blocked) {
        connection->blocked = sent < 0;
        watch(connection, EPOLL_CTL_MOD);
    }
}

static void answer_text(connection_t *connection, int status, const char *text)
{
    int length = snprintf(connection->text, sizeof connection->text,
                          "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\n"
                          "Content-Length: %zu\r\n\r\n%s",
                          status, status == 200 ? "OK" : "Not Found", strlen(text), text);
    connection->rest[0] = (struct iovec){connection->text, (size_t)length};
    connection->rest[1] = (struct iovec){NULL, 0};
    send_answer(connection);
}

static void answer_counts(connection_t *connection)
{
    char text[TEXT_SIZE / 2];
    snprintf(text, sizeof text,
             "{\"requests\":%ld,\"connections\":%ld,\"missing\":%ld,\"first\":%.6f,"
             "\"pixels\":%.0f,\"last\":%.6f,\"beginningPixels\":%.0f,\"beginningEnd\":%.6f}",
             counts.requests, counts.connections, counts.missing, counts.first, counts.pixels,
             counts.last, counts.beginning_pixels, counts.beginning_end);
    counts = (counts_t){0};
    period++;
    answer_text(connection, 200, text);
}

/* The pixels of all pictures under way, for the share of their time that has passed. */
static double pixels_under_way(double now)
{
    double pixels = 0;
    const connection_t *waiting;
    TAILQ_FOREACH(waiting, &late, entry)
    {
        const double share = (now - waiting->begun) / (waiting->due - waiting->begun);
        pixels += waiting->pixels * fmin(share, 1);
    }
    return pixels;
}

static void send_picture(connection_t *connection)
{
    counts.last = seconds();
    counts.sent += connection->pixels;
    counts.pixels = counts.sent + pixels_under_way(counts.last);
    if (++counts.pictures == BEGINNING) {
        counts.beginning_pixels = counts.pixels;
        counts.beginning_end = counts.last;
    }
    send_answer(connection);
}

static void answer_later(connection_t *connection, double delay)
{
    connection->begun = seconds();
    connection->due = connection->begun + delay;
    connection_t *before = TAILQ_LAST(&late, queue);
    while (before && before->due > connection->due) {
        before = TAILQ_PREV(before, queue, entry);
    }
    if (before) {
        TAILQ_INSERT_AFTER(&late, before, connection, entry);
    } else {
        TAILQ_INSERT_HEAD(&late, connection, entry);
    }
}

/* Sends the answers whose time has come. */
static void send_late_answers(void)
{
    double now = seconds();
    connection_t *first;
    while ((first = TAILQ_FIRST(&late)) && first->due <= now) {
        TAILQ_REMOVE(&late, first, entry);
        first->due = 0;
        send_picture(first);
    }
}

/* Waits for events until the next answer is due, for which milliseconds are too coarse. */
static int wait_for_events(struct epoll_event events[EVENTS])
{
    const connection_t *first = TAILQ_FIRST(&late);
    if (!first) {
        return epoll_wait(poller, events, EVENTS, -1);
    }
    struct pollfd any = {.fd = poller, .events = POLLIN};
    double rest = fmax(first->due - seconds(), 0);
    struct timespec timeout = {.tv_sec = (time_t)rest, .tv_nsec = (long)(fmod(rest, 1) * 1e9)};
    ppoll(&any, 1, &timeout, NULL);
    return epoll_wait(poller, events, EVENTS, 0);
}

/* Requests */

static void count_request(connection_t *connection)
{
    if (counts.requests++ == 0) {
        counts.first = seconds();
    }
    if (connection->period != period) {
        connection->period = period;
        counts.connections++;
    }
}

static void serve(connection_t *connection)
{
    char kind[16];
    double milliseconds = 0, nanoseconds = 0, delay;
    if (strncmp(connection->in, "GET /counts", 11) == 0) {
        answer_counts(connection);
        return;
    }
    connection->in[strcspn(connection->in, "\r")] = '\0';
    if (!*parameter(connection->in, "BBOX")) {
        answer_text(connection, 404, "only maps here\n");
        return;
    }
    count_request(connection);
    const picture_t *found = NULL;
    if (sscanf(connection->in, "GET /%15[a-z]/%lf/%lf", kind, &milliseconds, &nanoseconds) >= 2) {
        found = find_picture(kind, connection->in);
    }
    if (!found) {
        counts.missing++;
        answer_text(connection, 404, "no such picture\n");
        return;
    }
    connection->rest[0] = (struct iovec){(char *)found->head, strlen(found->head)};
    connection->rest[1] = found->body;
    connection->pixels =
        atof(parameter(connection->in, "WIDTH")) * atof(parameter(connection->in, "HEIGHT"));
    delay = milliseconds * 1e-3 + nanoseconds * 1e-9 * connection->pixels;
    if (delay > 0) {
        answer_later(connection, delay);
    } else {
        send_picture(connection);
    }
}

static void receive(connection_t *connection)
{
    size_t room = sizeof connection->in - 1 - connection->filled;
    ssize_t got = read(connection->fd, connection->in + connection->filled, room);
    if (got < 0 && errno == EAGAIN) {
        return;
    }
    if (got <= 0) {
        drop(connection);
        return;
    }
    connection->filled += (size_t)got;
    connection->in[connection->filled] = '\0';
    if (strstr(connection->in, "\r\n\r\n")) {
        connection->filled = 0;
        serve(connection);
    }
}

static void take_connections(int listener)
{
    int fd, yes = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        connection_t *made = calloc(1, sizeof *made);
        if (!made) {
            die("connection");
        }
        made->fd = fd;
        watch(made, EPOLL_CTL_ADD);
    }
}

static void handle(int listener, const struct epoll_event *event)
{
    connection_t *connection = event->data.ptr;
    if (!connection) {
        take_connections(listener);
    } else if (connection->blocked && event->events & EPOLLOUT) {
        send_answer(connection);
    } else {
        receive(connection);
    }
}

static int listen_on_loopback(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct epoll_event event = {.events = EPOLLIN};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 1024) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0 ||
        epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event) != 0) {
        die("listen");
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: stub DIRECTORY\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    load_pictures(argv[1]);
    load_ocean(argv[1]);
    poller = epoll_create1(0);
    int listener = listen_on_loopback();
    for (;;) {
        struct epoll_event events[EVENTS];
        send_late_answers();
        int count = wait_for_events(events);
        for (int i = 0; i < count; i++) {
            handle(listener, &events[i]);
        }
    }
}
