/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The table of clients. Their order is the order in which they are fed: requests that wait go
 * first, and removals for the quota before what is done in the background. */
#include "seeder/tseed_clients.h"

#include "seeder/tseed_house.h"

static const tseed_client_t *const clients[] = {
    &tseed_pump_client,
    &tseed_guests_client,
    &tseed_standing_client,
    &tseed_parking_client,
    &tseed_patience_client,
    &tseed_inquiry_client,
    &tseed_steward_client,
    &tseed_janitor_client,
    &tseed_count_client,
    &tseed_walk_client,
    &tseed_count_doubts_client,
    &tseed_audit_client,
    &tseed_feeder_standing_client,
    &tseed_purge_client,
    &tseed_feeder_tasks_client,
    &tseed_count_marks_client,
    &tseed_sync_client,
    &tseed_schedule_client,
};

#define COUNT (sizeof(clients) / sizeof(*clients))

void tseed_clients_feed(tseed_seeder_t *seeder)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (clients[i]->feed) {
            clients[i]->feed(seeder);
        }
    }
}

void tseed_clients_tick(tseed_seeder_t *seeder, apr_time_t now)
{
    for (size_t i = 0; i < COUNT; i++) {
        if (clients[i]->tick) {
            clients[i]->tick(seeder, now);
        }
    }
}

apr_time_t tseed_clients_due(const tseed_seeder_t *seeder)
{
    apr_time_t first = INT64_MAX;

    for (size_t i = 0; i < COUNT; i++) {
        const apr_time_t due = clients[i]->due ? clients[i]->due(seeder) : INT64_MAX;

        first = due < first ? due : first;
    }
    return first;
}
