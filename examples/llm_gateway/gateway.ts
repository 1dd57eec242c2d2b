/**
 * A gateway in front of a language model: it checks and reserves before each call, and settles with what was used.
 * Never over a hard limit, never counted twice, and nothing stays reserved. See README.md.
 */

/** Tokens that a model read and wrote. */
export interface Completion {
  text: string;
  tokens: number;
}

/** Answers a prompt with at most `max_tokens` tokens in all. */
export type Model = (prompt: string, max_tokens: number) => Promise<Completion>;

export interface GatewayOptions {
  /** Meterhouse, such as http://localhost:3000/api/v1. */
  url: string;
  /** An API key of role gateway. */
  clientId: string;
  clientSecret: string;
  /** The code of the feature that limits tokens. */
  feature: string;
  model: Model;
}

/** How long a call may take at most: then its reservation ends by itself. */
const RESERVE_S = 120;
/** How often a settlement is sent that is not answered. It has the reservation's id, and so counts once. */
const ATTEMPTS = 20;

/** Calls Meterhouse with a token, which is exchanged anew when it has ended. */
function client({ url, ...key }: Pick<GatewayOptions, "url" | "clientId" | "clientSecret">) {
  let token: Promise<string> | undefined;
  const exchange = async (): Promise<string> => {
    const body = JSON.stringify({ clientId: key.clientId, clientSecret: key.clientSecret });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${url}/auth/token`, { method: "POST", headers, body });
    if (!answer.ok) throw new Error(`Cannot exchange the API key: ${answer.status}`);
    const { token: exchanged }: { token: string } = JSON.parse(await answer.text());
    return exchanged;
  };
  return async (method: string, path: string, body?: object): Promise<Response> => {
    for (let attempt = 0; ; attempt++) {
      // One that failed is not kept: the next call asks again.
      token ??= exchange().catch((error: unknown) => {
        token = undefined;
        throw error;
      });
      const authorization = `Bearer ${await token}`;
      const headers = { authorization, "content-type": "application/json" };
      const answer = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
      if (answer.status !== 401 || attempt > 0) return answer;
      token = undefined;
    }
  };
}

/** Serves POST / {subscription, prompt, max_tokens}. */
export function startGateway({ feature, model, ...meterhouse }: GatewayOptions): Bun.Server<undefined> {
  const call = client(meterhouse);

  /** Sends what was used until it is answered. */
  async function settle(external_subscription_id: string, id: string, usage: number): Promise<void> {
    const timestamp = Temporal.Now.instant().epochMilliseconds;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const event = { id, external_subscription_id, usage, timestamp };
      const answer = await call("POST", "/usage/events", event).catch(() => undefined);
      if (answer?.ok) return;
      if (answer !== undefined && answer.status < 500 && answer.status !== 429)
        throw new Error(`Cannot settle ${id}: ${answer.status} ${await answer.text()}`);
      await Bun.sleep(50 * attempt);
    }
    throw new Error(`Cannot settle ${id}: nobody answers`);
  }

  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { subscription, prompt, max_tokens }: Record<string, string> = JSON.parse(await request.text());
      const units = Number(max_tokens);
      const question = { external_subscription_id: subscription, feature, units, reserve_s: RESERVE_S };
      const checked = await call("POST", "/usage/check", question);
      if (!checked.ok) return new Response(checked.body, { status: 502 });
      const { data }: { data: { reservation: { id: string } | null } } = JSON.parse(await checked.text());
      // What Meterhouse says goes to the client: the reason, the limit, what is left and when it resets.
      if (data.reservation === null) return Response.json(data, { status: 429 });
      const { id } = data.reservation;
      let completion: Completion;
      try {
        completion = await model(prompt ?? "", units);
      } catch (error) {
        await call("DELETE", `/usage/reservations/${id}`);
        return Response.json({ error: String(error) }, { status: 502 });
      }
      await settle(subscription ?? "", id, completion.tokens);
      return Response.json(completion);
    },
  });
}
