import type { GroupKind } from "../../src/usage_store/port.ts";

/** Instants in a zone, and the keys of their groups there. */
export const LOCAL_KEYS: [time_zone: string, kind: GroupKind, instants: string[], keys: string[]][] = [
  ["UTC", "hour", ["2026-11-21T13:59:59.999Z"], ["2026-11-21T13:00+00:00"]],
  ["Asia/Kuala_Lumpur", "hour", ["2026-11-21T05:00Z"], ["2026-11-21T13:00+08:00"]],
  ["Asia/Kuala_Lumpur", "day", ["2026-11-20T15:59Z", "2026-11-20T16:00Z"], ["2026-11-20", "2026-11-21"]],
  ["Asia/Kathmandu", "day", ["2026-01-01T18:14Z", "2026-01-01T18:15Z"], ["2026-01-01", "2026-01-02"]],
  ["Asia/Kathmandu", "hour", ["1985-12-31T18:29Z"], ["1985-12-31T23:00+05:30"]],
  [
    "America/New_York",
    "hour",
    ["2026-11-01T05:30Z", "2026-11-01T06:30Z"],
    ["2026-11-01T01:00-04:00", "2026-11-01T01:00-05:00"],
  ],
  ["America/Sao_Paulo", "day", ["2018-11-04T02:59Z", "2018-11-04T03:00Z"], ["2018-11-03", "2018-11-04"]],
  ["America/Sao_Paulo", "hour", ["2018-11-04T03:00Z"], ["2018-11-04T01:00-02:00"]],
  [
    "America/St_Johns",
    "hour",
    ["2006-04-02T03:30Z", "2006-04-02T03:31Z"],
    ["2006-04-02T00:00-03:30", "2006-04-02T01:00-02:30"],
  ],
  ["Africa/Monrovia", "hour", ["1970-01-01T00:00Z"], ["1969-12-31T23:00-00:44:30"]],
  ["America/New_York", "month", ["1970-01-01T00:00Z", "2026-03-01T04:59Z"], ["1969-12", "2026-02"]],
];
