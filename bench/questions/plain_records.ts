import { type Static, type TSchema, Type } from "@sinclair/typebox";
import type { Company } from "../company.ts";
import { inParallel } from "../in_parallel.ts";
import { SUBSCRIPTIONS } from "./company.ts";

const PAGE = 200;

const Bill = Type.Object({
  id: Type.Integer(),
  subscription_id: Type.Integer(),
  billing_model_id: Type.Integer(),
  kind: Type.String(),
  currency: Type.String(),
  totalCharges: Type.String(),
  billingStartAt: Type.String(),
});
const Subscription = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  external_subscription_id: Type.String(),
  client_id: Type.Integer(),
  product_id: Type.Integer(),
  billing_model_id: Type.Integer(),
  billing_model: Type.Object({ billing_type: Type.String(), currency: Type.String() }),
});
const Named = Type.Object({ id: Type.Integer(), name: Type.String() });
const Running = Type.Object({ data: Type.Object({ currency: Type.String(), total: Type.String() }) });
const Credits = Type.Object({
  data: Type.Object({
    allocated: Type.Integer(),
    used: Type.Integer(),
    remaining: Type.Integer(),
    overageUsed: Type.Integer(),
  }),
});

/** A record that a bill, a running bill or credits are of. */
export type PlainSubscription = Static<typeof Subscription>;

/** All records of a company, read one by one or page by page: what sums of them are held to. */
export interface PlainRecords {
  bills: Static<typeof Bill>[];
  subscriptions: ReadonlyMap<number, PlainSubscription>;
  clients: Static<typeof Named>[];
  products: Static<typeof Named>[];
  models: Static<typeof Named>[];
  /** What the running period of each subscription comes to. */
  running: ReadonlyMap<number, Static<typeof Running>["data"]>;
  /** The month of each subscription on credits. */
  credits: ReadonlyMap<number, Static<typeof Credits>["data"]>;
}

/** Reads everything. */
export async function readRecords(company: Company): Promise<PlainRecords> {
  const all = <T extends TSchema>(shape: T, path: string) => readPages(company, shape, path);
  const subscriptions = await all(Subscription, "/subscriptions");
  if (subscriptions.length !== SUBSCRIPTIONS)
    throw new Error(`There are ${subscriptions.length} subscriptions`);
  const read = async <T extends TSchema>(shape: T, of: readonly PlainSubscription[], what: string) => {
    const found = await inParallel(of.length, (i) =>
      company.fetchJson(shape, "GET", `/subscriptions/${of[i]?.id}/${what}`),
    );
    return new Map(found.map((answer, i) => [of[i]?.id ?? 0, answer]));
  };
  const on_credits = subscriptions.filter(({ billing_model }) => billing_model.billing_type === "credit");
  const [running, credits] = [
    await read(Running, subscriptions, "preview"),
    await read(Credits, on_credits, "credits"),
  ];
  return {
    bills: await all(Bill, "/billing-records"),
    subscriptions: new Map(subscriptions.map((one) => [one.id, one])),
    clients: await all(Named, "/clients"),
    products: await all(Named, "/products"),
    models: await all(Named, "/billing-models"),
    running: new Map([...running].map(([id, { data }]) => [id, data])),
    credits: new Map([...credits].map(([id, { data }]) => [id, data])),
  };
}

async function readPages<T extends TSchema>(company: Company, shape: T, path: string): Promise<Static<T>[]> {
  const rows: Static<T>[] = [];
  const Page = Type.Object({ data: Type.Array(shape) });
  for (let page = 1; ; page++) {
    const { data } = await company.fetchJson(Page, "GET", `${path}?limit=${PAGE}&page=${page}`);
    rows.push(...data);
    if (data.length < PAGE) return rows;
  }
}

/** The sum of amounts, in whole cents. */
export function centsOf(amounts: readonly string[]): bigint {
  return amounts.reduce((sum, amount) => sum + BigInt(amount.replace(".", "")), 0n);
}

export function textOfCents(cents: bigint): string {
  const [sign, size] = cents < 0n ? ["-", -cents] : ["", cents];
  const digits = String(size).padStart(3, "0");
  return `${sign}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
