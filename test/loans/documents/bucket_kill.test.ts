import { expect, test } from "bun:test";
import { makePreparedFolder, runHere, serveHere } from "../../support/process.ts";
import { startS3 } from "../../support/s3_server.ts";
import { PDF, sha256 } from "./fixtures.ts";
import { killBetween, openServer } from "./killed_upload.ts";

test("kill -9 between an object and its row leaves an object that goes after a day, and no document", async () => {
  const s3 = startS3();
  const place = await makePreparedFolder();
  const env = {
    ...place.env,
    DOCUMENTS_URL: `s3://bucket?endpoint=${s3.url}`,
    AWS_ACCESS_KEY_ID: "the-key",
    AWS_SECRET_ACCESS_KEY: "the-secret",
  };
  const documents = () => [...s3.objects.keys()].filter((key) => key.startsWith("1/"));
  const { before, hung } = await serveHere(env, async (_, first) => {
    const loans = await openServer(first);
    return { before: loans, hung: await loans.apply() };
  });
  await killBetween({ env }, before, hung, `${PDF} between`);
  const [lost = ""] = s3.objects.keys();
  expect([s3.objects.size, lost]).toEqual([1, expect.stringContaining(`1/${sha256(`${PDF} between`)}/`)]);
  await serveHere(env, async (_, second) => {
    const loans = await openServer(second);
    expect((await loans.lender("GET", `/lender/applications/${hung}/documents`)).body.data).toEqual([]);
    expect((await loans.upload(await loans.apply(), { bytes: `${PDF} between` })).status).toBe(201);
  });
  s3.modified.set(lost, Temporal.Now.instant().subtract({ hours: 23 }).toString());
  expect((await runHere(["job", "loan_documents"], env)).out).toContain("Ran loan_documents");
  expect(documents()).toHaveLength(2);
  s3.modified.set(lost, Temporal.Now.instant().subtract({ hours: 25 }).toString());
  await runHere(["job", "loan_documents"], env);
  expect([documents().length, s3.objects.has(lost)]).toEqual([1, false]);
  const doctor = await runHere(["doctor", "--read-documents"], env);
  expect(doctor.out).toContain("ok    loan documents: 1, each with its file and its bytes\n");
  s3.is_gone = true;
  const gone = await runHere(["doctor"], env);
  expect(gone.out).toContain("FAIL  loan documents: Cannot HEAD 1/");
  expect(gone.out).not.toContain("the-secret");
  place.remove();
  await s3.stop();
});
