/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What both ends of the socket must agree on: names, and the limits a client can rely on.
 */

#define WIRE_SOCKET_PATH "/run/cgtask/cgtask.sock"
#define WIRE_SOCKET_ENV "CGTASK_SOCKET" /* another socket, for tests and daemons without systemd */

#define WIRE_DATABASE_PATH "/var/lib/cgtask/cgtask.db"

#define WIRE_INTERFACE "io.cgtask.Executions"
#define WIRE_SERVICE "org.varlink.service"

#define WIRE_ERROR_NO_SUCH_EXECUTION WIRE_INTERFACE ".NoSuchExecution"
#define WIRE_ERROR_NOT_YOURS WIRE_INTERFACE ".NotYours"
#define WIRE_ERROR_QUOTA_EXCEEDED WIRE_INTERFACE ".QuotaExceeded"
#define WIRE_ERROR_LIMIT_REFUSED WIRE_INTERFACE ".LimitRefused"
#define WIRE_ERROR_UNSUPPORTED WIRE_INTERFACE ".Unsupported"
#define WIRE_ERROR_NOT_READY WIRE_INTERFACE ".NotReady"
#define WIRE_ERROR_STORE_UNAVAILABLE WIRE_INTERFACE ".StoreUnavailable"

#define WIRE_ERROR_INTERFACE_NOT_FOUND WIRE_SERVICE ".InterfaceNotFound"
#define WIRE_ERROR_METHOD_NOT_FOUND WIRE_SERVICE ".MethodNotFound"
#define WIRE_ERROR_METHOD_NOT_IMPLEMENTED WIRE_SERVICE ".MethodNotImplemented"
#define WIRE_ERROR_INVALID_PARAMETER WIRE_SERVICE ".InvalidParameter"
#define WIRE_ERROR_PERMISSION_DENIED WIRE_SERVICE ".PermissionDenied"
#define WIRE_ERROR_EXPECTED_MORE WIRE_SERVICE ".ExpectedMore"
#define WIRE_ERROR_EXPECTED_UPGRADE WIRE_SERVICE ".ExpectedUpgrade"

#define WIRE_ID_LENGTH 32                /* UUIDv7, lower-case hex digits */
#define WIRE_CGROUP_PREFIX "x-"          /* directory of an execution: x-<id> */
#define WIRE_REPLY_MAX (4 * 1024 * 1024) /* a client refuses a longer reply */
