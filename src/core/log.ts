import pino from "pino";

/** Structured log lines on standard output, one JSON object each. */
export type Log = pino.Logger;

/** Field names whose values never reach the log, at any of the depths that we log. */
const SECRETS = ["password", "current_password", "new_password", "token", "authorization", "jwt_secret"];

export function openLog(level: string): Log {
  return pino({
    level,
    base: null,
    timestamp: () => `,"time":"${Temporal.Now.instant().toString({ smallestUnit: "millisecond" })}"`,
    redact: SECRETS.flatMap((name) => [name, `*.${name}`]),
  });
}
