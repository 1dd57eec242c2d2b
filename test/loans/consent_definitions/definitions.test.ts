import { beforeAll, expect, test } from "bun:test";
import { type Json, TestClock, useService } from "../../support/harness.ts";
import { type Borrowing, openBorrowing } from "../documents/fixtures.ts";
import { define, newCode, publish, TEXT } from "../consents/fixtures.ts";

const service = useService({ clock: new TestClock("2026-03-10T12:00:00Z") });
let loans: Borrowing;

beforeAll(async () => {
  loans = await openBorrowing(service);
});

test("a draft is edited, published, retired by its next version, and never changed again", async () => {
  const api = loans.lender;
  const code = newCode();
  const created = await define(loans, { code, locale: "MS-my" });
  expect([created.status, created.body.data]).toEqual([
    201,
    {
      ...TEXT,
      id: expect.any(Number),
      environment: "production",
      code,
      version: 1,
      locale: "ms-MY",
      text_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      status: "draft",
      published_at: null,
      retired_at: null,
      created_at: "2026-03-10T12:00:00.000Z",
      updated_at: "2026-03-10T12:00:00.000Z",
    },
  ]);
  const first = created.body.data;
  const path = `/lender/consent-definitions/${first.id}`;
  const edited = (await api("PUT", path, { ...TEXT, title: "Bureau", validity_days: null })).body.data;
  expect(edited).toMatchObject({ title: "Bureau", validity_days: null, version: 1, status: "draft" });
  expect(edited.text_sha256).not.toBe(first.text_sha256);
  // What is left out stays as it is: this PUT undoes the one before.
  const undone = (await api("PUT", path, { title: TEXT.title, validity_days: 365, locale: "ms-MY" })).body
    .data;
  expect(undone).toEqual(first);
  const one = (await api("POST", `${path}/publish`)).body.data;
  expect(one).toMatchObject({ status: "published", published_at: "2026-03-10T12:00:00.000Z" });
  for (const [method, suffix, body] of [
    ["PUT", "", TEXT],
    ["POST", "/publish", undefined],
  ] as const) {
    expect((await api(method, path + suffix, body)).status).toBe(409);
  }
  const next = await api("POST", `${path}/versions`, { title: "Bureau check, again" });
  expect([next.status, next.body.data.version, next.body.data.status]).toEqual([201, 2, "draft"]);
  expect((await api("GET", path)).body.data).toEqual(one);
  const second = `/lender/consent-definitions/${next.body.data.id}`;
  expect((await api("POST", `${second}/publish`)).body.data.status).toBe("published");
  expect((await api("GET", path)).body.data).toMatchObject({
    ...TEXT,
    status: "retired",
    retired_at: "2026-03-10T12:00:00.000Z",
    text_sha256: one.text_sha256,
  });
  const listed = (await loans.agent("GET", `/agent/consent-definitions?code=${code}`)).body.data;
  expect(listed.map(({ version }: Json) => version)).toEqual([2]);
  const all = (await api("GET", `/lender/consent-definitions?code=${code}`)).body.data;
  expect(all.map(({ version, status }: Json) => [version, status])).toEqual([
    [2, "published"],
    [1, "retired"],
  ]);
  expect((await api("GET", `/lender/consent-definitions?code=${code}&status=draft`)).body.data).toEqual([]);
  expect((await api("POST", `${second}/retire`)).body.data.status).toBe("retired");
  expect((await api("POST", `${second}/retire`)).status).toBe(409);
  expect((await loans.agent("GET", `/agent/consent-definitions?code=${code}`)).body.data).toEqual([]);
});

test("of two versions published at once one is published in the end, in each language", async () => {
  const api = loans.lender;
  const code = newCode();
  const malay = await publish(loans, { code, locale: "ms" });
  const { id } = await publish(loans, { code });
  const drafts = await Promise.all(
    Array.from({ length: 6 }, () => api("POST", `/lender/consent-definitions/${id}/versions`, {})),
  );
  expect(new Set(drafts.map(({ body }) => body.data.version))).toEqual(new Set([2, 3, 4, 5, 6, 7]));
  await Promise.all(
    drafts.map(({ body }) => api("POST", `/lender/consent-definitions/${body.data.id}/publish`)),
  );
  const listed = (await loans.agent("GET", `/agent/consent-definitions?code=${code}`)).body.data;
  expect(listed.map(({ locale }: Json) => locale)).toEqual(["en", "ms"]);
  expect(listed[1].id).toBe(malay.id);
});

test.each([
  [{ code: "" }, "/code"],
  [{ code: "a b" }, "/code"],
  [{ code: "../x" }, "/code"],
  [{ locale: "english please" }, "/locale"],
  [{ locale: "" }, "/locale"],
  [{ title: "  " }, "/title"],
  [{ title: "x".repeat(201) }, "/title"],
  [{ title: undefined }, "/title"],
  [{ purpose_text: 7 }, "/purpose_text"],
  [{ purpose_text: "x".repeat(10_001) }, "/purpose_text"],
  [{ data_text: undefined }, "/data_text"],
  [{ data_text: "a\0b" }, "/data_text"],
  [{ data_categories: "credit" }, "/data_categories"],
  [{ data_categories: ["credit", "credit"] }, "/data_categories"],
  [{ data_categories: [""] }, "/data_categories/0"],
  [{ data_categories: Array.from({ length: 51 }, (_, i) => `c${i}`) }, "/data_categories"],
  [{ audience: "x".repeat(101) }, "/audience"],
  [{ validity_days: 0 }, "/validity_days"],
  [{ validity_days: 1.5 }, "/validity_days"],
  [{ validity_days: "365" }, "/validity_days"],
  [{ data_life_days: 36_526 }, "/data_life_days"],
  [{ status: "published" }, "/status"],
  [{ version: 3 }, "/version"],
  [{ environment: "staging" }, "/environment"],
  [{ company_id: 1 }, "/company_id"],
  [{ text_sha256: "0" }, "/text_sha256"],
])("%j is refused", async (change, path) => {
  const { status, body } = await define(loans, change);
  expect([status, body.details?.[0]?.path]).toEqual([422, path]);
});

test("code and locale stay; what exists takes a new version", async () => {
  const api = loans.lender;
  const { id, code } = (await define(loans)).body.data;
  const put = (change: object) => api("PUT", `/lender/consent-definitions/${id}`, { ...TEXT, ...change });
  expect((await put({ code: "another" })).body.details).toEqual([
    { path: "/code", message: `must stay ${code}` },
  ]);
  expect((await put({ locale: "ms" })).body.details).toEqual([{ path: "/locale", message: "must stay en" }]);
  expect((await put({ environment: "staging" })).body.details?.[0].path).toBe("/environment");
  const again = await define(loans, { code });
  expect([again.status, again.body.error]).toEqual([
    409,
    `Cannot create consent definition ${code}: it exists in en; make a new version of it`,
  ]);
  expect((await define(loans, { code, locale: "ms" })).status).toBe(201);
  expect((await api("POST", `/lender/consent-definitions/${id}/retire`)).status).toBe(409);
  expect((await api("POST", `/lender/consent-definitions/${id}/versions`, { code: "x" })).status).toBe(422);
  expect((await api("GET", "/lender/consent-definitions/999999")).status).toBe(404);
});
