import { beforeAll, describe, expect, test } from "bun:test";
import { addKey, exchange, withToken } from "../access/api_keys/fixtures.ts";
import {
  addDraft,
  addProgram,
  APPLICATION,
  done,
  openLoans,
  PROGRAM,
} from "../loans/applications/fixtures.ts";
import { startService, TestClock, useService } from "../support/harness.ts";
import { agentFor } from "../support/mcp_clients.ts";
import { type Calls, openCalls, refused, type Row, status } from "./loan_calls.ts";
import { CONSENTS, DECISIONS, DOCUMENTS } from "./loan_rows.ts";

// The design's table of bad input for loans, row by row, each driven over HTTP. What a row means in every detail
// is tried beside its feature.

const clock = new TestClock("2026-11-21T10:00:00Z");
const service = useService({ clock, env: { LOAN_SERVICE_KEY: "a-service-key" } });
let calls: Calls;

beforeAll(async () => {
  calls = await openCalls(service, clock);
});

const KEYS: Row[] = [
  [
    "wrong secret; unknown id; revoked key: 401, identical bodies",
    [[401, 401, 401], 1],
    async () => {
      const [key, ended] = [await addKey(service, "agent"), await addKey(service, "agent")];
      await service.api("DELETE", `/api-keys/${ended.id}`);
      const unknown = { ...key, clientId: `prd_${"A".repeat(24)}` };
      const answers = await Promise.all(
        [{ ...key, clientSecret: ended.clientSecret }, unknown, ended].map((wrong) =>
          exchange(service, wrong),
        ),
      );
      const bodies = new Set(answers.map(({ body }) => JSON.stringify(body)));
      return [answers.map((answer) => answer.status), bodies.size];
    },
  ],
  [
    "old secret within the grace: 200; after it: 401",
    [200, 401],
    async () => {
      const key = await addKey(service, "lender");
      await service.api("POST", `/api-keys/${key.id}/rotate`, { grace_hours: 1 });
      const within = await status(exchange(service, key));
      clock.set("2026-11-21T11:00:01Z");
      const after = await status(exchange(service, key));
      clock.set("2026-11-21T10:00:00Z");
      return [within, after];
    },
  ],
  [
    "token of a key revoked after it was issued: 401",
    [200, 401],
    async () => {
      const key = await addKey(service, "lender");
      const api = withToken(service, (await exchange(service, key)).body.token);
      const before = await status(api("GET", "/lender/programs"));
      await service.api("DELETE", `/api-keys/${key.id}`);
      return [before, await status(api("GET", "/lender/programs"))];
    },
  ],
  [
    "staging token on a production id: 404",
    [404, 404, 404, 404],
    async () => {
      const { id } = await calls.draft();
      return Promise.all([
        status(calls.staging.lender("GET", `/lender/applications/${id}`)),
        status(calls.staging.lender("POST", `/lender/applications/${id}/review`)),
        status(calls.staging.lender("GET", `/lender/programs/${calls.program.id}`)),
        status(calls.staging.agent("GET", `/agent/programs/${calls.program.id}`)),
      ]);
    },
  ],
  [
    "body sets environment or company_id: 422, never honoured",
    [
      [422, "/environment"],
      [422, "/company_id"],
      [422, "/environment"],
      [422, "/environment"],
    ],
    async () => [
      await refused(calls.apply({ environment: "staging" })),
      await refused(calls.apply({ company_id: 2 })),
      await refused(
        calls.loans.lender("POST", "/lender/programs", { ...PROGRAM, code: "E", environment: "staging" }),
      ),
      await refused(
        calls.loans.agent("PUT", `/agent/applications/${(await calls.draft()).id}`, {
          environment: "staging",
        }),
      ),
    ],
  ],
  [
    "agent token on /lender: 403; login token on /agent: 403; lender token on /agent: 403",
    [403, 403, 403, 403],
    () =>
      Promise.all([
        status(calls.loans.agent("GET", "/lender/applications")),
        status(service.api("GET", "/agent/applications")),
        status(service.api("GET", "/lender/applications")),
        status(calls.loans.lender("GET", "/agent/applications")),
      ]),
  ],
  [
    "another agent's application: 404",
    [404, 404, 404, 404],
    async () => {
      const { id } = await calls.draft();
      const other = await openLoans(service);
      return Promise.all([
        status(other.agent("GET", `/agent/applications/${id}`)),
        status(other.agent("PUT", `/agent/applications/${id}`, { amount: "1000.00" })),
        status(other.agent("POST", `/agent/applications/${id}/submit`)),
        status(other.agent("GET", `/agent/applications/${id}/consents`)),
      ]);
    },
  ],
];

const REQUESTS: Row[] = [
  [
    "amount under/over the program: 422 at the submission",
    [
      [422, "/amount"],
      [422, "/amount"],
    ],
    () =>
      Promise.all(
        ["999.99", "50000.01"].map(async (amount) =>
          refused(calls.agent((await calls.draft({ amount })).id, "submit")),
        ),
      ),
  ],
  [
    "tenor 0 or 3.5; a number where a string amount belongs: 422",
    [
      [422, "/tenor_months"],
      [422, "/tenor_months"],
      [422, "/amount"],
    ],
    () =>
      Promise.all([
        refused(calls.apply({ tenor_months: 0 })),
        refused(calls.apply({ tenor_months: 3.5 })),
        refused(calls.apply({ amount: 10_000 })),
      ]),
  ],
  [
    "program min > max; rate min > max: 422",
    [
      [422, "/max_amount"],
      [422, "/max_tenor_months"],
      [422, "/annual_rate_max"],
    ],
    () =>
      Promise.all(
        [
          { min_amount: "50000.01" },
          { min_tenor_months: 61, max_tenor_months: 60 },
          { annual_rate_min: "18.1" },
        ].map((change) =>
          refused(calls.loans.lender("POST", "/lender/programs", { ...PROGRAM, code: "RANGE", ...change })),
        ),
      ),
  ],
  [
    "bad IC: 422",
    [1, 2, 3, 4].map(() => [422, "/borrower/ic_number"]),
    () =>
      Promise.all(
        ["901332-14-5678", "900229-14-5678", "900131-00-5678", "90013114567"].map((ic_number) =>
          refused(calls.apply({ borrower: { ...APPLICATION.borrower, ic_number } })),
        ),
      ),
  ],
  [
    "age under min_age on the day of submission: 422, and the day after 200",
    [[422, "/borrower/ic_number"], 200],
    async () => {
      const grown = await addProgram(calls.loans, { eligibility: { min_age: 18 } });
      const borrower = { ...APPLICATION.borrower, ic_number: "081122-14-5678" };
      const { id } = await addDraft(calls.loans, grown.id, { borrower });
      const before = await refused(calls.agent(id, "submit"));
      clock.set("2026-11-22T00:00:00Z");
      const after = await status(calls.agent(id, "submit"));
      clock.set("2026-11-21T10:00:00Z");
      return [before, after];
    },
  ],
  [
    "submit without documents or consents: 422, missing lists them all",
    [
      422,
      [
        { kind: "document", code: "ic_front" },
        { kind: "document", code: "payslip" },
        { kind: "consent", code: "pdpa" },
        { kind: "consent", code: "ctos" },
      ],
    ],
    async () => {
      const asking = await addProgram(calls.loans, {
        required_documents: ["ic_front", "payslip"],
        required_consents: ["pdpa", "ctos"],
      });
      const { id } = await addDraft(calls.loans, asking.id);
      const answer = await calls.agent(id, "submit");
      return [answer.status, answer.body.missing];
    },
  ],
  [
    "duplicate external_reference: 409 naming the existing id",
    [409, true],
    async () => {
      const { id } = await calls.draft({ external_reference: "TWICE" });
      const { status: code, body } = await calls.apply({ external_reference: "TWICE" });
      return [code, body.error.includes(`application ${id} `)];
    },
  ],
  [
    "answers without a required form field, or a select value outside its options: 422",
    [
      [422, "/answers/colour"],
      [422, "/answers/shape"],
      [422, [{ kind: "field", code: "colour" }]],
    ],
    async () => {
      const { id } = await done(service.api("POST", "/clients", { name: "Acme" }));
      const user = await service.addUser(service, "client", id);
      const fields = [
        { name: "colour", label: "Colour", type: "select", options: ["red", "blue"], required: true },
      ];
      const form = await done(user("POST", "/my/forms", { name: "F", config: { title: "T", fields } }));
      const asking = await addProgram(calls.loans, { form_config_id: form.id });
      const of = (answers: object) => calls.apply({ program_id: asking.id, answers });
      const lacking = await done(of({}));
      const { status: code, body } = await calls.agent(lacking.id, "submit");
      return [
        await refused(of({ colour: "green" })),
        await refused(of({ shape: "round" })),
        [code, body.missing],
      ];
    },
  ],
];

const TOOLS: Row[] = [
  [
    "MCP: environment missing or prod: refused, naming the field and both words; no service key: unknown",
    [true, true, -32_602],
    async () => {
      const own = await agentFor(service, service.admin_email);
      const says = async (args: object) => {
        const { is_error, text } = await own.call("loan_find_applications", args);
        return is_error && ["environment", "staging", "production"].every((word) => text.includes(word));
      };
      const named = [await says({}), await says({ environment: "prod" })];
      await own.close();
      const keyless = await startService();
      const other = await agentFor(keyless, keyless.admin_email);
      const refusal = other.call("loan_find_applications", { environment: "staging" });
      const code = await refusal.catch((error) => error.code);
      await other.close();
      await keyless.stop();
      return [...named, code];
    },
  ],
];

describe.each([
  ["keys and environments", KEYS],
  ["requests", REQUESTS],
  ["consents", CONSENTS],
  ["documents", DOCUMENTS],
  ["decisions", DECISIONS],
  ["tools", TOOLS],
])("%s", (_, rows) => {
  test.each(rows)("%s", async (_case, expected, answered) => {
    expect(await answered(calls)).toEqual(expected);
  });
});
