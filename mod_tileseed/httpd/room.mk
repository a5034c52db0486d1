# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
mod_tileseed_la_SOURCES += \
	%D%/mod_tileseed.c \
	%D%/mod_tileseed.h \
	%D%/mod_tileseed_config.c \
	%D%/mod_tileseed_config.h \
	%D%/mod_tileseed_config_check.c \
	%D%/mod_tileseed_config_gridset.c \
	%D%/mod_tileseed_config_guard.c \
	%D%/mod_tileseed_config_layer.c \
	%D%/mod_tileseed_config_location.c \
	%D%/mod_tileseed_config_seeding.c \
	%D%/mod_tileseed_config_server.c \
	%D%/mod_tileseed_config_upstream.c \
	%D%/mod_tileseed_config_upstream.h \
	%D%/mod_tileseed_delivery.c \
	%D%/mod_tileseed_delivery.h \
	%D%/mod_tileseed_directive.c \
	%D%/mod_tileseed_directive.h \
	%D%/mod_tileseed_dirs.c \
	%D%/mod_tileseed_dirs.h \
	%D%/mod_tileseed_draft.c \
	%D%/mod_tileseed_draft.h \
	%D%/mod_tileseed_dump.c \
	%D%/mod_tileseed_dump.h \
	%D%/mod_tileseed_handlers.c \
	%D%/mod_tileseed_handlers.h \
	%D%/mod_tileseed_history.c \
	%D%/mod_tileseed_layers.c \
	%D%/mod_tileseed_outcome.c \
	%D%/mod_tileseed_outcome.h \
	%D%/mod_tileseed_overview.c \
	%D%/mod_tileseed_quota.c \
	%D%/mod_tileseed_reply.c \
	%D%/mod_tileseed_reply.h \
	%D%/mod_tileseed_rest.c \
	%D%/mod_tileseed_status.c \
	%D%/mod_tileseed_supervise.c \
	%D%/mod_tileseed_supervise.h \
	%D%/mod_tileseed_tasks.c \
	%D%/mod_tileseed_tiles.c \
	%D%/mod_tileseed_wait.c \
	%D%/mod_tileseed_wait.h \
	%D%/mod_tileseed_wanted.c \
	%D%/mod_tileseed_wanted.h
if FLEET
mod_tileseed_la_SOURCES += %D%/mod_tileseed_hosts.c
else
mod_tileseed_la_SOURCES += %D%/mod_tileseed_no_hosts.c
endif
