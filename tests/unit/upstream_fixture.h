/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The upstream of the unit tests: a tiny HTTP server on a free loopback port. A thread listens, one
 * more serves each connection. A script of the test gives the answers. Where the test forks, the
 * server has a process of its own. */
#ifndef UPSTREAM_FIXTURE_H
#define UPSTREAM_FIXTURE_H

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define SERVER_NOTES_MAX    512
#define SERVER_HEAD_SIZE    700
#define SERVER_REQUEST_SIZE 4096

typedef struct server_t server_t;

/* Answers one request, whose head is given as text. Returns whether the connection stays open. */
typedef int server_script_t(server_t *server, int connection, const char *request);

struct server_t {
    server_script_t *script;
    int listener, port;
    pthread_t thread;
    _Atomic int connections, requests; /* ever */
    _Atomic int busy, busiest;         /* requests at once */
    _Atomic int gone;                  /* connections that the client has left in a hang */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    int serving;                  /* threads that serve a connection */
    int open;                     /* the gate, at which scripts may wait */
    char order[SERVER_NOTES_MAX]; /* notes of scripts */
    int noted;
};

typedef struct {
    server_t *server;
    int connection;
} served_t;

static inline void server_send(int connection, const void *data, size_t length)
{
    if (send(connection, data, length, MSG_NOSIGNAL) < 0) {
        /* the client has gone, which some tests want */
    }
}

/* Sends an answer of known length; each of the other headers ends with a line break. */
static inline void server_send_answer(int connection, int status, const char *headers,
                                      const void *body, size_t length)
{
    char head[SERVER_HEAD_SIZE];
    int size = snprintf(head, sizeof(head), "HTTP/1.1 %d Said\r\n%sContent-Length: %zu\r\n\r\n",
                        status, headers, length);

    server_send(connection, head, (size_t)size);
    server_send(connection, body, length);
}

/* Reads one head. Returns 0 when the client has closed, or speaks TLS (its first byte is 0x16). */
static inline int server_read(int connection, char request[SERVER_REQUEST_SIZE])
{
    size_t length = 0;

    while (length < SERVER_REQUEST_SIZE - 1) {
        ssize_t got = recv(connection, request + length, SERVER_REQUEST_SIZE - 1 - length, 0);

        if (got <= 0 || request[0] == 0x16) {
            return 0;
        }
        length += (size_t)got;
        request[length] = '\0';
        if (strstr(request, "\r\n\r\n")) {
            return 1;
        }
    }
    return 0;
}

static inline int server_answer(server_t *server, int connection, const char *request)
{
    int busy = atomic_fetch_add(&server->busy, 1) + 1;
    int busiest = atomic_load(&server->busiest);
    int stays;

    while (busy > busiest && !atomic_compare_exchange_weak(&server->busiest, &busiest, busy)) {
    }
    atomic_fetch_add(&server->requests, 1);
    stays = server->script(server, connection, request);
    atomic_fetch_sub(&server->busy, 1);
    return stays;
}

static inline void server_count(server_t *server, int more)
{
    pthread_mutex_lock(&server->lock);
    server->serving += more;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static inline void *server_serve(void *baton)
{
    served_t *served = baton;
    server_t *server = served->server;
    char request[SERVER_REQUEST_SIZE];

    while (server_read(served->connection, request) &&
           server_answer(server, served->connection, request)) {
    }
    close(served->connection);
    free(served);
    server_count(server, -1);
    return NULL;
}

static inline void *server_listen(void *baton)
{
    server_t *server = baton;
    int connection;

    while ((connection = accept(server->listener, NULL, NULL)) >= 0) {
        served_t *served = malloc(sizeof(*served));
        pthread_t thread;

        *served = (served_t){server, connection};
        atomic_fetch_add(&server->connections, 1);
        server_count(server, 1);
        if (pthread_create(&thread, NULL, server_serve, served) != 0) {
            abort();
        }
        pthread_detach(thread);
    }
    return NULL;
}

/* A socket bound to a free loopback port. */
static inline int server_bind(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
        abort();
    }
    *port = ntohs(address.sin_port);
    return listener;
}

static inline void server_init(server_t *server, server_script_t *script)
{
    memset(server, 0, sizeof(*server));
    server->script = script;
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->changed, NULL);
    server->listener = server_bind(&server->port);
    if (listen(server->listener, 128) != 0) {
        abort();
    }
}

static inline void server_start(server_t *server, server_script_t *script)
{
    server_init(server, script);
    pthread_create(&server->thread, NULL, server_listen, server);
}

/* Starts the server in a process of its own and returns the process: a test that forks afterwards
 * has no threads. The test sees no changes of `server` but in shared memory, and ends the process
 * by SIGKILL. */
static inline pid_t server_start_process(server_t *server, server_script_t *script)
{
    pid_t pid;

    server_init(server, script);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        server_listen(server);
        _exit(1);
    }
    close(server->listener);
    return pid;
}

static inline void server_open_gate(server_t *server)
{
    pthread_mutex_lock(&server->lock);
    server->open = 1;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

/* Every client has closed its connections before. */
static inline void server_stop(server_t *server)
{
    server_open_gate(server); /* a test that failed may have left it closed */
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
    pthread_mutex_lock(&server->lock);
    while (server->serving > 0) {
        pthread_cond_wait(&server->changed, &server->lock);
    }
    pthread_mutex_unlock(&server->lock);
    pthread_cond_destroy(&server->changed);
    pthread_mutex_destroy(&server->lock);
}

/* Notes a letter and waits for the gate. */
static inline void server_pass_gate(server_t *server, char note)
{
    pthread_mutex_lock(&server->lock);
    server->order[server->noted++] = note;
    while (!server->open) {
        pthread_cond_wait(&server->changed, &server->lock);
    }
    pthread_mutex_unlock(&server->lock);
}

/* Waits until the client has closed the connection. */
static inline void server_hang(server_t *server, int connection)
{
    char byte;

    while (recv(connection, &byte, 1, 0) > 0) {
    }
    atomic_fetch_add(&server->gone, 1);
}

#endif
