import { resolve } from "node:path";

/** Bounds that nobody needs to turn, in one place. Sizes in bytes, times as their name says. */
export const LIMITS = {
  body_bytes: 5 * 1024 * 1024,
  /** Bodies being read at once, all together. */
  bodies_bytes: 128 * 1024 * 1024,
  /** A line of a stream of lines: an event's largest metadata fit in, every character escaped. */
  line_bytes: 128 * 1024,
  /** How long a stream of lines may take to send the next block of them. */
  line_block_ms: 60_000,
  /** Metadata may nest 100 levels, inside an event of a batch. */
  body_depth: 110,
  /** How long a shutdown waits for answers in flight before it cuts them off, and how long it takes in all. */
  drain_ms: 6_000,
  shutdown_ms: 9_000,
  page_limit: 200,
  page_limit_default: 20,
  /** A list that answers whole when no page is asked for stops here. */
  list_rows: 1_000,
  page_number: 1_000_000_000,
  name_length: 200,
  description_length: 1_000,
  external_id_length: 200,
  /** How far ahead a subscription may start: further is a slip of the keyboard. */
  start_years_ahead: 100,
  email_length: 254,
  password_length_min: 12,
  password_length_max: 256,
  rest_token_hours: 24,
  /** As long as the hash that it keys: a shorter secret is easier to guess than to break. */
  secret_bytes: 32,
  /** Verified tokens remembered, to spare their signature check. */
  token_cache: 10_000,
  /** Password hashes computed at once, and callers that may wait for one. */
  password_hashes: 4,
  password_hashes_waiting: 200,
  usage_tiers: 100,
  /** Forms that a client may have: its list answers whole. */
  forms_client: 200,
  form_bytes: 64 * 1024,
  form_fields: 200,
  form_options: 500,
  form_name_length: 100,
  /** A label, placeholder, option or title. */
  form_text_length: 200,
  /** Broken rules of a form that are named in one answer. */
  form_problems: 100,
  usage_batch: 1_000,
  usage_filter_ids: 1_000,
  usage_search_limit: 200,
  usage_search_limit_default: 50,
  usage_groups: 10_000,
  /** Groups by subscription that are read to be folded into groups by client or product. */
  usage_groups_folded: 100_000,
  usage_search_text_length: 200,
  usage_cursor_length: 500,
  /** A key of metadata by which groups are made, or that is told of. */
  usage_metadata_key_length: 200,
  /** Longer values are cut to make the key of a group. */
  usage_group_key_length: 500,
  /** How many of the newest events the list of metadata keys goes through, how deep, and what it tells of them. */
  usage_keys_events: 100_000,
  usage_keys_bytes: 16 * 1024 * 1024,
  usage_keys_depth: 5,
  usage_keys_elements: 3,
  usage_keys: 200,
  usage_keys_samples: 5,
  usage_keys_sample_length: 100,
  /** Broken rules named in the answer to one ingest request. */
  usage_problems: 100,
  usage_metadata_keys: 50,
  usage_metadata_bytes: 16_384,
  /** How long a stream of events waits, in all, for a store that takes no more just now. */
  usage_stream_wait_ms: 15_000,
  usage_future_ms: 3_600_000,
  /** Memory of the engine that reads an imported file. */
  usage_import_memory: "512MB",
  usage_import_threads: 2,
  /** What it reads ahead of what is stored. */
  usage_import_buffer: "64MB",
  /** Rows of a file that are stored at once, and that are read one by one at once. */
  usage_import_block: 500_000,
  usage_import_slice: 2_000,
  /** Rows whose keys are taken for those of the file. */
  usage_import_sample: 10_000,
  /** Events waiting for their commit before ingest answers "later". */
  usage_pending_events: 200_000,
  /** How long the comparison of sums with events may take. */
  usage_check_ms: 600_000,
  usage_readers: 4,
  usage_readers_waiting: 256,
  /** Exports that run at once, and that may wait for those. */
  usage_exports: 2,
  usage_exports_waiting: 8,
  usage_exports_waiting_company: 2,
  /** How long an export may take, its wait included, and how long its receiver may take nothing. */
  usage_export_ms: 1_800_000,
  usage_export_idle_ms: 60_000,
  /** Events that an export sorts at once, where it can't part them by time. */
  usage_export_sorted: 1_000_000,
  /** Changes of a subscription's billing model, cancelled ones aside. */
  billing_model_changes: 1_000,
  /** How far ahead a change may be scheduled. */
  change_years_ahead: 100,
  /** Changes that are applied in one transaction where nothing else comes with them. */
  changes_batch: 50,
  /** Subscriptions whose credits are counted at once. */
  credits_batch: 500,
  billing_run_subscriptions: 1_000,
  billing_run_errors: 1_000,
  /** Records that a run answers. */
  billing_run_records: 100,
  /** How long POST /billing-runs waits for its run before it answers "running". */
  billing_run_wait_ms: 10_000,
  /** A run that has told of no progress for so long is dead. */
  billing_run_silent_minutes: 15,
  /** Subscriptions whose periods a run looks for at once, and periods that it writes in one transaction. */
  billing_batch_subscriptions: 200,
  billing_batch_periods: 200,
  /** After so many failures of a store in a row a run gives up: it is not the subscriptions' fault. */
  billing_store_failures: 5,
  /** How far back the daily job looks for late usage. */
  billing_recheck_days: 90,
  /** What an entry of the audit log keeps of an input: characters in all and of one text, depth, members. */
  audit_entry_characters: 4_000,
  audit_entry_text: 500,
  audit_entry_depth: 8,
  audit_entry_members: 100,
  /** Places of what an entry leaves out that it names. */
  audit_entry_withheld: 20,
  /** A failed sign-in is written down so long after its answer, which must not tell whether the email is known. */
  audit_sign_in_delay_ms: 100,
  /** How long an Idempotency-Key is remembered. */
  idempotency_hours: 24,
  /** A request that has not been answered for so long is believed to be dead: a repeat takes its key over. */
  idempotency_lease_s: 60,
  /** When a repeat of a request that is under way is told to come back, at most. */
  idempotency_retry_s: 5,
  /** Longer answers are not kept for repeats. */
  idempotency_answer_characters: 1024 * 1024,
  /** How long what happened is told, once everyone who listens was told of it. */
  event_days: 90,
  /** Endpoints of a company, patterns of an endpoint, and what its URL may be long. */
  webhook_endpoints: 50,
  webhook_event_types: 100,
  webhook_url_length: 2_048,
  /** How long saving an endpoint waits for its host to be resolved. */
  webhook_resolve_ms: 3_000,
  /** A whole attempt: resolving, connecting, sending, reading the answer's beginning. */
  webhook_timeout_ms: 15_000,
  webhook_excerpt_bytes: 1_024,
  /** A log's last attempts, where it was redelivered often. */
  webhook_attempts_kept: 30,
  /** Attempts under way at once: in all, for one endpoint, and for all that failed last, together. */
  webhook_slots: 256,
  webhook_slots_endpoint: 4,
  webhook_slots_failing: 128,
  /** How often the dispatcher looks for new events and due deliveries. */
  webhook_poll_ms: 250,
  /** What a dispatcher has claimed is another's after so long without a word from it. */
  webhook_lease_ms: 8_000,
  webhook_renew_ms: 2_000,
  /** Events that are turned into deliveries in one transaction, and endpoints served in one turn. */
  webhook_fan_out_events: 100,
  webhook_due_endpoints: 1_000,
  /** How long a shutdown waits for attempts under way. */
  webhook_drain_ms: 3_000,
  /** How long an old secret signs beside the new one, and how many secrets sign at once. */
  webhook_secret_hours: 24,
  webhook_secrets: 5,
  /** How long finished deliveries are told of. */
  webhook_log_days: 30,
  /** Rows that are forgotten in one transaction. */
  prune_rows: 2_000,
  /** Buckets a rate limiter remembers. */
  rate_limit_buckets: 100_000,
} as const;

/** Everything that may be set from outside, read once at the start. */
export interface Config {
  port: number;
  host: string;
  /** The origin under which the world reaches the service, without a slash at the end; null: this machine. */
  public_url: string | null;
  data_dir: string;
  /** PostgreSQL's address, or null for SQLite in data_dir. */
  database_url: string | null;
  jwt_secret: string | null;
  admin_email: string;
  admin_password: string | null;
  company_name: string;
  /** How long after its end a period is billed. */
  billing_grace: Temporal.Duration;
  /** Entries of the audit log are kept for so many days. */
  audit_log_days: number;
  log_level: LogLevel;
  rate_limit_enabled: boolean;
  /** Failed sign-ins a minute for one address and email; twenty times as many for the address alone. */
  rate_limit_login: number;
  /** Requests a minute for one user, usage ingest aside. */
  rate_limit_requests: number;
  usage_query_timeout_ms: number;
  usage_memory_limit: string;
  /** Believe X-Forwarded-For: only behind a proxy that sets it. */
  trust_proxy: boolean;
  /** Outside of production webhooks may go to this machine. */
  is_production: boolean;
}

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
type LogLevel = (typeof LOG_LEVELS)[number];

/** One environment variable: what it means, what holds when it is not set, and how its text is read. */
interface Setting<T> {
  name: string;
  help: string;
  fallback: string | null;
  read(text: string): T;
}

/** A value that can't be used; the message says what is allowed. */
class BadSetting extends Error {}

function defineSetting<T>(
  name: string,
  fallback: string | null,
  help: string,
  read: (text: string) => T,
): Setting<T> {
  return { name, fallback, help, read };
}

const text = (value: string) => value;

function integer(min: number, max: number) {
  return (value: string): number => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= min && number <= max) return number;
    throw new BadSetting(`must be a whole number from ${min} to ${max}`);
  };
}

function oneOf<const V extends string>(values: readonly V[]) {
  return (value: string): V => {
    const found = values.find((candidate) => candidate === value);
    if (found !== undefined) return found;
    throw new BadSetting(`must be one of ${values.join(", ")}`);
  };
}

function origin(value: string): string {
  const url = URL.parse(value);
  if (url && /^https?:$/.test(url.protocol) && url.pathname === "/" && !url.search) return url.origin;
  throw new BadSetting("must be an http or https origin such as https://billing.example.com");
}

function postgresUrl(value: string): string {
  if (/^postgres(ql)?:\/\//.test(value)) return value;
  throw new BadSetting("must start with postgres://, or be unset for SQLite in DATA_DIR");
}

function duration(value: string): Temporal.Duration {
  try {
    const read = Temporal.Duration.from(value);
    if (read.sign >= 0 && read.years === 0 && read.months === 0 && read.weeks === 0 && read.days === 0)
      return read;
  } catch {
    // answered below
  }
  throw new BadSetting("must be an ISO 8601 duration in hours, minutes and seconds, such as PT1H");
}

function seconds(value: string): number {
  const number = Number(value);
  if (/^\d+$/.test(value) && number >= 1 && number <= 3_600) return number * 1_000;
  throw new BadSetting("must be a whole number of seconds from 1 to 3600");
}

function adminEmail(value: string): string {
  if (/^[^\s@]+@[^\s@]+$/.test(value)) return value;
  throw new BadSetting("must be an email address");
}

function adminPassword(value: string): string {
  const { password_length_min: min, password_length_max: max } = LIMITS;
  if (value.length >= min && value.length <= max) return value;
  throw new BadSetting(`must be ${min} to ${max} characters`);
}

function size(value: string): string {
  if (/^[1-9]\d{0,5}(MB|GB)$/.test(value)) return value;
  throw new BadSetting("must be a size such as 512MB or 4GB");
}

const flag = (value: string) => oneOf(["true", "false"])(value) === "true";

/** Every setting, in the order of the README's table. */
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
  jwt_secret: defineSetting(
    "JWT_SECRET",
    null,
    "Signs tokens, best 32 bytes or more; unset: made once in DATA_DIR",
    text,
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
  log_level: defineSetting("LOG_LEVEL", "info", LOG_LEVELS.join(", "), oneOf(LOG_LEVELS)),
  rate_limit_enabled: defineSetting("RATE_LIMIT_ENABLED", "true", "Turns the rate limits on", flag),
  rate_limit_login: defineSetting(
    "RATE_LIMIT_LOGIN",
    "10",
    "Failed sign-ins a minute for one address and email",
    integer(1, 1e6),
  ),
  rate_limit_requests: defineSetting(
    "RATE_LIMIT_REQUESTS",
    "60000",
    "Requests a minute for one user, ingest aside",
    integer(1, 1e9),
  ),
  usage_query_timeout_ms: defineSetting(
    "USAGE_QUERY_TIMEOUT",
    "30",
    "Seconds a usage query may take",
    seconds,
  ),
  usage_memory_limit: defineSetting(
    "USAGE_MEMORY_LIMIT",
    "2GB",
    "Memory that usage queries may take together",
    size,
  ),
  trust_proxy: defineSetting("TRUST_PROXY", "false", "Take the caller's address from X-Forwarded-For", flag),
  is_production: defineSetting(
    "NODE_ENV",
    "production",
    "Anything else lets webhooks go to this machine, over http too",
    (value) => value === "production",
  ),
} satisfies { [K in keyof Config]: Setting<Config[K] & {}> };

/**
 * Reads the environment into the one frozen configuration.
 * Errors: throws one Error whose lines name every variable that can't be used, and every METERHOUSE_*
 * variable, since none exists: a misspelt setting must not be ignored silently.
 */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const problems: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(SETTINGS)) {
    const { name, fallback } = setting;
    const given = environment[name] === "" ? undefined : environment[name];
    const value = given ?? fallback;
    try {
      values[key] = value === null ? null : setting.read(value);
    } catch (error) {
      if (!(error instanceof BadSetting)) throw error;
      problems.push(`${name} ${error.message}`);
    }
  }
  if (environment.USAGE_URL) problems.push("USAGE_URL must be unset: usage events are kept in DATA_DIR");
  for (const name of Object.keys(environment)) {
    if (name.startsWith("METERHOUSE_")) problems.push(`${name} is not a setting (settings have no prefix)`);
  }
  if (problems.length > 0) throw new Error(`Cannot start: ${problems.join("; ")}`);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- SETTINGS has every key of Config, with its type
  return Object.freeze(values) as unknown as Config;
}
