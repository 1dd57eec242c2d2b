import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { iso } from "../../../src/core/time.ts";
import {
  figuresOf,
  addressProblem,
  literalAddresses,
  readUrl,
  rotateSecrets,
  signingSecrets,
} from "../../../src/webhooks/endpoints/rules.ts";

const production = { is_production: true };
const development = { is_production: false };

/** What a URL with a literal host comes to, in production. */
function problemOf(text: string, surroundings = production): string | null {
  const { url, problem } = readUrl(text, surroundings);
  if (!url) return problem;
  const addresses = literalAddresses(url);
  if (addresses === null) return "is a name";
  return (
    addresses.map((address) => addressProblem(address, url.protocol, surroundings)).find(Boolean) ?? null
  );
}

describe("addresses", () => {
  test.each([
    "8.8.8.8",
    "1.1.1.1",
    "172.15.255.255",
    "172.32.0.1",
    "192.167.1.1",
    "100.63.255.255",
    "100.128.0.1",
    "223.255.255.254",
    "[2606:4700:4700::1111]",
    "[2a00:1450:4001:81b::200e]",
  ])("%s is public", (host) => {
    expect(problemOf(`https://${host}/`)).toBeNull();
    expect(problemOf(`http://${host}/`, development)).toContain("must be https");
  });

  test.each([
    ["loopback", ["127.0.0.1", "127.255.255.254", "[::1]", "localhost", "a.localhost", "localhost."]],
    ["decimal, octal, hex and short forms", ["2130706433", "017700000001", "0x7f000001", "0x7f.1", "127.1"]],
    ["wide digits", ["１２７.0.0.1", "127。0。0。1"]],
    ["private", ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "[fc00::1]", "[fd12:3456::1]"]],
    ["link-local", ["169.254.169.254", "[fe80::1]", "0xa9fea9fe"]],
    ["this network", ["0.0.0.0", "0.1.2.3", "0", "[::]"]],
    ["shared", ["100.64.0.1", "100.127.255.255"]],
    ["multicast and broadcast", ["224.0.0.1", "239.255.255.255", "255.255.255.255", "[ff02::1]"]],
    ["reserved", ["240.0.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "192.0.0.1"]],
    ["documentation and site-local", ["[2001:db8::1]", "[fec0::1]", "[100::1]", "[5f00::1]"]],
    ["mapped", ["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[::ffff:8.8.8.8]"]],
    ["compatible and translated", ["[::127.0.0.1]", "[::7f00:1]", "[::ffff:0:127.0.0.1]"]],
    ["NAT64", ["[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::a00:1]", "[64:ff9b::8.8.8.8]"]],
    ["6to4 and Teredo", ["[2002:7f00:1::]", "[2002:a00:1::1]", "[2001:0:4136:e378::1]"]],
  ])("%s is refused", (_, hosts) => {
    for (const host of hosts) {
      expect(problemOf(`https://${host}/`), host).toContain("must lead to public addresses");
      expect(problemOf(`https://${host}:8443/a?b`), host).toContain("must lead to public addresses");
    }
  });

  test("every IPv4 address inside of an IPv6 address is refused, public or not", () => {
    fc.assert(
      fc.property(fc.ipV4(), (v4) => {
        for (const wrapped of [`::ffff:${v4}`, `::${v4}`, `64:ff9b::${v4}`, `::ffff:0:${v4}`]) {
          expect(addressProblem(wrapped, "https:", production)).not.toBeNull();
        }
      }),
    );
  });

  test("outside of production this machine may be called, by http too; its network may not", () => {
    for (const host of ["127.0.0.1:3000", "[::1]:3000", "localhost:3000", "0x7f.1"]) {
      expect(problemOf(`http://${host}/hooks`, development), host).toBeNull();
      expect(problemOf(`https://${host}/hooks`, development), host).toBeNull();
      expect(problemOf(`http://${host}/hooks`), host).toContain("must be https");
    }
    for (const host of ["10.0.0.1", "169.254.169.254", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]"])
      expect(problemOf(`http://${host}/`, development), host).toContain("must lead to public addresses");
  });

  test.each([
    "ftp://example.com/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "example.com/hooks",
    "//example.com",
    "https://",
    "https://exa mple.com/",
    " https://example.com/",
    "https://example.com/\n",
    "https://user@example.com/",
    "https://user:secret@example.com/",
    "https://[fe80::1%25eth0]/",
    "https://256.1.1.1/",
  ])("%j is no URL for a webhook", (text) => {
    expect(readUrl(text, production).problem).toStartWith("must ");
  });
});

describe("secrets", () => {
  const start = Temporal.Instant.from("2026-03-01T00:00:00Z");

  test("the old secret signs beside the new one for 24 hours and not a millisecond longer", () => {
    const secrets = rotateSecrets([{ secret: "old", ends_at: null }], "new", start);
    expect(signingSecrets(secrets, start)).toEqual(["new", "old"]);
    expect(signingSecrets(secrets, start.add({ hours: 24 }).subtract({ milliseconds: 1 }))).toEqual([
      "new",
      "old",
    ]);
    expect(signingSecrets(secrets, start.add({ hours: 24 }))).toEqual(["new"]);
  });

  test("whatever the rotations, the newest signs, none longer than a day after its successor, never too many", () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 30 * 3_600 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(gaps, fc.integer({ min: 0, max: 30 * 3_600 }), (hours, wait) => {
        let now = start;
        let secrets = [{ secret: "0", ends_at: null as string | null }];
        const replaced_at = new Map<string, Temporal.Instant>();
        for (const [i, gap] of hours.entries()) {
          now = now.add({ seconds: gap });
          secrets = rotateSecrets(secrets, String(i + 1), now);
          replaced_at.set(String(i), now);
        }
        const at = now.add({ seconds: wait });
        const signing = signingSecrets(secrets, at);
        expect(signing[0]).toBe(String(hours.length));
        expect(signing.length).toBeLessThanOrEqual(5);
        for (const secret of signing.slice(1)) {
          expect(iso(at) < iso((replaced_at.get(secret) ?? at).add({ hours: 24 }))).toBeTrue();
        }
        const still = [...replaced_at].filter(([, when]) => iso(at) < iso(when.add({ hours: 24 })));
        expect(signing.length).toBe(Math.min(5, 1 + still.length));
      }),
    );
  });
});

test("a success rate is of deliveries that ended", () => {
  const since = "2026-03-10T12:00:00.000Z";
  const counted = [
    { status: "pending", count: 5, since: "2026-03-10T13:00:00.000Z" },
    { status: "failed", count: 1, since },
    { status: "succeeded", count: 7, since: "2026-03-10T14:00:00.000Z" },
  ] as const;
  expect(figuresOf(counted)).toEqual({ succeeded: 7, failed: 1, pending: 5, success_rate: 0.875, since });
  expect(figuresOf(counted.slice(0, 1))).toMatchObject({ pending: 5, success_rate: null });
});
