import ipaddr from "ipaddr.js";
import { LIMITS } from "../limits.ts";
import { instant, iso } from "../../core/time.ts";
import type { SigningSecret, WebhookFigures } from "./model.ts";

// Destinations.

/** Which destinations are allowed: outside of production also this machine. */
export interface DestinationPolicy {
  is_production: boolean;
}

/** A valid URL, whose host is still to be checked, or what is wrong with it. */
export type ReadUrl = { url: URL; problem?: undefined } | { url?: undefined; problem: string };

/** Parses an endpoint's URL (WHATWG): 0x7f.1 and 2130706433 become 127.0.0.1. */
export function readUrl(text: string, { is_production }: DestinationPolicy): ReadUrl {
  const url = /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text);
  if (!url || !["https:", "http:"].includes(url.protocol)) return { problem: "must be an https URL" };
  if (url.protocol === "http:" && is_production) return { problem: "must be https" };
  if (url.username !== "" || url.password !== "")
    return { problem: "must not hold a user name or a password" };
  return { url };
}

/** The addresses of a host that needs no resolver; null for any other name. */
export function literalAddresses({ hostname }: URL): string[] | null {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (ipaddr.isValid(host)) return [host];
  return /(^|\.)localhost\.?$/.test(host) ? ["127.0.0.1", "::1"] : null;
}

const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Why this address must not be called under the URL's scheme, or null. Only public unicast addresses are allowed, and
 * this machine outside of production; IPv6 addresses that embed an IPv4 one (mapped, 6to4, NAT64, Teredo) never are.
 * Decision 0062.
 */
export function addressProblem(
  address: string,
  protocol: string,
  { is_production }: DestinationPolicy,
): string | null {
  const ip = ipaddr.isValid(address) ? ipaddr.parse(address) : null;
  const range = ip?.range();
  if (range === "loopback" && !is_production) return null;
  const is_public = range === "unicast" && (ip?.kind() === "ipv4" || ip?.match(GLOBAL_IPV6) === true);
  if (!is_public) return "must lead to public addresses: local, private and reserved ones are refused";
  return protocol === "https:" ? null : "must be https; http is only for this machine, outside of production";
}

// Signing secrets.

/** The secrets that sign at `now`, the newest first. */
export function signingSecrets(secrets: readonly SigningSecret[], now: Temporal.Instant): string[] {
  return secrets
    .filter(({ ends_at }) => ends_at === null || Temporal.Instant.compare(instant(ends_at), now) > 0)
    .map(({ secret }) => secret);
}

/** Adds a new secret: active ones still sign for a day, and the oldest beyond the limit end. */
export function rotateSecrets(
  secrets: readonly SigningSecret[],
  secret: string,
  now: Temporal.Instant,
): SigningSecret[] {
  const last = iso(now.add({ hours: LIMITS.webhook_secret_hours }));
  const signing = new Set(signingSecrets(secrets, now));
  const old = secrets
    .filter((signing_secret) => signing.has(signing_secret.secret))
    .map((signing_secret) => ({ secret: signing_secret.secret, ends_at: signing_secret.ends_at ?? last }));
  return [{ secret, ends_at: null }, ...old].slice(0, LIMITS.webhook_secrets);
}

/** What an endpoint's last deliveries came to. */
export function figuresOf(
  counted: readonly { status: "pending" | "succeeded" | "failed"; count: number; since: string | null }[],
): WebhookFigures {
  const of = (status: string) => counted.find((one) => one.status === status)?.count ?? 0;
  const [succeeded, failed] = [of("succeeded"), of("failed")];
  const ended = succeeded + failed;
  const since = counted.flatMap((one) => one.since ?? []).toSorted();
  return {
    succeeded,
    failed,
    pending: of("pending"),
    success_rate: ended === 0 ? null : succeeded / ended,
    since: since[0] ?? null,
  };
}
