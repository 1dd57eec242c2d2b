import pino from "pino";
import { traceIds } from "./trace.ts";

/** Structured log lines on standard output, one JSON object each. */
export type Log = pino.Logger;

/** Field names whose values never reach the log, at any of the depths that we log. */
const SECRETS = [
  "password",
  "current_password",
  "new_password",
  "token",
  "authorization",
  "jwt_secret",
  "loan_service_key",
  "metrics_token",
  "operator_token",
  "server_token",
  "backup_identity",
  "database_url",
  "usage_url",
  "admin_password",
  "secret",
  "secrets",
  "secrets_keys",
  "private_key_pem",
  "private_key_sealed",
];

export function openLog(level: string): Log {
  return pino({
    level,
    base: null,
    timestamp: () => `,"time":"${Temporal.Now.instant().toString({ smallestUnit: "millisecond" })}"`,
    mixin: traceIds,
    serializers: { err: withoutParameters },
    redact: SECRETS.flatMap((name) => [name, `*.${name}`]),
  });
}

/**
 * An error as it is logged. A failed query brings its parameters along, in its message and its stack too:
 * password hashes and emails among them.
 */
export function withoutParameters(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { params: _, query: __, ...rest } = pino.stdSerializers.err(error);
  return { ...rest, message: truncate(rest.message), stack: truncate(rest.stack) };
}

function truncate(text: string): string {
  return text.replaceAll(/\n?params: .*/g, "");
}
