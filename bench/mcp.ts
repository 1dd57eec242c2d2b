import { authorize, toolRequest } from "./oauth_client.ts";
import { Connection } from "./connection.ts";
import { takeTurns } from "./plan.ts";
import { PASSWORD } from "./service.ts";
import type { Bench } from "./bench.ts";
import { timeEach } from "./stats.ts";
import { latencyFinding } from "./finding.ts";

/** What a tool's call may add to the same call on REST. */
const ADDED_MS = 1;
const CALLS = 2_000;

/** One OAuth client, one call after the other, against the same record on REST. */
export const callTool: Bench = {
  name: "tool",
  summary: "tools/call of one client against GET of the same client",
  needs_events: false,
  async run({ plan, company }) {
    const token = await authorize(company.origin, { email: company.email, password: PASSWORD });
    const args = { client_id: 1, response_format: "detailed" };
    const call = toolRequest(token, "billing_find_clients", args);
    const get = company.request("GET", "/clients/1");
    const connection = await Connection.open(company.origin);
    const send = async (request: Uint8Array) => {
      const { status, body } = await connection.send(request);
      if (status !== 200 || Buffer.from(body).includes('"isError"'))
        throw new Error(`Cannot measure a tool: ${status} ${Buffer.from(body).toString()}`);
    };
    const bounds = { times: CALLS, seconds: plan.seconds };
    try {
      const { subject, peer } = await takeTurns(plan, {
        peer: () => timeEach(bounds, () => send(get)),
        subject: () => timeEach(bounds, () => send(call)),
      });
      const added = subject.p50_ms - peer.p50_ms;
      const goal = { text: `adds under ${ADDED_MS} ms: ${added.toFixed(2)} ms`, met: added < ADDED_MS };
      const what = "tools/call of one client, one after the other";
      const named = { name: "GET the same client", median: peer };
      return [latencyFinding(what, plan.events, { subject, peer: named, goal })];
    } finally {
      connection.close();
    }
  },
};
