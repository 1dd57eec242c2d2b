import { afterAll, beforeAll, expect, test } from "bun:test";
import * as fc from "fast-check";
import { join } from "node:path";
import { type CommandFolder, makePreparedFolder, runHere, serveHere } from "../../support/process.ts";
import type { Json } from "../../support/harness.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { addCatalog } from "../../billing/subscriptions/fixtures.ts";
import { addSubscription, ms, search } from "../fixtures.ts";
import { NDJSON } from "../ingest/streams.ts";

// Lines of the file's usual keys are read in another way than those with others, or with repeated ones: both must come to
// what the same lines do over HTTP. Left out is what a file may hold and a request may not, dates, and the other way
// round, halves of surrogate pairs.

const LINES = 150;
/** One in every run; `HOSTILE_ROUNDS=100 bun test --timeout 3600000 test/usage/import/hostile_lines.test.ts` makes more. */
const ROUNDS = Number(process.env.HOSTILE_ROUNDS ?? (TESTS_ALL ? 5 : 1));
const T0 = ms("2024-05-01T00:00:00Z");

const places: Record<"usual" | "unusual" | "http", CommandFolder> = {
  usual: await makePreparedFolder(),
  unusual: await makePreparedFolder(),
  http: await makePreparedFolder(),
};

beforeAll(async () => {
  for (const { env } of Object.values(places)) {
    await serveHere(env, async (api) => {
      const catalog = await addCatalog({ api });
      for (const name of ["a", 'q"\\', "é"]) await addSubscription({ api }, name, catalog);
    });
  }
});
afterAll(() => {
  for (const place of Object.values(places)) place.remove();
});

/** JSON texts of each member: mostly sound ones. */
const uuid = fc.uuid();
const id_text = fc.oneof(
  { weight: 8, arbitrary: uuid.map((text) => `"${text}"`) },
  uuid.map((text) => `"${text.toUpperCase()}"`),
  uuid.map((text) => `"${text.replaceAll("-", "")}"`),
  uuid.map((text) => `"${text.slice(1, 4)}-${text.replace("-", "").slice(3)}"`),
  uuid.map((text) => `"{${text}}"`),
  uuid.map((text) => `"\\u00${text.charCodeAt(0).toString(16)}${text.slice(1)}"`),
  fc.constantFrom('"00000000-0000-4000-8000-000000000007"', '""', "7", '"x"', '" "'),
);
const subscription_text = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('"a"', '"\\u0061"', '"q\\"\\\\"', '"é"') },
  fc.constantFrom('"nobody"', '""', '"a "', '"A"', "{}"),
);
const timestamp_text = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 1_000_000 }).map((after) => String(T0 + after)) },
  fc.constantFrom("-1", "0", "1", "99999999999999999999", "9007199254740993", `${T0}.5`, "true", '"soon"'),
);
const usage_text = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: -1e9, max: 1e9 }).map((n) => String(n / 1e6)) },
  fc.constantFrom("0", "-0", "1e2", "1.50", "1E-6", "-1e-7", "0.1234565", "2.0000005", "123456789012.123456"),
  fc.constantFrom("1e12", "999999999999.9999999", "1e400", "true", "[]", "12345678901234567890"),
);
const key = fc.constantFrom(
  '"a"',
  '"b"',
  '"b.c"',
  '"usage"',
  '"id"',
  '"\\u0061"',
  '"Z"',
  '""',
  '"é"',
  '"\\""',
  '"\\u0000"',
);
const value = fc.constantFrom(
  '"x"',
  '"a\\nb"',
  '"\\/"',
  '"\\u0000"',
  '"é"',
  '"😀"',
  "1",
  "1.0",
  "-0",
  "1e2",
  "0.5",
  "1e400",
  "12345678901234567",
  "0.1234567",
  "true",
  "null",
  '{"z":1,"a":[1, 2]}',
  '{"a":1,"a":2}',
  "[]",
  '"}"',
  '"\\",\\"id\\":1"',
);
const member = fc.tuple(key, fc.constantFrom(":", " : "), value).map((parts) => parts.join(""));
const metadata_text = fc.oneof(
  { weight: 3, arbitrary: fc.array(member, { maxLength: 4 }).map((members) => `{${members.join(",")}}`) },
  fc.integer().map((n) => `{"a":${n},"b":"x"}`),
  fc.constantFrom("[]", '"x"', "1", `{"a":"${"y".repeat(17_000)}"}`),
);
const pair = (name: string, text: fc.Arbitrary<string>) => text.map((of) => `"${name}":${of}`);
const members = {
  id: pair("id", id_text),
  external_subscription_id: pair("external_subscription_id", subscription_text),
  timestamp: pair("timestamp", timestamp_text),
  usage: pair("usage", usage_text),
  metadata: pair("metadata", metadata_text),
};
const usual = fc.tuple(...Object.values(members));
/** As `usual`, but some members are there again, and their order and the blanks are any. */
const other = fc
  .tuple(
    usual,
    fc.subarray(Object.values(members), { maxLength: 2 }).chain((again) => fc.tuple(...again)),
  )
  .chain(([first, again]) =>
    fc.shuffledSubarray([...first, ...again], { minLength: first.length + again.length }),
  );
const line = fc
  .tuple(fc.oneof({ weight: 2, arbitrary: usual }, other), fc.constantFrom(",", ", ", " ,\t"))
  .map(([texts, comma]) => `{${texts.join(comma)}}`);
const broken = fc.constantFrom("not json", "[1]", '"usage"', '{"usage":1', "5");

/** The numbers of the rows that were rejected, and what is stored by now. */
async function importLines(place: CommandFolder, lines: readonly string[]): Promise<Json> {
  const file = join(place.data_dir, "lines.ndjson");
  await Bun.write(file, lines.join("\n"));
  const { out } = await runHere(["import", "usage", file], place.env);
  const counts = /^(\d+) accepted, (\d+) duplicates/m.exec(out)?.slice(1).map(Number);
  const rejects = Bun.file(`${file}.rejects.ndjson`);
  const texts = (await rejects.exists()) ? (await rejects.text()).trim().split("\n") : [];
  const rejected: Json[] = texts.map((text) => JSON.parse(text));
  return { counts, rejected };
}

async function sendEach(place: CommandFolder, lines: readonly string[]): Promise<Json> {
  return serveHere(place.env, async (api) => {
    const [counts, rejected] = [[0, 0], new Array<number>()];
    for (const [i, text] of lines.entries()) {
      const { status, body } = await api("POST", "/usage/events", text, NDJSON);
      if (status >= 400) rejected.push(i + 1);
      else
        for (const [n, of] of ["accepted", "duplicates"].entries())
          counts[n] = (counts[n] ?? 0) + body.data[of];
    }
    return { counts, rejected };
  });
}

/** All that is stored. */
async function stored(place: CommandFolder): Promise<Json[]> {
  return serveHere(place.env, async (api) => {
    const found: Json[] = [];
    for (let page = 1; ; page++) {
      const { data } = await search(api, { sort_order: "asc", limit: 200, page });
      for (const { id, subscription_id, timestamp, usage, metadata } of data)
        found.push({ id, subscription_id, timestamp, usage, metadata });
      if (data.length < 200) return found.toSorted((a, b) => a.id.localeCompare(b.id));
    }
  });
}

test(
  "lines are read alike, by their usual keys, by others, and over HTTP",
  async () => {
    const lines_of = fc.array(fc.oneof({ weight: 30, arbitrary: line }, broken), {
      minLength: LINES,
      maxLength: LINES,
    });
    for (const lines of fc.sample(lines_of, ROUNDS)) {
      const usual_way = await importLines(places.usual, lines);
      // A key that is there twice in each.
      const twice = lines.map((text) => text.replace(/^\{/, '{"x":1,"x":2,'));
      expect(await importLines(places.unusual, twice)).toEqual(usual_way);
      const sent = await sendEach(places.http, lines);
      const rejected = usual_way.rejected.map(({ row }: Json) => row);
      expect({ counts: usual_way.counts, rejected }).toEqual(sent);
      const events = await stored(places.usual);
      expect(events.length).toBeGreaterThan(LINES / 20);
      expect(await stored(places.unusual)).toEqual(events);
      expect(await stored(places.http)).toEqual(events);
    }
  },
  60_000 * ROUNDS,
);
