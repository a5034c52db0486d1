# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_clients.c \
	%D%/tseed_clients.h \
	%D%/tseed_context.h \
	%D%/tseed_heartbeat.c \
	%D%/tseed_heartbeat.h \
	%D%/tseed_job.h \
	%D%/tseed_job_cut.c \
	%D%/tseed_job_cut.h \
	%D%/tseed_job_derive.c \
	%D%/tseed_job_derive.h \
	%D%/tseed_job_remove.c \
	%D%/tseed_job_remove.h \
	%D%/tseed_job_store.c \
	%D%/tseed_job_store.h \
	%D%/tseed_mailbox.c \
	%D%/tseed_mailbox.h \
	%D%/tseed_miss.c \
	%D%/tseed_miss.h \
	%D%/tseed_run.c \
	%D%/tseed_run.h \
	%D%/tseed_session.c \
	%D%/tseed_session.h \
	%D%/tseed_tally.c \
	%D%/tseed_tally.h \
	%D%/tseed_workers.c \
	%D%/tseed_workers.h
