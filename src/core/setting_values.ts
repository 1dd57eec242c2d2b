import { SHARED_LIMITS } from "./limits.ts";

// How the text of a setting is read. Each throws a BadSetting that says what is allowed.

/** A value that can't be used; the message says what is allowed. */
export class BadSetting extends Error {}

/** A seller of the FPX scheme, and the one company that may act as it. */
interface Seller {
  company_id: number;
  exchange_id: string;
  seller_id: string;
}

export const text = (value: string) => value;

export function integer(min: number, max: number) {
  return (value: string): number => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= min && number <= max) return number;
    throw new BadSetting(`must be a whole number from ${min} to ${max}`);
  };
}

/** A share of all: `0.05`. */
export function share(value: string): number {
  const number = Number(value);
  if (/^\d*\.?\d+$/.test(value) && number <= 1) return number;
  throw new BadSetting("must be a number from 0 to 1, such as 0.05");
}

export function oneOf<const V extends string>(values: readonly V[]) {
  return (value: string): V => {
    const found = values.find((candidate) => candidate === value);
    if (found !== undefined) return found;
    throw new BadSetting(`must be one of ${values.join(", ")}`);
  };
}

export function origin(value: string): string {
  const url = URL.parse(value);
  if (url && /^https?:$/.test(url.protocol) && url.pathname === "/" && !url.search) return url.origin;
  throw new BadSetting("must be an http or https origin such as https://billing.example.com");
}

/** An http or https URL, which may have a path. */
export function httpUrl(value: string): string {
  const url = URL.parse(value);
  if (url && /^https?:$/.test(url.protocol) && !url.search && !url.hash) return url.href;
  throw new BadSetting("must be an http or https URL such as http://localhost:4318");
}

/** An origin that secrets and money may go to: https, and http on this machine only. */
export function safeOrigin(value: string): string {
  const url = URL.parse(origin(value));
  const is_here = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url?.hostname ?? "");
  if (url?.protocol === "https:" || is_here) return origin(value);
  throw new BadSetting("must be https; http is for this machine only");
}

/** One key or two, separated by a comma: each 32 bytes in base64 or hexadecimal digits. */
export function secretsKeys(value: string): readonly Uint8Array[] {
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
export function sellers(value: string): readonly Seller[] {
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

export function postgresUrl(value: string): string {
  if (/^postgres(ql)?:\/\//.test(value)) return value;
  throw new BadSetting("must start with postgres://, or be unset for SQLite in DATA_DIR");
}

/** A database of one ClickHouse server, by its HTTP interface: `https://user:password@host:8443/database`. */
export function clickHouseUrl(value: string): string {
  const url = URL.parse(value);
  const is_plain = url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "";
  if (is_plain && !value.includes(",") && /^\/[A-Za-z_]\w{0,62}$/.test(url.pathname)) return url.href;
  throw new BadSetting(
    "must be the http or https URL of one ClickHouse server and a database of it, such as https://user:password@clickhouse.example.com:8443/usage",
  );
}

export function duration(value: string): Temporal.Duration {
  try {
    const read = Temporal.Duration.from(value);
    if (read.sign >= 0 && read.years === 0 && read.months === 0 && read.weeks === 0 && read.days === 0)
      return read;
  } catch {
    // answered below
  }
  throw new BadSetting("must be an ISO 8601 duration in hours, minutes and seconds, such as PT1H");
}

/** A duration in milliseconds, a second to an hour. */
export function shippingInterval(value: string): number {
  try {
    const ms = Temporal.Duration.from(value).total("milliseconds");
    if (ms >= 1_000 && ms <= 3_600_000) return ms;
  } catch {
    // answered below
  }
  throw new BadSetting("must be an ISO 8601 duration from PT1S to PT1H, such as PT10S");
}

export function seconds(value: string): number {
  const number = Number(value);
  if (/^\d+$/.test(value) && number >= 1 && number <= 3_600) return number * 1_000;
  throw new BadSetting("must be a whole number of seconds from 1 to 3600");
}

export function adminEmail(value: string): string {
  if (/^[^\s@]+@[^\s@]+$/.test(value)) return value;
  throw new BadSetting("must be an email address");
}

export function adminPassword(value: string): string {
  const { password_length_min: min, password_length_max: max } = SHARED_LIMITS;
  if (value.length >= min && value.length <= max) return value;
  throw new BadSetting(`must be ${min} to ${max} characters`);
}

export function size(value: string): string {
  if (/^[1-9]\d{0,5}(MB|GB)$/.test(value)) return value;
  throw new BadSetting("must be a size such as 512MB or 4GB");
}

/** A size in bytes; 0 is allowed. */
export function sizeInBytes(value: string): number {
  const [, number, unit] = /^(\d{1,6})(MB|GB)$/.exec(value) ?? (value === "0" ? ["", "0", "MB"] : []);
  if (number !== undefined) return Number(number) * (unit === "GB" ? 1e9 : 1e6);
  throw new BadSetting("must be a size such as 500MB or 1GB, or 0");
}

/** The text of an identity file, as age-keygen writes it, or its key alone. */
export function ageIdentity(value: string): string {
  const [identity] = /^AGE-SECRET-KEY-[0-9A-Z-]+$/m.exec(value) ?? [];
  if (identity !== undefined) return identity;
  throw new BadSetting("must be an age secret key, AGE-SECRET-KEY-…");
}

export function backupUrl(value: string): string {
  const url = URL.parse(value);
  if (url?.protocol === "file:" && url.host === "" && url.pathname.length > 1) return value;
  if (url?.protocol === "s3:" && url.host !== "") return value;
  throw new BadSetting("must be a URL such as file:///backups or s3://bucket/prefix");
}

/** Where a bucket is: `s3://bucket/prefix?region=…&endpoint=…`. */
export function bucketUrl(value: string): {
  bucket: string;
  prefix: string;
  region: string;
  endpoint: string;
} {
  const url = URL.parse(value);
  const example = "must be a URL such as s3://bucket/prefix?region=eu-central-1";
  const is_plain = url?.username === "" && url.password === "" && url.port === "" && url.hash === "";
  if (url?.protocol !== "s3:" || url.host === "" || !is_plain) throw new BadSetting(example);
  const unknown = [...url.searchParams.keys()].find((name) => name !== "region" && name !== "endpoint");
  if (unknown !== undefined)
    throw new BadSetting(`takes region and endpoint after its "?", and not ${unknown}`);
  const region = url.searchParams.get("region") ?? "us-east-1";
  if (!/^[a-z0-9-]+$/.test(region)) throw new BadSetting("must name a region such as eu-central-1");
  const given = URL.parse(url.searchParams.get("endpoint") ?? `https://s3.${region}.amazonaws.com`);
  if (!given || !/^https?:$/.test(given.protocol) || given.pathname !== "/" || given.search !== "")
    throw new BadSetting(
      "must have an http or https origin as its endpoint, such as https://minio.example.com",
    );
  const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, "");
  return { bucket: url.host, prefix: prefix === "" ? "" : `${prefix}/`, region, endpoint: given.origin };
}

export function longToken(value: string): string {
  if (/^[\x21-\x7e]+$/.test(value) && value.length >= SHARED_LIMITS.secret_bytes) return value;
  throw new BadSetting(
    `must be at least ${SHARED_LIMITS.secret_bytes} letters, digits and punctuation of ASCII, without spaces`,
  );
}

/** A shorter one could be found by trying, from any token that it signed. */
export function signingSecret(value: string): string {
  const bytes = new TextEncoder().encode(value).length;
  if (bytes >= SHARED_LIMITS.secret_bytes) return value;
  throw new BadSetting(
    `must have at least ${SHARED_LIMITS.secret_bytes} bytes, and has ${bytes}: make one with \`openssl rand -base64 48\`, or leave it unset`,
  );
}

export function secretText(value: string): string {
  if (/^[\x21-\x7e]+$/.test(value)) return value;
  throw new BadSetting("must be letters, digits and punctuation of ASCII, without spaces");
}

export const flag = (value: string) => oneOf(["true", "false"])(value) === "true";

/** `02:00` → [2, 0]. */
export function timeOfDay(value: string): [number, number] {
  const [, hour, minute] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(value) ?? [];
  if (hour !== undefined && minute !== undefined) return [Number(hour), Number(minute)];
  throw new BadSetting("must be a time of day in UTC, such as 02:00");
}

/** `7d,5w,12m` → how many days, weeks and months; what is not named is 0. */
export function keptPoints(value: string): { days: number; weeks: number; months: number } {
  const kept = { d: 0, w: 0, m: 0 };
  for (const part of value.split(",")) {
    const [, count, unit] = /^(\d{1,4})([dwm])$/.exec(part.trim()) ?? [];
    if (count === undefined) throw new BadSetting("must be days, weeks and months such as 7d,5w,12m");
    if (unit === "d" || unit === "w" || unit === "m") kept[unit] = Number(count);
  }
  return { days: kept.d, weeks: kept.w, months: kept.m };
}

/** The public key of age that begins with `age1`. */
export function ageRecipient(value: string): string {
  if (/^age1[02-9ac-hj-np-z]{20,3000}$/.test(value)) return value;
  throw new BadSetting("must be an age public key, which begins with age1; the secret key stays elsewhere");
}
