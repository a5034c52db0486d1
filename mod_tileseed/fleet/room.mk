# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
# Without the fleet the doors are there, and one host.
libtileseed_la_SOURCES += \
	%D%/tseed_doors.h \
	%D%/tseed_fleet.c \
	%D%/tseed_fleet.h
if FLEET
libtileseed_la_SOURCES += \
	%D%/tseed_deadline.c \
	%D%/tseed_deadline.h \
	%D%/tseed_errands.c \
	%D%/tseed_errands.h \
	%D%/tseed_fleet_rows.c \
	%D%/tseed_fleet_rows.h \
	%D%/tseed_helper.c \
	%D%/tseed_helper.h \
	%D%/tseed_host_document.c \
	%D%/tseed_host_document.h \
	%D%/tseed_host_file.c \
	%D%/tseed_host_file.h \
	%D%/tseed_hosts.c \
	%D%/tseed_hosts.h \
	%D%/tseed_lease.c \
	%D%/tseed_lease.h \
	%D%/tseed_pack.c \
	%D%/tseed_pack.h \
	%D%/tseed_portion.c \
	%D%/tseed_portion.h \
	%D%/tseed_portions.c \
	%D%/tseed_portions.h \
	%D%/tseed_relay.c \
	%D%/tseed_relay.h
endif
