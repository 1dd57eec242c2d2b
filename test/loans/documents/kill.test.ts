import { expect, test } from "bun:test";
import { readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import {
  type CommandFolder,
  makePreparedFolder,
  runHere,
  serveHere,
  startServer,
} from "../../support/process.ts";
import type { Json } from "../../support/harness.ts";
import { PDF, sha256, upload } from "./fixtures.ts";
import { killBetween, openServer } from "./killed_upload.ts";
import { beginUpload, HEAD } from "./raw_upload.ts";

/** The files below the company's folder. */
function filesIn({ data_dir }: CommandFolder): { name: string; path: string; is_incoming: boolean }[] {
  return readdirSync(join(data_dir, "documents", "1"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => ({
      name,
      path: join(parentPath, name),
      is_incoming: parentPath.endsWith("incoming"),
    }));
}

test("kill -9 in the middle of uploads: what was answered is there, nothing is half done, what is lost is removed", async () => {
  const place = await makePreparedFolder();
  const { before, hung } = await serveHere(place.env, async (_, first) => {
    const loans = await openServer(first);
    return { before: loans, hung: await loans.apply() };
  });
  const lost = `${PDF} between`;
  await killBetween(place, before, hung, lost);
  expect(filesIn(place).map(({ name }) => name)).toEqual([sha256(lost)]);

  const second = await startServer(place.env);
  const loans = await openServer(second);
  const token = await loans.token();
  const ids = await Promise.all(Array.from({ length: 4 }, () => loans.apply()));
  await Promise.all(
    Array.from({ length: 3 }, async () => {
      const { write } = await beginUpload(second.url, token, ids[0] ?? 0, 1024 * 1024);
      write(`${HEAD}${PDF}`);
    }),
  );
  while (filesIn(place).filter(({ is_incoming }) => is_incoming).length < 3) await Bun.sleep(5);
  const answered: Json[] = [];
  const uploads = ids.flatMap((id, i) =>
    Array.from({ length: 10 }, async (_, j) => {
      const { status, body } = await upload(second, token, id, { bytes: `${PDF} ${i} ${j % 4}` });
      if (status !== 201) throw new Error(JSON.stringify(body));
      answered.push(body.data);
      if (answered.length === 12) second.kill("SIGKILL");
    }),
  );
  const outcomes = await Promise.allSettled(uploads);
  expect(outcomes.filter(({ status }) => status === "rejected").length).toBeGreaterThan(0);
  await second.exited;
  expect(filesIn(place).filter(({ is_incoming }) => is_incoming).length).toBeGreaterThanOrEqual(3);

  const listed: Json[] = [];
  await serveHere(place.env, async (api, third) => {
    const after = await openServer(third);
    for (const id of [hung, ...ids]) {
      listed.push(...(await after.lender("GET", `/lender/applications/${id}/documents`)).body.data);
    }
    expect(listed.map(({ id }) => id)).toEqual(expect.arrayContaining(answered.map(({ id }) => id)));
    for (const { id, sha256: told, status } of listed) {
      const { body } = await after.lender("GET", `/lender/documents/${id}/content`);
      expect([sha256(body), ["pending_review", "superseded"].includes(status)]).toEqual([told, true]);
    }
    // One current document for each application that has one, and an event and an entry for each document.
    const current = listed.filter(({ status }) => status === "pending_review");
    expect(new Set(current.map(({ application_id }) => application_id)).size).toBe(current.length);
    const events = (await api("GET", "/events?type=document.uploaded&limit=1")).body.meta.total;
    const entries = (await api("GET", "/audit-log?operation=upload_loan_document&limit=1")).body.meta.total;
    expect([events, entries]).toEqual([listed.length, listed.length]);
  });

  const old = new Date(Date.now() - 2 * 3_600_000);
  for (const { path } of filesIn(place)) utimesSync(path, old, old);
  expect((await runHere(["job", "loan_documents"], place.env)).out).toContain("Ran loan_documents");
  const left = filesIn(place).map(({ name }) => name);
  expect(left).toHaveLength(new Set(left).size);
  expect(new Set(left)).toEqual(new Set(listed.map((document) => document.sha256)));
  expect((await runHere(["doctor", "--read-documents"], place.env)).out).toContain(
    `ok    loan documents: ${listed.length}, each with its file and its bytes`,
  );
  place.remove();
});
