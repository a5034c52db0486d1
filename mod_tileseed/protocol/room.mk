# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_answer.c \
	%D%/tseed_answer.h \
	%D%/tseed_capabilities.c \
	%D%/tseed_capabilities.h \
	%D%/tseed_coverage.c \
	%D%/tseed_coverage.h \
	%D%/tseed_document.c \
	%D%/tseed_document.h \
	%D%/tseed_estimate.c \
	%D%/tseed_estimate.h \
	%D%/tseed_exposition.c \
	%D%/tseed_exposition.h \
	%D%/tseed_form.c \
	%D%/tseed_form.h \
	%D%/tseed_gauge.h \
	%D%/tseed_json.c \
	%D%/tseed_lists.c \
	%D%/tseed_lists.h \
	%D%/tseed_members.c \
	%D%/tseed_members.h \
	%D%/tseed_metrics.c \
	%D%/tseed_metrics.h \
	%D%/tseed_parameters.c \
	%D%/tseed_parameters.h \
	%D%/tseed_quota_config.c \
	%D%/tseed_quota_config.h \
	%D%/tseed_route.c \
	%D%/tseed_route.h \
	%D%/tseed_seed_document.c \
	%D%/tseed_seed_request.c \
	%D%/tseed_seed_request.h \
	%D%/tseed_seed_warning.c \
	%D%/tseed_service.c \
	%D%/tseed_service.h \
	%D%/tseed_settings.h \
	%D%/tseed_task.c \
	%D%/tseed_task.h \
	%D%/tseed_task_check.c \
	%D%/tseed_task_check.h \
	%D%/tseed_tile_address.c \
	%D%/tseed_usage.c \
	%D%/tseed_usage.h \
	%D%/tseed_wmts_document.c \
	%D%/tseed_write.c \
	%D%/tseed_write.h
