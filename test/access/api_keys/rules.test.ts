import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { iso } from "../../../src/core/time.ts";
import { validSecrets, type KeySecrets } from "../../../src/access/api_keys/rules.ts";
import { propertyCases } from "../../support/properties.ts";

const START = Temporal.Instant.from("2026-03-10T12:00:00Z");
const at = (hours: number) => START.add({ minutes: Math.round(hours * 60) });

/** Rotations as they follow one another: how long after the one before, and with which grace. */
const rotations = fc.array(
  fc.record({ wait: fc.integer({ min: 0, max: 50 }), grace: fc.integer({ min: 0, max: 168 }) }),
  { maxLength: 8 },
);

/** A key after rotations, and when each of its secrets was replaced and stopped being good, told on their own. */
function rotatedKey(steps: { wait: number; grace: number }[]) {
  let key: KeySecrets = {
    secret_hash: "1",
    secret_version: 1,
    old_secret_hash: null,
    old_secret_ends_at: null,
    revoked_at: null,
  };
  let hours = 0;
  const ends = new Map<number, number>();
  for (const { wait, grace } of steps) {
    hours += wait;
    const { secret_hash, secret_version } = key;
    ends.set(secret_version, hours + grace);
    const before = ends.get(secret_version - 1);
    if (before !== undefined) ends.set(secret_version - 1, Math.min(before, hours));
    key = {
      ...key,
      secret_hash: String(secret_version + 1),
      secret_version: secret_version + 1,
      old_secret_hash: grace === 0 ? null : secret_hash,
      old_secret_ends_at: grace === 0 ? null : iso(at(hours + grace)),
    };
  }
  return { key, hours, ends };
}

test("the newest secret is good, and the one before it until its end; no other, never more than two", () => {
  fc.assert(
    fc.property(rotations, fc.integer({ min: 0, max: 200 }), (steps, later) => {
      const { key, hours, ends } = rotatedKey(steps);
      const now = hours + later;
      const good = validSecrets(key, at(now));
      const expected = [key.secret_version, key.secret_version - 1].filter(
        (version) => version === key.secret_version || (ends.get(version) ?? 0) > now,
      );
      expect(good.map(({ version }) => version)).toEqual(expected);
      expect(good.map(({ hash }) => hash)).toEqual(expected.map(String));
      expect(good.map(({ ends_at }) => ends_at && iso(ends_at))).toEqual(
        expected.map((version) => (version === key.secret_version ? null : iso(at(ends.get(version) ?? 0)))),
      );
    }),
    propertyCases(500),
  );
});

test("a revoked key has no good secret at any time", () => {
  fc.assert(
    fc.property(rotations, fc.integer({ min: 0, max: 200 }), (steps, later) => {
      const { key, hours } = rotatedKey(steps);
      expect(validSecrets({ ...key, revoked_at: iso(at(hours)) }, at(hours + later))).toEqual([]);
    }),
    propertyCases(200),
  );
});
