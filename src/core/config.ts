import { resolve } from "node:path";
import { findConflicts } from "./config_conflicts.ts";
import { findSettings } from "./config_sources.ts";
import { unmendable } from "./exit_codes.ts";
import {
  adminEmail,
  adminPassword,
  ageIdentity,
  ageRecipient,
  backupUrl,
  bucketUrl,
  BadSetting,
  clickHouseUrl,
  duration,
  flag,
  httpUrl,
  integer,
  keptPoints,
  longToken,
  oneOf,
  origin,
  postgresUrl,
  safeOrigin,
  seconds,
  secretsKeys,
  secretText,
  sellers,
  share,
  shippingInterval,
  signingSecret,
  size,
  sizeInBytes,
  text,
  timeOfDay,
} from "./setting_values.ts";

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** One environment variable: its help, its default, and how its text is read. */
interface Setting<T> {
  name: string;
  help: string;
  fallback: string | null;
  read(text: string): T;
}

/** Defines a setting; without a default its value is null while it is not set. */
function defineSetting<T>(
  name: string,
  fallback: string,
  help: string,
  read: (text: string) => T,
): Setting<T>;
function defineSetting<T>(
  name: string,
  fallback: null,
  help: string,
  read: (text: string) => T,
): Setting<T | null>;
function defineSetting<T>(
  name: string,
  fallback: string | null,
  help: string,
  read: (text: string) => T,
): Setting<T> {
  return { name, fallback, help, read };
}

/** Every setting, in the order of docs/configuration.md. */
export const SETTINGS = {
  port: defineSetting("PORT", "3000", "TCP port", integer(0, 65_535)),
  host: defineSetting("HOST", "0.0.0.0", "Address to listen on", text),
  public_url: defineSetting(
    "PUBLIC_URL",
    null,
    "Origin under which users reach the service; unset: localhost and PORT",
    origin,
  ),
  data_dir: defineSetting(
    "DATA_DIR",
    "./data/var",
    "Folder of the databases and the signing secret",
    (value) => resolve(value),
  ),
  database_url: defineSetting("DATABASE_URL", null, "`postgres://…`; unset: SQLite in DATA_DIR", postgresUrl),
  instance_url: defineSetting(
    "INSTANCE_URL",
    null,
    "Where other instances on the same database reach this one, such as `http://10.0.0.5:3001`; unset: it is the only one",
    origin,
  ),
  usage_url: defineSetting(
    "USAGE_URL",
    null,
    "ClickHouse that keeps usage events, `https://user:password@host:8443/database`; unset: DuckDB in DATA_DIR",
    clickHouseUrl,
  ),
  usage_lanes: defineSetting(
    "USAGE_LANES",
    "8",
    "Parts that companies are divided over at USAGE_URL, each stored by one instance; counts when its tables are made, 1 to 64",
    integer(1, 64),
  ),
  documents_url: defineSetting(
    "DOCUMENTS_URL",
    null,
    "Bucket of uploaded documents, `s3://bucket/prefix?region=…&endpoint=…`; unset: DATA_DIR",
    bucketUrl,
  ),
  aws_access_key_id: defineSetting(
    "AWS_ACCESS_KEY_ID",
    null,
    "The key that may read, write, list and delete at DOCUMENTS_URL",
    text,
  ),
  aws_secret_access_key: defineSetting("AWS_SECRET_ACCESS_KEY", null, "Its secret", text),
  jwt_secret: defineSetting(
    "JWT_SECRET",
    null,
    "Signs tokens, 32 bytes or more; unset: made once in DATA_DIR",
    signingSecret,
  ),
  admin_email: defineSetting(
    "ADMIN_EMAIL",
    "admin@example.com",
    "First start: the first admin's email",
    adminEmail,
  ),
  admin_password: defineSetting(
    "ADMIN_PASSWORD",
    null,
    "First start: its password; unset: made up and printed once",
    adminPassword,
  ),
  company_name: defineSetting("COMPANY_NAME", "My company", "First start: the first company's name", text),
  billing_grace: defineSetting(
    "BILLING_GRACE",
    "PT1H",
    "How long after its end a period is billed",
    duration,
  ),
  audit_log_days: defineSetting(
    "AUDIT_LOG_DAYS",
    "365",
    "Days that the audit log keeps its entries",
    integer(1, 36_500),
  ),
  loan_document_days: defineSetting(
    "LOAN_DOCUMENT_DAYS",
    "90",
    "Days that documents are kept after their loan application came to nothing",
    integer(1, 36_500),
  ),
  log_level: defineSetting("LOG_LEVEL", "info", LOG_LEVELS.join(", "), oneOf(LOG_LEVELS)),
  rate_limit_enabled: defineSetting("RATE_LIMIT_ENABLED", "true", "Turns the rate limits on", flag),
  /** Decision 0003 has the limits beside it. */
  rate_limit_login: defineSetting(
    "RATE_LIMIT_LOGIN",
    "10",
    "Failed sign-ins a minute for one network and email or clientId",
    integer(1, 1e6),
  ),
  rate_limit_requests: defineSetting(
    "RATE_LIMIT_REQUESTS",
    "60000",
    "Requests a minute for one user or API key, ingest aside",
    integer(1, 1e9),
  ),
  /** After it, the second use of a refresh token ends the authorization. */
  refresh_grace_s: defineSetting(
    "REFRESH_GRACE",
    "0",
    "Seconds for which an agent may use a refresh token again",
    integer(0, 300),
  ),
  usage_query_timeout_ms: defineSetting(
    "USAGE_QUERY_TIMEOUT",
    "30",
    "Seconds a usage query may take",
    seconds,
  ),
  usage_memory_limit: defineSetting(
    "USAGE_MEMORY_LIMIT",
    null,
    "Memory that the usage store's engine may take; unset: a quarter of what the process may have, at most 2GB",
    size,
  ),
  usage_retention_months: defineSetting(
    "USAGE_RETENTION_MONTHS",
    null,
    "Months that usage events are kept after their month, 13 or more; their sums by hour stay; unset: for good",
    integer(13, 1_200),
  ),
  bill_retention_years: defineSetting(
    "BILL_RETENTION_YEARS",
    "7",
    "Years that a deleted client's bills name it, after its last subscription ended, 1 to 100",
    integer(1, 100),
  ),
  disk_reserve_bytes: defineSetting(
    "DISK_RESERVE",
    "1GB",
    "Disk that is kept free in DATA_DIR: with less, writes wait and reads go on; 0: none",
    sizeInBytes,
  ),
  backup_url: defineSetting(
    "BACKUP_URL",
    null,
    "Where backups go: `file:///folder` or `s3://bucket/prefix`; unset: none are taken",
    backupUrl,
  ),
  backup_at: defineSetting(
    "BACKUP_AT",
    null,
    "Time of day, in UTC, when a backup is taken, such as `02:00`; unset: by `backup` alone",
    timeOfDay,
  ),
  backup_keep: defineSetting(
    "BACKUP_KEEP",
    "7d,5w,12m",
    "Days, weeks and months of which the newest backup is kept",
    keptPoints,
  ),
  backup_recipient: defineSetting(
    "BACKUP_RECIPIENT",
    null,
    "The age public key that backups are encrypted to; unset: they are not",
    ageRecipient,
  ),
  backup_log: defineSetting(
    "BACKUP_LOG",
    null,
    "How often what SQLite committed is shipped to BACKUP_URL, such as `PT10S`, so that any instant can be restored; unset: never",
    shippingInterval,
  ),
  /** Only behind a proxy that sets the header. */
  trust_proxy: defineSetting("TRUST_PROXY", "false", "Take the caller's address from X-Forwarded-For", flag),
  metrics_token: defineSetting(
    "METRICS_TOKEN",
    null,
    "Bearer token for `/metrics`, 32 characters or more; without it and METRICS_PORT nobody sees them",
    longToken,
  ),
  metrics_port: defineSetting(
    "METRICS_PORT",
    null,
    "TCP port that serves `/metrics` alone, for a network that the world does not reach",
    integer(0, 65_535),
  ),
  operator_token: defineSetting(
    "OPERATOR_TOKEN",
    null,
    "Opens `/operator` to commands with `--server`, 32 characters or more; unset: closed",
    longToken,
  ),
  server_token: defineSetting(
    "SERVER_TOKEN",
    null,
    "Commands with `--server`: the token of the user or API key that they act as",
    secretText,
  ),
  otlp_endpoint: defineSetting(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    null,
    "URL that traces go to by OTLP over HTTP, without its /v1/traces; unset: there are none",
    httpUrl,
  ),
  traces_share: defineSetting(
    "OTEL_TRACES_SAMPLER_ARG",
    "0.05",
    "The share of traces that are exported, 0 to 1; a request that names its trace follows its caller",
    share,
  ),
  loan_service_key: defineSetting(
    "LOAN_SERVICE_KEY",
    null,
    "A secret of ASCII letters, digits and punctuation: gives agents the tools for loans; unset: there are none",
    secretText,
  ),
  is_production: defineSetting(
    "NODE_ENV",
    "production",
    "Anything else lets webhooks go to this machine, over http too",
    (value) => value === "production",
  ),
  /** The first key encrypts, each decrypts. */
  secrets_keys: defineSetting(
    "SECRETS_KEY",
    null,
    "Seals secrets in the database: 32 bytes in base64 or hex, an older key after a comma; unset: webhook secrets lie open, private keys are refused",
    secretsKeys,
  ),
  backup_identity: defineSetting(
    "BACKUP_IDENTITY",
    null,
    "The age secret key of encrypted backups, for `backup verify` and its weekly job; unset: they are verified elsewhere",
    ageIdentity,
  ),
  fpx_url: defineSetting(
    "FPX_URL",
    null,
    "Origin of the FPX scheme, https; unset: e-mandates work in the sandbox only",
    safeOrigin,
  ),
  fpx_private_key_file: defineSetting(
    "FPX_PRIVATE_KEY_FILE",
    null,
    "PEM file of a private key for the sellers in FPX_PRIVATE_KEY_SELLERS, where they have stored none",
    (value) => resolve(value),
  ),
  fpx_private_key_sellers: defineSetting(
    "FPX_PRIVATE_KEY_SELLERS",
    null,
    "Who signs with that file: company:exchange/seller, such as `1:EX00000001/SE00000001`, more after commas",
    sellers,
  ),
};

type ValueOf<S> = S extends Setting<infer T> ? T : never;

/** The configuration: the value of every setting, read once at the start. */
export type Config = { [K in keyof typeof SETTINGS]: ValueOf<(typeof SETTINGS)[K]> };

/** Settings whose values are shown to nobody, and may stand in a file of their own. */
const SECRETS: ReadonlySet<string> = new Set(
  [
    SETTINGS.database_url,
    SETTINGS.usage_url,
    SETTINGS.aws_secret_access_key,
    SETTINGS.jwt_secret,
    SETTINGS.admin_password,
    SETTINGS.metrics_token,
    SETTINGS.operator_token,
    SETTINGS.server_token,
    SETTINGS.loan_service_key,
    SETTINGS.secrets_keys,
    SETTINGS.backup_identity,
  ].map(({ name }) => name),
);

const NAMES: readonly string[] = Object.values(SETTINGS).map(({ name }) => name);

/** A setting as people see it. */
export interface ShownSetting {
  name: string;
  /** Masked where it is a secret; null where it is unset. */
  value: string | null;
  /** `environment`, a file's path, or `default`. */
  source: string;
}

/** A URL's user and password are shown to nobody either. */
const withoutUser = (url: string) => url.replace(/^(\w+:\/\/)[^/]*@/, "$1********@");

/** Every setting with its value and where that comes from, whether it can be used or not. */
export function showSettings(environment: Record<string, string | undefined>): ShownSetting[] {
  const { given } = findSettings(environment, NAMES, SECRETS);
  return Object.values(SETTINGS).map(({ name, fallback }) => {
    const found = given.get(name);
    if (found === undefined) return { name, value: fallback, source: "default" };
    return { name, value: SECRETS.has(name) ? "********" : withoutUser(found.text), source: found.source };
  });
}

/**
 * Reads the settings into the one frozen configuration (see `findSettings` for where they stand).
 * Errors: throws one Error whose line names every setting that can't be used, every unknown key, and every METERHOUSE_*
 * variable, since none exists: a misspelt setting must not be ignored silently.
 */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const { given, problems } = findSettings(environment, NAMES, SECRETS);
  const values: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(SETTINGS)) {
    const { name, fallback } = setting;
    const value = given.get(name)?.text ?? fallback;
    try {
      values[key] = value === null ? null : setting.read(value);
    } catch (error) {
      if (!(error instanceof BadSetting)) throw error;
      problems.push(`${name} ${error.message}`);
    }
  }
  problems.push(...findConflicts(values));
  if (problems.length > 0) throw unmendable(`Cannot start: ${problems.join("; ")}`);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- SETTINGS has every key of Config, with its type
  return Object.freeze(values) as unknown as Config;
}
