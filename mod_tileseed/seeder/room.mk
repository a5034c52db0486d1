# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_capabilities_check.c \
	%D%/tseed_capabilities_check.h \
	%D%/tseed_checkpoint.c \
	%D%/tseed_checkpoint.h \
	%D%/tseed_coverage_file.c \
	%D%/tseed_coverage_file.h \
	%D%/tseed_coverages.c \
	%D%/tseed_coverages.h \
	%D%/tseed_flight.c \
	%D%/tseed_flight.h \
	%D%/tseed_gauge_display.c \
	%D%/tseed_gauge_display.h \
	%D%/tseed_integrity_check.c \
	%D%/tseed_integrity_check.h \
	%D%/tseed_lending.c \
	%D%/tseed_lending.h \
	%D%/tseed_misses.c \
	%D%/tseed_misses.h \
	%D%/tseed_open_tilesets.c \
	%D%/tseed_open_tilesets.h \
	%D%/tseed_parts.c \
	%D%/tseed_parts.h \
	%D%/tseed_quota_adoption.c \
	%D%/tseed_quota_adoption.h \
	%D%/tseed_scheduler.c \
	%D%/tseed_scheduler.h \
	%D%/tseed_seeder.c \
	%D%/tseed_seeder.h \
	%D%/tseed_start.c \
	%D%/tseed_start.h \
	%D%/tseed_task_queue.c \
	%D%/tseed_task_queue.h \
	%D%/tseed_tasks.c \
	%D%/tseed_tasks.h
