/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Clients: modules that have work done by the seeder. */
#include "work/tseed_clients.h"

#include <stdint.h>

void tseed_clients_enter(tseed_clients_t *clients, tseed_client_t *client)
{
    client->next = NULL;
    if (clients->last) {
        clients->last->next = client;
    } else {
        clients->first = client;
    }
    clients->last = client;
}

void tseed_clients_feed(const tseed_clients_t *clients)
{
    for (const tseed_client_t *client = clients->first; client; client = client->next) {
        if (client->feed) {
            client->feed(client->module);
        }
    }
}

void tseed_clients_tick(const tseed_clients_t *clients, apr_time_t now)
{
    for (const tseed_client_t *client = clients->first; client; client = client->next) {
        if (client->tick) {
            client->tick(client->module, now);
        }
    }
}

apr_time_t tseed_clients_due(const tseed_clients_t *clients)
{
    apr_time_t first = INT64_MAX;

    for (const tseed_client_t *client = clients->first; client; client = client->next) {
        const apr_time_t due = client->due ? client->due(client->module) : INT64_MAX;

        first = due < first ? due : first;
    }
    return first;
}
