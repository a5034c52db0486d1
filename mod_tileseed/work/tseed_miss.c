/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Questions and answers. A question is one packet of strings. NUL ends each string. Their order is:
 * version, layer, grid set, format, client, z, x, y, tile set, whether it is wanted only if it is
 * of the colour above it, then key and value of each parameter. */
#include "work/tseed_miss.h"

#include <apr_base64.h>
#include <apr_strings.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/tseed_clock.h"

#define VERSION       5
#define QUESTION_SIZE 8192
#define PACKET_COST   768 /* what the kernel charges for a short packet */
#define FIXED_STRINGS 10
#define BUSY_SECONDS  1
#define LOOK_EVERY    100 /* ms */
#define ASKS_MOST     20
#define PAUSE         (100 * 1000) /* before the next seeder is asked */

apr_status_t tseed_miss_open(int ends[2], int most)
{
    int size = most * PACKET_COST / 2; /* the kernel doubles it */

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    return APR_SUCCESS;
}

/* ---- packets that carry a descriptor ---- */

typedef union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
} carrier_t;

static int send_packet(int to, const void *data, size_t length, int carried)
{
    struct iovec part = {.iov_base = (void *)data, .iov_len = length};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
    carrier_t carrier = {.space = {0}};

    if (carried >= 0) {
        packet.msg_control = &carrier;
        packet.msg_controllen = sizeof(carrier);
        carrier.header.cmsg_level = SOL_SOCKET;
        carrier.header.cmsg_type = SCM_RIGHTS;
        carrier.header.cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(&carrier.header), &carried, sizeof(int));
    }
    return sendmsg(to, &packet, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)length ? 0 : -1;
}

/* The length of the packet, 0 when the other end is closed, -1 with errno. *carried: -1 if it
 * brought no descriptor. */
static ssize_t receive_packet(int from, void *data, size_t size, int *carried)
{
    struct iovec part = {.iov_base = data, .iov_len = size};
    carrier_t carrier;
    struct msghdr packet = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = &carrier,
                            .msg_controllen = sizeof(carrier)};
    ssize_t length = recvmsg(from, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *header = length > 0 ? CMSG_FIRSTHDR(&packet) : NULL;

    *carried = -1;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        memcpy(carried, CMSG_DATA(header), sizeof(int));
    }
    return length;
}

/* ---- questions as text ---- */

typedef struct {
    char text[QUESTION_SIZE];
    size_t length; /* beyond the size: it did not fit */
} letter_t;

static void add(letter_t *letter, const char *string)
{
    size_t size = strlen(string) + 1;

    if (letter->length + size <= sizeof(letter->text)) {
        memcpy(letter->text + letter->length, string, size);
    }
    letter->length += size;
}

static void add_number(letter_t *letter, int64_t number)
{
    char text[24];

    apr_snprintf(text, sizeof(text), "%" APR_INT64_T_FMT, number);
    add(letter, text);
}

static int write_letter(letter_t *letter, const tseed_question_t *question)
{
    const apr_array_header_t *entries = apr_table_elts(question->parameters);

    letter->length = 0;
    add_number(letter, VERSION);
    add(letter, question->layer);
    add(letter, question->gridset);
    add(letter, question->format);
    add(letter, question->client);
    add_number(letter, question->tile.z);
    add_number(letter, question->tile.x);
    add_number(letter, question->tile.y);
    add_number(letter, question->tileset);
    add_number(letter, question->is_shade_only);
    for (int i = 0; i < entries->nelts; i++) {
        add(letter, APR_ARRAY_IDX(entries, i, apr_table_entry_t).key);
        add(letter, APR_ARRAY_IDX(entries, i, apr_table_entry_t).val);
    }
    return letter->length <= sizeof(letter->text);
}

/* The strings of a letter, in `pool`; NULL when its end is missing. */
static apr_array_header_t *read_strings(const letter_t *letter, apr_pool_t *pool)
{
    apr_array_header_t *strings = apr_array_make(pool, FIXED_STRINGS, sizeof(char *));
    const char *at = letter->text, *end = letter->text + letter->length;

    if (letter->length == 0 || end[-1] != '\0') {
        return NULL;
    }
    while (at < end) {
        APR_ARRAY_PUSH(strings, const char *) = apr_pstrdup(pool, at);
        at += strlen(at) + 1;
    }
    return strings;
}

static int read_letter(tseed_question_t *question, const letter_t *letter, apr_pool_t *pool)
{
    const apr_array_header_t *strings = read_strings(letter, pool);
    apr_table_t *parameters = apr_table_make(pool, 4);
    const char **string = strings ? (const char **)strings->elts : NULL;

    if (!strings || strings->nelts < FIXED_STRINGS || strings->nelts % 2 != FIXED_STRINGS % 2 ||
        apr_atoi64(string[0]) != VERSION) {
        return 0;
    }
    for (int i = FIXED_STRINGS; i < strings->nelts; i += 2) {
        apr_table_addn(parameters, string[i], string[i + 1]);
    }
    *question = (tseed_question_t){
        .layer = string[1],
        .gridset = string[2],
        .format = string[3],
        .parameters = parameters,
        .client = string[4],
        .tile = {(int)apr_atoi64(string[5]), apr_atoi64(string[6]), apr_atoi64(string[7])},
        .tileset = apr_atoi64(string[8]),
        .is_shade_only = apr_atoi64(string[9]) != 0,
    };
    return 1;
}

/* ---- both ends ---- */

/* How a wait ended. */
typedef enum {
    ANSWERED,
    CLOSED, /* the seeder has gone, or understood nothing */
    OVER    /* cancelled, or the time is over, or nobody took the question */
} wait_t;

/* A question on its way. */
typedef struct {
    letter_t letter;
    int miss_socket;
    const tseed_cancel_t *cancel;
    apr_time_t until; /* monotonic */
    const char *why;  /* it is over before that time; or NULL */
} exchange_t;

/* Until the descriptor is readable, or some time has come. */
static wait_t watch(exchange_t *exchange, int end, apr_time_t until)
{
    const tseed_cancel_t *cancel = exchange->cancel;

    for (;;) {
        struct pollfd fds[2] = {{.fd = end, .events = POLLIN},
                                {.fd = cancel->client, .events = POLLRDHUP}};
        apr_time_t left = until - tseed_clock_monotonic();
        int millis = left > 0 ? (int)apr_time_as_msec(left) + 1 : 0;

        poll(fds, 2, cancel->look && millis > LOOK_EVERY ? LOOK_EVERY : millis);
        if (fds[0].revents) {
            return ANSWERED;
        }
        exchange->why = fds[1].revents ? "the client has gone"
                        : cancel->look ? cancel->look(cancel->baton)
                                       : NULL;
        if (exchange->why || left <= 0) {
            return OVER;
        }
    }
}

static wait_t hear(int end, tseed_reply_t *reply, int *tile)
{
    ssize_t length = receive_packet(end, reply, sizeof(*reply), tile);

    if (length == sizeof(*reply) && reply->version == VERSION) {
        reply->cause[sizeof(reply->cause) - 1] = '\0';
        return ANSWERED;
    }
    if (*tile >= 0) {
        close(*tile);
        *tile = -1;
    }
    return CLOSED;
}

static wait_t ask(tseed_reply_t *reply, int *tile, exchange_t *exchange)
{
    int ends[2], sent;
    wait_t wait = OVER;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
        return OVER;
    }
    sent = send_packet(exchange->miss_socket, exchange->letter.text, exchange->letter.length,
                       ends[1]) == 0;
    close(ends[1]);
    if (sent) {
        wait = watch(exchange, ends[0], exchange->until);
    }
    if (wait == ANSWERED) {
        wait = hear(ends[0], reply, tile);
    }
    close(ends[0]);
    return wait;
}

void tseed_miss_ask(tseed_reply_t *reply, int *tile, int miss_socket,
                    const tseed_question_t *question, const tseed_cancel_t *cancel)
{
    exchange_t exchange = {.miss_socket = miss_socket,
                           .cancel = cancel,
                           .until = tseed_clock_monotonic() + TSEED_MISS_TIMEOUT};
    wait_t wait = write_letter(&exchange.letter, question) ? CLOSED : OVER;

    *tile = -1;
    for (int asks = 0; wait == CLOSED && asks < ASKS_MOST && !exchange.why; asks++) {
        wait = ask(reply, tile, &exchange);
        if (wait == CLOSED) {
            watch(&exchange, -1, tseed_clock_monotonic() + PAUSE);
        }
    }
    if (wait != ANSWERED) {
        *reply = tseed_miss_reply(TSEED_MISS_BUSY, BUSY_SECONDS,
                                  exchange.why ? exchange.why : "the seeder does not answer");
    }
}

/* Takes the next packet, whatever it says. */
static apr_status_t take_letter(letter_t *letter, int *end, int miss_socket)
{
    ssize_t length = receive_packet(miss_socket, letter->text, sizeof(letter->text), end);

    if (length < 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    letter->length = (size_t)length;
    return *end >= 0 ? APR_SUCCESS : APR_EINVAL;
}

apr_status_t tseed_miss_take(tseed_question_t *question, int *end, int miss_socket,
                             apr_pool_t *pool)
{
    letter_t letter;
    apr_status_t rv = take_letter(&letter, end, miss_socket);

    if (rv == APR_SUCCESS && !read_letter(question, &letter, pool)) {
        close(*end);
        rv = APR_EINVAL;
    }
    return rv;
}

/* ---- questions that go to another host ---- */

apr_status_t tseed_miss_take_text(const char **text, int *end, int miss_socket, apr_pool_t *pool)
{
    letter_t letter;
    apr_status_t rv = take_letter(&letter, end, miss_socket);

    if (rv == APR_SUCCESS) {
        char *encoded = apr_palloc(pool, (size_t)apr_base64_encode_len((int)letter.length));

        apr_base64_encode_binary(encoded, (const unsigned char *)letter.text, (int)letter.length);
        *text = encoded;
    }
    return rv;
}

apr_status_t tseed_miss_ask_text(int *end, int miss_socket, const char *text, apr_pool_t *pool)
{
    const size_t size = (size_t)apr_base64_decode_len(text);
    unsigned char *packet = apr_palloc(pool, size);
    const int length = apr_base64_decode_binary(packet, text);
    int ends[2], failed;

    if (length <= 0 || length > QUESTION_SIZE) {
        return APR_EINVAL;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
        return APR_FROM_OS_ERROR(errno);
    }
    failed = send_packet(miss_socket, packet, (size_t)length, ends[1]) != 0;
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        return APR_EAGAIN;
    }
    *end = ends[0];
    return APR_SUCCESS;
}

apr_status_t tseed_miss_hear(tseed_reply_t *reply, int *tile, int end)
{
    return hear(end, reply, tile) == ANSWERED ? APR_SUCCESS : APR_EOF;
}

void tseed_miss_answer(int end, const tseed_reply_t *reply, int tile)
{
    tseed_reply_t sent = *reply;

    sent.version = VERSION;
    send_packet(end, &sent, sizeof(sent), tile); /* whoever has given up hears nothing */
    close(end);
}
