import { done, OFFER } from "../loans/applications/fixtures.ts";
import { PDF } from "../loans/documents/fixtures.ts";
import { refused, type Row, status } from "./loan_calls.ts";

const MIB = 1024 * 1024;

/** Rows of the design's table about consents. */
export const CONSENTS: Row[] = [
  [
    "consent to an old, draft or retired version: 422",
    [1, 2, 3].map(() => [422, "/definition_id"]),
    async (calls) => {
      const { id } = await calls.draft();
      const [old, retired] = [await calls.define(), await calls.define()];
      const path = "/lender/consent-definitions";
      const next = await done(calls.loans.lender("POST", `${path}/${old.id}/versions`, { title: "Newer" }));
      const to_draft = await refused(calls.grant(id, next.id));
      await done(calls.loans.lender("POST", `${path}/${next.id}/publish`));
      await done(calls.loans.lender("POST", `${path}/${retired.id}/retire`));
      return [to_draft, await refused(calls.grant(id, old.id)), await refused(calls.grant(id, retired.id))];
    },
  ],
  [
    "captured_at in the future; unknown method: 422",
    [
      [422, "/evidence/captured_at"],
      [422, "/evidence/method"],
    ],
    async (calls) => {
      const [{ id }, definition] = [await calls.draft(), await calls.define()];
      return [
        await refused(calls.grant(id, definition.id, { captured_at: "2026-11-21T10:30:00Z" })),
        await refused(calls.grant(id, definition.id, { method: "nod" })),
      ];
    },
  ],
  [
    "edit a published definition; revoke twice: 409",
    [409, 200, 409],
    async (calls) => {
      const [{ id }, definition] = [await calls.draft(), await calls.define()];
      const { title, purpose_text, data_text, data_categories, audience } = definition;
      const text = { title, purpose_text, data_text, data_categories, audience };
      const edit = calls.loans.lender("PUT", `/lender/consent-definitions/${definition.id}`, text);
      const consent = await done(calls.grant(id, definition.id));
      const revoke = () => status(calls.loans.agent("POST", `/agent/consents/${consent.id}/revoke`, {}));
      return [await status(edit), await revoke(), await revoke()];
    },
  ],
];

/** About documents. */
export const DOCUMENTS: Row[] = [
  [
    ".exe named .pdf: 415; 0 bytes: 422; 10 MiB + 1: 413; 10 MiB: 201",
    [415, 422, 413, 201],
    async (calls) => {
      const { id } = await calls.draft();
      const file = (size: number) => PDF.padEnd(size, " ");
      const sent = ["MZ\x90\x00\x03", "", file(10 * MIB + 1), file(10 * MIB)];
      const codes_of: number[] = [];
      for (const bytes of sent) codes_of.push(await status(calls.send(id, "a.pdf", bytes)));
      return codes_of;
    },
  ],
  [
    "upload to a final application: 409",
    [409, 409],
    async (calls) => [
      await status(calls.send(await calls.inState("rejected"))),
      await status(calls.send(await calls.inState("withdrawn"))),
    ],
  ],
  [
    "file name ../../etc/passwd: sanitised",
    [201, "passwd"],
    async (calls) => {
      const { status: code, body } = await calls.send((await calls.draft()).id, "../../etc/passwd");
      return [code, body.data.file_name];
    },
  ],
  [
    "file name with NUL or newline: 422, or cleaned",
    [true, true],
    (calls) =>
      Promise.all(
        ["a\u0000.pdf", "a\nb.pdf"].map(async (name) => {
          const { status: code, body } = await calls.send((await calls.draft()).id, name);
          return code === 422 || (code === 201 && !/\p{Cc}/u.test(body.data.file_name));
        }),
      ),
  ],
];

/** About what lenders decide, and borrowers accept. */
export const DECISIONS: Row[] = [
  [
    "approve from draft: 409; approve twice: 409",
    [409, 200, 409],
    async (calls) => {
      const [{ id }, reviewed] = [await calls.draft(), await calls.inState("under_review")];
      return [
        await status(calls.lender(id, "approve", OFFER)),
        await status(calls.lender(reviewed, "approve", OFFER)),
        await status(calls.lender(reviewed, "approve", OFFER)),
      ];
    },
  ],
  [
    "approve twice at once: one 200, the rest 409",
    [200, ...Array.from({ length: 7 }, () => 409)],
    async (calls) => {
      const id = await calls.inState("under_review");
      const all = await Promise.all(
        Array.from({ length: 8 }, () => status(calls.lender(id, "approve", OFFER))),
      );
      return all.toSorted((a, b) => a - b);
    },
  ],
  [
    "an offer outside the program: 422",
    [
      [422, "/amount"],
      [422, "/tenor_months"],
      [422, "/annual_rate"],
    ],
    async (calls) => {
      const id = await calls.inState("under_review");
      const offers = [{ amount: "50000.01" }, { tenor_months: 61 }, { annual_rate: "18.0001" }];
      return Promise.all(
        offers.map((change) => refused(calls.lender(id, "approve", { ...OFFER, ...change }))),
      );
    },
  ],
  [
    "accept an expired offer: 409, before any job ran",
    [409, "approved"],
    async (calls) => {
      const id = await calls.inState("under_review");
      await done(calls.lender(id, "approve", { ...OFFER, expires_at: "2026-11-21T10:00:01Z" }));
      calls.clock.set("2026-11-21T10:00:01Z");
      const code = await status(calls.agent(id, "accept"));
      calls.clock.set("2026-11-21T10:00:00Z");
      return [code, (await done(calls.loans.lender("GET", `/lender/applications/${id}`))).status];
    },
  ],
];
