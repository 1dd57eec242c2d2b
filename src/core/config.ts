import { resolve } from "node:path";
import { passwordProblem } from "./password_policy.ts";
import { SHARED_LIMITS } from "./limits.ts";

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
  /** Documents of loan applications that came to nothing are kept for so many days. */
  loan_document_days: number;
  log_level: LogLevel;
  rate_limit_enabled: boolean;
  /** Failed sign-ins a minute for one network and email or clientId. Decision 0003 has the limits beside it. */
  rate_limit_login: number;
  /** Requests a minute for one user or API key, usage ingest aside. */
  rate_limit_requests: number;
  /** For so many seconds a refresh token that was used is taken again; else its second use ends the grant. */
  refresh_grace_s: number;
  usage_query_timeout_ms: number;
  usage_memory_limit: string | null;
  /** Believe X-Forwarded-For: only behind a proxy that sets it. */
  trust_proxy: boolean;
  /** Who may read /metrics: whoever has this token, or reaches that port; neither: nobody. */
  metrics_token: string | null;
  metrics_port: number | null;
  /** Lets agents of users work on loans by tools; null: nobody sees such tools. */
  loan_service_key: string | null;
  /** Outside of production webhooks may go to this machine. */
  is_production: boolean;
  /** What seals secrets in the database: the first seals, each opens; null: none are kept. */
  secrets_keys: readonly Uint8Array[] | null;
  /** The origin of the FPX scheme's endpoints; null: no company can work with it. */
  fpx_url: string | null;
  /** A file with the private key of the sellers that are named; for nobody else. */
  fpx_private_key_file: string | null;
  fpx_private_key_sellers: readonly Seller[] | null;
}

/** A seller of the FPX scheme, and the one company that may act as it. */
export interface Seller {
  company_id: number;
  exchange_id: string;
  seller_id: string;
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

/** An origin that secrets and money may go to: https, and http on this machine only. */
function safeOrigin(value: string): string {
  const url = URL.parse(origin(value));
  const is_here = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url?.hostname ?? "");
  if (url?.protocol === "https:" || is_here) return origin(value);
  throw new BadSetting("must be https; http is for this machine only");
}

/** One key or two, separated by a comma: each 32 bytes in base64 or hexadecimal digits. */
function secretsKeys(value: string): readonly Uint8Array[] {
  const keys = value.split(",").map((part) => {
    const encoding = /^[0-9a-f]{64}$/i.test(part) ? "hex" : "base64";
    return /^([0-9a-f]{64}|[\w+/-]{43}=?)$/i.test(part) ? Buffer.from(part, encoding) : null;
  });
  const read = keys.filter((key) => key?.length === SHARED_LIMITS.secret_bytes);
  if (read.length === keys.length && keys.length <= SHARED_LIMITS.secrets_keys)
    return read.filter((key) => key !== null);
  throw new BadSetting(
    `must be ${SHARED_LIMITS.secret_bytes} bytes in base64 or hexadecimal digits, and may have an older key after a comma`,
  );
}

/** `1:EX00000001/SE00000001`: a company, an exchange and a seller; more of them after commas. */
function sellers(value: string): readonly Seller[] {
  const read = value.split(",").map((part): Seller | null => {
    const [, company = "", exchange_id = "", seller_id = ""] =
      /^([1-9]\d{0,14}):([A-Za-z0-9]{1,10})\/([A-Za-z0-9]{1,10})$/.exec(part.trim()) ?? [];
    return company === "" ? null : { company_id: Number(company), exchange_id, seller_id };
  });
  const good = read.filter((seller) => seller !== null);
  const names = new Set(good.map(({ exchange_id, seller_id }) => `${exchange_id}/${seller_id}`));
  if (good.length === read.length && names.size === good.length) return good;
  throw new BadSetting(
    "must name a company, an exchange and a seller such as 1:EX00000001/SE00000001, more of them after commas, no seller twice",
  );
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
  const { password_length_min: min, password_length_max: max } = SHARED_LIMITS;
  if (value.length >= min && value.length <= max) return value;
  throw new BadSetting(`must be ${min} to ${max} characters`);
}

function size(value: string): string {
  if (/^[1-9]\d{0,5}(MB|GB)$/.test(value)) return value;
  throw new BadSetting("must be a size such as 512MB or 4GB");
}

function metricsToken(value: string): string {
  if (/^[\x21-\x7e]+$/.test(value) && value.length >= SHARED_LIMITS.secret_bytes) return value;
  throw new BadSetting(
    `must be at least ${SHARED_LIMITS.secret_bytes} letters, digits and punctuation of ASCII, without spaces`,
  );
}

/** A shorter one could be found by trying, from any token that it signed. */
function signingSecret(value: string): string {
  const bytes = new TextEncoder().encode(value).length;
  if (bytes >= SHARED_LIMITS.secret_bytes) return value;
  throw new BadSetting(
    `must have at least ${SHARED_LIMITS.secret_bytes} bytes, and has ${bytes}: make one with \`openssl rand -base64 48\`, or leave it unset`,
  );
}

function secretText(value: string): string {
  if (/^[\x21-\x7e]+$/.test(value)) return value;
  throw new BadSetting("must be letters, digits and punctuation of ASCII, without spaces");
}

const flag = (value: string) => oneOf(["true", "false"])(value) === "true";

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
  trust_proxy: defineSetting("TRUST_PROXY", "false", "Take the caller's address from X-Forwarded-For", flag),
  metrics_token: defineSetting(
    "METRICS_TOKEN",
    null,
    "Bearer token for `/metrics`, 32 characters or more; without it and METRICS_PORT nobody sees them",
    metricsToken,
  ),
  metrics_port: defineSetting(
    "METRICS_PORT",
    null,
    "TCP port that serves `/metrics` alone, for a network that the world does not reach",
    integer(0, 65_535),
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
  secrets_keys: defineSetting(
    "SECRETS_KEY",
    null,
    "Seals secrets in the database: 32 bytes in base64 or hex, an older key after a comma; unset: webhook secrets lie open, private keys are refused",
    secretsKeys,
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
  if (values.metrics_port !== null && values.metrics_port !== 0 && values.metrics_port === values.port)
    problems.push("METRICS_PORT must be another than PORT");
  const { admin_email, admin_password } = values;
  if (typeof admin_email === "string" && typeof admin_password === "string") {
    const problem = passwordProblem(admin_password, admin_email);
    if (problem !== null) problems.push(`ADMIN_PASSWORD ${problem}`);
  }
  const is_key_file_set = values.fpx_private_key_file !== null;
  if (is_key_file_set && values.fpx_private_key_sellers === null)
    problems.push("FPX_PRIVATE_KEY_SELLERS must name who signs with FPX_PRIVATE_KEY_FILE");
  if (!is_key_file_set && values.fpx_private_key_sellers !== null)
    problems.push("FPX_PRIVATE_KEY_SELLERS needs FPX_PRIVATE_KEY_FILE");
  if (environment.USAGE_URL) problems.push("USAGE_URL must be unset: usage events are kept in DATA_DIR");
  for (const name of Object.keys(environment)) {
    if (name.startsWith("METERHOUSE_")) problems.push(`${name} is not a setting (settings have no prefix)`);
  }
  if (problems.length > 0) throw new Error(`Cannot start: ${problems.join("; ")}`);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- SETTINGS has every key of Config, with its type
  return Object.freeze(values) as unknown as Config;
}
