import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { ClickHouse } from "../../../src/usage_store/clickhouse/engine/engine.ts";
import { asNumber, asText, integer, text } from "../../../src/usage_store/clickhouse/engine/sql.ts";
import { CANONICAL_METADATA, searchSql } from "../../../src/usage_store/clickhouse/query/metadata_sql.ts";
import { storedMetadata } from "../../../src/usage_store/clickhouse/append/stored_metadata.ts";
import { canonicalJson } from "../../../src/usage_store/metadata.ts";
import { type ClickHouseServer, startClickHouse, whyNoClickHouse } from "../../support/clickhouse.ts";
import { propertyCases } from "../../support/properties.ts";
import { TIMEOUT_MS } from "../fixtures.ts";

const BOUNDS = { timeout_ms: TIMEOUT_MS };

describe.skipIf(whyNoClickHouse() !== null)("metadata in ClickHouse's SQL", () => {
  let server: ClickHouseServer;
  let engine: ClickHouse;
  beforeAll(async () => {
    server = await startClickHouse();
    engine = ClickHouse.connect(await server.createDatabase());
  });
  afterAll(async () => {
    await engine.close();
    await server.stop();
  });

  /** What an expression of the column `metadata` gives for each object. */
  async function ask(expression: string, objects: readonly Record<string, unknown>[]) {
    const rows = objects.map(
      (object, i) => `(${integer(i)}, ${text(storedMetadata(canonicalJson(object)) ?? "")})`,
    );
    const found = await engine.ask(
      `SELECT i, ${expression} FROM VALUES('i UInt32, metadata String', ${rows.join(", ")}) ORDER BY i`,
      BOUNDS,
    );
    return found.map(([, value]) => value ?? null);
  }

  const string = fc.oneof(
    fc.constantFrom("", "#", "##", "#1", "#t", ":", ':"#1"', "{", "[1]", '"', "\\", '\\"#1', "n", "1"),
    fc.string({ unit: "grapheme" }),
  );
  const scalar = fc.oneof(fc.constantFrom(0, -0.5, 1e21, 1e-7, 2 ** 60, true, false, null), string);
  const plain = fc.dictionary(fc.stringMatching(/^[a-z#:]{0,4}$/), scalar, { maxKeys: 4 });
  const nested = fc.dictionary(string, fc.oneof(scalar, plain, fc.array(fc.oneof(scalar, plain))), {
    maxKeys: 4,
  });
  const objects = fc.array(fc.oneof(plain, nested), { minLength: 1, maxLength: 40 });

  test("gives the canonical text, by the shorter pattern too", async () => {
    await fc.assert(
      fc.asyncProperty(objects, async (given) => {
        const found = await ask(CANONICAL_METADATA, given);
        // What has no metadata is stored as no text.
        expect(found.map((value) => asText(value) || "{}")).toEqual(
          given.map(canonicalJson).map((json) => json ?? "{}"),
        );
      }),
      propertyCases(100),
    );
  });

  test("finds a text in any case, by all characters that are one of it in lower case", async () => {
    const given = ["Disk", "DİSK", "dis\u212A", "ΣΑΣ", "ÉCLAIR", "line\nend", 'qu"ote', "back\\slash"].map(
      (value) => ({
        value,
      }),
    );
    const founds = {
      disk: [1, 1, 1, 0, 0, 0, 0, 0],
      DISK: [1, 1, 1, 0, 0, 0, 0, 0],
      İ: [1, 1, 1, 0, 1, 1, 0, 0],
      sk: [1, 1, 1, 0, 0, 0, 0, 0],
      "\u212A": [1, 1, 1, 0, 0, 0, 0, 1],
      σα: [0, 0, 0, 1, 0, 0, 0, 0],
      éc: [0, 0, 0, 0, 1, 0, 0, 0],
      "E\nE": [0, 0, 0, 0, 0, 1, 0, 0],
      'U"O': [0, 0, 0, 0, 0, 0, 1, 0],
      "K\\S": [0, 0, 0, 0, 0, 0, 0, 1],
    };
    for (const [search, expected] of Object.entries(founds))
      expect([search, (await ask(searchSql(search), given)).map(asNumber)]).toEqual([search, expected]);
  });
});
