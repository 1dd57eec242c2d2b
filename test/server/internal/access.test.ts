import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Deployment, makeDeployment } from "../../support/deployment.ts";
import { apiOf, PASSWORD } from "../../support/harness.ts";
import type { ServerProcess } from "../../support/process.ts";
import { whyNoUsageOnClickHouse } from "../../support/usage_on_clickhouse.ts";
import { destination, OAuthClient, open, pkce, send } from "../../access/oauth/fixtures.ts";

const reason = whyNoUsageOnClickHouse();
if (reason !== null) console.log(`skipped: ${reason}`);

const EMAIL = "admin@example.com";
const FAILURES = 10;

describe.skipIf(reason !== null)("access to two instances, one of which is killed", () => {
  let deployment: Deployment;
  let instances: [ServerProcess, ServerProcess];
  beforeAll(async () => {
    deployment = await makeDeployment(2, {
      RATE_LIMIT_ENABLED: "true",
      RATE_LIMIT_LOGIN: String(FAILURES),
    });
    const first = await deployment.start();
    instances = [first, await deployment.start()];
  }, 120_000);
  afterAll(() => deployment?.stop());

  /** Kills the first, and starts another in its place. */
  async function replaceFirst(): Promise<void> {
    const [killed, other] = instances;
    killed.kill("SIGKILL");
    await killed.exited;
    instances = [await deployment.start(), other];
  }

  /** An agent as it knows itself everywhere, which speaks to one of them. */
  const at = ({ url }: ServerProcess, { client_id }: OAuthClient) => new OAuthClient({ url }, client_id);

  /** Has the user allow an agent, with the page of one and its answer sent to the other. */
  async function allow(agent: OAuthClient, from: ServerProcess, to: ServerProcess) {
    const { verifier, challenge } = pkce();
    const asked = at(from, agent).url(challenge, {
      resource: `${deployment.settings.PUBLIC_URL}/api/v1/mcp`,
    });
    const typed = { email: EMAIL, password: PASSWORD, decision: "allow" };
    const page = await open(asked);
    const back = destination(await send(to, page, typed, { origin: deployment.settings.PUBLIC_URL ?? "" }));
    return { code: back.searchParams.get("code") ?? "", verifier };
  }

  const statuses = (answers: readonly { status: number }[]) =>
    answers.map(({ status }) => status).toSorted((x, y) => x - y);

  test("an agent that one has registered and allowed goes on with the other; each code and token counts once", async () => {
    const agent = await OAuthClient.register(instances[0]);
    const [code, spent] = [
      await allow(agent, instances[0], instances[1]),
      await allow(agent, instances[1], instances[0]),
    ];
    await replaceFirst();
    const given = await at(instances[1], agent).exchange(code.code, code.verifier);
    expect(given.status).toBe(200);
    const exchanged = await Promise.all(
      instances.map((one) => at(one, agent).exchange(spent.code, spent.verifier)),
    );
    expect(statuses(exchanged)).toEqual([200, 400]);
    for (const { url } of instances) {
      const api = apiOf(url, { authorization: `Bearer ${given.body.access_token}` });
      const initialize = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
      const answer = await api("POST", "/mcp", initialize, {
        accept: "application/json, text/event-stream",
      });
      expect(answer.status).toBe(200);
    }
    // A token that two send at once is used by one of them, or taken for stolen: never renewed twice.
    const renewed = await Promise.all(
      instances.map((one) => at(one, agent).refresh(given.body.refresh_token)),
    );
    expect(renewed.filter(({ status }) => status === 200).length).toBeLessThan(2);
    expect((await at(instances[0], agent).refresh(given.body.refresh_token)).status).toBe(400);
  }, 120_000);

  test("what a killed one saw of wrong passwords counts: ten in all, wherever and whenever", async () => {
    const signIn = async (at_one: ServerProcess, password: string) =>
      (await apiOf(at_one.url, {})("POST", "/login", { email: EMAIL, password })).status;
    const answers: number[] = [];
    for (let i = 0; i < FAILURES - 4; i++)
      answers.push(await signIn(instances[i % 2] as ServerProcess, `a wrong password ${i}`));
    await replaceFirst();
    for (let i = 0; i < 6; i++)
      answers.push(await signIn(instances[i % 2] as ServerProcess, `another wrong password ${i}`));
    expect(answers).toEqual([...Array(FAILURES).fill(401), 429, 429]);
    expect([await signIn(instances[0], PASSWORD), await signIn(instances[1], PASSWORD)]).toEqual([429, 429]);
  }, 120_000);
});
