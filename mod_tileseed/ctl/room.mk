# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseedctl_la_SOURCES += \
	%D%/tseed_ctl.c \
	%D%/tseed_ctl.h \
	%D%/tseed_ctl_check.c \
	%D%/tseed_ctl_http.c \
	%D%/tseed_ctl_http.h \
	%D%/tseed_ctl_json.c \
	%D%/tseed_ctl_json.h \
	%D%/tseed_ctl_layers.c \
	%D%/tseed_ctl_options.c \
	%D%/tseed_ctl_options.h \
	%D%/tseed_ctl_print.c \
	%D%/tseed_ctl_print.h \
	%D%/tseed_ctl_quota.c \
	%D%/tseed_ctl_seed.c \
	%D%/tseed_ctl_tasks.c \
	%D%/tseed_ctl_wait.c
