import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkFiles } from "../../../src/loans/documents/file_check.ts";
import { TestClock, useService } from "../../support/harness.ts";
import { flipBit } from "../../support/flip_bits.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { type Borrowing, filesOf, folderOf, idOf, openBorrowing, PDF, sha256 } from "./fixtures.ts";

const clock = new TestClock("2026-03-10T12:00:00Z");
const service = useService({ clock });
let loans: Borrowing;

beforeAll(async () => {
  loans = await openBorrowing(service);
});

const folder = () => folderOf(service);

async function sweep(): Promise<void> {
  expect(await runNamedJob(service, "loan_documents")).toBe(true);
}

test("a document with a flipped bit is a 503, not another document", async () => {
  const bytes = `${PDF} to be damaged`;
  const id = (await loans.upload(await loans.apply(), { bytes })).body.data.id;
  const download = () => loans.lender("GET", `/lender/documents/${id}/content`);
  expect([(await download()).status, (await download()).body]).toEqual([200, bytes]);
  const path = join(folder(), sha256(bytes).slice(0, 2), sha256(bytes));
  writeFileSync(path, flipBit(readFileSync(path), 20, 3));
  const { status, body } = await download();
  expect([status, body.error]).toEqual([503, expect.stringContaining("stored data is damaged")]);
  writeFileSync(path, bytes);
  expect((await download()).status).toBe(200);
});

describe("deletion", () => {
  test("a file goes with the last document that has its content", async () => {
    const api = loans.agent;
    const bytes = `${PDF} twice`;
    const [one, two] = [await loans.apply(), await loans.apply()];
    const first = (await loans.upload(one, { bytes })).body.data.id;
    const second = (await loans.upload(two, { bytes })).body.data.id;
    expect((await api("DELETE", `/agent/documents/${first}`)).body).toEqual({ data: {} });
    expect((await api("DELETE", `/agent/documents/${first}`)).status).toBe(404);
    expect(filesOf(service)).toContain(sha256(bytes));
    expect((await api("DELETE", `/agent/documents/${second}`)).status).toBe(200);
    expect(filesOf(service)).not.toContain(sha256(bytes));
  });

  test("while others upload and delete the same content, what is there has its file", async () => {
    const bytes = `${PDF} contended`;
    const ids = await Promise.all(Array.from({ length: 8 }, () => loans.apply()));
    const keepers = await Promise.all(
      ids.map(async (id, i) => {
        for (let round = 0; round < 6; round++) {
          const document = (await loans.upload(id, { bytes })).body.data.id;
          if (i < 7 || round < 5) await loans.agent("DELETE", `/agent/documents/${document}`);
        }
        return id;
      }),
    );
    expect(keepers).toHaveLength(8);
    expect(filesOf(service)).toContain(sha256(bytes));
  });

  test("what is verified stays, and what an application that is with the lender rests on", async () => {
    const { agent, lender } = loans;
    const id = await loans.apply();
    const verified = (await loans.upload(id)).body.data.id;
    await lender("POST", `/lender/documents/${verified}/verify`);
    const answer = await agent("DELETE", `/agent/documents/${verified}`);
    expect([answer.status, answer.body.error]).toEqual([
      409,
      `Cannot delete document ${verified}: it is verified`,
    ]);
    const other = (await loans.upload(id, { type: "other" })).body.data.id;
    await idOf(agent("POST", `/agent/applications/${id}/submit`));
    const refused = await agent("DELETE", `/agent/documents/${other}`);
    expect([refused.status, refused.body.error]).toEqual([
      409,
      `Cannot delete document ${other}: its application is submitted`,
    ]);
  });
});

describe("retention", () => {
  test("documents go 90 days after their application came to nothing, others stay", async () => {
    clock.set("2026-04-01T00:00:00Z");
    const [ended, open, deleted] = [await loans.apply(), await loans.apply(), await loans.apply()];
    const contents = ["ended", "open", "deleted"].map((word) => `${PDF} ${word} 2026`);
    for (const [i, id] of [ended, open, deleted].entries()) {
      expect((await loans.upload(id, { bytes: contents[i] ?? "" })).status).toBe(201);
    }
    const api = loans.agent;
    await idOf(api("POST", `/agent/applications/${ended}/submit`));
    await idOf(api("POST", `/agent/applications/${ended}/withdraw`));
    expect((await api("DELETE", `/agent/applications/${deleted}`)).status).toBe(200);
    const count = async (id: number) =>
      (await loans.lender("GET", `/lender/applications/${id}/documents?limit=1`)).body.meta?.total;
    clock.set("2026-06-29T23:59:59Z");
    await sweep();
    expect([await count(ended), await count(open)]).toEqual([1, 1]);
    clock.set("2026-06-30T00:00:00Z");
    await sweep();
    expect([await count(ended), await count(open)]).toEqual([0, 1]);
    expect(contents.map((bytes) => filesOf(service).includes(sha256(bytes)))).toEqual([false, true, false]);
  });

  test("lost files go when they are an hour old; what documents have stays", async () => {
    clock.set("2026-07-01T12:00:00Z");
    const id = await loans.apply();
    const bytes = `${PDF} kept`;
    await loans.upload(id, { bytes });
    const lost = sha256("lost");
    const places = [
      join(folder(), lost.slice(0, 2), lost),
      join(folder(), "incoming", "half"),
      join(folder(), sha256("young").slice(0, 2), sha256("young")),
      join(folder(), sha256(bytes).slice(0, 2), sha256(bytes)),
    ];
    for (const place of places) if (!place.endsWith(sha256(bytes))) await Bun.write(place, "x");
    const age = [
      "2026-07-01T10:59:59Z",
      "2026-07-01T10:59:59Z",
      "2026-07-01T11:30:00Z",
      "2026-01-01T00:00:00Z",
    ];
    for (const [i, place] of places.entries()) {
      const time = new Date(age[i] ?? "");
      utimesSync(place, time, time);
    }
    await sweep();
    const there = places.map((place) => statSync(place, { throwIfNoEntry: false }) !== undefined);
    expect(there).toEqual([false, false, true, true]);
  });
});

test("what doctor looks at: files that are gone, of another size or with other bytes", async () => {
  const { deps } = service;
  const check = (reads_bytes: boolean) => checkFiles(deps.store.read, deps.documents, { reads_bytes });
  const id = await loans.apply();
  const places: string[] = [];
  const ids: number[] = [];
  for (const [type, word] of [
    ["payslip", "gone"],
    ["passport", "short"],
    ["other", "other"],
  ] as const) {
    const { body } = await loans.upload(id, { type, bytes: `${PDF}${word}` });
    ids.push(body.data.id);
    places.push(join(folder(), body.data.sha256.slice(0, 2), body.data.sha256));
  }
  const { documents, broken } = await check(true);
  expect([documents > 3, broken]).toEqual([true, 0]);
  const [gone = "", short = "", other = ""] = places;
  await Bun.file(gone).delete();
  await Bun.write(short, "%PDF-");
  await Bun.write(other, `${PDF}OTHER`);
  const two = [
    `document ${ids[0]} is missing`,
    `document ${ids[1]} has 5 bytes instead of ${PDF.length + 5}`,
  ];
  expect(await check(false)).toEqual({ documents, files: documents, broken: 2, problems: two });
  expect(await check(true)).toEqual({
    documents,
    files: documents,
    broken: 3,
    problems: [...two, `document ${ids[2]} has other bytes than were stored`],
  });
  expect((await loans.lender("GET", `/lender/documents/${ids[0]}/content`)).status).toBe(500);
  for (const document of ids) await loans.agent("DELETE", `/agent/documents/${document}`);
  expect((await check(true)).broken).toBe(0);
});
