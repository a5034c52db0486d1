# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseedctl_la_SOURCES += \
	%D%/tseed_ctl.h \
	%D%/tseed_ctl_http.c \
	%D%/tseed_ctl_options.c \
	%D%/tseed_ctl_print.c \
	%D%/tseed_ctl_quota.c \
	%D%/tseed_ctl_seed.c \
	%D%/tseed_ctl_server.c \
	%D%/tseed_ctl_tasks.c
